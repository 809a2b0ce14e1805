// Records of CSV and TSV as lines of JSON, and the lines of the input that they came from.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/fixtures.h"
#include "tests/cli/shown_records.h"
#include "tests/support/plain_csv.h"
#include "tests/support/plain_json.h"
#include "tests/support/resident.h"
#include "tests/support/sanitized.h"
#include "tests/support/seeds.h"
#include "tools/pleat/records/input_format.h"
#include "tools/pleat/records/refused_record.h"

namespace pleat::cli {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Lines Tsv(std::string text) { return Convert(InputFormat::kTsv, std::move(text)); }

TEST(CsvRecords, HeaderNamesTheMembers) {
  EXPECT_THAT(Csv("user,n\nann,1\nbob,2\n"),
              ElementsAre(R"(2: {"user":"ann","n":1})", R"(3: {"user":"bob","n":2})"));
  EXPECT_THAT(Tsv("user\tn\nann, x\t1\n"), ElementsAre(R"(2: {"user":"ann, x","n":1})"));
  EXPECT_THAT(Csv("a,\n1,2"), ElementsAre(R"(2: {"a":1,"column_2":2})"));
}

TEST(CsvRecords, QuotesHoldSeparatorsNewlinesAndQuotes) {
  EXPECT_THAT(
      Csv("a,b\n\"x,y\",\"two\nlines\"\n\"say \"\"hi\"\"\",\"\"\"\"\n"),
      ElementsAre(R"(2: {"a":"x,y","b":"two\nlines"})", R"(4: {"a":"say \"hi\"","b":"\""})"));
  EXPECT_THAT(Csv("\"a,b\",\"c\nd\"\n1,2\n"), ElementsAre(R"(3: {"a,b":1,"c\nd":2})"));
  // A quote that does not begin the field is a quote.
  EXPECT_THAT(Csv("a,b\n5\" pipe, \"x\"\n"), ElementsAre(R"(2: {"a":"5\" pipe","b":" \"x\""})"));
}

TEST(CsvRecords, NumbersAreNumbersAndAllElseIsTextOrNull) {
  const auto value = [](const std::string& field) {
    const Lines lines = Csv("a,b\n" + field + ",\n");
    return lines.size() == 1 ? lines[0].substr(8, lines[0].size() - 18) : "";
  };
  for (const char* number : {"0", "-0", "12", "-1.50", "12345678901234567890"}) {
    EXPECT_EQ(value(number), number);
    EXPECT_EQ(value("\"" + std::string(number) + "\""), number);
  }
  EXPECT_EQ(value(""), "null");
  EXPECT_EQ(value("\"\""), "null");
  for (const char* text :
       {"007",   "+1",         ".5",    "1.",  "1e",   "1e+",   "7e2",  "1E5", "1.0e-10",
        "-",     "0x1F",       "1_000", " 1",  "1 ",   "True",  "NULL", "nan", "inf",
        "1.2.3", "2015-09-12", "--1",   "1-1", "true", "false", "null"}) {
    EXPECT_EQ(value(text), "\"" + std::string(text) + "\"");
  }
}

TEST(CsvRecords, LinesMayEndWithAReturnAndBeBlank) {
  EXPECT_THAT(Csv("\r\na,b\r\n\r\n\n1,2\r\n\"3\",\"x\r\ny\"\r\n"),
              ElementsAre(R"(5: {"a":1,"b":2})", R"(6: {"a":3,"b":"x\r\ny"})"));
  EXPECT_THAT(Csv("a\n1\r"), ElementsAre(R"(2: {"a":1})"));
  EXPECT_THAT(Csv("a\n\"1\"\r"), ElementsAre(R"(2: {"a":1})"));
  EXPECT_THAT(Csv("a,b\n1\r2,3\n"), ElementsAre(R"(2: {"a":"1\r2","b":3})"));
  EXPECT_THAT(Csv(""), IsEmpty());
  EXPECT_THAT(Csv("a,b"), IsEmpty());
}

TEST(CsvRecords, HeaderThatComesAgainIsSkipped) {
  EXPECT_THAT(Csv("a,b\n1,2\na,b\r\n3,4\n"),
              ElementsAre(R"(2: {"a":1,"b":2})", R"(4: {"a":3,"b":4})"));
}

TEST(CsvRecords, SoIsOneInOtherQuotesOrBehindAByteOrderMark) {
  const auto expected = ElementsAre(R"(2: {"a":1,"b,c":2})", R"(4: {"a":3,"b,c":4})");
  EXPECT_THAT(Csv("a,\"b,c\"\n1,2\n\"a\",\"b,c\"\n3,4\n"), expected);
  EXPECT_THAT(Csv("\"a\",\"b,c\"\n1,2\na,\"b,c\"\r\n3,4\n"), expected);
  EXPECT_THAT(Csv("a,\"b,c\"\n1,2\n\xef\xbb\xbf"
                  "a,\"b,c\"\n3,4\n"),
              expected);
  EXPECT_THAT(Csv("a,\"b,c\"\n1,2\n\xef\xbb\xbf\"a\",\"b,c\"\r\n3,4\n"), expected);
  EXPECT_THAT(Tsv("a\tb,c\n1\t2\n\xef\xbb\xbf"
                  "a\tb,c\r\n3\t4\n"),
              expected);
  EXPECT_THAT(Csv("\"x\"\"y\"\n1\n\"x\"\"y\"\nx\"y\n2\n"),
              ElementsAre(R"(2: {"x\"y":1})", R"(5: {"x\"y":2})"));
}

TEST(CsvRecords, AByteOrderMarkBeginsARecordAndNoField) {
  const std::string mark = "\xef\xbb\xbf";
  EXPECT_THAT(Csv("a,b\n" + mark + "1,2\n" + mark + "\"3\"," + mark + "\n" + mark + "\n" + mark),
              ElementsAre(R"(2: {"a":1,"b":2})", "3: {\"a\":3,\"b\":\"" + mark + "\"}"));
  EXPECT_THAT(Csv("a,b\n\xef,\xef\xbb\n\xef\xbb\"1\",2\n\xef\xbb"),
              ElementsAre("2: {\"a\":\"\xef\",\"b\":\"\xef\xbb\"}",
                          "3: {\"a\":\"\xef\xbb\\\"1\\\"\",\"b\":2}",
                          "4: ! 1 field, and the header has 2 | \xef\xbb"));
}

TEST(CsvRecords, OneColumnInQuotesMayHaveSeparatorsInItsName) {
  EXPECT_THAT(Csv("\"a,b\"\n1\n"), ElementsAre(R"(2: {"a,b":1})"));
  EXPECT_THAT(Csv("\"a;b\tc\"\n1\n"), ElementsAre(R"(2: {"a;b\tc":1})"));
}

TEST(CsvRecords, WhatIsNoRecordIsRefusedAndTheNextOneIsRead) {
  EXPECT_THAT(
      Csv("a,b\n1\n1,2,3\n\"x\"y,2\n\"x\"\ry,\"2\n\"\n3,4\n5,\"6\n7,8\n"),
      ElementsAre(
          "2: ! 1 field, and the header has 2 | 1", "3: ! 3 fields, and the header has 2 | 1,2,3",
          "4: ! text behind the closing quote of a field | \"x\"y,2",
          "5: ! text behind the closing quote of a field | \"x\"\ry,\"2\n\"", R"(7: {"a":3,"b":4})",
          "8: ! a quote that is not closed; it would have taken 1 line more | 5,\"6",
          R"(9: {"a":7,"b":8})"));
}

TEST(CsvRecords, HeaderThatCannotBeUsedEndsTheInput) {
  const auto error = [](const std::string& header) {
    const Lines lines = Csv(header + "\n1,2,3\n");
    return lines.size() == 1 ? lines[0] : "";
  };
  EXPECT_EQ(error("a,\"b"), "[in:1: the header: a quote that is not closed]");
  EXPECT_EQ(error("a,\"b\"c"), "[in:1: the header: text behind the closing quote of a field]");
  EXPECT_EQ(error(std::string(size_t{2} << 20, 'x')), "[in:1: the header: longer than 1 MiB]");
  EXPECT_EQ(error(std::string(1024, ',')), "[in:1: a header of more than 1,024 columns]");
  EXPECT_EQ(error("{\"a\":1,\"b\":2}"), "[in:1: looks like lines of JSON, not like a header]");
  EXPECT_EQ(error("a,b\r1,2\r"),
            "[in:1: lines that end with \\r alone: tr '\\r' '\\n' < FILE | pleat ...]");
  EXPECT_EQ(error("a\tb"), "[in:1: the header is one column with tabs in it: --input tsv]");
  EXPECT_EQ(error("a;b"),
            "[in:1: the header is one column with semicolons in it: "
            "--input csv --separator ';']");
  EXPECT_EQ(error("a|b"),
            "[in:1: the header is one column with bars in it: --input csv --separator '|']");
  EXPECT_THAT(Tsv("a,b\n1,2\n"),
              ElementsAre("[in:1: the header is one column with commas in it: --input csv]"));
}

TEST(CsvRecords, RecordOverTheLimitIsOneRefusal) {
  const std::string megabyte(size_t{1} << 20, 'x');
  for (const std::string quote : {"", "\""}) {
    const std::string field = quote + megabyte + quote;
    const Lines lines = Csv("a,b\n1,2\n" + field + ",1\n3,4\n");
    ASSERT_EQ(lines.size(), 3u);
    EXPECT_EQ(lines[0], R"(2: {"a":1,"b":2})");
    EXPECT_TRUE(lines[1].starts_with("3: ! longer than 1 MiB | "));
    EXPECT_NE(lines[1].find(field.substr(0, 100)), std::string::npos);
    EXPECT_LE(lines[1].size(), kRefusedBytesKept + 100);
    EXPECT_EQ(lines[2], R"(4: {"a":3,"b":4})");
  }
  // Quotes are twice as long as JSON, and controls six times.
  const Lines lines = Csv("a\n" + std::string(200'000, '\1') + "\n2\n");
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_TRUE(lines[0].starts_with("2: ! longer than 1 MiB as JSON | \1\1"));
  EXPECT_EQ(lines[1], R"(3: {"a":2})");
}

TEST(CsvRecords, BytesAreKept) {
  EXPECT_THAT(Csv(std::string("a,b\n\0\1x,\x7f\n", 10)),
              ElementsAre("2: {\"a\":\"\\u0000\\u0001x\",\"b\":\"\x7f\"}"));
  EXPECT_THAT(Csv("a\n\xff\xfe\n"),
              ElementsAre("2: {\"a\":\"\xff\xfe\"}"));  // the reader refuses it
}

std::string PlainValue(const std::string& field) {
  if (field.empty()) return "null";
  const std::optional<PlainJson> json = ParsePlainJson(field);
  const bool is_number = json && json->kind == PlainJson::Kind::kNumber &&
                         field.find_first_of("eE \t\r\n") == std::string::npos;
  return is_number ? field : QuotePlainJson(field);
}

// What the lines should be, by the plain reader.
Lines PlainLines(const std::vector<PlainRecord>& records) {
  Lines lines;
  for (size_t i = 1; i < records.size(); ++i) {
    const PlainRecord& record = records[i];
    const std::string at = std::to_string(record.line) + ": ";
    const bool whole = !record.unclosed && !record.broken;
    if (whole && record.fields == records[0].fields) continue;
    if (!whole || record.fields.size() != records[0].fields.size()) {
      lines.push_back(at + "!" + record.text);
      continue;
    }
    std::string line;
    for (size_t f = 0; f < record.fields.size(); ++f) {
      line += (f == 0 ? "{" : ",") + QuotePlainJson(records[0].fields[f]) + ":";
      const bool is_null = !record.null.empty() && record.null[f];
      line += is_null ? "null" : PlainValue(record.fields[f]);
    }
    lines.push_back(at + line + "}");
  }
  return lines;
}

// Refusals without their reasons, as PlainLines() has them.
Lines WithoutReasons(Lines lines) {
  for (std::string& line : lines) {
    const size_t mark = line.find(": ! ");
    if (mark < 4) line.erase(mark + 3, line.find(" | ") + 3 - (mark + 3));
  }
  return lines;
}

TEST(CsvRecords, AgreeWithAPlainReader) {
  ForEachSeed(1, 3000, [](uint64_t seed) {
    std::mt19937_64 random(seed);
    constexpr const char* kPieces[] = {
        "a",         "7",     "0.5",         "\"",           "\"",      "\"\"", ",",
        ",",         "\n",    "\n",          "\r\n",         "\r",      " ",    "x,1\n",
        "\"q\",1\n", "k,n\n", "\n\"k\",n\n", "\xef\xbb\xbf", "\xef\xbb"};
    const std::string text = "k,n\n" + Draw(random, kPieces);
    EXPECT_EQ(WithoutReasons(Csv(text)), PlainLines(ParsePlainCsv(text, ','))) << text;
  });
}

// Rows as most tables have them: of several columns, of any length, in quotes or not.
TEST(TableRecords, RowsOfManyColumnsAgreeWithAPlainReader) {
  ForEachSeed(1, 2000, [](uint64_t seed) {
    std::mt19937_64 random(seed);
    constexpr std::string_view kFields[] = {
        "",
        "0",
        "-12.50",
        "12345678901234567890",
        "007",
        "7e2",
        "true",
        "null",
        "a",
        "fifteen letters",
        "sixteen letters,",
        "a text that is longer than the sixty-four bytes, which are read at once",
        "caf\xc3\xa9",
        "C:\\temp",
        "5\" pipe",
        "5\" by 7\"",
        "a\tb",
        "of two\nlines"};
    const char separator = ",;|\t"[random() % 4];
    const size_t columns = 1 + random() % 12;
    std::string text = "first";
    for (size_t i = 1; i < columns; ++i) {
      text += separator + ("column " + std::string(random() % 20, 'n') + std::to_string(i));
    }
    for (size_t row = 0; row < 20; ++row) {
      const size_t fields = random() % 16 == 0 ? columns + 1 : columns;
      text += random() % 8 == 0 ? "\r\n" : "\n";
      for (size_t i = 0; i < fields; ++i) {
        std::string field(kFields[random() % std::size(kFields)]);
        const bool quoted = random() % 3 == 0 || field.find('\n') != field.npos;
        if (quoted) field = '"' + field + (random() % 64 == 0 ? "\"more" : "\"");
        if (i == 0 && random() % 16 == 0) field = "first";
        text += (i == 0 ? "" : std::string(1, separator)) + field;
      }
    }
    TableOptions table;
    table.separator = separator;
    const size_t at_once = random() % 2 == 0 ? SIZE_MAX : 1 + random() % 200;
    const Lines lines = Convert(InputFormat::kCsv, text, at_once, table);
    EXPECT_EQ(WithoutReasons(lines), PlainLines(ParsePlainCsv(text, separator))) << text;
    if (separator != '\t') return;
    EXPECT_EQ(WithoutReasons(Tsv(text)), PlainLines(ParsePlainTsv(text))) << text;
  });
}

// --- Quotes that are not closed, in CSV

TEST(CsvRecords, AQuoteThatNothingClosesTakesItsLineAlone) {
  std::string text = "id,title\n1,\"Rome, Sweet Rome\n";
  Lines expected = {
      "2: ! a quote that is not closed; it would have taken 999 lines more | 1,\"Rome, Sweet Rome"};
  for (int i = 3; i < 5000; ++i) {
    text += std::to_string(i) + ",t\n";
    expected.push_back(std::to_string(i) + ": {\"id\":" + std::to_string(i) + ",\"title\":\"t\"}");
  }
  EXPECT_EQ(Csv(text), expected);
  EXPECT_EQ(Convert(InputFormat::kCsv, text, 7), expected);
}

TEST(CsvRecords, AFieldMayHaveManyLinesButNotAThousand) {
  const auto text = [](int newlines) {
    return "a,b\n\"x" + std::string(static_cast<size_t>(newlines), '\n') + "\",2\n3,4\n";
  };
  EXPECT_EQ(Csv(text(999)).size(), 2u);
  const Lines lines = Csv(text(1000));
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0], "2: ! a quote that is not closed; it would have taken 999 lines more | \"x");
  EXPECT_EQ(lines[1], "1002: ! a quote that is not closed; it would have taken 1 line more | \",2");
  EXPECT_EQ(lines[2], R"(1003: {"a":3,"b":4})");
}

// Each field begins anew.
TEST(CsvRecords, TheLinesOfAFieldAreThoseOfItsOwnQuotes) {
  const std::string lines(600, '\n');
  EXPECT_EQ(Csv("a,b\n\"" + lines + "\",\"" + lines + "\"\n3,4\n").size(), 2u);
}

TEST(CsvRecords, AQuoteThatIsNotClosedWithinAMegabyteTakesItsLineAlone) {
  const std::string line(1000, 'x');
  std::string text = "a,b\n1,\"y\r\n";
  for (int i = 0; i < 900; ++i) text += line + line + ",1\n";
  const Lines lines = Csv(text);
  ASSERT_EQ(lines.size(), 901u);
  EXPECT_TRUE(lines[0].starts_with("2: ! a quote that is not closed; it would have taken 52"));
  EXPECT_TRUE(lines[0].ends_with(" | 1,\"y"));
  EXPECT_EQ(lines[900], "902: {\"a\":\"" + line + line + "\",\"b\":1}");
  EXPECT_EQ(Convert(InputFormat::kCsv, text, 1 << 15), lines);
}

TEST(CsvRecords, AtTheEndLikewise) {
  EXPECT_THAT(
      Csv("a,b\n1,\"x\n2,\"y\n3,z\n"),
      ElementsAre("2: ! a quote that is not closed; it would have taken 1 line more | 1,\"x",
                  "3: ! a quote that is not closed; it would have taken 1 line more | 2,\"y",
                  R"(4: {"a":3,"b":"z"})"));
  EXPECT_THAT(Csv("a,b\n1,\"x"), ElementsAre("2: ! a quote that is not closed | 1,\"x"));
  EXPECT_THAT(Csv("a,b\n1,\"x\n"), ElementsAre("2: ! a quote that is not closed | 1,\"x"));
}

// The quote is given up with the last byte, and a file that grows is left behind its last record.
TEST(CsvRecords, LinesBehindAQuoteThatWasGivenUpAreTakenThoughTheFileMayGrow) {
  std::string text = "a,b\n1,2\n3,\"4\n";
  for (int i = 0; i < 999; ++i) text += std::to_string(i) + ",x\n";
  const Lines lines =
      ShownLines(InputFormat::kCsv, std::make_unique<TextSource>(text), UnfinishedEnd::kLeft);
  ASSERT_EQ(lines.size(), 1001u);
  EXPECT_EQ(lines[1],
            "3: ! a quote that is not closed; it would have taken 999 lines more | 3,\"4");
  EXPECT_EQ(lines[1000], R"(1002: {"a":998,"b":"x"})");
}

// Names are many times as long as fields, so the lines of a megabyte may be a gigabyte.
TEST(CsvRecords, WhatIsReadAnewIsTakenInPortions) {
  std::string header = "a", commas;
  for (int i = 0; i < 900; ++i) header += "," + std::string(500, 'n') + std::to_string(i);
  commas.assign(900, ',');
  std::string text = header + "\n\"u\n";
  for (int i = 0; i < 300; ++i) text += commas + "\n";
  LineMap map;
  const auto source =
      ConvertedInput(InputFormat::kCsv, std::make_unique<TextSource>(text), "in", map);
  const size_t before = ResidentBytes();
  size_t bytes = 0, most = 0;
  std::string buffer(1 << 16, '\0');
  for (;;) {
    const absl::StatusOr<size_t> got = source->Read(buffer.data(), buffer.size());
    ASSERT_TRUE(got.ok());
    if (*got == 0) break;
    bytes += *got;
    most = std::max(most, ResidentBytes());
  }
  EXPECT_GT(bytes, size_t{100} << 20);
  // A sanitizer's own memory would be measured.
  if (!kSanitized) {
    EXPECT_LT(most, before + (size_t{30} << 20));
  }
}

TEST(CsvRecords, TheReasonDoesNotDependOnHowTheInputIsCut) {
  const std::string begin = "a,b\n1,\"y\n";
  std::string text = begin;
  while (text.size() - begin.size() < (size_t{1} << 20) - 1100)
    text += std::string(999, 'x') + "\n";
  const size_t at = text.size();
  text += std::string(4000, 'z') + "\n1,2\n";
  const Lines whole = Csv(text);
  for (const size_t cut : {at, at + 5, at + 1100}) {
    EXPECT_EQ(Convert(InputFormat::kCsv, text, cut), whole);
  }
}

TEST(CsvRecords, AQuoteThatMeetsTheNextQuotedFieldTakesItsLineAlone) {
  EXPECT_THAT(
      Csv("a,b\n1,\"oops\n2,ok\n3,\"x, y\"\n4,ok\n"),
      ElementsAre("2: ! a quote that is not closed; it would have taken 2 lines more | 1,\"oops",
                  R"(3: {"a":2,"b":"ok"})", R"(4: {"a":3,"b":"x, y"})", R"(5: {"a":4,"b":"ok"})"));
}

// --- Columns

TEST(Columns, OfOneNameAreNumberedAndWithoutANameTheyAreCalledByTheirPlace) {
  EXPECT_THAT(Csv("Sprint,a,Sprint,,Sprint\n1,2,3,4,5\n"),
              ElementsAre(R"(2: {"Sprint":1,"a":2,"Sprint_2":3,"column_4":4,"Sprint_3":5})"));
  EXPECT_THAT(Csv("a,a,a_2,,column_4\n1,2,3,4,5\n"),
              ElementsAre(R"(2: {"a":1,"a_3":2,"a_2":3,"column_4_2":4,"column_4":5})"));
  EXPECT_THAT(
      Tsv("a\t\ta\n1\t2\t3\na\t\ta\n4\t5\t6\n"),
      ElementsAre(R"(2: {"a":1,"column_2":2,"a_2":3})", R"(4: {"a":4,"column_2":5,"a_2":6})"));
}

TEST(Columns, HaveTheNamesThatAreGiven) {
  TableOptions table{.header = {"user", "n"}};
  EXPECT_THAT(Convert(InputFormat::kCsv, "ann,1\nuser,n\nbob,2\n", SIZE_MAX, table),
              ElementsAre(R"(1: {"user":"ann","n":1})", R"(3: {"user":"bob","n":2})"));
  EXPECT_THAT(Convert(InputFormat::kTsv, "ann\t1\n", SIZE_MAX, table),
              ElementsAre(R"(1: {"user":"ann","n":1})"));
}

TEST(Columns, LinesThatBeginWithACommentAreSkipped) {
  TableOptions table{.comment = '#'};
  EXPECT_THAT(Convert(InputFormat::kCsv, "# it's a \"log\na,b\n#x\n1,#2\n #,3\n#", SIZE_MAX, table),
              ElementsAre(R"(4: {"a":1,"b":"#2"})", R"(5: {"a":" #","b":3})"));
  EXPECT_THAT(Convert(InputFormat::kTsv, "#x\na\tb\n1\t2\n#\n", SIZE_MAX, table),
              ElementsAre(R"(3: {"a":1,"b":2})"));
}

TEST(CsvRecords, MayHaveAnotherSeparator) {
  EXPECT_THAT(Convert(InputFormat::kCsv, "a;b\n1,5;\"x;y\"\n", SIZE_MAX, {.separator = ';'}),
              ElementsAre(R"(2: {"a":"1,5","b":"x;y"})"));
  EXPECT_THAT(Convert(InputFormat::kCsv, "a\tb\n\"1\"\t\"x\ty\"\n", SIZE_MAX, {.separator = '\t'}),
              ElementsAre(R"(2: {"a":1,"b":"x\ty"})"));
}

// --- TSV

TEST(TsvRecords, HaveNoQuotes) {
  EXPECT_THAT(Tsv("id\ttitle\nx1\t\"Rome, Sweet Rome\nx2\tA \"b\" c\nx3\t\"Swing it\" magistern\n"),
              ElementsAre(R"(2: {"id":"x1","title":"\"Rome, Sweet Rome"})",
                          R"(3: {"id":"x2","title":"A \"b\" c"})",
                          R"(4: {"id":"x3","title":"\"Swing it\" magistern"})"));
  EXPECT_THAT(Tsv("\"a\"\t\"b\"\n1\t2\n"),
              ElementsAre("[in:1: the names are in quotes, which TSV does not have: "
                          "--input csv --separator '\\t']"));
}

