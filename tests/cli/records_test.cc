// Records of other formats as lines of JSON, and the lines of the input that they came from.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pleat/json.h>

#include "tests/cli/shown_records.h"
#include "tests/support/plain_json.h"
#include "tests/support/seeds.h"
#include "tools/pleat/line_reader.h"
#include "tools/pleat/records/input_format.h"
#include "tools/pleat/records/refused_record.h"

namespace pleat::cli {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Lines Logfmt(std::string text) { return Convert(InputFormat::kLogfmt, std::move(text)); }
Lines Json(std::string text) { return Convert(InputFormat::kJson, std::move(text)); }

// --- logfmt

TEST(LogfmtRecords, PairsBecomeMembers) {
  EXPECT_THAT(Logfmt("level=info n=5 d=1.5s id=007 url=http://x/?a=b flag\r\n\n \n\tk=v"),
              ElementsAre(R"(1: {"level":"info","n":5,"d":"1.5s","id":"007",)"
                          R"("url":"http://x/?a=b","flag":true})",
                          R"(4: {"k":"v"})"));
  EXPECT_THAT(Logfmt("a= b=\"\" c=true d=null\n"),
              ElementsAre(R"(1: {"a":null,"b":null,"c":"true","d":"null"})"));
}

TEST(LogfmtRecords, EscapesOfJsonAndOfGo) {
  EXPECT_THAT(Logfmt(R"(m="say \"hi\" \\ \/ \n\t\r\b\f" u="\u00e9\U0001f600\ud83d\ude00" a=1)"),
              ElementsAre("1: {\"m\":\"say \\\"hi\\\" \\\\ / \\n\\t\\r\\b\\f\","
                          "\"u\":\"\u00e9\U0001f600\U0001f600\",\"a\":1}"));
  EXPECT_THAT(Logfmt(R"(m="\x1b\xc3\xa9\a\v\'")"),
              ElementsAre("1: {\"m\":\"\\u001b\u00e9\\u0007\\u000b'\"}"));
  EXPECT_THAT(Logfmt(R"(m="\ud83dx\ud83d\ude00")"),
              ElementsAre("1: {\"m\":\"\xed\xa0\xbdx\U0001f600\"}"));
  EXPECT_THAT(Logfmt(R"(m="\UFFFFFFFF")"),
              ElementsAre(R"(1: ! unknown escape in quotes | m="\UFFFFFFFF")"));
}

TEST(LogfmtRecords, WhatIsNoRecordIsRefused) {
  EXPECT_THAT(
      Logfmt("at java.lang.Thread\n=1\na=1 =2\na=\"x\na=\"x\\\na=\"x\"y\na=\"\\q\"\na=\"\\u12\"\n"
             "say \"hi\" a=1\nb=2\n"),
      ElementsAre(
          "1: ! no name=value | at java.lang.Thread", "2: ! expected a name before \"=\" | =1",
          "3: ! expected a name before \"=\" | a=1 =2", "4: ! a quote that is not closed | a=\"x",
          "5: ! a quote that is not closed | a=\"x\\",
          "6: ! text behind the closing quote of a value | a=\"x\"y",
          "7: ! unknown escape in quotes | a=\"\\q\"",
          "8: ! unknown escape in quotes | a=\"\\u12\"",
          "9: ! a quote outside of a value | say \"hi\" a=1", R"(10: {"b":2})"));
  const Lines lines = Logfmt("a=" + std::string(size_t{2} << 20, 'x') + "\nb=2\n");
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_TRUE(lines[0].starts_with("1: ! longer than 1 MiB | a=xx"));
  EXPECT_EQ(lines[1], R"(2: {"b":2})");
}

// --- JSON

TEST(JsonRecords, ArraysAndPrettyPrintedDocumentsAreStreamsOfObjects) {
  EXPECT_THAT(Json(R"([{"a":1},{"a":2}])"), ElementsAre(R"(1: {"a":1})", R"(1: {"a":2})"));
  EXPECT_THAT(
      Json("[\n  {\n    \"a\": 1,\n    \"b\": [ 1, { } ]\n  },\n  {\n    \"a\": 2\n  }\n]\n"),
      ElementsAre(R"(2: {"a":1,"b":[1,{}]})", R"(6: {"a":2})"));
  EXPECT_THAT(Json("{\"a\":1}{\"a\":2} {\r\n\"a\":3}\n\n[[{\"a\":4}],[],[{\"a\":5}]]"),
              ElementsAre(R"(1: {"a":1})", R"(1: {"a":2})", R"(1: {"a":3})", R"(4: {"a":4})",
                          R"(4: {"a":5})"));
  EXPECT_THAT(Json(""), IsEmpty());
  EXPECT_THAT(Json(" [ ] \n"), IsEmpty());
}

TEST(JsonRecords, TextSequencesAreStreamsOfObjects) {
  EXPECT_THAT(Json("\x1e{\"a\":1}\n\x1e{\"a\":2}\n\x1e\x1e\n\x1e {\"a\":\"x\n\x1e{\"a\":4}"),
              ElementsAre(R"(1: {"a":1})", R"(2: {"a":2})",
                          "4: ! not valid JSON: control character in a string | {\"a\":\"x",
                          R"(5: {"a":4})"));
}

// A separator begins a value, whatever was before it.
TEST(JsonRecords, AValueOfATextSequenceThatIsCutOffTakesNoOtherWithIt) {
  for (const char* cut :
       {"{\"k\":", "{\"b\":{\"x\":12", "{\"k\":\"tr", "{\"k\":\"\\", "{", "tru"}) {
    const Lines lines = Json("\x1e{\"a\":1}\n\x1e" + std::string(cut) + "\x1e{\"a\":2}\n");
    ASSERT_EQ(lines.size(), 3u) << cut;
    EXPECT_EQ(lines[0], R"(1: {"a":1})");
    EXPECT_EQ(lines[2], R"(2: {"a":2})") << cut;
  }
}

TEST(JsonRecords, StringsKeepTheirBytesAndTokensStayApart) {
  EXPECT_THAT(Json(R"({"a b" : "x\"} [ \\" , "c":"\\"})"),
              ElementsAre(R"(1: {"a b":"x\"} [ \\","c":"\\"})"));
  // What is not valid stays not valid.
  EXPECT_THAT(Json("{\"a\":1 2}{\"a\":tr ue}{\"a\" \"b\"}"),
              ElementsAre(R"(1: {"a":1 2})", R"(1: {"a":tr ue})", R"(1: {"a" "b"})"));
}

TEST(JsonRecords, OtherValuesAreRefused) {
  EXPECT_THAT(Json("[1,\"x y\\\"\",null,true {\"a\":1}] }] : nonsense"),
              ElementsAre("1: ! not a JSON object | 1", "1: ! not a JSON object | \"x y\\\"\"",
                          "1: ! not a JSON object | null", "1: ! not a JSON object | true",
                          R"(1: {"a":1})", "1: ! not valid JSON: brackets that do not match | }",
                          "1: ! not valid JSON: brackets that do not match | ]",
                          "1: ! not valid JSON: brackets that do not match | :",
                          "1: ! not a JSON object | nonsense"));
}

TEST(JsonRecords, ObjectThatIsCutOffLosesNoOther) {
  EXPECT_THAT(
      Json("{\"a\":[1}\n{\"a\":2}\n{\"a\":\"x\n{\"a\":3}\n{\"a\":4\n{\"a\":5}\n"),
      ElementsAre("1: ! not valid JSON: brackets that do not match | {\"a\":[1}", R"(2: {"a":2})",
                  "3: ! not valid JSON: control character in a string | {\"a\":\"x",
                  R"(4: {"a":3})", "5: ! not valid JSON: unclosed object or array | {\"a\":4",
                  R"(6: {"a":5})"));
  EXPECT_THAT(Json("[\n  {\n    \"a\": \"x\n    \"b\": {\n      \"c\": 1\n    }\n  },\n  {\n"
                   "    \"a\": 2\n  }\n]\n"),
              ElementsAre("2: ! not valid JSON: control character in a string | {\"a\":\"x",
                          R"(8: {"a":2})"));
}

TEST(JsonRecords, EndWithinAValueIsSaid) {
  EXPECT_THAT(Json("[{\"a\":1},\n"),
              ElementsAre(R"(1: {"a":1})", "1: ! an array that does not end | "));
  EXPECT_THAT(Json("{\"a\":{"),
              ElementsAre("1: ! not valid JSON: unclosed object or array | {\"a\":{"));
  EXPECT_THAT(Json("{\"a"), ElementsAre("1: ! not valid JSON: unclosed string | {\"a"));
  EXPECT_THAT(Json("\"a"), ElementsAre("1: ! not valid JSON: unclosed string | \"a"));
  EXPECT_THAT(Json("nul"), ElementsAre("1: ! not a JSON object | nul"));
}

TEST(JsonRecords, ObjectOverTheLimitOrDeepIsOneRecord) {
  const Lines lines = Json("[{\"a\":\"" + std::string(size_t{2} << 20, 'x') + "\"},\n{\"a\":2}]");
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_TRUE(lines[0].starts_with("1: ! longer than 1 MiB | {\"a\":\"xx"));
  EXPECT_EQ(lines[1], R"(2: {"a":2})");
  const std::string deep = "{\"a\":" + std::string(500, '[') + std::string(500, ']') + "}";
  EXPECT_THAT(Json(deep + deep), ElementsAre("1: " + deep, "1: " + deep));
}

// A valid document of objects, in arrays or not, with white space drawn.
struct DrawnJson {
  std::string text;
  Lines lines;
};

class JsonDraw {
 public:
  explicit JsonDraw(uint64_t seed) : random_(seed) {}

