// An Outbox holds the emissions of one book until somebody takes them: a queue in emission order,
// and, once something was lent, the leases, dead letters and lines of waiting emissions. Any kind
// of collection can own one. The book keeps the entries; the outbox knows them by number and asks
// the book, through the interface OutboxEntries, only about the entries themselves.
//
// Emission order within a book: (ripe, by time before by event, order), then the rank that the book
// gives to entries that one call made ready together. Generations count in the order in which
// emissions became ready: the same order, except for batches that overlap.
//
// An outbox is a pure state machine: time and position come in with the Instant of each call. Every
// method runs under the partition's lock.
//
// The backlog is soft: the outbox counts the emissions that are here, and refuses none. The book
// asks is_full() before work that the book may refuse.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <absl/functional/function_ref.h>
#include <pleat/emission.h>
#include <pleat/stats.h>
#include <pleat/stored.h>
#include <pleat/time.h>
#include <pleat/untyped/any_folder.h>

#include "engine/base/copies.h"
#include "engine/base/instant.h"
#include "engine/base/page_pool.h"
#include "engine/outbox/given_run.h"
#include "engine/outbox/leases.h"
#include "engine/outbox/outbox_entries.h"
#include "engine/outbox/paged_queue.h"
#include "engine/outbox/ready.h"
#include "engine/outbox/trace_log.h"
#include "engine/table/packed_key.h"

namespace pleat::inline v0_1 {

// The options of an outbox: one partition's share of the collection's.
struct OutboxOptions {
  size_t max_backlog;
  OnBacklog on_backlog;
  LeaseOptions leases;
  size_t max_trace = 0;
};

// The emission that a book would hand out next.
class Handout {
 public:
  enum class What : uint8_t {
    kNothing,
    kEmpty,     // the queue is empty: the book may have more that is due
    kLater,     // not known yet: others should have their turn at the lock first
    kReturned,  // an emission that was lent and came back
    kReady,     // from the queue
    kRequeued,  // waited for its key, which is free again
  };

  Handout() = default;
  explicit Handout(What what) noexcept : what_(what) {}
  explicit Handout(const Leases::Returned* returned) noexcept
      : item_(returned), what_(What::kReturned) {}
  Handout(What what, const Ready* ready) noexcept : item_(ready), what_(what) {}

  What what() const noexcept { return what_; }
  explicit operator bool() const noexcept { return item_ != nullptr; }
  const Leases::Returned& returned() const noexcept {
    return *static_cast<const Leases::Returned*>(item_);
  }
  // Of one that never went out.
  const Ready& ready() const noexcept { return *static_cast<const Ready*>(item_); }

 private:
  const void* item_ = nullptr;
  What what_ = What::kNothing;
};

class Outbox {
 public:
  // Those who are told of the emissions of a book; and a bit that is set while the book may have
  // some that are yet to be popped or acked, so that who finds it clear need not ask the book.
  // Changes under the partition's lock.
  struct Listeners {
    std::vector<EmissionListener*> all;
    std::atomic<uint64_t>* filled = nullptr;  // where the bit is, with those of other books
    uint64_t bit = 0;

    void NoteFilled() const noexcept {
      if (filled != nullptr && (filled->load(std::memory_order_relaxed) & bit) == 0) {
        filled->fetch_or(bit, std::memory_order_release);
      }
    }
    // Returns whether that is news.
    bool NoteEmpty() const noexcept {
      if (filled == nullptr || (filled->load(std::memory_order_relaxed) & bit) == 0) return false;
      filled->fetch_and(~bit, std::memory_order_release);
      return true;
    }
  };
  using Borrow = absl::FunctionRef<void(const ClosedGroup&, const Delivery&)>;
  using SeeDead = absl::FunctionRef<void(const ClosedGroup&, const Death&)>;

  // `options` holds this partition's share of the limits. `pool`, `entries`, `listeners` and `trace`,
  // which is null without one, outlive the outbox.
  Outbox(Pages& pool, const OutboxOptions& options, uint32_t partition, OutboxEntries& entries,
         const Listeners& listeners, TraceLog* trace);

  // From now on these hold. What is here stays, also if it is more than the limits let in; listeners
  // are told if more may be lent.
  void SetOptions(const OutboxOptions& options, const Instant& at);
  // Shows all emissions that are here, in no order.
  void ForEachEmission(absl::FunctionRef<void(const Ready&)> see) const;

