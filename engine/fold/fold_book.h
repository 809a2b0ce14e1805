// A FoldBook keeps the groups of one folder inside one partition. It is a pure state machine: time,
// position and budget come in as arguments, and every method runs under the partition's lock.
//
// A group's life:
//
//               +-- folds --+
//               v           |
//   Open ---> indexed ------+---- due by `now` -------------------> ready ---> popped or lent, freed
//               |  |  |                                               ^
//               |  |  +-- its key's next event is at or past due ---> overtaken (due comes later)
//               |  +----- an event, Flush, CloseAll ----------------> ended, in order
//               +-------- Cancel ----> freed
//
// An indexed group is found by its key. An overtaken one no longer is: a newer group of the key has
// begun; it waits in its slot until time reaches its deadline, so that it becomes ready in exact
// order. An ended one becomes ready at once, unless older deadlines have not been applied yet; then
// it waits among them.
//
// An open group can be handed out as it is so far: a *cut*, which is a copy of it in an entry of its own.
// A cut for the leading edge is ended from its beginning; one for a partial waits for its instant like an
// overtaken group. A correction is an ended group of one late event. Only folders that need it have room
// for this in their groups (Extra), and only they look at it: is_particular_ leads to FoldElsewhere().
//
// What was lent stays in its entry until it is settled; Leases knows how it stands with it.
//
// Invariants:
//   - A key has at most one indexed group.
//   - An indexed or overtaken group is armed exactly once, at or before its deadline.
//   - `ready_` is in emission order; see Before().
//   - Time never goes back here: a call with an earlier time than one before (batches that are folded
//     at the same time each carry their own) counts as if it had come with that one.
//   - Nothing here depends on the hash, except the speed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <absl/functional/function_ref.h>
#include <pleat/any_folder.h>
#include <pleat/outcome.h>
#include <pleat/stats.h>
#include <pleat/time.h>

#include "engine/base/book.h"
#include "engine/base/page_pool.h"
#include "engine/base/prefetch.h"
#include "engine/base/timeline.h"
#include "engine/fold/gaps.h"
#include "engine/fold/leases.h"
#include "engine/fold/quiet_learner.h"
#include "engine/fold/ready_queue.h"
#include "engine/table/deadlines.h"
#include "engine/table/expiring_map.h"
#include "engine/table/key_arena.h"
#include "engine/table/key_index.h"
#include "engine/table/packed_key.h"
#include "engine/table/slab.h"

namespace pleat::inline v0_1 {

// One event on its way into a group.
struct FoldCall {
  const PackedKey& key;
  uint64_t hash;  // keyed
  const void* event;
  EngineTime at;
  EngineTime now;     // the engine's time; on event time it includes this event
  EngineTime edge;    // groups due by this make way: `now`, on arrival time max(now, at)
  Position position;  // in the input
  std::optional<uint64_t> fixed_position = std::nullopt;
};

// Where a look ahead has found a key's group, most likely.
struct FoldGuess {
  uint32_t number = KeyIndex::kNone;
  uint32_t unindexed = 0;  // how many groups had left the index; void when another one has
};

// What a book would hand out next.
class Handout {
 public:
  enum class What : uint8_t {
    kNothing,
    kLater,  // not known yet: others should have their turn at the lock first
    kReturned,
    kReady,     // from the queue
    kReleased,  // from behind an emission of its key that was lent
  };

  Handout() = default;
  explicit Handout(What what) noexcept : what_(what) {}
  explicit Handout(const Leases::Returned* returned) noexcept
      : item_(returned), what_(What::kReturned) {}
  Handout(What what, const ReadyGroup* ready) noexcept : item_(ready), what_(what) {}

  What what() const noexcept { return what_; }
  explicit operator bool() const noexcept { return item_ != nullptr; }
  const Leases::Returned& returned() const noexcept {
    return *static_cast<const Leases::Returned*>(item_);
  }
  // Of one that never went out.
  const ReadyGroup& ready() const noexcept { return *static_cast<const ReadyGroup*>(item_); }

 private:
  const void* item_ = nullptr;
  What what_ = What::kNothing;
};

class FoldBook final : public Book {
 public:
  using Listeners = std::vector<EmissionListener*>;

