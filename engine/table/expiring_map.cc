#include "engine/table/expiring_map.h"

#include <algorithm>

namespace pleat::inline v0_1 {
namespace {

// It lives at `expires` still.
EngineTime DueOf(EngineTime expires) noexcept { return expires + Duration{1}; }

}  // namespace

Deadlines::Answer ExpiringMap::Asker::operator()(uint32_t number) const noexcept {
  const Entry& entry = map.At(number);
  if (entry.known.expires != kForgotten) {
    return {.live = true, .due = DueOf(entry.known.expires), .order = 0};
  }
  map.entries_.Free(number);
  return {.live = false, .due = {}, .order = 0};
}

void ExpiringMap::EraseFromIndex(uint32_t number) {
  index_.Erase(static_cast<uint32_t>(At(number).name.low), number,
               [this](uint32_t n) { return static_cast<uint32_t>(At(n).name.low); });
}

// What is there already may have been meant to live longer, so it is not changed in place: a deadline
// must not move earlier.
void ExpiringMap::Put(const Name& name, uint64_t word, EngineTime expires) {
  Erase(name);
  const uint32_t number = entries_.Allocate();
  At(number) = {name, {word, expires}};
  index_.Insert(name.low, number,
                [this](uint32_t n) { return static_cast<uint32_t>(At(n).name.low); });
  deadlines_.Arm(number, DueOf(expires), 0);
  last_expiry_ = std::max(last_expiry_, DueOf(expires));
}

void ExpiringMap::Erase(const Name& name) {
  const uint32_t number = NumberOf(name);
  if (number == KeyIndex::kNone) return;
  EraseFromIndex(number);
  At(number).known.expires = kForgotten;
  ++version_;
  deadlines_.NoteStale(Asker{*this});
}

bool ExpiringMap::Expire(EngineTime now, size_t& budget) {
  for (;;) {
    Due due;
    switch (deadlines_.Next(now, budget, Asker{*this}, due)) {
      case Deadlines::Found::kNothing: return true;
      case Deadlines::Found::kOutOfBudget: return false;
      case Deadlines::Found::kDue: break;
    }
    EraseFromIndex(due.number);
    entries_.Free(due.number);
  }
}

}  // namespace pleat::inline v0_1
