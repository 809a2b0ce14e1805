// A rollup counter of an engine: RollupCore, the collection whose books are RollupBooks, and the
// handle, which refuses to be called from inside another call.
#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include <pleat/metrics.h>
#include <pleat/rollup.h>

#include "engine/base/check.h"
#include "engine/base/inside.h"
#include "engine/core/add_counts.h"
#include "engine/core/keyed_collection.h"
#include "engine/core/opening.h"
#include "engine/rollup/rollup_book.h"

namespace pleat::inline v0_1 {

extern template class KeyedCollection<RollupBook>;

class RollupCore final : public KeyedCollection<RollupBook> {
 public:
  RollupCore(EngineCore& engine, std::string_view name, const RollupOptions& options)
      : KeyedCollection(engine, name), options_(options) {}

  bool clears() const noexcept { return options_.clears; }

  // The methods of RollupCounter.
  AddedCount AddAndGet(std::string_view key, const CounterEvent& event, EngineTime at);
  AddOutcome Clear(std::string_view key, EngineTime at, std::string_view id);
  std::optional<EventualCount> Eventual(std::string_view key) {
    return Ask(key, std::optional<EventualCount>(),
               [](RollupBook& book, const auto& packed, uint64_t hash, const Instant& at) {
                 return book.Eventual(packed, hash, at);
               });
  }
  AccurateCount Accurate(std::string_view key) {
    return Ask(key, AccurateCount{.amount = {}, .loaded = options_.store == nullptr},
               [](RollupBook& book, const auto& packed, uint64_t hash, const Instant& at) {
                 return book.Accurate(packed, hash, at);
               });
  }
  std::vector<CountedWindow> History(std::string_view key, EngineTime from, EngineTime to,
                                     Duration window);
  std::vector<TopCount> Top(size_t n, EngineTime at, Duration window);
  void ScanOpen(RollupBook::SeeOpen see) {
    LookAtEach([&](RollupBook& book, const Instant& at) { book.ScanOpen(at, see); });
  }
  CounterRef Ref(std::string_view key, const std::shared_ptr<EngineCore>& core);
  Publication Publish(size_t max);
  RollupLedger rollup_ledger() {
    return Sum<RollupBook>([](const RollupBook& book) { return book.rollup_ledger(); });
  }
  RollupSizes rollup_sizes() {
    return Sum<RollupBook>([](const RollupBook& book) { return book.rollup_sizes(); });
  }

  Description Describe() const override;
  std::vector<Statistic> Statistics() override {
    return StatisticsOf(rollup_ledger(), rollup_sizes(), FinalLag());
  }
  std::vector<uint64_t> CountEntries() const override {
    return CountInBooks<RollupBook>(
        [](const RollupBook& book) { return book.rollup_sizes().keys; });
  }

 private:
  void BeginClosing(EngineTime now, LeaseTime leases) override;
  std::unique_ptr<Book> MakeBook(int partition) override {
    RollupOptions share = options_;
    CutToShares({&share.limits.max_keys, &share.limits.max_bytes, &share.limits.max_backlog,
                 &share.leases.max_leased, &share.leases.max_dead_letters},
                partition, engine().partition_count());
    return std::make_unique<RollupBook>(engine().pool(), share, engine().hash_key(),
                                        engine().name_key(), static_cast<uint32_t>(partition),
                                        listeners(partition));
  }
  std::optional<uint8_t> ResolutionOf(Duration window) const noexcept;
  template <class Result, class Look>
  Result Ask(std::string_view key, Result if_absent, const Look& look);
  // A read takes no position: it changes nothing but the time that the book was told.
  template <class Look>
  auto LookAt(const Home& home, const Look& look)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(home.partition->lock()) {
    Timeline& timeline = engine().timeline();
    return home.partition->DoOneOfMany(
        home.partition->CopyFirst(), *home.book, timeline.now(), timeline.lease_now(), 0,
        [&](const Instant& at) { return look(*Typed(home.book), at); });
  }
  template <class Look>
  void LookAtEach(const Look& look) {
    for (size_t i = 0; i < home_count(); ++i) {
      const Home& home = this->home(i);
      LongLockGuard guard(home.partition->lock());
      if (home.book != nullptr) LookAt(home, look);
    }
  }
  template <class Change>
  auto WithCounter(const std::string& key, const Change& change);
  std::optional<Duration> FinalLag();
  void FinalizeDue(const Home& home);
  void Publish(const std::string& key, Publication& publication);

