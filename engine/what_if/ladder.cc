#include "engine/what_if/ladder.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include <pleat/analysis.h>

namespace pleat::inline v0_1 {
namespace {

using std::chrono::days;
using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr auto kLadder = std::to_array<Duration>({
    microseconds(1),
    microseconds(2),
    microseconds(5),
    microseconds(10),
    microseconds(20),
    microseconds(50),
    microseconds(100),
    microseconds(200),
    microseconds(500),
    milliseconds(1),
    microseconds(1500),
    milliseconds(2),
    milliseconds(3),
    milliseconds(5),
    milliseconds(7),
    milliseconds(10),
    milliseconds(15),
    milliseconds(20),
    milliseconds(30),
    milliseconds(50),
    milliseconds(70),
    milliseconds(100),
    milliseconds(150),
    milliseconds(200),
    milliseconds(300),
    milliseconds(500),
    milliseconds(700),
    seconds(1),
    milliseconds(1500),
    seconds(2),
    seconds(3),
    seconds(5),
    seconds(7),
    seconds(10),
    seconds(15),
    seconds(20),
    seconds(30),
    seconds(45),
    minutes(1),
    seconds(90),
    minutes(2),
    minutes(3),
    minutes(5),
    minutes(7),
    minutes(10),
    minutes(15),
    minutes(20),
    minutes(30),
    minutes(45),
    hours(1),
    minutes(90),
    hours(2),
    hours(3),
    hours(5),
    hours(7),
    hours(12),
    hours(18),
    days(1),
    hours(36),
    days(2),
    days(3),
    days(5),
    days(7),
    days(10),
    days(15),
    days(20),
    days(30),
    days(50),
    days(70),
    days(100),
});
static_assert(std::ranges::is_sorted(kLadder) && kLadder.size() <= kGridPointsMax);

Duration ToDuration(uint64_t us) {
  return Duration{static_cast<int64_t>(std::min<uint64_t>(us, INT64_MAX))};
}

}  // namespace

std::span<const Duration> QuietLadder() noexcept { return kLadder; }

std::vector<size_t> RungsFor(std::span<const Duration> ladder, const GapHistogram& gaps,
                             Duration span) {
  constexpr double kFewShortest = 0.005;
  const auto count = static_cast<double>(gaps.count());
  const double none = count == 0 ? 0 : gaps.CountBelow(1) / count;  // of events at the same instant
  const bool any = gaps.count() > 0;
  const Duration shortest = any ? ToDuration(gaps.ValueAt(none + (1 - none) * kFewShortest)) : span;
  const Duration longest = any ? ToDuration(gaps.max()) : span;
  const auto index_of = [&](auto at) { return static_cast<size_t>(at - ladder.begin()); };
  size_t begin = index_of(std::ranges::lower_bound(ladder, std::max(shortest, Duration{1})));
  size_t end = index_of(std::ranges::upper_bound(ladder, longest)) + 1;
  end = std::min(end, ladder.size());
  begin = std::min(begin, end - 1);
  while (end - begin < kGridPointsUsual && end - begin < ladder.size()) {
    if (end < ladder.size()) ++end;
    if (end - begin < kGridPointsUsual && begin > 0) --begin;
  }

  const size_t points = std::min(kGridPointsUsual, end - begin);
  std::vector<size_t> rungs;
  rungs.reserve(points);
  for (size_t i = 0; i < points; ++i)
    rungs.push_back(begin + (i * (end - begin - 1) + (points - 1) / 2) / (points - 1));
  return rungs;
}

}  // namespace pleat::inline v0_1
