// What each reducer makes of a group, seen from outside.
#include "engine/json/reducers.h"

#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "engine/json/sums.h"
#include "tests/json/json_harness.h"

namespace pleat {
namespace {

struct Merged {
  std::string value;  // with what "_fold" says of saturation
  uint64_t mismatched;
};

// Merges the member "v" of one group; each of `values` is the text of that member in one event, and
// an empty text an event without it.
Merged Merge(const std::string& reducer, const std::vector<std::string>& values) {
  JsonHarness harness(SpecOf({{"key", "k"}, {"merge", "m=" + reducer + "(v)"}}));
  for (const std::string& value : values) {
    const std::string member = value.empty() ? "" : ",\"v\":" + value;
    EXPECT_EQ(harness.Fold("{\"k\":0" + member + "}").reason, "") << value;
  }
  const std::string line = harness.CloseAndPop();
  const size_t begin = line.find("\"m\":") + 4;
  std::string out = line.substr(begin, line.find(",\"_fold\"") - begin);
  const size_t saturated = line.find("\"saturated\"");
  if (saturated != std::string::npos)
    out += " " + line.substr(saturated, line.size() - saturated - 3);
  return {out, harness.folder().counts().mismatched};
}

void ExpectMerged(const std::string& reducer, const std::vector<std::string>& values,
                  const std::string& expected, uint64_t mismatched = 0) {
  const Merged merged = Merge(reducer, values);
  EXPECT_EQ(merged.value, expected) << reducer;
  EXPECT_EQ(merged.mismatched, mismatched) << reducer << " " << expected;
}

TEST(Reducers, OfAFieldThatNeverCame) {
  for (const char* reducer : {"keys", "set"}) ExpectMerged(reducer, {"", "null"}, "[]");
  for (const char* reducer : {"sum", "min", "max", "mean", "first", "last"}) {
    ExpectMerged(reducer, {"", "null"}, "null");
  }
  ExpectMerged("count", {"", "null"}, "0");
}

TEST(Reducers, KeysTakesMemberNamesOfObjects) {
  ExpectMerged("keys", {R"({"b":1,"a":{"c":2}})", R"({"a":null,"\u0062":3,"\u0022,":4})", "{}"},
               R"(["b","a","\","])");
  ExpectMerged("keys", {"1", "[{}]", R"("x")", "true", "null", ""}, "[]", 4);
}

TEST(Reducers, SetTellsElementsApartAsKeysAre) {
  ExpectMerged("set", {"1", "1.0", R"("1")", "1", "true", R"("\u0031")"}, R"([1,1.0,"1",true])");
  ExpectMerged("set", {R"([1, null,[2, 3],{"a" : 1},"x"])", "[[2,3],null]", R"({"a":1})", "[]"},
               R"([1,null,[2,3],{"a":1},"x"])");
}

TEST(Reducers, CountTakesAnythingButNull) {
  ExpectMerged("count", {"1", "[]", "{}", "false", "\"\"", "null", ""}, "5");
}

TEST(Reducers, CountOfNothingCountsEvents) {
  JsonHarness harness(SpecOf({{"key", "k"}, {"merge", "n=count()"}, {"no-meta", "true"}}));
  for (int i = 0; i < 3; ++i) harness.Fold(R"({"k":0})");
  EXPECT_EQ(harness.CloseAndPop(), "{\"k\":0,\"n\":3}\n");
}

TEST(Reducers, SumsIntegersExactly) {
  ExpectMerged("sum", {"9007199254740993", "1", "-2"}, "9007199254740992");
  ExpectMerged("sum", {"-0"}, "0");
  ExpectMerged("sum", {"9223372036854775807", "-9223372036854775808"}, "-1");
}

TEST(Reducers, IntegerSumsStayAtTheEndTheyReach) {
  ExpectMerged("sum", {"9223372036854775807", "1", "-5"},
               R"(9223372036854775807 "saturated":["m"])");
  ExpectMerged("sum", {"-9223372036854775808", "-1", "5"},
               R"(-9223372036854775808 "saturated":["m"])");
  ExpectMerged("sum", {"18446744073709551616"}, R"(9223372036854775807 "saturated":["m"])");
  ExpectMerged("sum", {"-99999999999999999999", "7"}, R"(-9223372036854775808 "saturated":["m"])");
}

TEST(Reducers, SumsOtherNumbersWithCompensation) {
  ExpectMerged("sum", {"0.1", "0.2", "0.3"}, "0.6");
  ExpectMerged("sum", {"1.0", "1e100", "1.0", "-1e100"}, "2");
  ExpectMerged("sum", {"1", "1e100", "1", "-1e100"}, "2");
  ExpectMerged("sum", {"1.5", "2"}, "3.5");
  ExpectMerged("sum", {"2.0"}, "2");
  ExpectMerged("sum", std::vector<std::string>(10, "0.1"), "1");
}

TEST(Reducers, RealSumsStayAtTheEndTheyReach) {
  ExpectMerged("sum", {"1.7e308", "1.7e308", "-1.7e308"},
               R"(1.7976931348623157e+308 "saturated":["m"])");
  ExpectMerged("sum", {"-1.7e308", "-1.7e308"}, R"(-1.7976931348623157e+308 "saturated":["m"])");
  ExpectMerged("sum", {"1.7976931348623157e308"}, "1.7976931348623157e+308");
}

TEST(Reducers, NumbersInfiniteAsDoublesAreMismatched) {
  for (const char* reducer : {"sum", "min", "max", "mean"}) {
    ExpectMerged(reducer, {"1e309", "-1e309", "7"}, "7", 2);
  }
}

TEST(Reducers, NumbersOnlyWhereNumbersAreAsked) {
  for (const char* reducer : {"sum", "min", "max", "mean"}) {
    ExpectMerged(reducer, {R"("1")", "true", "[1]", "{}", "null", "", "7"}, "7", 4);
  }
}

TEST(Reducers, MeanDividesTheSum) {
  ExpectMerged("mean", {"1", "2"}, "1.5");
  ExpectMerged("mean", {"1", "3"}, "2");
  ExpectMerged("mean", {"1", "null", "", "0.5"}, "0.75");
  ExpectMerged("mean", {"9223372036854775807", "9223372036854775807"},
               R"(4611686018427387904 "saturated":["m"])");
}

TEST(Reducers, MinAndMaxKeepTheSpelling) {
  ExpectMerged("min", {"2.50", "3", "1.0e1"}, "2.50");
  ExpectMerged("max", {"2.50", "3", "1.0e1"}, "1.0e1");
  ExpectMerged("min", {"-0", "0"}, "-0");
  ExpectMerged("max", {"0", "-0"}, "0");
}

TEST(Reducers, MinAndMaxOfEqualNumbersKeepTheFirst) {
  ExpectMerged("min", {"1.0", "1", "1e0"}, "1.0");
  ExpectMerged("max", {"1", "1.0", "10e-1"}, "1");
}

TEST(Reducers, MinAndMaxCompareExactly) {
  ExpectMerged("max", {"9007199254740992", "9007199254740993"}, "9007199254740993");
  ExpectMerged("min", {"9007199254740993", "9007199254740992"}, "9007199254740992");
  ExpectMerged("max", {"123456789012345678901234567890", "123456789012345678901234567891"},
               "123456789012345678901234567891");
  ExpectMerged("max", {"1e-400", "2e-400", "0"}, "2e-400");
}

TEST(Reducers, FirstAndLastGoByTheStampAndThenByArrival) {
  const FoldSpec spec =
      SpecOf({{"key", "k"}, {"merge", "f=first(v)"}, {"merge", "l=last(v)"}, {"no-meta", "true"}});
  JsonHarness harness(spec);
  const std::pair<const char*, int> events[] = {
      {"null", 1},         {R"("b")", 5}, {"[ 1 , 2 ]", 3}, {"0", 3},
      {R"({"x" : 1})", 9}, {"4", 9},      {"null", 20},     {"5", 8}};
  for (const auto& [value, seconds] : events) {
    harness.Fold(std::string(R"({"k":0,"v":)") + value + "}",
                 FromUnix(std::chrono::seconds(seconds)));
  }
  EXPECT_EQ(harness.CloseAndPop(), "{\"k\":0,\"f\":[1,2],\"l\":4}\n");
}

TEST(Reducers, KeepTextsOfAnyLength) {
  const std::string large = "\"" + std::string(100'000, 'x') + "\"";
  ExpectMerged("last", {"1", large, "2", large}, large);
  ExpectMerged("first", {large, "1"}, large);
  const std::string digits = "1" + std::string(200, '7');
  ExpectMerged("max", {"1", digits, "3"}, digits);
}

TEST(Reducers, StandSideBySideInOneGroup) {
  std::vector<std::pair<std::string, std::string>> options = {{"key", "k"}, {"no-meta", "true"}};
  for (const ReducerName& known : kReducerNames) {
    const std::string name(known.name);
    options.emplace_back("merge", name + "=" + name + "(v)");
  }
  JsonHarness harness(SpecOf(options));
  harness.Fold(R"({"k":"a","v":1})");
  harness.Fold(R"({"k":"b","v":{"x":1}})");
  harness.Fold(R"({"k":"a","v":2.5})");
  EXPECT_EQ(harness.CloseAndPop(),
            R"({"k":"a","keys":[],"set":[1,2.5],"sum":3.5,"min":1,"max":2.5,"mean":1.75,"count":2,)"
            "\"first\":1,\"last\":2.5,\"distinct\":2,\"array\":[1,2.5],\"concat\":\"1,2.5\"}\n"
            R"({"k":"b","keys":["x"],"set":[{"x":1}],"sum":null,"min":null,"max":null,"mean":null,)"
            "\"count\":1,\"first\":{\"x\":1},\"last\":{\"x\":1},\"distinct\":1,"
            "\"array\":[{\"x\":1}],\"concat\":null}\n");
  EXPECT_EQ(harness.folder().counts().mismatched, 2u + 5u);
}

TEST(Sum, AgreesWithWideArithmetic) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 1000; ++round) {
    Sum sum{};
    __extension__ __int128 exact = 0;
    bool saturated = false;
    for (int i = 0; i < 20; ++i) {
      const auto value = static_cast<int64_t>(random()) >> (random() % 8);
      Number number;
      ASSERT_TRUE(ReadNumber(std::to_string(value), number));
      sum.Add(number);
      if (!saturated) exact += value;
      saturated |= exact > INT64_MAX || exact < INT64_MIN;
    }
    ASSERT_EQ(sum.Total().saturated, saturated);
    ASSERT_EQ(sum.Total().whole, !saturated  ? static_cast<int64_t>(exact)
                                 : exact > 0 ? INT64_MAX
                                             : INT64_MIN);
  }
}

}  // namespace
}  // namespace pleat
