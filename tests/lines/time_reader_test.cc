#include "engine/lines/time/time_reader.h"

#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pleat/json.h>

#include "tests/support/plain_time.h"

namespace pleat {
namespace {

using ::testing::HasSubstr;

// The time in UTC that a reader by these options finds in a text, or a word for the reason why none.
std::string Read(TimeReader& reader, const std::string& text) {
  EngineTime at;
  const TimeRead read =
      reader.ReadUsual(text, at) ? TimeRead::kTime : reader.ReadEarliest(text, at);
  switch (read) {
    case TimeRead::kOpen: return "open";
    case TimeRead::kOtherZone: return "other zone";
    case TimeRead::kTime: return FormatTimestamp(at);
    case TimeRead::kNumber: return "number";
    case TimeRead::kNoSuchTime: return "no such time";
    case TimeRead::kOtherWeekday: return "other weekday";
    case TimeRead::kLeapSecond: return "leap second";
    case TimeRead::kOutOfRange: return "out of range";
    case TimeRead::kNotOfFormat: return "not of format";
    case TimeRead::kUnknownForm: break;
  }
  return "unknown";
}

std::string Read(const std::string& text, const std::string& zone = "",
                 const std::string& format = "") {
  const TimeRules rules = TimeRulesFor(zone, format);
  TimeReader reader(rules);
  return Read(reader, text);
}

// As Read(), and the plain reader has to agree. `zone` is an offset.
std::string ReadTwice(const std::string& text, const std::string& zone = "Z") {
  std::string read = Read(text, zone);
  const std::optional<EngineTime> plain = ReadPlainTimeText(text, zone);
  const bool is_time = read.ends_with('Z');
  EXPECT_EQ(plain ? FormatTimestamp(*plain) : "", is_time ? read : "") << text;
  return read;
}

const std::string kTime = "2015-02-24T08:58:42.000000Z";

TEST(TimeReader, ReadsTimesAsPeopleHaveThem) {
  for (const char* text : {"2015-02-24T08:58:42Z",
                           "2015-02-24 09:58:42+0100",
                           "2015-02-24 09:58:42+01",
                           "2015-02-24 09:58:42 +01:00",
                           "2015-02-24 09:58:42   +0100",
                           "2015-02-24 08:58:42 UTC",
                           "2015-02-24T08:58:42 Z",
                           "2015-02-24t08:58:42gmt",
                           "2015-02-24 08:58:42",
                           "2015-02-24T08:58:42",
                           "24/Feb/2015:09:58:42 +0100",
                           "[24/Feb/2015:09:58:42 +0100]",
                           "24/feb/2015:08:58:42",
                           "[24/Feb/2015:08:58:42]",
                           "Tue, 24 Feb 2015 09:58:42 +0100",
                           "24 Feb 2015 09:58:42 +0100",
                           "Tue, 24 Feb 2015 08:58:42 GMT",
                           "tue,  24  FEB  2015  08:58:42  UT",
                           "Tue, 24 Feb 2015 09:58:42 +0100 (CET)",
                           "Tue, 24 Feb 2015 09:58:42 +0100(CET)",
                           "Tue, 24 Feb 2015 08:58:42"}) {
    EXPECT_EQ(ReadTwice(text), kTime) << text;
  }
  EXPECT_EQ(ReadTwice("1 Feb 2015 09:58 +0000"), "2015-02-01T09:58:00.000000Z");
  EXPECT_EQ(ReadTwice("01 Feb 2015 09:58"), "2015-02-01T09:58:00.000000Z");
  EXPECT_EQ(ReadTwice("2015-02-24 09:58:42,1239999"), "2015-02-24T09:58:42.123999Z");
  EXPECT_EQ(ReadTwice("24/Feb/2015:09:58:42.5 +0100"), "2015-02-24T08:58:42.500000Z");
}

TEST(TimeReader, TellsWhatIsWrong) {
  const std::pair<const char*, const char*> cases[] = {
      {"1424771922.5", "number"},
      {"-0", "number"},
      {"2015", "number"},
      {"2015-02-29 00:00:00", "no such time"},
      {"2015-13-01 00:00:00 +0100", "no such time"},
      {"2015-02-24 24:00:00", "no such time"},
      {"2015-02-24 23:60:00", "no such time"},
      {"2015-02-24 23:59:61", "no such time"},
      {"2015-02-24 23:59:60", "leap second"},
      {"30/Jun/2015:23:59:60 +0000", "leap second"},
      {"29/Feb/2015:00:00:00 +0000", "no such time"},
      {"0 Feb 2015 00:00:00", "no such time"},
      {"Mon, 24 Feb 2015 09:58:42 +0100", "other weekday"},
      {"0000-12-31 23:59:59", "out of range"},
      {"0001-01-01 00:00:00 +0001", "out of range"},
      {"31/Dec/9999:23:59:59 -0001", "out of range"}};
  for (const auto& [text, wrong] : cases) EXPECT_EQ(ReadTwice(text), wrong) << text;
}

TEST(TimeReader, RefusesEverythingElse) {
  for (const char* text : {"",
                           " ",
                           "-",
                           "Z",
                           "soon",
                           "2015-02-24 09:58",
                           "2015-02-24 +0100",
                           "2015-02-24Z",
                           "2015-02-24T",
                           "2015-02-24 09:58:42 +1",
                           "2015-02-24 09:58:42 +010",
                           "2015-02-24 09:58:42 +01000",
                           "2015-02-24 09:58:42 +24:00",
                           "2015-02-24 09:58:42 +01:",
                           "2015-02-24 09:58:42.",
                           "2015-02-24 09:58:42;5",
                           "2015-02-24 09:58:42 UTC1",
                           "2015-02-24 09:58:42 Europe/Berlin",
                           "2015/02/24 09:58:42",
                           "24/02/2015:09:58:42",
                           "24/Feb/15:09:58:42",
                           "4/Feb/2015:09:58:42",
                           "[24/Feb/2015:09:58:42",
                           "24/Feb/2015:09:58:42]",
                           "24/Feb/2015 09:58:42 +0100",
                           "24/Febr/2015:09:58:42",
                           "Tue 24 Feb 2015 09:58:42",
                           "Tue,24 Feb 2015 09:58:42",
                           "Tues, 24 Feb 2015 09:58:42",
                           "24 Feb 15 09:58:42 +0100",
                           "024 Feb 2015 09:58:42",
                           "24 February 2015 09:58:42",
                           "24 Feb 2015 09:58.5",
                           "24 Feb 2015 EST",
                           "24 Feb 2015 09:58:42 (CET)",
                           "24 Feb 2015 09:58:42 +0100 (CET",
                           "24 Feb 2015 09:58:42 +0100 (C(E)T)",
                           "Feb 24 09:58:42 2015",
                           "0x10",
                           "1e",
                           "+1",
                           ".5"}) {
    EXPECT_EQ(ReadTwice(text), "unknown") << text;
  }
  EXPECT_EQ(ReadTwice(std::string("2015-02-24 09:58:42\0", 20)), "unknown");
  EXPECT_EQ(ReadTwice(std::string("24/Feb/2015:09:58:42 +0100\0x", 28)), "unknown");
  EXPECT_EQ(ReadTwice(std::string(1'000'000, '[')), "unknown");
  EXPECT_EQ(ReadTwice("2015-02-24 09:58:42." + std::string(1'000'000, '9')),
            "2015-02-24T09:58:42.999999Z");
}

TEST(TimeReader, ADateAloneIsMidnightAndBlanksAroundAreNothing) {
  const std::string midnight = "2015-02-24T00:00:00.000000Z";
  for (const char* text : {"2015-02-24", "24/Feb/2015", "[24/Feb/2015]", "24 Feb 2015",
                           "Tue, 24 Feb 2015", " 2015-02-24", "2015-02-24\t"}) {
    EXPECT_EQ(ReadTwice(text), midnight) << text;
  }
  for (const char* text :
       {" 2015-02-24 08:58:42", "2015-02-24T08:58:42Z ", "\t2015-02-24 08:58:42 \r\n",
        "  [24/Feb/2015:08:58:42]  ", " 24 Feb 2015 09:58:42 +0100 (CET) "}) {
    EXPECT_EQ(ReadTwice(text), kTime) << text;
  }
  EXPECT_EQ(Read(" 24.02.2015\n", "", "%d.%m.%Y"), midnight);
  EXPECT_EQ(Read("2015-02-24", "Europe/Berlin"), "2015-02-23T23:00:00.000000Z");
  // A midnight that the clock skips.
  EXPECT_EQ(Read("2018-11-04", "America/Sao_Paulo"), "2018-11-04T03:00:00.000000Z");
  EXPECT_EQ(ReadTwice("2015-02-30"), "no such time");
  EXPECT_EQ(ReadTwice("Mon, 24 Feb 2015"), "other weekday");
  EXPECT_EQ(ReadTwice(" 5 "), "number");
}

// The letters of a zone say its offset if its clock uses them around that time.
TEST(TimeReader, LettersOfTheZone) {
  const auto berlin = [](const std::string& text) { return Read(text, "Europe/Berlin"); };
  EXPECT_EQ(berlin("2015-02-24 09:58:42 CET"), kTime);
  EXPECT_EQ(berlin("24/Feb/2015:09:58:42 CET"), kTime);
  EXPECT_EQ(berlin("[24/Feb/2015:09:58:42CET]"), kTime);
  EXPECT_EQ(berlin("Tue, 24 Feb 2015 09:58:42 CET (winter)"), kTime);
  EXPECT_EQ(berlin("2015-07-24 09:58:42 CEST"), "2015-07-24T07:58:42.000000Z");
  // Whose clock shows summer time then, but who has said winter time.
  EXPECT_EQ(berlin("2015-07-24 09:58:42 CET"), "2015-07-24T08:58:42.000000Z");
  EXPECT_EQ(berlin("2015-02-24 09:58:42 CEST"), "2015-02-24T07:58:42.000000Z");
  EXPECT_EQ(berlin("2015-10-25 02:30:00 CEST"), "2015-10-25T00:30:00.000000Z");
  EXPECT_EQ(berlin("2015-10-25 02:30:00.5 CET"), "2015-10-25T01:30:00.500000Z");
  EXPECT_EQ(berlin("2015-02-24 09:58:42 EST"), "other zone");
  EXPECT_EQ(berlin("2015-02-24 09:58:42 cet"), "other zone");
  EXPECT_EQ(ReadTwice("2015-02-24 09:58:42 CET"), "other zone");
  EXPECT_EQ(ReadTwice("24 Feb 2015 09:58:42 EST"), "other zone");
  EXPECT_EQ(ReadTwice("2015-02-24 09:58:42 UTCx"), "other zone");
  EXPECT_EQ(Read("2015-02-24 03:58:42 EST", "America/New_York"), kTime);
  EXPECT_EQ(Read("2015-07-24 03:58:42 BST", "Europe/London"), "2015-07-24T02:58:42.000000Z");
  // Before 2011 MSK was another offset than behind it.
  EXPECT_EQ(Read("2010-01-01 12:00:00 MSK", "Europe/Moscow"), "2010-01-01T09:00:00.000000Z");
  EXPECT_EQ(Read("2012-01-01 12:00:00 MSK", "Europe/Moscow"), "2012-01-01T08:00:00.000000Z");
  const auto by_format = [](const std::string& text) {
    return Read(text, "Europe/Berlin", "%a %b %e %T %Z %Y");
  };
  EXPECT_EQ(by_format("Tue Feb 24 09:58:42 CET 2015"), kTime);
  EXPECT_EQ(by_format("Sun Oct 25 02:30:00 CEST 2015"), "2015-10-25T00:30:00.000000Z");
  EXPECT_EQ(by_format("Sun Oct 25 02:30:00 CET 2015"), "2015-10-25T01:30:00.000000Z");
  EXPECT_EQ(by_format("Tue Feb 24 08:58:42 UTC 2015"), kTime);
  EXPECT_EQ(by_format("Tue Feb 24 09:58:42 EST 2015"), "not of format");
}

// Behind the time `newest`; empty: it is the first.
std::string ReadBehind(const std::string& newest, const std::string& text, const std::string& zone,
                       const std::string& format = "", int year = 0) {
  const TimeRules rules = TimeRulesFor(zone, format, year);
  TimeReader reader(rules);
  EngineTime at;
  const TimeRead read = reader.ReadOther(text, at);
  if (read != TimeRead::kOpen) return Read(reader, text);
  std::optional<EngineTime> to;
  if (!newest.empty()) {
    EXPECT_TRUE(ParseTimestamp(newest, at));
    to = at;
  }
  const std::optional<EngineTime> nearest = reader.Nearest(to);
  return nearest ? FormatTimestamp(*nearest) : "none";
}

TEST(TimeReader, OfAnHourThatComesTwiceTheOneNearestToTheNewestIsMeant) {
  const auto berlin = [](const std::string& newest) {
    return ReadBehind(newest, "2015-10-25 02:30:00", "Europe/Berlin").substr(11, 5);
  };
  EXPECT_EQ(berlin(""), "00:30");
  EXPECT_EQ(berlin("2015-10-24T00:00:00Z"), "00:30");
  EXPECT_EQ(berlin("2015-10-25T00:59:59Z"), "00:30");
  EXPECT_EQ(berlin("2015-10-25T01:00:00Z"), "00:30");  // as near to both
  EXPECT_EQ(berlin("2015-10-25T01:00:00.000001Z"), "01:30");
  EXPECT_EQ(berlin("2016-01-01T00:00:00Z"), "01:30");
}

TEST(TimeReader, ATimeWithoutAYearIsNearToTheNewest) {
  const auto read = [](const std::string& newest, const std::string& text, int year = 0) {
    return ReadBehind(newest, text, "UTC", "%b %e %H:%M:%S", year).substr(0, 16);
  };
  EXPECT_EQ(read("2024-12-31T23:59:59Z", "Jan  1 00:00:01"), "2025-01-01T00:00");
  EXPECT_EQ(read("2025-01-01T00:00:01Z", "Dec 31 23:59:59"), "2024-12-31T23:59");
  EXPECT_EQ(read("2024-07-01T00:00:00Z", "Jan  1 00:00:00"), "2024-01-01T00:00");
  EXPECT_EQ(read("2024-07-03T00:00:00Z", "Jan  1 00:00:00"), "2025-01-01T00:00");
  EXPECT_EQ(read("2024-02-28T00:00:00Z", "Feb 29 12:00:00"), "2024-02-29T12:00");
  EXPECT_EQ(read("2023-02-28T00:00:00Z", "Feb 29 12:00:00"), "2024-02-29T12:00");
  EXPECT_EQ(read("1901-01-01T00:00:00Z", "Feb 29 12:00:00"), "1904-02-29T12:00");
  EXPECT_EQ(read("", "Jan  1 00:00:00", 2024), "2024-01-01T00:00");
  EXPECT_EQ(read("", "Feb 29 00:00:00", 2023), "none");
  EXPECT_EQ(read("", "Feb 30 00:00:00", 2024), "not of format");
  EXPECT_EQ(ReadBehind("2015-10-25T01:20:00Z", "Oct 25 02:30", "Europe/Berlin", "%b %e %H:%M"),
            "2015-10-25T01:30:00.000000Z");
  EXPECT_EQ(ReadBehind("", "Oct 25 02:30", "Europe/Berlin", "%b %e %H:%M", 2015),
            "2015-10-25T00:30:00.000000Z");
  EXPECT_EQ(ReadBehind("9999-12-31T00:00:00Z", "Jan 1 00:00", "UTC", "%b %e %H:%M"),
            "9999-01-01T00:00:00.000000Z");
  EXPECT_EQ(ReadBehind("2024-12-31T23:00:00Z", "1/1 00:30 +0100", "UTC", "%m/%d %H:%M %z"),
            "2024-12-31T23:30:00.000000Z");
}

TEST(TimeReader, AZoneIsThatOfTimesThatStateNone) {
  for (const char* zone : {"+05:30", "+0530"}) {
    EXPECT_EQ(ReadTwice("2015-02-24 14:28:42", "+05:30"), kTime) << zone;
    EXPECT_EQ(Read("2015-02-24 14:28:42", zone), kTime) << zone;
    EXPECT_EQ(Read("24/Feb/2015:14:28:42", zone), kTime) << zone;
    EXPECT_EQ(Read("24 Feb 2015 14:28:42", zone), kTime) << zone;
    EXPECT_EQ(Read("2015-02-24T08:58:42Z", zone), kTime) << zone;
    EXPECT_EQ(Read("2015-02-24T09:58:42+01", zone), kTime) << zone;
  }
  EXPECT_EQ(Read("2015-02-24 09:58:42", "Europe/Berlin"), kTime);
  EXPECT_EQ(Read("2015-02-24 09:58:42", "CET"), kTime);
  EXPECT_EQ(Read("0001-01-01 00:00:00", "+00:01"), "out of range");
  EXPECT_EQ(Read("0001-01-01 00:00:00", "Europe/Berlin"), "out of range");
  EXPECT_EQ(Read("9999-12-31 23:59:59", "Asia/Tokyo"), "9999-12-31T14:59:59.000000Z");
}

// Berlin skips 02:00 to 03:00 of 29 March 2015, and shows those of 25 October twice.
TEST(TimeReader, WhatAClockSkipsOrShowsTwiceIsReadByTheOffsetBefore) {
  const auto berlin = [](const std::string& text) { return Read(text, "Europe/Berlin"); };
  EXPECT_EQ(berlin("2015-03-29 01:59:59"), "2015-03-29T00:59:59.000000Z");
  EXPECT_EQ(berlin("2015-03-29 02:00:00"), "2015-03-29T01:00:00.000000Z");
  EXPECT_EQ(berlin("2015-03-29 02:30:00"), "2015-03-29T01:30:00.000000Z");
  EXPECT_EQ(berlin("2015-03-29 03:30:00"), "2015-03-29T01:30:00.000000Z");
  EXPECT_EQ(berlin("2015-10-25 01:59:59"), "2015-10-24T23:59:59.000000Z");
  EXPECT_EQ(berlin("2015-10-25 02:00:00"), "2015-10-25T00:00:00.000000Z");
  EXPECT_EQ(berlin("2015-10-25 02:59:59"), "2015-10-25T00:59:59.000000Z");
  EXPECT_EQ(berlin("2015-10-25 03:00:00"), "2015-10-25T02:00:00.000000Z");
  EXPECT_EQ(berlin("2015-10-25 02:30:00 +01:00"), "2015-10-25T01:30:00.000000Z");
  const auto by_format = [](const std::string& text) {
    return Read(text, "Europe/Berlin", "%d.%m.%Y %H:%M");
  };
  EXPECT_EQ(by_format("29.03.2015 02:30"), "2015-03-29T01:30:00.000000Z");
  EXPECT_EQ(by_format("25.10.2015 02:30"), "2015-10-25T00:30:00.000000Z");
}

TEST(TimeReader, SaysWhetherUtcWasAssumed) {
  const auto assumed = [](const std::string& text, const std::string& zone,
                          const std::string& format) {
    const TimeRules rules = TimeRulesFor(zone, format);
    TimeReader reader(rules);
    EXPECT_NE(Read(reader, text), "not of format");
    return reader.assumed_utc();
  };
  EXPECT_TRUE(assumed("2015-02-24 09:58:42", "", ""));
  EXPECT_TRUE(assumed("24/Feb/2015:09:58:42", "", ""));
  EXPECT_FALSE(assumed("2015-02-24 09:58:42", "UTC", ""));
  EXPECT_FALSE(assumed("2015-02-24 09:58:42Z", "", ""));
  EXPECT_FALSE(assumed("2015-02-24 09:58:42 +01", "", ""));
  EXPECT_FALSE(assumed("2015-02-30 09:58:42", "", ""));
  EXPECT_FALSE(assumed("soon", "", ""));
  EXPECT_TRUE(assumed("24.02.2015", "", "%d.%m.%Y"));
  EXPECT_FALSE(assumed("24.02.2015", "+01", "%d.%m.%Y"));
  EXPECT_FALSE(assumed("24.02.2015 +01", "", "%d.%m.%Y %z"));
  EXPECT_FALSE(assumed("1424771922", "", "%s"));
}

TEST(TimeReader, ReadsByAFormatAlone) {
  struct Case {
    const char* format;
    const char* text;
    const char* read;
  };
  for (const Case& c : std::vector<Case>{
           {"%Y-%m-%d %H:%M:%S", "2015-02-24 08:58:42", "2015-02-24T08:58:42.000000Z"},
           {"%F %T", "2015-02-24 08:58:42", "2015-02-24T08:58:42.000000Z"},
           {"%Y%m%d%H%M%S", "20150224085842", "2015-02-24T08:58:42.000000Z"},
           {"%Y%m%d", "20150224", "2015-02-24T00:00:00.000000Z"},
           {"%d.%m.%Y", "1.2.2015", "2015-02-01T00:00:00.000000Z"},
           {"%d/%b/%Y:%T %z", "24/Feb/2015:09:58:42 +0100", "2015-02-24T08:58:42.000000Z"},
           {"%a %b %e %T %Y", "Tue Feb  3 08:58:42 2015", "2015-02-03T08:58:42.000000Z"},
           {"%A, %d %B %Y, %I:%M %p", "Tuesday, 24 February 2015, 8:58 PM",
            "2015-02-24T20:58:00.000000Z"},
           {"%m/%d/%y %I:%M:%S %p", "02/24/15 12:58:42 AM", "2015-02-24T00:58:42.000000Z"},
           {"%D %R", "02/24/69 08:58", "1969-02-24T08:58:00.000000Z"},
           {"%Y-%m-%dT%H:%M:%S.%E*f%z", "2015-02-24T08:58:42.1234567Z",
            "2015-02-24T08:58:42.123456Z"},
           {"%Y-%m-%dT%H:%M:%E*S%Ez", "2015-02-24T09:58:42.5+01:00", "2015-02-24T08:58:42.500000Z"},
           {"%Y-%m-%d %H:%M:%S UTC", "2015-02-24 08:58:42 UTC", "2015-02-24T08:58:42.000000Z"},
           {"%F %T%z", "2015-02-24 09:58:42+01:00", "2015-02-24T08:58:42.000000Z"},
           {"%F %T%z", "2015-02-24 09:58:42+01", "2015-02-24T08:58:42.000000Z"},
           {"%F %T%z", "2015-02-24 08:58:42Z", "2015-02-24T08:58:42.000000Z"},
           {"%F %T%z", "2015-02-24 08:58:42", "not of format"},
           {"%s", "1424771922", "2015-02-24T09:58:42.000000Z"},
           {"%Y-%d-%m %H:%M:%S%z", "2015-02-03 08:58:42Z", "2015-03-02T08:58:42.000000Z"},
           {"%d%%%m%n%Y%t%H", "24%02 2015 08", "2015-02-24T08:00:00.000000Z"},
           {"[%e/%B/%Y]", "[ 8/April/2015]", "2015-04-08T00:00:00.000000Z"},
           {"[%e/%B/%Y]", "[18/April/2015]", "2015-04-18T00:00:00.000000Z"},
           {"%Y-%m-%e", "2015-04- 8", "2015-04-08T00:00:00.000000Z"},
           {"%d%%%m%n%Y%t%H", "24%02\t2015\n08", "2015-02-24T08:00:00.000000Z"},
           {"%F %T", "2015-02-24 \t\r\n08:58:42", "2015-02-24T08:58:42.000000Z"},
           {"%F\t%T", "2015-02-24 08:58:42", "2015-02-24T08:58:42.000000Z"},
           {"%F", "2015-02-29", "not of format"},
           {"%F", "2015-02-24T08:58:42Z", "not of format"},
           {"%F", "1424771922", "not of format"},
           {"%F", "", "not of format"},
           {"%F %H", "2015-02-24 24", "not of format"},
           {"%F", "infinite-future", "not of format"},
           {"%F", "infinite-past", "not of format"},
           {"%F", "0000-01-01", "out of range"},
           {"%s", "99999999999999", "out of range"},
           {"%s", "99999999999999999999999", "not of format"}}) {
    EXPECT_EQ(Read(c.text, "", c.format), c.read) << c.format << ' ' << c.text;
    EXPECT_TRUE(CheckTimeFormat(c.format).ok()) << c.format;
  }
  EXPECT_EQ(Read(std::string("2015-02-24\0", 11), "", "%F"), "not of format");
  EXPECT_EQ(Read(std::string(1'000'000, '9'), "", "%F"), "not of format");
}

// Unlike the forms that are read without one, as absl has it.
TEST(TimeReader, ByAFormatALeapSecondIsTheOneAfterIt) {
  EXPECT_EQ(Read("2015-06-30 23:59:60", "", "%F %T"), "2015-07-01T00:00:00.000000Z");
}

std::string FormatFault(std::string_view format) {
  return std::string(CheckTimeFormat(format).message());
}

TEST(TimeFormat, SaysWhatIsWrong) {
  EXPECT_THAT(FormatFault(""), HasSubstr("needs a format"));
  EXPECT_THAT(FormatFault("%F %T.%f"), HasSubstr("%f: the digits of a fraction are %E*f"));
  EXPECT_THAT(FormatFault("%b %d %T %Z"), HasSubstr("%Z, the letters of a zone, needs a year"));
  EXPECT_THAT(FormatFault("%F %T %Z %z"), HasSubstr("the zone is said once, by %z or %Z"));
  EXPECT_THAT(FormatFault("%F %"), HasSubstr("ends in %"));
  EXPECT_THAT(FormatFault("%F %T %Q"), HasSubstr("%Q is not known; there are %Y"));
  EXPECT_THAT(FormatFault("%F %j"), HasSubstr("%j is not known"));
  EXPECT_THAT(FormatFault("%Ey"), HasSubstr("%E is not known"));
  EXPECT_EQ(FormatFault("%b %d %T"), "");
  EXPECT_THAT(FormatFault("%Y-%m"), HasSubstr("does not say month and day"));
  EXPECT_THAT(FormatFault("%T"), HasSubstr("does not say month and day"));
  EXPECT_THAT(FormatFault("soon"), HasSubstr("does not say month and day"));
  EXPECT_THAT(FormatFault("%s.%E*f"), HasSubstr("%s, Unix seconds, is a whole time"));
  EXPECT_THAT(FormatFault("%s %F"), HasSubstr("%s, Unix seconds, is a whole time"));
  EXPECT_THAT(FormatFault("%F %I:%M"), HasSubstr("go together"));
  EXPECT_THAT(FormatFault("%F %H:%M %p"), HasSubstr("go together"));
  EXPECT_THAT(FormatFault(std::string_view("%F\0", 3)), HasSubstr("is not text"));
  EXPECT_THAT(FormatFault("%F \xff"), HasSubstr("is not text"));
}

TEST(TimeZone, IsANameOrAnOffset) {
  for (const char* zone : {"UTC", "utc", "Z", "GMT", "+01:00", "-0530", "+01", "Europe/Berlin",
                           "America/Argentina/Buenos_Aires", "Etc/GMT+5", "EST5EDT", "CET"}) {
    EXPECT_TRUE(ParseTimeZone(zone).ok()) << zone;
  }
  for (const std::string zone : {"",
                                 " ",
                                 "+1",
                                 "1",
                                 "+24:00",
                                 "+01:60",
                                 "Berlin",
                                 "Europe",
                                 "Europe/",
                                 "Europe/Berlin ",
                                 "/etc/localtime",
                                 "../zoneinfo/UTC",
                                 "Europe/../UTC",
                                 "localtime",
                                 "file:/etc/localtime",
                                 "libc:localtime",
                                 "Fixed/UTC+01:00:00",
                                 ":UTC",
                                 "UTC+1x",
                                 "\n"}) {
    const absl::Status status = ParseTimeZone(zone).status();
    EXPECT_THAT(std::string(status.message()), HasSubstr("is not a time zone")) << zone;
  }
  EXPECT_FALSE(ParseTimeZone(std::string_view("UTC\0", 4)).ok());
  EXPECT_FALSE(ParseTimeZone(std::string(100'000, 'x')).ok());
}

TEST(TimeZone, IsAnOptionOfTheSpec) {
  FoldSpec spec;
  EXPECT_EQ(SetOption(spec, "time-zone", "Europe/Berlim").message(),
            R"(--time-zone: "Europe/Berlim" is not a time zone: a name such as Europe/Berlin, )"
            "or an offset such as +01:00");
  EXPECT_FALSE(SetOption(spec, "time_format", "%Q").ok());
  ASSERT_TRUE(SetOption(spec, "time_zone", "Asia/Tokyo").ok());
  ASSERT_TRUE(SetOption(spec, "time-format", "%F").ok());
  const std::vector<std::pair<std::string, std::string>> options = {{"time-zone", "Asia/Tokyo"},
                                                                    {"time-format", "%F"}};
  EXPECT_EQ(OptionsOf(spec), options);

  EventSpec event = {.key = {{"k", "k"}}, .time = "t", .time_zone = "Mars/Base"};
  EXPECT_THAT(std::string(Validate(event).message()), HasSubstr("--time-zone: \"Mars/Base\""));
  event.time_zone = "";
  event.time_format = "%b %e";
  EXPECT_TRUE(Validate(event).ok());
  event.time_year = 2024;
  EXPECT_TRUE(Validate(event).ok());
  event.time_year = 10'000;
  EXPECT_THAT(std::string(Validate(event).message()), HasSubstr("--time-year: must be 1 to 9999"));
  event.time_year = 2024;
  event.time_format = "%F";
  EXPECT_THAT(std::string(Validate(event).message()),
              HasSubstr("--time-year: needs a --time-format that says no year"));
  event.time_year = 0;
  EXPECT_EQ(SetOption(spec, "time-year", "24.").message(),
            "--time-year: \"24.\" is not a year from 1 to 9999, such as 2024");
  event.time_format = "%H";
  EXPECT_THAT(std::string(Validate(event).message()), HasSubstr("--time-format: \"%H\""));
}

// Any mixture of what the forms are made of: the plain reader has to agree.
TEST(TimeReader, AgreesWithAPlainReaderOnBrokenTexts) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const std::string forms[] = {"2015-02-24 09:58:42",
                               "2015-02-24T09:58:42.123+0100",
                               "2015-02-24 09:58:42,5 UTC",
                               "[24/Feb/2015:09:58:42 +0100]",
                               "24/Feb/2015:09:58:42",
                               "Tue, 24 Feb 2015 09:58:42 +0100 (CET)",
                               "1 Feb 2015 09:58 GMT",
                               "2015-02-24",
                               "24/Feb/2015",
                               "Tue, 24 Feb 2015"};
  constexpr std::string_view kBytes = "0123456789 :,./-+[]()TZzubF\t\0x";
  int times = 0;
  for (int i = 0; i < 50'000; ++i) {
    std::string text = forms[random() % std::size(forms)];
    for (auto edits = random() % 3; edits > 0; --edits) {
      const size_t at = random() % text.size();
      const char byte = kBytes[random() % kBytes.size()];
      switch (random() % 3) {
        case 0: text[at] = byte; break;
        case 1: text.insert(at, 1, byte); break;
        default: text.erase(at, 1 + random() % 2);
      }
    }
    times += ReadTwice(text, random() % 2 == 0 ? "Z" : "-03:30").ends_with('Z') ? 1 : 0;
    ASSERT_FALSE(HasFailure());
  }
  EXPECT_GT(times, 10'000);
}

}  // namespace
}  // namespace pleat
