// Answers for another quiet period: exact where the histogram of gaps has them, estimates
// elsewhere.
//
// Let q be the quiet period. The events with a gap of q or more open groups, so these, and the
// ratio, are exact. So is the mean time of a group from its opening to its last event: all gaps
// shorter than q, over the number of groups. How that time is spread over the groups the histogram
// does not say; were the gaps in no order, a group would be a geometric number of them, and have
// none with the probability 1 - ratio. Groups that were measured are burstier than that, as much as
// their keys differ. So
//
//   - of groups with a single event the odds are taken to be off by the same factor as at the quiet period in use,
//   - the others are taken to be spread as they were there, stretched to the mean that is known.
//
// A max wait h cuts a group that lasts longer: each h, and then the wait until the next event opens
// a group again. Gaps of h or more never fold.
//
// A group is open as long as its delay, so that delays per second are the mean number of open
// groups (Little's law). How many are open at a time then swings about x, that mean at the busiest
// time, as a Poisson variable does, with a peak of x + z sqrt(x), z = sqrt(2 ln n), in n
// independent looks, one each quiet period. The peak at the quiet period in use gives x there, and
// x rises and falls with the mean.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include <pleat/stats.h>

#include "engine/base/check.h"

namespace pleat::inline v0_1 {
namespace {

// The events whose gap is shorter than a quiet period.
struct Folding {
  Folding(const GapHistogram& gaps, Duration quiet)
      : events(gaps.CountBelow(static_cast<uint64_t>(quiet.count()))) {
    const auto end = static_cast<double>(quiet.count());
    gaps.ForEachBucket([&](const GapHistogram::Bucket& bucket) {
      const auto lowest = static_cast<double>(bucket.lowest);
      const double highest = std::min(static_cast<double>(bucket.highest), end - 1);
      if (lowest >= end) return;
      const double width = static_cast<double>(bucket.highest - bucket.lowest) + 1;
      const double count = static_cast<double>(bucket.count) * (highest - lowest + 1) / width;
      const double middle = (lowest + highest) / 2;
      time += count * middle;
      squares += count * middle * middle;
    });
  }
  // From an instant within a gap to its end, on average.
  double residual() const { return time > 0 ? squares / time / 2 : 0; }

  double events;
  double time = 0;  // the sum of their gaps, in microseconds
  double squares = 0;
};

// So many groups, or pieces of one, that are open for so long.
struct Delays {
  double delay;
  double count;
};

// The estimates. All times in microseconds.
class Model {
 public:
  Model(const GapStats& stats, Duration quiet, Duration max_wait)
      : stats_(stats),
        quiet_(static_cast<double>(quiet.count())),
        max_wait_(max_wait == kForever ? INFINITY : static_cast<double>(max_wait.count())),
        span_(std::max(1.0, static_cast<double>((stats.last - stats.first).count()))),
        folding_(stats.gaps, std::min(quiet, max_wait)),
        groups_(std::max(1.0, static_cast<double>(stats.events) - folding_.events)) {
    const double singles = SingleShare();
    Add(0, groups_ * singles);
    // Of groups that lasted, the spread as measured, stretched to the mean that is known.
    double count = 0;
    double time = 0;
    stats.spans.ForEachBucket([&](const Histogram::Bucket& bucket) {
      if (bucket.lowest == 0) return;
      count += static_cast<double>(bucket.count);
      time += static_cast<double>(bucket.count) * MiddleOf(bucket);
    });
    const double lasting = groups_ * (1 - singles);
    if (count == 0) {
      Add(folding_.time / std::max(1.0, lasting), lasting);
      return;
    }
    const double stretch = folding_.time / std::max(1.0, lasting) / (time / count);
    stats.spans.ForEachBucket([&](const Histogram::Bucket& bucket) {
      if (bucket.lowest == 0) return;
      Add(std::min(MiddleOf(bucket) * stretch, span_),
          static_cast<double>(bucket.count) * lasting / count);
    });
  }

  double emissions() const { return groups_ + cut_; }

  // Of all groups, in microseconds.
  double open_time() const {
    double sum = 0;
    for (const Delays& each : delays_) sum += each.delay * each.count;
    // The last group of a key may still be open when the stream ends, here as likely at any instant
    // of that time.
    const double left = std::min(quiet_, span_);
    const double beyond = quiet_ - (left - left * left / span_ / 2);
    const double keys =
        static_cast<double>(stats_.events - std::min(stats_.events, stats_.gaps.count()));
    return std::max(0.0, sum - keys * beyond);
  }

