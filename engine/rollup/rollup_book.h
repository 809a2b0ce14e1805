// A RollupBook is one rollup counter inside one partition: the book adds events to windows by key,
// makes windows final when time has come, and puts them into its outbox. It is a pure state machine:
// time, position and budget come in as arguments. Every method runs under the partition's lock, and
// every change comes through Partition::Do().
//
// The parts, none of which knows the book. Each may use those above it:
//
//   RollupClock      the book's time: what is late, which windows are final, what is over
//   BookLedger       the counts
//   CounterWindows   the counters with their windows, and the lists of windows by their end
//   CounterIds       the ids of events that were counted
//   SharedCounts     the counters that are read without a lock
//   Publications     what the store knows; only with a store
//   Forgetter        forgets counters that are over
//   CounterValues    what counters and windows come to
//   Outbox           the emissions that wait for consumers
//   WindowEmitter    brings windows that close, and corrections, into the outbox
//   WindowCloser          closes windows, by time or by a call, and lets go of what is over
//   RollupAdmission  judges events, and makes room for them
//   Publisher        the steps of Publish(); only with a store
//   RollupSaver      writes the book as bytes, while that is asked for; RollupLoader reads them
//
// The book itself finds the counters of events, and adds those that need no care.
//
// Invariant, beside those of the parts: the ledger balances after every call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <pleat/rollup_options.h>
#include <pleat/rollup_values.h>
#include <pleat/stats.h>
#include <pleat/time.h>

#include "engine/base/instant.h"
#include "engine/base/page_pool.h"
#include "engine/outbox/plain_outbox_book.h"
#include "engine/rollup/book_ledger.h"
#include "engine/rollup/counter_ids.h"
#include "engine/rollup/counter_values.h"
#include "engine/rollup/counter_windows.h"
#include "engine/rollup/forgetter.h"
#include "engine/rollup/publications.h"
#include "engine/rollup/publisher.h"
#include "engine/rollup/rollup_admission.h"
#include "engine/rollup/rollup_check.h"
#include "engine/rollup/rollup_clock.h"
#include "engine/rollup/rollup_loader.h"
#include "engine/rollup/rollup_saver.h"
#include "engine/rollup/shared_counts.h"
#include "engine/rollup/window_closer.h"
#include "engine/rollup/window_emitter.h"
#include "engine/table/keyed_book.h"

