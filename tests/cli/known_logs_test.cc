// Logs of Zeek, logs by the W3C and server-sent events as lines of JSON.
#include <random>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/shown_records.h"
#include "tools/pleat/records/known_log.h"

namespace pleat::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Lines Zeek(std::string text) { return Convert(InputFormat::kZeek, std::move(text)); }
Lines W3c(std::string text) { return Convert(InputFormat::kW3c, std::move(text)); }

Lines Sse(std::string text) { return Convert(InputFormat::kSse, std::move(text)); }

// As Zeek 6 writes it.
const std::string kZeekHead =
    "#separator \\x09\n#set_separator\t,\n#empty_field\t(empty)\n#unset_field\t-\n#path\tdns\n"
    "#open\t2024-05-01-00-00-00\n";

TEST(ZeekRecords, TypesDecideWhatValuesAre) {
  EXPECT_THAT(
      Zeek(kZeekHead +
           "#fields\tts\tuid\tid.orig_h\tid.orig_p\trtt\tAA\tanswers\tTTLs\tquery\n"
           "#types\ttime\tstring\taddr\tport\tinterval\tbool\tvector[string]\tvector[interval]\t"
           "string\n"
           "1714521600.123456\tC1\t192.0.2.1\t53\t1.5e-05\tT\ta.example,b.example\t60.000000,-\t"
           "17\n"
           "1714521600\tC2\t-\t-\t-\tF\t(empty)\t-\t(empty)\n"
           "#close\t2024-05-01-01-00-00\n"),
      ElementsAre(R"(9: {"ts":1714521600.123456,"uid":"C1","id.orig_h":"192.0.2.1","id.orig_p":53,)"
                  R"("rtt":1.5e-05,"AA":true,"answers":["a.example","b.example"],)"
                  R"("TTLs":[60.000000,null],"query":"17"})",
                  R"(10: {"ts":1714521600,"uid":"C2","id.orig_h":null,"id.orig_p":null,)"
                  R"("rtt":null,"AA":false,"answers":[],"TTLs":null,"query":""})"));
}

TEST(ZeekRecords, EscapesAreBytes) {
  const std::string head = kZeekHead + "#fields\ta\tb\n#types\tstring\tset[string]\n";
  EXPECT_THAT(
      Zeek(head +
           "\\x2d\ta\\x2cb,c\nx\\x09y\\x0a\\\\z\t\\x28empty)\n\\xc3\\xa9\t-\n\\xff\\xe9!\t-\n"
           "\\x0\\q\\\t-\r\n\t\n"),
      ElementsAre(R"(9: {"a":"-","b":["a,b","c"]})", R"-(10: {"a":"x\ty\n\\z","b":["(empty)"]})-",
                  "11: {\"a\":\"\xc3\xa9\",\"b\":null}", R"(12: {"a":"\\xff\\xe9!","b":null})",
                  R"(13: {"a":"\\x0\\q\\","b":null})", R"(14: {"a":"","b":[""]})"));
}

TEST(ZeekRecords, HeadSaysHowFieldsArePartedAndMayComeAgain) {
  EXPECT_THAT(
      Zeek("#separator |\n#set_separator|;\n#empty_field|EMPTY\n#unset_field|NIL\n"
           "#fields|k|s\n#types|count|set[count]\n1|2;3\nNIL|EMPTY\nx|1\n"),
      ElementsAre(R"(7: {"k":1,"s":[2,3]})", R"(8: {"k":null,"s":[]})", R"(9: {"k":"x","s":[1]})"));
  // Two logs that were joined; the second one has other columns.
  const std::string first = kZeekHead + "#fields\ta\n#types\tcount\n1\n#close\tx\n";
  EXPECT_THAT(Zeek(first + kZeekHead + "#fields\tb\ta\n#types\tstring\tcount\n2\t3\n4\n"),
              ElementsAre(R"(9: {"a":1})", R"(19: {"b":"2","a":3})",
                          "20: ! 1 field, and the header has 2 | 4"));
  EXPECT_THAT(Zeek("#fields\ta\ta\n#types\tcount\tcount\n1\t2\n"),
              ElementsAre(R"(3: {"a":1,"a_2":2})"));
}

TEST(ZeekRecords, HeadThatCannotBeUsedEndsTheInput) {
  EXPECT_THAT(Zeek("1\t2\n"), ElementsAre("[in:1: expected #fields before the first record]"));
  EXPECT_THAT(Zeek("{\"ts\":1}\n"),
              ElementsAre("[in:1: looks like lines of JSON, which need no --input]"));
  EXPECT_THAT(Zeek("#fields\ta\tb\n#types\tcount\n1\t2\n"),
              ElementsAre("[in:3: expected as many #types as #fields before the first record]"));
  EXPECT_THAT(Zeek("#fields\n"), ElementsAre("[in:1: expected 1 to 1,024 #fields]"));
  EXPECT_THAT(Zeek("#separator \n"), ElementsAre("[in:1: #separator is empty]"));
  EXPECT_THAT(Zeek(""), ElementsAre());
}