  // How many standard deviations a peak is above the mean.
  double z() const {
    return std::sqrt(2 * std::log(std::max(M_E, span_ / std::min(quiet_, max_wait_))));
  }

  Duration DelayAt(double quantile) {
    std::ranges::sort(delays_, {}, &Delays::delay);
    double left = quantile * emissions();
    for (const Delays& each : delays_) {
      left -= each.count;
      if (left <= 0) return Whole(each.delay);
    }
    return delays_.empty() ? Duration{0} : Whole(delays_.back().delay);
  }

 private:
  static Duration Whole(double microseconds) {
    const auto most = static_cast<double>(kForever.count());
    return microseconds < most ? Duration(std::llround(microseconds)) : kForever;
  }
  static double MiddleOf(const Histogram::Bucket& bucket) {
    return static_cast<double>(bucket.lowest) / 2 + static_cast<double>(bucket.highest) / 2;
  }

  // Of the groups, those that last no time.
  double SingleShare() const {
    const auto all = static_cast<double>(stats_.events);
    const double share = all > 0 ? 1 - folding_.events / all : 1;
    if (folding_.time <= 0) return 1;
    const Folding used(stats_.gaps, std::max(stats_.quiet_period, Duration{1}));
    const double used_share = all > 0 ? 1 - used.events / all : 1;
    const auto closed = static_cast<double>(stats_.spans.count());
    const double measured = closed > 0 ? stats_.spans.CountBelow(1) / closed : used_share;
    const auto odds = [](double p) { return p / (1 - p); };
    const auto sane = [](double p) { return std::clamp(p, 1e-9, 1 - 1e-9); };
    const double scaled = odds(sane(share)) * odds(sane(measured)) / odds(sane(used_share));
    return scaled / (1 + scaled);
  }

  // Groups that would last for `span`, if nothing cut them.
  void Add(double span, double count) {
    double pieces = 0;
    if (span >= max_wait_) {
      const double each = max_wait_ + folding_.residual();
      pieces = std::floor(span / each);
      span -= pieces * each;
      delays_.push_back({max_wait_, count * pieces});
      cut_ += count * pieces;
    }
    delays_.push_back({std::min(span + quiet_, max_wait_), count});
  }

  const GapStats& stats_;
  const double quiet_;
  const double max_wait_;
  const double span_;
  const Folding folding_;
  const double groups_;  // if nothing cuts them
  double cut_ = 0;       // how many come on top
  std::vector<Delays> delays_;
};

}  // namespace

WhatIfRow GapStats::WhatIf(Duration quiet, Duration hold) const {
  PLEAT_CHECK(quiet > Duration::zero() && hold > Duration::zero());
  WhatIfRow row{.quiet_period = quiet};
  if (events == 0) return row;
  const auto all = static_cast<double>(events);
  Model model(*this, quiet, hold);
  const double emitted = std::min(model.emissions(), all);
  row.folding_ratio = 1 - emitted / all;
  row.emissions = static_cast<uint64_t>(std::llround(emitted));
  if (last > first) {
    row.emissions_per_second = emitted / std::chrono::duration<double>(last - first).count();
  }
  row.delay_p50 = model.DelayAt(0.5);
  row.delay_p99 = model.DelayAt(0.99);

  const Model used(*this, std::max(quiet_period, Duration{1}), max_wait);
  const double root =
      (std::sqrt(used.z() * used.z() + 4 * static_cast<double>(open_peak)) - used.z()) / 2;
  const double busy = root * root * model.open_time() / std::max(1.0, used.open_time());
  const double peak = busy + model.z() * std::sqrt(busy);
  const uint64_t keys_max = known_to == kForever ? events - std::min(events, gaps.count()) : events;
  row.open_peak = std::clamp<uint64_t>(static_cast<uint64_t>(std::llround(peak)), 1,
                                       std::max<uint64_t>(keys_max, 1));
  return row;
}

GapStats& GapStats::operator+=(const GapStats& other) {
  if (events == 0) quiet_period = other.quiet_period, max_wait = other.max_wait;
  gaps += other.gaps;
  events += other.events;
  known_to = std::min(known_to, other.known_to);
  first = std::min(first, other.first);
  last = std::max(last, other.last);
  spans += other.spans;
  fold_sizes += other.fold_sizes;
  open_peak += other.open_peak;
  return *this;
}

}  // namespace pleat::inline v0_1
