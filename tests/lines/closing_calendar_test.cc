// Closing times by the clock of a zone, against a clock that is looked at every minute.
#include "engine/lines/feed/closing_calendar.h"

#include <set>
#include <string>
#include <utility>

#include <absl/time/civil_time.h>
#include <gtest/gtest.h>
#include <pleat/json_lines.h>

#include "engine/lines/time/time_rules.h"

namespace pleat::inline v0_1 {
namespace {

using namespace std::chrono_literals;

EngineTime At(const std::string& text) {
  EngineTime t{};
  EXPECT_TRUE(ParseTimestamp(text, t)) << text;
  return t;
}

std::string After(const std::string& zone, const ClosingOptions& closing, const std::string& t) {
  const std::string text =
      FormatTimestamp(ClosingCalendar(*ParseTimeZone(zone), closing).After(At(t)));
  return text.substr(0, 19) + (text.substr(19) == ".000000Z" ? "Z" : text.substr(19));
}

TEST(ClosingCalendar, NineOClockStaysNineOClockWhenTheClockChanges) {
  const ClosingOptions nine{.every = 24h, .phase = 9h};
  const std::string berlin = "Europe/Berlin";
  EXPECT_EQ(After(berlin, nine, "2026-01-05T07:59:59.999999Z"), "2026-01-05T08:00:00Z");
  EXPECT_EQ(After(berlin, nine, "2026-01-05T08:00:00Z"), "2026-01-06T08:00:00Z");
  EXPECT_EQ(After(berlin, nine, "2026-03-28T09:00:00Z"), "2026-03-29T07:00:00Z");  // a day of 23 h
  EXPECT_EQ(After(berlin, nine, "2026-10-24T08:00:00Z"), "2026-10-25T08:00:00Z");  // one of 25 h
  EXPECT_EQ(After("+05:30", nine, "2026-01-05T03:30:00Z"), "2026-01-06T03:30:00Z");
  EXPECT_EQ(After("UTC", nine, "1969-12-31T10:00:00Z"), "1970-01-01T09:00:00Z");
}

TEST(ClosingCalendar, AReadingThatIsSkippedCountsWhereTheClockJumps) {
  const ClosingOptions half_past_two{.every = 24h, .phase = 2h + 30min};
  EXPECT_EQ(After("Europe/Berlin", half_past_two, "2026-03-28T12:00:00Z"), "2026-03-29T01:00:00Z");
  EXPECT_EQ(After("Europe/Berlin", half_past_two, "2026-03-29T01:00:00Z"), "2026-03-30T00:30:00Z");
  // Samoa had no 30 December 2011: its nine o'clock was when the 31st began.
  EXPECT_EQ(After("Pacific/Apia", {.every = 24h, .phase = 9h}, "2011-12-29T23:00:00Z"),
            "2011-12-30T10:00:00Z");
  EXPECT_EQ(After("Pacific/Apia", {.every = 24h, .phase = 9h}, "2011-12-30T10:00:00Z"),
            "2011-12-30T19:00:00Z");
}

TEST(ClosingCalendar, AReadingThatComesTwiceEndsADayOnceAndAnHourTwice) {
  const ClosingOptions daily{.every = 24h, .phase = 2h + 30min};
  EXPECT_EQ(After("Europe/Berlin", daily, "2026-10-24T12:00:00Z"), "2026-10-25T00:30:00Z");
  EXPECT_EQ(After("Europe/Berlin", daily, "2026-10-25T00:30:00Z"), "2026-10-26T01:30:00Z");
  // Opened while the clock shows 02:10 for the second time.
  EXPECT_EQ(After("Europe/Berlin", daily, "2026-10-25T01:10:00Z"), "2026-10-26T01:30:00Z");
  const ClosingOptions hourly{.every = 1h};
  EXPECT_EQ(After("Europe/Berlin", hourly, "2026-10-25T00:00:00Z"), "2026-10-25T01:00:00Z");
  EXPECT_EQ(After("Europe/Berlin", hourly, "2026-10-25T01:00:00Z"), "2026-10-25T02:00:00Z");
}

TEST(ClosingCalendar, EndsWithTime) {
  const ClosingOptions nine{.every = 24h, .phase = 9h};
  for (const char* zone : {"UTC", "Europe/Berlin", "America/New_York"}) {
    const absl::TimeZone rules = *ParseTimeZone(zone);
    EXPECT_EQ(ClosingCalendar(rules, nine).After(kEndOfTime), kNever);
    EXPECT_EQ(ClosingCalendar(rules, {.every = kForever - 1us}).After(kEndOfTime - 1h), kNever);
    EXPECT_GT(ClosingCalendar(rules, nine).After(kBeginningOfTime), kBeginningOfTime);
    EXPECT_LE(ClosingCalendar(rules, nine).After(kBeginningOfTime), kBeginningOfTime + 48h);
  }
}

// The closing times among so many minutes, found by looking at the clock at each of them.
std::set<EngineTime> SeenOnTheClock(const absl::TimeZone& zone, const ClosingOptions& closing,
                                    EngineTime from, int minutes) {
  const auto reading_at = [&](EngineTime t) {
    const auto shown = zone.At(absl::FromUnixMicros(t.time_since_epoch().count())).cs;
    return Duration(std::chrono::seconds(shown - absl::CivilSecond(1970, 1, 1)));
  };
  const auto is_on_grid = [&](Duration reading) {
    // 5 January 1970 was a Monday.
    const bool weeks = closing.every % (7 * 24h) == Duration{0};
    return (reading - closing.phase - (weeks ? 4 * 24h : 0h)) % closing.every == Duration{0};
  };
  std::set<EngineTime> times;
  Duration latest = reading_at(from - 49h);  // the largest reading so far
  for (EngineTime t = from - 49h; t < from + minutes * 1min; t += 1min) {
    const Duration reading = reading_at(t);
    const Duration before = reading_at(t - 1min);
    bool comes = is_on_grid(reading) && (closing.every < 24h || reading > latest);
    for (Duration skipped = before + 1min; skipped < reading; skipped += 1min) {
      comes = comes || (is_on_grid(skipped) && (closing.every < 24h || skipped > latest));
    }
    latest = std::max(latest, reading);
    if (comes && t >= from) times.insert(t);
  }
  return times;
}

TEST(ClosingCalendar, AgreesWithTheClockWhateverTheZoneAndThePeriod) {
  const std::pair<const char*, const char*> places[] = {
      {"Europe/Berlin", "2026-03-27T00:00:00Z"},
      {"Europe/Berlin", "2026-10-23T00:00:00Z"},
      {"America/New_York", "2026-03-06T00:00:00Z"},
      {"America/New_York", "2026-10-30T00:00:00Z"},
      {"Australia/Lord_Howe", "2026-04-03T00:00:00Z"},  // by half an hour
      {"Australia/Lord_Howe", "2026-10-02T00:00:00Z"},
      {"Pacific/Apia", "2011-12-28T00:00:00Z"},
      {"Asia/Kathmandu", "1985-12-30T00:00:00Z"},
      {"UTC", "1969-12-30T00:00:00Z"},
      {"-03:30", "2026-01-01T00:00:00Z"}};
  const ClosingOptions closings[] = {{.every = 24h, .phase = 9h},
                                     {.every = 24h, .phase = 2h + 15min},
                                     {.every = 24h, .phase = 1h + 30min},
                                     {.every = 48h, .phase = 25h},
                                     {.every = 7 * 24h, .phase = 4 * 24h + 9h},
                                     {.every = 1h},
                                     {.every = 15min, .phase = 5min},
                                     {.every = 7h, .phase = 2h},
                                     {.every = 6h, .phase = 1h + 30min},
                                     {.every = 36h, .phase = 1h}};
  for (const auto& [name, begins] : places) {
    const absl::TimeZone zone = *ParseTimeZone(name);
    for (const ClosingOptions& closing : closings) {
      const EngineTime from = At(begins);
      const std::set<EngineTime> seen = SeenOnTheClock(zone, closing, from, 10 * 24 * 60);
      ASSERT_FALSE(seen.empty());
      const ClosingCalendar calendar(zone, closing);
      for (EngineTime t = from; t < from + 5 * 24h; t += 7min) {
        const auto next = seen.upper_bound(t);
        if (next == seen.end()) break;
        ASSERT_EQ(FormatTimestamp(calendar.After(t)), FormatTimestamp(*next))
            << name << ", " << FormatDuration(closing.every) << " at "
            << FormatDuration(closing.phase) << ", after " << FormatTimestamp(t);
      }
    }
  }
}

}  // namespace
}  // namespace pleat::inline v0_1
