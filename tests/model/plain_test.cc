// The plain readers under the model of `pleat fold`: JSON, conditions, instants and durations. Whole stories of the model are in
// tests/stories.
#include <chrono>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "tests/model/plain_condition.h"
#include "tests/support/plain_json.h"
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

TEST(PlainTime, ReadsRfc3339AndNothingElse) {
  EXPECT_EQ(ReadPlainTimestamp("1970-01-01T00:00:01.1234569Z"), FromUnix(Duration{1'123'456}));
  EXPECT_EQ(ReadPlainTimestamp("1970-01-01 01:00:00+01:00"), FromUnix(0s));
  EXPECT_EQ(ReadPlainTimestamp("0001-01-01t00:00:00z"), kBeginningOfTime);
  EXPECT_EQ(ReadPlainTimestamp("9999-12-31T23:59:59.999999Z"), kEndOfTime);
  for (const char* bad :
       {"", "2015-02-29T00:00:00Z", "2015-01-01T00:00:60Z", "2015-01-01T24:00:00Z",
        "2015-01-01T00:00:00", "2015-01-01T00:00:00.Z", "2015-01-01T00:00:00Z ", "2015-01-01",
        "0000-01-01T00:00:00Z", "2015-13-01T00:00:00Z", "2015-01-01T00:00:00+1:00"}) {
    EXPECT_EQ(ReadPlainTimestamp(bad), std::nullopt) << bad;
  }
}

TEST(PlainTime, ReadsNumbersAsDecimalsAndCutsTowardZero) {
  EXPECT_EQ(ReadPlainNumber("1.9999999", 6), FromUnix(Duration{1'999'999}));
  EXPECT_EQ(ReadPlainNumber("-1.9999999", 6), FromUnix(Duration{-1'999'999}));
  EXPECT_EQ(ReadPlainNumber("1442018855776123456", -3), FromUnix(Duration{1'442'018'855'776'123}));
  EXPECT_EQ(ReadPlainNumber("15e-1", 6), FromUnix(Duration{1'500'000}));
  EXPECT_EQ(ReadPlainNumber("0e99999", 6), FromUnix(0s));
  EXPECT_EQ(ReadPlainNumber("1e30", 6), std::nullopt);
  EXPECT_EQ(WritePlainTimestamp(FromUnix(Duration{-1})), "1969-12-31T23:59:59.999999Z");
}

TEST(PlainJson, TakesWhatIsValidAndKeepsSpellings) {
  const std::string text = R"({"a":[1,-0,1.50e+3,"é\"\\\u0001"],"b":{"c":null},"😀":true})";
  const std::optional<PlainJson> value = ParsePlainJson(" " + text + "\r\n");
  ASSERT_TRUE(value.has_value());
  EXPECT_EQ(WritePlainJson(*value), text);
  EXPECT_EQ(ParsePlainJson(R"("\u0061\/\ud83d\ude00\u0000")")->text, std::string("a/😀\0", 7));
}

TEST(PlainJson, RefusesWhatIsNotValid) {
  for (const std::string bad : {"",
                                "{",
                                "{}x",
                                "01",
                                "1.",
                                ".5",
                                "+1",
                                "1e",
                                "-",
                                "nul",
                                "[1,]",
                                "{\"a\":1,}",
                                "{'a':1}",
                                "\"\t\"",
                                "\"\\x\"",
                                "\"\\u12\"",
                                "\"\\ud800\"",
                                "\"\\udc00\"",
                                "\"\\ud800\\u0061\"",
                                "\"\xc0\x80\"",
                                "\"\xed\xa0\x80\"",
                                "\"\xf4\x90\x80\x80\"",
                                "\"\xe2\x82\"",
                                "\"\x80\"",
                                "\xef\xbb\xbf{}",
                                "{\"a\":1,\"\\u0061\":2}",
                                "NaN",
                                "[1 2]",
                                "{\"a\" 1}"}) {
    EXPECT_FALSE(ParsePlainJson(bad).has_value()) << bad;
  }
}

TEST(PlainJson, LimitsDepthAndMembers) {
  EXPECT_TRUE(ParsePlainJson(std::string(64, '[') + std::string(64, ']')).has_value());
  EXPECT_FALSE(ParsePlainJson(std::string(65, '[') + std::string(65, ']')).has_value());
  std::string members;
  for (int i = 0; i < 1024; ++i) members += ",\"" + std::to_string(i) + "\":1";
  EXPECT_TRUE(ParsePlainJson("{" + members.substr(1) + "}").has_value());
  EXPECT_FALSE(ParsePlainJson("{" + members.substr(1) + ",\"x\":1}").has_value());
}

}  // namespace
}  // namespace pleat::inline v0_1
