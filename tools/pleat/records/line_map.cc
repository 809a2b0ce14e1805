#include "tools/pleat/records/line_map.h"

#include <algorithm>
#include <iterator>

namespace pleat::cli {

void LineMap::Add(uint64_t input_line, uint64_t lines) {
  const std::lock_guard lock(mutex_);
  const uint64_t first = added_ + 1;
  added_ += lines;
  const bool goes_on =
      !runs_.empty() && runs_.back().input_line + (first - runs_.back().json_line) == input_line;
  if (goes_on) return;
  runs_.push_back({first, input_line});
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

void LineMap::NoteDoubled(std::span<const DoubledName> names) {
  const std::lock_guard lock(mutex_);
  doubled_.assign(names.begin(), names.end());
}

std::vector<DoubledName> LineMap::doubled() {
  const std::lock_guard lock(mutex_);
  return doubled_;
}

}  // namespace pleat::cli