  const RollupOptions options_;
};

namespace {

// How many counters one lock is held for when the store is to be told.
constexpr size_t kPublishedAtOnce = 256;

// How many windows are final under one lock, if nobody waits for it.
constexpr size_t kFinalAtOnce = 1024;

// The largest sums first, then by key.
bool IsBefore(const TopCount& a, const TopCount& b) noexcept {
  const auto rank = [](const TopCount& top) { return std::pair(top.amount.real, top.amount.sum); };
  if (rank(a) != rank(b)) return rank(a) > rank(b);
  return a.key < b.key;
}

}  // namespace

Description RollupCore::Describe() const {
  Description rollup;
  rollup.kind = "rollup";
  for (const Duration length : options_.windows) rollup.Add("windows", length);
  rollup.Add("allowed_lateness", options_.allowed_lateness);
  rollup.Add("margin", options_.margin);
  rollup.Add("on_late", static_cast<uint64_t>(options_.on_late));
  rollup.Add("deduplication_window", options_.deduplication_window);
  rollup.Add("retention", options_.retention);
  rollup.Add("forget_after", options_.forget_after);
  rollup.Add("clears", options_.clears ? "on" : "off");
  rollup.Add("a store", options_.store != nullptr ? "on" : "off");
  return rollup;
}

std::optional<uint8_t> RollupCore::ResolutionOf(Duration window) const noexcept {
  if (window == Duration{0}) return uint8_t{0};
  const auto found = std::ranges::find(options_.windows, window);
  if (found == options_.windows.end()) return std::nullopt;
  return static_cast<uint8_t>(found - options_.windows.begin());
}

// --- Events

AddedCount RollupCore::AddAndGet(std::string_view key, const CounterEvent& event, EngineTime at) {
  if (RollupBook::IsTooLong(&event)) {
    return {.outcome = RefuseTooLong(), .value = Accurate(key)};
  }
  AddedCount added;
  const auto read = [&](RollupBook& book, const EventRef& ref,
                        EngineTime now) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    Partition& partition = *HomeOf(ref.key).partition;
    added.value = partition.DoOneOfMany(
        partition.CopyFirst(), book, now, engine().timeline().lease_now(), 0,
        [&](const Instant& instant) { return book.Accurate(ref.key, ref.hash, instant); });
  };
  added.outcome = FoldAnd(key, &event, at, read);
  return added;
}

AddOutcome RollupCore::Clear(std::string_view key, EngineTime at, std::string_view id) {
  if (key.size() > kKeyBytesMax || id.size() > kKeyBytesMax) return RefuseTooLong();
  const PackedKey packed(key);
  Home& home = HomeOf(packed);
  const EventRef ref{packed, HashOf(packed), nullptr, Clamp(at)};
  Timeline& timeline = engine().timeline();
  LockGuard guard(home.partition->lock());
  const Partition::Copied* const copied = home.partition->CopyFirstUnlessStopped();
  if (copied == nullptr) return AddOutcome::kStopped;
  RollupBook* const book = Typed(BookFor(home));
  if (book == nullptr) return AddOutcome::kStopped;
  EngineTime now;
  if (!timeline.Observe(ref.at, now)) {
    return Do(home,
              [&](const Instant& instant) { return book->Refuse(AddOutcome::kFuture, instant); });
  }
  return home.partition->Do(*copied, *book, now, timeline.lease_now(), timeline.TakePositions(1),
                            [&](const Instant& instant) { return book->Clear(ref, id, instant); });
}

// Which events are late from now on does not depend on how keys are spread over partitions: those are
// that are stamped before the last end of a window in any of them.
void RollupCore::BeginClosing(EngineTime now, LeaseTime leases) ABSL_NO_THREAD_SAFETY_ANALYSIS {
  const uint64_t position = engine().timeline().TakePositions(1);
  EngineTime floor = kBeginningOfTime;
  DoInEach<RollupBook>(now, leases, 0, [&](RollupBook& book, int, const Instant& at) {
    floor = std::max(floor, book.LastOpenEnd(at));
  });
  for (size_t i = 0; floor > kBeginningOfTime && i < home_count(); ++i) {
    Home& home = this->home(i);
    RollupBook* const book = Typed(BookFor(home));
    if (book == nullptr) continue;
    home.partition->Do(home.partition->CopyFirst(), *book, now, leases, position,
                       [&](const Instant& at) { book->BeginClosing(floor, at); });
  }
}