  // `options` with this partition's share of the limits; `pool`, `ops`, `timeline` and `listeners`, who are told of
  // emissions, outlive the book. `hash_key` is the one that hashes come from.
  FoldBook(PagePool& pool, const FolderOptions& options, const StateOps& ops, uint32_t partition,
           const HashKey& hash_key, Timeline& timeline, const Listeners& listeners);
  ~FoldBook() override;

  // From now on; for MeasureOptions::gap_stats. The first `exact` gaps within groups are counted one by one. `peak`,
  // which all books of the folder share, outlives the book.
  void MeasureGaps(uint64_t exact, OpenPeak& peak);
  // Adds what was measured. REQUIRES: MeasureGaps() was called.
  void AddTo(GapStats& stats);

  // Inline, because a batch calls it millions of times a second.
  FoldOutcome Fold(const FoldCall& call);
  FoldOutcome Fold(const FoldCall& call, FoldGuess guess);

  // For a batch, which folds many keys: each brings one of the two cache lines of a later Fold() with
  // this hash closer. The second reads what the first has fetched, and what it found saves that Fold()
  // from searching again.
  void PrefetchIndex(uint64_t hash) const noexcept { index_.Prefetch(hash); }
  FoldGuess PrefetchGroup(uint64_t hash) const noexcept {
    const uint32_t number = index_.Guess(hash);
    if (number != KeyIndex::kNone) {
      PrefetchHot(number);
    } else if (gaps_ != nullptr) {
      gaps_->Prefetch(hash);
    }
    return {number, unindexed_};
  }
  // The third line of a group with a long key.
  void PrefetchLongKey(FoldGuess guess) const noexcept {
    if (guess.number == KeyIndex::kNone || guess.unindexed != unindexed_) return;
    const PackedKey& key = hot(guess.number).key;
    if (key.is_long()) Prefetch(key.view().data());
  }

  // An event that never became a FoldCall.
  void CountFuture() noexcept { ++ledger_.events, ++ledger_.future; }
  void CountRefused() noexcept { ++ledger_.events, ++ledger_.refused; }

  bool Flush(std::string_view key, uint64_t hash, EngineTime now, uint64_t position);
  bool Cancel(std::string_view key, uint64_t hash, EngineTime now);
  bool Peek(std::string_view key, uint64_t hash, EngineTime now, AnyFolder::Look look) const;
  void CloseAll(EngineTime now, uint64_t position);

  // Shows the open groups from `place` on, counting them in `seen` up to `max`. Returns whether it came to
  // the end; if not, `place` is where to go on.
  bool Scan(uint32_t& place, size_t max, EngineTime now, size_t& seen, AnyFolder::See see) const;

  bool CloseDue(EngineTime now, size_t& budget) override;
  EngineTime NextDue() const noexcept override;
  bool ExpireLeases(LeaseTime lease_now, size_t& budget) override;
  LeaseTime NextLeaseDue() const noexcept override;

  // Takes back what ran out. Returns whether that was all; if not, others should have their turn at the lock first.
  bool TakeBack(EngineTime now, LeaseTime lease_now);

  // What comes next, for good or to be lent. Applies what is due by `now` only as far as needed to know it.
  Handout NextHandout(EngineTime now, bool lends);

  // Hands it out. REQUIRES: it is what NextHandout() has just given.
  void PopNext(const Handout& next, LeaseTime lease_now, AnyFolder::Take take);
  // `origin` names engine and collection, as the tokens shall.
  void LendNext(const Handout& next, LeaseTime lease_now, Duration ttl, LeaseToken origin,
                AnyFolder::Borrow borrow);

  // Whether `mine` comes before `theirs`, of another book: what came back before what never went out, and that
  // in the emission order: (ripe, by time before by event, order), then (due, opening position) for those that
  // one call closed together.
  bool IsBefore(const Handout& mine, const FoldBook& other, const Handout& theirs) const noexcept {
    const bool returned = mine.what() == Handout::What::kReturned;
    if (returned != (theirs.what() == Handout::What::kReturned)) return returned;
    if (returned) return mine.returned().IsBefore(theirs.returned());
    return Before(mine.ready(), other, theirs.ready());
  }

