#include "engine/fold/ghosts.h"

#include <algorithm>

namespace pleat::inline v0_1 {

void Ghosts::Put(uint64_t hash, EngineTime last, EngineTime now) {
  if (max_ == 0) return NoteForgotten(last, now);
  if (const uint32_t before = Find(hash); before != kNone) Erase(before);
  if (size() == max_) ForgetOldest(now);
  const uint32_t number = entries_.Allocate();
  At(number) = {.hash = hash, .last = last, .older = newest_, .newer = kNone};
  NewerThan(newest_) = number;
  newest_ = number;
  index_.Insert(hash, number, [this](uint32_t n) { return static_cast<uint32_t>(At(n).hash); });
}

std::optional<EngineTime> Ghosts::Take(uint64_t hash) {
  const uint32_t number = Find(hash);
  if (number == kNone) return std::nullopt;
  const EngineTime last = At(number).last;
  Erase(number);
  return last;
}

void Ghosts::SetMax(size_t max, EngineTime now) {
  max_ = max;
  while (size() > max_) ForgetOldest(now);
}

void Ghosts::ForgetOldest(EngineTime now) {
  NoteForgotten(At(oldest_).last, now);
  Erase(oldest_);
}

void Ghosts::NoteForgotten(EngineTime stamp, EngineTime now) noexcept {
  known_to_ = std::clamp(now - stamp, Duration::zero(), known_to_);
}

void Ghosts::Erase(uint32_t number) {
  const Entry& entry = At(number);
  NewerThan(entry.older) = entry.newer;
  OlderThan(entry.newer) = entry.older;
  index_.Erase(static_cast<uint32_t>(entry.hash), number);
  entries_.Free(number);
}

}  // namespace pleat::inline v0_1