// --- Reads

// The result of `look(book, key, hash, at)`.
template <class Result, class Look>
Result RollupCore::Ask(std::string_view key, Result if_absent, const Look& look) {
  if (key.size() > kKeyBytesMax) return if_absent;
  const PackedKey packed(key);
  const uint64_t hash = HashOf(packed);
  const Home& home = HomeOf(packed);
  LockGuard guard(home.partition->lock());
  if (home.book == nullptr) return if_absent;
  return LookAt(home, [&](RollupBook& book, const Instant& at) -> Result {
    return look(book, packed, hash, at);
  });
}

std::vector<CountedWindow> RollupCore::History(std::string_view key, EngineTime from, EngineTime to,
                                               Duration window) {
  std::vector<CountedWindow> out;
  const std::optional<uint8_t> resolution = ResolutionOf(window);
  if (!resolution) return out;
  Ask(key, 0, [&](RollupBook& book, const PackedKey& packed, uint64_t hash, const Instant& at) {
    book.History(packed, hash, from, to, *resolution, at, out);
    return 0;
  });
  return out;
}

std::vector<TopCount> RollupCore::Top(size_t n, EngineTime around, Duration window) {
  std::vector<TopCount> top;  // a heap, the last of them first, once there are n
  const std::optional<uint8_t> resolution = ResolutionOf(window);
  if (!resolution || n == 0) return top;
  const auto see = [&](std::string_view key, const Amount& amount) {
    if (top.size() == n && amount.real < top.front().amount.real) return;
    TopCount counted{std::string(key), amount};
    if (top.size() < n) {
      top.push_back(std::move(counted));
      std::push_heap(top.begin(), top.end(), IsBefore);
    } else if (IsBefore(counted, top.front())) {
      std::pop_heap(top.begin(), top.end(), IsBefore);
      top.back() = std::move(counted);
      std::push_heap(top.begin(), top.end(), IsBefore);
    }
  };
  LookAtEach([&](RollupBook& book, const Instant& at) {
    book.WindowAround(Clamp(around), *resolution, at, see);
  });
  std::sort_heap(top.begin(), top.end(), IsBefore);
  return top;
}

CounterRef RollupCore::Ref(std::string_view key, const std::shared_ptr<EngineCore>& core) {
  if (key.size() > kKeyBytesMax) return {};
  const PackedKey packed(key);
  Home& home = HomeOf(packed);
  const EventRef ref{packed, HashOf(packed), nullptr, kBeginningOfTime};
  std::shared_ptr<const SharedCount> count;
  {
    LockGuard guard(home.partition->lock());
    if (home.partition->stopped() || BookFor(home) == nullptr) return {};
    Do(home, [&](const Instant& at) { count = Typed(home.book)->Share(ref, at); });
  }
  if (count == nullptr) return {};
  return {std::move(count), core};
}

// --- The store

// Makes final what is due, a part at a time, so that others have their turn at the lock.
void RollupCore::FinalizeDue(const Home& home) {
  for (bool all = false; !all;) {
    LongLockGuard guard(home.partition->lock());
    if (home.book == nullptr) return;
    Budget budget(kFinalAtOnce, home.partition->lock());
    all = Do(home, [&](const Instant& at) { return home.book->CloseDue(at, budget); });
  }
}

Publication RollupCore::Publish(size_t max) {
  Publication publication;
  if (options_.store == nullptr) return publication;
  std::vector<std::string> keys;
  for (size_t i = 0; i < home_count(); ++i) {
    const Home& home = this->home(i);
    FinalizeDue(home);
    // Those that are there now: one that fails waits for the next call.
    size_t left = 0;
    {
      LockGuard guard(home.partition->lock());
      if (home.book != nullptr) left = Typed(home.book)->queued();
    }
    while (left > 0 && max > 0) {
      keys.clear();
      {
        LockGuard guard(home.partition->lock());
        if (home.book == nullptr) break;
        Do(home, [&](const Instant& at) {
          Typed(home.book)->TakeUnpublished(std::min({left, max, kPublishedAtOnce}), at, keys);
        });
      }
      if (keys.empty()) break;
      left -= std::min(left, keys.size());
      max -= keys.size();
      for (const std::string& key : keys) Publish(key, publication);
    }
    LockGuard guard(home.partition->lock());
    if (home.book != nullptr) publication.more |= Typed(home.book)->unpublished() > 0;
  }
  return publication;
}

