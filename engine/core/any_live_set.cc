#include <pleat/untyped/any_live_set.h>

#include <algorithm>
#include <string>
#include <utility>

#include <pleat/live_set_options.h>

#include "engine/base/check.h"
#include "engine/base/inside.h"
#include "engine/core/add_counts.h"
#include "engine/core/engine_core.h"
#include "engine/core/live_set_core.h"
#include "engine/core/out_of_range.h"

namespace pleat::inline v0_1 {
namespace {

absl::Status Check(const LiveSetOptions& options, const PayloadOps& ops, int partitions) {
  if (options.ttl <= Duration::zero()) return OutOfRange("ttl", "above zero");
  if (options.retention < Duration::zero()) return OutOfRange("retention", "zero or more");
  if (options.limits.max_per_series < 1) return OutOfRange("limits.max_per_series", "at least 1");
  return FeedCollection::CheckOptions({{"limits.max_series", options.limits.max_series},
                                       {"limits.max_members", options.limits.max_members},
                                       {"limits.max_bytes", options.limits.max_bytes},
                                       {"max_changes", options.max_changes}},
                                      partitions, ops);
}

}  // namespace

// --- Counts that are summed

LiveSetLedger& LiveSetLedger::operator+=(const LiveSetLedger& other) noexcept {
  return AddCounts(*this, other);
}
LiveSetSizes& LiveSetSizes::operator+=(const LiveSetSizes& other) noexcept {
  return AddCounts(*this, other);
}

// --- The handle

AnyLiveSet::AnyLiveSet(std::shared_ptr<EngineCore> engine,
                       std::shared_ptr<LiveSetCore> core) noexcept
    : AnyFeed(std::move(engine), std::move(core)) {}

LiveSetCore& AnyLiveSet::core() const noexcept { return static_cast<LiveSetCore&>(feed()); }

absl::StatusOr<AnyLiveSet> AnyLiveSet::Open(Engine& engine, std::string_view name,
                                            const LiveSetOptions& options, const PayloadOps& ops,
                                            std::shared_ptr<void> context_owner) {
  const Call call;
  if (call.nested()) return absl::FailedPreconditionError("Open() from inside another call");
  if (absl::Status status = Check(options, ops, engine.partitions()); !status.ok()) return status;
  const std::shared_ptr<EngineCore>& home = EngineAccess::CoreOf(engine);
  auto core = std::make_shared<LiveSetCore>(*home, name, options, ops, std::move(context_owner));
  if (absl::Status status = home->Add(core); !status.ok()) return status;
  return AnyLiveSet(home, std::move(core));
}

void AnyLiveSet::OpenFailed(std::string_view name, const absl::Status& why) noexcept {
  Fail("live set \"" + std::string(name) + "\": " + std::string(why.message()));
}

// A call from inside a function that the engine calls is refused here.

LiveSetOutcome AnyLiveSet::Add(std::string_view series, const void* event, EngineTime at) noexcept {
  const Call call;
  return call.nested() ? LiveSetOutcome::kWouldDeadlock : core().Fold(series, event, at);
}
LiveSetCounts AnyLiveSet::AddBatch(const AnyBatch& batch, std::span<LiveSetOutcome> outcomes,
                                   PartitionRange only,
                                   std::optional<SourcePosition> position) noexcept {
  const Call call;
  if (!outcomes.empty() && outcomes.size() < batch.size) {
    Fail("AddBatch() of " + std::to_string(batch.size) + " events was given room for " +
         std::to_string(outcomes.size()) + " outcomes");
  }
  LiveSetOutcome* const first = outcomes.empty() ? nullptr : outcomes.data();
  if (!call.nested()) return core().FoldBatch(batch, first, only, position);
  if (first != nullptr) std::fill_n(first, batch.size, LiveSetOutcome::kWouldDeadlock);
  LiveSetCounts counts;
  counts.Add(LiveSetOutcome::kWouldDeadlock, batch.size);
  return counts;
}
LiveSetOutcome AnyLiveSet::Touch(std::string_view series, std::string_view id,
                                 EngineTime at) noexcept {
  const Call call;
  return call.nested() ? LiveSetOutcome::kWouldDeadlock : core().Touch(series, id, at);
}
LiveSetCounts AnyLiveSet::Import(std::string_view series, const AnyBatch& rows) noexcept {
  const Call call;
  if (!call.nested()) return core().Import(series, rows);
  LiveSetCounts counts;
  counts.Add(LiveSetOutcome::kWouldDeadlock, rows.size);
  return counts;
}
LiveSetControl AnyLiveSet::Remove(std::string_view series, std::string_view id,
                                  const RemoveOptions& options) noexcept {
  const Call call;
  return call.nested() ? LiveSetControl::kWouldDeadlock : core().Remove(series, id, options);
}
size_t AnyLiveSet::Remove(std::string_view series, EngineTime from, EngineTime to) noexcept {
  const Call call;
  return call.nested() ? 0 : core().RemoveBetween(series, from, to);
}
LiveSetControl AnyLiveSet::SetTtl(std::string_view series, Duration ttl) noexcept {
  const Call call;
  return call.nested() ? LiveSetControl::kWouldDeadlock : core().SetTtl(series, ttl);
}
size_t AnyLiveSet::Clear(std::string_view series) noexcept {
  const Call call;
  return call.nested() ? 0 : core().Clear(series);
}

size_t AnyLiveSet::Count(std::string_view series, EngineTime now) const noexcept {
  const Call call;
  return call.nested() ? 0 : core().Count(series, now);
}
size_t AnyLiveSet::CountSince(std::string_view series, EngineTime since,
                              EngineTime now) const noexcept {
  const Call call;
  return call.nested() || since >= kEndOfTime
             ? 0
             : core().CountBetween(series, since + Duration{1}, kNever, now);
}
size_t AnyLiveSet::CountBetween(std::string_view series, EngineTime from, EngineTime to,
                                EngineTime now) const noexcept {
  const Call call;
  return call.nested() ? 0 : core().CountBetween(series, from, to, now);
}
bool AnyLiveSet::List(std::string_view series, const ListOptions& options, ListCursor& cursor,
                      See see) const noexcept {
  const Call call;
  return !call.nested() && core().List(series, options, cursor, see);
}
bool AnyLiveSet::Find(std::string_view series, std::string_view id, EngineTime now,
                      See see) const noexcept {
  const Call call;
  return !call.nested() && core().Find(series, id, now, see);
}
std::optional<size_t> AnyLiveSet::Rank(std::string_view series, std::string_view id,
                                       EngineTime now) const noexcept {
  const Call call;
  return call.nested() ? std::nullopt : core().Rank(series, id, now);
}
void AnyLiveSet::CountMany(std::span<const KeyView> series, std::span<size_t> counts,
                           EngineTime now) const noexcept {
  PLEAT_DCHECK(series.size() == counts.size());
  for (size_t i = 0; i < series.size(); ++i) counts[i] = Count(series[i], now);
}
ChangeCursor AnyLiveSet::Watch(std::string_view series, See see) noexcept {
  const Call call;
  return call.nested() ? ChangeCursor() : core().WatchSeries(series, see);
}
LiveSetLedger AnyLiveSet::ledger() const noexcept {
  const Call call;
  return call.nested() ? LiveSetLedger{} : core().ledger();
}
LiveSetSizes AnyLiveSet::sizes() const noexcept {
  const Call call;
  return call.nested() ? LiveSetSizes{} : core().sizes();
}
}  // namespace pleat::inline v0_1