namespace pleat::inline v0_1 {

struct Statistic;

class RollupBook final : public PlainOutboxBook,
                         public KeyedBookDefaults<RollupCounts, AddOutcome::kAdded> {
 public:
  using Guess = RollupAdmission::Guess;
  using Entry = RollupAdmission::Entry;
  static bool IsTooLong(const void* event) noexcept {
    return static_cast<const CounterEvent*>(event)->id.size() > kKeyBytesMax;
  }

  // `options` holds this partition's share of the limits. `hash_key` is that of the events' hashes.
  // All arguments outlive the book.
  RollupBook(PagePool& pool, const RollupOptions& options, const HashKey& hash_key,
             const HashKey& name_key, uint32_t partition, const Outbox::Listeners& listeners);

  // --- An event, for KeyedCollection

  void PrefetchIndex(const EventRef& event, Guess& guess) const noexcept {
    counters().PrefetchIndex(event.hash);
    const std::string_view id = static_cast<const CounterEvent*>(event.event)->id;
    const EventIds* const ids = ids_.get();
    guess.named = ids != nullptr && !id.empty();
    if (!guess.named) return;
    guess.name = ids->NameOf(event.key, id);
    ids->Prefetch(guess.name);
  }
  void PrefetchEntry(const EventRef& event, Guess& guess) const noexcept {
    guess.counter = counters().PrefetchCounter(event.hash);
    guess.removals = counters().removals();
  }
  void PrefetchRest(const Guess& guess) const noexcept;
  Entry Find(const EventRef& event) const {
    return {counters().Find(event.key, event.hash), nullptr};
  }
  Entry Find(const EventRef& event, const Guess& guess, const Newcomers& newcomers) const {
    if (guess.counter == kNone && !newcomers.MayHave(event.hash)) return {kNone, &guess};
    const bool right = guess.counter != kNone && guess.removals == counters().removals() &&
                       counters().at(guess.counter).key == event.key;
    return {right ? guess.counter : windows_.CounterOf(event), &guess};
  }
  // Adds the event if it has no id and its counter's newest window takes it as it is.
  bool FoldPlainly(const EventRef& event, const Entry& entry, const Instant& at);
  // Adds or refuses any event; see RollupAdmission.
  AddOutcome FoldSlowly(const EventRef& event, const Entry& entry, const Instant& at) {
    if (counters().saving()) [[unlikely]]
      return FoldWhileSaving(event, entry, at);
    return admission_.Take(event, entry, at);
  }
  AddOutcome Refuse(AddOutcome why, const Instant&) noexcept { return admission_.Refuse(why); }
  // The event's bytes are not read: it is a clear.
  AddOutcome Clear(const EventRef& event, std::string_view id, const Instant& at) {
    return admission_.Clear(event, id, at);
  }

  // --- Reads; see CounterValues

  std::optional<EventualCount> Eventual(const PackedKey& key, uint64_t hash, const Instant& at) {
    return values_.Eventual(key, hash, at);
  }
  AccurateCount Accurate(const PackedKey& key, uint64_t hash, const Instant& at) {
    return values_.Accurate(key, hash, at);
  }
  // From the last end of a final window to now.
  Duration FinalLag(const Instant& at) {
    return std::max(clock_.Reach(at.now) - clock_.AsOf(), Duration{0});
  }
  void History(const PackedKey& key, uint64_t hash, EngineTime from, EngineTime to,
               uint8_t resolution, const Instant& at, std::vector<CountedWindow>& out) {
    values_.History(key, hash, from, to, resolution, at, out);
  }
  void WindowAround(EngineTime around, uint8_t resolution, const Instant& at,
                    CounterValues::SeeTop see) {
    values_.WindowAround(around, resolution, at, see);
  }
  using SeeOpen = CounterValues::SeeOpen;
  void ScanOpen(const Instant& at, SeeOpen see) { values_.ScanOpen(at, see); }
  // The count of a counter, which is made if it is not there; null at a limit.
  std::shared_ptr<const SharedCount> Share(const EventRef& event, const Instant& at);

  // --- The store; see Publisher

  using Step = Publisher::Step;
  void TakeUnpublished(size_t max, const Instant& at, std::vector<std::string>& keys);
  Step TakeLoaded(const EventRef& counter, const absl::StatusOr<Checkpoint>& loaded,
                  const Instant& at, Checkpoint& ours);
  Step TakeKept(const EventRef& counter, const Checkpoint& ours,
                const absl::StatusOr<Checkpoint>& kept, const Instant& at);
  // The store has listed a key. A counter that is not there yet begins with the checkpoint, unless it
  // would be over. Returns false at a limit.
  bool TakeListed(const EventRef& counter, const Checkpoint& listed, const Instant& at);
  // How many counters wait to be taken, and how many are not in line with the store.
  size_t queued() const noexcept { return store_ == nullptr ? 0 : store_->queued(); }
  size_t unpublished() const noexcept { return store_ == nullptr ? 0 : store_->undone(); }

  // --- Other options

  // `options` holds this partition's share of the limits. REQUIRES: only those differ that
  // RollupCounter::SetOptions() can change. O(what is over by them).
  void SetOptions(const RollupOptions& options, const Instant& at);

  // --- All counters

  // The largest end of the open windows; those that are due are final before.
  EngineTime LastOpenEnd(const Instant& at);
  // From here to FinishClosing() nothing but EmitDue() comes: it ends all open windows, in order.
  // Events stamped before `floor`, which is not before any of their ends, are late from now on.
  void BeginClosing(EngineTime floor, const Instant& at);
  void FinishClosing(const Instant& at) override { closer_.FinishClosing(at); }
  bool CloseDue(const Instant& at, Budget& budget) override;
  EngineTime NextDue() const noexcept override { return closer_.NextDue(); }
  Ledger ledger() const noexcept override { return ledger_.OfGroups(outbox_); }
  RollupLedger rollup_ledger() const noexcept { return ledger_.OfCounters(); }
  RollupSizes rollup_sizes() const noexcept;
  size_t held_bytes() const noexcept override { return sizeof(*this) + pages_.bytes(); }
  bool BeginSave(FieldWriter& out, Copies& copies) override;
  bool SaveNext(FieldWriter& out) override;
  void EndSave() noexcept override;
  void Load(FieldReader& in, const Instant& at) override;
  void CheckWhole() const override { check().CheckWhole(); }

 private:
  static constexpr uint32_t kNone = CounterTable::kNone;

  CounterTable& counters() noexcept { return windows_.counters(); }
  const CounterTable& counters() const noexcept { return windows_.counters(); }
  RollupCheck check() const noexcept {
    return RollupCheck({clock_, windows_, ids_, store_.get(), values_, outbox_, ledger_});
  }
  void SetPlain() noexcept { plain_ = !windows_.clears().on() && !counters().saving(); }
  bool AddPlainly(const EventRef& event, uint32_t number, const Instant& at);
  [[gnu::cold]] AddOutcome FoldWhileSaving(const EventRef& event, const Entry& entry,
                                           const Instant& at);

  // --- OutboxBook
  size_t bytes() const noexcept override { return admission_.bytes(); }
  bool EmitDue(const Instant& at, size_t most) override;
  HashedKey KeyOf(uint32_t entry) const noexcept override { return emitter_.KeyOf(entry); }
  Rank RankOf(uint32_t entry) const noexcept override { return emitter_.RankOf(entry); }
  void Prefetch(uint32_t entry) const noexcept override { emitter_.Prefetch(entry); }
  ClosedGroup Show(const Ready& ready) const noexcept override { return emitter_.Show(ready); }
  ClosedGroup GiveAway(const Ready& ready) override { return emitter_.Show(ready); }
  void FreeGiven(uint32_t entry) noexcept override { emitter_.Free(entry); }
  void SaveEntry(FieldWriter&, uint32_t entry) const override { saver_->NoteEmission(entry); }
  uint32_t LoadEntry(FieldReader& in) override { return loader_->NextEmission(in); }

  // Members that every event reads lie close together.
  bool plain_;  // events may be added plainly: without clears, and while no counter is being saved
  RollupClock clock_;
  BookLedger ledger_;
  CounterWindows windows_;
  CounterIds ids_;
  SharedCounts shared_;
  const std::unique_ptr<Publications> store_;  // null: there is no store
  Forgetter forgetter_;
  CounterValues values_;
  WindowEmitter emitter_;
  WindowCloser closer_;
  RollupAdmission admission_;
  const std::unique_ptr<Publisher> publisher_;  // null: there is no store
  const HashKey& hash_key_;                     // for Load()
  const bool corrects_;
  std::unique_ptr<RollupSaver> saver_;  // null: nothing is being saved
  RollupLoader* loader_ = nullptr;      // while Load() runs
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
  CounterTable::Counter& counter = counters().ChangeKept(number);
  const EngineTime now = clock_.TimeOf(at.now);
  const auto into = static_cast<uint64_t>(event.at.time_since_epoch().count()) -
                    static_cast<uint64_t>(counter.start.time_since_epoch().count());
  int64_t sum;
  if (counter.count == 0 ||
      into >= static_cast<uint64_t>(clock_.windowing().first_length().count()) ||
      event.at < clock_.EarliestAt(now) || !added.id.empty() ||
      added.delta.kind() != Delta::Kind::kInteger || counter.count == UINT32_MAX ||
      __builtin_add_overflow(counter.sum, added.delta.whole(), &sum)) [[unlikely]]
    return false;
  clock_.Reach(at.now);
  counter.sum = sum;
  ++counter.count;
  ++ledger_.events;
  ++ledger_.added;
  ledger_.NoteAdded(static_cast<uint64_t>(added.delta.whole()));
  return true;
}

// What a collection with these counts tells. `final_lag`: by which the final windows trail the engine's time.
std::vector<Statistic> StatisticsOf(const RollupLedger& ledger, const RollupSizes& sizes,
                                    std::optional<Duration> final_lag);

}  // namespace pleat::inline v0_1
