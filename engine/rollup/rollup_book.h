// A RollupBook is one rollup counter inside one partition: the book adds events to windows by key,
// freezes windows when time has come, and puts them into its outbox. It is a pure state machine:
// time, position and budget come in as arguments. Every method runs under the partition's lock, and
// every change comes through Partition::Do().
//
// The parts, none of which knows the book:
//
//   Windowing      which window a stamp lies in; when an event is late, and a window frozen
//   CounterTable   the counters, found by key, with their windows and values
//   WindowLists    which counters have a window, by its end: one deadline for all of them
//   EventIds       the ids of events that were counted
//   Outbox         the emissions that wait for consumers
//   Publications   what the store knows; only with a store
//
// Why nothing lands in a frozen window. The book's time only grows. An event is judged by it under
// the lock, and added under the same lock: a stamp that is not late lies behind the frontier. The
// frontier follows the book's time, so it has moved before any window is read.
//
// A window's life:
//
//   an event opens it ---> open --+--- frontier reaches its end -----------> frozen: handed out,
//                                 |                                          part of the value
//                                 +--- BeginClosing() ---> ended: handed out --> frozen
//
// Invariants, beside those of the parts:
//   - The ledger balances after every call.
//   - An open window has one entry in the list of its end.
//   - What counters come to is the sum of their frozen windows, but for clears and checkpoints of
//     other instances.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <absl/functional/function_ref.h>
#include <pleat/checkpoint_store.h>
#include <pleat/delta.h>
#include <pleat/rollup_options.h>
#include <pleat/rollup_stats.h>
#include <pleat/rollup_values.h>
#include <pleat/stats.h>
#include <pleat/time.h>

#include "engine/base/instant.h"
#include "engine/base/latest.h"
#include "engine/base/page_pool.h"
#include "engine/outbox/outbox_book.h"
#include "engine/rollup/counter_table.h"
#include "engine/rollup/publications.h"
#include "engine/rollup/shared_count.h"
#include "engine/rollup/window_lists.h"
#include "engine/rollup/windowing.h"
#include "engine/table/event_ids.h"
#include "engine/table/event_ref.h"
#include "engine/table/place_numbers.h"

namespace pleat::inline v0_1 {

class RollupBook final : public OutboxBook, private CounterTable::Saver {
 public:
  using Outcome = AddOutcome;
  using Counts = AddResults;
  static constexpr size_t kOutcomes = kAddOutcomes;
  static constexpr Outcome kPlain = AddOutcome::kAdded;
  static constexpr bool kPlainTakesPosition = false;
  static constexpr bool kPrefetchesRest = false;
  static constexpr bool kKeysRepeat = false;
  static bool IsTooLong(const void* event) noexcept {
    return static_cast<const CounterEvent*>(event)->id.size() > kKeyBytesMax;
  }

  // `options` holds this partition's share of the limits. `hash_key` is that of the events' hashes.
  // All arguments outlive the book.
  RollupBook(PagePool& pool, const RollupOptions& options, const HashKey& hash_key,
             const HashKey& name_key, uint32_t partition, const Outbox::Listeners& listeners);

  // --- An event, for KeyedCollection

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
  void PrefetchIndex(const EventRef& event, Guess& guess) const noexcept {
    counters_.PrefetchIndex(event.hash);
    const std::string_view id = static_cast<const CounterEvent*>(event.event)->id;
    guess.named = ids_ != nullptr && !id.empty();
    if (!guess.named) return;
    guess.name = ids_->NameOf(event.key, id);
    ids_->Prefetch(guess.name);
  }
  void PrefetchEntry(const EventRef& event, Guess& guess) const noexcept {
    guess.counter = counters_.PrefetchCounter(event.hash);
    guess.removals = counters_.removals();
  }
  void PrefetchRest(const Guess& guess) const noexcept;
  Entry Find(const EventRef& event) const {
    return {counters_.Find(event.key, event.hash), nullptr};
  }
  Entry Find(const EventRef& event, const Guess& guess, const Newcomers& newcomers) const {
    if (guess.counter == kNone && !newcomers.MayHave(event.hash)) return {kNone, &guess};
    const bool right = guess.counter != kNone && guess.removals == counters_.removals() &&
                       counters_.at(guess.counter).key == event.key;
    return {right ? guess.counter : CounterOf(event), &guess};
  }
  // Adds the event if it has no id and its counter's newest window takes it as it is.
  bool FoldPlainly(const EventRef& event, const Entry& entry, const Instant& at);
  void Settle(const Instant&) const noexcept {}  // nothing is left
  // Adds or refuses any event, step by step as docs/semantics-rollups.md counts them.
  AddOutcome FoldSlowly(const EventRef& event, const Entry& entry, const Instant& at);
  // Counts an event that goes no further: kFuture or kOverLimit, which are returned.
  AddOutcome Refuse(AddOutcome why, const Instant& at) noexcept;
  // The event's bytes are not read: it is a clear.
  AddOutcome Clear(const EventRef& event, std::string_view id, const Instant& at);

