#include <pleat/untyped/any_folder.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <pleat/stats.h>

#include "engine/base/concat.h"
#include "engine/base/inside.h"
#include "engine/core/folder_core.h"
#include "engine/core/opening.h"

namespace pleat::inline v0_1 {
namespace {

absl::Status CheckClosing(const ClosingOptions& closing, const StateOps& ops) {
  if (closing.every <= Duration::zero()) return OutOfRange("closing.every", "above zero");
  if (closing.phase < Duration::zero() || closing.phase >= closing.every) {
    return OutOfRange("closing.phase", "zero or more, and less than closing.every");
  }
  if (closing.phase > Duration::zero() && closing.every == kForever) {
    return OutOfRange("closing.phase", "zero without closing.every");
  }
  if (ops.has_close_at && ops.marks == nullptr) {
    return OutOfRange("marks of events with close_at", "given");
  }
  if ((ops.has_close_at || closing.settable) && ops.relocate == nullptr) {
    return OutOfRange(closing.settable ? "closing.settable" : "close_at of events",
                      "left alone: it takes a state that can be moved");
  }
  return absl::OkStatus();
}

absl::Status Check(const FolderOptions& options, const StateOps& ops, int partitions) {
  if (options.quiet_period <= Duration::zero()) return OutOfRange("quiet_period", "above zero");
  if (options.quiet_floor < Duration::zero()) return OutOfRange("quiet_floor", "zero or more");
  if (options.quiet_floor >= options.quiet_period ||
      (options.quiet_floor > Duration::zero() && options.quiet_period == kForever)) {
    return OutOfRange("quiet_floor",
                      "below quiet_period, which is then the ceiling and not kForever");
  }
  if (options.max_wait == Duration::zero()) {
    return OutOfRange("max_wait", "given; kForever if a busy group may stay open without end");
  }
  if (options.max_wait < Duration::zero()) return OutOfRange("max_wait", "above zero");
  if (options.max_events < 1) return OutOfRange("max_events", "at least 1");
  if (options.max_group_bytes < 1) return OutOfRange("max_group_bytes", "at least 1");
  if (options.partial_every <= Duration::zero()) return OutOfRange("partial_every", "above zero");
  const bool partials = options.partial_every != kForever;
  if (partials && options.edge == Edge::kLeading) {
    return OutOfRange("partial_every", "kForever with Edge::kLeading, which holds back all else");
  }
  if ((partials || options.edge != Edge::kTrailing) && ops.copy == nullptr) {
    return OutOfRange(partials ? "partial_every" : "edge",
                      "left alone: it takes a state that can be copied");
  }
  if (absl::Status closing = CheckClosing(options.closing, ops); !closing.ok()) return closing;
  if (options.late.allowed_lateness < Duration::zero())
    return OutOfRange("late.allowed_lateness", "zero or more");
  if (options.late.on_late != OnLate::kReject && options.late.allowed_lateness == kForever) {
    return OutOfRange("late.on_late", "kReject without late.allowed_lateness: nothing is late");
  }
  if (ops.has_ids && ops.marks == nullptr) return OutOfRange("marks of events with ids", "given");
  if (ops.has_ids && options.late.allowed_lateness == kForever) {
    return OutOfRange("late.allowed_lateness",
                      "given with ids: it says how long they are remembered");
  }
  if (ops.has_ids && options.late.on_late != OnLate::kReject) {
    return OutOfRange("late.on_late", "kReject with ids: an event could count twice");
  }
  absl::Status limits = CheckLimits({{"limits.max_groups", options.limits.max_groups},
                                     {"limits.max_bytes", options.limits.max_bytes},
                                     {"limits.max_backlog", options.limits.max_backlog}},
                                    partitions);
  if (!limits.ok()) return limits;
  if (absl::Status leases = CheckLeases(options.leases, partitions); !leases.ok()) return leases;
  if (options.measure.max_trace > 0 &&
      options.measure.max_trace < static_cast<size_t>(partitions)) {
    return OutOfRange(
        "measure.max_trace",
        Concat("zero, or at least one for each of the engine's partitions, ", partitions));
  }
  if (ops.open == nullptr || ops.fold == nullptr || ops.destroy == nullptr) {
    return OutOfRange("open, fold and destroy of the state", "given");
  }
  const bool power_of_two = ops.align != 0 && (ops.align & (ops.align - 1)) == 0;
  if (!power_of_two || ops.align > 64) {
    return OutOfRange("the state's alignment", "a power of two up to 64");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<AnyFolder> AnyFolder::Open(Engine& engine, std::string_view name,
                                          const FolderOptions& options, const StateOps& ops,
                                          std::shared_ptr<void> context_owner) {
  auto core = OpenCore<FolderCore>(engine, name, Check(options, ops, engine.partitions()), options,
                                   ops, std::move(context_owner));
  if (!core.ok()) return core.status();
  return AnyFolder(EngineAccess::CoreOf(engine), *std::move(core));
}

void AnyFolder::OpenFailed(std::string_view name, const absl::Status& why) noexcept {
  FailToOpen("folder", name, why);
}

FolderCore& AnyFolder::core() const noexcept { return static_cast<FolderCore&>(collection()); }

FoldOutcome AnyFolder::Fold(std::string_view key, const void* event, EngineTime at) noexcept {
  return core().Fold(key, event, at);
}
FoldCounts AnyFolder::FoldBatch(const AnyBatch& batch, std::span<FoldOutcome> outcomes,
                                PartitionRange only,
                                std::optional<SourcePosition> position) noexcept {
  return core().FoldBatch("FoldBatch", batch, outcomes, only, position);
}
bool AnyFolder::Flush(std::string_view key) noexcept {
  return core().Flush(key, std::nullopt) == ControlOutcome::kDone;
}
ControlOutcome AnyFolder::Flush(std::string_view key, EngineTime at) noexcept {
  return core().Flush(key, at);
}
bool AnyFolder::Cancel(std::string_view key) noexcept {
  return core().Cancel(key, std::nullopt) == ControlOutcome::kDone;
}
ControlOutcome AnyFolder::Cancel(std::string_view key, EngineTime at) noexcept {
  return core().Cancel(key, at);
}
ControlOutcome AnyFolder::SetDeadline(std::string_view key, EngineTime deadline) noexcept {
  return core().SetDeadline(key, deadline);
}
bool AnyFolder::Peek(std::string_view key, Look look) const noexcept {
  return Guarded([&] { return core().Peek(key, look); });
}
bool AnyFolder::Scan(ScanCursor& cursor, size_t max, See see) const noexcept {
  if (cursor.partition < 0) cursor = {};
  return Guarded([&] { return core().Scan(cursor, std::max<size_t>(max, 1), see); });
}
void AnyFolder::ScanInOrder(See see) const noexcept {
  Guarded([&] { core().ScanInOrder(see); });
}
absl::Status AnyFolder::Reserve(size_t groups, size_t key_bytes) noexcept {
  const Call call;
  if (call.nested()) return absl::FailedPreconditionError("Reserve() from inside a fold function");
  return core().Reserve(groups, key_bytes);
}
std::unique_ptr<GapStats> AnyFolder::gap_stats() const noexcept {
  return Guarded([&] { return core().gap_stats(); });
}
absl::Status AnyFolder::SetOptions(const FolderOptions& options) noexcept {
  const Call call;
  if (call.nested()) {
    return absl::FailedPreconditionError("SetOptions() from inside a fold function");
  }
  absl::Status status = Check(options, ops(), partitions());
  return status.ok() ? core().SetOptions(options) : status;
}
FolderOptions AnyFolder::options() const noexcept {
  return Guarded([&] { return core().options(); });
}
const StateOps& AnyFolder::ops() const noexcept { return core().ops(); }

}  // namespace pleat::inline v0_1
