// A LineTally is the account of the lines that a collection has taken: how
// many, the order of their stamps, and the paths that no line has led to. It is stored with the
// collection, so that its counts go back to the first line, over any number of restarts.
//
// Thread safety: one thread at a time takes lines, and any thread reads and saves the tally
// meanwhile. A tally that is saved while a batch of lines is taken may lack that batch.
#pragma once

#include <algorithm>
#include <atomic>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <pleat/json.h>
#include <pleat/stored.h>

#include "engine/base/counter.h"
#include "engine/base/lock.h"
#include "engine/lines/feed/stamp_order.h"
#include "engine/lines/plan/event_batch.h"
#include "engine/lines/plan/event_plan.h"
#include "engine/lines/plan/event_reader.h"
#include "engine/lines/scan/mismatch.h"
#include "engine/lines/scan/unseen_paths.h"

namespace pleat::inline v0_1 {

class LineTally {
 public:
  LineTally() : unseen_(0) {}

  // Once, before anything else: the plan is complete.
  void Begin(const EventPlan& plan) { unseen_ = UnseenPaths(plan.paths.slots()); }

  // --- The thread that takes lines

  void AddEvents(uint64_t events) noexcept { events_.Add(events); }
  void AddInvalid() noexcept { invalid_.Add(1); }
  void AddExcluded(uint64_t lines) noexcept { excluded_.Add(lines); }
  void AddMismatched(uint64_t values) noexcept { mismatched_.Add(values); }
  void AddControl() noexcept { control_.Add(1); }
  void NoteStamp(EngineTime at) noexcept { stamps_.Note(at); }
  void StartInput() noexcept { stamps_.StartInput(); }
  // Of a line that is excluded by its stamp.
  void NoteExcluded(EngineTime at) noexcept {
    if (at > newest_excluded_.load(std::memory_order_relaxed))
      newest_excluded_.store(at, std::memory_order_relaxed);
  }
  // The newest stamp so far, also of such lines; nothing: there was none.
  std::optional<EngineTime> newest() const noexcept {
    const EngineTime newest = std::max(stamps_.newest(), newest_excluded_.load());
    if (newest == kBeginningOfTime) return std::nullopt;
    return newest;
  }
  // Notes the paths and mismatches that `reader` has seen so far, and the NaNs of the lines of `batch`.
  void Note(const EventReader& reader, EventBatch& batch) {
    if (batch.not_numbers != 0) [[unlikely]]
      not_numbers_.Add(std::exchange(batch.not_numbers, 0));
    if (reader.assumed_utc()) assumed_utc_.store(true, std::memory_order_relaxed);
    const UnseenPaths& unseen = reader.unseen();
    const Mismatches& mismatches = reader.mismatches();
    // Only this thread changes them.
    if (!unseen_.WouldNote(unseen) && !mismatches_.WouldNote(mismatches)) return;
    LockGuard guard(unseen_lock_);
    unseen_.Note(unseen);
    mismatches_.Note(mismatches);
  }

  // --- Any thread

  LineCounts counts() const noexcept {
    return {.lines = events_.value() + invalid_.value() + excluded_.value(),
            .events = events_.value(),
            .invalid = invalid_.value(),
            .excluded = excluded_.value(),
            .mismatched = mismatched_.value(),
            .control = control_.value(),
            .not_numbers = not_numbers_.value()};
  }
  StampCounts stamps() const noexcept {
    StampCounts counts = stamps_.counts();
    counts.assumed_utc = assumed_utc_.load(std::memory_order_relaxed);
    return counts;
  }
  std::vector<OptionPath> Absent(const EventPlan& plan) const {
    LockGuard guard(unseen_lock_);
    return plan.Absent(unseen_);
  }
  Mismatches mismatches() const {
    LockGuard guard(unseen_lock_);
    return mismatches_;
  }

  // `plan` is that of Begin().
  void Save(const EventPlan& plan, FieldWriter& out) const;
  // REQUIRES: nobody takes lines.
  void Load(const EventPlan& plan, FieldReader& in);

 private:
  Counter events_;
  Counter invalid_;
  Counter excluded_;
  Counter mismatched_;
  Counter control_;
  Counter not_numbers_;  // since this process began: it is not stored
  StampOrder stamps_;
  std::atomic<EngineTime> newest_excluded_{kBeginningOfTime};
  std::atomic<bool> assumed_utc_{false};
  mutable Lock unseen_lock_;  // held for no other lock
  UnseenPaths unseen_;
  Mismatches mismatches_;  // likewise
};

}  // namespace pleat::inline v0_1