  bool queue_empty() const noexcept { return queue_.empty(); }
  // The generation of the next emission.
  uint64_t next_generation() const noexcept { return next_generation_; }
  // Puts an emission into its place in the queue, numbers the emission, and tells the listeners.
  // If the backlog drops its oldest, and is over its limit now, that one goes.
  void Push(Ready ready, const Instant& at);
  // The same for many at once, if they push nothing out: PushOne() for each, then NotePushed().
  // REQUIRES, of the caller: nothing is traced.
  bool can_push_many() const noexcept {
    return saving_ == nullptr && options_.on_backlog != OnBacklog::kDropOldest;
  }
  [[gnu::always_inline]] void PushOne(Ready ready, const Instant&) {
    PLEAT_DCHECK(can_push_many());
    Insert(ready);
  }
  void NotePushed() const noexcept {
    listeners_.NoteFilled();
    if (!listeners_.all.empty()) TellListeners();
  }

  // The emissions that wait: to be taken, to be acked, or as dead letters.
  size_t backlog() const noexcept {
    return queue_.size() + (leases_ == nullptr ? 0 : leases_->backlog());
  }
  // Of those, the ones that are yet to be popped or acked: all but dead letters, and what waits
  // behind them, as far as it was found: see PassOver().
  size_t undelivered() const noexcept {
    return queue_.size() + (leases_ == nullptr ? 0 : leases_->undelivered());
  }
  size_t behind_dead() const noexcept { return leases_ == nullptr ? 0 : leases_->behind_dead(); }
  // Puts what is at the front of the queue and waits behind a dead letter into the line of its key, as
  // Next() does; at most `most` emissions. Returns whether those were all. Each goes there once.
  bool PassOver(const Instant& at, size_t most);
  // After some have left: tells the collection and the listeners if those were the last.
  void NoteIfDrained() const noexcept {
    if (undelivered() == 0 && listeners_.NoteEmpty()) return TellOfDrained();
    // What is left may wait behind letters.
    const bool may_be = leases_ != nullptr && leases_->dead() > 0 && leases_->undelivered() == 0;
    if (may_be && options_.leases.wait_behind_dead) TellOfDrained();
  }
  bool is_full() const noexcept { return !passes_on_ && backlog() >= options_.max_backlog; }
  // While it is set, what becomes ready goes out before anything else happens: there is no limit on
  // the backlog, and nothing is dropped.
  void set_passes_on(bool passes_on) noexcept { passes_on_ = passes_on; }
  // Whether the limit on the backlog refuses, and is reached.
  bool refuses() const noexcept { return options_.on_backlog == OnBacklog::kRefuse && is_full(); }

  // --- Handing out

  // Takes back the leases that ran out by `at`. Returns whether that was all; if not, others should
  // have their turn at the lock first.
  bool TakeBack(const Instant& at);
  // The next emission. Each emission that is put behind one of its key takes one from `budget`.
  Handout Next(const Instant& at, bool lends, size_t& budget) {
    // Most come from the queue, of which nothing was ever lent.
    if (leases_ == nullptr && !queue_.empty() && queue_.front().ripe <= at.now) {
      return Handout(Handout::What::kReady, &queue_.front());
    }
    return NextSlowly(at, lends, budget);
  }
  // REQUIRES for both: `next` comes from the latest Next().
  void Pop(const Handout& next, const Instant& at, GivenRun& run) {
    PLEAT_DCHECK(static_cast<bool>(next));
    const Ready ready = TakeOut(next, at);
    NoteGone(TraceStep::kPopped, {&ready, 1}, at);
    run.Add(entries_, ready);
    ++popped_;
  }
  // Pops the next emission, and those behind it in the queue, up to `max` in all. `entries` are those
  // of the book, by their own type, because calls through OutboxEntries cost as much as the work.
  // Returns how many. REQUIRES: the latest Next() has said kReady; `max` > 0.
  template <class Entries>
  size_t PopQueue(Entries& entries, const Instant& at, size_t max, AnyCollection::Take take);
  // Whether what becomes ready now could be popped at once, without ever being in the queue. If so,
  // and it is popped: PassOne() for each.
  bool would_be_next() const noexcept {
    return queue_.empty() && leases_ == nullptr && can_push_many();
  }
  Ready PassOne(Ready ready, const Instant&) noexcept {
    PLEAT_DCHECK(ready.generation == 0 && would_be_next());
    ready.generation = next_generation_++;
    ++popped_;
    return ready;
  }
  // `origin` names engine and collection, as tokens shall.
  void Lend(const Handout& next, const Instant& at, Duration visibility_timeout, LeaseToken origin,
            Borrow borrow);

