// The parts of an entry of a GroupTable: one group, or a copy of a group that is handed out by itself
// (a *cut*). There are up to three, so that a fold touches as few cache lines as it can:
//
//   Group   48 bytes: read or written by every fold
//   Extra   32 bytes: only in folders with marks, edges, partials, corrections or learning, and 8 more
//           for the closing time in folders that give one
//   state   the user's, in the same line if it is small
//   Cold    12 bytes, in an array beside: for opening and closing only
#pragma once

#include <cstdint>

#include <pleat/time.h>

#include "engine/fold/quiet_learner.h"
#include "engine/table/key_index.h"
#include "engine/table/packed_key.h"

namespace pleat::inline v0_1 {

struct GroupEntry {
  static constexpr uint64_t kNothing = UINT64_MAX;
  static constexpr uint32_t kNone = KeyIndex::kNone;

  struct Group {
    uint32_t hash;   // the low half of the keyed hash
    uint32_t count;  // the low half of the number of events
    PackedKey key;
    EngineTime last;    // the latest stamp
    EngineTime opened;  // the stamp of the event that opened it
  };
  static_assert(sizeof(Group) == 48);

  enum class Kind : uint8_t { kGroup, kLeading, kPartial, kCorrection };

  struct Extra {
    // The latest quiet deadline of its events. Of a partial, and of a group that a limit has closed
    // before its next partial, the instant of that.
    EngineTime quiet_due;
    // The next instant of the grid of partials, or an earlier one while nothing changes; kNever: none.
    EngineTime next_partial;
    uint64_t corrects;  // of a correction: a generation; kNothing: forgotten
    uint32_t revision;  // counts the emissions so far
    Kind kind : 2;
    bool changed : 1;   // since the last emission
    uint16_t row : 10;  // with `run` the memo of the learner
    uint16_t run;

    QuietLearner::Memo memo() const noexcept { return {.run = run, .row = row}; }
    void set_memo(QuietLearner::Memo memo) noexcept {
      run = memo.run;
      row = memo.row & (QuietLearner::kRows - 1);
    }
  };
  static_assert(sizeof(Extra) == 32);

  struct Cold {
    uint32_t back;  // from `opened` to the smallest stamp, in microseconds; kFar: see early_
    uint32_t position_low;  // the position of the opening event has 59 bits
    uint32_t position_high : 27;
    uint32_t called : 1;  // the last five are the table's
    uint32_t taken : 1;
    uint32_t indexed : 1;
    uint32_t armed : 1;
    uint32_t referred : 1;

    uint64_t position() const noexcept { return uint64_t{position_high} << 32 | position_low; }
    void set_position(uint64_t position) noexcept {
      position_low = static_cast<uint32_t>(position);
      position_high = static_cast<uint32_t>(position >> 32) & (UINT32_MAX >> 5);
    }
  };
  static_assert(sizeof(Cold) == 12);

  // What lies behind a Group, for those that have it: to read, or to change.
  static const Extra& ExtraOf(const Group& group) noexcept {
    return *reinterpret_cast<const Extra*>(&group + 1);
  }
  static Extra& ExtraOf(Group& group) noexcept { return *reinterpret_cast<Extra*>(&group + 1); }
  static EngineTime ClosingTimeOf(const Group& group) noexcept {
    return *reinterpret_cast<const EngineTime*>(&ExtraOf(group) + 1);
  }
  static EngineTime& ClosingTimeOf(Group& group) noexcept {
    return *reinterpret_cast<EngineTime*>(&ExtraOf(group) + 1);
  }

  // Where an entry lies, for callers that read much of it.
  struct Parts {
    uint32_t number;
    const Group& group;
    const Cold& cold;
  };
  // For the table, whose bytes they are.
  static Cold& ColdOf(const Parts& parts) noexcept { return const_cast<Cold&>(parts.cold); }

  // Where a key's group lies.
  struct Entry {
    uint32_t number = kNone;
    const Group* group = nullptr;  // means nothing if there is none
  };

  // Where a look ahead found it, most likely. Void once a group has left the index.
  struct Guess {
    uint32_t number = kNone;
    uint32_t unindexed = UINT32_MAX;  // as a look ahead at an empty index leaves it
    const Group* group = nullptr;
  };
};

}  // namespace pleat::inline v0_1
