// What is printed for people can be given back as an option.
#include "tools/pleat/quantity_text.h"

#include <cmath>
#include <cstdint>
#include <iterator>
#include <random>
#include <string>

#include <gtest/gtest.h>
#include <pleat/json_lines.h>

namespace pleat::cli {
namespace {

// A duration of any magnitude, round ones included.
Duration AnyDuration(std::mt19937_64& random) {
  static constexpr int64_t kRound[] = {1,          1'000,         1'000'000,
                                       60'000'000, 3'600'000'000, 86'400'000'000};
  const auto any = static_cast<int64_t>(random() >> (1 + random() % 63));
  const int64_t unit = kRound[random() % std::size(kRound)];
  return Duration{any / unit * (random() % 2 == 0 ? unit : 1)};
}

TEST(QuantityText, EveryExactDurationIsReadBackAsItself) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int i = 0; i < 100'000; ++i) {
    const Duration duration = AnyDuration(random);
    for (const std::string& text : {DurationText(duration), FormatDuration(duration)}) {
      const absl::StatusOr<Duration> read = ParseDuration(text);
      ASSERT_TRUE(read.ok()) << read.status();
      ASSERT_EQ(*read, duration) << text;
    }
  }
  EXPECT_EQ(*ParseDuration(DurationText(kForever)), kForever);
  EXPECT_EQ(*ParseDuration(DurationText(Duration{0})), Duration{0});
}

TEST(QuantityText, EveryRoundedDurationIsReadAsTheNumberItShows) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int i = 0; i < 100'000; ++i) {
    const Duration duration = AnyDuration(random);
    const std::string text = RoundedDuration(duration);
    const absl::StatusOr<Duration> read = ParseDuration(text);
    ASSERT_TRUE(read.ok()) << read.status();
    // Three digits at least, and no less than a microsecond.
    const double off = static_cast<double>((*read - duration).count());
    ASSERT_LE(std::abs(off), 1 + 0.006 * static_cast<double>(duration.count())) << text;
  }
}

}  // namespace
}  // namespace pleat::cli