  DrawnJson Stream() {
    DrawnJson drawn;
    const bool array = Any(2) == 0;
    if (array) drawn.text += "[" + Space();
    for (uint64_t i = 0, count = Any(6); i < count; ++i) {
      if (i > 0) drawn.text += Space() + (array ? "," : "") + Space();
      const auto newlines = std::ranges::count(drawn.text, '\n');
      const std::string object = Object(0);
      drawn.text += object;
      drawn.lines.push_back(std::to_string(newlines + 1) + ": " +
                            WritePlainJson(*ParsePlainJson(object)));
    }
    if (array) drawn.text += Space() + "]";
    drawn.text += Space();
    return drawn;
  }

 private:
  uint64_t Any(uint64_t below) { return random_() % below; }
  std::string Space() {
    constexpr const char* kSpaces[] = {"", "", " ", "\n", "\r\n  ", "\t"};
    return kSpaces[Any(std::size(kSpaces))];
  }
  std::string Object(int depth) {
    std::string text = "{" + Space();
    for (uint64_t i = 0, count = Any(4); i < count; ++i) {
      text += (i > 0 ? "," + Space() : "") + "\"m" + std::to_string(i) + "\"" + Space() + ":" +
              Space() + Value(depth + 1) + Space();
    }
    return text + "}";
  }
  std::string Value(int depth) {
    constexpr const char* kScalars[] = {
        "1",           "-0.5e3",  "true",     "null",         "\"\"",
        "\"a b\\\"\"", "\"[{,\"", "\"\\\\\"", "\"\xc3\xa9\"", "\"]}:\""};
    if (depth < 4 && Any(4) == 0) return Object(depth);
    if (depth < 4 && Any(4) == 0) {
      std::string text = "[" + Space();
      for (uint64_t i = 0, count = Any(4); i < count; ++i) {
        text += (i > 0 ? "," : "") + Space() + Value(depth + 1) + Space();
      }
      return text + "]";
    }
    return kScalars[Any(std::size(kScalars))];
  }