// As PostgreSQL's COPY and MySQL's SELECT INTO OUTFILE write them.
TEST(TsvRecords, HaveEscapes) {
  EXPECT_THAT(Tsv("a\tb\n1\\t2\tx\\ny\\\\n\n\\N\tx\\N\n\\x\t\\\n"),
              ElementsAre(R"(2: {"a":"1\t2","b":"x\ny\\n"})", R"(3: {"a":null,"b":"x\\N"})",
                          R"(4: {"a":"\\x","b":"\\"})"));
  EXPECT_THAT(
      Convert(InputFormat::kTsv, "a\nC:\\new\\table\n\\N\n", SIZE_MAX, {.tsv_escapes = false}),
      ElementsAre(R"(2: {"a":"C:\\new\\table"})", R"(3: {"a":"\\N"})"));
}

TEST(TsvRecords, AHeaderThatIsTooLongEndsTheInput) {
  EXPECT_THAT(Tsv(std::string(size_t{2} << 20, 'x') + "\n1\t2\n"),
              ElementsAre("[in:1: the header: longer than 1 MiB]"));
}

TEST(TsvRecords, EmptyFieldsMakeARecordAndAnEmptyLineDoesNot) {
  EXPECT_THAT(Tsv("a\tb\n\t\n\n\r\n1\t\r\n\n"),
              ElementsAre(R"(2: {"a":null,"b":null})", R"(5: {"a":1,"b":null})"));
}

TEST(TsvRecords, AgreeWithAPlainReader) {
  ForEachSeed(1, 3000, [](uint64_t seed) {
    std::mt19937_64 random(seed);
    constexpr const char* kPieces[] = {"a",        "7",      "\"",           "\t",    "\t",
                                       "\n",       "\n",     "\r\n",         "\\",    "\\n",
                                       "\\N\t1\n", "k\tn\n", "\xef\xbb\xbf", "x\t1\n"};
    const std::string text = "k\tn\n" + Draw(random, kPieces);
    EXPECT_EQ(WithoutReasons(Tsv(text)), PlainLines(ParsePlainTsv(text))) << text;
  });
}

}  // namespace
}  // namespace pleat::cli
