#include <pleat/untyped/any_presence.h>

#include <string>
#include <utility>

#include "engine/base/check.h"
#include "engine/base/inside.h"
#include "engine/core/add_counts.h"
#include "engine/core/engine_core.h"
#include "engine/core/out_of_range.h"
#include "engine/core/presence_core.h"

namespace pleat::inline v0_1 {
namespace {

absl::Status Check(const PresenceOptions& options, const PayloadOps& ops, int partitions) {
  if (options.ttl <= Duration::zero()) return OutOfRange("ttl", "above zero");
  if (options.grace < Duration::zero()) return OutOfRange("grace", "zero or more");
  const PresenceLimits& limits = options.limits;
  if (limits.max_per_user < 1) return OutOfRange("limits.max_per_user", "at least 1");
  if (limits.max_per_series < 1) return OutOfRange("limits.max_per_series", "at least 1");
  return FeedCollection::CheckOptions({{"limits.max_series", limits.max_series},
                                       {"limits.max_users", limits.max_users},
                                       {"limits.max_connections", limits.max_connections},
                                       {"limits.max_bytes", limits.max_bytes},
                                       {"max_changes", options.max_changes}},
                                      partitions, ops);
}

}  // namespace

// --- Counts that are summed

PresenceLedger& PresenceLedger::operator+=(const PresenceLedger& other) noexcept {
  return AddCounts(*this, other);
}
PresenceSizes& PresenceSizes::operator+=(const PresenceSizes& other) noexcept {
  return AddCounts(*this, other);
}

// --- The handle

AnyPresence::AnyPresence(std::shared_ptr<EngineCore> engine,
                         std::shared_ptr<PresenceCore> core) noexcept
    : AnyFeed(std::move(engine), std::move(core)) {}

PresenceCore& AnyPresence::core() const noexcept { return static_cast<PresenceCore&>(feed()); }

absl::StatusOr<AnyPresence> AnyPresence::Open(Engine& engine, std::string_view name,
                                              const PresenceOptions& options, const PayloadOps& ops,
                                              std::shared_ptr<void> context_owner) {
  const Call call;
  if (call.nested()) return absl::FailedPreconditionError("Open() from inside another call");
  if (absl::Status status = Check(options, ops, engine.partitions()); !status.ok()) return status;
  const std::shared_ptr<EngineCore>& home = EngineAccess::CoreOf(engine);
  auto core = std::make_shared<PresenceCore>(*home, name, options, ops, std::move(context_owner));
  if (absl::Status status = home->Add(core); !status.ok()) return status;
  return AnyPresence(home, std::move(core));
}

void AnyPresence::OpenFailed(std::string_view name, const absl::Status& why) noexcept {
  Fail("presence \"" + std::string(name) + "\": " + std::string(why.message()));
}

// A call from inside a function that the engine calls is refused here.

Entered AnyPresence::Enter(std::string_view series, std::string_view user,
                           std::string_view connection, const void* metadata,
                           EngineTime at) noexcept {
  const Call call;
  if (call.nested()) return {PresenceOutcome::kWouldDeadlock};
  return core().Enter({series, user, connection, at}, metadata);
}
PresenceOutcome AnyPresence::Update(std::string_view series, std::string_view user,
                                    std::string_view connection, uint64_t generation,
                                    const void* metadata, EngineTime at) noexcept {
  const Call call;
  return call.nested() ? PresenceOutcome::kWouldDeadlock
                       : core().Beat({series, user, connection, at}, generation, metadata);
}
PresenceOutcome AnyPresence::Beat(std::string_view series, std::string_view user,
                                  std::string_view connection, uint64_t generation,
                                  EngineTime at) noexcept {
  const Call call;
  return call.nested() ? PresenceOutcome::kWouldDeadlock
                       : core().Beat({series, user, connection, at}, generation, nullptr);
}
PresenceOutcome AnyPresence::Leave(std::string_view series, std::string_view user,
                                   std::string_view connection, uint64_t generation,
                                   EngineTime at) noexcept {
  const Call call;
  return call.nested() ? PresenceOutcome::kWouldDeadlock
                       : core().Leave({series, user, connection, at}, generation);
}

PresenceCounts AnyPresence::Count(std::string_view series, EngineTime now) const noexcept {
  const Call call;
  return call.nested() ? PresenceCounts{} : core().Count(series, now);
}
bool AnyPresence::List(std::string_view series, const ListOptions& options, ListCursor& cursor,
                       See see) const noexcept {
  const Call call;
  return !call.nested() && core().List(series, options, cursor, see);
}
bool AnyPresence::Find(std::string_view series, std::string_view user, EngineTime now,
                       See see) const noexcept {
  const Call call;
  return !call.nested() && core().Find(series, user, now, see);
}
ChangeCursor AnyPresence::Watch(std::string_view series, See see) noexcept {
  const Call call;
  return call.nested() ? ChangeCursor() : core().WatchSeries(series, see);
}

PresenceLedger AnyPresence::ledger() const noexcept {
  const Call call;
  return call.nested() ? PresenceLedger{} : core().ledger();
}
PresenceSizes AnyPresence::sizes() const noexcept {
  const Call call;
  return call.nested() ? PresenceSizes{} : core().sizes();
}

}  // namespace pleat::inline v0_1
