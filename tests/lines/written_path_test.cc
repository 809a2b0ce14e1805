// Paths as options have them: `?`, `|`, searches in lists, and what quotes keep apart.
#include "engine/lines/scan/written_path.h"

#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/lines/scan/scanner.h"
#include "engine/lines/spec/spec_text.h"
#include "tests/lines/lines.h"

namespace pleat {
namespace {

using ::testing::HasSubstr;

// A path in one spelling: all steps as a pointer in quotes.
std::string Spelled(std::string_view text) {
  const absl::StatusOr<WrittenPath> path = ParseWrittenPath(text);
  return path.ok() ? FormatWritten(*path) : "error: " + std::string(path.status().message());
}

// The text at the path in the line; empty if nothing is there.
std::string ValueAt(std::string_view path, std::string_view line) {
  PathTree paths;
  const int slot = paths.AddWritten(*ParseWrittenPath(path));
  Scanner scanner(paths);
  const PaddedLine padded(line);
  EXPECT_EQ(scanner.Scan(padded.view()), "") << line;
  const Value& value = scanner.value(slot);
  return value.kind == Value::Kind::kAbsent ? "" : std::string(value.text);
}

TEST(WrittenPath, PlainOnesAreWhatTheyWere) {
  EXPECT_EQ(Spelled("a.b"), R"("/a/b")");
  EXPECT_EQ(Spelled("/a.b/c"), R"("/a.b/c")");
  EXPECT_EQ(Spelled("a[0]"), R"("/a[0]")");
  EXPECT_EQ(Spelled("a,b (c)"), "\"/a,b (c)\"");
  for (const char* plain : {"a", "a.b", "/a?b", "/a|b", "/x[a=b].c", "a[0].b", "tags[]"}) {
    EXPECT_FALSE(IsWrittenWithMarks(plain)) << plain;
    EXPECT_TRUE(ParseWrittenPath(plain)->plain()) << plain;
  }
}

TEST(WrittenPath, QuestionMarkStandsAtTheEnd) {
  EXPECT_EQ(Spelled("a.b?"), R"("/a/b"?)");
  EXPECT_EQ(Spelled("/a.b?"), R"("/a.b"?)");
  EXPECT_EQ(Spelled(R"("a?"?)"), R"("/a?"?)");
  EXPECT_EQ(Spelled(R"("a.b?")"), R"("/a/b?")");
  EXPECT_EQ(Spelled(R"("/a?")"), R"("/a?")");
  EXPECT_EQ(Spelled("a|b?"), R"("/a"|"/b"?)");
  EXPECT_THAT(Spelled("a?|b"), HasSubstr("has a ? before |; write it behind the last"));
  EXPECT_THAT(Spelled("a?b"), HasSubstr("has a ? before its end"));
  EXPECT_THAT(Spelled("?"), HasSubstr("has an empty step"));
  EXPECT_THAT(Spelled("a.?"), HasSubstr("has an empty step"));
}

TEST(WrittenPath, BarSeparatesWays) {
  EXPECT_EQ(Spelled("after.id|before.id"), R"("/after/id"|"/before/id")");
  EXPECT_EQ(Spelled("a | b | c"), R"("/a"|"/b"|"/c")");
  EXPECT_EQ(Spelled("a|/b.c|d"), R"("/a"|"/b.c|d")");  // a pointer has no end
  EXPECT_EQ(Spelled(R"("a|b"|"/c|d")"), R"("/a|b"|"/c|d")");
  for (const char* wrong : {"|a", "a|", "a||b", "|"}) {
    EXPECT_THAT(Spelled(wrong), HasSubstr("has nothing on one side of |")) << wrong;
  }
  EXPECT_THAT(Spelled("a|b,c"), HasSubstr("has a , outside of quotes"));
  EXPECT_THAT(Spelled("a(b)?"), HasSubstr("has a ( outside of quotes"));
  EXPECT_THAT(Spelled(R"("a"b)"), HasSubstr("goes on behind a quote"));
  EXPECT_THAT(Spelled(R"("a)"), HasSubstr("unclosed quote"));
}

TEST(WrittenPath, SearchesInBrackets) {
  EXPECT_EQ(Spelled("event_params[key=ga_session_id].value.int_value"),
            R"("/event_params"["key"=ga_session_id]."/value/int_value")");
  EXPECT_EQ(Spelled("a[k=x=y.z].b"), R"("/a"["k"=x=y.z]."/b")");
  EXPECT_EQ(Spelled("a[k.l=1]"), R"("/a"["k.l"=1])");
  EXPECT_EQ(Spelled(R"(a[ "k=]" = "x]|?" ].b)"), R"("/a"["k=]"="x]|?"]."/b")");
  EXPECT_EQ(Spelled("a[k=v][l=w].b"), R"("/a"["k"=v]["l"=w]."/b")");
  EXPECT_EQ(Spelled(R"("/k8s.io/a"[k=v]."c.d")"), R"("/k8s.io/a"["k"=v]."/c/d")");
  EXPECT_EQ(Spelled("a[k=v].b?"), R"("/a"["k"=v]."/b"?)");
  EXPECT_THAT(Spelled("a[k=b|c].d"), HasSubstr("has a | in its brackets"));
  EXPECT_THAT(Spelled("a[k=b?].d"), HasSubstr("has a ? in its brackets"));
  EXPECT_THAT(Spelled("a[k=b,c]"), HasSubstr("has a , in its brackets"));
  EXPECT_THAT(Spelled("[k=v].d"), HasSubstr("has no list before a ["));
  EXPECT_THAT(Spelled("a[=v].d"), HasSubstr("has no name before the ="));
  EXPECT_THAT(Spelled("a[k=].d"), HasSubstr("has no value behind the ="));
  EXPECT_THAT(Spelled("a[k=v]b"), HasSubstr("goes on behind a quote or a ]"));
}

