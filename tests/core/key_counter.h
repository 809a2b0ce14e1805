// A KeyCounter counts events by key and emits the count of each key at the end of its window: the
// windows are `every` long and begin at 1970. A small kind of collection, to copy from: it needs no
// change in engine/. Left out: looking ahead, limits on keys, bytes and the backlog, CloseAll(), late
// events, and a snapshot in steps of the keys that count.
#pragma once

#include <memory>
#include <string_view>
#include <utility>

#include <pleat/emission_source.h>

#include "engine/base/read_fields.h"
#include "engine/core/keyed_collection.h"
#include "engine/core/opening.h"
#include "engine/outbox/plain_outbox_book.h"
#include "engine/table/expiring_table.h"
#include "engine/table/key_arena.h"

namespace pleat {

// What one partition holds. The base brings the emissions and their leases.
class KeyCountBook final : public PlainOutboxBook,
                           public KeyedBookDefaults<FoldCounts, FoldOutcome::kFolded> {
 public:
  using Entry = uint32_t;  // its number in the table

  KeyCountBook(PagePool& pool, const OutboxOptions& options, int partition, Duration every,
               const HashKey& hash_key, const Outbox::Listeners& listeners)
      : PlainOutboxBook(pool, options, static_cast<uint32_t>(partition), listeners),
        every_(every),
        hash_key_(hash_key),
        keys_(pool),
        table_(pool, sizeof(Window), every, Entries{*this}) {}

  Entry Find(const EventRef& event) const {
    return table_.Find(event.hash, [&](Entry n) { return At(n).key == event.key; });
  }
  Entry Find(const EventRef& event, Guess, const Newcomers&) const { return Find(event); }
  bool FoldPlainly(const EventRef&, Entry number, const Instant& at) {
    if (number == table_.kNone || At(number).due <= at.now) return false;
    ++At(number).count;
    ++ledger_.events, ++ledger_.folded;
    return true;
  }
  FoldOutcome FoldSlowly(const EventRef& event, Entry number, const Instant& at) {
    if (number != table_.kNone) table_.Unindex(number);  // it is due: time hands it out
    const EngineTime due = SaturatingAdd(at.now, every_ - at.now.time_since_epoch() % every_);
    number = New({1, due, at.position, event.key, static_cast<uint32_t>(event.hash)});
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
      const auto reason = static_cast<uint8_t>(Reason::kMaxWait);
      outbox_.Push({due.ripe, due.order, 0, due.number, /*by_event=*/false, reason}, at);
    });
  }
  EngineTime NextDue() const noexcept override { return table_.NextDue(); }
  Ledger ledger() const noexcept override { return outbox_.AddedTo(ledger_); }
  void CheckWhole() const override { table_.CheckWhole(), outbox_.CheckWhole(); }
  // A snapshot has the keys whose windows are open, and then the emissions, in steps.
  bool BeginSave(FieldWriter& out, Copies& copies) override {
    ledger_.Stored(out);
    out.PutNumber(ledger_.open);
    table_.ForEach([&](Entry number) {
      if (!table_.cold(number).armed) return;  // an emission
      SaveEntry(out, number), out(bool{table_.cold(number).indexed});
    });
    outbox_.BeginSave(out, copies);
    return true;
  }
  void Load(FieldReader& in, const Instant& at) override {
    ledger_.Stored(in);
    for (uint64_t left = in.Number(); left > 0 && in.ok(); --left) {
      const Entry number = LoadEntry(in);
      bool indexed = false;
      in(indexed);
      if (!in.ok()) return;
      const EventRef event{At(number).key, At(number).key.HashWith(hash_key_), nullptr, {}};
      if (!in.Expect(!indexed || Find(event) == table_.kNone)) return;
      if (indexed) table_.Index(event.hash, number);
      table_.Arm(number);
    }
    if (in.ok()) outbox_.Load(in, at), in.Expect(ledger().Balances());
  }

 private:
  struct Window {
    uint64_t count;
    EngineTime due;
    uint64_t position;  // of the event that opened it
    PackedKey key;
    uint32_t hash;
  };
  struct Entries {
    const KeyCountBook& book;
    uint32_t HashOf(Entry n) const noexcept { return book.At(n).hash; }
    EngineTime DueOf(Entry n) const noexcept { return book.At(n).due; }
    uint64_t OrderOf(Entry n) const noexcept { return book.At(n).position; }
    void Prefetch(Entry n) const noexcept { book.Prefetch(n); }
    uint64_t Version() const noexcept { return 0; }  // deadlines are fixed
  };
  const Window& At(Entry n) const { return *reinterpret_cast<const Window*>(table_.hot(n)); }
  Window& At(Entry n) { return *reinterpret_cast<Window*>(table_.hot(n)); }
  Entry New(Window window) {
    window.key = keys_.Keep(window.key);
    const Entry number = table_.New();
    ::new (table_.hot(number)) Window(window);
    return number;
  }

  HashedKey KeyOf(Entry n) const noexcept override { return {At(n).key, At(n).hash}; }
  Rank RankOf(Entry n) const noexcept override { return {At(n).due, At(n).position}; }
  void Prefetch(Entry n) const noexcept override { pleat::Prefetch(&At(n)); }
  ClosedGroup Show(const Ready& ready) const noexcept override {
    const Window& window = At(ready.entry);
    ClosedGroup shown;
    shown.count = window.count;
    shown.key = window.key.view();
    shown.state = const_cast<uint64_t*>(&window.count);  // who takes the emission may write to it
    shown.closed = ready.ripe;
    shown.reason = Reason::kMaxWait;
    shown.id = {outbox_.partition(), ready.generation};
    return shown;
  }
  void FreeGiven(Entry n) noexcept override { keys_.Release(At(n).key), table_.Free(n); }
  void SaveEntry(FieldWriter& out, Entry number) const override {
    out.PutBytes(At(number).key.view());
    out(At(number).count, At(number).position, At(number).due);
  }
  Entry LoadEntry(FieldReader& in) override {
    const std::string_view key = in.Bytes();
    if (!in.Expect(key.size() <= kKeyBytesMax)) return table_.kNone;
    Window window{.key = PackedKey(key)};
    in(window.count, window.position);
    window.due = ReadTime(in);
    window.hash = static_cast<uint32_t>(window.key.HashWith(hash_key_));
    return New(window);
  }

  const Duration every_;
  const HashKey hash_key_;
  Ledger ledger_;
  KeyArena keys_;
  ExpiringTable<Entries> table_;
};

