// Restoring an engine from a snapshot: the head first, which has to fit, then the partitions, in the
// order of the bytes, by as many threads as come.
#include <algorithm>
#include <map>
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
#include "engine/core/snapshot_head.h"
#include "engine/outbox/leases.h"
#include "engine/state/blocks.h"

namespace pleat::inline v0_1 {
namespace {

absl::Status Differs(std::string_view what, std::string_view is, std::string_view was) {
  return absl::FailedPreconditionError(Concat(what, " is ", is, ", and ", was, " in the snapshot"));
}

absl::Status GoneError() { return absl::FailedPreconditionError("the engine is gone"); }

// A book is there from the first event of its partition on.
absl::Status CheckUnused(EngineCore& engine) {
  if (engine.closed()) return GoneError();
  for (int i = 0; i < engine.partition_count(); ++i) {
    Partition& partition = engine.partition(i);
    LockGuard guard(partition.lock());
    if (partition.book_count() > 0) {
      return absl::FailedPreconditionError(
          "the engine has been used already: events, Reserve() and Watch() come after a restore");
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
        reader_(source) {}
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
  // One partition's blocks.
  struct Part {
    size_t partition = 0;
    uint64_t offset = 0;
    std::string bytes;
  };

  absl::Status CheckEngine() const;
  absl::Status MatchCollections(const EngineCore::Collections& collections);
  void Number(const EngineCore::Collections& collections);
  void SetNumber(const std::shared_ptr<Collection>& collection, uint32_t number);
  absl::Status LoadShared();
  absl::StatusOr<std::optional<Part>> NextPart() ABSL_EXCLUSIVE_LOCKS_REQUIRED(reading_);
  absl::StatusOr<Block> NextBlock() ABSL_EXCLUSIVE_LOCKS_REQUIRED(reading_);
  std::optional<Part> TakePart();
  absl::Status Load(const Part& part);
  bool LoadBooks(const Part& part, const Partition::Moment& cut);
  bool IsDropped(std::string_view name) const {
    return std::ranges::find(drop_, name) != drop_.end();
  }
  void Fail(absl::Status why);
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
  bool finished_ = false;

  Lock reading_;
  BlockReader reader_ ABSL_GUARDED_BY(reading_);
  std::optional<Block> ahead_ ABSL_GUARDED_BY(reading_);  // of the next part
  std::vector<bool> seen_ ABSL_GUARDED_BY(reading_);      // by partition
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
    absl::Status same =
        CheckSame(then.name, then.description, now, collection.ShapeOf(then.description.version));
    if (!same.ok()) return same;
    if (!collections_.emplace(then.number, it->second).second || then.number == 0 ||
        then.number > head_.lasting.ever_added) {
      return DamageAt(0, "the head says something impossible");
    }
    versions_.emplace(then.number, then.description.version);
  }
  Number(collections);
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
  if (skip_numbers_ % Leases::kRemembered != 0) {
    return absl::InvalidArgumentError("skip_numbers: must be a multiple of 65,536");
  }
  {
    LockGuard guard(reading_);
    absl::StatusOr<SnapshotHead> head = SnapshotHead::Read(reader_);
    if (!head.ok()) return head.status();
    head_ = *std::move(head);
  }
  if (absl::Status status = CheckEngine(); !status.ok()) return status;
  {
    LockGuard guard(reading_);
    seen_.resize(head_.partitions);
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

absl::StatusOr<Block> RestoreCore::NextBlock() {
  if (ahead_) return *std::exchange(ahead_, std::nullopt);
  return reader_.Next();
}

absl::StatusOr<std::optional<RestoreCore::Part>> RestoreCore::NextPart() {
  if (at_end_) return std::optional<Part>();
  absl::StatusOr<Block> block = NextBlock();
  if (!block.ok()) return block.status();
  if (block->kind == BlockKind::kEnd) {
    at_end_ = true;
    if (absl::Status end = reader_.ExpectEnd(); !end.ok()) return end;
    return std::optional<Part>();
  }
  if (block->kind != BlockKind::kPart || block->owner >= seen_.size() || seen_[block->owner]) {
    return DamageAt(block->offset, "the block is out of place");
  }
  seen_[block->owner] = true;
  Part part{.partition = block->owner, .offset = block->offset, .bytes = std::move(block->bytes)};
  for (;;) {
    absl::StatusOr<Block> next = NextBlock();
    if (!next.ok()) return next.status();
    if (next->kind != BlockKind::kPart || next->owner != part.partition) {
      ahead_ = *std::move(next);
      return std::optional<Part>(std::move(part));
    }
    part.bytes += next->bytes;
  }
}

std::optional<RestoreCore::Part> RestoreCore::TakePart() {
  LockGuard guard(reading_);
  if (!status_.ok()) return std::nullopt;
  absl::StatusOr<std::optional<Part>> part = NextPart();
  if (part.ok()) return *std::move(part);
  status_ = part.status();
  return std::nullopt;
}

absl::Status RestoreCore::Load(const Part& part) {
  const Call call;  // functions of the caller's read states
  Partition& partition = engine_.partition(static_cast<int>(part.partition));
  const Partition::Moment cut{head_.now, head_.lease_now, head_.position};
  LockGuard guard(partition.lock());
  if (LoadBooks(part, cut)) return absl::OkStatus();
  return DamageAt(part.offset, Concat("partition ", part.partition, " says something impossible"));
}

// Each book has bytes of its own; where they end stands behind the last one.
bool RestoreCore::LoadBooks(const Part& part, const Partition::Moment& cut) {
  FieldReader beginning(part.bytes);
  const size_t books = beginning.Count();
  std::string_view rest = std::string_view(part.bytes).substr(part.bytes.size() - beginning.left());
  if (books * 8 > rest.size()) return false;
  FieldReader end_of(rest.substr(rest.size() - books * 8));
  rest.remove_suffix(books * 8);
  std::set<uint32_t> loaded;
  for (size_t book = 0; book < books; ++book) {
    const auto begin = static_cast<uint64_t>(rest.data() - part.bytes.data());
    const uint64_t end = end_of.Word();
    if (end < begin || end - begin > rest.size()) return false;
    const std::string_view bytes = rest.substr(0, end - begin);
    rest.remove_prefix(bytes.size());
    FieldReader in(bytes);
    uint32_t number = 0;
    in(number);
    if (!in.ok() || !loaded.insert(number).second) return false;
    if (dropped_.contains(number)) continue;
    const auto it = collections_.find(number);
    if (it == collections_.end()) return false;
    in.set_version(versions_.at(number));
    it->second->LoadBook(part.partition, in, cut, skip_numbers_);
    if (!in.done()) return false;
  }
  return beginning.ok() && rest.empty();
}

void RestoreCore::Fail(absl::Status why) {
  LockGuard guard(reading_);
  if (status_.ok()) status_ = std::move(why);
}

void RestoreCore::Work() {
  while (std::optional<Part> part = TakePart()) {
    if (absl::Status status = Load(*part); !status.ok()) Fail(std::move(status));
  }
}

absl::Status RestoreCore::Check() {
  if (checked_) return absl::OkStatus();
  Work();
  LockGuard guard(reading_);
  if (!status_.ok()) return status_;
  PLEAT_CHECK(at_end_);
  status_ = LoadShared();
  checked_ = status_.ok();
  return status_;
}

absl::Status RestoreCore::Finish() {
  if (absl::Status status = Check(); !status.ok()) return status;
  engine_.timeline().Restore(head_.now, head_.lease_now, head_.position);
  finished_ = true;
  return absl::OkStatus();
}

void RestoreCore::Undo() {
  for (const auto& [number, collection] : collections_) {
    collection->DropBooks();
    collection->source_positions().Clear();
  }
  for (const auto& [number, bytes] : shared_before_) {
    FieldReader in(bytes);
    collections_[number]->LoadAll(in);
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
  if (by % Leases::kRemembered != 0) {
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