TEST(W3cRecords, CloudFrontHasTabsAndIisBlanks) {
  EXPECT_THAT(
      W3c("#Version: 1.0\n#Fields: date time x-edge-location sc-bytes cs(User-Agent)\n"
          "2024-05-01\t06:06:53\tLAX50-P1\t429\tMozilla/5.0%20(x)\n"
          "2024-05-01\t06:06:54\tLAX50-P1\t-\t\n"),
      ElementsAre(R"(3: {"date":"2024-05-01","time":"06:06:53","x-edge-location":"LAX50-P1",)"
                  R"-("sc-bytes":429,"cs(User-Agent)":"Mozilla/5.0%20(x)"})-",
                  R"(4: {"date":"2024-05-01","time":"06:06:54","x-edge-location":"LAX50-P1",)"
                  R"-("sc-bytes":null,"cs(User-Agent)":null})-"));
  EXPECT_THAT(
      W3c("#Software: Microsoft Internet Information Services 10.0\r\n#Version: 1.0\r\n"
          "#Date: 2024-05-01 00:00:01\r\n#Fields: date time s-ip cs-uri-query sc-status\r\n"
          "2024-05-01 00:00:01 ::1 - 200\r\n2024-05-01  00:00:02 10.0.0.7 a=b+c 304 \r\n"),
      ElementsAre(R"(5: {"date":"2024-05-01","time":"00:00:01","s-ip":"::1","cs-uri-query":null,)"
                  R"("sc-status":200})",
                  R"(6: {"date":"2024-05-01","time":"00:00:02","s-ip":"10.0.0.7",)"
                  R"("cs-uri-query":"a=b+c","sc-status":304})"));
}

TEST(W3cRecords, TextMayBeInQuotes) {
  EXPECT_THAT(
      W3c("#Fields: a b\n\"x y\" 1\n\"say \"\"hi\"\"\" \"\"\n\"- \" \"-\"\n\"a b\"c d\n"
          "\"a \"b\n\"7\" \"x\n"),
      ElementsAre(R"(2: {"a":"x y","b":1})", R"(3: {"a":"say \"hi\"","b":null})",
                  R"(4: {"a":"- ","b":"-"})", "5: ! 3 fields, and the header has 2 | \"a b\"c d",
                  R"(6: {"a":"\"a","b":"\"b"})", R"(7: {"a":7,"b":"\"x"})"));
  // With tabs a quote is a quote.
  EXPECT_THAT(W3c("#Fields: a b\n\"x y\"\t1\n"), ElementsAre(R"(2: {"a":"\"x y\"","b":1})"));
}

TEST(W3cRecords, FieldsMayComeAgain) {
  EXPECT_THAT(W3c("#Fields: a b\n1 2\n#Software: restarted\n#Fields:\tb\ta\tc\n1 2 3\n1 2\n"),
              ElementsAre(R"(2: {"a":1,"b":2})", R"(5: {"b":1,"a":2,"c":3})",
                          "6: ! 2 fields, and the header has 3 | 1 2"));
}

TEST(W3cRecords, HeadThatCannotBeUsedEndsTheInput) {
  EXPECT_THAT(W3c("1 2\n"),
              ElementsAre("[in:1: expected #Fields: before the first record; if there is none: "
                          "--input csv --separator ' ' --header NAME,...]"));
  EXPECT_THAT(W3c("1\t2\n"), ElementsAre(HasSubstr("--input tsv --header NAME,...]")));
  EXPECT_THAT(W3c("#Fields: \n"), ElementsAre("[in:1: expected 1 to 1,024 names behind #Fields:]"));
  // Exchange separates by commas.
  EXPECT_THAT(W3c("#Fields: date-time,client-ip\n"),
              ElementsAre("[in:1: #Fields: has commas: --input csv --comment '#' --header with "
                          "these names]"));
}

TEST(SseRecords, DataOfAnEventIsARecord) {
  EXPECT_THAT(
      Sse(":ok\n\nevent: message\nid: 1\ndata: {\"a\":1}\n\ndata:{\"a\":2}\nretry: 10\nevent:x\n\n"
          "data: {\ndata:  \"a\":\ndata\ndata: 3}\n\n"),
      ElementsAre(R"(5: {"a":1})", R"(7: {"a":2})", R"(11: {  "a":  3})"));
  // Without the empty line behind the last event.
  EXPECT_THAT(Sse("data: {\"a\":1}"), ElementsAre(R"(1: {"a":1})"));
  EXPECT_THAT(Sse("data: {\"a\":1}\n"), ElementsAre(R"(1: {"a":1})"));
  EXPECT_THAT(Sse("data: {\"a\":"), ElementsAre(R"(1: {"a":)"));
}

TEST(SseRecords, LinesEndInThreeWays) {
  EXPECT_THAT(Sse("data: {\"a\":1}\r\n\r\ndata: {\"a\":2}\r\r\ndata: {\"a\":3}\n\r\n"),
              ElementsAre(R"(1: {"a":1})", R"(3: {"a":2})", R"(4: {"a":3})"));
  EXPECT_THAT(Sse("data: {\"a\":1}\r\rdata: {\"a\":2}\r\r"),
              ElementsAre(R"(1: {"a":1})", R"(1: {"a":2})"));
}

