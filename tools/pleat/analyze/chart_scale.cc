#include "tools/pleat/analyze/chart_scale.h"

#include <algorithm>
#include <cstddef>

#include "tools/pleat/analyze/what_if_curve.h"

namespace pleat::cli {
namespace {

constexpr size_t kFew = 4;  // with fewer marks a scale is hard to read

// Adds those of `candidates` that are on the scale and far enough from all marks so far.
template <class Candidates, class Mark>
void Place(const Candidates& candidates, const LogScale& scale, double share,
           std::vector<Mark>& marks) {
  for (const auto& candidate : candidates) {
    const double at = scale.Share(candidate);
    if (at < -1e-9 || at > 1 + 1e-9) continue;
    const bool crowded = std::ranges::any_of(
        marks, [&](const Mark& mark) { return std::abs(scale.Share(mark) - at) < share; });
    if (!crowded) marks.push_back(candidate);
  }
}

std::vector<double> Multiples(const LogScale& scale, double multiple) {
  std::vector<double> values;
  for (double power = std::floor(std::log10(scale.low())); power <= std::log10(scale.high());
       ++power)
    values.push_back(multiple * std::pow(10.0, power));
  return values;
}

}  // namespace

std::vector<Duration> DurationMarks(const LogScale& scale, double length, double spacing) {
  std::vector<Duration> marks;
  const double share = spacing / length;
  Place(KnownDurations(), scale, share, marks);
  if (marks.size() < kFew) Place(LesserKnownDurations(), scale, share, marks);
  const Duration ends[] = {Duration{std::llround(std::ceil(scale.low()))},
                           Duration{std::llround(std::floor(scale.high()))}};
  if (marks.size() < 2) Place(ends, scale, share, marks);
  std::ranges::sort(marks);
  return marks;
}

std::vector<double> CountMarks(const LogScale& scale, double length, double spacing) {
  std::vector<double> marks;
  const double share = spacing / length;
  Place(Multiples(scale, 1), scale, share, marks);
  if (marks.size() < kFew) {
    Place(Multiples(scale, 5), scale, share, marks);
    Place(Multiples(scale, 2), scale, share, marks);
  }
  std::ranges::sort(marks);
  return marks;
}

double RoundDown125(double value) {
  const double power = std::pow(10.0, std::floor(std::log10(value)));
  return value >= 5 * power ? 5 * power : value >= 2 * power ? 2 * power : power;
}

double RoundUp125(double value) {
  const double down = RoundDown125(value);
  if (down >= value) return down;
  const double power = std::pow(10.0, std::floor(std::log10(value)));
  return down >= 5 * power ? 10 * power : down >= 2 * power ? 5 * power : 2 * power;
}

}  // namespace pleat::cli
