#include <optional>
#include <string>
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
  for (const char* bad :
       {"",     "5",    "5x",   "s",     "-5s",  "+5s", "5 s", " 5s",   "5s ",
        "5S",   "5min", "5sec", "1h30m", "1:30", "5.s", ".5s", "5..1s", "5e3s",
        "inf ", "Inf",  "infs", "-inf",  "nan",  "00",  "0.0", "1,5s",  "5\xc2\xb5s"}) {
    EXPECT_FALSE(Read(bad).ok()) << bad;
  }
  EXPECT_EQ(ParseDuration("5x").status().message(),
            R"("5x" is not a duration (a number and one of us, ms, s, m, h, d; or inf))");
}

TEST(Duration, OverflowIsAnError) {
  for (const char* text : {"106751992d", "9223372036854775807us", "9223372036854775808us",
                           "99999999999999999999999999999999999999999999s"}) {
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

}  // namespace
}  // namespace pleat
