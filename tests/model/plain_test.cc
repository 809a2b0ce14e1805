// The plain readers under the model of `pleat fold`: conditions and durations. Whole stories of the model are in
// tests/stories.
#include <chrono>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "tests/model/plain_condition.h"
#include "tests/support/plain_time.h"

namespace pleat::inline v0_1 {
namespace {

using namespace std::chrono_literals;

TEST(PlainCondition, ComparesNumbersByValueAndTextByBytes) {
  const auto holds = [](const std::string& condition, const std::string& value) {
    return Holds(ReadPlainCondition(condition), [&](const std::string& path) {
      return path == "a.b" ? ParsePlainJson(value).value() : PlainJson{};
    });
  };
  for (const char* number : {"100", "1e2", "100.0", "0.1E+3", "10000e-2"}) {
    EXPECT_TRUE(holds("a.b=100", number)) << number;
    EXPECT_TRUE(holds(" a.b <= 1e2 ", number)) << number;
    EXPECT_FALSE(holds("a.b!=100", number)) << number;
    EXPECT_FALSE(holds("a.b<100", number)) << number;
  }
  EXPECT_TRUE(holds("a.b>9007199254740992", "9007199254740993"));
  EXPECT_TRUE(holds("a.b>-1e400", "-9e399"));
  EXPECT_TRUE(holds("a.b=0", "-0.0"));
  EXPECT_FALSE(holds("a.b=1", "\"1\""));
  EXPECT_TRUE(holds("a.b=\"1\"", "\"1\""));
  EXPECT_TRUE(holds("a.b=done", "\"d\\u006fne\""));
  EXPECT_TRUE(holds("a.b>z", "\"\\u00e9\""));
  EXPECT_FALSE(holds("a.b>=1", "\"2\""));
  EXPECT_FALSE(holds("a.b<1", "null"));
  EXPECT_TRUE(holds("a.b=true", "true"));
  EXPECT_TRUE(holds("nowhere=null", "1"));
  EXPECT_TRUE(holds("nowhere!=1", "1"));
  EXPECT_FALSE(holds("a.b=[]", "[]"));
  EXPECT_TRUE(holds("a.b!=null", "{}"));
}

TEST(PlainCondition, CombinesWithAllAnyAndNot) {
  const auto holds = [](const std::string& condition) {
    return Holds(ReadPlainCondition(condition), [](const std::string& path) {
      return PlainJson{.kind = PlainJson::Kind::kString, .text = path};
    });
  };
  EXPECT_TRUE(holds(R"({"all":["x=x",{"any":["x=y","y=y"]},{"not":"x=y"}]})"));
  EXPECT_FALSE(holds(R"({"all":["x=x","x=y"]})"));
  EXPECT_FALSE(holds(R"({"any":["x=y"]})"));
  EXPECT_TRUE(holds(R"("x<y"=x<y)"));
}

TEST(PlainTime, ReadsDurationsAndNothingElse) {
  EXPECT_EQ(ReadPlainDuration("1.5m"), 90s);
  EXPECT_EQ(ReadPlainDuration("0.29s"), 290ms);
  EXPECT_EQ(ReadPlainDuration("1.9us"), 1us);
  EXPECT_EQ(ReadPlainDuration("0"), 0s);
  EXPECT_EQ(ReadPlainDuration("inf"), kForever);
  for (const char* bad : {"", "s", "5", "-5s", "5 s", "1.s", ".5s", "1.2.3s", "5S", "1m30s"}) {
    EXPECT_EQ(ReadPlainDuration(bad), std::nullopt) << bad;
  }
}

}  // namespace
}  // namespace pleat::inline v0_1
