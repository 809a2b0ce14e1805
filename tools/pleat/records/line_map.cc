#include "tools/pleat/records/line_map.h"

#include <algorithm>
#include <iterator>

namespace pleat::cli {

void LineMap::Add(uint64_t input_line) {
  const std::lock_guard lock(mutex_);
  ++added_;
  const bool goes_on =
      !runs_.empty() && runs_.back().input_line + (added_ - runs_.back().json_line) == input_line;
  if (goes_on) return;
  runs_.push_back({added_, input_line});
  Forget();
}

uint64_t LineMap::InputLineOf(uint64_t json_line) {
  const std::lock_guard lock(mutex_);
  const auto behind = std::ranges::upper_bound(runs_, json_line, {}, &Run::json_line);
  if (behind == runs_.begin()) return json_line;
  const Run& run = *std::prev(behind);
  return run.input_line + (json_line - run.json_line);
}

void LineMap::ForgetBefore(uint64_t json_line) {
  const std::lock_guard lock(mutex_);
  needed_from_ = json_line;
  Forget();
}

void LineMap::Forget() {
  while (runs_.size() > 1 && runs_[1].json_line <= needed_from_) runs_.pop_front();
}

}  // namespace pleat::cli
