// A Budget says how much more a visit by time may do: a number of entries to look at, and no more
// as soon as somebody waits for the lock. Example: a million members end at one instant; a read that
// comes meanwhile waits for one of them, not for all, nor for a thousand.
//
// A few entries are looked at in any case. So a visit gets on also where somebody always waits.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/base/check.h"
#include "engine/base/lock.h"

namespace pleat::inline v0_1 {

class Budget {
 public:
  static constexpr size_t kAnyway = 4;  // looked at, whoever waits

  // Asks nobody.
  explicit Budget(size_t entries = SIZE_MAX) noexcept : left_(entries) {}
  // Asks who waits for `lock`, which the caller holds.
  Budget(size_t entries, const Lock& lock) noexcept
      : left_(entries), asks_from_(entries > kAnyway ? entries - kAnyway : 0), lock_(&lock) {}

  bool spent() const noexcept {
    return left_ <= asks_from_ && (left_ == 0 || lock_->waiting() > 0);
  }
  // Entries are looked at. REQUIRES: so many are left; whether anybody waits does not matter.
  void Take(size_t entries = 1) noexcept {
    PLEAT_DCHECK(left_ >= entries);
    left_ -= entries;
  }
  size_t left() const noexcept { return left_; }

 private:
  size_t left_;
  size_t asks_from_ = 0;  // the lock is asked about while no more than this is left
  const Lock* lock_ = nullptr;
};

}  // namespace pleat::inline v0_1