  LeaseOutcome Ack(const LeaseToken& token, LeaseTime lease_now);
  LeaseOutcome Nack(const LeaseToken& token, Duration delay, LeaseTime lease_now);
  Extension Extend(const LeaseToken& token, Duration ttl, LeaseTime lease_now);
  LeaseOutcome RetryDeadLetter(const LeaseToken& token, LeaseTime lease_now);
  LeaseOutcome DropDeadLetter(const LeaseToken& token, LeaseTime lease_now);
  bool ScanDeadLetters(uint32_t& place, size_t max, LeaseTime lease_now, size_t& seen,
                       AnyFolder::SeeDead see);

  Ledger ledger() const noexcept;
  Sizes sizes() const noexcept;
  size_t stale_deadlines() const noexcept { return deadlines_.stale(); }

 private:
  // What every fold touches, followed by the user's state.
  struct Hot {
    uint32_t hash;   // low half of the keyed hash
    uint32_t count;  // low half of the number of events
    PackedKey key;
    EngineTime last;
    EngineTime opened;
  };
  static_assert(sizeof(Hot) == 48);

  // Between Hot and the state, in folders with marks, edges, partials, corrections or a learner.
  struct Extra {
    enum class Kind : uint8_t { kGroup, kLeading, kPartial, kCorrection };

    EngineTime quiet_due;     // latest stamp and quiet period of an event; of a partial its instant
    EngineTime next_partial;  // the next instant of the grid; kNever: none
    uint64_t corrects;        // of a correction: a generation; kNothing: forgotten
    uint32_t revision;        // counts the emissions so far
    Kind kind : 2;
    bool changed : 1;   // since the last emission
    uint16_t row : 10;  // with run: the learner's memo
    uint16_t run;

    QuietLearner::Memo memo() const noexcept { return {.run = run, .row = row}; }
    void set_memo(QuietLearner::Memo memo) noexcept {
      run = memo.run;
      row = memo.row & (QuietLearner::kRows - 1);
    }
  };
  static_assert(sizeof(Extra) == 32);
  static constexpr uint64_t kNothing = UINT64_MAX;

  // What is remembered of events and groups that are gone, in folders that need it.
  struct Memory {
    Memory(PagePool& pool, const FolderOptions& options, const HashKey& hash_key);
    size_t bytes() const noexcept { return ids.bytes() + bytes_of_groups(); }
    size_t bytes_of_groups() const noexcept {
      return early.bytes() + emissions.bytes() + pauses.bytes();
    }
    EngineTime forgets_all_at() const noexcept {
      return std::min({ids.forgets_all_at(), early.forgets_all_at(), emissions.forgets_all_at(),
                       pauses.forgets_all_at()});
    }

    HashKey other_hash_key;  // of the second half of names
    Duration emissions_for;  // how long emissions are remembered
    ExpiringMap ids;         // names of events, and a hash of their content
    ExpiringMap early;       // keys whose group closed early, until its quiet deadline
    ExpiringMap emissions;   // keys, and the generation of their last emission
    ExpiringMap
        pauses;  // keys without a group, and what the learner has noted of them, until the ceiling
  };

  // What opening and closing touch.
  struct Cold {
    uint32_t back;  // from `opened` to the smallest stamp, in microseconds; kFar: see early_
    uint32_t position_low;  // of the opening event's position, 61 bits
    uint32_t position_high : 29;
    uint32_t indexed : 1;
    uint32_t ended : 1;  // ready, or waiting to be, and no longer in need of its deadline
    uint32_t armed : 1;  // the deadlines refer to it: its number stays taken

    uint64_t position() const noexcept { return uint64_t{position_high} << 32 | position_low; }
    bool free() const noexcept { return position() == kFree; }  // nobody lives here
    void set_position(uint64_t position) noexcept {
      position_low = static_cast<uint32_t>(position);
      position_high = static_cast<uint32_t>(position >> 32) & (UINT32_MAX >> 3);
    }
  };
  static_assert(sizeof(Cold) == 12);
  static constexpr uint64_t kFree = UINT64_MAX >> 3;
  static constexpr uint32_t kFar = UINT32_MAX;

