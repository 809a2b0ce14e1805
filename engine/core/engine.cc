#include <pleat/engine.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "engine/base/check.h"
#include "engine/base/inside.h"
#include "engine/core/collection.h"
#include "engine/core/engine_core.h"

namespace pleat::inline v0_1 {
namespace {

constexpr int kPartitionsMax = 4096;

// A partition of a folder touches the beginning of four pages once there is a group: groups,
// index, deadlines, and one to grow. Folders with more are worth huge pages.
constexpr size_t kPlainPages = 4;

// How many groups or members are looked at under one lock, if nobody waits for it.
constexpr size_t kClosedPerLock = 1024;

absl::Status Check(const EngineOptions& options) {
  if (options.partitions < 1 || options.partitions > kPartitionsMax) {
    return absl::InvalidArgumentError("partitions: must be 1 to 4096, is " +
                                      std::to_string(options.partitions));
  }
  if (options.watermark_delay < Duration::zero()) {
    return absl::InvalidArgumentError("watermark_delay: must be zero or more");
  }
  if (options.watermark_delay > Duration::zero() && options.axis != Axis::kEvent) {
    return absl::InvalidArgumentError(
        "watermark_delay: belongs to event time, and the axis is arrival");
  }
  if (options.future_limit && *options.future_limit < Duration::zero()) {
    return absl::InvalidArgumentError("future_limit: must be zero or more");
  }
  return absl::OkStatus();
}

Duration FutureLimitOf(const EngineOptions& options) noexcept {
  const Duration by_axis = options.axis == Axis::kArrival ? kFutureLimitOnArrival : kForever;
  return options.future_limit.value_or(by_axis);
}

}  // namespace

EngineCore::EngineCore(const EngineOptions& options, const HashKey& hash_key,
                       const HashKey& name_key, uint64_t epoch)
    : partition_count_(static_cast<size_t>(options.partitions)),
      hash_key_(hash_key),
      name_key_(name_key),
      epoch_(epoch),
      pool_(options.huge_pages == HugePages::kOff
                ? PagePool::kAllPlain
                : partition_count_ * kPlainPages * PagePool::kPageBytes),
      timeline_(options.axis, options.watermark_delay, FutureLimitOf(options)) {
  for (int i = 0; i < options.partitions; ++i) {
    partitions_.emplace_back(schedule_, lease_schedule_);
  }
}

EngineCore::~EngineCore() = default;

// A partition's lock is let go every so often, and soon if others wait for it, so that folds and
// reads there need not wait until all that is due has closed. Memory goes back meanwhile.
bool EngineCore::VisitDue(Schedule& schedule, EngineTime due_by, size_t budget, Visit visit) {
  PagePool::Deferral deferral(pool_);
  while (Timer* due = schedule.FirstDue(due_by)) {
    Partition& partition = static_cast<PartitionTimer&>(*due).partition();
    if (!VisitOnce(partition, budget, visit) && budget == 0) return false;
    deferral.GiveBack();
  }
  return true;
}

bool EngineCore::VisitOnce(Partition& partition, size_t& budget, Visit visit) {
  const size_t share = std::min(budget, kClosedPerLock);
  LongLockGuard guard(partition.lock());
  Budget left(share, partition.lock());
  const Partition::Moment moment{timeline_.now(), timeline_.lease_now(),
                                 timeline_.TakePositions(1)};
  const bool all = (partition.*visit)(moment, left);
  budget -= share - left.left();
  return all;
}

bool EngineCore::CloseDue(size_t budget) {
  const Call call;
  return VisitDue(schedule_, timeline_.now(), budget, &Partition::CloseDue);
}

bool EngineCore::AdvanceLeases(LeaseTime lease_now, size_t budget) {
  const EngineTime due_by{timeline_.RaiseLeases(Clamp(lease_now))};
  return VisitDue(lease_schedule_, due_by, budget, &Partition::ExpireLeases);
}

void EngineCore::SetAlarm(EngineAlarm& alarm) {
  schedule_.SetAlarm(alarm);
  lease_schedule_.SetAlarm(alarm);
}

void EngineCore::RemoveAlarm(const EngineAlarm& alarm) {
  schedule_.RemoveAlarm(&alarm);
  lease_schedule_.RemoveAlarm(&alarm);
}

void EngineCore::Close() {
  schedule_.RemoveAlarm();
  lease_schedule_.RemoveAlarm();
  Collections gone;
  LockGuard guard(lock_);
  closed_ = true;
  for (const auto& [name, collection] : collections_) collection->Close();
  gone.swap(collections_);
}

// With the gate closed: a piece of a batch is folded as a whole, or stopped as a whole.
void EngineCore::Stop() {
  const Gate::Closing closing(gate_);
  stopped_.store(true, std::memory_order_relaxed);
  for (Partition& partition : partitions_) {
    LockGuard guard(partition.lock());
    partition.Stop();
  }
}

absl::Status EngineCore::Add(const std::shared_ptr<Collection>& collection) {
  LockGuard guard(lock_);
  if (closed_) return absl::FailedPreconditionError("the engine is gone");
  Collection& added = *collection;
  if (!collections_.try_emplace(added.name(), collection).second) {
    return absl::AlreadyExistsError("a collection named \"" + added.name() + "\" exists");
  }
  added.SetNumber(++ever_added_);
  return absl::OkStatus();
}

// Under the lock to its end, so that nobody destroys the engine, or finds the name free, while
// states are destroyed.
void EngineCore::Remove(Collection& collection) {
  std::shared_ptr<Collection> gone;
  LockGuard guard(lock_);
  const auto it = collections_.find(collection.name());
  if (it == collections_.end() || it->second.get() != &collection) return;
  collection.Close();
  gone = std::move(it->second);
  collections_.erase(it);
}

void EngineCore::WithCollections(absl::FunctionRef<void(const Collections&)> see) {
  LockGuard guard(lock_);
  see(collections_);
}

bool EngineCore::BeginSnapshot(std::shared_ptr<SnapshotTaking> taking) {
  LockGuard guard(snapshots_.lock);
  if (snapshots_.taking != nullptr) return false;
  snapshots_.taking = std::move(taking);
  return true;
}

void EngineCore::EndSnapshot() {
  LockGuard guard(snapshots_.lock);
  snapshots_.last_copies = std::exchange(snapshots_.taking, nullptr)->copies();
}

// With no lock held: the partitions come first.
bool EngineCore::GiveUpSnapshot(std::optional<uint64_t> identity) {
  std::shared_ptr<SnapshotTaking> taking;
  {
    LockGuard guard(snapshots_.lock);
    taking = snapshots_.taking;
  }
  if (taking == nullptr || taking->identity() != identity.value_or(taking->identity()))
    return false;
  return taking->GiveUp();
}

SnapshotCopies EngineCore::copies() {
  LockGuard guard(snapshots_.lock);
  return snapshots_.taking == nullptr ? snapshots_.last_copies : snapshots_.taking->copies();
}

bool EngineCore::BeginIntake(std::shared_ptr<WaitingEvents> waiting) {
  LockGuard guard(lock_);
  if (intake_) return false;
  intake_ = std::move(waiting);
  return true;
}

void EngineCore::EndIntake() {
  std::optional<std::shared_ptr<WaitingEvents>> last;  // destroyed with no lock held
  LockGuard guard(lock_);
  intake_.swap(last);
}

// Collections that never had an event of the source do not count.
uint64_t EngineCore::SourcePositionOf(uint64_t source, size_t partition) {
  LockGuard guard(lock_);
  std::optional<uint64_t> position;
  for (const auto& [name, collection] : collections_) {
    const SourcePositions& positions = collection->source_positions();
    if (!positions.Knows(source)) continue;
    const uint64_t own = positions.Of(source, partition);
    position = std::min(position.value_or(own), own);
  }
  return position.value_or(0);
}

EngineCore::Lasting EngineCore::lasting() {
  LockGuard guard(lock_);
  return {.name_key = name_key_,
          .epoch = epoch_,
          .ever_added = ever_added_,
          .first_number = first_number_};
}

void EngineCore::SetLasting(const Lasting& lasting) {
  LockGuard guard(lock_);
  name_key_ = lasting.name_key;
  epoch_ = lasting.epoch;
  ever_added_ = lasting.ever_added;
  first_number_ = lasting.first_number;
}

absl::StatusOr<std::unique_ptr<Engine>> Engine::Open(const EngineOptions& options) {
  if (absl::Status status = Check(options); !status.ok()) return status;
  const auto& [hash_key, wanted_epoch] = options.internals;
  const HashKey key = hash_key ? MakeHashKey(hash_key->front(), hash_key->back()) : RandomHashKey();
  const HashKey name_key = hash_key ? key : RandomHashKey();
  const uint64_t epoch = wanted_epoch ? *wanted_epoch : RandomHashKey().front();
  auto core = std::make_shared<EngineCore>(options, key, name_key, epoch);
  if (!core->Prefault(options.prefault_bytes)) {
    return absl::ResourceExhaustedError("prefault_bytes: the system refuses " +
                                        std::to_string(options.prefault_bytes) + " bytes");
  }
  return std::unique_ptr<Engine>(new Engine(std::move(core), /*closes=*/true));
}

Engine::Engine(std::shared_ptr<EngineCore> core, bool closes)
    : core_(std::move(core)), closes_(closes) {}

std::unique_ptr<Engine> Engine::Handle() const {
  return std::unique_ptr<Engine>(new Engine(core_, /*closes=*/false));
}

Engine::~Engine() {
  if (!closes_) return;
  const Call call;
  core_->Close();
}

// The calls that take a lock under which functions of the caller's may run do nothing from inside
// one of those.

void Engine::Advance(EngineTime now) noexcept {
  if (Call::WouldBeNested() || core_->MoveTime(now)) return;
  core_->CloseDue(std::numeric_limits<size_t>::max());
}

bool Engine::Advance(EngineTime now, size_t budget) noexcept {
  return Call::WouldBeNested() || core_->MoveTime(now) || budget == 0 || core_->CloseDue(budget);
}

bool Engine::AdvanceLeases(LeaseTime now, size_t budget) noexcept {
  const Call call;
  return call.nested() || core_->AdvanceLeases(now, budget) || budget == 0;
}

EngineTime Engine::now() const noexcept { return core_->timeline().now(); }

std::optional<EngineTime> Engine::NextDeadline() const noexcept {
  const EngineTime next = core_->NextDeadline();
  if (next == kNever) return std::nullopt;
  return next;
}

std::optional<LeaseTime> Engine::NextLeaseDeadline() const noexcept {
  const EngineTime next = core_->NextLeaseDeadline();
  if (next == kNever) return std::nullopt;
  return LeaseTime(next);
}

void Engine::SetAlarm(EngineAlarm& alarm) noexcept {
  const Call call;
  if (call.nested()) Fail("SetAlarm() was called from inside a call");
  core_->SetAlarm(alarm);
}

void Engine::RemoveAlarm(EngineAlarm& alarm) noexcept {
  const Call call;
  if (call.nested()) Fail("RemoveAlarm() was called from inside a call");
  core_->RemoveAlarm(alarm);
}

void Engine::Stop() noexcept {
  const Call call;
  if (!call.nested()) core_->Stop();
}

uint64_t Engine::SourcePositionOf(uint64_t source, int partition) const noexcept {
  const Call call;
  if (call.nested() || partition < 0 || partition >= core_->partition_count()) return 0;
  return core_->SourcePositionOf(source, static_cast<size_t>(partition));
}

int Engine::partitions() const noexcept { return core_->partition_count(); }
Axis Engine::axis() const noexcept { return core_->timeline().axis(); }

}  // namespace pleat::inline v0_1
