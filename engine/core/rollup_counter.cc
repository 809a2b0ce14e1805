// A rollup counter of an engine: the methods of RollupCore, but for those of its store, and the handle,
// which refuses to be called from inside another call.
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
#include "engine/core/opening.h"
#include "engine/core/rollup_core.h"

namespace pleat::inline v0_1 {
namespace {

// The largest sums first, then by key.
bool IsBefore(const TopCount& a, const TopCount& b) noexcept {
  const auto rank = [](const TopCount& top) { return std::pair(top.amount.real, top.amount.sum); };
  if (rank(a) != rank(b)) return rank(a) > rank(b);
  return a.key < b.key;
}

// --- Other options

// As for folders: see any_folder.cc.
bool TakeRollupOption(RollupOptions& before, std::string_view option, std::string_view value) {
  if (option == "on_late") return TakeValue(value, before.on_late);
  if (option == "retention") return TakeValue(value, before.retention);
  if (option == "forget_after") return TakeValue(value, before.forget_after);
  return true;
}

// Windows, what was said to be final, and which events are late, have their meaning from all the
// others.
std::string_view FixedRollupOption(const RollupOptions& now, const RollupOptions& then) {
  // A new option does not compile here until it was thought about.
  const auto& [windows, calendar, calendar_name, lateness, margin, on_late, deduplication,
               retention, forget_after, clears, store, limits, leases] = now;
  const bool corrects = on_late == OnLateAdd::kCorrect;
  if (windows != then.windows) return "windows";
  if (calendar_name != then.calendar_name || !calendar != !then.calendar) return "calendar";
  if (lateness != then.allowed_lateness) return "allowed_lateness";
  if (margin != then.margin) return "margin";
  if (corrects != (then.on_late == OnLateAdd::kCorrect)) return "on_late from or to kCorrect";
  if (deduplication != then.deduplication_window) return "deduplication_window";
  if (clears != then.clears) return "clears";
  return store != then.store ? "a store" : std::string_view();
}

absl::Status CheckWindows(const RollupOptions& options) {
  const std::vector<Duration>& windows = options.windows;
  if (windows.empty() || windows.size() > kResolutionsMax) {
    return OutOfRange("windows", "1 to " + std::to_string(kResolutionsMax) + " lengths");
  }
  for (size_t i = 0; i < windows.size(); ++i) {
    if (windows[i] <= Duration{0}) return OutOfRange("windows", "above zero");
    if (windows[i] == kForever) return OutOfRange("windows", "below kForever");
    if (i > 0 && windows[i] <= windows[i - 1]) return OutOfRange("windows", "ascending");
    if (options.calendar) continue;
    if (windows[i] % windows[0] != Duration{0}) {
      return OutOfRange("windows", "multiples of the first one");
    }
  }
  if (options.calendar_name.empty() != !options.calendar) {
    return OutOfRange("calendar_name", "given with a calendar, and only with one");
  }
  return absl::OkStatus();
}

absl::Status Check(const RollupOptions& options, int partitions) {
  if (absl::Status windows = CheckWindows(options); !windows.ok()) return windows;
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
  limits.Update(CheckLeases(options.leases, partitions));
  return limits;
}

}  // namespace

absl::Status RollupCore::UseOptionsOf(const Description& then) {
  absl::StatusOr<RollupOptions> before = OptionsOf(
      then, options_, TakeRollupOption,
      [&](const RollupOptions& o) { return Check(o, engine().partition_count()); },
      [&](const RollupOptions& o) { return FixedRollupOption(o, options_); });
  if (!before.ok()) return before.status();
  before_ = *std::move(before);
  return absl::OkStatus();
}

absl::Status RollupCore::SetOptions(const RollupOptions& options) {
  absl::Status in_range = Check(options, engine().partition_count());
  if (!in_range.ok()) return in_range;
  return ChangeOptions([&] { return FixedRollupOption(options_, options); },
                       [&] {
                         options_.on_late = options.on_late;
                         options_.retention = options.retention;
                         options_.forget_after = options.forget_after;
                         options_.limits = options.limits;
                         options_.leases = options.leases;
                       });
}

Description RollupCore::Describe() const {
  Description rollup;
  rollup.kind = "rollup";
  for (const Duration length : options_.windows) rollup.Add("windows", length);
  if (!options_.calendar_name.empty()) rollup.Add("calendar", options_.calendar_name);
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

RollupCounter::RollupCounter(std::shared_ptr<EngineCore> engine,
                             std::shared_ptr<RollupCore> core) noexcept
    : EmissionSource(AnyCollection(engine, core)),
      engine_(std::move(engine)),
      core_(std::move(core)) {}

absl::StatusOr<RollupCounter> RollupCounter::Open(Engine& engine, std::string_view name,
                                                  const RollupOptions& options) {
  absl::Status right = Check(options, engine.partitions());
  // With no lock held: the store may block, and call engines.
  if (right.ok() && options.store != nullptr) {
    right = options.store->CheckCalendar(options.calendar_name);
  }
  auto core = OpenCore<RollupCore>(engine, name, right, options);
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
absl::Status RollupCounter::LoadCheckpoints(std::string& cursor, size_t max) noexcept {
  if (!Call::WouldBeNested()) return core_->LoadCheckpoints(cursor, max);
  return absl::FailedPreconditionError("LoadCheckpoints() from inside a function of the caller's");
}

absl::Status RollupCounter::SetOptions(const RollupOptions& options) noexcept {
  const Call call;
  if (call.nested()) return absl::FailedPreconditionError("SetOptions() from inside another call");
  return core_->SetOptions(options);
}
RollupOptions RollupCounter::options() const noexcept {
  return Guarded([&] { return core_->options(); });
}
RollupLedger RollupCounter::ledger() const noexcept {
  return Guarded([&] { return core_->rollup_ledger(); });
}
RollupSizes RollupCounter::sizes() const noexcept {
  return Guarded([&] { return core_->rollup_sizes(); });
}
size_t RollupCounter::held_bytes() const noexcept {
  return Guarded([&] { return core_->held_bytes(); });
}
void RollupCounter::Close() noexcept { any_.Close(); }

}  // namespace pleat::inline v0_1