  Hot& hot(uint32_t number) const noexcept { return *reinterpret_cast<Hot*>(slab_.hot(number)); }
  void* state(uint32_t number) const noexcept { return slab_.hot(number) + state_offset_; }
  Extra& extra(uint32_t number) const noexcept { return ExtraOf(hot(number)); }
  Extra& ExtraOf(const Hot& group) const noexcept {
    return *reinterpret_cast<Extra*>(const_cast<Hot*>(&group) + 1);
  }
  bool IsGroup(uint32_t number) const noexcept {
    return !has_extra_ || extra(number).kind == Extra::Kind::kGroup;
  }

  // A period as long as all of time is never over. Others are over at the end of time at the latest.
  static constexpr Duration kAllOfTime = kNever - kBeginningOfTime;
  static EngineTime After(EngineTime t, Duration period) noexcept {
    return period >= kAllOfTime ? kNever : SaturatingAdd(t, period);
  }

  // The options are cut to the length of time, so that these sums do not overflow.
  EngineTime QuietDue(const Hot& group) const noexcept {
    if (has_extra_) return ExtraOf(group).quiet_due;
    return std::min(group.last + quiet_period_, quiet_end_);
  }
  EngineTime HoldDue(const Hot& group) const noexcept {
    return std::min(group.opened + max_hold_, hold_end_);
  }
  EngineTime DueOf(const Hot& group) const noexcept {
    return has_extra_ ? std::min(ExtraOf(group).quiet_due, HoldDue(group)) : PlainDueOf(group);
  }
  // Of a group without Extra.
  EngineTime PlainDueOf(const Hot& group) const noexcept {
    return std::min({group.last + quiet_period_, group.opened + max_hold_, due_end_});
  }
  // What it is armed for: its deadline, or a partial before that.
  EngineTime NextInstantOf(const Hot& group) const noexcept {
    const EngineTime due = DueOf(group);
    return has_extra_ ? std::min(due, ExtraOf(group).next_partial) : due;
  }
  Reason ReasonByTime(const Hot& group) const noexcept {
    return HoldDue(group) < QuietDue(group) ? Reason::kMaxHold : Reason::kQuiet;
  }
  // The same, also of a partial that was cut.
  Reason ReasonByTime(uint32_t number) const noexcept {
    const bool partial = has_extra_ && extra(number).kind == Extra::Kind::kPartial;
    return partial ? Reason::kPartial : ReasonByTime(hot(number));
  }
  // That of the event, or else of its class, or else of the folder.
  Duration QuietPeriodOf(const EventMarks& marks, Duration learned) const noexcept {
    return marks.quiet_period > Duration::zero() ? marks.quiet_period : learned;
  }

  // What one event brings about, in this order: groups closed to make room, the one that it does not join, its
  // own.
  enum class Step : uint8_t { kMakesRoom, kBeforeIt, kBehindIt };
  static uint64_t OrderOf(uint64_t position, Step step) noexcept {
    return 4 * position + static_cast<uint64_t>(step);
  }
  static Step StepOf(uint64_t order) noexcept { return static_cast<Step>(order % 4); }
  // Positions never go back here, as time does not: a batch has reserved its own before others that came under the
  // lock earlier, and what happens to a key must come out in the order in which it happened.
  uint64_t NextPosition(uint64_t position) noexcept {
    return last_position_ = std::max(last_position_ + 1, position);
  }
  // The position of the call, which is drawn once.
  uint64_t PositionOf(FoldCall& call) noexcept {
    if (!call.fixed_position) call.fixed_position = NextPosition(call.position.Take());
    return *call.fixed_position;
  }
  // The tag of a group among the deadlines is the reason for its emission.
  static uint8_t TagOf(Reason reason) noexcept { return static_cast<uint8_t>(reason); }
  static Reason ReasonOf(const Due& due) noexcept { return static_cast<Reason>(due.tag); }