// Applies `change(book, counter, at)` to the book of a counter; nothing if that is gone.
template <class Change>
auto RollupCore::WithCounter(const std::string& key, const Change& change) {
  const PackedKey packed(key);
  const EventRef counter{packed, HashOf(packed), nullptr, kBeginningOfTime};
  const Home& home = HomeOf(packed);
  LockGuard guard(home.partition->lock());
  if (home.book == nullptr) return RollupBook::Step::kNothing;
  return Do(home, [&](const Instant& at) { return change(*Typed(home.book), counter, at); });
}

void RollupCore::Publish(const std::string& key, Publication& publication) {
  using Step = RollupBook::Step;
  Checkpoint ours;
  const absl::StatusOr<Checkpoint> loaded = options_.store->Load(key);
  Step step = WithCounter(key, [&](RollupBook& book, const EventRef& counter, const Instant& at) {
    return book.TakeLoaded(counter, loaded, at, ours);
  });
  if (step == Step::kWanted) {
    const absl::StatusOr<Checkpoint> kept = options_.store->Publish(key, ours);
    step = WithCounter(key, [&](RollupBook& book, const EventRef& counter, const Instant& at) {
      return book.TakeKept(counter, ours, kept, at);
    });
  }
  publication.published += step == Step::kKept;
  publication.failed += step == Step::kFailed;
}

// The same in every partition that has had an event.
std::optional<Duration> RollupCore::FinalLag() {
  for (size_t i = 0; i < home_count(); ++i) {
    const Home& home = this->home(i);
    LockGuard guard(home.partition->lock());
    if (home.book == nullptr) continue;
    return LookAt(home, [](RollupBook& book, const Instant& at) { return book.FinalLag(at); });
  }
  return std::nullopt;
}

// --- Counts

RollupLedger& RollupLedger::operator+=(const RollupLedger& other) noexcept {
  return AddCounts(*this, other);
}
RollupSizes& RollupSizes::operator+=(const RollupSizes& other) noexcept {
  return AddCounts(*this, other);
}

CounterRef::CounterRef(std::shared_ptr<const SharedCount> count,
                       std::shared_ptr<EngineCore> engine) noexcept
    : count_(std::move(count)), engine_(std::move(engine)) {}

EventualCount CounterRef::Eventual() const noexcept {
  return count_->Read(engine_->timeline().now());
}

// --- The handle

namespace {

absl::Status CheckWindows(const std::vector<Duration>& windows) {
  if (windows.empty() || windows.size() > kResolutionsMax) {
    return OutOfRange("windows", "1 to " + std::to_string(kResolutionsMax) + " lengths");
  }
  for (size_t i = 0; i < windows.size(); ++i) {
    if (windows[i] <= Duration{0}) return OutOfRange("windows", "above zero");
    if (windows[i] == kForever) return OutOfRange("windows", "below kForever");
    if (i > 0 && windows[i] <= windows[i - 1]) return OutOfRange("windows", "ascending");
    if (windows[i] % windows[0] != Duration{0}) {
      return OutOfRange("windows", "multiples of the first one");
    }
  }
  return absl::OkStatus();
}

absl::Status Check(const RollupOptions& options, int partitions) {
  if (absl::Status windows = CheckWindows(options.windows); !windows.ok()) return windows;
  if (options.allowed_lateness < Duration{0}) return OutOfRange("allowed_lateness", "zero or more");
  if (options.allowed_lateness == kForever) {
    return OutOfRange("allowed_lateness", "given, and below kForever: no window would be final");
  }
  if (options.margin < Duration{0} || options.margin == kForever) {
    return OutOfRange("margin", "zero or more, below kForever");
  }
  const bool is_default = options.deduplication_window == Duration{0};
  if (!is_default && (options.deduplication_window < options.allowed_lateness ||
                      options.deduplication_window == kForever)) {
    return OutOfRange("deduplication_window", "allowed_lateness or more, below kForever");
  }
  if (options.retention < Duration{0}) return OutOfRange("retention", "zero or more");
  if (options.forget_after < options.retention) {
    return OutOfRange("forget_after", "retention or more");
  }
  absl::Status limits = CheckLimits({{"limits.max_keys", options.limits.max_keys},
                                     {"limits.max_bytes", options.limits.max_bytes},
                                     {"limits.max_backlog", options.limits.max_backlog}},
                                    partitions);
  return limits.ok() ? CheckLeases(options.leases, partitions) : limits;
}

}  // namespace

