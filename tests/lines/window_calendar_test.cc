// Windows of `rollup` by the calendar of a zone.
#include "engine/lines/time/window_calendar.h"

#include <chrono>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pleat/json.h>
#include <pleat/json_rollup.h>

#include "engine/lines/spec/spec_check.h"
#include "engine/lines/time/time_rules.h"

namespace pleat::inline v0_1 {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr Duration kDay = 24h;
constexpr Duration kWeek = 7 * 24h;

EngineTime At(const std::string& text) {
  EngineTime t{};
  EXPECT_TRUE(ParseTimestamp(text, t)) << text;
  return t;
}

// "start, end", as far as the seconds.
std::string Around(const std::string& zone, Duration length, const std::string& at,
                   Duration offset = Duration{0}) {
  const auto [start, end] = WindowCalendar(*ParseTimeZone(zone), offset).Around(At(at), length);
  return FormatTimestamp(start).substr(0, 19) + ", " + FormatTimestamp(end).substr(0, 19);
}

TEST(WindowCalendar, ADayHasTwentyThreeOrTwentyFiveHoursWhereTheClockChanges) {
  EXPECT_EQ(Around("Europe/Amsterdam", kDay, "2022-02-16T22:45:00Z"),
            "2022-02-15T23:00:00, 2022-02-16T23:00:00");
  EXPECT_EQ(Around("Europe/Berlin", kDay, "2026-03-29T12:00:00Z"),
            "2026-03-28T23:00:00, 2026-03-29T22:00:00");
  EXPECT_EQ(Around("Europe/Berlin", kDay, "2026-10-25T12:00:00Z"),
            "2026-10-24T22:00:00, 2026-10-25T23:00:00");
  EXPECT_EQ(Around("+05:30", kDay, "2026-10-25T18:29:59Z"),
            "2026-10-24T18:30:00, 2026-10-25T18:30:00");
}

TEST(WindowCalendar, ADayWhoseMidnightIsSkippedBeginsWhereTheClockJumps) {
  // The clock went from 00:00 to 01:00 on 4 November 2018 in Sao Paulo.
  EXPECT_EQ(Around("America/Sao_Paulo", kDay, "2018-11-04T12:00:00Z"),
            "2018-11-04T03:00:00, 2018-11-05T02:00:00");
  // Samoa had no 30 December 2011.
  EXPECT_EQ(Around("Pacific/Apia", kDay, "2011-12-30T09:59:59Z"),
            "2011-12-29T10:00:00, 2011-12-30T10:00:00");
  EXPECT_EQ(Around("Pacific/Apia", kDay, "2011-12-30T10:00:00Z"),
            "2011-12-30T10:00:00, 2011-12-31T10:00:00");
}

TEST(WindowCalendar, ADayWhoseMidnightComesTwiceBeginsTheFirstTime) {
  // The clock went from 01:00 back to 00:00 on 3 November 2019 in Havana.
  EXPECT_EQ(Around("America/Havana", kDay, "2019-11-03T05:30:00Z"),
            "2019-11-03T04:00:00, 2019-11-04T05:00:00");
  // From 00:01 back to 23:01 of the day before on 29 October 2006 in Newfoundland.
  EXPECT_EQ(Around("America/St_Johns", kDay, "2006-10-29T03:00:00Z"),
            "2006-10-29T02:30:00, 2006-10-30T03:30:00");
}

TEST(WindowCalendar, WeeksBeginOnMonday) {
  EXPECT_EQ(Around("UTC", kWeek, "2024-01-07T23:59:59Z"),
            "2024-01-01T00:00:00, 2024-01-08T00:00:00");
  EXPECT_EQ(Around("UTC", kWeek, "1969-12-31T12:00:00Z"),
            "1969-12-29T00:00:00, 1970-01-05T00:00:00");
  EXPECT_EQ(Around("America/New_York", kWeek, "2024-03-11T03:59:59Z"),  // has a day of 23 hours
            "2024-03-04T05:00:00, 2024-03-11T04:00:00");
  EXPECT_EQ(Around("UTC", 2 * kWeek, "2024-01-08T00:00:00Z"),
            "2024-01-08T00:00:00, 2024-01-22T00:00:00");
  EXPECT_EQ(Around("UTC", 2 * kDay, "1970-01-02T00:00:00Z"),
            "1970-01-01T00:00:00, 1970-01-03T00:00:00");
}

TEST(WindowCalendar, MonthsAreThoseOfTheCalendar) {
  EXPECT_EQ(Around("UTC", kMonth, "2024-02-29T12:00:00Z"),
            "2024-02-01T00:00:00, 2024-03-01T00:00:00");
  EXPECT_EQ(Around("Asia/Tokyo", kMonth, "2023-12-31T15:00:00Z"),
            "2023-12-31T15:00:00, 2024-01-31T15:00:00");
  EXPECT_EQ(Around("Europe/Berlin", kMonth, "2026-10-31T22:59:59Z"),
            "2026-09-30T22:00:00, 2026-10-31T23:00:00");
}

TEST(WindowCalendar, ShorterWindowsAreCountedFromMidnightAndTheLastMayBeShorter) {
  EXPECT_EQ(Around("Europe/Berlin", 6h, "2026-03-29T21:30:00Z"),  // the day has 23 hours
            "2026-03-29T17:00:00, 2026-03-29T22:00:00");
  EXPECT_EQ(Around("Europe/Berlin", 6h, "2026-10-25T22:30:00Z"),  // the day has 25 hours
            "2026-10-25T22:00:00, 2026-10-25T23:00:00");
  EXPECT_EQ(Around("UTC", 7h, "2026-01-05T21:30:00Z"), "2026-01-05T21:00:00, 2026-01-06T00:00:00");
  EXPECT_EQ(Around("Asia/Kathmandu", 1h, "2026-01-05T21:30:00Z"),
            "2026-01-05T21:15:00, 2026-01-05T22:15:00");
}

TEST(WindowCalendar, AnOffsetMovesDaysAndWhatIsMadeOfThem) {
  EXPECT_EQ(Around("Europe/Berlin", kDay, "2026-01-05T04:59:59Z", 6h),
            "2026-01-04T05:00:00, 2026-01-05T05:00:00");
  EXPECT_EQ(Around("UTC", kWeek, "2024-01-07T00:00:00Z", 6 * kDay),  // from Sunday on
            "2024-01-07T00:00:00, 2024-01-14T00:00:00");
  EXPECT_EQ(Around("UTC", kMonth, "2024-03-14T23:59:59Z", 14 * kDay),  // from the 15th on
            "2024-02-15T00:00:00, 2024-03-15T00:00:00");
  EXPECT_EQ(Around("UTC", 7h, "2024-03-14T05:00:00Z", 6h),
            "2024-03-14T03:00:00, 2024-03-14T06:00:00");
  // Half past two is skipped: the day begins where the clock jumps.
  EXPECT_EQ(Around("Europe/Berlin", kDay, "2026-03-29T12:00:00Z", 2h + 30min),
            "2026-03-29T01:00:00, 2026-03-30T00:30:00");
  const auto [start, end] =
      WindowCalendar(absl::UTCTimeZone(), 1500us).Around(At("2026-03-29T00:00:00Z"), kDay);
  EXPECT_EQ(FormatTimestamp(start), "2026-03-28T00:00:00.001500Z");
  EXPECT_EQ(end - start, kDay);
}

// --- In a spec

RollupSpec SpecWith(const std::vector<std::pair<std::string, std::string>>& options) {
  RollupSpec spec;
  for (const auto& [name, text] : options) {
    const absl::Status set = SetOption(spec, name, text);
    EXPECT_TRUE(set.ok()) << set;
  }
  return spec;
}

std::string Refusal(const std::string& windows, const std::string& zone = "",
                    const std::string& offset = "0") {
  RollupSpec spec = SpecWith({{"key", "k"}, {"allowed-lateness", "1m"}, {"window-offset", offset}});
  if (!zone.empty()) spec.event.time_zone = zone;
  const absl::Status set = SetOption(spec, "window", windows);
  return std::string(set.ok() ? Validate(spec).message() : set.message());
}

TEST(WindowCalendar, IsAskedOnlyWhereItSaysSomethingElse) {
  const auto calendar = [](const std::string& windows, const std::string& zone = "",
                           const std::string& offset = "0") {
    RollupSpec spec = SpecWith({{"window", windows}, {"window-offset", offset}});
    spec.event.time_zone = zone;
    return RollupOptionsOf(spec).calendar_name;
  };
  EXPECT_EQ(calendar("1m,1h,1d"), "");
  EXPECT_EQ(calendar("24h", "UTC"), "");
  EXPECT_EQ(calendar("36h"), "");
  EXPECT_EQ(calendar("3d", "+00:00"), "");
  EXPECT_EQ(calendar("1w"), "UTC");
  EXPECT_EQ(calendar("1d,1mo"), "UTC");
  EXPECT_EQ(calendar("7h"), "UTC");
  EXPECT_EQ(calendar("1d", "", "6h"), "UTC + 6h");
  EXPECT_EQ(calendar("1m", "Europe/Berlin"), "Europe/Berlin");
  EXPECT_EQ(calendar("1m", "+01:00"), calendar("1m", "+0100"));
}

TEST(WindowCalendar, LongerWindowsAreMadeOfTheShortest) {
  for (const char* windows : {"1d,1w,1mo", "1h,1d", "7h,1d,1mo", "5m,1h,1w", "2d,14d", "1w,2w",
                              "1mo", "1d,3d", "90s,1h"}) {
    EXPECT_EQ(Refusal(windows, "Europe/Berlin"), "") << windows;
  }
  EXPECT_EQ(Refusal("1w,1mo"), "--window: 1mo is not a multiple of 7d, the first one");
  EXPECT_EQ(Refusal("3d,3w"), "--window: 21d is not a multiple of 3d, the first one");
  EXPECT_EQ(Refusal("7h,8h"), "--window: 8h is not a multiple of 7h, the first one");
  EXPECT_EQ(Refusal("1mo,62d"), "--window: 62d is not a multiple of 1mo, the first one");
  EXPECT_EQ(Refusal("36h", "Asia/Tokyo"),
            "--window: 36h is neither shorter than a day nor whole days, as windows by the "
            "calendar are");
  EXPECT_EQ(Refusal("31d,1mo"), "--window: 1mo is not longer than 31d, which is before it");
}

TEST(WindowCalendar, AMonthIsNoDuration) {
  EXPECT_EQ(Refusal("3mo"), "--window: \"3mo\": months come one by one, as 1mo");
  EXPECT_EQ(Refusal("2629746s"),
            "--window: \"2629746s\" is the mean length of a month, which is 1mo");
  RollupSpec spec;
  EXPECT_FALSE(SetOption(spec, "allowed-lateness", "1mo").ok());
  FoldSpec fold;
  EXPECT_FALSE(SetOption(fold, "close-every", "1mo").ok());
  spec = SpecWith({{"window", "1d,1mo"}, {"window-offset", "6h"}});
  const std::vector<std::pair<std::string, std::string>> texts = {
      {"window", "1d"}, {"window", "1mo"}, {"window-offset", "6h"}};
  EXPECT_EQ(OptionsOf(spec), texts);
}

TEST(WindowCalendar, AnOffsetIsShorterThanTheLongestWindow) {
  EXPECT_EQ(Refusal("1h", "", "23h"), "");
  EXPECT_EQ(Refusal("1d,1w", "", "6d"), "");
  EXPECT_EQ(Refusal("1mo", "", "27d"), "");
  EXPECT_THAT(Refusal("1h", "", "24h"), HasSubstr("--window-offset: must be below 1d"));
  EXPECT_THAT(Refusal("1w", "", "1w"), HasSubstr("--window-offset: must be below 7d"));
  EXPECT_THAT(Refusal("1mo", "", "28d"), HasSubstr("--window-offset: must be below 28d"));
}

}  // namespace
}  // namespace pleat::inline v0_1
