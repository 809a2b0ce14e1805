// A RollupAdmission takes the events and clears that the fast path leaves, step by step as
// docs/semantics-rollups.md counts them: it looks at the id (known?), the stamp (late?), and the
// limits on counters, bytes and the backlog; what comes in goes to its window. What is over makes room
// first, so that no answer depends on who has looked when.
//
// Writes these columns of the ledger: those of the outcomes, over_byte_limit, clears and
// keys_opened.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include <pleat/rollup_options.h>
#include <pleat/rollup_values.h>
#include <pleat/time.h>

#include "engine/base/instant.h"
#include "engine/outbox/outbox.h"
#include "engine/rollup/book_ledger.h"
#include "engine/rollup/counter_ids.h"
#include "engine/rollup/counter_windows.h"
#include "engine/rollup/forgetter.h"
#include "engine/rollup/publications.h"
#include "engine/rollup/rollup_clock.h"
#include "engine/rollup/rollup_turn.h"
#include "engine/rollup/window_closer.h"
#include "engine/rollup/window_emitter.h"
#include "engine/table/event_ids.h"
#include "engine/table/event_ref.h"

namespace pleat::inline v0_1 {

class RollupAdmission {
 public:
  // The other parts of the book. All outlive the admission; `store` may be null.
  struct Parts {
    RollupClock& clock;
    CounterWindows& windows;
    CounterIds& ids;
    Publications* store;
    const Outbox& outbox;
    Forgetter& forgetter;
    WindowEmitter& emitter;
    WindowCloser& closer;
    BookLedger& ledger;
  };
  // `options` holds this partition's share of the limits.
  RollupAdmission(const RollupOptions& options, const Parts& parts);

  // What a look ahead has found out about an event.
  struct Guess {
    uint32_t counter;
    uint32_t removals;
    bool named;
    EventIds::Name name;  // of the event among ids
  };
  // Where an event goes: its counter, or kNone; and the guess of a look ahead, if there was one.
  struct Entry {
    uint32_t counter;
    const Guess* guess;
  };

  AddOutcome Take(const EventRef& event, const Entry& entry, const Instant& at);
  AddOutcome Clear(const EventRef& event, std::string_view id, const Instant& at);
  // From now on these hold. REQUIRES: on_late does not change from or to kCorrect.
  void SetOptions(const RollupOptions& options) noexcept {
    limits_ = options.limits;
    on_late_ = options.on_late;
  }
  // Counts an event that goes no further: kFuture or kOverLimit, which are returned.
  AddOutcome Refuse(AddOutcome why) noexcept;

  // The counter of an event's key, which is made if it is not there; kNone at a limit.
  uint32_t FindOrMake(const EventRef& event);
  // Counted against the limit.
  size_t bytes() const noexcept { return windows_.bytes() + ids_.bytes(); }

 private:
  static constexpr uint32_t kNone = CounterTable::kNone;

  AddOutcome TakeTurn(RollupTurn& turn);
  void NameEvent(RollupTurn& turn, const Guess* guess);
  std::optional<AddOutcome> JudgeId(const RollupTurn& turn) const;
  std::optional<AddOutcome> JudgeLate(RollupTurn& turn);
  void Correct(const RollupTurn& turn);
  enum class Lack : uint8_t { kNothing, kKeys, kBytes, kBacklog };
  Lack WhatLacks(const RollupTurn& turn, bool opens) const;
  bool MakeRoom(RollupTurn& turn, bool opens);
  uint32_t Make(const EventRef& event);
  void Add(RollupTurn& turn);
  void Remember(const RollupTurn& turn, EngineTime stamp);
  AddOutcome Count(AddOutcome outcome) noexcept;

  RollupLimits limits_;
  OnLateAdd on_late_;
  RollupClock& clock_;
  CounterWindows& windows_;
  CounterTable& counters_;
  CounterIds& ids_;
  Publications* const store_;
  const Outbox& outbox_;
  Forgetter& forgetter_;
  WindowEmitter& emitter_;
  WindowCloser& closer_;
  BookLedger& ledger_;
};

}  // namespace pleat::inline v0_1
