// A FoldBook is one folder inside one partition: the book takes events into groups by key, and puts
// groups that close into its outbox. It is a pure state machine: time, position and budget come in
// as arguments. Every method runs under the partition's lock, and every change comes
// through Partition::Do().
//
// The parts, none of which knows the book. Each may use those above it:
//
//   Latest         the latest time and position
//   GroupTable     the groups, found by key and by deadline
//   Memory         ids of events, and notes about groups that are gone
//   FoldObserver   measuring and learning, for folders that ask for them
//   Room           the limit on bytes
//   Outbox         the emissions that wait for consumers
//   EndRules       marks, conditions and caps that end a group behind an event
//   Emitter        brings groups, and copies of open ones, into the outbox
//   Admission      judges events, and makes room for them
//
// The book itself counts events, finds their groups, and opens groups or folds into them.
//
// A group's life:
//
//               +-- folds --+
//               v           |
//   Open ---> indexed ------+---- due by `now` --------------> closed ---> in the outbox
//               |  |  |                                           ^
//               |  |  +-- its key's next event is past due ---> overtaken, until time is there
//               |  +----- an event, Flush, BeginClosing ------> ended, in order
//               +-------- Cancel ----> freed
//
// Invariants, beside those of the parts:
//   - The ledger balances after every call.
//   - Nothing here depends on the hash, except the speed.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include <absl/functional/function_ref.h>
#include <pleat/outcome.h>
#include <pleat/stats.h>
#include <pleat/time.h>
#include <pleat/untyped/any_folder.h>

#include "engine/base/instant.h"
#include "engine/base/latest.h"
#include "engine/base/page_pool.h"
#include "engine/fold/admission.h"
#include "engine/fold/emitter.h"
#include "engine/fold/end_rules.h"
#include "engine/fold/group_table.h"
#include "engine/fold/memory.h"
#include "engine/fold/observer.h"
#include "engine/fold/room.h"
#include "engine/fold/turn.h"
#include "engine/outbox/outbox_book.h"
#include "engine/table/keyed_book.h"