  Deadlines::Answer Ask(uint32_t number) noexcept;
  struct Asker {
    FoldBook& book;
    Deadlines::Answer operator()(uint32_t number) const noexcept { return book.Ask(number); }
    void Prefetch(uint32_t number) const noexcept { book.PrefetchEntry(number); }
    uint64_t Version() const noexcept { return book.ledger_.events + book.changes_; }
  };
  void PrefetchEntry(uint32_t number) const noexcept {
    PrefetchHot(number);
    Prefetch(&slab_.cold(number));
  }
  // A larger state takes further lines; the processor follows by itself from the third on.
  void PrefetchHot(uint32_t number) const noexcept {
    Prefetch(slab_.hot(number));
    if (two_lines_) Prefetch(slab_.hot(number) + 64);
  }

  uint32_t Find(const PackedKey& key, uint64_t hash) const {
    return index_.Find(hash, [&](uint32_t number) { return hot(number).key == key; });
  }
  uint32_t FindOpen(std::string_view key, uint64_t hash, EngineTime now) const;
  uint32_t FindSlowly(const PackedKey& key, uint64_t hash) const;
  FoldOutcome FoldAt(uint32_t number, const FoldCall& call);
  // By value, so that the common path need not put `call` into memory.
  FoldOutcome FoldElsewhere(uint32_t number, FoldCall call);
  bool IsLate(const FoldCall& call) const noexcept;
  bool IsOpen(uint32_t number, const FoldCall& call) const noexcept {
    return number != KeyIndex::kNone && DueOf(hot(number)) > call.edge;
  }
  bool IsTooOld(uint32_t number, EngineTime at) const noexcept;
  size_t NeedOf(uint32_t number, const FoldCall& call, bool starts) const noexcept;
  bool MakeRoom(uint32_t& number, FoldCall& call, bool starts);
  bool MakeRoomInBytes(FoldCall& call, absl::FunctionRef<size_t()> need);
  bool EmitOldest(FoldCall& call);
  void Overtake(uint32_t number, const FoldCall& call);
  FoldOutcome Correct(FoldCall& call);
  std::optional<Reason> ReasonBehind(uint32_t number, bool ends) const;
  void Take(Hot& group, uint32_t number, const void* event, EngineTime at, EngineTime edge);
  void FoldInto(Hot& group, uint32_t number, const void* event, EngineTime at, EngineTime now,
                EngineTime edge, Position position);
  void NoteEarlier(uint32_t number, EngineTime at);
  EngineTime FirstOf(uint32_t number) const noexcept;
  void NoteCount(uint32_t number, EngineTime now, Position position);
  uint32_t NewEntry(const FoldCall& call, uint64_t position);
  void OpenGroup(FoldCall& call, const EventMarks& marks);

  // What the learner answers to an event, or quiet_period without one.
  QuietLearner::Answer AskLearner(const EventMarks& marks, Duration gap, QuietLearner::Memo memo);
  QuietLearner::Answer AskLearnerToOpen(const FoldCall& call, const EventMarks& marks);
  void NotePause(uint32_t number);

  // Partials and leading edges.
  EngineTime GridAfter(const Hot& group, EngineTime t) const noexcept;
  uint32_t Cut(uint32_t number, Extra::Kind kind);
  uint32_t CutForPartial(uint32_t number);
  void CutPartial(uint32_t number, EngineTime edge);
  void PassPartial(uint32_t number, EngineTime instant, EngineTime until);
  void HandOutLeading(uint32_t number, EngineTime now, uint64_t position);

  // What another entry of this key takes, beside what its state may come to own.
  size_t BytesOfNew(const PackedKey& key) const noexcept {
    return group_bytes_ + KeyArena::BytesFor(key);
  }
  // What counts against the limit.
  size_t used() const noexcept {
    return options_.limits.count_ready ? bytes_ : bytes_ - ready_bytes_;
  }
  static bool Fits(size_t need, size_t used, size_t limit) noexcept {
    return need == 0 || used + need <= limit;
  }
  bool HasRoomForCut(uint32_t number) const noexcept {
    return !options_.limits.count_ready || Fits(BytesOf(number), bytes_, options_.limits.max_bytes);
  }
  bool TracksReady() const noexcept {
    return !options_.limits.count_ready || options_.limits.on_limit == OnLimit::kEmitOldest;
  }