  std::mt19937_64 random_;
};

TEST(JsonRecords, AgreeWithAPlainReader) {
  ForEachSeed(1, 2000, [](uint64_t seed) {
    const DrawnJson drawn = JsonDraw(seed).Stream();
    EXPECT_EQ(Json(drawn.text), drawn.lines) << drawn.text;
  });
}

// --- All of them

TEST(Records, ByteOrderMarkIsSkippedAndUtf16Named) {
  EXPECT_THAT(Csv("\xef\xbb\xbf"
                  "a,b\n1,2\n"),
              ElementsAre(R"(2: {"a":1,"b":2})"));
  EXPECT_THAT(Convert(InputFormat::kJson, "\xef\xbb\xbf[{\"a\":1}]", 1),
              ElementsAre(R"(1: {"a":1})"));
  EXPECT_THAT(Convert(InputFormat::kLogfmt,
                      "\xef\xbb"
                      "a=1\n",
                      1),
              ElementsAre("1: {\"\xef\xbb"
                          "a\":1}"));
  EXPECT_THAT(Convert(InputFormat::kLogfmt, "\xef", 1), ElementsAre("1: ! no name=value | \xef"));
  for (const char* text : {"\xff\xfe"
                           "a",
                           "\xfe\xff"
                           "a"}) {
    EXPECT_THAT(Csv(text),
                ElementsAre("[in: looks like UTF-16: iconv -f UTF-16 -t UTF-8 FILE | pleat ...]"));
  }
}

TEST(Records, ErrorOfTheInputIsPassedOn) {
  EXPECT_THAT(ShownLines(InputFormat::kCsv,
                         std::make_unique<TextSource>("a\n1\n2", 3, absl::DataLossError("broken"))),
              ElementsAre(R"(2: {"a":1})", "[broken]"));
}

// Neither is a line that is complete held back, nor is one that is not made one.
TEST(Records, LineComesWithTheByteThatCompletesItsRecord) {
  struct Case {
    InputFormat format;
    std::string head;
    std::string record;
  };
  for (const auto& [format, head, record] :
       {Case{InputFormat::kCsv, "a\n", "1\n"}, Case{InputFormat::kLogfmt, "", "a=1\n"},
        Case{InputFormat::kJson, "[", "{\"a\":1}"}}) {
    LineMap map;
    const auto source = ConvertedInput(
        format,
        std::make_unique<TextSource>(head + record, SIZE_MAX, absl::UnavailableError("silent")),
        "in", map);
    EXPECT_EQ(ReadAll(*source), "{\"a\":1}\n[silent]");
  }
}

// Whoever goes on with a file that has grown knows then that its last line may have changed.
TEST(Records, RecordThatOnlyTheEndCompletesIsUnfinished) {
  for (const auto& [format, text] :
       {std::pair{InputFormat::kCsv, "a\n0\n1"}, std::pair{InputFormat::kLogfmt, "a=0\na=1"},
        std::pair{InputFormat::kJson, "{\"a\":0}[{\"b\":"}}) {
    LineMap map;
    LineReader reader(ConvertedInput(format, std::make_unique<TextSource>(text), "in", map));
    const LineBlock whole = *reader.Next();
    EXPECT_EQ(whole.text, "{\"a\":0}\n");
    EXPECT_FALSE(whole.unfinished);
    const LineBlock last = *reader.Next();
    EXPECT_NE(last.text, "");
    EXPECT_TRUE(last.unfinished);
    const LineBlock end = *reader.Next();
    EXPECT_EQ(end.kind, LineBlock::Kind::kEnd);
    EXPECT_FALSE(end.unfinished);
  }
}

// Gives out a text in pieces of drawn sizes.
class DrawnSource final : public ByteSource {
 public:
  DrawnSource(std::string text, uint64_t seed) : text_(std::move(text)), random_(seed) {}

