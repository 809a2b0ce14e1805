#include "engine/lines/reduce/last_events.h"

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace pleat {
namespace {

std::string Printed(const LastEvents& events) {
  LineWriter out;
  events.AppendTo(out);
  return std::string(out.text());
}

EngineTime AtSecond(int seconds) { return FromUnix(std::chrono::seconds(seconds)); }

class LastEventsTest : public ::testing::Test {
 protected:
  ~LastEventsTest() override { events_.Clear(); }

  LastEvents events_{};
};

TEST_F(LastEventsTest, OwnNothingAtFirst) {
  EXPECT_EQ(events_.heap_bytes(), 0u);
  EXPECT_EQ(Printed(events_), "");
  EXPECT_FALSE(events_.cut());
}

// Against a sort of all events. Stamps tie often, and come in order, in reverse and at random.
TEST_F(LastEventsTest, AreThoseWithTheLargestStampsTiesByArrival) {
  std::mt19937 random(7);
  for (const size_t bound : {1u, 2u, 3u, 10u, 100u, 5000u}) {
    for (const int way : {1, -1, 0}) {
      struct Event {
        int at;
        std::string text;
      };
      std::vector<Event> all;
      for (int i = 0; i < 1000; ++i) {
        const int at = way != 0 ? way * i / 3 : static_cast<int>(random() % 50);
        all.push_back({at, std::to_string(i) + std::string(random() % 30, '0')});
        events_.Fold(all.back().text, AtSecond(at), bound);
        EXPECT_EQ(events_.cut(), all.size() > bound);
      }
      std::multimap<int, std::string> sorted;  // equal stamps as they came
      for (const Event& event : all) sorted.emplace(event.at, event.text);
      while (sorted.size() > bound) sorted.erase(sorted.begin());
      std::string expected;
      for (const auto& [at, text] : sorted) expected += (expected.empty() ? "" : ",") + text;
      EXPECT_EQ(Printed(events_), expected) << bound << " " << way;
      events_.Clear();
    }
  }
}

TEST_F(LastEventsTest, TakeNoMoreMemoryOnceTheyAreComplete) {
  const std::string text(100, 'x');
  for (int i = 0; i < 10; ++i) events_.Fold(text, AtSecond(i), 10);
  const size_t bytes = events_.heap_bytes();
  EXPECT_GT(bytes, 10 * text.size());
  for (int i = 0; i < 1000; ++i) events_.Fold(text, AtSecond(i), 10);
  EXPECT_EQ(events_.heap_bytes(), bytes);
}

// A heap whose root is not the oldest would keep the wrong events.
TEST_F(LastEventsTest, AreNotLoadedInAnOrderThatIsNoHeap) {
  for (const bool swapped : {false, true}) {
    FieldWriter out;
    out.PutNumber(2);  // events
    out.PutNumber(0);  // room for more
    out.PutNumber(2);  // that came
    for (const int64_t at : {swapped ? 9 : 3, swapped ? 3 : 9}) {
      out.PutBytes("1");
      out.PutNumber(0);
      out(at, uint64_t{0});
    }
    FieldReader in(out.bytes());
    events_.Load(in, 5);
    EXPECT_EQ(in.ok(), !swapped);
    events_.Clear();
  }
}

}  // namespace
}  // namespace pleat
