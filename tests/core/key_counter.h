// A KeyCounter counts events by key and emits the count of each key at the end of its window: the
// windows are `every` long and begin at 1970. A small kind of collection, to copy from: it needs no
// change in engine/. A kind has four parts:
//
//   KeyCountBook   what one partition holds. Its base brings the emissions and their leases.
//   Core           makes the books, says what a snapshot has to find, and takes events and batches
//   KeyCounter     what a program holds
//   save and load  BeginSave(), SaveEntry() and their counterparts. The keys that count are written at
//                  once, which holds the lock for so long; fold_book.cc writes them in steps.
//
// Left out: limits on keys and bytes, CloseAll() of keys that count, events that are late.
#pragma once

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include <pleat/emission_source.h>

#include "engine/base/read_fields.h"
#include "engine/core/keyed_collection.h"
#include "engine/core/statistics.h"
#include "engine/table/expiring_table.h"
#include "engine/table/key_arena.h"

namespace pleat {

class KeyCountBook final : public OutboxBook, public KeyedBookDefaults {
 public:
  using Outcome = FoldOutcome;
  using Counts = FoldCounts;
  using Entry = uint32_t;  // its number
  using Guess = uint32_t;  // the look ahead only warms the cache
  static constexpr size_t kOutcomes = kFoldOutcomes;
  static constexpr Outcome kPlain = FoldOutcome::kFolded;

  KeyCountBook(PagePool& pool, const OutboxOptions& options, uint32_t partition, Duration every,
               const HashKey& hash_key, const Outbox::Listeners& listeners)
      : OutboxBook(pool, options, partition, listeners),
        partition_(partition),
        every_(every),
        hash_key_(hash_key),
        keys_(pool),
        table_(pool, sizeof(Counted), every, Entries{*this}) {}

  void PrefetchIndex(const EventRef& event, Guess&) const { table_.PrefetchIndex(event.hash); }
  void PrefetchEntry(const EventRef& event, Guess& guess) const {
    guess = table_.Guess(event.hash);
  }
  uint32_t Find(const EventRef& event) const {
    return table_.Find(event.hash, [&](uint32_t n) { return At(n).key == event.key; });
  }
  uint32_t Find(const EventRef& event, Guess, const Newcomers&) const { return Find(event); }

  bool FoldPlainly(const EventRef&, uint32_t number, const Instant& at) {
    if (number == table_.kNone || At(number).due <= at.now) return false;
    ++At(number).count;
    ++ledger_.events, ++ledger_.folded;
    return true;
  }
  FoldOutcome FoldSlowly(const EventRef& event, uint32_t number, const Instant& at) {
    if (number != table_.kNone) table_.Unindex(number);  // due; emitted in its order
    const EngineTime due = at.now + every_ - at.now.time_since_epoch() % every_;
    number = New(event.key, event.hash, {1, due, at.position});
    table_.Index(event.hash, number);
    table_.Arm(number);
    ++ledger_.events, ++ledger_.opened, ++ledger_.open;
    return FoldOutcome::kOpened;
  }
  FoldOutcome Refuse(FoldOutcome why, const Instant&) noexcept {
    ++ledger_.events, ++(why == FoldOutcome::kFuture ? ledger_.future : ledger_.over_limit);
    return why;
  }

  bool CloseDue(const Instant& at, Budget& budget) override {
    return table_.ApplyDue(at.now, budget, [&](const Due& due) {
      if (table_.cold(due.number).indexed) table_.Unindex(due.number);
      --ledger_.open, ++ledger_.closed, ++ledger_.emissions[IndexOf(Reason::kMaxWait)];
      constexpr auto kReason = static_cast<uint8_t>(Reason::kMaxWait);
      outbox_.Push({due.ripe, due.order, 0, due.number, /*by_event=*/false, kReason}, at);
    });
  }
  EngineTime NextDue() const noexcept override { return table_.NextDue(); }
  Ledger ledger() const noexcept override {
    Ledger ledger = ledger_;
    outbox_.AddTo(ledger);
    return ledger;
  }
  Sizes sizes() const noexcept override {
    const Ledger now = ledger();
    return {.open_groups = now.open,
            .ready_emissions = now.ready,
            .unacked_emissions = now.unacked,
            .dead_letters = now.dead};
  }

  // The keys that count, and then the emissions, in steps.
  bool BeginSave(FieldWriter& out) override {
    ledger_.Stored(out);
    out.PutNumber(ledger_.open);
    table_.ForEach([&](uint32_t number) {
      if (!table_.cold(number).armed) return;
      out(static_cast<bool>(table_.cold(number).indexed));
      SaveEntry(out, number);
    });
    outbox_.BeginSave(out);
    return true;
  }
  bool SaveNext(FieldWriter& out) override { return outbox_.SaveNext(out); }
  void EndSave() noexcept override { outbox_.EndSave(); }
  void Load(FieldReader& in, const Instant& at) override {
    ledger_.Stored(in);
    for (uint64_t left = in.Number(); left > 0 && in.ok(); --left) {
      bool indexed = false;
      in(indexed);
      const uint32_t number = LoadEntry(in);
      if (!in.ok()) return;
      const uint64_t hash = At(number).key.HashWith(hash_key_);
      const auto same = [&](uint32_t n) { return At(n).key == At(number).key; };
      if (indexed && in.Expect(table_.Find(hash, same) == table_.kNone)) table_.Index(hash, number);
      table_.Arm(number);
    }
    if (in.ok()) outbox_.Load(in, at);
    if (in.ok()) in.Expect(ledger().Balances());
  }
  void CheckWhole() const override {
    table_.CheckWhole();
    outbox_.CheckWhole();
  }

