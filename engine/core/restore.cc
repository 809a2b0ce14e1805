// Restoring an engine from a snapshot: the head first, which has to fit, then the partitions, in the
// order of the bytes, by as many threads as come.
#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <pleat/snapshot.h>

#include "engine/base/concat.h"
#include "engine/base/inside.h"
#include "engine/base/lock.h"
#include "engine/core/collection.h"
#include "engine/core/engine_core.h"
#include "engine/core/parts_reader.h"
#include "engine/core/snapshot_head.h"
#include "engine/core/waiting_events.h"
#include "engine/outbox/acked_deliveries.h"
#include "engine/state/blocks.h"

namespace pleat::inline v0_1 {
namespace {

absl::Status Differs(std::string_view what, std::string_view is, std::string_view was) {
  return absl::FailedPreconditionError(Concat(what, " is ", is, ", and ", was, " in the snapshot"));
}

absl::Status UsedError() {
  return absl::FailedPreconditionError(
      "the engine has been used already: events, Reserve() and Watch() come after a restore");
}
absl::Status GoneError() { return absl::FailedPreconditionError("the engine is gone"); }

// A book is there from the first event of its partition on. Others may wait for their turn.
absl::Status CheckUnused(EngineCore& engine) {
  if (engine.closed()) return GoneError();
  bool waits = false;
  engine.WithCollections([&](const EngineCore::Collections& collections) {
    waits = engine.waiting() != nullptr && engine.waiting()->stage().waiting() > 0;
    for (const auto& [name, collection] : collections) {
      const std::shared_ptr<Companion>& companion = collection->companion();
      waits |= companion != nullptr && companion->is_used();
    }
  });
  if (waits) return UsedError();
  for (int i = 0; i < engine.partition_count(); ++i) {
    Partition& partition = engine.partition(i);
    LockGuard guard(partition.lock());
    if (partition.book_count() > 0) {
      return UsedError();
    }
  }
  return absl::OkStatus();
}

std::string_view NameOfAxis(Axis axis) { return axis == Axis::kEvent ? "event" : "arrival"; }

}  // namespace

class RestoreCore {
 public:
  RestoreCore(EngineCore& engine, ByteSource& source, const RestoreOptions& options)
      : engine_(engine),
        skip_numbers_(options.skip_numbers),
        drop_(options.drop.begin(), options.drop.end()),
        parts_(source) {}
  ~RestoreCore() {
    if (!finished_) Undo();
  }
  RestoreCore(const RestoreCore&) = delete;
  RestoreCore& operator=(const RestoreCore&) = delete;

  absl::Status Begin();
  void Work();
  absl::Status Check();
  absl::Status Finish();
  const SnapshotInfo& info() const noexcept { return info_; }

 private:
  // Of parts that were read ahead for several threads, so many bytes are in memory at a time.
  static constexpr size_t kAheadMax = size_t{16} << 20;

  absl::Status CheckEngine() const;
  absl::Status MatchCollections(const EngineCore::Collections& collections);
  absl::Status TakeOver(const SnapshotHead::Collection& then, const Description& now,
                        const std::vector<std::string>& changed, Collection& collection);
  void Number(const EngineCore::Collections& collections);
  void SetNumber(const std::shared_ptr<Collection>& collection, uint32_t number);
  absl::Status LoadShared();
  absl::Status LoadRests() ABSL_EXCLUSIVE_LOCKS_REQUIRED(reading_);
  absl::Status LoadRest(uint32_t owner, FieldReader& in);
  absl::Status LoadWaiting(FieldReader& in);
  absl::StatusOr<std::optional<PartReader>> TakePart() ABSL_EXCLUSIVE_LOCKS_REQUIRED(reading_);
  bool LoadNext();
  absl::Status Load(PartReader& part);
  bool LoadBooks(PartReader& part, const Partition::Moment& cut);
  bool IsDropped(std::string_view name) const {
    return std::ranges::find(drop_, name) != drop_.end();
  }
  void Undo();

