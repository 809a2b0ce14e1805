#include <cctype>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pleat/json.h>

#include "tests/support/plain_time.h"

namespace pleat {
namespace {

using ::testing::HasSubstr;

// The plain reader has to agree.
absl::StatusOr<Duration> Read(const std::string& text) {
  absl::StatusOr<Duration> duration = ParseDuration(text);
  const std::optional<Duration> plain = ReadPlainDuration(text);
  EXPECT_EQ(plain, duration.ok() ? std::optional(*duration) : std::nullopt) << text;
  return duration;
}

TEST(Duration, ReadsANumberAndAUnit) {
  struct Case {
    const char* text;
    int64_t micros;
  };
  for (const Case& c : std::vector<Case>{{"250us", 250},
                                         {"5ms", 5'000},
                                         {"1.5s", 1'500'000},
                                         {"5m", 300'000'000},
                                         {"1h", 3'600'000'000},
                                         {"1d", 86'400'000'000},
                                         {"0", 0},
                                         {"0s", 0},
                                         {"0.5us", 0},
                                         {"1.9us", 1},
                                         {"0.0000019s", 1},
                                         {"007m", 420'000'000},
                                         {"0.000000000000000000000000001d", 0},
                                         {"0.0000000000115740740740740741d", 1},
                                         {"0.00000000001157407407407407407d", 0},
                                         {"1.0000000000000000000000000d", 86'400'000'000},
                                         {"106751991d", 106751991 * int64_t{86'400'000'000}}}) {
    const absl::StatusOr<Duration> parsed = Read(c.text);
    ASSERT_TRUE(parsed.ok()) << c.text;
    EXPECT_EQ(parsed->count(), c.micros) << c.text;
  }
  EXPECT_EQ(*Read("inf"), kForever);
}

TEST(Duration, RefusesEverythingElse) {
  for (const char* invalid : {"",    "5",    "5x",   "s",   "-5s", "+5s",   " 5s",  "5s ",
                              "5S",  "5sec", "1:30", "5.s", ".5s", "5..1s", "5e3s", "inf ",
                              "Inf", "infs", "-inf", "nan", "00",  "0.0",   "1,5s", "5\xc2\xb5s"}) {
    EXPECT_FALSE(Read(invalid).ok()) << invalid;
  }
  EXPECT_EQ(
      ParseDuration("5x").status().message(),
      R"("5x" is not a duration (numbers with us, ms, s, m, min, h, d or w, such as 90s or 1h30m; or inf))");
}

TEST(Duration, ReadsSeveralUnitsFromTheLargestOn) {
  const std::pair<const char*, int64_t> cases[] = {{"1h30m", 5'400'000'000},
                                                   {"1 min 30 s", 90'000'000},
                                                   {"1m30.5s", 90'500'000},
                                                   {"5min", 300'000'000},
                                                   {"5 s", 5'000'000},
                                                   {"1w", 604'800'000'000},
                                                   {"1d12h", 129'600'000'000},
                                                   {"2d  1h  0m", 176'400'000'000},
                                                   {"1w1d1h1m1s1ms1us", 694'861'001'001},
                                                   {"0s0ms", 0}};
  for (const auto& [text, micros] : cases) {
    const absl::StatusOr<Duration> parsed = Read(text);
    ASSERT_TRUE(parsed.ok()) << text;
    EXPECT_EQ(parsed->count(), micros) << text;
  }
}

TEST(Duration, ReadsIso8601) {
  const std::pair<const char*, int64_t> cases[] = {{"PT5M", 300'000'000},
                                                   {"P1DT2H", 93'600'000'000},
                                                   {"P2W", 1'209'600'000'000},
                                                   {"P1W1D", 691'200'000'000},
                                                   {"PT0.5S", 500'000},
                                                   {"PT1,5H", 5'400'000'000},
                                                   {"P1DT2H3M4.000005S", 93'784'000'005},
                                                   {"PT0S", 0}};
  for (const auto& [text, micros] : cases) {
    const absl::StatusOr<Duration> parsed = Read(text);
    ASSERT_TRUE(parsed.ok()) << text;
    EXPECT_EQ(parsed->count(), micros) << text;
  }
  for (const char* invalid :
       {"P",        "PT",      "P1DT", "PT1D",  "P1H",   "PT5",     "P5",
        "-PT5M",    "pt5m",    "PT5m", "PT5M ", "P 1D",  "PT1M1H",  "PT1M1M",
        "PT1.5H1M", "PT1HT5M", "P1S",  "PT1.S", "PT.5S", "PT1.,5S", "P1DPT1H"}) {
    EXPECT_FALSE(Read(invalid).ok()) << invalid;
  }
}

// What is wrong with the text, by what is said of it.
std::string Refusal(const std::string& text) {
  const absl::StatusOr<Duration> read = Read(text);
  return std::string(read.status().message());
}

TEST(Duration, SaysWhatIsWrong) {
  EXPECT_EQ(Refusal("90"), R"("90" has no unit: 90s?)");
  EXPECT_EQ(Refusal("1.5"), R"("1.5" has no unit: 1.5s?)");
  EXPECT_EQ(Refusal("00"), R"("00" has no unit: 00s?)");
  EXPECT_EQ(Refusal("1h30"), R"("1h30" ends in a number without a unit)");
  for (const char* text : {"30m1h", "1h1h", "1m1min", "1s 1d"}) {
    EXPECT_EQ(Refusal(text),
              '"' + std::string(text) +
                  "\" is out of order: larger units come first, and each once, as in "
                  "1h30m");
  }
  for (const char* text : {"1.5h30m", "0.0d1s"}) {
    EXPECT_THAT(Refusal(text), HasSubstr("only the last number may have a fraction"));
  }
  for (const char* text : {"P1Y", "P1M", "P2Y3M1D", "P1YT1H", "P0M"}) {
    EXPECT_EQ(Refusal(text), '"' + std::string(text) +
                                 "\" has years or months, which have no fixed length; give days, "
                                 "such as P30D (PT1M is a minute)");
  }
}

TEST(Duration, OverflowIsAnError) {
  for (const char* text : {"106751992d", "9223372036854775807us", "9223372036854775808us",
                           "99999999999999999999999999999999999999999999s", "106751991d5h",
                           "P106751992D", "15250284w4d"}) {
    EXPECT_THAT(std::string(Read(text).status().message()), HasSubstr("too long")) << text;
  }
  EXPECT_TRUE(Read("9223372036854775806us").ok());
}

TEST(Duration, PrintsTheShortestText) {
  EXPECT_EQ(FormatDuration(std::chrono::minutes(5)), "5m");
  EXPECT_EQ(FormatDuration(std::chrono::seconds(90)), "90s");
  EXPECT_EQ(FormatDuration(std::chrono::milliseconds(1500)), "1.5s");
  EXPECT_EQ(FormatDuration(std::chrono::hours(48)), "2d");
  EXPECT_EQ(FormatDuration(std::chrono::hours(36)), "36h");
  EXPECT_EQ(FormatDuration(Duration(1)), "1us");
  EXPECT_EQ(FormatDuration(Duration(0)), "0");
  EXPECT_EQ(FormatDuration(kForever), "inf");
}

TEST(Duration, PrintsWhatItReads) {
  for (int64_t micros = 1; micros < INT64_MAX / 7; micros = micros * 7 + 3) {
    const std::string text = FormatDuration(Duration(micros));
    ASSERT_TRUE(ParseDuration(text).ok()) << text;
    EXPECT_EQ(ParseDuration(text)->count(), micros) << text;
  }
}

// A duration as a list of whole numbers of units says it, in both notations.
TEST(Duration, AnyNumbersOfUnitsAddUp) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  static constexpr std::pair<const char*, int64_t> kUnits[] = {{"w", 604'800'000'000},
                                                               {"d", 86'400'000'000},
                                                               {"h", 3'600'000'000},
                                                               {"min", 60'000'000},
                                                               {"s", 1'000'000},
                                                               {"ms", 1'000},
                                                               {"us", 1}};
  for (int i = 0; i < 5'000; ++i) {
    std::string text;
    std::string iso = "P";
    int64_t micros = 0;
    for (const auto& [unit, of_unit] : kUnits) {
      const bool in_time = of_unit < 86'400'000'000;
      if (in_time && iso.find('T') == std::string::npos) iso += 'T';
      const auto number = static_cast<int64_t>(random() % 1'000);
      if (of_unit >= 1'000'000) {
        iso += std::to_string(number) + static_cast<char>(std::toupper(*unit));
      } else {
        iso.pop_back();  // the S
        iso += (of_unit == 1'000 ? "." : "") + std::to_string(1'000 + number).substr(1) + "S";
      }
      micros += number * of_unit;
      if (number == 0) continue;
      if (!text.empty() && random() % 2 == 0) text += ' ';
      text += std::to_string(number) + (random() % 2 == 0 ? " " : "") + unit;
    }
    for (const std::string& each : {text, iso}) {
      const absl::StatusOr<Duration> parsed = Read(each);
      ASSERT_TRUE(parsed.ok()) << parsed.status();
      ASSERT_EQ(parsed->count(), micros) << each;
    }
  }
}

}  // namespace
}  // namespace pleat
