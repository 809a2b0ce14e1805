// Conditions: how they are written, what is refused and why, and when they hold.
#include "engine/lines/plan/condition.h"

#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pleat/json.h>

#include "engine/lines/scan/written_path.h"
#include "engine/lines/spec/condition_text.h"
#include "tests/model/plain_condition.h"

namespace pleat {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Condition Parsed(std::string_view text) {
  absl::StatusOr<Condition> condition = ParseCondition(text);
  EXPECT_TRUE(condition.ok()) << text << ": " << condition.status().message();
  return condition.ok() ? *condition : Condition{};
}

std::string ErrorOf(std::string_view text) {
  const absl::StatusOr<Condition> condition = ParseCondition(text);
  EXPECT_TRUE(absl::IsInvalidArgument(condition.status())) << text;
  return std::string(condition.status().message());
}

Condition Comparison(Condition::Kind kind, std::string path, std::string value) {
  return {kind, std::move(path), std::move(value), {}};
}

// Whether `condition` holds where the paths have these canonical values. The plain condition of the
// model has to agree.
bool Holds(const std::string& condition, const std::map<std::string, std::string>& values) {
  std::vector<std::string> paths;
  const ConditionPlan plan(Parsed(condition), [&](const std::string& path) {
    paths.push_back(path);
    return static_cast<int>(paths.size()) - 1;
  });
  const bool holds = plan.Holds([&](int place) -> std::string_view {
    const auto found = values.find(paths[static_cast<size_t>(place)]);
    return found == values.end() ? std::string_view() : std::string_view(found->second);
  });
  const auto plain_value = [&](const std::string& path) {
    const auto found = values.find(path);
    return found == values.end() ? PlainJson{} : ParsePlainJson(found->second).value();
  };
  EXPECT_EQ(Holds(ReadPlainCondition(condition), plain_value), holds) << condition;
  return holds;
}

bool Compare(const std::string& left, std::string_view op, const std::string& right) {
  return Holds("a" + std::string(op) + right, {{"a", left}});
}

TEST(ConditionText, IsPathOperatorValue) {
  EXPECT_EQ(Parsed("status=done"), Comparison(Condition::Kind::kEqual, "status", R"("done")"));
  EXPECT_EQ(Parsed("a.b!=1"), Comparison(Condition::Kind::kNotEqual, "a.b", "1"));
  EXPECT_EQ(Parsed("/x~1y<-2.5e3"), Comparison(Condition::Kind::kLess, "/x~1y", "-2.5e3"));
  EXPECT_EQ(Parsed("t<=5"), Comparison(Condition::Kind::kAtMost, "t", "5"));
  EXPECT_EQ(Parsed("t>5"), Comparison(Condition::Kind::kGreater, "t", "5"));
  EXPECT_EQ(Parsed("t>=5"), Comparison(Condition::Kind::kAtLeast, "t", "5"));
}

TEST(ConditionText, WhiteSpaceAroundPathAndValueIsNoPartOfThem) {
  EXPECT_EQ(Parsed(" \t status  =\n in progress "),
            Comparison(Condition::Kind::kEqual, "status", R"("in progress")"));
  EXPECT_EQ(Parsed(R"( "a b" >= " 1 " )"),
            Comparison(Condition::Kind::kAtLeast, "a b", R"(" 1 ")"));
}

TEST(ConditionText, ValueIsAScalarIfItCanBeElseText) {
  const std::pair<const char*, const char*> values[] = {{"1", "1"},
                                                        {"01", R"("01")"},
                                                        {"true", "true"},
                                                        {"null", "null"},
                                                        {R"("1")", R"("1")"},
                                                        {R"("\u0061\/")", R"("a/")"},
                                                        {"", R"("")"},
                                                        {"it's", R"("it's")"},
                                                        {"a\"b", R"("a\"b")"},
                                                        {"[1]", R"("[1]")"},
                                                        {"a=b", R"("a=b")"},
                                                        {"salt and pepper", R"("salt and pepper")"},
                                                        {"not yet", R"("not yet")"},
                                                        {"NaN", R"("NaN")"},
                                                        {"1e999", "1e999"}};
  for (const auto& [text, value] : values) {
    EXPECT_EQ(Parsed(std::string("p=") + text).value, value) << text;
  }
}

TEST(ConditionText, PathInQuotesIsAnything) {
  EXPECT_EQ(Parsed(R"("a=\"b\""=1)").path, "a=\"b\"");
  EXPECT_EQ(Parsed(R"("{x"=1)").path, "{x");
  EXPECT_EQ(Parsed(R"(""=1)").path, "");
  EXPECT_EQ(Parsed("wow!=1").path, "wow");
  EXPECT_EQ(Parsed("a!b=1").path, "a!b");
}

TEST(ConditionText, DocumentNestsAllAnyAndNot) {
  const Condition both = {
      Condition::Kind::kAll,
      {},
      {},
      {Comparison(Condition::Kind::kAtLeast, "total", "100"),
       {Condition::Kind::kNot, {}, {}, {Comparison(Condition::Kind::kEqual, "s", R"("open")")}}}};
  EXPECT_EQ(Parsed(R"({"all":["total>=100",{"not":"s=open"}]})"), both);
  EXPECT_EQ(Parsed(" { \"all\" : [ \"total >= 100\" , {\"n\\u006ft\":\"s=open\"} ] }\n"), both);
  EXPECT_EQ(Parsed(R"({"any":["a=1"]})").kind, Condition::Kind::kAny);
}

// Words and marks in its quotes and brackets are letters; written and read again it is the same path.
TEST(ConditionText, PathWithMarksKeepsItsMeaning) {
  for (const std::string_view text : {R"(tags[key="rock and roll"].value=1)", R"("R and B"|k=x)",
                                      R"("a&&b"|c=1)", R"(a|b="x")", R"(a."b>c"|d<2)"}) {
    const absl::StatusOr<Condition> condition = ParseCondition(text);
    ASSERT_TRUE(condition.ok()) << text << condition.status();
    const std::string written = FormatCondition(*condition);
    const absl::StatusOr<Condition> again = ParseCondition(written);
    ASSERT_TRUE(again.ok()) << written << again.status();
    EXPECT_EQ(FormatWritten(*ParseWrittenPath(again->path)),
              FormatWritten(*ParseWrittenPath(condition->path)));
  }
}

TEST(ConditionText, ErrorsTeach) {
  EXPECT_EQ(ErrorOf("status"),
            "\"status\" is not PATH OP VALUE, such as status=done (OP is one of = != < <= > >=)");
  EXPECT_THAT(ErrorOf(""), HasSubstr("is not PATH OP VALUE"));
  EXPECT_THAT(ErrorOf("=1"), HasSubstr("a path is missing before"));
  EXPECT_THAT(ErrorOf("a==1"), HasSubstr("== in \"a==1\" is not an operator; write ="));
  EXPECT_THAT(ErrorOf("a=>1"), HasSubstr("write >="));
  EXPECT_THAT(ErrorOf("a=<1"), HasSubstr("write <="));
  EXPECT_THAT(ErrorOf("a<>1"), HasSubstr("write !="));
  EXPECT_THAT(ErrorOf("a= =1"), HasSubstr("put it in quotes"));
  EXPECT_THAT(ErrorOf("a>>1"), HasSubstr("put it in quotes"));
  EXPECT_THAT(ErrorOf("a=1 && b=2"), HasSubstr(R"({"all":["a=1","b=2"]})"));
  EXPECT_THAT(ErrorOf("a=1||b=2"), HasSubstr("any"));
  EXPECT_THAT(ErrorOf("a=\"x"), HasSubstr("not a JSON string"));
  EXPECT_THAT(ErrorOf("\"a=1"), HasSubstr("unclosed quote"));
  EXPECT_THAT(ErrorOf("\"\\q\"=1"), HasSubstr("unknown escape"));
  EXPECT_THAT(ErrorOf("a\"b=1"), HasSubstr("has to be in quotes"));
  EXPECT_THAT(ErrorOf("a=\xff"), HasSubstr("not UTF-8"));
  EXPECT_THAT(ErrorOf("\xff=1"), HasSubstr("not UTF-8"));
  EXPECT_THAT(ErrorOf(R"({"and":["a=1"]})"), HasSubstr("\"and\" is none of all, any, not"));
  EXPECT_THAT(ErrorOf(R"({"all":"a=1"})"), HasSubstr("all takes an array of conditions"));
  EXPECT_THAT(ErrorOf(R"({"not":["a=1"]})"), HasSubstr("not takes one condition"));
  EXPECT_THAT(ErrorOf(R"({"all":[]})"), HasSubstr("all without a condition"));
  EXPECT_THAT(ErrorOf(R"({"all":[1]})"), HasSubstr("\"1\" is no condition"));
  EXPECT_THAT(ErrorOf(R"({"all":["a"]})"), HasSubstr("is not PATH OP VALUE"));
  EXPECT_THAT(ErrorOf(R"({"all":["{\"not\":\"a=1\"}"]})"), HasSubstr("in quotes"));
  EXPECT_THAT(ErrorOf("{}"), HasSubstr("one member"));
  EXPECT_THAT(ErrorOf(R"({"all":["a=1"],"any":["a=1"]})"), HasSubstr("one member"));
  EXPECT_THAT(ErrorOf(R"({"all":["a=1"])"), HasSubstr("not valid JSON"));
  EXPECT_THAT(ErrorOf("a\n\x1b[31m"), Not(HasSubstr("\n")));
  EXPECT_LT(ErrorOf(std::string(100'000, 'x')).size(), 200u);
}

TEST(ConditionText, WhatOtherLanguagesWriteIsRefusedWithTheSpellingThatWorks) {
  const std::pair<const char*, const char*> slips[] = {
      {"a=1 AND b=2", R"({"all":["a=1","b=2"]})"},
      {"a=1 or b=2", R"({"any":["a=1","b=2"]})"},
      {"title=Romeo AND Juliet", "put it in quotes"},
      {"a AND b=1", R"({"all":["a=1","b=2"]})"},
      {"a='x' AND b='y'", R"({"all":["a=1","b=2"]})"},
      {"(a=1)", R"({"any":["a=1","b=2"]})"},
      {"not a=1", R"(write {"not":"a=1"})"},
      {"NOT(a=1)", R"(write {"not":"a=1"})"},
      {"!a=1", R"(write {"not":"a=1"})"},
      {"a=~x", "=~ in \"a=~x\" is not an operator; write ="},
      {"a='x'", R"(is in single quotes; write "x")"},
      {"'a'=x", "is in single quotes"},
      {"a=True", "write true"},
      {"a=FALSE", "write false"},
      {"a!=NULL", "write null"},
      {"a=1,b=2", R"({"any":["a=1","a=2"]})"},
      {"status=paid,failed", R"({"any":["a=1","a=2"]})"},
      {"total>=1,000", "has a comma in it"},
      {"a,b=1", "is not one path"}};
  for (const auto& [text, hint] : slips) EXPECT_THAT(ErrorOf(text), HasSubstr(hint)) << text;
}

TEST(ConditionText, WhatIsMeantGoesInQuotes) {
  for (const char* text :
       {"a AND b", "'x'", "True", "1,000", "~x", "a && b", "not a", "(a", "x and y=1"}) {
    const Condition condition =
        Comparison(Condition::Kind::kEqual, text, "\"" + std::string(text) + "\"");
    EXPECT_EQ(Parsed(FormatCondition(condition)), condition) << text;
  }
}

TEST(Condition, ATextThatIsANumberCountsAsOneBesideANumber) {
  EXPECT_TRUE(Compare(R"("500")", "=", "500"));
  EXPECT_TRUE(Compare(R"("5e2")", "=", "500.0"));
  EXPECT_TRUE(Compare(R"("500")", ">=", "500"));
  EXPECT_FALSE(Compare(R"("500")", "!=", "500"));
  EXPECT_TRUE(Compare(R"("9")", "<", "10"));
  EXPECT_TRUE(Compare(R"("18446744073709551616")", ">", "18446744073709551615"));
  EXPECT_TRUE(Compare(R"("-0")", "=", "0"));
  // Beside a text both are texts.
  EXPECT_FALSE(Compare(R"("9")", "<", R"("10")"));
  EXPECT_FALSE(Compare("500", "=", R"("500")"));
  EXPECT_FALSE(Compare("500", ">=", R"("500")"));
  for (const char* text :
       {R"("")", R"(" 5")", R"("5 ")", R"("05")", R"("+5")", R"("5ms")", R"("\"5")"}) {
    EXPECT_FALSE(Compare(text, "=", "5")) << text;
    EXPECT_TRUE(Compare(text, "!=", "5")) << text;
    EXPECT_FALSE(Compare(text, ">", "0")) << text;
  }
}

TEST(ConditionText, NestsSixteenLevelsAndHoldsManyComparisons) {
  const auto nested = [](int levels) {
    std::string text;
    for (int i = 0; i < levels; ++i) text += R"({"not":)";
    text += R"("a=1")" + std::string(static_cast<size_t>(levels), '}');
    return text;
  };
  EXPECT_TRUE(ParseCondition(nested(kConditionLevelsMax)).ok());
  EXPECT_THAT(ErrorOf(nested(kConditionLevelsMax + 1)), HasSubstr("16 levels"));
  EXPECT_THAT(ErrorOf(nested(100'000)), HasSubstr("64 levels"));
  const auto wide = [](int comparisons) {
    std::string text = R"({"any":["a=1")";
    for (int i = 1; i < comparisons; ++i) text += R"(,"a=1")";
    return text + "]}";
  };
  EXPECT_TRUE(ParseCondition(wide(kComparisonsMax)).ok());
  EXPECT_THAT(ErrorOf(wide(kComparisonsMax + 1)), HasSubstr("256 comparisons"));
}

TEST(ConditionText, FormatIsReadAsTheSame) {
  for (const char* text :
       {"status=done",
        "a.b!=1",
        "t<=-2.5e3",
        "s=",
        R"(s="1")",
        R"(s="true")",
        R"("a=b">"<x>")",
        R"("a\"b"=1)",
        R"("{a"=1)",
        R"("["=1)",
        R"(" a"=" b ")",
        R"(""=null)",
        "a!b=c!=d",
        R"(s="&&")",
        R"(s="\"x")",
        R"(s="a\u0000\n\t")",
        "s=in progress",
        R"("\n"="\n")",
        "s=ä",
        R"({"all":["total>=100",{"not":"status=open"},{"any":["a=\"1\"","\"b=\"=2"]}]})"}) {
    const Condition condition = Parsed(text);
    EXPECT_EQ(Parsed(FormatCondition(condition)), condition) << FormatCondition(condition);
  }
  EXPECT_EQ(FormatCondition(Parsed(" s = done ")), "s=done");
  EXPECT_EQ(FormatCondition(Parsed(R"(s="1")")), R"(s="1")");
  EXPECT_EQ(FormatCondition(Parsed(R"( {"all": ["a = 1", {"not":"b=x"}]} )")),
            R"({"all":["a=1",{"not":"b=x"}]})");
}

TEST(Condition, ComparesNumbersExactly) {
  EXPECT_TRUE(Compare("1", "=", "1.0"));
  EXPECT_TRUE(Compare("-0", "=", "0e5"));
  EXPECT_TRUE(Compare("9007199254740993", ">", "9007199254740992"));
  EXPECT_FALSE(Compare("9007199254740993", "=", "9007199254740992.0"));
  EXPECT_TRUE(Compare("1e400", "<", "1e401"));
  EXPECT_TRUE(Compare("-1e401", "<", "-1e400"));
  EXPECT_TRUE(Compare("100", ">=", "100.00"));
  EXPECT_TRUE(Compare("99.999999999999999999999", "<", "100"));
  EXPECT_TRUE(Compare("100", "<=", "1e2"));
}

TEST(Condition, ComparesStringsByteByByte) {
  EXPECT_TRUE(Compare(R"("abc")", "<", R"("abd")"));
  EXPECT_TRUE(Compare(R"("ab")", "<", R"("abc")"));
  EXPECT_TRUE(Compare(R"("")", "<", R"("a")"));
  EXPECT_TRUE(Compare(R"("z")", "<", R"("ä")"));
  // In their canonical texts these begin with a backslash, which lies behind the capitals.
  EXPECT_TRUE(Compare(R"("\u0001")", "<", R"("A")"));
  EXPECT_TRUE(Compare(R"("\"")", "<", R"("A")"));
  EXPECT_TRUE(Compare(R"("a\nb")", "<", R"("a b")"));
  EXPECT_TRUE(Compare(R"("a\n")", ">", R"("a")"));
  EXPECT_TRUE(Compare(R"("a\\")", "=", R"("a\u005c")"));
  EXPECT_TRUE(Compare(R"("a\\")", "<=", R"("a\u005c")"));
}

TEST(Condition, OnlyLikeTypesHaveAnOrder) {
  for (const char* left : {R"("1 ")", "true", "null", "[1]", "{}"}) {
    for (const char* op : {"<", "<=", ">", ">="}) EXPECT_FALSE(Compare(left, op, "1")) << left;
    EXPECT_FALSE(Compare(left, "=", "1")) << left;
    EXPECT_TRUE(Compare(left, "!=", "1")) << left;
  }
  EXPECT_FALSE(Compare("true", ">=", "true"));
  EXPECT_TRUE(Compare("true", "=", "true"));
}

TEST(Condition, AbsentCountsAsNullAndAContainerEqualsNothing) {
  EXPECT_TRUE(Holds("a=null", {}));
  EXPECT_TRUE(Holds("a=null", {{"a", "null"}}));
  EXPECT_FALSE(Holds("a=null", {{"a", "[]"}}));
  EXPECT_TRUE(Holds("a!=1", {}));
  EXPECT_FALSE(Holds("a<1", {}));
  EXPECT_FALSE(Holds("a=[]", {{"a", "[]"}}));
}

TEST(Condition, AllAnyAndNotMeanWhatTheySay) {
  const char* const text = R"({"any":[{"all":["a=1","b=2"]},{"not":"c!=3"}]})";
  EXPECT_TRUE(Holds(text, {{"a", "1"}, {"b", "2"}}));
  EXPECT_FALSE(Holds(text, {{"a", "1"}, {"b", "3"}}));
  EXPECT_TRUE(Holds(text, {{"c", "3"}}));
  EXPECT_FALSE(Holds(text, {}));
}

TEST(Condition, NoneNeverHolds) {
  EXPECT_TRUE(ConditionPlan().empty());
  EXPECT_FALSE(ConditionPlan().Holds([](int) { return std::string_view(); }));
}

}  // namespace
}  // namespace pleat