TEST(SseRecords, EventsWithoutDataAndUnknownFieldsAreSkipped) {
  EXPECT_THAT(Sse("event: ping\n\n: {\"a\":0}\n\ndata\n\ndata: \n\nname: {\"a\":0}\nname\n\n"
                  "data: {\"a\":1}\n\n"),
              ElementsAre(R"(12: {"a":1})"));
}

TEST(SseRecords, WhatIsNoObjectIsRefused) {
  EXPECT_THAT(
      Sse("data: [DONE]\n\ndata: 5\ndata: 6\n\n{\"a\":1}\ndata: {\"a\":\"x\ndata: y\"}\n\nHTTP/1.1 "
          "200 "
          "OK\ndata: {\"a\\\"\":\ndata: 1}\n\n"),
      ElementsAre("1: ! the data is no JSON object | [DONE]",
                  "3: ! the data is no JSON object | 5 6",
                  R"(6: ! expected data:, event:, id: or retry:, or an empty line | {"a":1})",
                  R"(7: ! the data has a newline in a string | {"a":"x y"})",
                  "10: ! expected data:, event:, id: or retry:, or an empty line | HTTP/1.1 200 OK",
                  R"(11: {"a\"": 1})"));
  const std::string half(600'000, 'x');
  const Lines lines = Sse("data: {\"a\":\ndata: \"" + half + half + "\"}\n\ndata: {\"a\":\"" +
                          half + "\",\ndata: \"b\":\"" + half + "\"}\n\ndata: {}\n");
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0].substr(0, 24), "1: ! longer than 1 MiB |");
  EXPECT_EQ(lines[1].substr(0, 24), "4: ! longer than 1 MiB |");
  EXPECT_EQ(lines[2], "7: {}");
}

TEST(KnownLogs, OtherFormatsNameTheRightInput) {
  const std::string zeek = "#separator \\x09\n#fields\tts\tuid\n";
  const std::string w3c = "#Version: 1.0\n#Fields: date time\n";
  for (const InputFormat format : {InputFormat::kTsv, InputFormat::kCsv}) {
    EXPECT_THAT(Convert(format, zeek),
                ElementsAre("[in:1: looks like a log of Zeek: --input zeek]"));
    EXPECT_THAT(Convert(format, w3c),
                ElementsAre("[in:1: looks like a log in the format of the W3C: --input w3c]"));
    EXPECT_THAT(
        Convert(format, "{\"a\":1}{\"a\":2}\n"),
        ElementsAre("[in:1: looks like JSON objects without newlines between: --input json]"));
  }
}

TEST(KnownLogs, ObjectsBackToBackAreFoundByBracketsAndStrings) {
  const auto input = [](std::string_view line) {
    const std::optional<KnownLog> log = KnownLogOf(line);
    return log ? std::string(log->input) : std::string();
  };
  EXPECT_EQ(input(R"({"k":1,"t":1}{"k":2,"t":1})"), "json");
  EXPECT_EQ(input(R"( {"k":{"a":[{}]}} {"k":)"), "json");
  EXPECT_EQ(input(R"({"k":"\"}{"}{)"), "json");
  EXPECT_EQ(input(R"({"k":"}{"})"), "");
  EXPECT_EQ(input(R"({"k":1} )"), "");
  EXPECT_EQ(input(R"({"k":1},{"k":2})"), "");
  EXPECT_EQ(input(R"({"k":[{},{)"), "");
  EXPECT_EQ(input(R"([{}{])"), "");
  EXPECT_EQ(input("data: {\"k\":1}"), "sse");
  EXPECT_EQ(input("event:message"), "sse");
  EXPECT_EQ(input("event: it rained"), "");
  EXPECT_EQ(input("data: 1,2"), "");
  EXPECT_EQ(input("# Fields: of wheat"), "");
  EXPECT_EQ(input(""), "");
}

TEST(KnownLogs, CutsDoNotShow) {
  std::mt19937_64 random(1);
  constexpr const char* kPieces[] = {"#separator \\x09\n",
                                     "#fields\ta\tb\n",
                                     "#types\tstring\tset[count]\n",
                                     "#Fields: a b\n",
                                     "\t",
                                     ",",
                                     "-",
                                     "(empty)",
                                     "\\x",
                                     "2c",
                                     "\\",
                                     "\"",
                                     " ",
                                     "a",
                                     "7",
                                     "\n",
                                     "\r\n",
                                     "\r",
                                     "#",
                                     "data:",
                                     "{",
                                     "}",
                                     ":"};
  for (int i = 0; i < 2'000; ++i) {
    const std::string text =
        (i % 2 == 0 ? "#fields\ta\tb\n#types\tstring\tset[count]\n" : "#Fields: a b\n") +
        Draw(random, kPieces);
    for (const InputFormat format : {InputFormat::kZeek, InputFormat::kW3c, InputFormat::kSse}) {
      EXPECT_EQ(Convert(format, text, 1 + random() % 5), Convert(format, text)) << text;
    }
  }
}

}  // namespace
}  // namespace pleat::cli