  // --- Reads. They tell the book the time, so that nothing is added later to what they call frozen.

  std::optional<EventualCount> Eventual(const PackedKey& key, uint64_t hash, const Instant& at);
  AccurateCount Accurate(const PackedKey& key, uint64_t hash, const Instant& at);
  void History(const PackedKey& key, uint64_t hash, EngineTime from, EngineTime to,
               uint8_t resolution, const Instant& at, std::vector<CountedWindow>& out);
  using SeeTop = absl::FunctionRef<void(std::string_view key, const Amount& amount)>;
  void WindowAround(EngineTime around, uint8_t resolution, const Instant& at, SeeTop see);
  using SeeOpen = absl::FunctionRef<void(std::string_view key, const CountedWindow& window)>;
  void ScanOpen(const Instant& at, SeeOpen see);

  // The count of a counter, which is made if it is not there; null at a limit.
  std::shared_ptr<const SharedCount> Share(const EventRef& event, const Instant& at);

  // --- The store

  // Appends the keys of up to `max` counters that the store and we may not agree on.
  void TakeUnpublished(size_t max, const Instant& at, std::vector<std::string>& keys);
  // What comes of an answer of the store.
  enum class Step : uint8_t { kNothing, kFailed, kWanted, kKept };
  // The store has answered a Load(). kWanted: `ours` is to be published.
  Step TakeLoaded(const EventRef& counter, const absl::StatusOr<Checkpoint>& loaded,
                  const Instant& at, Checkpoint& ours);
  // The store has answered a Publish() of `ours`. kKept: that is what it keeps.
  Step TakeKept(const EventRef& counter, const Checkpoint& ours,
                const absl::StatusOr<Checkpoint>& kept, const Instant& at);
  // How many counters wait to be taken, and how many are not in line with the store.
  size_t queued() const noexcept { return store_ == nullptr ? 0 : store_->queued(); }
  size_t unpublished() const noexcept { return store_ == nullptr ? 0 : store_->undone(); }

  // --- All counters

  // The largest end of the open windows; those that are due are frozen before.
  EngineTime LastOpenEnd(const Instant& at);
  // From here to FinishClosing() nothing but EmitDue() comes: it ends all open windows, in order.
  // Events stamped before `floor`, which is not before any of their ends, are late from now on.
  void BeginClosing(EngineTime floor, const Instant& at);
  void FinishClosing(const Instant& at) override;
  bool CloseDue(const Instant& at, Budget& budget) override;
  EngineTime NextDue() const noexcept override;
  Ledger ledger() const noexcept override;
  Sizes sizes() const noexcept override;
  RollupLedger rollup_ledger() const noexcept { return ledger_; }
  RollupSizes rollup_sizes() const noexcept;
  bool BeginSave(FieldWriter& out) override;
  bool SaveNext(FieldWriter& out) override;
  void EndSave() noexcept override;
  void Load(FieldReader& in, const Instant& at) override;
  void CheckWhole() const override;

 private:
  using Counter = CounterTable::Counter;
  using Account = CounterTable::Account;
  using Window = CounterTable::Window;
  static constexpr uint32_t kNone = CounterTable::kNone;

  // An event or a clear in the slow path, and what the steps find out about it.
  struct Turn {
    const EventRef& event;
    const Instant& at;
    Delta delta;
    std::string_view id;
    EventIds::Name name;  // if there is an id
    bool clears;
    EngineTime now;
    uint64_t position;
    uint32_t number;   // the counter, or kNone
    EngineTime stamp;  // that the event counts with
  };
  // The events of an open window, with RollupOptions::clears.
  struct Stamped {
    EngineTime at;
    Delta delta;
  };
  struct Detail {
    std::vector<Stamped> events;  // in order of arrival
    std::optional<EngineTime> clear;
    Total after;  // of the events behind the clear
  };
  static constexpr size_t kStampedBytes = sizeof(Stamped);

  uint32_t CounterOf(const EventRef& event) const;
  EngineTime EarliestAt(EngineTime now) const noexcept {
    return std::max(windowing_.EarliestAt(now), floor_);
  }

