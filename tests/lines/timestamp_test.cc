#include "engine/lines/time/timestamp.h"

#include <optional>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <pleat/json.h>

#include "tests/support/plain_time.h"

namespace pleat {
namespace {

// `text` read and printed again, or "invalid". The plain reader has to agree.
std::string Reprinted(std::string_view text) {
  EngineTime at;
  const bool good = ParseTimestamp(text, at);
  const std::optional<EngineTime> plain = ReadPlainTimestamp(std::string(text));
  EXPECT_EQ(plain, good ? std::optional(at) : std::nullopt) << text;
  return good ? FormatTimestamp(at) : "invalid";
}

TEST(Timestamp, ReadsEverySpellingOfRfc3339) {
  EXPECT_EQ(Reprinted("2015-09-12T00:47:35.776Z"), "2015-09-12T00:47:35.776000Z");
  EXPECT_EQ(Reprinted("2015-09-12t00:47:35z"), "2015-09-12T00:47:35.000000Z");
  EXPECT_EQ(Reprinted("2015-09-12 00:47:35Z"), "2015-09-12T00:47:35.000000Z");
  EXPECT_EQ(Reprinted("2015-09-12T00:47:35+00:00"), "2015-09-12T00:47:35.000000Z");
  EXPECT_EQ(Reprinted("2015-09-12T00:47:35-00:00"), "2015-09-12T00:47:35.000000Z");
  EXPECT_EQ(Reprinted("1969-12-31T23:59:59.999999Z"), "1969-12-31T23:59:59.999999Z");
}

TEST(Timestamp, CutsDigitsPastTheMicrosecond) {
  EXPECT_EQ(Reprinted("2015-09-12T00:00:00.1Z"), "2015-09-12T00:00:00.100000Z");
  EXPECT_EQ(Reprinted("2015-09-12T00:00:00.1234567Z"), "2015-09-12T00:00:00.123456Z");
  EXPECT_EQ(Reprinted("2015-09-12T00:00:00.999999999999999999999Z"), "2015-09-12T00:00:00.999999Z");
  EXPECT_EQ(Reprinted("1960-01-01T00:00:00.9999999Z"), "1960-01-01T00:00:00.999999Z");
}

TEST(Timestamp, AppliesOffsetsAcrossDaysAndYears) {
  EXPECT_EQ(Reprinted("2015-01-01T00:30:00+01:00"), "2014-12-31T23:30:00.000000Z");
  EXPECT_EQ(Reprinted("2015-12-31T23:30:00-01:00"), "2016-01-01T00:30:00.000000Z");
  EXPECT_EQ(Reprinted("2015-06-15T12:00:00+23:59"), "2015-06-14T12:01:00.000000Z");
  EXPECT_EQ(Reprinted("2016-02-28T23:00:00-02:00"), "2016-02-29T01:00:00.000000Z");
}

TEST(Timestamp, KnowsLeapYears) {
  for (const char* leap : {"2016-02-29", "2000-02-29", "2400-02-29", "0004-02-29"}) {
    EXPECT_NE(Reprinted(std::string(leap) + "T00:00:00Z"), "invalid") << leap;
  }
  for (const char* none : {"2015-02-29", "1900-02-29", "2100-02-29", "2016-02-30", "0001-02-29"}) {
    EXPECT_EQ(Reprinted(std::string(none) + "T00:00:00Z"), "invalid") << none;
  }
}

TEST(Timestamp, RefusesImpossibleDatesAndTimes) {
  for (const char* invalid :
       {"2015-00-01T00:00:00Z", "2015-13-01T00:00:00Z", "2015-01-00T00:00:00Z",
        "2015-01-32T00:00:00Z", "2015-04-31T00:00:00Z", "2015-01-01T24:00:00Z",
        "2015-01-01T00:60:00Z", "2015-01-01T00:00:60Z", "2016-12-31T23:59:60Z",
        "2015-01-01T00:00:00+24:00", "2015-01-01T00:00:00+00:60"}) {
    EXPECT_EQ(Reprinted(invalid), "invalid") << invalid;
  }
}

TEST(Timestamp, RefusesOtherForms) {
  for (const char* invalid : {"",
                              "Z",
                              "2015",
                              "2015-09-12",
                              "2015-09-12T00:47:35",
                              "2015-09-12T00:47Z",
                              "2015-09-12T00:47:35.Z",
                              "2015-09-12T00:47:35.1",
                              "2015-09-12T00:47:35,1Z",
                              "2015-09-12T00:47:35 Z",
                              " 2015-09-12T00:47:35Z",
                              "2015-09-12T00:47:35Z ",
                              "2015-09-12_00:47:35Z",
                              "2015-09-12  00:47:35Z",
                              "2015-9-12T00:47:35Z",
                              "15-09-12T00:47:35Z",
                              "+2015-09-12T00:47:35Z",
                              "-2015-09-12T00:47:35Z",
                              "20150912T004735Z",
                              "2015-09-12T00:47:35+0000",
                              "2015-09-12T00:47:35+00",
                              "2015-09-12T00:47:35+0:00",
                              "2015-09-12T00:47:35GMT",
                              "2015-09-12T00:47:35ZZ",
                              "2015/09/12T00:47:35Z",
                              "2015-W37-6T00:00:00Z",
                              "12015-09-12T00:47:35Z",
                              "2015-09-12T-1:47:35Z",
                              "2015-09-12T0x:47:35Z"}) {
    EXPECT_EQ(Reprinted(invalid), "invalid") << invalid;
  }
  EXPECT_EQ(Reprinted(std::string("2015-09-12T00:47:35Z\0", 21)), "invalid");
}

TEST(Timestamp, KeepsToTheYears0001To9999) {
  EXPECT_EQ(Reprinted("0001-01-01T00:00:00Z"), "0001-01-01T00:00:00.000000Z");
  EXPECT_EQ(Reprinted("9999-12-31T23:59:59.999999Z"), "9999-12-31T23:59:59.999999Z");
  EXPECT_EQ(Reprinted("0001-01-01T00:00:00+00:01"), "invalid");
  EXPECT_EQ(Reprinted("9999-12-31T23:59:59-00:01"), "invalid");
  EXPECT_EQ(Reprinted("0000-06-01T00:00:00Z"), "invalid");
  EXPECT_EQ(FormatTimestamp(kBeginningOfTime), "0001-01-01T00:00:00.000000Z");
  EXPECT_EQ(FormatTimestamp(kEndOfTime), "9999-12-31T23:59:59.999999Z");
  EXPECT_EQ(FormatTimestamp(EngineTime::max()), "9999-12-31T23:59:59.999999Z");
}

TEST(Timestamp, PrintsAndReadsEveryDayTheSame) {
  for (EngineTime at = kBeginningOfTime; at < kEndOfTime - std::chrono::days(37);
       at += std::chrono::days(37) + std::chrono::microseconds(12'345'678'901)) {
    EngineTime again;
    ASSERT_TRUE(ParseTimestamp(FormatTimestamp(at), again)) << FormatTimestamp(at);
    ASSERT_EQ(at, again) << FormatTimestamp(at);
  }
}

TEST(Timestamp, ReadersAndWritersRememberNothingThatShows) {
  TimestampReader reader;
  TimestampWriter writer;
  std::mt19937_64 random(1);
  EngineTime at = FromUnix(std::chrono::seconds(1'442'000'000));
  for (int i = 0; i < 20'000; ++i) {
    static constexpr int64_t kSteps[] = {1, 1'000'000, 60'000'000, 86'400'000'000,
                                         40'000'000'000'000};
    const int64_t step = kSteps[random() % std::size(kSteps)] * static_cast<int64_t>(random() % 5);
    at = Clamp(at + Duration(random() % 2 == 0 ? step : -step));
    char text[kTimestampBytes];
    writer.Write(at, text);
    const std::string expected = FormatTimestamp(at);
    ASSERT_EQ(std::string_view(text, kTimestampBytes), expected);
    EngineTime read;
    ASSERT_TRUE(reader.Read(expected, read));
    ASSERT_EQ(read, at);
    std::string wrong = expected;
    wrong[random() % 20] = "x9:-\0"[random() % 5];
    EngineTime other;
    ASSERT_EQ(reader.Read(wrong, read), ParseTimestamp(wrong, other)) << wrong;
  }
  EXPECT_FALSE(TimestampReader().Read(std::string(10, '\0') + "T00:00:00Z", at));
}

}  // namespace
}  // namespace pleat
