// Gaps measures a book for GapStats: for each event how long its key was silent, and for each group
// how long the group went on and how many events it held.
//
// The gap of an event whose key has an open group stands in the entry that the event folds into, so
// that measuring costs neither a lookup nor a cache line. Ghosts know the gaps of the others.
//
// To find a gap's counter costs more than a tenth of a fold. So once there are many, one in eight
// is counted, for eight, of events that fold; all of those that open a group, as that costs more
// anyway. So how many were shorter than the quiet period in use stays exact, and how many were
// shorter than a longer one. For a shorter one, of n events the share is off by 1.3 / sqrt(n) (one
// standard deviation) at most.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include <pleat/stats.h>
#include <pleat/stored.h>
#include <pleat/time.h>

#include "engine/base/page_pool.h"
#include "engine/fold/bucket_counts.h"
#include "engine/fold/ghosts.h"

namespace pleat::inline v0_1 {

// What measuring knows of a folder as a whole. The most groups that it had open at a time, over all
// its partitions: these have their peaks at different times, so that the folder's peak does not
// follow from theirs. And the events that came before it was measured.
class MeasuredWhole {
 public:
  // Measuring begins, or is over if there is nothing.
  void Begin(uint64_t open, uint64_t events_before) noexcept {
    peak_ = 0;
    SetOpen(open);
    events_before_ = events_before;
  }
  void SetOpen(uint64_t open) noexcept {
    open_ = static_cast<int64_t>(open);
    peak_ = std::max(peak_.load(), open_.load());
  }
  void NoteOpened() noexcept {
    const int64_t open = open_.fetch_add(1, std::memory_order_relaxed) + 1;
    int64_t peak = peak_.load(std::memory_order_relaxed);
    while (open > peak && !peak_.compare_exchange_weak(peak, open, std::memory_order_relaxed)) {
    }
  }
  void NoteClosed() noexcept { open_.fetch_sub(1, std::memory_order_relaxed); }
  // Only measuring that began behind an event writes the last field, and says so by the first: its
  // complement.
  void Save(FieldWriter& out) const {
    const int64_t open = open_.load();
    out(events_before_ == 0 ? open : ~open, peak_.load());
    if (events_before_ > 0) out(events_before_);
  }
  void Load(FieldReader& in) {
    int64_t open = 0;
    int64_t peak = 0;
    uint64_t before = 0;
    in(open, peak);
    if (open < 0) {
      open = ~open;
      in(before);
      in.Expect(before > 0);
    }
    in.Expect(open <= peak);
    open_ = open;
    peak_ = peak;
    events_before_ = before;
  }
  uint64_t open_peak() const noexcept {
    return static_cast<uint64_t>(peak_.load(std::memory_order_relaxed));
  }
  uint64_t events_before() const noexcept { return events_before_; }

 private:
  std::atomic<int64_t> open_{0};
  std::atomic<int64_t> peak_{0};
  uint64_t events_before_ = 0;  // changes with all partitions locked
};

class Gaps {
 public:
  // `pool` and `whole` outlive the object. The first `exact` events that fold are counted one by
  // one.
  Gaps(Pages& pool, size_t max_ghosts, uint64_t exact, MeasuredWhole& whole)
      : exact_(exact), ghosts_(pool, max_ghosts), whole_(whole) {}

  // An event stamped `at` at the time `edge`, whose key's group has `last`.
  void NoteFolded(EngineTime edge, EngineTime last, EngineTime at) {
    NoteStamp(at);
    fresh_[fresh_count_++] = Gap(edge, last);
    if (fresh_count_ == kFresh) [[unlikely]]
      CountFresh();
  }

  // An event opens a group of a key that had none.
  void NoteOpened(uint64_t hash, EngineTime edge, EngineTime at) {
    whole_.NoteOpened();
    NoteStamp(at);
    if (const std::optional<EngineTime> last = ghosts_.Take(hash)) gaps_.Add(Gap(edge, *last));
  }

  // The key's group is not the one any more that its next event goes to.
  void NoteLeft(uint64_t hash, EngineTime last, EngineTime now) { ghosts_.Put(hash, last, now); }

  // From the opening to its latest stamp.
  void NoteClosed(Duration span) {
    whole_.NoteClosed();
    spans_.Add(static_cast<uint64_t>(span.count()));
  }
  void NoteCancelled() noexcept { whole_.NoteClosed(); }
  // An emission of so many events.
  void NoteEmission(uint64_t events) { fold_sizes_.Add(events); }

  void Prefetch(uint64_t hash) const noexcept { ghosts_.Prefetch(hash); }

  void SetMaxGhosts(size_t max, EngineTime now) { ghosts_.SetMax(max, now); }

  // See Book.
  void Save(FieldWriter& out) const;
  void Load(FieldReader& in);

  // Adds all but the number of events and the peak, which the ledger and the folder know.
  void AddTo(GapStats& stats);

 private:
  void NoteStamp(EngineTime at) noexcept {
    first_ = std::min(first_, at);
    last_ = std::max(last_, at);
  }

  static uint64_t Gap(EngineTime edge, EngineTime last) noexcept {
    return edge > last ? static_cast<uint64_t>((edge - last).count()) : 0;
  }
  void CountFresh();
  void CountSome();

  static constexpr size_t kFresh = 512;
  static constexpr size_t kOneIn = 8;

  const uint64_t exact_;
  uint64_t counted_ = 0;
  uint64_t random_ = 0;
  std::array<uint64_t, kFresh> fresh_;  // gaps of events that folded, not counted yet
  uint32_t fresh_count_ = 0;
  BucketCounts<3> gaps_;
  EngineTime first_ = kEndOfTime;
  EngineTime last_ = kBeginningOfTime;
  Ghosts ghosts_;
  MeasuredWhole& whole_;
  BucketCounts<2> spans_;
  BucketCounts<2> fold_sizes_;
};

}  // namespace pleat::inline v0_1
