// StoredKeys writes and reads the keys of members, each as its differences from the time and the
// positions of the book at the cut. These are the same for all members, which are written in any
// order.
#pragma once

#include <cstdint>

#include <pleat/stored.h>
#include <pleat/time.h>

#include "engine/live/member.h"
#include "engine/live/sequence_search.h"

namespace pleat::inline v0_1 {

class StoredKeys {
 public:
  // `seen`: the time of the book. `positions`: all positions are below it.
  StoredKeys(EngineTime seen, uint64_t positions) noexcept : seen_(seen), positions_(positions) {}

  void SaveTime(EngineTime time, FieldWriter& out) const { out(seen_ - time); }
  void Save(const SequenceKey& key, FieldWriter& out) const {
    SaveTime(key.time, out);
    out.PutNumber(positions_ - key.position);
  }

  // A time between kBeginningOfTime and kEndOfTime; anything else fails.
  EngineTime LoadTime(FieldReader& in) const {
    int64_t before = 0;
    in(before);
    // Without a sign, because wrong bytes may say anything.
    const uint64_t difference =
        static_cast<uint64_t>(seen_.time_since_epoch().count()) - static_cast<uint64_t>(before);
    const EngineTime time{Duration{static_cast<int64_t>(difference)}};
    return in.Expect(kBeginningOfTime <= time && time <= kEndOfTime) ? time : kBeginningOfTime;
  }
  // Such a time, and a position below `positions`.
  SequenceKey Load(FieldReader& in) const {
    const EngineTime time = LoadTime(in);
    const uint64_t before = in.Number();
    const bool fits = 1 <= before && before <= positions_;
    return {time, in.Expect(fits) ? positions_ - before : 0};
  }

 private:
  EngineTime seen_;
  uint64_t positions_;
};

}  // namespace pleat::inline v0_1