RollupCounter::RollupCounter(std::shared_ptr<EngineCore> engine,
                             std::shared_ptr<RollupCore> core) noexcept
    : EmissionSource(AnyCollection(engine, core)),
      engine_(std::move(engine)),
      core_(std::move(core)) {}

absl::StatusOr<RollupCounter> RollupCounter::Open(Engine& engine, std::string_view name,
                                                  const RollupOptions& options) {
  auto core = OpenCore<RollupCore>(engine, name, Check(options, engine.partitions()), options);
  if (!core.ok()) return core.status();
  return RollupCounter(EngineAccess::CoreOf(engine), *std::move(core));
}

RollupCounter RollupCounter::OrEnd(std::string_view name,
                                   absl::StatusOr<RollupCounter> opened) noexcept {
  if (opened.ok()) return *std::move(opened);
  FailToOpen("rollup counter", name, opened.status());
}

RollupCounter::RollupCounter(Engine& engine, std::string_view name,
                             const RollupOptions& options) noexcept
    : RollupCounter(OrEnd(name, Open(engine, name, options))) {}

AddOutcome RollupCounter::Add(std::string_view key, Delta delta, EngineTime at,
                              std::string_view id) noexcept {
  const CounterEvent event{delta, id};
  return core_->Fold(key, &event, at);
}
AddedCount RollupCounter::AddAndGet(std::string_view key, Delta delta, EngineTime at,
                                    std::string_view id) noexcept {
  return Guarded([&] { return core_->AddAndGet(key, {delta, id}, at); });
}
RollupCounts RollupCounter::AddBatch(std::span<const KeyedEvent<CounterEvent>> events,
                                     std::span<AddOutcome> outcomes, PartitionRange only,
                                     std::optional<SourcePosition> position) noexcept {
  return core_->FoldBatch("AddBatch", AnyBatch::Of(events), outcomes, only, position);
}
AddOutcome RollupCounter::Clear(std::string_view key, EngineTime at, std::string_view id) noexcept {
  if (!core_->clears()) Fail("Clear() of a rollup counter without RollupOptions::clears");
  return Guarded([&] { return core_->Clear(key, at, id); });
}

void RollupCounter::CloseAll() noexcept {
  Guarded([&] { core_->CloseAll(); });
}

std::optional<EventualCount> RollupCounter::Eventual(std::string_view key) const noexcept {
  return Guarded([&] { return core_->Eventual(key); });
}
AccurateCount RollupCounter::Accurate(std::string_view key) const noexcept {
  return Guarded([&] { return core_->Accurate(key); });
}
std::vector<CountedWindow> RollupCounter::History(std::string_view key, EngineTime from,
                                                  EngineTime to, Duration window) const noexcept {
  return Guarded([&] { return core_->History(key, from, to, window); });
}
std::vector<TopCount> RollupCounter::Top(size_t n, EngineTime at, Duration window) const noexcept {
  return Guarded([&] { return core_->Top(n, at, window); });
}
void RollupCounter::ScanOpen(SeeOpen see) const noexcept {
  Guarded([&] { core_->ScanOpen(see); });
}
CounterRef RollupCounter::Ref(std::string_view key) noexcept {
  return Guarded([&] { return core_->Ref(key, engine_); });
}

// No Call while the store works, because the store may call engines.
Publication RollupCounter::Publish(size_t max) noexcept {
  return Call::WouldBeNested() ? Publication{} : core_->Publish(max);
}

RollupLedger RollupCounter::ledger() const noexcept {
  return Guarded([&] { return core_->rollup_ledger(); });
}
RollupSizes RollupCounter::sizes() const noexcept {
  return Guarded([&] { return core_->rollup_sizes(); });
}
void RollupCounter::Close() noexcept { any_.Close(); }

}  // namespace pleat::inline v0_1