  // The order of two emissions, of any books, that became ready at one instant. The ranks are asked
  // for where nothing else decides.
  template <class RankOfMine, class RankOfTheirs>
  static bool IsBeforeAtOnce(const Ready& mine, const Ready& theirs, const RankOfMine& rank_of_mine,
                             const RankOfTheirs& rank_of_theirs) noexcept {
    if (mine.by_event != theirs.by_event) return theirs.by_event;
    if (mine.order != theirs.order) return mine.order < theirs.order;
    return rank_of_mine() < rank_of_theirs();
  }
  OutboxEntries::Rank RankOf(const Ready& ready) const noexcept {
    return entries_.RankOf(ready.entry);
  }

  // --- Leases

  LeaseOutcome Ack(const LeaseToken& token, const Instant& at);
  // The same; an emission that is over by this goes to `take`, as if it were popped.
  LeaseOutcome AckAndTake(const LeaseToken& token, const Instant& at, AnyCollection::Take take);
  LeaseOutcome Nack(const LeaseToken& token, Duration delay, const Instant& at);
  Extension Extend(const LeaseToken& token, Duration visibility_timeout, const Instant& at);
  LeaseOutcome RetryDeadLetter(const LeaseToken& token, const Instant& at);
  LeaseOutcome DropDeadLetter(const LeaseToken& token, const Instant& at);
  // Takes all leases back, as if they had run out now. Returns how many.
  size_t EndLeases(const Instant& at);
  // Shows the dead letters from `place` on; see Slab::ForEachFrom().
  bool ScanDeadLetters(uint32_t& place, size_t max, size_t& seen, SeeDead see) const;
  // Takes back the leases that ran out by `at`, looking at no more than `budget` leases, and lowers
  // `budget`.
  // Returns whether that was all.
  bool ExpireLeases(const Instant& at, Budget& budget);
  // How many emissions have become dead letters.
  uint64_t deaths() const noexcept { return leases_ == nullptr ? 0 : leases_->deaths(); }
  LeaseTime NextLeaseDue() const noexcept {
    return leases_ == nullptr ? LeaseTime(kNever) : leases_->NextDue();
  }

  // Adds the columns of emissions that were popped, acked, dropped or lent, or that wait.
  void AddTo(Ledger& ledger) const noexcept;
  uint32_t partition() const noexcept { return partition_; }
  Ledger AddedTo(Ledger ledger) const noexcept {
    AddTo(ledger);
    return ledger;
  }

  // See Book. Leases are written at once. The emissions of the queue come in order, some at a time:
  // one that leaves before its turn is written first, into memory.
  void BeginSave(FieldWriter& out, Copies& copies);
  bool SaveNext(FieldWriter& out);
  void EndSave() noexcept { saving_ = nullptr; }
  void Save(FieldWriter& out) {
    UncountedCopies copies;
    BeginSave(out, copies);
    while (SaveNext(out)) {
    }
  }
  void Load(FieldReader& in, const Instant& at);
  // Numbers of emissions and leases go on `by` further: whatever was handed out after the saving,
  // and is forgotten, had numbers of its own. REQUIRES: a multiple of AckedDeliveries::kRemembered.
  void SkipAhead(uint64_t by, const Instant& at);

  // Stops the program if an invariant does not hold. O(emissions).
  void CheckWhole() const;

 private:
  // Whether `mine` comes before `theirs`, which may be another book's.
  bool IsBefore(const Ready& mine, const Outbox& other, const Ready& theirs) const noexcept {
    if (mine.ripe != theirs.ripe) return mine.ripe < theirs.ripe;
    return IsBeforeAtOnce(
        mine, theirs, [&] { return RankOf(mine); }, [&] { return other.RankOf(theirs); });
  }
  // Numbers an emission and puts it into its place. Returns how many are behind it: none as a rule, as
  // neither time nor positions go back in a book, but for those that one event makes ready early.
  [[gnu::always_inline]] size_t Insert(Ready& ready) {
    PLEAT_DCHECK(ready.generation == 0);  // the outbox gives it
    ready.generation = next_generation_++;
    return queue_.Insert(ready, [this](const Ready& mine, const Ready& other) {
      return IsBefore(mine, *this, other);
    });
  }
  Handout NextSlowly(const Instant& at, bool lends, size_t& budget);
  const Ready* Front(EngineTime now) const noexcept;
  const Ready* RequeuedBefore(const Ready* ready);
  void PutInLine(uint32_t head);
  Ready TakeOut(const Handout& next, const Instant& at) {
    return next.what() == Handout::What::kReady ? TakeFront() : TakeLeased(next, at);
  }
  Ready TakeLeased(const Handout& next, const Instant& at);
  Ready TakeFront() {
    if (const Ready* later = queue_.Ahead(8)) entries_.Prefetch(later->entry);
    return LeaveQueue();
  }
  Ready LeaveQueue() {
    const Ready ready = queue_.front();
    if (saving_ != nullptr) [[unlikely]]
      SaveAsItLeaves(ready);
    queue_.PopFront();
    return ready;
  }
  [[gnu::cold]] void SaveAsItLeaves(const Ready& ready);
  Leases::Keyed WithKey(const Ready& ready) const noexcept;
  uint32_t HeadOf(const Ready& ready) const;
  void DropOldest(const Ready& newest, const Instant& at);
  void Drop(const Ready& ready, const Instant& at);
  void NoteGone(TraceStep step, std::span<const Ready> all, const Instant& at) {
    if (trace_ == nullptr) [[likely]]
      return;
    for (const Ready& ready : all) trace_->NoteGone(step, ready, at);
  }
  void TellListeners() const noexcept;
  [[gnu::cold]] void TellOfDrained() const noexcept;
  [[gnu::cold]] void TellOfDeaths() const noexcept;
  template <class Change>
  LeaseOutcome ChangeLeases(const Change& change);