  // --- The steps of an event
  bool AddPlainly(const EventRef& event, uint32_t number, const Instant& at);
  AddOutcome TakeEvent(const EventRef& event, const Entry& entry, const Instant& at);
  [[gnu::cold]] AddOutcome FoldWhileSaving(const EventRef& event, const Entry& entry,
                                           const Instant& at);
  AddOutcome Take(Turn& turn);
  void NameEvent(Turn& turn, const Guess* guess);
  std::optional<AddOutcome> JudgeId(const Turn& turn) const;
  std::optional<AddOutcome> JudgeLate(Turn& turn);
  bool MakeRoom(Turn& turn, bool opens);
  enum class Lack : uint8_t { kNothing, kKeys, kBytes, kBacklog };
  Lack WhatLacks(const Turn& turn, bool opens) const;
  bool Opens(const Turn& turn) const;
  AddOutcome Count(AddOutcome outcome) noexcept;
  void Remember(const Turn& turn, EngineTime stamp);
  void Add(Turn& turn);
  bool AddInside(const Turn& turn, EngineTime start);
  void AddOutside(const Turn& turn, EngineTime start);
  void AddToDetail(const Turn& turn, uint32_t window);
  void MoveOut(uint32_t counter);
  void NoteOpened(const Turn& turn, EngineTime start);
  void NoteAdded(uint64_t delta) noexcept;
  void Correct(const Turn& turn);
  static uint64_t WordOf(const Turn& turn) noexcept;

  // --- Closing
  bool Visit(const Instant& at, Budget& budget);
  void VisitAll(const Instant& at);
  using TakeEntry =
      absl::FunctionRef<void(const WindowLists::Name& name, const WindowLists::Entry& entry)>;
  bool TakeDue(WindowLists::Stage stage, Duration behind, Budget& budget, TakeEntry take);
  WindowLists::Stage StageAfter(WindowLists::Stage stage) const noexcept;
  void Freeze(const WindowLists::Name& name, const WindowLists::Entry& entry, const Instant& at);
  bool EndNext(Budget& budget, const Instant& at);
  void End(const WindowLists::Name& name, const WindowLists::Entry& entry, const Instant& at);
  uint32_t CopyOfInside(uint32_t counter);
  // Whether a window that ends then has been handed out though it is not frozen.
  bool IsEnded(EngineTime end) const noexcept { return end <= floor_; }
  void HandOut(uint32_t number, Reason reason, EngineTime ripe, uint64_t order, bool by_event,
               const Instant& at);
  void AddToCoarse(const Window& window);
  void AddToValue(Counter& counter, uint32_t number);
  void NoteFrozen(const Window& window) noexcept;
  static uint64_t OrderOf(const WindowLists::Name& name, uint64_t arrival) noexcept {
    return uint64_t{name.resolution} << 60 | arrival;
  }
  void DropFrozen(const WindowLists::Name& name, uint32_t counter);
  void ReleaseWindow(uint32_t number);
  void DropEvents(uint32_t window);
  EngineTime StartOf(const WindowLists::Name& name) const noexcept {
    return windowing_.StartOf(name.end - Duration{1}, name.resolution);
  }
  EngineTime EndOf(const Window& window) const noexcept {
    return windowing_.EndOf(window.start, window.resolution);
  }
  bool forgets() const noexcept { return forget_after_ != kForever; }
  WindowLists::Name LastOf(const Counter& counter) const noexcept;
  bool IsOver(uint32_t number) const;
  bool IsHeld(uint32_t number) const;
  void ForgetUnlessHeld(uint32_t number);
  void ForgetReleased();
  void ForgetShared();
  void Forget(uint32_t number);

  // --- Values
  uint32_t FindLive(const PackedKey& key, uint64_t hash) const;
  EngineTime AsOf() const noexcept { return windowing_.AsOf(windowing_.FrontierAt(latest_.now())); }
  using SeeWindow = absl::FunctionRef<void(const Total& total, uint32_t window, EngineTime start)>;
  void ForEachOpen(const Counter& counter, SeeWindow see) const;
  Total ValueBefore(uint32_t number, EngineTime until) const;
  Total ValueOf(uint32_t number) const;
  EngineTime CoveredUpTo(uint32_t number) const;
  static void AddToSum(const Total& total, const Detail* detail, Total& sum) noexcept;
  // Whether a sum has no room in so many bits. A frozen part of 62 bits and four million windows of
  // 40 bits saturate nowhere on their way, so the order of adding does not show.
  static constexpr int kFrozenBits = 62;
  static constexpr int kOpenBits = 40;
  static constexpr bool IsFar(int64_t sum, int bits) noexcept {
    return sum >> bits != 0 && sum >> bits != -1;
  }
  const Detail* DetailOf(uint32_t window) const;
  Total TotalOf(const Counter& counter, uint8_t resolution, EngineTime start) const;
  EngineTime FrozenUpTo(uint32_t number) const;
  void WriteShared(uint32_t number, EngineTime until);
  void Adopt(uint32_t number, Publications::State& state, EngineTime until, const Total& total);
  void Finish(uint32_t number);
  size_t bytes() const noexcept;