namespace pleat::inline v0_1 {

class FoldBook final : public OutboxBook,
                       public KeyedBookDefaults<FoldCounts, FoldOutcome::kFolded> {
 public:
  using Guess = GroupTable::Guess;
  using Entry = GroupTable::Entry;

  // The parts that all books of a folder share. They outlive the book.
  struct Setting {
    const StateOps& ops;
    const HashKey& hash_key;  // of the tables
    const HashKey& name_key;  // of the names in the memory
    bool on_arrival;          // the axis of time
    FoldObserver::Measure measure;
  };

  // `options` holds this partition's share of the limits. `pool` and `listeners` outlive the book.
  FoldBook(PagePool& pool, const FolderOptions& options, const Setting& setting, uint32_t partition,
           const Outbox::Listeners& listeners);

  // --- An event. A batch looks ahead with the Prefetch functions; see GroupTable.

  void PrefetchIndex(const EventRef& event, Guess&) const noexcept {
    groups_.PrefetchIndex(event.hash);
  }
  void PrefetchEntry(const EventRef& event, Guess& guess) const noexcept {
    groups_.PrefetchGroup(event.hash, guess);
    if (guess.number == GroupTable::kNone && observer_ != nullptr) observer_->Prefetch(event.key);
  }
  void PrefetchRest(const Guess& guess) const noexcept { groups_.PrefetchLongKey(guess); }

  // The entry of the event's key; its number is kNone if there is none.
  Entry Find(const EventRef& event) const { return groups_.Find(event.key, event.hash); }
  Entry Find(const EventRef& event, const Guess& guess, const Newcomers& newcomers) const {
    if (groups_.Holds(guess)) [[likely]]
      return groups_.Find(event.key, event.hash, guess);
    if (guess.number == kNone && !newcomers.MayHave(event.hash)) return {};
    return groups_.FindSlowly(event.key, event.hash);
  }
  // Folds the event into its group if two comparisons show that this is all there is to do. If not,
  // returns false and has changed nothing. Takes no position. Inline: a batch calls it millions of
  // times a second.
  bool FoldPlainly(const EventRef& event, const Entry& entry, const Instant& at);
  // Takes any event, step by step as docs/semantics.md counts them.
  FoldOutcome FoldSlowly(const EventRef& event, Entry entry, const Instant& at);

  // Counts an event that goes no further: kFuture or kOverLimit, which are returned.
  FoldOutcome Refuse(FoldOutcome why, const Instant& at) noexcept;

  // --- A group by its key

  bool Flush(std::string_view key, uint64_t hash, const Instant& at);
  bool Cancel(std::string_view key, uint64_t hash, const Instant& at);
  // REQUIRES: the folder's closing times are settable.
  bool SetDeadline(std::string_view key, uint64_t hash, EngineTime deadline, const Instant& at);
  bool Peek(std::string_view key, uint64_t hash, EngineTime now, AnyFolder::Look look) const;

  // --- All groups

  // From here to FinishClosing() nothing but EmitDue() comes: it ends the open groups in the order of
  // their deadlines.
  void BeginClosing(const Instant& at);
  void FinishClosing(const Instant& at) override;
  // Shows the open groups from `place` on, counting them in `seen` up to `max`. Returns whether the
  // end was reached; if not, `place` is where to go on.
  bool Scan(uint32_t& place, size_t max, EngineTime now, size_t& seen, AnyFolder::See see) const;
  // An open group, and what its place in the order of closing depends on.
  struct OpenPlace {
    EngineTime due;
    uint64_t position;  // of the event that opened it
    uint32_t partition;
    uint32_t number;  // good until the book changes

    friend auto operator<=>(const OpenPlace&, const OpenPlace&) = default;
  };
  // Calls `see` for all open groups of this partition, in no order; and shows one of them.
  void ListOpen(uint32_t partition, EngineTime now,
                absl::FunctionRef<void(const OpenPlace&)> see) const;
  void ShowGroup(uint32_t number, AnyFolder::See see) const {
    see(groups_.at(number).key.view(), groups_.InfoOf(number), groups_.state(number));
  }

  // From now on these options hold, as docs/semantics.md says. `options` holds this partition's share
  // of the limits, and differs only where AnyFolder::SetOptions() lets it. O(1) if only limits and
  // leases change; else O(groups and emissions that wait).
  void SetOptions(const FolderOptions& options, const Instant& at);

  // Makes room for groups to come, as GroupTable says. No operation: it changes no result.
  void Reserve(size_t groups, size_t key_bytes) { groups_.Reserve(groups, key_bytes); }
  size_t BytesToReserve(size_t groups, size_t key_bytes) const noexcept {
    return groups_.BytesToReserve(groups, key_bytes);
  }

  bool CloseDue(const Instant& at, Budget& budget) override;
  EngineTime NextDue() const noexcept override;
  Ledger ledger() const noexcept override;
  size_t held_bytes() const noexcept override { return sizeof(*this) + pages_.bytes(); }
  // Adds the measurements. REQUIRES: the folder measures.
  void AddTo(GapStats& stats);
  size_t stale_deadlines() const noexcept { return groups_.stale_deadlines(); }
  bool BeginSave(FieldWriter& out, Copies& copies) override;
  bool SaveNext(FieldWriter& out) override;
  void EndSave() noexcept override;
  void Load(FieldReader& in, const Instant& at) override;
  // Stops the program if an invariant does not hold. O(groups and emissions).
  void CheckWhole() const override;

 private:
  using Group = GroupTable::Group;
  using Extra = GroupTable::Extra;
  using Kind = GroupTable::Kind;
  static constexpr uint32_t kNone = GroupTable::kNone;

  EngineTime DueBy(EngineTime at, EngineTime now) const noexcept {
    return on_arrival_ ? std::max(at, now) : now;
  }

  bool FoldPlainlyBelow(size_t bytes, const EventRef& event, const Entry& entry, const Instant& at);

  // --- The steps of an event that came in
  [[gnu::noinline]] FoldOutcome FoldInSteps(const EventRef& event, Entry entry, const Instant& at);
  void Join(const Turn& turn);
  void MoveQuietDue(const Turn& turn, Duration gap);
  EngineTime ClosingTimeOf(const Group& group, EngineTime stated, EngineTime edge) const;
  void MakeWay(const Turn& turn);
  bool OpenPlainly(const EventRef& event, const Instant& at);
  void OpenGroup(const Turn& turn);
  void FillExtra(const Turn& turn, uint32_t number, const QuietLearner::Answer& learned);
  void Correct(const Turn& turn);
  QuietLearner::Answer AskToOpen(const Turn& turn);
  Duration QuietPeriodOf(const EventMarks& marks, Duration learned) const noexcept {
    return marks.quiet_period > Duration::zero() ? marks.quiet_period : learned;
  }

  // --- Other options
  void SetMeasure(const FolderOptions& options, EngineTime now);
  void SetPeriods(const FolderOptions& options);
  void SetLimits(const LimitOptions& limits);
  std::optional<Reason> ReasonByOptions(uint32_t number, EngineTime now) const;
  size_t CountReadyBytes() const;

  uint32_t FindOpen(std::string_view key, uint64_t hash, EngineTime now) const;
  uint32_t FindToEnd(std::string_view key, uint64_t hash, const Instant& at);

  // --- OutboxBook
  size_t bytes() const noexcept override { return room_.bytes(); }
  bool EmitDue(const Instant& at, size_t most) override;
  size_t PopQueue(const Instant& at, size_t max, AnyCollection::Take take) override {
    return emitter_.PopQueue(at, max, take);
  }
  size_t PopDue(const Instant& at, size_t max, AnyCollection::Take take) override;
  HashedKey KeyOf(uint32_t entry) const noexcept override {
    const Group& group = groups_.at(entry);
    return {group.key, group.hash};
  }
  Rank RankOf(uint32_t entry) const noexcept override {
    return {groups_.DecidedDueOf(entry), groups_.position(entry)};
  }
  void Prefetch(uint32_t entry) const noexcept override { groups_.PrefetchEntry(entry); }
  ClosedGroup Show(const Ready& ready) const noexcept override { return emitter_.Show(ready); }
  ClosedGroup GiveAway(const Ready& ready) override { return emitter_.GiveAway(ready); }
  void FreeGiven(uint32_t entry) noexcept override { emitter_.FreeGiven(entry); }
  void Discard(const Ready& ready) noexcept override { emitter_.Discard(ready); }
  void SaveEntry(FieldWriter& out, uint32_t entry) const override;
  uint32_t LoadEntry(FieldReader& in) override;

  // Members that every fold reads lie close together.
  size_t plain_below_;  // with as many bytes states must not grow; 0: no fold is plain
  uint32_t max_events_low_;
  const bool on_arrival_;
  bool opens_plainly_;  // nothing of an event but its key and stamp matters
  uint64_t max_groups_;
  const uint64_t leading_events_;  // of a group, that are handed out at once
  Latest latest_;
  const std::unique_ptr<Memory> memory_;    // null: nothing has to be remembered
  std::unique_ptr<FoldObserver> observer_;  // null: nothing is measured or learned
  Ledger ledger_;                           // but for the columns of the outbox
  GroupTable groups_;
  Room room_;
  size_t usual_plain_below_;  // while no snapshot is being taken
  const Setting setting_;
  const HashKey& hash_key_;  // for Load()
  const StateOps& ops_;
  EndRules end_rules_;
  Emitter emitter_;
  Admission admission_;
};

[[gnu::always_inline]] inline bool FoldBook::FoldPlainly(const EventRef& event, const Entry& entry,
                                                         const Instant& at) {
  return FoldPlainlyBelow(plain_below_, event, entry, at);
}

[[gnu::always_inline]] inline bool FoldBook::FoldPlainlyBelow(size_t bytes, const EventRef& event,
                                                              const Entry& entry,
                                                              const Instant& at) {
  if (entry.number == kNone || groups_.bytes() >= bytes) [[unlikely]]
    return false;
  const Group& group = *entry.group;
  const EngineTime now = latest_.TimeOf(at.now);
  const EngineTime due_by = DueBy(event.at, now);
  // The low half of the count tells whether the cap on events is near, but for one fold in four
  // billion; the slow path looks at the rest.
  const uint32_t count = group.count + 1;
  if (groups_.clock().IsPlainDue(group, due_by) || event.at < group.opened ||
      count == max_events_low_ || count == 0) [[unlikely]]
    return false;
  latest_.Reach(at.now);
  ++ledger_.events;
  ++ledger_.folded;
  if (observer_ != nullptr) [[unlikely]]
    observer_->NoteFolded(due_by, group.last, event.at);
  groups_.FoldInto(groups_.ChangeKept(entry.number, group), entry.number, event.event, event.at);
  return true;
}

}  // namespace pleat::inline v0_1
