#include "engine/lines/reduce/rest_members.h"

#include <map>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <pleat/json.h>

namespace pleat {
namespace {

std::string Printed(const RestMembers& members) {
  LineWriter out;
  members.AppendTo(out);
  return std::string(out.text());
}

std::string Quoted(int i) { return "\"" + std::to_string(i) + "\""; }

EngineTime Second(int seconds) { return FromUnix(std::chrono::seconds(seconds)); }

class RestMembersTest : public ::testing::Test {
 protected:
  ~RestMembersTest() override { members_.Clear(); }

  RestMembers members_{};
};

TEST_F(RestMembersTest, OwnNothingAtFirst) {
  EXPECT_EQ(members_.heap_bytes(), 0u);
  EXPECT_EQ(Printed(members_), "");
  EXPECT_FALSE(members_.cut());
}

// Against a fold of a few lines; stamps tie often.
TEST_F(RestMembersTest, KeepFirstOrLastByTheStampAndThenByArrival) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (const int names : {5, 11, 12, 13, 300}) {
    for (const bool last : {false, true}) {
      struct Kept {
        int at;
        std::string value;
      };
      std::map<std::string, Kept> kept;
      std::vector<std::string> order;
      for (int i = 0; i < 2000; ++i) {
        const std::string name = Quoted(static_cast<int>(random() % static_cast<unsigned>(names)));
        const std::string value = std::to_string(i) + std::string(random() % 30, '0');
        const int at = static_cast<int>(random() % 10);
        members_.Fold(name, value, Second(at), last);
        const auto [found, added] = kept.try_emplace(name, Kept{at, value});
        if (added) order.push_back(name);
        if (last ? at >= found->second.at : at < found->second.at) found->second = {at, value};
      }
      std::string expected;
      for (const std::string& name : order) expected += "," + name + ":" + kept[name].value;
      ASSERT_EQ(Printed(members_), expected) << names << " " << last;
      EXPECT_GE(members_.heap_bytes(), expected.size());
      members_.Clear();
    }
  }
}

TEST_F(RestMembersTest, TakeSoManyNamesAndNoMore) {
  const auto fold = [&](int from, int to, const char* value) {
    for (int i = from; i < to; ++i) members_.Fold(Quoted(i), value, Second(0), true);
  };
  const int most = static_cast<int>(kRestMembersMax);
  fold(0, most, "1");
  EXPECT_FALSE(members_.cut());
  const size_t heap = members_.heap_bytes();
  const std::string before = Printed(members_);
  fold(most, 3 * most, "2");
  EXPECT_TRUE(members_.cut());
  EXPECT_EQ(members_.heap_bytes(), heap);
  EXPECT_EQ(Printed(members_), before);
  fold(0, most, "3");
  EXPECT_EQ(Printed(members_).substr(0, 16), ",\"0\":3,\"1\":3,\"2\"");
}

TEST_F(RestMembersTest, DetachedCopyGoesItsOwnWay) {
  const std::string large(1000, '7');
  for (const int names : {1, 12, 100}) {
    for (int i = 0; i < names; ++i) members_.Fold(Quoted(i), large, Second(5), true);
    const std::string before = Printed(members_);
    RestMembers copy = members_;
    copy.Detach();
    EXPECT_EQ(Printed(copy), before);
    EXPECT_GE(copy.heap_bytes(), static_cast<size_t>(names) * large.size());
    EXPECT_LE(copy.heap_bytes(), members_.heap_bytes());
    for (int i = 0; i < 2 * names; ++i) copy.Fold(Quoted(i), "0", Second(6), true);
    EXPECT_EQ(Printed(members_), before);
    members_.Clear();
    EXPECT_EQ(Printed(copy).substr(0, 6), ",\"0\":0");
    copy.Clear();
  }
}

}  // namespace
}  // namespace pleat
