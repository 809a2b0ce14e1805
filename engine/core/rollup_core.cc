#include "engine/core/rollup_core.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "engine/base/inside.h"
#include "engine/core/statistics.h"

namespace pleat::inline v0_1 {
namespace {

// How many counters one lock is held for when the store is to be told.
constexpr size_t kPublishedAtOnce = 256;

// How many windows are final under one lock, if nobody waits for it.
constexpr size_t kFinalAtOnce = 1024;

RollupOptions OptionsFor(const RollupOptions& options, int i, int partitions) {
  RollupOptions share = options;
  for (size_t* limit : {&share.limits.max_keys, &share.limits.max_bytes, &share.limits.max_backlog,
                        &share.leases.max_leased, &share.leases.max_dead_letters}) {
    *limit = ShareOf(*limit, i, partitions);
  }
  return share;
}

// The largest sums first, then by key.
bool IsBefore(const TopCount& a, const TopCount& b) noexcept {
  const auto rank = [](const TopCount& top) { return std::pair(top.amount.real, top.amount.sum); };
  if (rank(a) != rank(b)) return rank(a) > rank(b);
  return a.key < b.key;
}

}  // namespace

RollupCore::RollupCore(EngineCore& engine, std::string_view name, const RollupOptions& options)
    : KeyedCollection(engine, name), options_(options) {}

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

std::unique_ptr<Book> RollupCore::MakeBook(int partition) {
  return std::make_unique<RollupBook>(engine().pool(),
                                      OptionsFor(options_, partition, engine().partition_count()),
                                      engine().hash_key(), engine().name_key(),
                                      static_cast<uint32_t>(partition), listeners(partition));
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
  for (size_t i = 0; i < home_count(); ++i) {
    Home& home = this->home(i);
    if (home.book == nullptr) continue;
    home.partition->Do(
        home.partition->CopyFirst(), *home.book, now, leases, 0,
        [&](const Instant& at) { floor = std::max(floor, Typed(home.book)->LastOpenEnd(at)); });
  }
  for (size_t i = 0; floor > kBeginningOfTime && i < home_count(); ++i) {
    Home& home = this->home(i);
    RollupBook* const book = Typed(BookFor(home));
    if (book == nullptr) continue;
    home.partition->Do(home.partition->CopyFirst(), *book, now, leases, position,
                       [&](const Instant& at) { book->BeginClosing(floor, at); });
  }
}

// --- Reads

// The result of `look(book, key, hash, at)`. A read takes no position: it changes nothing but the
// time that the book was told.
template <class Result, class Look>
Result RollupCore::Ask(std::string_view key, Result if_absent, const Look& look) {
  if (key.size() > kKeyBytesMax) return if_absent;
  const PackedKey packed(key);
  const uint64_t hash = HashOf(packed);
  Home& home = HomeOf(packed);
  LockGuard guard(home.partition->lock());
  if (home.book == nullptr) return if_absent;
  Timeline& timeline = engine().timeline();
  RollupBook& book = *Typed(home.book);
  return home.partition->DoOneOfMany(
      home.partition->CopyFirst(), book, timeline.now(), timeline.lease_now(), 0,
      [&](const Instant& at) -> Result { return look(book, packed, hash, at); });
}

std::optional<EventualCount> RollupCore::Eventual(std::string_view key) {
  return Ask(key, std::optional<EventualCount>(),
             [](RollupBook& book, const PackedKey& packed, uint64_t hash, const Instant& at) {
               return book.Eventual(packed, hash, at);
             });
}

AccurateCount RollupCore::Accurate(std::string_view key) {
  return Ask(key, AccurateCount{.amount = {}, .loaded = options_.store == nullptr},
             [](RollupBook& book, const PackedKey& packed, uint64_t hash, const Instant& at) {
               return book.Accurate(packed, hash, at);
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
  Timeline& timeline = engine().timeline();
  for (size_t i = 0; i < home_count(); ++i) {
    Home& home = this->home(i);
    LongLockGuard guard(home.partition->lock());
    if (home.book == nullptr) continue;
    RollupBook& book = *Typed(home.book);
    home.partition->DoOneOfMany(
        home.partition->CopyFirst(), book, timeline.now(), timeline.lease_now(), 0,
        [&](const Instant& at) { book.WindowAround(Clamp(around), *resolution, at, see); });
  }
  std::sort_heap(top.begin(), top.end(), IsBefore);
  return top;
}

void RollupCore::ScanOpen(RollupBook::SeeOpen see) {
  Timeline& timeline = engine().timeline();
  for (size_t i = 0; i < home_count(); ++i) {
    Home& home = this->home(i);
    LongLockGuard guard(home.partition->lock());
    if (home.book == nullptr) continue;
    RollupBook& book = *Typed(home.book);
    home.partition->DoOneOfMany(home.partition->CopyFirst(), book, timeline.now(),
                                timeline.lease_now(), 0,
                                [&](const Instant& at) { book.ScanOpen(at, see); });
  }
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

// --- Counts

RollupLedger RollupCore::rollup_ledger() {
  RollupLedger sum;
  for (size_t i = 0; i < home_count(); ++i) {
    const Home& home = this->home(i);
    LockGuard guard(home.partition->lock());
    if (home.book != nullptr) sum += Typed(home.book)->rollup_ledger();
  }
  return sum;
}

RollupSizes RollupCore::rollup_sizes() {
  RollupSizes sum;
  for (size_t i = 0; i < home_count(); ++i) {
    const Home& home = this->home(i);
    LockGuard guard(home.partition->lock());
    if (home.book != nullptr) sum += Typed(home.book)->rollup_sizes();
  }
  return sum;
}

// The same in every partition that has had an event.
std::optional<Duration> RollupCore::FinalLag() {
  Timeline& timeline = engine().timeline();
  for (size_t i = 0; i < home_count(); ++i) {
    const Home& home = this->home(i);
    LockGuard guard(home.partition->lock());
    if (home.book == nullptr) continue;
    RollupBook& book = *Typed(home.book);
    return home.partition->DoOneOfMany(home.partition->CopyFirst(), book, timeline.now(),
                                       timeline.lease_now(), 0,
                                       [&](const Instant& at) { return book.FinalLag(at); });
  }
  return std::nullopt;
}

std::vector<Statistic> RollupCore::Statistics() {
  return StatisticsOf(rollup_ledger(), rollup_sizes(), FinalLag());
}

std::vector<Statistic> StatisticsOf(const RollupLedger& ledger, const RollupSizes& sizes,
                                    std::optional<Duration> final_lag) {
  StatisticList out;
  out.Events({{"added", ledger.added},
              {"duplicate", ledger.duplicate},
              {"conflict", ledger.conflict},
              {"late", ledger.late},
              {"clamped", ledger.clamped},
              {"corrected", ledger.corrected},
              {"future", ledger.future},
              {"over_limit", ledger.over_limit}});
  out.HeldBytes(sizes.bytes);
  out.Emissions(
      {{"final", ledger.made_final}, {"end", ledger.ended}, {"correction", ledger.corrected}});
  out.Ready(sizes.ready);
  out.OverByteLimit(ledger.over_byte_limit);
  out.Counter("pleat_counters_opened", "Counters that began.", ledger.keys_opened);
  out.Counter("pleat_counters_forgotten", "Counters that were forgotten.", ledger.forgotten);
  out.Counter("pleat_clears", "Events that set a counter to zero.", ledger.clears);
  out.Counter("pleat_events_late_unknown", "Late events beyond the deduplication window.",
              ledger.late_unknown);
  out.Counter("pleat_windows_opened", "Windows that an event opened.", ledger.windows);
  out.Gauge("pleat_open_windows", "Windows open now.", ledger.open);
  out.Counter("pleat_events_checkpointed", "Counted events in final windows.", ledger.checkpointed);
  out.Gauge("pleat_events_pending", "Counted events in windows that are not final.",
            ledger.pending);
  out.Counter("pleat_checkpoints_published", "Checkpoints that the store kept.", ledger.published);
  out.Counter("pleat_store_failures", "Answers of the store that kept a counter where it was.",
              "answer",
              {{"error", ledger.store_errors},
               {"behind", ledger.store_behind},
               {"conflict", ledger.store_conflicts}});
  out.Gauge("pleat_counters", "Counters held.", sizes.keys);
  out.Gauge("pleat_final_windows_kept", "Final windows that can still be read.", sizes.retained);
  out.Gauge("pleat_ids", "Ids of events that are remembered.", sizes.ids);
  out.Gauge("pleat_counters_unpublished", "Counters that the store has to hear of.",
            sizes.unpublished);
  if (final_lag) {
    out.Gauge("pleat_final_lag_seconds", "How far the final part trails the engine's time.",
              std::chrono::duration<double>(*final_lag).count(), "seconds");
  }
  return std::move(out).Take();
}

}  // namespace pleat::inline v0_1
