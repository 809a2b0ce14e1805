// A BookLedger has the counts of one rollup book: those of rollup counters, and what the ledger of all
// collections that emit needs besides.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include <pleat/outcome.h>
#include <pleat/rollup_options.h>
#include <pleat/stats.h>
#include <pleat/stored.h>

#include "engine/outbox/outbox.h"
#include "engine/rollup/total.h"

namespace pleat::inline v0_1 {

struct BookLedger : RollupLedger {
  uint64_t windows_opened = 0;  // of the first resolution
  uint64_t windows_closed = 0;
  std::array<uint64_t, kFirstReasons> emissions{};  // by IndexOf(reason)

  // An event is in a window; the window of events is final.
  void NoteAdded(uint64_t delta) noexcept {
    ++pending;
    delta_added += delta;
    delta_pending += delta;
  }
  void NoteFinal(const Total& total) noexcept {
    const auto delta = static_cast<uint64_t>(total.whole);
    checkpointed += total.count;
    pending -= total.count;
    delta_checkpointed += delta;
    delta_pending -= delta;
  }

  const RollupLedger& OfCounters() const noexcept { return *this; }
  // A window of the first resolution is a group: so its events have opened it, or were folded.
  Ledger OfGroups(const Outbox& outbox) const noexcept {
    Ledger groups;
    groups.events = events;
    groups.opened = windows_opened;
    groups.folded = added + clamped - windows_opened;
    groups.late = late;
    groups.future = future;
    groups.over_limit = over_limit;
    groups.over_byte_limit = over_byte_limit;
    groups.duplicate = duplicate;
    groups.conflict = conflict;
    groups.corrected = corrected;
    groups.closed = windows_closed;
    groups.open = windows_opened - windows_closed;
    groups.partial = made_final + ended - windows_closed;
    std::ranges::copy(emissions, groups.emissions.begin());
    outbox.AddTo(groups);
    return groups;
  }

  void Save(FieldWriter& out) const {
    out(std::bit_cast<Columns>(OfCounters()), windows_opened, windows_closed, emissions);
  }
  void Load(FieldReader& in) {
    Columns columns{};
    in(columns, windows_opened, windows_closed, emissions);
    static_cast<RollupLedger&>(*this) = std::bit_cast<RollupLedger>(columns);
  }

 private:
  using Columns = std::array<uint64_t, sizeof(RollupLedger) / sizeof(uint64_t)>;
};

}  // namespace pleat::inline v0_1