  // Memory.
  ExpiringMap::Name NameOf(const PackedKey& key) const noexcept;
  ExpiringMap::Name NameOf(const PackedKey& key, std::string_view id) const noexcept;
  template <class Change>
  void ChangeMemory(const Change& change);
  bool Forget(EngineTime now, size_t& budget);
  bool MayForgetTooMuch() const noexcept;
  bool HasRoomToRemember() const noexcept;
  void NoteClosedEarly(uint32_t number, Reason reason);
  void NoteReopened(const FoldCall& call);
  void NoteEmission(uint32_t number, const ReadyGroup& ready);
  uint32_t HashOf(uint32_t number) const noexcept { return hot(number).hash; }
  void Unindex(uint32_t number);
  void NoteLeft(uint32_t number);
  void CloseByEvent(uint32_t number, Reason reason, EngineTime now, uint64_t order);
  void LeaveIndex(uint32_t number, Reason reason);
  void PushInOrder(const Due& due);
  void Push(const Due& due);
  void PushEmission(const Due& due);
  void DestroyState(uint32_t number) noexcept;
  // Of what a state owns bytes_ holds as much as it owned after its last fold; a debug build keeps
  // it apart as well, to see that it is the same when it is taken back.
  void CountHeap([[maybe_unused]] uint32_t number, size_t more) noexcept {
    bytes_ += more;
#ifndef NDEBUG
    if (ops_.heap_bytes != nullptr) heap_counted_[number] += more;
#endif
  }
  size_t UncountHeap(uint32_t number) noexcept;  // returns how much it was
  size_t BytesOf(uint32_t number) const noexcept {
    return group_bytes_ + KeyArena::BytesFor(hot(number).key) + HeapBytesOf(number);
  }
  void FreeGroup(uint32_t number) noexcept;

  // Handing out.
  bool Before(const ReadyGroup& mine, const FoldBook& other,
              const ReadyGroup& theirs) const noexcept;
  const ReadyGroup* NextReady(EngineTime now);
  const ReadyGroup* ReleasedBefore(const ReadyGroup* ready);
  void PutInLine(uint32_t holder);
  ReadyGroup TakeReady();
  ClosedGroup Show(const ReadyGroup& ready) const noexcept;
  void NoteGone(const ReadyGroup& ready) noexcept;
  void Discard(const ReadyGroup& ready) noexcept;
  bool CloseGroups(EngineTime now, size_t& budget);
  bool CatchUp(EngineTime now);
  template <class Change>
  LeaseOutcome Settle(const Change& change);
  Leases::Held HeldOf(const ReadyGroup& ready) const noexcept {
    return {.emission = ready, .key = &hot(ready.number).key, .hash = hot(ready.number).hash};
  }
  uint32_t HolderOf(const ReadyGroup& ready) const {
    return leases_->HolderOf(hot(ready.number).key, hot(ready.number).hash);
  }
  size_t backlog() const noexcept {
    return ready_.size() + (leases_ == nullptr ? 0 : leases_->backlog());
  }
  bool IsOverloaded(uint32_t number, const FoldCall& call, bool starts) const;
  void DropOldest(const ReadyGroup& newest);
  void TellListeners() const noexcept {
    for (EmissionListener* listener : listeners_) listener->MayHaveEmissions();
  }

  GroupInfo InfoOf(uint32_t number) const noexcept;
  size_t HeapBytesOf(uint32_t number) const noexcept;

  // What every fold looks at lies close together.
  const Duration quiet_period_;
  const Duration max_hold_;
  const EngineTime quiet_end_;  // the latest that a deadline can be
  const EngineTime hold_end_;
  const EngineTime due_end_;
  const uint32_t max_events_low_;
  const bool has_extra_;      // groups have Extra
  const bool is_particular_;  // a fold takes more than the group's deadline to decide
  const bool two_lines_;      // a group is longer than a cache line
  const size_t bytes_full_;   // from here on on_limit has something to say
  const size_t plain_below_;  // with as many bytes states must not grow; 0: no fold is plain
  const StateOps& ops_;
  const size_t state_offset_;
  EngineTime seen_ = kBeginningOfTime;  // the latest time that this book was told of
  size_t bytes_ = 0;
  Ledger ledger_;
  uint32_t unindexed_ = 0;      // counts the groups that left the index
  std::unique_ptr<Gaps> gaps_;  // null: not measured
  KeyIndex index_;
  Slab<Cold> slab_;

