// Lines that wait for their turn, for the models of lines: all of them in one sorted map. Written
// from docs/semantics.md, "Lines out of order".
//
// Not modelled: --idle, the limit on memory.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <pleat/time.h>

namespace pleat::inline v0_1 {

template <class Line>
class PlainReorder {
 public:
  PlainReorder(Duration bound, Duration future_limit)
      : bound_(bound), future_limit_(future_limit) {}

  bool IsTooFarAhead(EngineTime at) const { return newest_ && at - *newest_ > future_limit_; }

  // The lines that are taken now that this one has come, in order. After them time moves to
  // watermark().
  std::vector<Line> Arrive(EngineTime at, Line line) {
    newest_ = newest_ ? std::max(*newest_, at) : at;
    watermark_ = std::max(watermark_, SaturatingSub(*newest_, bound_));
    if (at < watermark_) return {std::move(line)};
    waiting_.emplace(at, std::move(line));
    return TakeDue();
  }
  // The same at the end of the input.
  std::vector<Line> End() {
    watermark_ = newest_.value_or(watermark_);
    return TakeDue();
  }

  EngineTime watermark() const { return watermark_; }

 private:
  std::vector<Line> TakeDue() {
    std::vector<Line> due;
    while (!waiting_.empty() && waiting_.begin()->first <= watermark_) {
      due.push_back(std::move(waiting_.begin()->second));
      waiting_.erase(waiting_.begin());
    }
    return due;
  }

  const Duration bound_;
  const Duration future_limit_;
  std::optional<EngineTime> newest_;
  EngineTime watermark_ = kBeginningOfTime;
  std::multimap<EngineTime, Line> waiting_;  // of equal stamps in the order of arrival
};

}  // namespace pleat::inline v0_1