 private:
  struct Window {
    uint64_t count;
    EngineTime due;
    uint64_t position;  // of the event that opened it
  };
  struct Counted : Window {
    PackedKey key;
    uint32_t hash;
  };
  struct Entries {
    const KeyCountBook& book;
    uint32_t HashOf(uint32_t number) const noexcept { return book.At(number).hash; }
    EngineTime DueOf(uint32_t number) const noexcept { return book.At(number).due; }
    uint64_t OrderOf(uint32_t number) const noexcept { return book.At(number).position; }
    void Prefetch(uint32_t number) const noexcept { pleat::Prefetch(&book.At(number)); }
    uint64_t Version() const noexcept { return 0; }  // deadlines are fixed
  };
  const Counted& At(uint32_t number) const noexcept {
    return *reinterpret_cast<const Counted*>(table_.hot(number));
  }
  Counted& At(uint32_t number) noexcept { return *reinterpret_cast<Counted*>(table_.hot(number)); }
  uint32_t New(const PackedKey& key, uint64_t hash, const Window& window) {
    const uint32_t number = table_.New();
    ::new (table_.hot(number)) Counted{window, keys_.Keep(key), static_cast<uint32_t>(hash)};
    return number;
  }

  bool EmitDue(const Instant& at, size_t most) override {
    Budget budget(most);
    return CloseDue(at, budget);
  }
  HashedKey KeyOf(uint32_t entry) const noexcept override {
    return {At(entry).key, At(entry).hash};
  }
  Rank RankOf(uint32_t entry) const noexcept override {
    return {At(entry).due, At(entry).position};
  }
  void Prefetch(uint32_t entry) const noexcept override { pleat::Prefetch(&At(entry)); }
  ClosedGroup Show(const Ready& ready) const noexcept override {
    ClosedGroup shown;
    shown.count = At(ready.entry).count;
    shown.key = At(ready.entry).key.view();
    // Who takes the emission may write to the state.
    shown.state = const_cast<uint64_t*>(&At(ready.entry).count);
    shown.closed = ready.ripe;
    shown.reason = Reason::kMaxWait;
    shown.id = {partition_, ready.generation};
    return shown;
  }
  ClosedGroup GiveAway(const Ready& ready) override { return Show(ready); }
  void FreeGiven(uint32_t entry) noexcept override { Free(entry); }
  void Free(uint32_t entry) noexcept {
    keys_.Release(At(entry).key);
    table_.Free(entry);
  }
  void Discard(const Ready& ready) noexcept override { Free(ready.entry); }
  void SaveEntry(FieldWriter& out, uint32_t entry) const override {
    out.PutBytes(At(entry).key.view());
    out(At(entry).count, At(entry).due, At(entry).position);
  }
  uint32_t LoadEntry(FieldReader& in) override {
    const std::string_view text = in.Bytes();
    Window window{};
    in(window.count);
    window.due = ReadTime(in);
    in(window.position);
    if (!in.Expect(text.size() <= kKeyBytesMax)) return table_.kNone;
    const PackedKey key(text);
    return New(key, key.HashWith(hash_key_), window);
  }

  const uint32_t partition_;
  const Duration every_;
  const HashKey hash_key_;
  Ledger ledger_;
  KeyArena keys_;
  ExpiringTable<Entries> table_;
};

class KeyCounter : public EmissionSource<uint64_t> {
 public:
  KeyCounter(Engine& engine, std::string_view name, Duration every, LeaseOptions leases = {})
      : KeyCounter(engine,
                   std::make_shared<Core>(*EngineAccess::CoreOf(engine), name, every, leases)) {}

  FoldOutcome Count(std::string_view key, EngineTime at) { return core_->Fold(key, nullptr, at); }
  FoldCounts CountBatch(std::span<const KeyedEvent<char>> events) {
    return core_->FoldBatch("CountBatch", AnyBatch::Of(events), {}, {}, std::nullopt);
  }
  Ledger ledger() const { return core_->ledger(); }
  void CheckWhole() { core_->CheckWhole(); }

 private:
  struct Core final : KeyedCollection<KeyCountBook> {
    Core(EngineCore& core, std::string_view its_name, Duration window, LeaseOptions its_leases)
        : KeyedCollection(core, its_name), every(window), leases(its_leases) {}
    std::unique_ptr<Book> MakeBook(int partition) override {
      OutboxOptions options{1'000'000, OnBacklog::kRefuse, leases};
      CutToShares(
          {&options.max_backlog, &options.leases.max_leased, &options.leases.max_dead_letters},
          partition, engine().partition_count());
      return std::make_unique<KeyCountBook>(engine().pool(), options,
                                            static_cast<uint32_t>(partition), every,
                                            engine().hash_key(), listeners(partition));
    }
    Description Describe() const override {
      Description counter;
      counter.kind = "key counter";
      counter.Add("every", every);
      return counter;
    }
    std::vector<uint64_t> CountEntries() const override {
      return CountInBooks<KeyCountBook>(
          [](const KeyCountBook& book) { return book.ledger().open; });
    }
    std::vector<Statistic> Statistics() override {
      const Ledger now = ledger();
      StatisticList out;
      out.Events({{"opened", now.opened}, {"folded", now.folded}, {"over_limit", now.over_limit}});
      out.Ready(now.ready);
      out.Gauge("pleat_windows_open", "Windows that count now.", now.open);
      return std::move(out).Take();
    }
    const Duration every;
    const LeaseOptions leases;
  };
  KeyCounter(Engine& engine, const std::shared_ptr<Core>& core)
      : EmissionSource(AnyCollection(EngineAccess::CoreOf(engine), core)), core_(core) {
    PLEAT_CHECK(EngineAccess::CoreOf(engine)->Add(core_).ok());
  }

  std::shared_ptr<Core> core_;
};

}  // namespace pleat
