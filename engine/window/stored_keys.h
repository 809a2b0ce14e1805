// StoredKeys writes and reads the keys of members, one by one: each as its differences from the one
// before it, which are small where members are in order.
#pragma once

#include <cstdint>

#include <pleat/stored.h>
#include <pleat/time.h>

#include "engine/window/member.h"
#include "engine/window/sequence_search.h"

namespace pleat::inline v0_1 {

class StoredKeys {
 public:
  // `before`: stands in for a key before the first. `positions`: all are below it.
  StoredKeys(const SequenceKey& before, uint64_t positions) noexcept
      : before_(before), positions_(positions) {}

  void Save(const SequenceKey& key, FieldWriter& out) {
    out(key.time - before_.time);
    out(static_cast<int64_t>(key.position - before_.position));
    before_ = key;
  }

  // A stamp between kBeginningOfTime and kEndOfTime, and a position; anything else fails.
  SequenceKey Load(FieldReader& in) {
    int64_t time = 0;
    int64_t position = 0;
    in(time, position);
    // Without a sign, because wrong bytes may say anything.
    const uint64_t sum = static_cast<uint64_t>(before_.time.time_since_epoch().count()) +
                         static_cast<uint64_t>(time);
    const SequenceKey key{EngineTime{Duration{static_cast<int64_t>(sum)}},
                          before_.position + static_cast<uint64_t>(position)};
    const bool fits =
        kBeginningOfTime <= key.time && key.time <= kEndOfTime && key.position < positions_;
    if (in.Expect(fits)) before_ = key;
    return before_;
  }

 private:
  SequenceKey before_;
  const uint64_t positions_;
};

}  // namespace pleat::inline v0_1