  absl::StatusOr<size_t> Read(char* to, size_t size) override {
    const size_t bytes = std::min({size, text_.size() - given_, 1 + size_t(random_() % 7)});
    std::memcpy(to, text_.data() + given_, bytes);
    given_ += bytes;
    return bytes;
  }

 private:
  std::string text_;
  std::mt19937_64 random_;
  size_t given_ = 0;
};

TEST(Records, LinesDoNotDependOnHowTheInputIsCut) {
  ForEachSeed(1, 1500, [](uint64_t seed) {
    std::mt19937_64 random(seed);
    constexpr const char* kPieces[] = {
        "a",    "k=1",     "=",       "\\", "\"",    "\"\"", ",",           "\n", "\n",
        "\r",   " ",       "{\"k\":", "1",  "}",     "[",    "]",           ":",  "{}",
        "\xff", "\\u00e9", "k,n\n",   "\t", "\"x\"", "\\n",  "\xef\xbb\xbf"};
    const std::string text = Draw(random, kPieces) + Draw(random, kPieces);
    for (const InputFormat format :
         {InputFormat::kCsv, InputFormat::kTsv, InputFormat::kLogfmt, InputFormat::kJson}) {
      const Lines whole = Convert(format, text);
      EXPECT_EQ(Convert(format, text, 1), whole) << text;
      EXPECT_EQ(ShownLines(format, std::make_unique<DrawnSource>(text, seed)), whole) << text;
    }
  });
}

TEST(Records, RefusalIsReadBackAndNoOtherLineIsOne) {
  const std::string record("a\nb\\n\\\0\n", 8);
  std::string line;
  AppendRefused("why", record, line);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  const std::optional<RefusedRecord> refused = ReadRefused(line);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->reason, "why");
  EXPECT_EQ(refused->record, record);
  for (const std::string_view other : {"", "{}", "why"}) EXPECT_FALSE(ReadRefused(other));
}

