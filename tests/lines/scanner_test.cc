// What is a good line and what is not: promises I1 to I6 and group F of the nasty cases.
#include "engine/lines/scan/scanner.h"

#include <functional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/lines/scan/reasons.h"
#include "tests/lines/lines.h"

namespace pleat {
namespace {

using ::testing::IsEmpty;

std::string ReasonFor(std::string_view text) {
  const PathTree none;
  const PaddedLine line(text);
  return std::string(Scanner(none).Scan(line.view()));
}

// The same where the whole line is asked for, besides some paths.
std::string ReasonForWhole(std::string_view text) {
  PathTree all;
  all.AskForAll();
  const PaddedLine line(text);
  return std::string(Scanner(all).Scan(line.view()));
}
std::string ReasonWith(const std::vector<Path>& asked, std::string_view text) {
  PathTree paths;
  for (const Path& path : asked) paths.Add(path);
  const PaddedLine line(text);
  return std::string(Scanner(paths).Scan(line.view()));
}

std::string Repeat(std::string_view text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += text;
  return out;
}

// `levels` containers in all, the outermost object included.
std::string Nested(int levels) {
  return R"({"a":)" + Repeat("[", levels - 1) + Repeat("]", levels - 1) + "}";
}

std::string ObjectOf(int members) {
  std::string out = "{";
  for (int i = 0; i < members; ++i) {
    out += (i == 0 ? "\"" : ",\"") + std::to_string(i) + "\":0";
  }
  return out + "}";
}

void ExpectInvalid(std::string_view reason, const std::vector<std::string>& texts) {
  for (const std::string& text : texts) EXPECT_EQ(ReasonFor(text), reason) << text;
}

TEST(Scanner, RejectsWhatIsNotAnObject) {
  ExpectInvalid(invalid_line::kNotObject,
                {"1", "-1", "null", "true", R"("a")", "[1]", R"([{"a":1}])"});
  ExpectInvalid(invalid_line::kNotObject,
                {"[]", "}", "]", ",", ":", "x", R"(x{"a":1})", R"(,{"a":1})"});
  ExpectInvalid(invalid_line::kNotObject,
                {"\f{}", "\v{}", "\x1a{}", "\xc2\xa0{}", std::string("\0", 1),
                 std::string("\0{}", 3), std::string(100'000, '[')});
}

TEST(Scanner, RejectsTextBehindTheObject) {
  ExpectInvalid(invalid_line::kTrailing, {R"({"a":1}})", R"({"a":1}{"b":2})", R"({"a":1} {})",
                                          R"({"a":1},{"b":2})", R"({"a":1}x{})"});
  ExpectInvalid(invalid_line::kNoEnd,
                {R"({"a":1} x)", R"({"a":1}])", R"({"a":1},)", R"({"a":1}1)", R"({"a":1}"x")",
                 R"({"a":1} //x)", std::string("{\"a\":1}\0", 8),
                 std::string("{\"a\":1} \0\0\0", 11), "{}\x1a", "{}\f"});
}

TEST(Scanner, RejectsWhatIsNotClosed) {
  ExpectInvalid(invalid_line::kNoEnd, {"{", R"({"a")", R"({"a":)", R"({"a":1)", R"({"a":1,)",
                                       R"({"a":[1)", R"({"a":[)", R"({"a":{)"});
  ExpectInvalid(invalid_line::kUnclosed, {R"({"a":{})", R"({"a":{"b":1})", R"({"a":[{})"});
  ExpectInvalid(invalid_line::kNoArrayEnd, {R"({"a":[{}})", R"({"a":[1})", R"({"a":{"b":[1}})"});
  ExpectInvalid(invalid_line::kUnclosedString, {R"({"a":")", R"({"a":"x)", R"({"a":"x\")",
                                                R"({"a":"x\"})", R"({"a)", R"({"a":"x\\\"})"});
}

TEST(Scanner, RejectsBrokenStructure) {
  ExpectInvalid(invalid_line::kNoName,
                {R"({"a":1,})", R"({,})", R"({,"a":1})", R"({"a":1,,"b":2})", R"({a:1})",
                 R"({'a':1})", R"({1:1})", R"({null:1})", R"({{}:1})", R"({[]})"});
  ExpectInvalid(invalid_line::kNoColon, {R"({"a"})", R"({"a",1})", R"({"a" 1})", R"({"a"=1})",
                                         R"({"a""b"})", R"({"a"x:1})"});
  ExpectInvalid(invalid_line::kNoValue,
                {R"({"a":})", R"({"a"::1})", R"({"a":,"b":1})", R"({"a":]})", R"({"a":[,1]})",
                 R"({"a":[1,]})", R"({"a":[1,,2]})", R"({"a":/*x*/1})"});
  ExpectInvalid(invalid_line::kNoObjectEnd,
                {R"({"a":1 "b":2})", R"({"a":1:2})", R"({"a":1]})", R"({"a":"x""y"})",
                 R"({"a":"x"y})", R"({"a":"x"1})", R"({"a":1 2})", R"({"a":{}{}})"});
  ExpectInvalid(invalid_line::kNoArrayEnd,
                {R"({"a":[1 2]})", R"({"a":[1:2]})", R"({"a":["x" "y"]})", R"({"a":[{}[]]})"});
}

TEST(Scanner, RejectsInvalidNumbersInFieldsNobodyReads) {
  for (const char* number :
       {"01", "-01", "00", "1.",        "-1.",   "1.e1",  "1e",    "1e+",       "1E-",   "1.5e",
        "-",  "--1", "1-", "1+1",       "1.2.3", "1e1.5", "1e1e1", "0x1",       "1_000", "1a",
        "-a", "0b1", "1f", "-infinity", "-NaN",  "1'0",   "-Inf",  "-Infinityx"}) {
    EXPECT_EQ(ReasonFor(std::string("{\"a\":") + number + "}"), invalid_line::kNumber) << number;
  }
  for (const char* number : {"+1", ".5", "-.5"}) {
    EXPECT_THAT(ReasonFor(std::string("{\"a\":") + number + "}"), Not(IsEmpty())) << number;
  }
}

TEST(Scanner, RejectsUnknownWordsInFieldsNobodyReads) {
  for (const char* word : {"tru", "truee", "fals", "nul", "nulll", "none", "undefined", "t", "f",
                           "n", "true1", "nan", "inf", "true\xc2\xa0", "null\\", "true/"}) {
    EXPECT_EQ(ReasonFor(std::string("{\"a\":") + word + "}"), invalid_line::kLiteral) << word;
  }
  for (const char* word : {"True", "TRUE", "NULL", "NAN", "NaNs", "Inf", "Infinit", "None", "@",
                           "#", "'x'", "\xc3\xa9", "\\u0061"}) {
    EXPECT_EQ(ReasonFor(std::string("{\"a\":") + word + "}"), invalid_line::kNoValue) << word;
  }
}

// simdjson's kernels cut these into tokens differently, so that the reason depends on the machine.
TEST(Scanner, RejectsWhatIsGluedToANumber) {
  EXPECT_THAT(ReasonFor(R"({"a":1"})"), Not(IsEmpty()));
  EXPECT_THAT(ReasonFor(R"({"a":1"x"})"), Not(IsEmpty()));
  EXPECT_THAT(ReasonFor("{\"a\":1\f}"), Not(IsEmpty()));
  EXPECT_THAT(ReasonFor("{\"a\":1\x1a}"), Not(IsEmpty()));
}

TEST(Scanner, RejectsNulBetweenTokens) {
  EXPECT_THAT(ReasonFor(std::string("{\"a\":\0}", 7)), Not(IsEmpty()));
  EXPECT_THAT(ReasonFor(std::string("{\"a\":1\0}", 8)), Not(IsEmpty()));
  EXPECT_THAT(ReasonFor(std::string("{\0\"a\":1}", 8)), Not(IsEmpty()));
  EXPECT_THAT(ReasonFor(std::string("{\"a\"\0:1}", 8)), Not(IsEmpty()));
  EXPECT_THAT(ReasonFor(std::string("{\"a\":true\0}", 11)), Not(IsEmpty()));
  EXPECT_THAT(ReasonFor(std::string("{\"a\":\"x\"\0}", 10)), Not(IsEmpty()));
}

TEST(Scanner, RejectsInvalidEscapesAndLoneSurrogates) {
  for (const char* inside :
       {R"(\x)", R"(\a)", R"(\')", R"(\0)", R"(\u)", R"(\u1)", R"(\u12)", R"(\u123)", R"(\u123g)",
        R"(\u 123)", R"(\U0041)", R"(\u-123)", R"(\u00e)", R"(x\qy)", R"(\ )"}) {
    EXPECT_EQ(ReasonFor(std::string(R"({"a":")") + inside + R"("})"), invalid_line::kEscape)
        << inside;
    EXPECT_EQ(ReasonFor(std::string(R"({")") + inside + R"(":1})"), invalid_line::kEscape)
        << inside;
  }
  for (const char* inside :
       {R"(\ud800)", R"(\udbff)", R"(\udc00)", R"(\udfff)", R"(\ud800x)", R"(\ud800\n)",
        R"(\ud800\u0041)", R"(\ud800\ud800)", R"(\udc00\ud800)", R"(\ud800\udbff\udc00)",
        R"(\ud83d \ude00)", R"(\ud800\uzzzz)", R"(\ud800\\udc00)"}) {
    EXPECT_EQ(ReasonFor(std::string(R"({"a":[{"b":")") + inside + R"("}]})"),
              invalid_line::kSurrogate)
        << inside;
  }
}

TEST(Scanner, RejectsEveryRawControlCharacterInAString) {
  for (int c = 0; c < 0x20; ++c) {
    for (int before : {0, 1, 70}) {
      const std::string text = "{\"a\":\"" + std::string(static_cast<size_t>(before), 'x') +
                               static_cast<char>(c) + "\"}";
      EXPECT_EQ(ReasonFor(text), invalid_line::kControl) << c << " behind " << before;
    }
  }
  EXPECT_EQ(ReasonFor("{\"a\nb\":1}"), invalid_line::kControl);
}

TEST(Scanner, RejectsWhatIsNotUtf8) {
  for (const char* bytes :
       {"\x80", "\xbf", "\xc3", "\xc0\x80", "\xc1\xbf", "\xe2\x80", "\xe0\x80\x80", "\xe0\x9f\xbf",
        "\xed\xa0\x80", "\xed\xbf\xbf", "\xf0\x80\x80\x80", "\xf0\x8f\xbf\xbf", "\xf0\x9f\x98",
        "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xfe", "\xff", "\xc3\x28", "\xe2\x28\xa1"}) {
    EXPECT_EQ(ReasonFor(std::string("{\"a\":\"") + bytes + "\"}"), invalid_line::kNotUtf8);
    EXPECT_EQ(ReasonFor(std::string("{\"") + bytes + "\":1}"), invalid_line::kNotUtf8);
    EXPECT_EQ(ReasonFor("{\"a\":\"" + std::string(61, 'x') + bytes + "\"}"),
              invalid_line::kNotUtf8);
  }
}

TEST(Scanner, RejectsOtherEncodings) {
  EXPECT_EQ(ReasonFor("\xef\xbb\xbf{\"a\":1}"), invalid_line::kByteOrderMark);
  EXPECT_EQ(ReasonFor("\xef\xbb\xbf"), invalid_line::kByteOrderMark);
  EXPECT_THAT(ReasonFor(std::string("\xff\xfe{\0}\0", 6)), Not(IsEmpty()));
  EXPECT_THAT(ReasonFor(std::string("\xfe\xff\0{\0}", 6)), Not(IsEmpty()));
  EXPECT_THAT(ReasonFor(std::string("{\0\"\0a\0\"\0:\0001\0}\0", 14)), Not(IsEmpty()));
}

TEST(Scanner, RejectsARepeatedNameInAnyObject) {
  constexpr const char* kTwiceA = R"(member "a" appears twice)";
  EXPECT_EQ(ReasonForWhole(R"({"a":1,"a":1})"), kTwiceA);
  EXPECT_EQ(ReasonForWhole(R"({"a":1,"b":2,"a":null})"), kTwiceA);
  EXPECT_EQ(ReasonForWhole(R"({"a":1,"\u0061":1})"), kTwiceA);
  EXPECT_EQ(ReasonForWhole(R"({"\u0061":1,"a":1})"), kTwiceA);
  EXPECT_EQ(ReasonForWhole(R"({"x":{"a":1,"a":1}})"), kTwiceA);
  EXPECT_EQ(ReasonForWhole(R"({"x":[0,[{"a":1,"a":1}]]})"), kTwiceA);
  EXPECT_EQ(ReasonForWhole(R"({"":1,"":1})"), R"(member "" appears twice)");
  EXPECT_EQ(ReasonForWhole(R"({"a/b":1,"a\/b":1})"), R"(member "a/b" appears twice)");
  EXPECT_EQ(ReasonForWhole(R"({"\n":1,"\u000a":1})"), R"(member "\n" appears twice)");
  EXPECT_EQ(ReasonForWhole("{\"\xf0\x9f\x98\x80\":1,\"\\ud83d\\ude00\":1}"),
            "member \"\xf0\x9f\x98\x80\" appears twice");
  const std::string name(20, 'n');
  EXPECT_EQ(ReasonForWhole("{\"" + name + "\":1,\"" + name + "\":2}"),
            "member \"" + name + "\" appears twice");
}

// Pino and others write a member of the context and one of the call under one name.
TEST(Scanner, ARepeatedNameThatNobodyAsksForSpoilsNothing) {
  const std::vector<Path> asked = {{"k"}, {"o", "x"}, {"l", "1", "y"}, {"whole"}};
  for (const char* text :
       {R"({"k":1,"key":"value","key":"foo"})", R"({"key":1,"\u006bey":2,"k":1})",
        R"({"k":1,"o":{"y":1,"x":2,"y":3}})", R"({"k":1,"l":[{"y":1,"y":2},{"z":1,"z":2}]})",
        R"({"k":1,"":1,"":2,"":3})", R"({"k":1,"p":{"k":1,"k":2}})",
        R"({"k":1,"p":[{"x":1,"x":2}]})"}) {
    EXPECT_EQ(ReasonWith(asked, text), "") << text;
    EXPECT_THAT(ReasonForWhole(text), Not(IsEmpty())) << text;
  }
  EXPECT_EQ(ReasonWith(asked, R"({"k":1,"a":1,"k":2})"), R"(member "k" appears twice)");
  EXPECT_EQ(ReasonWith(asked, R"({"k":1,"\u006b":1})"), R"(member "k" appears twice)");
  EXPECT_EQ(ReasonWith(asked, R"({"k":1,"k":1})"), R"(member "k" appears twice)");
  // On the way to what is asked for, and within it.
  EXPECT_EQ(ReasonWith(asked, R"({"o":{},"o":{"x":1}})"), R"(member "o" appears twice)");
  EXPECT_EQ(ReasonWith(asked, R"({"o":{"x":1,"x":2}})"), R"(member "x" appears twice)");
  EXPECT_EQ(ReasonWith(asked, R"({"l":[0,{"y":1,"y":2}]})"), R"(member "y" appears twice)");
  EXPECT_EQ(ReasonWith(asked, R"({"whole":{"a":[{"b":1,"b":2}]}})"), R"(member "b" appears twice)");
  EXPECT_EQ(ReasonWith(asked, R"({"whole":[{"b":1},{"b":1}]})"), "");
}

// Those of the name tree, which is asked first, and those behind its names.
TEST(Scanner, FindsARepeatedNameThatIsAskedForInALargeObject) {
  for (int members : {3, 31, 32, 33, 100, 1000}) {
    for (const char* name : {"1", "2"}) {
      std::string text = ObjectOf(members);
      text.insert(text.size() - 1, std::string(",\"") + name + "\":1,\"" + name + "\":2");
      EXPECT_EQ(ReasonWith({{"1"}}, text), *name == '1' ? R"(member "1" appears twice)" : "")
          << members;
    }
  }
  // They count as members, too.
  EXPECT_EQ(ReasonFor("{\"a\":0" + Repeat(",\"a\":0", 1023) + "}"), "");
  EXPECT_EQ(ReasonFor("{\"a\":0" + Repeat(",\"a\":0", 1024) + "}"), invalid_line::kMembers);
}

TEST(Scanner, TakesNaNAndInfinityForNull) {
  PathTree paths;
  const int a = paths.Add({"a"});
  Scanner scanner(paths);
  for (const char* word : {"NaN", "Infinity", "-Infinity"}) {
    const PaddedLine line(std::string("{\"a\":") + word + ",\"b\":[" + word + " , {\"c\":" + word +
                          "}]}");
    ASSERT_EQ(scanner.Scan(line.view()), "") << word;
    EXPECT_EQ(scanner.value(a).kind, Value::Kind::kNull);
    EXPECT_EQ(scanner.not_numbers(), 3u);
  }
  const PaddedLine none(R"({"a":"NaN","Infinity":null})");
  ASSERT_EQ(scanner.Scan(none.view()), "");
  EXPECT_EQ(scanner.not_numbers(), 0u);
  for (const char* word : {"nan", "inf", "+Infinity", "-NaN", "NAN", "Inf", "infinity", "INFINITY",
                           "NaN1", "- Infinity", "Infinityx"}) {
    EXPECT_THAT(ReasonFor(std::string("{\"a\":") + word + "}"), Not(IsEmpty())) << word;
  }
}

TEST(Scanner, FindsARepeatedNameInALargeObject) {
  for (int members : {16, 31, 32, 33, 34, 100, 1023}) {
    std::string text = ObjectOf(members);
    EXPECT_THAT(ReasonForWhole(text), IsEmpty()) << members;
    text.insert(text.size() - 1, R"(,"7":1)");
    EXPECT_EQ(ReasonForWhole(text), R"(member "7" appears twice)") << members;
  }
}

// Names that agree in size and in their first and last bytes, which is all a fingerprint sees.
TEST(Scanner, TellsNamesOfOneFingerprintApart) {
  for (int members : {5, 200}) {
    std::string text = "{";
    for (int i = 0; i < members; ++i) {
      text += (i == 0 ? "\"" : ",\"") + std::string("aaaaaaaa") + std::to_string(1000 + i) +
              "zzzzzzzz\":0";
    }
    EXPECT_THAT(ReasonForWhole(text + "}"), IsEmpty());
    EXPECT_EQ(ReasonForWhole(text + R"(,"aaaaaaaa1003zzzzzzzz":0})"),
              R"(member "aaaaaaaa1003zzzzzzzz" appears twice)");
  }
}

// Names that the name tree does not take, for their length or their number, are read twice.
TEST(Scanner, UnescapesNamesThatAreNotRememberedInTheRoomOfTheLine) {
  const std::string name = "\\u0061" + std::string(500, 'n');
  EXPECT_EQ(ReasonForWhole("{\"" + name + "\":1}"), "");
  EXPECT_EQ(
      ReasonForWhole("{\"a" + name.substr(6) + "\":1,\"" + name + "\":2}"),
      "member " + invalid_line::Quoted("a" + name.substr(6)) + std::string(invalid_line::kTwice));
  std::string objects;
  for (int i = 0; i < 100; ++i) {
    objects += (i == 0 ? "{\"\\n" : ",{\"\\n") + std::string(30, 'x') + std::to_string(i) + "\":0}";
  }
  EXPECT_EQ(ReasonForWhole("{\"a\":[" + objects + "]}"), "");
}

TEST(Scanner, LimitsDepth) {
  EXPECT_THAT(ReasonFor(Nested(64)), IsEmpty());
  EXPECT_EQ(ReasonFor(Nested(65)), invalid_line::kDepth);
  EXPECT_THAT(ReasonFor(Repeat(R"({"a":)", 63) + "{}" + Repeat("}", 63)), IsEmpty());
  EXPECT_EQ(ReasonFor(Repeat(R"({"a":)", 64) + "{}" + Repeat("}", 64)), invalid_line::kDepth);
  EXPECT_EQ(ReasonFor(R"({"a":)" + std::string(500'000, '[') + "}"), invalid_line::kDepth);
}

TEST(Scanner, LimitsMembersOfEachObject) {
  EXPECT_THAT(ReasonFor(ObjectOf(1024)), IsEmpty());
  EXPECT_EQ(ReasonFor(ObjectOf(1025)), invalid_line::kMembers);
  EXPECT_EQ(ReasonFor(ObjectOf(100'000)), invalid_line::kMembers);
  EXPECT_THAT(ReasonFor(R"({"a":)" + ObjectOf(1024) + R"(,"b":)" + ObjectOf(1024) + "}"),
              IsEmpty());
}

TEST(Scanner, AcceptsLongLinesOfEscapesOrElements) {
  EXPECT_THAT(ReasonFor(R"({"a":")" + Repeat(R"(\n)", 500'000) + R"("})"), IsEmpty());
  EXPECT_THAT(ReasonFor(R"({"a":[0)" + Repeat(",0", 500'000) + "]}"), IsEmpty());
  EXPECT_EQ(ReasonFor(R"({"a":")" + Repeat(R"(\n)", 500'000) + R"(\q"})"), invalid_line::kEscape);
}

// The scanner must see every token of a line at any place in simdjson's blocks.
TEST(Scanner, GivesTheSameVerdictAtEveryOffset) {
  for (size_t before = 0; before < 140; ++before) {
    const std::string space(before, ' ');
    EXPECT_THAT(ReasonFor(space + R"({"a":"x\\","b":[1,{"c":null}]})"), IsEmpty()) << before;
    EXPECT_EQ(ReasonFor(space + R"({"a":"x\\","b":[1,{"c":nul}]})"), invalid_line::kLiteral)
        << before;
    EXPECT_EQ(ReasonFor(R"({"a":1})" + space + "}"), invalid_line::kTrailing) << before;
    EXPECT_EQ(ReasonFor(R"({"a":1)" + space + "x}"),
              before == 0 ? invalid_line::kNumber : invalid_line::kNoObjectEnd);
  }
}

// A line is one thing and its padding another: what follows must not complete it.
TEST(Scanner, NeverReadsBehindTheLine) {
  const std::string whole = R"({"a":[1,{"b":"x\u00e9"}],"c":true})";
  for (size_t size = 1; size < whole.size(); ++size) {
    std::string bytes = whole + std::string(kLinePaddingBytes, ' ');
    const PathTree none;
    EXPECT_FALSE(Scanner(none).Scan(std::string_view(bytes).substr(0, size)).empty()) << size;
  }
}

TEST(Scanner, ReportsNamesEscapedAndCut) {
  const std::string hostile = R"(a\u001b[31m\nb\u009b)";
  EXPECT_EQ(ReasonForWhole("{\"" + hostile + "\":1,\"" + hostile + "\":1}"),
            R"(member "a\u001b[31m\nb?" appears twice)");
  const std::string name(1000, 'n');
  EXPECT_EQ(ReasonForWhole("{\"" + name + "\":1,\"" + name + "\":1}"),
            "member \"" + std::string(60, 'n') + "...\" appears twice");
}

TEST(Scanner, PicksValuesOutByPath) {
  PathTree paths;
  const int plain = paths.Add({"a"});
  const int nested = paths.Add({"o", "x"});
  const int object = paths.Add({"o"});
  const int in_array = paths.Add({"l", "0"});
  const int absent = paths.Add({"z"});
  const int escaped = paths.Add({"\xc3\xa9"});
  Scanner scanner(paths);
  const PaddedLine line(R"({"a": 10 ,"o": {"x" : "y\n"} ,"l":[5],"\u00e9":null, "x":2})");
  ASSERT_EQ(scanner.Scan(line.view()), "");
  EXPECT_EQ(scanner.value(plain).text, "10");
  EXPECT_TRUE(scanner.value(plain).plain);
  EXPECT_EQ(scanner.value(nested).text, R"("y\n")");
  EXPECT_FALSE(scanner.value(nested).plain);
  EXPECT_EQ(scanner.value(object).kind, Value::Kind::kObject);
  EXPECT_EQ(scanner.value(object).text, R"({"x" : "y\n"})");
  EXPECT_EQ(scanner.value(in_array).text, "5");
  EXPECT_EQ(scanner.value(absent).kind, Value::Kind::kAbsent);
  EXPECT_EQ(scanner.value(escaped).kind, Value::Kind::kNull);
}

TEST(Scanner, ForgetsTheLineBefore) {
  PathTree paths;
  const int slot = paths.Add({"a"});
  Scanner scanner(paths);
  const PaddedLine first(R"({"a":1})");
  const PaddedLine second(R"({"b":1})");
  ASSERT_EQ(scanner.Scan(first.view()), "");
  ASSERT_EQ(scanner.Scan(second.view()), "");
  EXPECT_EQ(scanner.value(slot).kind, Value::Kind::kAbsent);
}

// What a scanner remembers of earlier lines must not show: here it is compared with a new one, which
// remembers nothing, on lines whose objects share beginnings, names and nesting in every way.
TEST(Scanner, JudgesALineByItselfWhateverCameBefore) {
  PathTree paths;
  const int a = paths.Add({"a"});
  const int in_b = paths.Add({"b", "a"});
  paths.Add({"c"});
  Scanner old(paths);
  std::mt19937_64 random(1);
  const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  const std::function<std::string(int)> object = [&](int depth) {
    static constexpr const char* kNames[] = {"a", "b", "c", "\\u0061", "d", "a name of over 16"};
    std::string text;
    for (size_t i = 0, n = below(depth == 0 ? 6 : 4); i < n; ++i) {
      std::string name = kNames[below(std::size(kNames))];
      if (below(4) == 0) name += std::to_string(below(3000));
      text += (i == 0 ? "\"" : ",\"") + name + (below(9) == 0 ? "\" :" : "\":");
      text += below(3) == 0 && depth < 4 ? object(depth + 1) : std::to_string(below(100));
    }
    text = "{" + text + "}";
    return below(5) == 0 ? "[" + text + "]" : text;
  };
  for (int i = 0; i < 20'000; ++i) {
    const PaddedLine line(object(0));
    Scanner fresh(paths);
    const std::string reason(fresh.Scan(line.view()));
    ASSERT_EQ(old.Scan(line.view()), reason) << line.view();
    if (!reason.empty()) continue;
    for (const int slot : {a, in_b}) {
      ASSERT_EQ(old.value(slot).kind, fresh.value(slot).kind) << line.view();
      if (old.value(slot).kind == Value::Kind::kAbsent) continue;
      ASSERT_EQ(old.value(slot).text, fresh.value(slot).text) << line.view();
    }
  }
}

}  // namespace
}  // namespace pleat
