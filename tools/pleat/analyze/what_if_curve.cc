#include "tools/pleat/analyze/what_if_curve.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "tools/pleat/quantity_text.h"

namespace pleat::cli {
namespace {

using namespace std::chrono_literals;

// Points over the whole range at most; and how far they are apart at least, in decades, so that
// there are a few durations of three digits for each to choose from.
constexpr double kStepsMax = 400;
constexpr double kStepMin = 0.01;

double Log(Duration d) { return std::log10(static_cast<double>(std::max<int64_t>(d.count(), 1))); }

// Of the durations whose log is within `reach` of `center`, one that people know, else the one
// that is said in the fewest characters. Only those of three digits: up to them gaps are counted
// exactly.
Duration Roundest(double center, double reach) {
  const auto near = [&](Duration d) { return std::abs(Log(d) - center) <= reach; };
  for (const std::span<const Duration> known : {KnownDurations(), LesserKnownDurations()}) {
    if (const auto found = std::ranges::find_if(known, near); found != known.end()) return *found;
  }
  const double unit = std::pow(10.0, std::max(0.0, std::floor(center) - 2));
  const auto rounded = [unit](double log) {
    return Duration{std::llround(std::round(std::pow(10.0, log) / unit) * unit)};
  };
  const auto length = [](Duration d) { return DurationText(d).size(); };
  Duration roundest = rounded(center);
  for (Duration d = rounded(center - reach); d <= rounded(center + reach);
       d += Duration{std::llround(unit)}) {
    if (near(d) && length(d) < length(roundest)) roundest = d;
  }
  return roundest;
}

double Interpolated(double a, double b, double share) { return a + share * (b - a); }

// Even on a log scale, also from and to 0.
double InterpolatedLog(double a, double b, double share) {
  return std::expm1(Interpolated(std::log1p(a), std::log1p(b), share));
}

Duration InterpolatedLog(Duration a, Duration b, double share) {
  const auto us = [](Duration d) { return static_cast<double>(d.count()); };
  return Duration{std::llround(InterpolatedLog(us(a), us(b), share))};
}

// The figures at `quiet`, which is between `a` and `b`.
WhatIfRow Between(const Analysis& analysis, const WhatIfRow& a, const WhatIfRow& b,
                  Duration quiet) {
  const double share =
      (Log(quiet) - Log(a.quiet_period)) / (Log(b.quiet_period) - Log(a.quiet_period));
  const auto events = static_cast<double>(analysis.events);
  WhatIfRow row;
  row.quiet_period = quiet;
  if (GapsTellRatio(analysis)) {
    // Never beyond the rows on either side: those also know of events out of order.
    const double ratio =
        analysis.gaps.CountBelow(static_cast<uint64_t>(quiet.count())) / std::max(events, 1.0);
    row.folding_ratio = std::clamp(ratio, std::min(a.folding_ratio, b.folding_ratio),
                                   std::max(a.folding_ratio, b.folding_ratio));
  } else {
    row.folding_ratio = Interpolated(a.folding_ratio, b.folding_ratio, share);
  }
  row.emissions = static_cast<uint64_t>(std::llround(events * (1 - row.folding_ratio)));
  const double seconds = static_cast<double>(analysis.span().count()) / 1e6;
  row.emissions_per_second = seconds > 0 ? static_cast<double>(row.emissions) / seconds : 0;
  const Duration least = std::min(quiet, analysis.max_wait);  // that any emission waits
  row.delay_p50 = std::max(least, InterpolatedLog(a.delay_p50, b.delay_p50, share));
  row.delay_p99 = std::max(least, InterpolatedLog(a.delay_p99, b.delay_p99, share));
  row.open_peak = static_cast<uint64_t>(std::llround(
      InterpolatedLog(static_cast<double>(a.open_peak), static_cast<double>(b.open_peak), share)));
  return row;
}

}  // namespace

std::vector<CurvePoint> CurveOf(const Analysis& analysis, size_t keep) {
  const std::vector<AnalysisRow>& rows = analysis.rows;
  std::vector<CurvePoint> points;
  if (rows.empty()) return points;
  const double low = Log(rows.front().quiet_period);
  const double decades = Log(rows.back().quiet_period) - low;
  const auto steps = static_cast<size_t>(std::clamp(decades / kStepMin, 1.0, kStepsMax));
  const double step = decades / static_cast<double>(steps);
  size_t next = 0;  // the first row that is not behind us
  for (size_t i = 0; i <= steps && next < rows.size(); ++i) {
    const double center = low + static_cast<double>(i) * step;
    const double end = center + step / 2;
    // Of several rows within one step, the one to keep, else the last, stands for them.
    size_t found = rows.size();
    for (; next < rows.size() && (i == steps || Log(rows[next].quiet_period) <= end); ++next) {
      if (found != keep) found = next;
    }
    if (found != rows.size()) {
      points.push_back({rows[found], found, true});
      continue;
    }
    const Duration quiet = Roundest(center, step / 2);
    const bool between = quiet > rows[next - 1].quiet_period && quiet < rows[next].quiet_period &&
                         quiet > points.back().figures.quiet_period;
    if (between)
      points.push_back({Between(analysis, rows[next - 1], rows[next], quiet), next - 1, false});
  }
  return points;
}

std::span<const Duration> KnownDurations() {
  static constexpr Duration kKnown[] = {1us,  10us, 100us, 1ms, 10ms, 100ms, 1s,   10s,
                                        1min, 5min, 1h,    6h,  24h,  168h,  720h, 8760h};
  return kKnown;
}

std::span<const Duration> LesserKnownDurations() {
  static constexpr Duration kKnown[] = {
      2us, 5us, 20us, 50us, 200us, 500us, 2ms,  5ms,   20ms,  50ms,  200ms, 500ms, 2s,    3s, 5s,
      15s, 20s, 30s,  45s,  90s,   2min,  3min, 10min, 15min, 20min, 30min, 45min, 90min, 2h, 3h,
      4h,  8h,  12h,  48h,  72h,   96h,   120h, 144h,  240h,  336h,  1440h, 2160h, 4320h};
  return kKnown;
}

}  // namespace pleat::cli