class KeyCounter : public EmissionSource<uint64_t> {
 public:
  // Fails if an option is out of range, or the engine has a collection of this name.
  static absl::StatusOr<KeyCounter> Open(Engine& engine, std::string_view name, Duration every,
                                         LeaseOptions leases = {}) {
    absl::Status check = CheckLeases(leases, engine.partitions());
    if (every <= Duration::zero()) check = OutOfRange("every", "above zero");
    auto core = OpenCore<Core>(engine, name, check, every, leases);
    if (!core.ok()) return core.status();
    return KeyCounter(engine, *core);
  }
  KeyCounter(Engine& engine, std::string_view name, Duration every, LeaseOptions leases = {})
      : KeyCounter(*Open(engine, name, every, leases)) {}

  FoldOutcome Count(std::string_view key, EngineTime at) { return core_->Fold(key, nullptr, at); }
  FoldCounts CountBatch(std::span<const KeyedEvent<char>> events) {
    return core_->FoldBatch("CountBatch", AnyBatch::Of(events), {}, {}, std::nullopt);
  }
  Ledger ledger() const { return any_.ledger(); }
  void CheckWhole() { core_->CheckWhole(); }

 private:
  struct Core final : KeyedCollection<KeyCountBook> {
    Core(EngineCore& core, std::string_view its_name, Duration window, LeaseOptions its_leases)
        : KeyedCollection(core, its_name), every(window), leases(its_leases) {}
    std::unique_ptr<Book> MakeBook(int partition) override {
      OutboxOptions share{1'000'000, OnBacklog::kRefuse, leases};
      CutToShares({&share.max_backlog, &share.leases.max_leased, &share.leases.max_dead_letters},
                  partition, engine().partition_count());
      return std::make_unique<KeyCountBook>(engine().pool(), share, partition, every,
                                            engine().hash_key(), listeners(partition));
    }
    Description Describe() const override {
      return Description{.kind = "key counter"}.Add("every", every);
    }
    const Duration every;
    const LeaseOptions leases;
  };
  KeyCounter(Engine& engine, std::shared_ptr<Core> core)
      : EmissionSource(AnyCollection(EngineAccess::CoreOf(engine), core)), core_(std::move(core)) {}
  std::shared_ptr<Core> core_;
};

}  // namespace pleat