  // --- OutboxBook
  bool EmitDue(const Instant& at, size_t most) override;
  HashedKey KeyOf(uint32_t entry) const noexcept override;
  Rank RankOf(uint32_t entry) const noexcept override;
  void Prefetch(uint32_t entry) const noexcept override { counters_.PrefetchWindow(entry); }
  ClosedGroup Show(const Ready& ready) const noexcept override;
  ClosedGroup GiveAway(const Ready& ready) override { return Show(ready); }
  void FreeGiven(uint32_t entry) noexcept override { Free(entry); }
  void Free(uint32_t entry) noexcept;
  void Discard(const Ready& ready) noexcept override { Free(ready.entry); }
  void SaveEntry(FieldWriter& out, uint32_t entry) const override;
  uint32_t LoadEntry(FieldReader& in) override;

  // --- Stored

  // What is written piece by piece, as it was at BeginSave() if it does not lie elsewhere.
  struct Saving {
    enum Part { kCounters, kLooseWindows, kLists, kListsSaved, kWaiting, kIds, kOutbox };
    Part part = kCounters;
    size_t next = 0;             // of the part, if that is a vector
    PlaceNumbers counters;       // those that were written
    uint32_t released_next = 0;  // the book's
    std::vector<WindowLists::Rest> lists;
    uint64_t arrival = 0;           // of the list's latest entry
    std::vector<uint32_t> waiting;  // counters, for the store
    bool has_ids = false;
    std::vector<FieldWriter::Piece> outbox;
    // Of emissions in the outbox, by window; those of other windows are not touched, so that most of
    // this takes no memory. And how many emissions there are.
    std::unique_ptr<uint32_t[]> order;
    uint32_t emissions = 0;
  };
  size_t SaveCounter(FieldWriter& out, uint32_t number) const override;
  void SaveLoose(FieldWriter& out, uint32_t number) const override;
  size_t SaveChain(FieldWriter& out, uint32_t head) const;
  void SaveWindow(FieldWriter& out, uint32_t number) const;
  static void SaveDetail(FieldWriter& out, const Detail& detail, const Window& window);
  bool SaveLists(FieldWriter& out);
  bool SaveWaiting(FieldWriter& out);
  // While Load() runs: our own numbers, by those in the bytes.
  struct Renumbered {
    std::vector<uint32_t> counters;
    std::vector<uint32_t> waiting;  // windows, by their emission in the outbox; kNone: not met yet
    uint32_t emissions = 0;         // how many of these were read
  };
  void LoadAll(FieldReader& in, const Instant& at);
  bool LoadCounter(FieldReader& in);
  void LoadKnown(FieldReader& in, uint32_t number, uint8_t flags);
  bool LoadLoose(FieldReader& in);
  void LoadWaiting(FieldReader& in, uint32_t number);
  void LoadChain(FieldReader& in, uint32_t counter, uint8_t chain);
  void LoadWindow(FieldReader& in, uint32_t counter, uint8_t chain);
  void LoadDetail(FieldReader& in, Detail& detail, const Window& window);
  void LoadLists(FieldReader& in);
  void LoadList(FieldReader& in, WindowLists::Stage stage, const WindowLists::Name& name,
                bool first);
  void LoadQueue(FieldReader& in);
  uint32_t LoadNumber(FieldReader& in) const;
  bool AllAreNamed() const;

  // --- Whether the parts agree
  struct Tally {
    uint64_t pending = 0;  // events in windows of the first resolution that are not frozen
    uint64_t delta = 0;    // and the sum of their deltas
    uint64_t open = 0;
    uint64_t open_first = 0;  // of these: of the first resolution
    uint64_t unfrozen = 0;    // open or ended
    size_t inside = 0;        // of these: inside counters
    uint64_t kept = 0;
    uint64_t kept_first = 0;
  };
  Tally TallyWindows() const;
  bool CountsAgree(const Tally& tally) const;
  bool ListsAgree(const Tally& tally) const;
  bool HasCoarse(uint32_t number, EngineTime start) const;
  bool HasUnpublished(uint32_t number, EngineTime until) const;
  using SeeEntry = absl::FunctionRef<void(const WindowLists::Entry& entry, bool passed)>;
  void ForEachNeeded(WindowLists::Stage stage, const WindowLists::List& list, SeeEntry see) const;

