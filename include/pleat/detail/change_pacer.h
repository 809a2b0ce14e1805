// ChangePacer: passes changes on up to a rate, and above it counts. An implementation detail of
// asio_watcher.h; docs/semantics-live-sets.md has the rule.
//
// The pacer sees the order of the changes and their instants, nothing else: what comes out, and in
// which order, depends on neither clocks nor on how many changes are added at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <pleat/change.h>
#include <pleat/detail/export.h>
#include <pleat/time.h>

namespace pleat::inline v0_1 {

// `Change` derives from ChangeInfo and has a `series`.
template <class Change>
class ChangePacer {
 public:
  // Passes on `max` changes of each interval. REQUIRES: the interval is above zero.
  ChangePacer(size_t max, Duration interval) : max_(max), interval_(interval) {}

  // Changes come in their order.
  void Add(Change&& change) {
    if (change.at >= end_) {
      TellCounts();
      end_ = EndOfInterval(change.at);
      passed_ = 0;
    }
    if (passed_ < max_) {
      ++passed_;
      ready_.push_back(std::move(change));
    } else {
      Hold(std::move(change));
    }
  }

  // The end of the interval whose counts are held; kNever: none are.
  EngineTime counts_due() const noexcept { return held_.empty() ? kNever : end_; }

  // Passes on the counts that are held.
  void TellCounts() {
    std::vector<Held> counts;
    for (auto& [series, held] : held_) counts.push_back(std::move(held));
    held_.clear();
    std::sort(counts.begin(), counts.end(),
              [](const Held& a, const Held& b) { return a.order < b.order; });
    for (Held& held : counts) ready_.push_back(std::move(held.count));
  }

  size_t ready() const noexcept { return ready_.size(); }
  Change Take() {
    Change change = std::move(ready_.front());
    ready_.pop_front();
    return change;
  }

  // Forgets all changes.
  void Clear() {
    held_.clear();
    ready_.clear();
  }

 private:
  struct Held {
    Change count;
    uint64_t order;  // of the latest change
  };

  void Hold(Change&& change) {
    Change count{};
    static_cast<ChangeInfo&>(count) = {.change = change.change,
                                       .cause = Cause::kCounted,
                                       .at = change.at,
                                       .count = change.count,
                                       .away = change.away,
                                       .stamp = {},
                                       .deadline = kNever};
    count.series = change.series;
    held_.insert_or_assign(std::move(change.series), Held{std::move(count), order_++});
  }

  EngineTime EndOfInterval(EngineTime at) const noexcept {
    const Duration past = at.time_since_epoch() % interval_;
    return SaturatingAdd(at, past < Duration::zero() ? -past : interval_ - past);
  }

  const size_t max_;
  const Duration interval_;
  EngineTime end_ = kBeginningOfTime;  // of the interval of the latest change
  size_t passed_ = 0;                  // changes of that interval
  uint64_t order_ = 0;
  std::unordered_map<std::string, Held> held_;  // by series
  std::deque<Change> ready_;
};

}  // namespace pleat::inline v0_1