  EngineCore& engine_;
  const uint64_t skip_numbers_;
  const std::vector<std::string> drop_;
  SnapshotHead head_;
  SnapshotInfo info_;
  EngineCore::Lasting before_;  // the engine's own
  std::vector<std::pair<std::shared_ptr<Collection>, uint32_t>> numbers_before_;
  std::map<uint32_t, std::shared_ptr<Collection>> collections_;  // by number
  std::set<uint32_t> dropped_;                                   // numbers of others
  std::map<uint32_t, uint32_t> versions_;                        // of their users' types, by number
  bool checked_ = false;
  std::map<uint32_t, std::string> shared_before_;  // of those that were loaded
  // Those of the intake, and their times before; none: none were loaded.
  std::optional<std::pair<std::shared_ptr<WaitingEvents>, std::string>> waiting_before_;
  bool finished_ = false;
  std::atomic<int> working_ = 0;  // threads

  Lock reading_;
  PartsReader parts_ ABSL_GUARDED_BY(reading_);
  size_t ahead_ ABSL_GUARDED_BY(reading_) = 0;  // bytes of parts that were read as a whole
  bool at_end_ ABSL_GUARDED_BY(reading_) = false;
  absl::Status status_ ABSL_GUARDED_BY(reading_);
};

absl::Status RestoreCore::CheckEngine() const {
  if (engine_.closed()) return GoneError();
  if (head_.partition_hash != SnapshotHead::kPartitionHash) {
    return Differs("the version of the hash that chooses partitions",
                   Concat(SnapshotHead::kPartitionHash), Concat(head_.partition_hash));
  }
  const auto partitions = static_cast<uint32_t>(engine_.partition_count());
  if (head_.partitions != partitions) {
    return Differs("partitions", Concat(partitions), Concat(head_.partitions));
  }
  const Timeline& timeline = engine_.timeline();
  if (head_.axis != timeline.axis()) {
    return Differs("axis", NameOfAxis(timeline.axis()), NameOfAxis(head_.axis));
  }
  if (head_.watermark_delay != timeline.watermark_delay()) {
    return Differs("watermark_delay", Concat(timeline.watermark_delay().count(), "us"),
                   Concat(head_.watermark_delay.count(), "us"));
  }
  return CheckUnused(engine_);
}

absl::Status RestoreCore::MatchCollections(const EngineCore::Collections& collections) {
  for (const SnapshotHead::Collection& then : head_.collections) {
    const auto it = collections.find(then.name);
    if (it == collections.end() && IsDropped(then.name)) {
      dropped_.insert(then.number);
      continue;
    }
    if (it == collections.end()) {
      return absl::FailedPreconditionError(Concat("the snapshot has a ", then.description.kind,
                                                  " \"", then.name, "\", and the engine has none"));
    }
    Collection& collection = *it->second;
    const Description now = collection.DescribeAll();
    if (!now.stored) {
      return absl::FailedPreconditionError(
          Concat("\"", then.name, "\" has a type that cannot be stored"));
    }
    std::vector<std::string> changed;
    absl::Status same = CheckSame(then.name, then.description, now,
                                  collection.ShapeOf(then.description.version), changed);
    if (!same.ok()) return same;
    if (!collections_.emplace(then.number, it->second).second || then.number == 0 ||
        then.number > head_.lasting.ever_added) {
      return DamageAt(0, "the head says something impossible");
    }
    versions_.emplace(then.number, then.description.version);
    if (!changed.empty()) same = TakeOver(then, now, changed, collection);
    if (!same.ok()) return same;
  }
  Number(collections);
  return absl::OkStatus();
}

// Each change takes a position of its own behind the cut, as a call of SetOptions() does.
absl::Status RestoreCore::TakeOver(const SnapshotHead::Collection& then, const Description& now,
                                   const std::vector<std::string>& changed,
                                   Collection& collection) {
  const absl::Status taken = collection.BeginTakeOver(then.description, head_.position);
  if (absl::IsFailedPrecondition(taken)) {
    // The message is the option, and what binds it.
    const std::string_view why(taken.message().data(), taken.message().size());
    const size_t end = std::min(why.find(' '), why.size());
    return OptionDiffers(then.name, then.description, now, why.substr(0, end), why.substr(end));
  }
  if (!taken.ok()) return DamageAt(0, "the head says something impossible");
  head_.position += Collection::kPositionsOfChange;
  const auto info =
      std::ranges::find(info_.collections, then.name, &SnapshotInfo::Collection::name);
  for (const std::string& option : changed) {
    info->changed.emplace_back(option, ValueOf(now, option));
  }
  return absl::OkStatus();
}

// Collections have the numbers of before, which tokens carry; new ones get new numbers.
void RestoreCore::Number(const EngineCore::Collections& collections) {
  for (const auto& [number, collection] : collections_) SetNumber(collection, number);
  for (const auto& [name, collection] : collections) {
    const bool was_there = collections_.contains(collection->number()) &&
                           collections_[collection->number()] == collection;
    if (!was_there) SetNumber(collection, ++head_.lasting.ever_added);
  }
}

void RestoreCore::SetNumber(const std::shared_ptr<Collection>& collection, uint32_t number) {
  numbers_before_.emplace_back(collection, collection->number());
  collection->SetNumber(number);
}

absl::Status RestoreCore::Begin() {
  if (skip_numbers_ % AckedDeliveries::kRemembered != 0) {
    return absl::InvalidArgumentError("skip_numbers: must be a multiple of 65,536");
  }
  {
    LockGuard guard(reading_);
    absl::StatusOr<SnapshotHead> head = SnapshotHead::Read(parts_.blocks());
    if (!head.ok()) return head.status();
    head_ = *std::move(head);
  }
  if (absl::Status status = CheckEngine(); !status.ok()) return status;
  {
    LockGuard guard(reading_);
    parts_.set_partitions(head_.partitions);
  }
  info_ = head_.Info();
  before_ = engine_.lasting();
  absl::Status status;
  engine_.WithCollections(
      [&](const EngineCore::Collections& collections) { status = MatchCollections(collections); });
  head_.lasting.first_number += skip_numbers_;
  if (status.ok()) engine_.SetLasting(head_.lasting);
  return status;
}

absl::Status RestoreCore::LoadShared() {
  for (const SnapshotHead::Collection& then : head_.collections) {
    if (dropped_.contains(then.number)) continue;
    Collection& collection = *collections_[then.number];
    FieldWriter before;
    collection.SaveAll(before);
    shared_before_.emplace(then.number, before.bytes());
    FieldReader in(then.shared);
    collection.source_positions().Load(in);
    collection.LoadAll(in);
    if (!in.done()) return DamageAt(0, "the head says something impossible");
  }
  return absl::OkStatus();
}

// What is large beside the books.
absl::Status RestoreCore::LoadRests() {
  for (std::set<uint32_t> loaded;;) {
    absl::StatusOr<std::optional<Block>> first = parts_.NextRest();
    if (!first.ok()) return first.status();
    if (!*first) return absl::OkStatus();
    const uint32_t owner = (*first)->owner;
    const uint64_t offset = (*first)->offset;
    if (!loaded.insert(owner).second) return DamageAt(offset, "the block is out of place");
    PartReader rest(**std::move(first), parts_);
    const bool any = rest.BeginBook();
    FieldReader in(rest);
    in.Expect(in.Number() == kRestLayout);
    absl::Status status = LoadRest(owner, in);
    if (status.ok() && any && in.done() && !rest.BeginBook()) continue;
    if (!rest.status().ok()) return rest.status();
    return status.ok() ? DamageAt(offset, "the events that wait say something impossible") : status;
  }
}

absl::Status RestoreCore::LoadRest(uint32_t owner, FieldReader& in) {
  if (owner == SnapshotHead::kIntakeNumber) return LoadWaiting(in);
  if (dropped_.contains(owner)) {
    while (in.Has(1)) in.Byte();
    return absl::OkStatus();
  }
  const auto it = collections_.find(owner);
  const bool known = it != collections_.end() && it->second->companion() != nullptr;
  if (in.Expect(known)) it->second->companion()->LoadRest(in);
  return absl::OkStatus();
}

absl::Status RestoreCore::LoadWaiting(FieldReader& in) {
  std::shared_ptr<WaitingEvents> waiting;
  engine_.WithCollections([&](const EngineCore::Collections&) { waiting = engine_.waiting(); });
  Description then;
  in(then);
  if (!in.ok()) return absl::OkStatus();  // damage
  if (waiting == nullptr) {
    return absl::FailedPreconditionError(
        "the snapshot has an intake with a bound of disorder, and the engine has none: open it, "
        "with reorder, before the restore");
  }
  std::vector<std::string> changed;
  absl::Status same =
      CheckSame("intake", then, waiting->Describe(), waiting->ShapeOf(then.version), changed);
  if (!same.ok()) return same;
  FieldWriter before;
  waiting->SaveTimes(before);
  waiting_before_.emplace(waiting, before.bytes());
  waiting->LoadTimes(in);
  waiting->LoadEvents(in, then.version);
  return absl::OkStatus();
}

// Begins the next part. Another thread can begin the one behind it once all blocks of this one have
// been read: so those are read ahead, unless there are too many.
absl::StatusOr<std::optional<PartReader>> RestoreCore::TakePart() {
  if (at_end_) return std::optional<PartReader>();
  absl::StatusOr<std::optional<Block>> first = parts_.NextPart();
  if (!first.ok()) return first.status();
  at_end_ = !*first;
  if (at_end_) return std::optional<PartReader>();
  std::optional<PartReader> part(std::in_place, **std::move(first), parts_);
  if (working_.load() > 1) part->ReadAhead(kAheadMax - std::min(ahead_, kAheadMax));
  if (part->is_whole()) ahead_ += part->bytes_ahead();
  return part;
}

// Restores the next partition. Returns whether there may be more. The lock is held while blocks are
// read: also during the loading, unless all are there.
bool RestoreCore::LoadNext() {
  std::optional<PartReader> part;
  {
    LongLockGuard guard(reading_);
    if (!status_.ok()) return false;
    absl::StatusOr<std::optional<PartReader>> taken = TakePart();
    status_ = taken.status();
    if (!taken.ok() || !*taken) return false;
    part.emplace(**std::move(taken));
    const bool is_whole = part->is_whole();
    status_ = is_whole ? part->status() : Load(*part);
    if (!is_whole || !status_.ok()) return status_.ok();
  }
  const size_t ahead = part->bytes_ahead();
  absl::Status status = Load(*part);
  LockGuard guard(reading_);
  ahead_ -= ahead;
  if (status_.ok()) status_ = std::move(status);
  return true;
}

absl::Status RestoreCore::Load(PartReader& part) {
  const Call call;  // functions of the caller's read states
  Partition& partition = engine_.partition(static_cast<int>(part.partition()));
  const auto taken_over = std::ranges::count_if(
      info_.collections,
      [](const SnapshotInfo::Collection& each) { return !each.changed.empty(); });
  const uint64_t position =
      head_.position - Collection::kPositionsOfChange * static_cast<uint64_t>(taken_over);
  const Partition::Moment cut{head_.now, head_.lease_now, position};
  LockGuard guard(partition.lock());
  const bool loaded = LoadBooks(part, cut);
  if (!part.status().ok()) return part.status();
  if (loaded) return absl::OkStatus();
  return DamageAt(part.book_offset(),
                  Concat("partition ", part.partition(), " says something impossible"));
}

bool RestoreCore::LoadBooks(PartReader& part, const Partition::Moment& cut) {
  std::set<uint32_t> loaded;
  while (part.BeginBook()) {
    FieldReader in(part);
    uint32_t number = 0;
    in(number);
    if (!in.ok() || !loaded.insert(number).second) return false;
    if (dropped_.contains(number)) continue;
    const auto it = collections_.find(number);
    if (it == collections_.end()) return false;
    in.set_version(versions_.at(number));
    it->second->LoadBook(part.partition(), in, cut, skip_numbers_);
    if (!in.done()) return false;
  }
  return true;
}

void RestoreCore::Work() {
  ++working_;
  while (LoadNext()) {
  }
  --working_;
}

absl::Status RestoreCore::Check() {
  if (checked_) return absl::OkStatus();
  Work();
  LockGuard guard(reading_);
  if (!status_.ok()) return status_;
  PLEAT_CHECK(at_end_);
  status_ = LoadShared();
  if (status_.ok()) status_ = LoadRests();
  checked_ = status_.ok();
  return status_;
}

absl::Status RestoreCore::Finish() {
  if (absl::Status status = Check(); !status.ok()) return status;
  for (const auto& [number, collection] : collections_) collection->EndTakeOver();
  engine_.timeline().Restore(head_.now, head_.lease_now, head_.position);
  finished_ = true;
  return absl::OkStatus();
}

void RestoreCore::Undo() {
  for (const auto& [number, collection] : collections_) {
    collection->DropBooks();
    collection->source_positions().Clear();
    collection->EndTakeOver();
  }
  for (const auto& [number, bytes] : shared_before_) {
    FieldReader in(bytes);
    collections_[number]->LoadAll(in);
  }
  if (waiting_before_) {
    FieldReader in(waiting_before_->second);
    waiting_before_->first->LoadTimes(in);
  }
  if (numbers_before_.empty()) return;
  for (const auto& [collection, number] : numbers_before_) collection->SetNumber(number);
  engine_.SetLasting(before_);
}

// --- The face

Restore::Restore(std::unique_ptr<RestoreCore> core) : core_(std::move(core)) {}
Restore::~Restore() = default;

absl::StatusOr<std::unique_ptr<Restore>> Restore::Begin(Engine& engine, ByteSource& source,
                                                        const RestoreOptions& options) {
  const Call call;
  if (call.nested()) return absl::FailedPreconditionError("Restore from inside a fold function");
  auto core = std::make_unique<RestoreCore>(*EngineAccess::CoreOf(engine), source, options);
  if (absl::Status status = core->Begin(); !status.ok()) return status;
  return std::unique_ptr<Restore>(new Restore(std::move(core)));
}

const SnapshotInfo& Restore::info() const noexcept { return core_->info(); }

void Restore::Work() noexcept { core_->Work(); }

absl::Status Restore::Check() noexcept { return core_->Check(); }

absl::Status Restore::Finish() noexcept { return core_->Finish(); }

absl::Status SkipNumbers(Engine& engine, uint64_t by) {
  const Call call;
  if (call.nested()) return absl::FailedPreconditionError("from inside a fold function");
  EngineCore& core = *EngineAccess::CoreOf(engine);
  if (absl::Status unused = CheckUnused(core); !unused.ok()) return unused;
  EngineCore::Lasting lasting = core.lasting();
  if (by % AckedDeliveries::kRemembered != 0) {
    return absl::InvalidArgumentError("numbers to skip: must be a multiple of 65,536");
  }
  lasting.first_number += by;
  core.SetLasting(lasting);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<SnapshotInfo::Collection>> CollectionsIn(Engine& engine) {
  const Call call;
  if (call.nested()) return absl::FailedPreconditionError("from inside a fold function");
  EngineCore& core = *EngineAccess::CoreOf(engine);
  std::vector<SnapshotInfo::Collection> found;
  core.WithCollections([&](const EngineCore::Collections& collections) {
    for (const auto& [name, collection] : collections) {
      found.push_back({.name = std::string(name), .number = collection->number()});
    }
  });
  if (found.empty() && core.closed()) return GoneError();
  return found;
}

std::weak_ptr<const void> IdentityOf(Engine& engine) noexcept {
  return EngineAccess::CoreOf(engine);
}

LeaseTime LeaseTimeOf(Engine& engine) noexcept {
  return EngineAccess::CoreOf(engine)->timeline().lease_now();
}

absl::Status RestoreSnapshot(Engine& engine, ByteSource& source, const RestoreOptions& options) {
  absl::StatusOr<std::unique_ptr<Restore>> restore = Restore::Begin(engine, source, options);
  return restore.ok() ? (*restore)->Finish() : restore.status();
}

}  // namespace pleat::inline v0_1