TEST(WrittenPath, FirstThatIsThereAndNotNullCounts) {
  EXPECT_EQ(ValueAt("a|b", R"({"b":2,"a":1})"), "1");
  EXPECT_EQ(ValueAt("a|b", R"({"b":2})"), "2");
  EXPECT_EQ(ValueAt("a|b", R"({"a":null,"b":2})"), "2");
  EXPECT_EQ(ValueAt("a|b", R"({"a":null})"), "null");
  EXPECT_EQ(ValueAt("a|b", R"({"b":null})"), "null");
  EXPECT_EQ(ValueAt("a|b", R"({"c":null})"), "");
  EXPECT_EQ(ValueAt("a.id|b.id|c", R"({"a":null,"b":{"id":false},"c":3})"), "false");
  EXPECT_EQ(ValueAt("a|b.0", R"({"b":[[7]]})"), "[7]");
}

// As GA4, OpenTelemetry and CloudWatch export them.
TEST(WrittenPath, FirstElementThatMatchesCounts) {
  constexpr std::string_view kParams =
      R"({"p":[{"key":"page","value":{"s":"/x"}},{"v":0,"key":"id","value":{"i":"171"}},)"
      R"({"key":"id","value":{"i":"9"}}]})";
  EXPECT_EQ(ValueAt("p[key=id].value.i", kParams), R"("171")");
  EXPECT_EQ(ValueAt("p[key=page].value.i", kParams), "");
  EXPECT_EQ(ValueAt("p[key=page].value.i|p[key=id].v", kParams), "0");
  EXPECT_EQ(ValueAt("p[key=none].value", kParams), "");
  EXPECT_EQ(ValueAt("p[v=0].key", kParams), R"("id")");
  EXPECT_EQ(ValueAt("p[ke=page].value", kParams), "");
  EXPECT_EQ(
      ValueAt("Dimensions[Name=InstanceId].Value",
              R"({"Dimensions":[{"Name":"Az","Value":"a"},{"Value":"i-1","Name":"InstanceId"}]})"),
      R"("i-1")");
  EXPECT_EQ(
      ValueAt(
          "resource.attributes[key=service.name].value.stringValue",
          R"({"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"api"}}]}})"),
      R"("api")");
  EXPECT_EQ(ValueAt("a[k=v].l[m=n].x.1", R"({"a":[{"k":"v","l":[{"m":"n","x":[4, 5]}]}]})"), "5");
}

