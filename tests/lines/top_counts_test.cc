#include "engine/lines/reduce/top_counts.h"

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/plain_json.h"

namespace pleat {
namespace {

struct Told {
  std::string value;
  uint64_t count;
  uint64_t over;

  friend bool operator==(const Told&, const Told&) = default;
};

class TopCountsTest : public ::testing::Test {
 protected:
  ~TopCountsTest() override { counts_.Clear(); }

  std::vector<Told> Tell(uint64_t n) const {
    LineWriter out;
    counts_.AppendTo(n, out);
    std::vector<Told> told;
    const PlainJson list = ParsePlainJson('[' + std::string(out.text()) + ']').value();
    for (const PlainJson& each : list.elements) {
      const PlainJson* const over = each.Member("over");
      told.push_back({each.Member("value")->text, std::stoull(each.Member("count")->text),
                      over == nullptr ? 0 : std::stoull(over->text)});
    }
    return told;
  }

  TopCounts counts_{};
};

std::string Number(size_t i) { return std::to_string(i); }

TEST_F(TopCountsTest, OwnNothingAtFirst) {
  EXPECT_EQ(counts_.heap_bytes(), 0u);
  EXPECT_TRUE(Tell(10).empty());
  EXPECT_FALSE(counts_.cut());
}

// Against a map of all values. Those of 20 digits lie on the heap.
TEST_F(TopCountsTest, AreExactWhileAllValuesAreKept) {
  std::mt19937 random(2);
  for (const size_t different : {1u, 2u, 8u, 9u, 100u, 1000u}) {
    std::map<std::string, uint64_t> all;
    std::vector<std::string> order;
    for (int i = 0; i < 20'000; ++i) {
      const size_t draw = std::min(random() % different, random() % different);
      const std::string value = Number(draw + 1) + std::string(draw % 3 == 0 ? 20 : 0, '0');
      counts_.Add(value, 1000);
      if (all[value]++ == 0) order.push_back(value);
    }
    std::map<std::string, size_t> places;
    for (const std::string& value : order) places.emplace(value, places.size());
    std::ranges::sort(order, {}, [&](const std::string& value) {
      return std::pair(~all[value], places[value]);  // the largest count first
    });
    for (const size_t n : {1u, 10u, 1000u}) {
      const std::vector<Told> told = Tell(n);
      ASSERT_EQ(told.size(), std::min(n, order.size()));
      for (size_t i = 0; i < told.size(); ++i) {
        EXPECT_EQ(told[i], (Told{order[i], all[order[i]], 0}));
      }
    }
    EXPECT_FALSE(counts_.cut());
    counts_.Clear();
  }
}

// The promise of Space-Saving, for streams that are even, skewed and against it.
TEST_F(TopCountsTest, AreTooHighByAtMostTheirShare) {
  constexpr uint64_t kKept = 50;
  std::mt19937 random(4);
  for (const int way : {0, 1, 2}) {
    std::map<std::string, uint64_t> all;
    constexpr uint64_t kEvents = 20'000;
    for (uint64_t i = 0; i < kEvents; ++i) {
      size_t draw = random() % 500;                                           // even
      if (way == 1) draw = std::min({draw, random() % 500, random() % 500});  // skewed
      if (way == 2) draw = random() % 8 == 0 ? 1'000'000 : i;                 // all others are new
      counts_.Add(Number(draw), kKept);
      ++all[Number(draw)];
    }
    EXPECT_TRUE(counts_.cut());
    std::map<std::string, uint64_t> told;
    uint64_t sum = 0;
    for (const Told& each : Tell(kKept)) {
      told[each.value] = each.count;
      sum += each.count;
      EXPECT_LE(each.over, kEvents / kKept);
      EXPECT_GE(each.count, all[each.value]);
      EXPECT_LE(each.count - each.over, all[each.value]);
    }
    EXPECT_EQ(told.size(), kKept);
    EXPECT_EQ(sum, kEvents);
    for (const auto& [value, count] : all) {
      EXPECT_TRUE(count <= kEvents / kKept || told.contains(value)) << value << " " << count;
    }
    counts_.Clear();
  }
}

TEST_F(TopCountsTest, TakeNoMoreMemoryOnceTheyAreFull) {
  for (size_t i = 0; i < 100; ++i) counts_.Add(Number(i), 100);
  const size_t bytes = counts_.heap_bytes();
  for (size_t i = 0; i < 10'000; ++i) counts_.Add(Number(i), 100);
  EXPECT_EQ(counts_.heap_bytes(), bytes);
}

TEST_F(TopCountsTest, AreNotLoadedFromWhatNoCountsCouldBe) {
  struct Stored {
    const char* text;
    uint64_t count;
    uint64_t over;
    uint64_t since;
  };
  const auto loads = [&](uint64_t entered, const std::vector<Stored>& values) {
    FieldWriter out;
    out.PutNumber(values.size());
    out.PutNumber(entered);
    for (const Stored& value : values) {
      out.PutBytes(value.text);
      if (*value.text != 0) out.PutNumber(0);
      out(value.count, value.over, value.since);
    }
    FieldReader in(out.bytes());
    counts_.Load(in, 2);
    const bool done = in.done();
    counts_.Clear();
    return done;
  };
  EXPECT_TRUE(loads(2, {{"1", 5, 0, 0}, {"2", 5, 0, 1}}));
  EXPECT_TRUE(loads(9, {{"1", 5, 4, 7}, {"2", 5, 0, 1}}));
  EXPECT_FALSE(loads(9, {{"1", 5, 0, 0}}));  // something was replaced, though there is room
  EXPECT_FALSE(loads(1, {{"1", 5, 0, 0}, {"2", 5, 0, 1}}));
  EXPECT_FALSE(loads(2, {{"1", 5, 0, 0}, {"1", 5, 0, 1}}));  // twice
  EXPECT_FALSE(loads(2, {{"1", 5, 0, 0}, {"", 5, 0, 1}}));
  EXPECT_FALSE(loads(2, {{"1", 5, 5, 0}, {"2", 5, 0, 1}}));
  EXPECT_FALSE(loads(2, {{"1", 5, 0, 2}, {"2", 5, 0, 1}}));
  EXPECT_FALSE(loads(3, {{"1", 5, 0, 0}, {"2", 5, 0, 1}, {"3", 5, 0, 2}}));
}

}  // namespace
}  // namespace pleat
