// Times that may mean several instants: the hour that a clock shows twice, and dates without a year. However
// lines come to a collection, each has the instant that a plain model finds for it.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pleat/json.h>
#include <pleat/json_analysis.h>
#include <pleat/json_intake.h>
#include <pleat/snapshot.h>

#include "tests/lines/json_harness.h"
#include "tests/support/bytes.h"
#include "tests/support/seeds.h"
#include "tests/support/share.h"

namespace pleat::inline v0_1::open_times {
namespace {

using namespace std::chrono;
using std::chrono_literals::operator""h;
using testing::ElementsAre;

// Each event is a group of its own, which comes out at once.
constexpr const char* kEach = "--key k --time t --quiet 1s --max-events 1 ";
constexpr const char* kBerlin = "--time-zone Europe/Berlin ";
constexpr const char* kNoYear = "--time-format '%b %e %H:%M:%S' ";

std::string Line(const std::string& time) { return "{\"k\":1,\"t\":\"" + time + "\"}\n"; }

std::string Joined(const std::vector<std::string>& times) {
  std::string text;
  for (const std::string& time : times) text += Line(time);
  return text;
}

// The stamps of emissions, such as 2023-10-29T00:30:00.
std::vector<std::string> StampsIn(std::string_view out) {
  constexpr std::string_view kFirst = "\"first\":\"";
  std::vector<std::string> stamps;
  for (size_t at = out.find(kFirst); at != out.npos; at = out.find(kFirst, at + 1))
    stamps.emplace_back(out.substr(at + kFirst.size(), 19));
  return stamps;
}

std::vector<std::string> StampsAtEnd(JsonHarness& harness) {
  harness.folder().TakeWaiting(PassUnusualLine);
  return StampsIn(harness.CloseAndPop());
}

std::vector<std::string> ByLines(const FoldSpec& spec, const std::vector<std::string>& times,
                                 EngineTime arrival = FromUnix(Duration(0))) {
  JsonHarness harness(spec);
  for (const std::string& time : times) harness.Fold(Line(time), arrival);
  return StampsAtEnd(harness);
}

// As by several threads: each text is read by itself.
std::vector<std::string> ByTexts(const FoldSpec& spec, const std::vector<std::string>& times,
                                 std::mt19937_64& random) {
  JsonHarness harness(spec);
  for (size_t begin = 0; begin < times.size();) {
    const size_t end = std::min<size_t>(begin + 1 + random() % 20, times.size());
    const PaddedLine text(Joined({times.begin() + static_cast<std::ptrdiff_t>(begin),
                                  times.begin() + static_cast<std::ptrdiff_t>(end)}));
    if (random() % 2 == 0) {
      JsonLines lines(harness.folder().plan());
      lines.Read(text.view());
      while (lines.left() > 0)
        harness.folder().Fold(lines, 1 + random() % 9, FromUnix(Duration(0)), PassUnusualLine);
    } else {
      harness.folder().FoldLines(text.view(), FromUnix(Duration(0)), PassUnusualLine);
    }
    begin = end;
  }
  return StampsAtEnd(harness);
}

std::vector<std::string> ByIntake(const FoldSpec& spec, const std::vector<std::string>& times,
                                  std::mt19937_64& random) {
  const std::unique_ptr<Engine> engine = *Engine::Open(EngineOptionsFor(spec.event));
  const std::unique_ptr<JsonIntake> intake = *JsonIntake::Open(*engine, spec.event);
  const std::unique_ptr<JsonFolder> folder = *JsonFolder::Open(*intake, "lines", spec);
  const auto pass = [](const UnusualLine&, std::string_view) { return true; };
  for (size_t begin = 0; begin < times.size();) {
    const size_t end = std::min<size_t>(begin + 1 + random() % 20, times.size());
    const PaddedLine text(Joined({times.begin() + static_cast<std::ptrdiff_t>(begin),
                                  times.begin() + static_cast<std::ptrdiff_t>(end)}));
    EXPECT_TRUE(intake->Push(text.view(), FromUnix(Duration(0)), pass));
    begin = end;
  }
  EXPECT_TRUE(intake->TakeWaiting(pass));
  folder->CloseAll();
  std::string out;
  folder->Pop(SIZE_MAX, out);
  return StampsIn(out);
}

// With a snapshot somewhere, behind which another engine goes on.
std::vector<std::string> BySnapshot(const FoldSpec& spec, const std::vector<std::string>& times,
                                    std::mt19937_64& random) {
  auto harness = std::make_unique<JsonHarness>(spec);
  const size_t cut = random() % (times.size() + 1);
  std::vector<std::string> stamps;
  for (size_t i = 0; i < times.size(); ++i) {
    if (i == cut) {
      stamps = StampsIn(harness->Pop());
      StringSink sink;
      EXPECT_TRUE(TakeSnapshot(harness->engine(), sink).ok());
      harness = std::make_unique<JsonHarness>(spec);
      StringSource source(sink.bytes);
      EXPECT_TRUE(RestoreSnapshot(harness->engine(), source, {.skip_numbers = 0}).ok());
    }
    harness->Fold(Line(times[i]));
  }
  const std::vector<std::string> rest = StampsAtEnd(*harness);
  stamps.insert(stamps.end(), rest.begin(), rest.end());
  return stamps;
}

TEST(OpenTimes, TheHourThatComesTwiceGoesOnWhereTheOneBeforeItWas) {
  EXPECT_THAT(ByLines(SpecOf(std::string(kEach) + kBerlin),
                      {"2023-10-29 02:50:00", "2023-10-29 02:30:00", "2023-10-29 02:50:00",
                       "2023-10-29 03:00:00", "2023-10-29 02:10:00"}),
              ElementsAre("2023-10-29T00:50:00", "2023-10-29T00:30:00", "2023-10-29T00:50:00",
                          "2023-10-29T02:00:00", "2023-10-29T01:10:00"));
}

TEST(OpenTimes, TheFirstTimeWithoutAYearIsInThatOfTheOptionOrNearToItsArrival) {
  const std::vector<std::string> times = {"Dec 31 23:59:59", "Jan  1 00:00:01"};
  EXPECT_THAT(ByLines(SpecOf(std::string(kEach) + kNoYear + "--time-year 2023"), times),
              ElementsAre("2023-12-31T23:59:59", "2024-01-01T00:00:01"));
  const auto new_year = EngineTime(sys_days(2025y / January / 1).time_since_epoch() + 2h);
  EXPECT_THAT(ByLines(SpecOf(std::string(kEach) + kNoYear), times, new_year),
              ElementsAre("2024-12-31T23:59:59", "2025-01-01T00:00:01"));
}

// A line that is excluded says how late it is as well.
TEST(OpenTimes, ExcludedLinesCarryTheYearOn) {
  FoldSpec spec = SpecOf(std::string(kEach) + kNoYear + "--time-year 2023 --from 2024-06-01");
  const std::vector<std::string> times = {"Aug  1 00:00:00", "Dec 31 00:00:00", "May  1 00:00:00",
                                          "Jun 30 00:00:00"};
  std::mt19937_64 random(1);
  EXPECT_THAT(ByLines(spec, times), ElementsAre("2024-06-30T00:00:00"));
  EXPECT_THAT(ByTexts(spec, times, random), ElementsAre("2024-06-30T00:00:00"));
  EXPECT_THAT(ByIntake(spec, times, random), ElementsAre("2024-06-30T00:00:00"));
  EXPECT_THAT(BySnapshot(spec, times, random), ElementsAre("2024-06-30T00:00:00"));
  // One with a zone is excluded at once, also where the line behind it waits for its stamp.
  spec = SpecOf(std::string(kEach) + kBerlin + "--from 2023-10-29T01:30:00Z");
  const std::vector<std::string> hour = {"2023-10-29T01:15:00Z", "2023-10-29 02:40:00"};
  EXPECT_THAT(ByTexts(spec, hour, random), ElementsAre("2023-10-29T01:40:00"));
  EXPECT_THAT(ByIntake(spec, hour, random), ElementsAre("2023-10-29T01:40:00"));
}

TEST(OpenTimes, ALineBeyondTheFutureLimitIsNotTheNewest) {
  const FoldSpec spec = SpecOf(std::string(kEach) + kNoYear + "--time-year 2023 --future-limit 1d");
  const std::vector<std::string> times = {"Jan  1 00:00:00", "Jun 20 00:00:00", "Nov  1 00:00:00"};
  std::mt19937_64 random(1);
  const auto expected = ElementsAre("2023-01-01T00:00:00", "2022-11-01T00:00:00");
  EXPECT_THAT(ByLines(spec, times), expected);
  EXPECT_THAT(ByTexts(spec, times, random), expected);
  EXPECT_THAT(ByIntake(spec, times, random), expected);
}

TEST(OpenTimes, AClosingTimeIsNearToItsEvent) {
  JsonHarness harness(SpecOf("--key k --time t --quiet 10h --close-at c " + std::string(kBerlin)));
  harness.Fold(R"({"k":1,"t":"2023-10-29T01:10:00Z","c":"2023-10-29 02:30:00"})");
  harness.Fold(R"({"k":2,"t":"2023-10-29T01:30:00Z"})");
  EXPECT_THAT(harness.Pop(), testing::HasSubstr("\"closed\":\"2023-10-29T01:30:00"));
}

TEST(OpenTimes, SeveralMembersAreOneTime) {
  const auto stamps = [](const std::string& options, const std::string& line) {
    JsonHarness harness(SpecOf("--key k --quiet 1s --max-events 1 " + options));
    const std::string reason = harness.Fold(line).reason;
    const std::vector<std::string> found = StampsAtEnd(harness);
    return found.empty() ? reason : found[0];
  };
  EXPECT_EQ(stamps("--time date,time", R"({"k":1,"date":"2024-05-01","time":"06:06:53"})"),
            "2024-05-01T06:06:53");
  EXPECT_EQ(stamps("--time date,time", R"({"k":1,"time":" 06:06:53Z ","date":"2024-05-01"})"),
            "2024-05-01T06:06:53");
  EXPECT_EQ(stamps("--time d,t,z", R"({"k":1,"d":"2024-05-01","t":"06:06:53","z":"+02:00"})"),
            "2024-05-01T04:06:53");
  EXPECT_EQ(
      stamps("--time d,t --time-format '%Y%m%d %H%M%S'", R"({"k":1,"d":20240501,"t":"060653"})"),
      "2024-05-01T06:06:53");
  EXPECT_EQ(stamps("--time a.d,/a.t", R"({"k":1,"a":{"d":"2024-05-01"},"a.t":"06:06:53"})"),
            "2024-05-01T06:06:53");
  EXPECT_EQ(stamps(R"(--time '"d,t"')", R"({"k":1,"d,t":"2024-05-01 06:06:53"})"),
            "2024-05-01T06:06:53");
  EXPECT_EQ(stamps("--time /d,t", R"({"k":1,"d,t":"2024-05-01 06:06:53"})"), "2024-05-01T06:06:53");
  EXPECT_EQ(stamps("--time d,t", R"({"k":1,"d":"2024-05-01"})"), "event time \"t\" is missing");
  EXPECT_EQ(stamps("--time d,t", R"({"k":1,"d":"2024-05-01","t":null})"),
            "event time null is neither text nor a number");
  EXPECT_EQ(
      stamps("--time d,t", R"({"k":1,"d":"2024-05-01","t":"6 o'clock"})"),
      "event time \"2024-05-01 6 o'clock\" is not of a known form: state it with --time-format");
  EXPECT_EQ(stamps("--time t", R"({"k":1,"d":"2024-05-01","t":"06:06:53"})"),
            "event time \"06:06:53\" is a time of day: join its date, as in --time date,time");
  FoldSpec spec = SpecOf("--key k --quiet 1s");
  EXPECT_FALSE(SetOption(spec, "time", "date,").ok());
  EXPECT_FALSE(SetOption(spec, "time", "\"date\"x").ok());
  EXPECT_TRUE(SetOption(spec, "time", "date,time").ok());
  EXPECT_TRUE(SetOption(spec, "time-unit", "s").ok());
  EXPECT_THAT(std::string(Validate(spec).message()),
              testing::HasSubstr("--time-unit: not with a --time of several members"));
}

// --- Drawn lines, and a model

struct Case {
  std::string text;
  std::vector<EngineTime> meanings;  // in order
};

EngineTime At(sys_days day, seconds in_day) {
  return EngineTime((day + in_day).time_since_epoch());
}

// Around the hour that Berlin's clock shows twice on 29 October 2023, from 00:00 to 01:00 and to 02:00 in UTC.
Case DrawLocal(std::mt19937_64& random) {
  const seconds shown(random() % (5 * 3600));
  char text[32];
  std::snprintf(text, sizeof text, "2023-10-29 %02d:%02d:%02d",
                static_cast<int>(shown.count() / 3600), static_cast<int>(shown.count() / 60 % 60),
                static_cast<int>(shown.count() % 60));
  const sys_days day = 2023y / October / 29;
  Case drawn{text, {}};
  if (shown < 3h) drawn.meanings.push_back(At(day, shown - 2h));
  if (shown >= 2h) drawn.meanings.push_back(At(day, shown - 1h));
  return drawn;
}

// Behind `day`, by up to 170 days, or a little before it; sometimes a leap day.
Case DrawYearless(std::mt19937_64& random, sys_days& day) {
  day += days(random() % 4 == 0 ? random() % 170 : random() % 3);
  sys_days shown_day = day - days(random() % 5 == 0 ? random() % 20 : 0);
  year_month_day date = shown_day;
  if (random() % 50 == 0) date = 2000y / February / 29;
  const seconds in_day(random() % 86400);
  constexpr const char* kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  char text[32];
  std::snprintf(text, sizeof text, "%s %2u %02d:%02d:%02d",
                kMonths[static_cast<unsigned>(date.month()) - 1], static_cast<unsigned>(date.day()),
                static_cast<int>(in_day.count() / 3600), static_cast<int>(in_day.count() / 60 % 60),
                static_cast<int>(in_day.count() % 60));
  Case drawn{text, {}};
  for (year each = 1950y; each < 2400y; ++each) {
    const year_month_day meant = each / date.month() / date.day();
    if (meant.ok()) drawn.meanings.push_back(At(meant, in_day));
  }
  return drawn;
}

std::string Shown(EngineTime at) { return FormatTimestamp(at).substr(0, 19); }

TEST(OpenTimes, DrawnLinesHaveTheInstantsOfAModelHoweverTheyCome) {
  ForEachSeed(1, ShareOf({.whole = 1'000, .usual = 60, .sanitized = 20}), [](uint64_t seed) {
    std::mt19937_64 random(seed);
    const bool yearless = random() % 2 == 0;
    std::string options = kEach;
    options += yearless ? std::string(kNoYear) + "--time-year 2023 " : std::string(kBerlin);
    EngineTime from = kBeginningOfTime;
    if (random() % 3 == 0) {
      options += yearless ? "--from 2024-03-01 " : "--from 2023-10-29T00:40:00Z ";
      from = yearless ? At(2024y / March / 1, 0s) : At(2023y / October / 29, 2400s);
    }
    sys_days day = 2023y / November / 1;
    std::optional<EngineTime> newest;
    std::vector<std::string> times, expected;
    for (int i = 0; i < 200; ++i) {
      const Case drawn = yearless ? DrawYearless(random, day) : DrawLocal(random);
      EngineTime meant = drawn.meanings[0];
      for (const EngineTime each : drawn.meanings) {
        const auto distance = [&](EngineTime at) {
          const EngineTime near = newest ? *newest : At(2023y / July / 2, 12h);
          return at < near ? near - at : at - near;
        };
        if ((newest || yearless) && distance(each) < distance(meant)) meant = each;
      }
      if (!newest && yearless) {  // the year of the option
        const auto in_year = std::ranges::find_if(drawn.meanings, [](EngineTime at) {
          return at >= At(2023y / January / 1, 0s) && at < At(2024y / January / 1, 0s);
        });
        if (in_year == drawn.meanings.end()) continue;
        meant = *in_year;
      }
      newest = newest ? std::max(*newest, meant) : meant;
      times.push_back(drawn.text);
      if (meant >= from) expected.push_back(Shown(meant));
    }
    const FoldSpec spec = SpecOf(options);
    EXPECT_EQ(ByLines(spec, times), expected);
    EXPECT_EQ(ByTexts(spec, times, random), expected);
    EXPECT_EQ(ByIntake(spec, times, random), expected);
    EXPECT_EQ(BySnapshot(spec, times, random), expected);
    std::ranges::sort(expected);
    const FoldSpec waiting = SpecOf(options + "--reorder 40000d");
    EXPECT_EQ(ByLines(waiting, times), expected);
    EXPECT_EQ(ByTexts(waiting, times, random), expected);
    EXPECT_EQ(ByIntake(waiting, times, random), expected);
    EXPECT_EQ(BySnapshot(waiting, times, random), expected);
  });
}

TEST(OpenTimes, AnAnalysisReadsThemAlike) {
  const FoldSpec spec = SpecOf(std::string(kEach) + kBerlin);
  const std::vector<std::string> times = {"2023-10-29 02:50:00", "2023-10-29 03:00:00",
                                          "2023-10-29 02:55:00"};
  const std::unique_ptr<JsonAnalyzer> analyzer = *JsonAnalyzer::Open(spec.event, {});
  for (const std::string& time : times) {
    const PaddedLine line(Line(time));
    EXPECT_EQ(analyzer->AddLine(line.view()).kind, LineResult::Kind::kEvent);
  }
  EXPECT_EQ(analyzer->out_of_order(), 1u);
  const std::unique_ptr<JsonAnalyzer> by_text = *JsonAnalyzer::Open(spec.event, {});
  const PaddedLine text(Joined(times));
  JsonLines lines(by_text->plan());
  lines.Read(text.view());
  by_text->Add(lines, PassUnusualLine);
  EXPECT_EQ(by_text->out_of_order(), 1u);
  EXPECT_EQ(by_text->counts().events, 3u);
}

}  // namespace
}  // namespace pleat::inline v0_1::open_times
