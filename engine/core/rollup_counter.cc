#include <algorithm>
#include <string>
#include <utility>

#include <pleat/rollup.h>

#include "engine/base/check.h"
#include "engine/base/inside.h"
#include "engine/core/add_counts.h"
#include "engine/core/engine_core.h"
#include "engine/core/out_of_range.h"
#include "engine/core/rollup_core.h"

namespace pleat::inline v0_1 {
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
  const std::pair<std::string_view, size_t> shared[] = {
      {"limits.max_keys", options.limits.max_keys},
      {"limits.max_bytes", options.limits.max_bytes},
      {"limits.max_backlog", options.limits.max_backlog},
      {"leases.max_leased", options.leases.max_leased},
      {"leases.max_dead_letters", options.leases.max_dead_letters}};
  for (const auto& [option, limit] : shared) {
    if (limit >= static_cast<size_t>(partitions)) continue;
    return OutOfRange(
        option, "at least one for each of the engine's partitions, " + std::to_string(partitions));
  }
  if (options.leases.max_deliveries < 1) return OutOfRange("leases.max_deliveries", "at least 1");
  if (options.leases.max_age <= Duration{0}) return OutOfRange("leases.max_age", "above zero");
  if (options.leases.max_nack_delay <= Duration{0}) {
    return OutOfRange("leases.max_nack_delay", "above zero");
  }
  return absl::OkStatus();
}

}  // namespace

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
  const Call call;
  if (call.nested()) return absl::FailedPreconditionError("Open() from inside another call");
  if (absl::Status status = Check(options, engine.partitions()); !status.ok()) return status;
  const std::shared_ptr<EngineCore>& home = EngineAccess::CoreOf(engine);
  auto core = std::make_shared<RollupCore>(*home, name, options);
  if (absl::Status status = home->Add(core); !status.ok()) return status;
  return RollupCounter(home, std::move(core));
}

RollupCounter RollupCounter::OrEnd(std::string_view name,
                                   absl::StatusOr<RollupCounter> opened) noexcept {
  if (opened.ok()) return *std::move(opened);
  Fail("rollup counter \"" + std::string(name) + "\": " + std::string(opened.status().message()));
}

RollupCounter::RollupCounter(Engine& engine, std::string_view name,
                             const RollupOptions& options) noexcept
    : RollupCounter(OrEnd(name, Open(engine, name, options))) {}

// Calls from inside a function of the caller's are refused here.

AddOutcome RollupCounter::Add(std::string_view key, Delta delta, EngineTime at,
                              std::string_view id) noexcept {
  const Call call;
  if (call.nested()) return AddOutcome::kWouldDeadlock;
  const CounterEvent event{delta, id};
  return core_->Fold(key, &event, at);
}

AddedCount RollupCounter::AddAndGet(std::string_view key, Delta delta, EngineTime at,
                                    std::string_view id) noexcept {
  const Call call;
  if (call.nested()) return {.outcome = AddOutcome::kWouldDeadlock, .value = {}};
  return core_->AddAndGet(key, {delta, id}, at);
}

AddResults RollupCounter::AddBatch(std::span<const KeyedEvent<CounterEvent>> events,
                                   std::span<AddOutcome> outcomes, PartitionRange only,
                                   std::optional<SourcePosition> position) noexcept {
  const Call call;
  if (!outcomes.empty() && outcomes.size() < events.size()) {
    Fail("AddBatch() of " + std::to_string(events.size()) + " events was given room for " +
         std::to_string(outcomes.size()) + " outcomes");
  }
  AddOutcome* const first = outcomes.empty() ? nullptr : outcomes.data();
  if (!call.nested()) return core_->FoldBatch(AnyBatch::Of(events), first, only, position);
  if (first != nullptr) std::fill_n(first, events.size(), AddOutcome::kWouldDeadlock);
  AddResults results;
  results.Add(AddOutcome::kWouldDeadlock, events.size());
  return results;
}

AddOutcome RollupCounter::Clear(std::string_view key, EngineTime at, std::string_view id) noexcept {
  if (!core_->clears()) Fail("Clear() of a rollup counter without RollupOptions::clears");
  const Call call;
  return call.nested() ? AddOutcome::kWouldDeadlock : core_->Clear(key, at, id);
}

void RollupCounter::CloseAll() noexcept {
  const Call call;
  if (!call.nested()) core_->CloseAll();
}

std::optional<EventualCount> RollupCounter::Eventual(std::string_view key) const noexcept {
  const Call call;
  if (call.nested()) return std::nullopt;
  return core_->Eventual(key);
}
AccurateCount RollupCounter::Accurate(std::string_view key) const noexcept {
  const Call call;
  if (call.nested()) return {};
  return core_->Accurate(key);
}
std::vector<CountedWindow> RollupCounter::History(std::string_view key, EngineTime from,
                                                  EngineTime to, Duration window) const noexcept {
  const Call call;
  return call.nested() ? std::vector<CountedWindow>() : core_->History(key, from, to, window);
}
std::vector<TopCount> RollupCounter::Top(size_t n, EngineTime at, Duration window) const noexcept {
  const Call call;
  return call.nested() ? std::vector<TopCount>() : core_->Top(n, at, window);
}
void RollupCounter::ScanOpen(SeeOpen see) const noexcept {
  const Call call;
  if (!call.nested()) core_->ScanOpen(see);
}
CounterRef RollupCounter::Ref(std::string_view key) noexcept {
  const Call call;
  return call.nested() ? CounterRef() : core_->Ref(key, engine_);
}

// No Call while the store works, because the store may call engines.
Publication RollupCounter::Publish(size_t max) noexcept {
  {
    const Call call;
    if (call.nested()) return {};
  }
  return core_->Publish(max);
}

RollupLedger RollupCounter::ledger() const noexcept { return core_->rollup_ledger(); }
RollupSizes RollupCounter::sizes() const noexcept { return core_->rollup_sizes(); }
void RollupCounter::Close() noexcept { any_.Close(); }

}  // namespace pleat::inline v0_1
