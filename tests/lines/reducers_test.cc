// What each reducer makes of a group, seen from outside.
#include "engine/lines/reduce/reducers.h"

#include <algorithm>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "engine/lines/reduce/sums.h"
#include "tests/lines/json_harness.h"

namespace pleat {
namespace {

// 2^127 - 1 and -2^127.
const std::string kMost128 = "170141183460469231731687303715884105727";
const std::string kLeast128 = "-170141183460469231731687303715884105728";

struct Merged {
  std::string value;  // with what "_fold" says of saturation and bounds
  uint64_t mismatched;
};

// Merges the member "v" of one group; each of `values` is the text of that member in one event, and
// an empty text an event without it. `reducer` may have arguments: "array,5".
Merged MergeValues(const std::string& reducer, const std::vector<std::string>& values) {
  const size_t name_end = std::min(reducer.find(','), reducer.size());
  const std::string merge =
      "m=" + reducer.substr(0, name_end) + "(v" + reducer.substr(name_end) + ")";
  JsonHarness harness(SpecOf(Options{{"key", "k"}, {"merge", merge}}));
  for (const std::string& value : values) {
    const std::string member = value.empty() ? "" : ",\"v\":" + value;
    EXPECT_EQ(harness.Fold("{\"k\":0" + member + "}").reason, "") << value;
  }
  const std::string line = harness.CloseAndPop();
  const size_t begin = line.find("\"m\":") + 4;
  std::string out = line.substr(begin, line.find(",\"_fold\"") - begin);
  for (const char* caveat : {"\"saturated\"", "\"cut\""}) {
    const size_t at = line.find(caveat);
    if (at != std::string::npos) out += " " + line.substr(at, line.find(']', at) + 1 - at);
  }
  return {out, harness.folder().counts().mismatched};
}

void ExpectMerged(const std::string& reducer, const std::vector<std::string>& values,
                  const std::string& expected, uint64_t mismatched = 0) {
  const Merged merged = MergeValues(reducer, values);
  EXPECT_EQ(merged.value, expected) << reducer;
  EXPECT_EQ(merged.mismatched, mismatched) << reducer << " " << expected;
}

TEST(Reducers, OfAFieldThatNeverCame) {
  for (const char* reducer : {"keys", "set", "array"}) ExpectMerged(reducer, {"", "null"}, "[]");
  for (const char* reducer : {"sum", "min", "max", "mean", "first", "last", "concat"}) {
    ExpectMerged(reducer, {"", "null"}, "null");
  }
  for (const char* reducer : {"count", "distinct"}) ExpectMerged(reducer, {"", "null"}, "0");
}

TEST(Reducers, KeysTakesMemberNamesOfObjects) {
  ExpectMerged("keys", {R"({"b":1,"a":{"c":2}})", R"({"a":null,"\u0062":3,"\u0022,":4})", "{}"},
               R"(["b","a","\","])");
  ExpectMerged("keys", {"1", "[{}]", R"("x")", "true", "null", ""}, "[]", 4);
}

TEST(Reducers, SetTellsElementsApartAsKeysAre) {
  ExpectMerged("set", {"1", "1.0", R"("1")", "1", "true", R"("\u0031")"}, R"([1,"1",true])");
  ExpectMerged("set", {R"([1, null,[2, 3],{"a" : 1},"x"])", "[[2,3],null]", R"({"a":1})", "[]"},
               R"([1,null,[2,3],{"a":1},"x"])");
}

TEST(Reducers, ArrayTakesElementsAndOtherValuesAsTheyCome) {
  ExpectMerged("array",
               {R"([1, null, "\u0061"])", "1", "null", "", R"({"b" : [ 2 ]})", "[[1], []]", "[]",
                "1.0", "true", R"("a")"},
               R"([1,null,"a",1,{"b":[2]},[1],[],1.0,true,"a"])");
}

TEST(Reducers, ArrayKeepsTheFirstOnes) {
  ExpectMerged("array,3", {"1", "[1,1]"}, "[1,1,1]");
  ExpectMerged("array,3", {"1", "[1,2,3]", "4", "[]", "5"}, R"([1,1,2] "cut":["m"])");
  std::string elements;
  for (int i = 0; i < 1000; ++i) elements += (i == 0 ? "" : ",") + std::to_string(i % 7);
  ExpectMerged("array", {"[" + elements + "]"}, "[" + elements + "]");
  ExpectMerged("array", {"[" + elements + ",7]"}, "[" + elements + R"(] "cut":["m"])");
}

TEST(Reducers, DistinctCountsWhatSetWouldKeep) {
  const std::string large(100'000, 'x');
  const std::vector<std::string> values = {"1",
                                           "1.0",
                                           R"("1")",
                                           R"("\u0031")",
                                           "1",
                                           "[1,[1],null]",
                                           "[]",
                                           R"({"a" : 1})",
                                           "null",
                                           R"({"a":1})",
                                           "[null,[ 1]]",
                                           "\"" + large + "\"",
                                           "[\"" + large + "\"]",
                                           "\"" + large + "y\"",
                                           R"("1234567890123456")",
                                           R"("1234567890123457")",
                                           R"("12345678901234567")"};
  ExpectMerged("distinct", values, "10");
  std::vector<std::string> many;
  for (int i = 0; i < 3000; ++i)
    many.push_back("\"a text that is hashed " + std::to_string(i % 1000) + "\"");
  ExpectMerged("distinct", many, "1000");
}

TEST(Reducers, DistinctStaysAtItsBound) {
  ExpectMerged("distinct,2", {"1", "2", "1", "2"}, "2");
  ExpectMerged("distinct,2", {"1", "[2,1,3]", "4"}, R"(2 "cut":["m"])");
}

TEST(Reducers, SetAndKeysKeepTheFirstOnes) {
  ExpectMerged("set,2", {"2", "1", "2", "[1,2]"}, "[2,1]");
  ExpectMerged("set,2", {"2", "1", "3", "1"}, R"([2,1] "cut":["m"])");
  ExpectMerged("keys,2", {R"({"b":1,"a":2})", R"({"a":1,"c":2})"}, R"(["b","a"] "cut":["m"])");
  std::vector<std::string> values;
  std::string kept;
  for (int i = 0; i < 100; ++i) values.push_back(std::to_string(i % 51));
  for (int i = 0; i < 50; ++i) kept += (i == 0 ? "" : ",") + std::to_string(i);
  ExpectMerged("set,50", values, "[" + kept + R"(] "cut":["m"])");
  ExpectMerged("set,51", values, "[" + kept + ",50]");
}

TEST(Reducers, ConcatJoinsScalars) {
  ExpectMerged("concat", {R"("a")", "1.50", "", "null", "true", "-0", R"("")", R"("b,c")"},
               R"("a,1.50,true,-0,,b,c")");
  ExpectMerged("concat", {"[1]", "{}", "7"}, R"("7")", 2);
  ExpectMerged("concat", {R"("")"}, R"("")");
  ExpectMerged("concat", {R"("")", R"("")"}, R"(",")");
  ExpectMerged("concat", {R"("\u0061\n\/\"")", R"("\ud83d\ude00é\u0000")"},
               "\"a\\n/\\\",\xf0\x9f\x98\x80é\\u0000\"");
}

TEST(Reducers, ConcatTakesAnySeparator) {
  ExpectMerged("concat,; ", {"1", "2"}, R"("1; 2")");
  ExpectMerged(R"(concat,"")", {"1", R"("")", "2", R"("")"}, R"("12")");
  ExpectMerged(R"(concat,"\n\u0022é")", {"1", "2", "3"}, R"("1\n\"é2\n\"é3")");
}

TEST(Reducers, ConcatEndsWithTheFirstValueThatDoesNotFit) {
  ExpectMerged("concat,-,5", {"1", "23", "4", "5"}, R"("1-23" "cut":["m"])");
  ExpectMerged("concat,-,5", {"1", "234"}, R"("1-234")");
  ExpectMerged("concat,-,5", {"123", "45", "6"}, R"("123" "cut":["m"])");
  ExpectMerged("concat,-,5", {R"("toolong")", "1"}, R"("" "cut":["m"])");
  // What counts is the text that the escapes stand for.
  ExpectMerged("concat,-,5", {R"("\u0001\"")", R"("\\\u0000")"}, R"("\u0001\"-\\\u0000")");
  ExpectMerged("concat,-,4", {R"("\u0001\"")", R"("\\\u0000")"}, R"("\u0001\"" "cut":["m"])");
  ExpectMerged(R"(concat,"\n\n",4)", {"1", "2", R"("")"}, R"("1\n\n2" "cut":["m"])");
  const std::string half(kConcatBound / 2, 'x');
  const std::string less = half.substr(1);
  ExpectMerged("concat", {"\"" + half + "\"", "\"" + less + "\""}, "\"" + half + "," + less + "\"");
  ExpectMerged("concat", {"\"" + half + "\"", "\"" + half + "\""},
               "\"" + half + R"(" "cut":["m"])");
}

TEST(Reducers, OwnNoMoreOnceTheyHaveCut) {
  for (const char* merge : {"m=set(v,20)", "m=distinct(v,20)", "m=array(v,20)",
                            "m=concat(v,\",\",20)", "m=concat(v,\"\",20)", "m=keys(w,20)"}) {
    JsonHarness harness(SpecOf(Options{{"key", "k"}, {"merge", merge}, {"max-groups", "10"}}));
    size_t at_bound = 0;
    for (int i = 0; i < 2000; ++i) {
      const std::string text = "\"value" + std::to_string(i) + "\"";
      harness.Fold("{\"k\":0,\"v\":" + text + ",\"w\":{" + text + ":1}}");
      if (i == 20) at_bound = harness.folder().sizes().bytes;
    }
    EXPECT_EQ(harness.folder().sizes().bytes, at_bound) << merge;
    EXPECT_NE(harness.CloseAndPop().find("\"cut\":[\"m\"]"), std::string::npos) << merge;
  }
}

TEST(Reducers, EmptyTextsWithNothingBetweenThemTakeNoRoom) {
  JsonHarness harness(R"(--key k --merge 'm=concat(v,"")' --max-groups 10)");
  harness.Fold(R"({"k":0,"v":""})");
  const size_t bytes = harness.folder().sizes().bytes;
  for (int i = 0; i < 1000; ++i) harness.Fold(R"({"k":0,"v":""})");
  EXPECT_EQ(harness.folder().sizes().bytes, bytes);
}

TEST(Reducers, TakeNestedPathsAndPointers) {
  Options options = OptionsIn("--key k --no-meta");
  for (const char* name : {"set", "sum", "last", "count", "distinct", "array", "concat"}) {
    options.emplace_back("merge", std::string(name) + "=" + name + "(a.b.c)");
    options.emplace_back("merge", std::string("p") + name + "=" + name + "(/x~1y/0)");
  }
  JsonHarness harness(SpecOf(options));
  for (int i = 0; i < 2; ++i) {
    harness.Fold(R"({"k":0,"a":{"b":{"c":5},"c":6},"a.b.c":7,"x/y":{"0":8},"x":{"y":[9]}})");
  }
  EXPECT_EQ(harness.CloseAndPop(),
            R"({"k":0,"set":[5],"pset":[8],"sum":10,"psum":16,"last":5,"plast":8,"count":2,)"
            R"("pcount":2,"distinct":1,"pdistinct":1,"array":[5,5],"parray":[8,8],)"
            "\"concat\":\"5,5\",\"pconcat\":\"8,8\"}\n");
}

TEST(Reducers, CountTakesAnythingButNull) {
  ExpectMerged("count", {"1", "[]", "{}", "false", "\"\"", "null", ""}, "5");
}

TEST(Reducers, CountOfNothingCountsEvents) {
  JsonHarness harness("--key k --merge 'n=count()' --no-meta");
  for (int i = 0; i < 3; ++i) harness.Fold(R"({"k":0})");
  EXPECT_EQ(harness.CloseAndPop(), "{\"k\":0,\"n\":3}\n");
}

TEST(Reducers, SumsIntegersExactly) {
  ExpectMerged("sum", {"9007199254740993", "1", "-2"}, "9007199254740992");
  ExpectMerged("sum", {"-0"}, "0");
  ExpectMerged("sum", {"9223372036854775807", "-9223372036854775808"}, "-1");
}

TEST(Reducers, SumsIntegersExactlyIn128Bits) {
  ExpectMerged("sum", {"9223372036854775807", "1", "-5"}, "9223372036854775803");
  ExpectMerged("sum", {"-9223372036854775808", "-1", "5"}, "-9223372036854775804");
  ExpectMerged("sum", {"9223372036854775807", "9223372036854775807"}, "18446744073709551614");
  ExpectMerged("sum", {"18446744073709551616"}, "18446744073709551616");
  ExpectMerged("sum", {"-99999999999999999999", "7"}, "-99999999999999999992");
  ExpectMerged("sum", {"10000000000000000000", "90000000000000000000"}, "100000000000000000000");
  ExpectMerged("sum", {kMost128, "-1"}, "170141183460469231731687303715884105726");
  ExpectMerged("sum", {kLeast128, "1"}, "-170141183460469231731687303715884105727");
  ExpectMerged("sum", {kMost128, kLeast128}, "-1");
}

// They are rounded from then on, and nothing is lost but digits.
TEST(Reducers, SumsOfIntegersBeyond128BitsGoOnAsDoubles) {
  ExpectMerged("sum", {kMost128, "1"}, "1.7014118346046923e+38");
  ExpectMerged("sum", {kLeast128, "-1"}, "-1.7014118346046923e+38");
  ExpectMerged("sum", {kMost128, kMost128, kMost128}, "5.104235503814077e+38");
  ExpectMerged("sum", {kMost128, "1", "-" + kMost128, "-1"}, "0");
  ExpectMerged("sum", {"170141183460469231731687303715884105728"}, "1.7014118346046923e+38");
  ExpectMerged("sum", {"1" + std::string(40, '0'), "-1" + std::string(40, '0'), "7"}, "7");
}

// The parts meet in the total, where nothing has been cut off on the way.
TEST(Reducers, SumsOfIntegersAndOtherNumbersAreThoseOfAllTogether) {
  ExpectMerged("sum", {"-9223372036854775807", "-9223372036854775807", "1e19"},
               "-8446744073709551616");
  ExpectMerged("sum", {"9223372036854775807", "-9223372036854775808.0"}, "-1");
  ExpectMerged("sum", {kMost128, "-170141183460469231731687303715884105728.0"}, "-1");
  ExpectMerged("sum", {kMost128, "1", "0.5", kLeast128}, "0.5");
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

TEST(Reducers, SumsOfNumbersBeyondTheDoublesSaturate) {
  const std::string largest = "1.7976931348623157e+308";
  ExpectMerged("sum", {"1e400", "-1e400", "7"}, largest + R"( "saturated":["m"])");
  ExpectMerged("sum", {"7", "-1e309"}, "-" + largest + R"( "saturated":["m"])");
  ExpectMerged("mean", {"1e400"}, largest + R"( "saturated":["m"])");
  const std::string integer = "1" + std::string(400, '0');
  ExpectMerged("sum", {integer, "-5"}, largest + R"( "saturated":["m"])");
  ExpectMerged("sum", {"-" + integer, "5"}, "-" + largest + R"( "saturated":["m"])");
}

TEST(Reducers, NumbersOnlyWhereNumbersAreAsked) {
  for (const char* reducer : {"sum", "min", "max", "mean"}) {
    ExpectMerged(reducer, {R"("1 ")", "true", "[1]", "{}", "null", "", "7"}, "7", 4);
  }
}

TEST(Reducers, MeanDividesTheSum) {
  ExpectMerged("mean", {"1", "2"}, "1.5");
  ExpectMerged("mean", {"1", "3"}, "2");
  ExpectMerged("mean", {"1", "null", "", "0.5"}, "0.75");
  ExpectMerged("mean", {"1000000"}, "1000000");
  ExpectMerged("mean", {"-1", "-2"}, "-1.5");
}

TEST(Reducers, AMeanOfIntegersIsAmongThem) {
  ExpectMerged("mean", {"9223372036854775807", "9223372036854775807"}, "9223372036854775807");
  ExpectMerged("mean", std::vector<std::string>(6, "1764082800000000000"), "1764082800000000000");
  ExpectMerged("mean", {"-9223372036854775808", "-9223372036854775808"}, "-9223372036854775808");
  ExpectMerged("mean", {kMost128}, kMost128);
  ExpectMerged("mean", {"9223372036854775807", "9223372036854775806"}, "9223372036854775806");
  ExpectMerged("mean", {"9223372036854775805", "9223372036854775806"}, "9223372036854775806");
  ExpectMerged("mean", {"-9223372036854775807", "-9223372036854775808"}, "-9223372036854775808");
  ExpectMerged("mean", {"9007199254740993", "9007199254740993", "9007199254740994"},
               "9007199254740993");
}

// 2^64 + 1 by 3 is 6148914691236517205.67. A third of 2^54 + 1 is nearer to this double than that of 2^54,
// which is the double of 2^54 + 1.
TEST(Reducers, AMeanIsRoundedOnce) {
  ExpectMerged("mean", {"18446744073709551617", "0", "0"}, "6148914691236517206");
  ExpectMerged("mean", {"18014398509481985", "0", "0"}, "6004799503160662");
  ExpectMerged("mean", {"-18014398509481985", "0", "0"}, "-6004799503160662");
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
  ExpectMerged("max", {"0.1", "0.10000000000000000001"}, "0.10000000000000000001");
}

TEST(Reducers, MinAndMaxCompareNumbersBeyondTheDoubles) {
  const std::vector<std::string> large = {"7", "1e400", "1e401", "-1e400", "-1e401", "1e308"};
  ExpectMerged("max", large, "1e401");
  ExpectMerged("min", large, "-1e401");
  const std::string zeros(400, '0');
  ExpectMerged("max", {"1e400", "1" + zeros + "1", "1" + zeros + "0"}, "1" + zeros + "1");
  ExpectMerged("min", {"1e400", "1" + zeros + "1"}, "1e400");
}

TEST(Reducers, FirstAndLastGoByTheStampAndThenByArrival) {
  const FoldSpec spec = SpecOf("--key k --merge 'f=first(v)' --merge 'l=last(v)' --no-meta");
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

TEST(Reducers, FirstAndLastTakeTheWholeEvent) {
  JsonHarness harness(
      "--key k --merge 'f=first(.)' --merge 'l=last(.)' --rest last --raw-last 1 --no-meta");
  const std::pair<const char*, int> events[] = {{" { \"k\" : 0, \"v\" : \"\\u0061\" }\r", 5},
                                                {R"({"k":0,"v":1.50})", 3},
                                                {R"({"k":0})", 3},
                                                {R"({"k":0,"f":[ 1 ]})", 5}};
  for (const auto& [line, seconds] : events) {
    EXPECT_EQ(harness.Fold(line, FromUnix(std::chrono::seconds(seconds))).reason, "");
  }
  EXPECT_EQ(harness.CloseAndPop(), R"({"k":0,"f":{"k":0,"v":1.50},"l":{"k":0,"f":[1]},"v":"a",)"
                                   "\"_raw_last\":[{\"k\":0,\"f\":[1]}]}\n");
}

TEST(Reducers, DurationIsThatOfTheStamps) {
  using std::chrono_literals::operator""h;
  using std::chrono_literals::operator""us;
  const std::pair<std::vector<Duration>, const char*> cases[] = {
      {{5us}, "0"},
      {{5us, 6us}, "0.000001"},
      {{1'500'000us, 0us, 3us}, "1.5"},
      {{2h, 1h}, "3600"},
      {{-1us, 1us}, "0.000002"},
      {{-4h, -5h, -4h}, "3600"},
      {{kBeginningOfTime.time_since_epoch(), kEndOfTime.time_since_epoch()},
       "315537897599.999999"}};
  for (const auto& [stamps, seconds] : cases) {
    JsonHarness harness("--key k --quiet inf --merge 'd=duration()' --no-meta");
    for (const Duration stamp : stamps) harness.Fold(R"({"k":0})", FromUnix(stamp));
    EXPECT_EQ(harness.CloseAndPop(), "{\"k\":0,\"d\":" + std::string(seconds) + "}\n");
  }
}

TEST(Reducers, PercentilesAreRoundedToThreeDigits) {
  ExpectMerged("p50", {"", "null"}, "null");
  ExpectMerged("p50", {"7"}, "7");
  ExpectMerged("p50", {"1", "2"}, "1");
  ExpectMerged("p50", {"3", "1", "2"}, "2");
  ExpectMerged("p90", {"1", "2", "3", "4", "5", "6", "7", "8", "9", "10"}, "9");
  ExpectMerged("p999", {"1", "2"}, "2");
  ExpectMerged("p50", {"\"5 s\"", "[]", "true", "12345"}, "12300", 3);
  std::vector<std::string> thousand;
  for (int i = 1000; i > 0; --i) thousand.push_back(std::to_string(i));
  ExpectMerged("p50", thousand, "500");
  ExpectMerged("p90", thousand, "900");
  ExpectMerged("p95", thousand, "950");
  ExpectMerged("p99", thousand, "990");
  ExpectMerged("p999", thousand, "999");
}

TEST(Reducers, TopTellsTheMostFrequentValues) {
  ExpectMerged("top", {"", "null"}, "[]");
  ExpectMerged("top,2", {"1", R"("b")", R"(["\u0062","a"])", R"("a")", "1.5", R"("a")", "[[]]"},
               R"([{"value":"a","count":3},{"value":"b","count":2}])");
  ExpectMerged("top", {"3", "1", "2", "1"},
               R"([{"value":1,"count":2},{"value":3,"count":1},{"value":2,"count":1}])");
}

TEST(Reducers, PercentilesOfOnePathShareTheirMemory) {
  const auto bytes = [](const std::string& merges) {
    JsonHarness harness(SpecOf("--key k --max-groups 10 --no-meta " + merges));
    for (int i = 0; i < 1000; ++i) harness.Fold("{\"k\":0,\"v\":" + std::to_string(i) + "}");
    return harness.folder().sizes().bytes;
  };
  const size_t none = bytes("");
  const size_t one = bytes("--merge 'a=p50(v)'");
  EXPECT_GT(one, none + 1000 * 12);
  EXPECT_LT(one, none + 1000 * 12 * 2 + 200);
  EXPECT_EQ(bytes("--merge 'a=p50(v)' --merge 'b=p99(v)' --merge 'c=p999(v)'"), one);
  EXPECT_GT(bytes("--merge 'a=p50(v)' --merge 'b=p99(w)'"), one);
}

// ClickHouse, BigQuery, journald and protobuf write integers of 64 bits so.
TEST(Reducers, TakeNumbersInQuotes) {
  ExpectMerged("sum", {R"("1200")", R"("300")", "5"}, "1505");
  ExpectMerged("sum", {R"("18446744073709551615")", R"("18446744073709551615")"},
               "36893488147419103230");
  ExpectMerged("sum", {R"("0.5")", R"("1e2")", R"("-0")"}, "100.5");
  ExpectMerged("sum", {R"("\u0031\u0032")"}, "12");
  ExpectMerged("mean", {R"("1")", "2"}, "1.5");
  ExpectMerged("min", {R"("9007199254740993")", "9007199254740994"}, "9007199254740993");
  ExpectMerged("max", {R"("1e400")", R"("1e401")", "7"}, "1e401");
  ExpectMerged("p50", {R"("12")", R"("1234")", "1"}, "12");
  for (const char* reducer : {"set", "array"}) ExpectMerged(reducer, {R"("1")", "1"}, R"(["1",1])");
  ExpectMerged("last", {R"("1")"}, R"("1")");
  ExpectMerged("concat", {R"("1")", "2"}, R"("1,2")");
}

TEST(Reducers, TakeNoTextThatIsNoNumberFromItsFirstByteToItsLast) {
  for (const char* text :
       {R"("")", R"(" 1")", R"("1 ")", R"("+1")", R"("01")", R"("1.")", R"(".5")", R"("1e")",
        R"("0x10")", R"("1,000")", R"("NaN")", R"("Infinity")", R"("\u00311\n")", R"("--1")",
        R"("\u0661")", R"("true")"}) {
    for (const char* reducer : {"sum", "min", "max", "mean", "p99"}) {
      ExpectMerged(reducer, {text}, "null", 1);
    }
  }
}

TEST(Reducers, EqualNumbersAreOneElement) {
  const std::vector<std::string> spellings = {"123.0", "123", "1.23e2", R"("123")", "0", "-0"};
  ExpectMerged("set", spellings, R"([123.0,"123",0])");
  ExpectMerged("distinct", spellings, "3");
  ExpectMerged("top", spellings,
               R"([{"value":123.0,"count":3},{"value":0,"count":2},{"value":"123","count":1}])");
  ExpectMerged("array", spellings, R"([123.0,123,1.23e2,"123",0,-0])");
  ExpectMerged("set", {"[1,1.0,{\"a\":2.0}]", "[{\"a\":2},1e0]"}, R"([1,{"a":2.0}])");
  ExpectMerged("set", {"1e1000000000", "10e999999999", "1e1000000001"},
               "[1e1000000000,1e1000000001]");
  ExpectMerged("set", {"18446744073709551616", "18446744073709551617", "18446744073709551616.0"},
               "[18446744073709551616,18446744073709551617]");
  ExpectMerged("set,1", {"1.0", "1", "10e-1"}, "[1.0]");
  const std::string longer = "{\"a long name of a member\":1.50}";
  ExpectMerged("distinct", {longer, "{\"a long name of a member\":1.5}"}, "1");
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
    options.emplace_back("merge", name + "=" + name + (name == "duration" ? "()" : "(v)"));
  }
  JsonHarness harness(SpecOf(options));
  harness.Fold(R"({"k":"a","v":1})");
  harness.Fold(R"({"k":"b","v":{"x":1}})");
  harness.Fold(R"({"k":"a","v":2.5})");
  EXPECT_EQ(harness.CloseAndPop(),
            R"({"k":"a","keys":[],"set":[1,2.5],"sum":3.5,"min":1,"max":2.5,"mean":1.75,"count":2,)"
            "\"first\":1,\"last\":2.5,\"distinct\":2,\"array\":[1,2.5],\"concat\":\"1,2.5\","
            "\"duration\":0,\"p50\":1,\"p90\":2.5,\"p95\":2.5,\"p99\":2.5,\"p999\":2.5,"
            "\"top\":[{\"value\":1,\"count\":1},{\"value\":2.5,\"count\":1}]}\n"
            R"({"k":"b","keys":["x"],"set":[{"x":1}],"sum":null,"min":null,"max":null,"mean":null,)"
            "\"count\":1,\"first\":{\"x\":1},\"last\":{\"x\":1},\"distinct\":1,"
            "\"array\":[{\"x\":1}],\"concat\":null,\"duration\":0,"
            "\"p50\":null,\"p90\":null,\"p95\":null,\"p99\":null,\"p999\":null,"
            "\"top\":[{\"value\":{\"x\":1},\"count\":1}]}\n");
  EXPECT_EQ(harness.folder().counts().mismatched, 2u + 6u);
}

// The first value that a reducer does not take, after the lines.
std::optional<MergeMismatch> MismatchOf(const std::string& spec,
                                        const std::vector<std::string>& lines) {
  JsonHarness harness(SpecOf(spec));
  for (const std::string& line : lines) harness.Fold(line);
  return harness.folder().mismatch();
}

TEST(Mismatch, NamesTheMergeAndTheType) {
  const std::string spec =
      "--key k --merge 'n=count()' --merge 'total=sum(o.v)' --merge 's=set(w)'";
  EXPECT_EQ(MismatchOf(spec, {R"({"k":1,"o":{"v":1},"w":"x"})", R"({"k":1,"o":{"v":null}})"}),
            std::nullopt);
  const MergeMismatch text{
      .name = "total", .reducer = "sum", .path = "o.v", .type = "text", .only = true};
  EXPECT_EQ(MismatchOf(spec, {R"({"k":1,"o":{"v":"a lot"}})"}), text);
  EXPECT_EQ(MismatchOf(spec, {R"({"k":1,"o":{"v":"1 "}})", R"({"k":1,"o":{"v":"x"}})"}), text);
  EXPECT_EQ(MismatchOf(spec, {R"({"k":1,"o":{"v":"12.50"}})", R"({"k":1,"o":{"v":"-1e3"}})"}),
            std::nullopt);
  EXPECT_EQ(MismatchOf(spec, {R"({"k":1,"o":{"v":"x"}})", R"({"k":1,"o":{"v":true}})"})->only,
            false);
  for (const auto& [value, type] : std::vector<std::pair<std::string, std::string>>{
           {"true", "booleans"}, {"[1]", "arrays"}, {"{}", "objects"}}) {
    EXPECT_EQ(MismatchOf(spec, {R"({"k":1,"o":{"v":)" + value + "}}"})->type, type);
  }
}

TEST(Mismatch, OfMergesAndPathsOfSeveralKinds) {
  const std::string spec =
      "--key k --merge 'a=sum(/x.y)' --merge 'b=p99(v)' --merge 'c=p50(v)' --merge 'd=keys(v)'";
  const std::optional<MergeMismatch> shared = MismatchOf(spec, {R"({"k":1,"v":"5 ms"})"});
  EXPECT_EQ(shared->name + " " + shared->reducer, "b p99");
  EXPECT_FALSE(shared->only);  // keys() takes no text either
  const std::optional<MergeMismatch> keys = MismatchOf(spec, {R"({"k":1,"v":5})"});
  EXPECT_EQ(keys->name + " " + keys->type, "d numbers");
  EXPECT_TRUE(keys->only);
}

// As versions stored it whose integers ended there.
TEST(Sum, ThatHadReachedTheEndOf64BitsStaysThere) {
  constexpr uint8_t kWholeAndSaturated = 5;
  FieldWriter out;
  out.PutByte(kWholeAndSaturated);
  out(INT64_MAX);
  Sum sum{};
  FieldReader in(out.bytes());
  sum.Load(in);
  EXPECT_TRUE(in.done());
  sum.Add(ReadNumber("-5"), "-5");
  EXPECT_TRUE(sum.Total().saturated);
  EXPECT_EQ(sum.Total().real, 9223372036854775808.0);
}

TEST(Sum, AgreesWithWideArithmetic) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 1000; ++round) {
    Sum sum{};
    WideInteger exact = 0;
    for (int i = 0; i < 20; ++i) {
      const auto value = static_cast<int64_t>(random()) >> (random() % 8);
      const std::string text = std::to_string(value);
      sum.Add(ReadNumber(text), text);
      exact += value;
    }
    ASSERT_TRUE(sum.Total().integer);
    ASSERT_TRUE(sum.Total().whole == exact);
  }
}

}  // namespace
}  // namespace pleat
