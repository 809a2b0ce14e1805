// Latest keeps the latest time and position that a book was told of. Neither goes back: batches
// that overlap each carry their own, and a call with an earlier one counts as a call at the latest.
#pragma once

#include <algorithm>
#include <cstdint>

#include <pleat/stored.h>
#include <pleat/time.h>

#include "engine/base/read_fields.h"

namespace pleat::inline v0_1 {

class Latest {
 public:
  EngineTime now() const noexcept { return now_; }
  // The time of a call that says `now`.
  EngineTime TimeOf(EngineTime now) const noexcept { return std::max(now, now_); }
  EngineTime Reach(EngineTime now) noexcept { return now_ = TimeOf(now); }

  // The position of an operation that has drawn `position`. A batch draws its positions before
  // others that come under the lock earlier, and events of a key must come out in the order in
  // which they came.
  uint64_t NextPosition(uint64_t position) noexcept {
    return position_ = std::max(position_ + 1, position);
  }
  // Whether an operation so far can have had this position.
  bool HasReached(uint64_t position) const noexcept { return position < position_ + 1; }

  void Save(FieldWriter& out) const { out(now_, position_ + 1); }
  void Load(FieldReader& in) {
    now_ = ReadTime(in);
    position_ = in.Number() - 1;
  }

 private:
  EngineTime now_ = kBeginningOfTime;
  uint64_t position_ = UINT64_MAX;  // before the first
};

}  // namespace pleat::inline v0_1