TEST(WrittenPath, ValuesInBracketsAreTextOrWhatTheyReadAs) {
  constexpr std::string_view kLine =
      R"({"a":[3,"x",null,[],{"k":[1],"v":0},{"k":1.0,"v":1},{"k":"1","v":2},{"k":true,"v":3},)"
      R"({"k":"true","v":4},{"k":null,"v":5},{"k":"\u0061\"","v":6},{"\u006b":"z","v":7},)"
      R"({"k":1e400,"v":8}]})";
  EXPECT_EQ(ValueAt("a[k=1].v", kLine), "1");
  EXPECT_EQ(ValueAt("a[k=10e-1].v", kLine), "1");
  EXPECT_EQ(ValueAt(R"(a[k="1"].v)", kLine), "2");
  EXPECT_EQ(ValueAt("a[k=true].v", kLine), "3");
  EXPECT_EQ(ValueAt(R"(a[k="true"].v)", kLine), "4");
  EXPECT_EQ(ValueAt("a[k=null].v", kLine), "5");
  EXPECT_EQ(ValueAt(R"(a[k="a\""].v)", kLine), "6");
  EXPECT_EQ(ValueAt("a[k=z].v", kLine), "7");
  EXPECT_EQ(ValueAt("a[k=1e400].v", kLine), "8");
  EXPECT_EQ(ValueAt("a[k=v].b", R"({"a":{"k":"v","b":1}})"), "");  // no list
  EXPECT_EQ(ValueAt("a[k=v].b", R"({"a":[]})"), "");
}

TEST(WrittenPath, EqualOnesShareASlot) {
  PathTree paths;
  const auto add = [&](std::string_view text) { return paths.AddWritten(*ParseWrittenPath(text)); };
  EXPECT_EQ(add("a|b"), add(" \"a\" | \"/b\" ?"));
  EXPECT_EQ(add("a?"), add("a"));
  EXPECT_NE(add("a|b"), add("b|a"));
  EXPECT_EQ(add("a[k=v].b"), add("a[\"k\"=v].\"b\""));
  EXPECT_NE(add("a[k=v].b"), add("a[k=\"v\"].b"));
}

TEST(WrittenPath, KeyFieldsKeepThemApart) {
  const std::vector<KeyField> fields = *ParseKeyFields(
      R"(a?, n=b|c ,p[key=x.y].v, "d?","e,f"?,g="h=i"|j, "k|l"=m, /o.p?, q=r[s=t].u?)");
  const std::vector<KeyField> expected = {
      {"a", "a?"},       {"n", "b|c"},         {"v", "p[key=x.y].v"},
      {"d?", R"("d?")"}, {"e,f", R"("e,f"?)"}, {"g", R"("h=i"|j)"},
      {"k|l", "m"},      {"o.p", "/o.p?"},     {"q", "r[s=t].u?"}};
  ASSERT_EQ(fields.size(), expected.size());
  for (size_t i = 0; i < fields.size(); ++i) {
    EXPECT_EQ(fields[i].name, expected[i].name);
    EXPECT_EQ(fields[i].path, expected[i].path);
    const std::string written = FormatKeyField(fields[i]);
    const std::vector<KeyField> again = *ParseKeyFields(written);
    ASSERT_EQ(again.size(), 1U) << written;
    EXPECT_EQ(again[0].name, fields[i].name) << written;
    EXPECT_EQ(again[0].path, fields[i].path) << written;
  }
  EXPECT_EQ(FormatKeyField({"n", "/a,b?"}), R"(n="/a,b"?)");  // from a program
}

TEST(WrittenPath, MergesAndConditionsTakeThem) {
  const Merge merge = *ParseMerge("n=sum(p[key=price].value.i|p[key=price].value.d)");
  EXPECT_EQ(merge.path, "p[key=price].value.i|p[key=price].value.d");
  EXPECT_EQ(FormatMerge(merge), "n=sum(p[key=price].value.i|p[key=price].value.d)");
  EXPECT_EQ(ParseMerge(R"(n=set("a?",3))")->path, R"("a?")");
  EXPECT_EQ(FormatMerge(*ParseMerge(R"(n=set("a?",3))")), R"(n=set("a?",3))");
  for (const char* text : {"p[key=x].v>=5", "a|b=1", R"("a?"=1)", R"("a=b"|c!=x)", "a?=null"}) {
    const absl::StatusOr<Condition> condition = ParseCondition(text);
    ASSERT_TRUE(condition.ok()) << text << condition.status();
    EXPECT_EQ(FormatCondition(*condition), text);
  }
  EXPECT_EQ(ParseCondition("p[key=x].v>=5")->path, "p[key=x].v");
  EXPECT_THAT(ParseCondition("a=x|y").status().message(),
              HasSubstr(R"(has a | in it; one of several is {"any":["a=1","a=2"]})"));
  EXPECT_EQ(ParseCondition(R"(a="x|y")")->value, R"("x|y")");
}

}  // namespace
}  // namespace pleat