  // How far the saving of the queue is.
  //
  //   in bytes, or kept | passed | not yet
  //   left the queue    | front of the queue ... back
  struct Saving final : Copies::Holder {
    Saving(Copies& copies, uint64_t first_new, size_t emissions)
        : Holder(copies), end(first_new), left(emissions) {}
    ~Saving() override { Leave(); }

    // Keeps an emission that leaves, as `save(out)` writes it.
    template <class Save>
    void Keep(const Save& save) {
      image.Clear();
      save(image);
      Hold(image.size(), [this] { kept.PutFields(image.bytes()); });
    }
    // Moves a piece of those that were kept to `out`. Returns whether there was one.
    bool Put(FieldWriter& out);
    void Free() noexcept override {
      kept.TakePieces();
      pieces.clear();
      next_piece = 0;
    }

    const uint64_t end;       // emissions of this generation and later ones are new
    size_t left;              // emissions that are neither in bytes nor kept
    size_t passed = 0;        // so many at the front of the queue need nothing more
    FieldWriter image;        // of one that leaves
    FieldWriter kept{kKept};  // emissions that have left before their turn
    std::vector<FieldWriter::Piece> pieces = {};  // of those, taken out of `kept`
    size_t next_piece = 0;
  };
  static constexpr size_t kKept = 16 * 1024;  // bytes of a piece

  OutboxOptions options_;
  bool passes_on_ = false;
  const uint32_t partition_;
  Pages& pool_;
  OutboxEntries& entries_;
  const Listeners& listeners_;
  TraceLog* const trace_;  // null: nothing is traced
  PagedQueue<Ready> queue_;
  std::unique_ptr<Leases> leases_;  // null: nothing was ever lent
  std::unique_ptr<Saving> saving_;  // null: the queue is not being saved
  uint64_t leases_before_ = 0;      // so many numbers the first lease skips
  uint64_t next_generation_ = 0;
  uint64_t popped_ = 0;
  uint64_t acked_ = 0;
  uint64_t dropped_ = 0;
};

template <class Entries>
size_t Outbox::PopQueue(Entries& entries, const Instant& at, size_t max, AnyCollection::Take take) {
  if (leases_ != nullptr) max = 1;  // the key of the one behind may be lent
  size_t popped = 0;
  FoundRunOf<Entries> runs[2];  // the one to be given, and the one behind
  size_t turn = 0;
  do {
    const std::span<const Ready> front = queue_.Front(std::min(max - popped, kGivenMax));
    size_t size = front.size();
    while (front[size - 1].ripe > at.now) --size;
    if (saving_ != nullptr) [[unlikely]]
      SaveAsItLeaves(front.front()), size = 1;
    FoundRunOf<Entries>& here = runs[turn];
    turn ^= 1;
    runs[turn].Fill(queue_.Behind(size, kGivenMax), 0, [&](const Ready& later) {
      const auto found = entries.FindGiven(later);
      entries.PrefetchFound(found);
      return found;
    });
    NoteGone(TraceStep::kPopped, front.first(size), at);
    GiveRun(entries, front.first(size), here, take);
    queue_.PopFront(size);
    popped += size;
  } while (popped < max && !queue_.empty() && queue_.front().ripe <= at.now);
  popped_ += popped;
  return popped;
}

}  // namespace pleat::inline v0_1