  // Members that every event reads lie close together.
  const Duration first_length_;
  bool plain_;  // events may be added plainly: without clears, and while no counter is being saved
  Latest latest_;
  EngineTime floor_ = kBeginningOfTime;  // what is stamped before has ended
  const Windowing windowing_;
  RollupLedger ledger_;
  CounterTable counters_;
  WindowLists lists_;

  const uint32_t partition_;
  const HashKey& hash_key_;
  const HashKey& name_key_;
  PagePool& pool_;
  const RollupLimits limits_;
  const OnLateAdd on_late_;
  const bool clears_;
  const Duration horizon_;
  const Duration retention_;   // how long frozen windows are kept
  const size_t inside_bytes_;  // for a window inside, which goes outside where frozen ones are kept
  const Duration forget_after_;                   // at least as long
  EngineTime as_of_ = kBeginningOfTime;           // all windows that end by then have been frozen
  std::unique_ptr<EventIds> ids_;                 // null: there was no id yet
  std::unordered_map<uint32_t, Detail> details_;  // by window
  size_t detail_bytes_ = 0;
  size_t kept_ = 0;                                  // frozen windows in chains
  std::unordered_map<uint32_t, uint64_t> corrects_;  // by correction: a generation
  std::unordered_map<uint32_t, std::shared_ptr<SharedCount>> shared_;  // by counter
  size_t visits_ = 0;  // since the latest look at all of them
  const std::shared_ptr<FrozenTime> frozen_time_;
  std::set<uint32_t> released_;  // counters to be forgotten once nobody holds them
  uint32_t released_next_ = 0;   // where the next look at them begins
  uint64_t windows_opened_ = 0;  // of the first resolution
  uint64_t windows_closed_ = 0;
  size_t inside_ = 0;                                // windows inside counters
  std::array<uint64_t, kFirstReasons> emissions_{};  // by IndexOf(reason)
  const std::unique_ptr<Publications> store_;        // null: there is no store
  mutable CountedWindow shown_[kGivenMax];           // of the latest Show()s, in a ring
  mutable size_t next_shown_ = 0;
  // While all windows are being ended: their place in the order of emissions, and what is left of the
  // list that is being taken.
  struct Closing {
    uint64_t order = 0;
    WindowLists::Lists::iterator list;
    WindowLists::Rest rest;
  };
  std::unique_ptr<Closing> closing_;
  std::unique_ptr<Saving> saving_;    // null: nothing is being saved
  Renumbered* renumbered_ = nullptr;  // while Load() runs
};

// A window that takes the event is open: its end lies behind a stamp that is not late.
[[gnu::always_inline]] inline bool RollupBook::FoldPlainly(const EventRef& event,
                                                           const Entry& entry, const Instant& at) {
  if (entry.counter == kNone || !plain_) [[unlikely]]
    return false;
  return AddPlainly(event, entry.counter, at);
}

[[gnu::always_inline]] inline bool RollupBook::AddPlainly(const EventRef& event, uint32_t number,
                                                          const Instant& at) {
  const CounterEvent& added = *static_cast<const CounterEvent*>(event.event);
  Counter& counter = counters_.ChangeKept(number);
  const EngineTime now = latest_.TimeOf(at.now);
  const auto into = static_cast<uint64_t>(event.at.time_since_epoch().count()) -
                    static_cast<uint64_t>(counter.start.time_since_epoch().count());
  int64_t sum;
  if (counter.count == 0 || into >= static_cast<uint64_t>(first_length_.count()) ||
      event.at < EarliestAt(now) || !added.id.empty() ||
      added.delta.kind() != Delta::Kind::kInteger || counter.count == UINT32_MAX ||
      __builtin_add_overflow(counter.sum, added.delta.whole(), &sum)) [[unlikely]]
    return false;
  latest_.Reach(at.now);
  counter.sum = sum;
  ++counter.count;
  const auto delta = static_cast<uint64_t>(added.delta.whole());
  ++ledger_.events;
  ++ledger_.added;
  ++ledger_.pending;
  ledger_.delta_added += delta;
  ledger_.delta_pending += delta;
  return true;
}

}  // namespace pleat::inline v0_1