TEST(LineMap, KnowsTheLineOfEachThatIsStillNeeded) {
  LineMap map;
  for (const uint64_t line : {2, 3, 4, 9, 9, 9, 12, 13}) map.Add(line);
  const auto line_of = [&map](uint64_t n) { return map.InputLineOf(n); };
  EXPECT_EQ(line_of(1), 2u);
  EXPECT_EQ(line_of(3), 4u);
  EXPECT_EQ(line_of(4), 9u);
  EXPECT_EQ(line_of(6), 9u);
  EXPECT_EQ(line_of(8), 13u);
  map.ForgetBefore(6);
  EXPECT_EQ(line_of(6), 9u);
  EXPECT_EQ(line_of(8), 13u);
  map.Add(14);
  EXPECT_EQ(line_of(9), 14u);
}

// --- Files that grow

// Wherever a file ends so far, the records that have an end come, and they stay the same.
TEST(GrowingRecords, WhatHasNoEndIsLeft) {
  const std::pair<InputFormat, std::string> kTexts[] = {
      {InputFormat::kCsv, "a,b\n1,\"x\n\"\"y\"\n\n3,4\r\ninvalid\n\"5\",6\n"},
      {InputFormat::kTsv, "a\tb\r\n1\t2\r\nbad\r\n3\t\r\n"},
      {InputFormat::kLogfmt, "a=1 b=\"x y\"\n\n  \ninvalid\nc=2\n"},
      {InputFormat::kJson, "{\"a\":\n1}\n[{\"b\":[2]}, 17, \"x\"]\n{\"c\":}\n[[{\"d\":4}]]\n"},
      {InputFormat::kJson, "[{\"a\":1}\n,{\"b\":{\"c\":2\n{\"d\":3}]\n{\"e\":5}\n"},
      {InputFormat::kAccess,
       "h - - [12/Sep/2015:00:00:01 +0000] \"GET / HTTP/1.1\" 200 5\ninvalid\n"}};
  for (const auto& [format, text] : kTexts) {
    const auto left = [&](size_t size) {
      return ShownLines(format, std::make_unique<TextSource>(text.substr(0, size)),
                        UnfinishedEnd::kLeft);
    };
    const Lines whole = Convert(format, text);
    EXPECT_EQ(left(text.size()), whole) << text;
    size_t before = 0;
    for (size_t size = 0; size < text.size(); ++size) {
      const Lines lines = left(size);
      ASSERT_LE(lines.size(), whole.size()) << size;
      EXPECT_TRUE(std::equal(lines.begin(), lines.end(), whole.begin())) << text << size;
      EXPECT_GE(lines.size(), before);
      before = lines.size();
    }
    EXPECT_GT(before, 0u);
  }
}

TEST(GrowingRecords, AnEndThatWasLeftIsTold) {
  const auto unfinished = [](InputFormat format, std::string text) {
    LineMap map;
    const auto source = ConvertedInput(format, std::make_unique<TextSource>(std::move(text)), "in",
                                       map, UnfinishedEnd::kLeft);
    ReadAll(*source);
    return source->unfinished();
  };
  for (const char* const text : {"a", "a,b\n1", "a,b\n1,", "a,b\n\"", "a,b\n1,\"x\n"}) {
    EXPECT_TRUE(unfinished(InputFormat::kCsv, text)) << text;
  }
  for (const char* const text : {"{", "[", "[{\"a\":1},", "1", "\"x", "{\"a\":1} ["}) {
    EXPECT_TRUE(unfinished(InputFormat::kJson, text)) << text;
  }
  EXPECT_TRUE(unfinished(InputFormat::kLogfmt, "a=1"));
  EXPECT_FALSE(unfinished(InputFormat::kCsv, "a,b\n1,2\n"));
  EXPECT_FALSE(unfinished(InputFormat::kJson, "[{\"a\":1}]"));
  EXPECT_FALSE(unfinished(InputFormat::kJson, "{\"a\":1} \n"));
  EXPECT_FALSE(unfinished(InputFormat::kLogfmt, "a=1\n"));
}

}  // namespace
}  // namespace pleat::cli