  const FolderOptions options_;
  const uint32_t partition_;
  PagePool& pool_;
  const HashKey& hash_key_;
  Timeline& timeline_;
  const size_t group_bytes_;  // what a group costs, beside long keys and the state's heap
  // With fewer bytes than this there cannot be a backlog at its limit; nor, with fewer than that, more
  // to remember than there is room for.
  const size_t backlog_from_;
  const size_t catch_up_from_;
  KeyArena keys_;
  Deadlines deadlines_;
  ReadyQueue ready_;
  std::unique_ptr<Memory> memory_;         // null: nothing needs it
  std::unique_ptr<QuietLearner> learner_;  // null: the quiet period is fixed
  std::unique_ptr<Leases> leases_;         // null: nothing was ever lent
  const Listeners& listeners_;
  uint64_t changes_ = 0;                  // counts what beside events changes what groups answer
  std::map<uint32_t, uint32_t> wraps_;    // the high half of the counts that need one
  std::map<uint32_t, EngineTime> early_;  // the smallest stamps that lie kFar back
  uint64_t next_generation_ = 0;
  uint64_t last_position_ = UINT64_MAX;  // before the first
  size_t ready_bytes_ = 0;               // of them, what waits to be popped; see TracksReady()
#ifndef NDEBUG
  std::unordered_map<uint32_t, size_t> heap_counted_;
#endif
};

inline FoldOutcome FoldBook::Fold(const FoldCall& call) {
  return FoldAt(Find(call.key, call.hash), call);
}

inline FoldOutcome FoldBook::Fold(const FoldCall& call, FoldGuess guess) {
  const bool right = guess.number != KeyIndex::kNone && guess.unindexed == unindexed_ &&
                     hot(guess.number).key == call.key;
  return FoldAt(right ? guess.number : FindSlowly(call.key, call.hash), call);
}

[[gnu::always_inline]] inline FoldOutcome FoldBook::FoldAt(uint32_t number, const FoldCall& call) {
  const EngineTime now = std::max(call.now, seen_);
  const EngineTime edge = std::max(call.edge, seen_);
  seen_ = now;
  ++ledger_.events;
  if (number != KeyIndex::kNone && bytes_ < plain_below_) [[likely]] {
    Hot& group = hot(number);
    if (PlainDueOf(group) > edge && call.at >= group.opened) [[likely]] {
      FoldInto(group, number, call.event, call.at, now, edge, call.position);
      return FoldOutcome::kFolded;
    }
  }
  return FoldElsewhere(number, {.key = call.key,
                                .hash = call.hash,
                                .event = call.event,
                                .at = call.at,
                                .now = now,
                                .edge = edge,
                                .position = call.position});
}

[[gnu::always_inline]] inline void FoldBook::Take(Hot& group, uint32_t number, const void* event,
                                                  EngineTime at, EngineTime edge) {
  ++ledger_.folded;
  if (gaps_ != nullptr) [[unlikely]]
    gaps_->NoteFolded(edge, group.last, at);
  if (at > group.last) group.last = at;
  ++group.count;
  auto* const state = reinterpret_cast<std::byte*>(&group) + state_offset_;
  CountHeap(number, static_cast<size_t>(ops_.fold(ops_.context, state, event)));
}

[[gnu::always_inline]] inline void FoldBook::FoldInto(Hot& group, uint32_t number,
                                                      const void* event, EngineTime at,
                                                      EngineTime now, EngineTime edge,
                                                      Position position) {
  Take(group, number, event, at, edge);
  // The low half of the count tells, but for one fold in four billion; only then is the rest looked at.
  if (group.count == max_events_low_ || group.count == 0) [[unlikely]] {
    NoteCount(number, now, position);
  }
}

}  // namespace pleat::inline v0_1
