#include <pleat/state_directory.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include <absl/base/thread_annotations.h>
#include <absl/functional/function_ref.h>

#include "engine/base/concat.h"
#include "engine/base/hash.h"
#include "engine/base/inside.h"
#include "engine/base/lock.h"
#include "engine/state/state_files.h"

namespace pleat::inline v0_1 {
namespace {

// Numbers that a life of an engine may use up.
constexpr uint64_t kNumbersPerLife = uint64_t{1} << 32;

bool Has(const std::optional<SnapshotInfo>& snapshot, std::string_view name) {
  return snapshot &&
         std::ranges::find(snapshot->collections, name, &SnapshotInfo::Collection::name) !=
             snapshot->collections.end();
}

bool HasChanges(const SnapshotInfo& info) {
  return std::ranges::any_of(info.collections,
                             [](const auto& each) { return !each.changed.empty(); });
}

// A fold function runs under a lock that a snapshot under way may wait for.
absl::Status NestedError(std::string_view call) {
  return absl::FailedPreconditionError(Concat(call, " from inside a fold function"));
}

}  // namespace

class StateDirectoryCore {
 public:
  StateDirectoryCore(std::unique_ptr<StorageDirectory> directory,
                     const StateDirectoryOptions& options)
      : directory_(std::move(directory)), options_(options) {}

  absl::Status Open();
  absl::StatusOr<Recovered> Recover(Engine& engine, StateDirectory::Work work,
                                    std::span<const std::string> drop);
  absl::StatusOr<std::optional<SnapshotInfo>> Newest();
  absl::Status TakeSnapshot(Engine& engine, std::string_view note,
                            std::span<const std::string> drop);
  bool GiveUp();
  SnapshotState state() const;

 private:
  absl::Status ReadManifest();
  absl::Status WriteManifest();
  absl::Status FindSnapshots();
  // Of a snapshot. A number may come again in another life, if its file is gone.
  uint64_t IdentityOf(uint64_t number, uint64_t life) const noexcept {
    return IdentityOfSnapshot(manifest_.identity, number, life);
  }
  absl::Status BeginLife();
  absl::StatusOr<SnapshotInfo> InfoOf(uint64_t number);
  absl::StatusOr<SnapshotInfo> RestoreFrom(uint64_t number, Engine& engine,
                                           StateDirectory::Work work,
                                           std::span<const std::string> drop);
  absl::Status RestoreNewest(Engine& engine, StateDirectory::Work work,
                             std::span<const std::string> drop, Recovered& recovered);
  absl::Status CheckEngine(Engine& engine) const;
  absl::Status TakeNow(Engine& engine, std::string_view note, std::span<const std::string> drop);
  bool BeginTaking(Engine& engine);
  bool EndGivingUp();
  void SetIdentityTaken(uint64_t identity) {
    LockGuard guard(state_lock_);
    identity_taken_ = identity;
  }
  absl::Status GoOn() const;
  absl::Status Write(Engine& engine, uint64_t number, std::string_view note,
                     std::span<const SnapshotInfo::Collection> expected);
  absl::StatusOr<SnapshotInfo> Check(uint64_t number);
  absl::Status SayKept();
  void RemoveLeftovers();
  absl::Status At(std::string_view file, const absl::Status& why) const {
    return InFile(directory_->path(), file, why);
  }

  const std::unique_ptr<StorageDirectory> directory_;
  const StateDirectoryOptions options_;
  Lock lock_;  // of all below, for as long as a call takes
  bool is_new_ = false;
  bool recovered_ = false;
  std::weak_ptr<const void> engine_;                   // that was recovered
  std::vector<SnapshotInfo::Collection> collections_;  // that the next snapshot has to have
  Manifest manifest_;
  std::vector<uint64_t> snapshots_;     // numbers, ascending; before Recover()
  std::string newest_;                  // the file; empty: there is none
  std::vector<std::string> leftovers_;  // files that nobody needs, or that may be there
  uint64_t next_ = 1;                   // never a number that has a file

  std::atomic<bool> given_up_ = false;  // the snapshot under way; says nothing without one
  mutable Lock state_lock_;
  SnapshotState state_ ABSL_GUARDED_BY(state_lock_);
  bool taking_ ABSL_GUARDED_BY(state_lock_) = false;
  std::shared_ptr<Engine> engine_taken_ ABSL_GUARDED_BY(state_lock_);  // while it can be given up
  // Of the snapshot that the engine is asked for; none: it was not asked yet.
  std::optional<uint64_t> identity_taken_ ABSL_GUARDED_BY(state_lock_);
};

// A file of a snapshot that may be given up meanwhile: `go_on` says so.
class SinkToGiveUp final : public ByteSink {
 public:
  using GoOn = absl::FunctionRef<absl::Status()>;
  SinkToGiveUp(ByteSink& sink, GoOn go_on) : sink_(sink), go_on_(go_on) {}
  absl::Status Append(std::string_view bytes) override {
    if (absl::Status status = go_on_(); !status.ok()) return status;
    return sink_.Append(bytes);
  }

 private:
  ByteSink& sink_;
  const GoOn go_on_;
};

class SourceToGiveUp final : public ByteSource {
 public:
  using GoOn = absl::FunctionRef<absl::Status()>;
  SourceToGiveUp(ByteSource& source, GoOn go_on) : source_(source), go_on_(go_on) {}
  absl::StatusOr<size_t> Read(std::span<char> room) override {
    if (absl::Status status = go_on_(); !status.ok()) return status;
    return source_.Read(room);
  }

 private:
  ByteSource& source_;
  const GoOn go_on_;
};

// --- Files

// Those that cannot be removed are tried again after the next snapshot, or by the next
// StateDirectory.
void StateDirectoryCore::RemoveLeftovers() {
  if (leftovers_.empty()) return;
  std::erase_if(leftovers_, [&](const std::string& name) {
    const absl::Status gone = directory_->Remove(name);
    return gone.ok() || absl::IsNotFound(gone);
  });
  directory_->SyncDirectory().IgnoreError();  // one that comes back does no harm
}

absl::Status StateDirectoryCore::WriteManifest() {
  return WriteBeside(*directory_, kManifest, [&](ByteSink& sink) { return manifest_.Write(sink); });
}

absl::Status StateDirectoryCore::ReadManifest() {
  const absl::StatusOr<std::unique_ptr<StorageReader>> file = directory_->OpenFile(kManifest);
  if (!file.ok()) return file.status();
  FileSource source(**file);
  absl::StatusOr<Manifest> read = Manifest::Read(source);
  if (!read.ok()) return At(kManifest, read.status());
  manifest_ = *read;
  return absl::OkStatus();
}

absl::Status StateDirectoryCore::FindSnapshots() {
  const absl::StatusOr<std::vector<std::string>> names = directory_->List();
  if (!names.ok()) return names.status();
  for (const std::string& name : *names) {
    const std::optional<uint64_t> number = NumberIn(name);
    if (!number) continue;
    next_ = std::max(next_, *number + 1);
    if (name.ends_with(kUnfinished)) {
      leftovers_.push_back(name);
    } else {
      snapshots_.push_back(*number);
    }
  }
  std::sort(snapshots_.begin(), snapshots_.end());
  return absl::OkStatus();
}

absl::Status StateDirectoryCore::Open() {
  if (absl::Status ours = CheckOurs(*directory_); !ours.ok()) return ours;
  if (absl::Status status = directory_->Lock(); !status.ok()) return status;
  if (absl::Status status = FindSnapshots(); !status.ok()) return status;
  absl::Status manifest = ReadManifest();
  if (manifest.ok() && manifest_.kept && snapshots_.empty()) {
    return At(kManifest, absl::DataLossError(kGone));
  }
  if (!absl::IsNotFound(manifest)) return manifest;
  if (!snapshots_.empty()) {
    return At(kManifest, absl::DataLossError("is missing, and there is a snapshot"));
  }
  is_new_ = true;
  manifest_.identity = options_.identity.value_or(RandomHashKey().front());
  return absl::OkStatus();
}

// --- Recovering

// From here on numbers are handed out that the directory has to know of.
absl::Status StateDirectoryCore::BeginLife() {
  ++manifest_.lives;  // also if that fails: the disk may have it
  manifest_.lives = std::min(manifest_.lives, Manifest::kLivesMax - 1);
  return manifest_.kept || snapshots_.empty() ? WriteManifest() : SayKept();
}

// The snapshot is on the disk under its name before MANIFEST says that there has been one: the
// process that wrote it may have been killed before it synced the directory.
absl::Status StateDirectoryCore::SayKept() {
  if (manifest_.kept) return absl::OkStatus();
  if (absl::Status synced = directory_->SyncDirectory(); !synced.ok()) return synced;
  manifest_.kept = true;
  const absl::Status written = WriteManifest();
  manifest_.kept = written.ok();
  return written;
}

absl::StatusOr<SnapshotInfo> StateDirectoryCore::InfoOf(uint64_t number) {
  const std::string name = NameOfSnapshot(number);
  const absl::StatusOr<std::unique_ptr<StorageReader>> file = directory_->OpenFile(name);
  if (!file.ok()) return file.status();
  FileSource source(**file);
  absl::StatusOr<SnapshotInfo> info = ReadSnapshotInfo(source);
  if (!info.ok()) return At(name, info.status());
  if (info->identity == IdentityOf(number, info->tag)) return info;
  return At(name,
            absl::FailedPreconditionError("belongs to another directory, or had another name"));
}

absl::StatusOr<std::optional<SnapshotInfo>> StateDirectoryCore::Newest() {
  LockGuard guard(lock_);
  absl::Status newest;
  for (size_t i = snapshots_.size(); i-- > 0;) {
    absl::StatusOr<SnapshotInfo> info = InfoOf(snapshots_[i]);
    if (info.ok()) return *std::move(info);
    if (!absl::IsDataLoss(info.status())) return info.status();
    newest.Update(info.status());
  }
  if (!newest.ok()) return newest;
  return std::nullopt;
}

// A life begins when the engine is known to be restored, and can still be left as it was.
absl::StatusOr<SnapshotInfo> StateDirectoryCore::RestoreFrom(uint64_t number, Engine& engine,
                                                             StateDirectory::Work work,
                                                             std::span<const std::string> drop) {
  absl::StatusOr<SnapshotInfo> info = InfoOf(number);
  if (!info.ok()) return info.status();
  const std::string name = NameOfSnapshot(number);
  const absl::StatusOr<std::unique_ptr<StorageReader>> file = directory_->OpenFile(name);
  if (!file.ok()) return file.status();
  const absl::StatusOr<uint64_t> size = (*file)->Size();
  if (!size.ok()) return size.status();
  const uint64_t lives = manifest_.lives >= info->tag ? manifest_.lives - info->tag + 1 : 1;
  std::optional<FileSource> source(std::in_place, **file);
  const auto begin = [&](uint64_t skip_numbers) {
    return pleat::Restore::Begin(engine, *source, {.skip_numbers = skip_numbers, .drop = drop});
  };
  absl::StatusOr<std::unique_ptr<pleat::Restore>> restore =
      begin(options_.repeats ? 0 : lives * kNumbersPerLife);
  // Under other options the same events make other emissions, which need numbers of their own.
  if (restore.ok() && options_.repeats && HasChanges((*restore)->info())) {
    restore->reset();
    source.emplace(**file);
    restore = begin(lives * kNumbersPerLife);
  }
  if (!restore.ok()) return At(name, restore.status());
  work(**restore);
  if (absl::Status status = (*restore)->Check(); !status.ok()) return At(name, status);
  if (absl::Status status = BeginLife(); !status.ok()) return status;
  if (absl::Status status = (*restore)->Finish(); !status.ok()) return At(name, status);
  newest_ = name;
  LockGuard guard(state_lock_);
  state_.bytes = *size;
  return (*restore)->info();
}

// The newest that is whole. A damaged one is passed over only if an older one is there: then the
// newer one was never checked to its end. All other errors have the last word.
absl::Status StateDirectoryCore::RestoreNewest(Engine& engine, StateDirectory::Work work,
                                               std::span<const std::string> drop,
                                               Recovered& recovered) {
  absl::Status newest;
  for (size_t i = snapshots_.size(); i-- > 0;) {
    absl::StatusOr<SnapshotInfo> info = RestoreFrom(snapshots_[i], engine, work, drop);
    if (info.ok()) {
      recovered.snapshot = *std::move(info);
      return absl::OkStatus();
    }
    if (!absl::IsDataLoss(info.status())) return info.status();
    if (newest.ok()) newest = info.status();
    if (!recovered.passed_over.empty()) recovered.passed_over += "; ";
    recovered.passed_over += std::string(info.status().message());
  }
  return newest;
}

absl::StatusOr<Recovered> StateDirectoryCore::Recover(Engine& engine, StateDirectory::Work work,
                                                      std::span<const std::string> drop) {
  LockGuard guard(lock_);
  if (recovered_) return absl::FailedPreconditionError("Recover() was called before");
  absl::StatusOr<std::vector<SnapshotInfo::Collection>> had = CollectionsIn(engine);
  if (!had.ok()) return had.status();
  Recovered recovered;
  if (!snapshots_.empty()) {
    absl::Status restored = RestoreNewest(engine, work, drop, recovered);
    if (!restored.ok()) return restored;
  } else {
    const uint64_t skipped = is_new_ || options_.repeats ? 0 : manifest_.lives * kNumbersPerLife;
    if (absl::Status used = SkipNumbers(engine, 0); !used.ok()) return used;
    if (absl::Status status = BeginLife(); !status.ok()) return status;
    if (absl::Status status = SkipNumbers(engine, skipped); !status.ok()) return status;
  }
  recovered_ = true;
  engine_ = pleat::IdentityOf(engine);
  had = CollectionsIn(engine);  // with the numbers of the snapshot
  if (!had.ok()) return had.status();
  collections_ = *std::move(had);
  for (const SnapshotInfo::Collection& each : collections_) {
    if (!Has(recovered.snapshot, each.name)) recovered.began_empty.push_back(each.name);
  }
  for (const uint64_t number : snapshots_) {
    if (NameOfSnapshot(number) != newest_) leftovers_.push_back(NameOfSnapshot(number));
  }
  RemoveLeftovers();
  return recovered;
}

// --- Snapshots

absl::Status StateDirectoryCore::CheckEngine(Engine& engine) const {
  if (!recovered_) return absl::FailedPreconditionError("TakeSnapshot() before Recover()");
  const std::weak_ptr<const void> other = pleat::IdentityOf(engine);
  if (!engine_.owner_before(other) && !other.owner_before(engine_)) return absl::OkStatus();
  return absl::FailedPreconditionError(
      Concat(directory_->path(), ": TakeSnapshot() of another engine than Recover() had"));
}

absl::Status StateDirectoryCore::Write(Engine& engine, uint64_t number, std::string_view note,
                                       std::span<const SnapshotInfo::Collection> expected) {
  uint64_t bytes = 0;
  const auto go_on = [this] { return GoOn(); };
  const auto write = [&](ByteSink& file) {
    SinkToGiveUp sink(file, go_on);
    const uint64_t identity = IdentityOf(number, manifest_.lives);
    SetIdentityTaken(identity);
    const absl::Status taken = pleat::TakeSnapshot(engine, sink,
                                                   {.identity = identity,
                                                    .tag = manifest_.lives,
                                                    .note = note,
                                                    .compress = options_.compress,
                                                    .expected = expected,
                                                    .max_copy_bytes = options_.max_copy_bytes});
    bytes = static_cast<FileSink&>(file).written();
    return taken.ok() ? GoOn() : taken;
  };
  absl::Status status = WriteBeside(*directory_, NameOfSnapshot(number), write, go_on);
  if (!status.ok()) return status;
  const absl::StatusOr<SnapshotInfo> checked = Check(number);
  if (!checked.ok()) return checked.status();
  if (!EndGivingUp()) return GoOn();
  collections_ = checked->collections;
  LockGuard guard(state_lock_);
  state_.bytes = bytes;
  return absl::OkStatus();
}

absl::StatusOr<SnapshotInfo> StateDirectoryCore::Check(uint64_t number) {
  const std::string name = NameOfSnapshot(number);
  const absl::StatusOr<std::unique_ptr<StorageReader>> file = directory_->OpenFile(name);
  if (!file.ok()) return file.status();
  FileSource whole(**file);
  const auto go_on = [this] { return GoOn(); };
  SourceToGiveUp source(whole, go_on);
  absl::StatusOr<SnapshotInfo> info = CheckSnapshot(source);
  if (absl::Status status = GoOn(); !status.ok()) return status;
  if (!info.ok()) return At(name, info.status());
  return info;
}

// --- Giving up

absl::Status StateDirectoryCore::GoOn() const {
  if (!given_up_.load()) return absl::OkStatus();
  return absl::CancelledError(Concat(directory_->path(), ": the snapshot was given up"));
}

bool StateDirectoryCore::BeginTaking(Engine& engine) {
  LockGuard guard(state_lock_);
  if (std::exchange(taking_, true)) return false;
  given_up_.store(false);
  engine_taken_ = engine.Handle();
  return true;
}

// From then on the snapshot is not given up any more. Returns false if it was.
bool StateDirectoryCore::EndGivingUp() {
  LockGuard guard(state_lock_);
  if (engine_taken_ == nullptr) return !given_up_.load();
  const SnapshotCopies copies = pleat::SnapshotCopiesOf(*engine_taken_);
  state_.most_copy_bytes = copies.most_bytes;
  engine_taken_ = nullptr;
  identity_taken_.reset();
  return !given_up_.load();
}

// A snapshot that has not begun to copy yet asks whether it was given up before it writes anything.
// The engine is told with no lock held: it waits for partitions.
bool StateDirectoryCore::GiveUp() {
  std::shared_ptr<Engine> engine;
  std::optional<uint64_t> identity;
  {
    LockGuard guard(state_lock_);
    if (engine_taken_ == nullptr) return false;
    given_up_.store(true);
    engine = engine_taken_;
    identity = identity_taken_;
  }
  if (identity) pleat::GiveUpSnapshot(*engine, identity);
  return true;
}

SnapshotState StateDirectoryCore::state() const {
  LockGuard guard(state_lock_);
  SnapshotState state = state_;
  if (engine_taken_ != nullptr) {
    const SnapshotCopies copies = pleat::SnapshotCopiesOf(*engine_taken_);
    state.copy_bytes = copies.bytes;
    state.most_copy_bytes = copies.most_bytes;
  }
  return state;
}

absl::Status StateDirectoryCore::TakeSnapshot(Engine& engine, std::string_view note,
                                              std::span<const std::string> drop) {
  if (!BeginTaking(engine)) {
    return absl::UnavailableError(Concat(directory_->path(), ": another snapshot is being taken"));
  }
  const absl::Status status = TakeNow(engine, note, drop);
  EndGivingUp();
  LockGuard guard(state_lock_);
  taking_ = false;
  return status;
}

// One that was written whole is the newest from then on, also if MANIFEST cannot say so yet: then
// the attempt has failed, and the next one says it.
absl::Status StateDirectoryCore::TakeNow(Engine& engine, std::string_view note,
                                         std::span<const std::string> drop) {
  LockGuard guard(lock_);
  if (absl::Status right = CheckEngine(engine); !right.ok()) return right;
  std::vector<SnapshotInfo::Collection> expected = collections_;
  std::erase_if(expected, [&](const SnapshotInfo::Collection& each) {
    return std::ranges::find(drop, each.name) != drop.end();
  });
  const uint64_t number = next_++;
  const std::string name = NameOfSnapshot(number);
  absl::Status status = Write(engine, number, note, expected);
  if (status.ok()) {
    if (!newest_.empty()) leftovers_.push_back(newest_);
    newest_ = name;
    status = SayKept();
  } else {
    leftovers_.push_back(name);  // one that was never checked
    leftovers_.push_back(Concat(name, kUnfinished));
  }
  RemoveLeftovers();
  LockGuard state_guard(state_lock_);
  ++(status.ok() ? state_.taken : state_.failed);
  state_.last = status;
  return status;
}

// --- The face

StateDirectory::StateDirectory(std::shared_ptr<StateDirectoryCore> core) : core_(std::move(core)) {}
StateDirectory::~StateDirectory() { GiveUpSnapshot(); }

absl::StatusOr<std::unique_ptr<StateDirectory>> StateDirectory::Open(
    std::string_view directory, const StateDirectoryOptions& options) {
  if (options.max_copy_bytes == 0) {
    return absl::InvalidArgumentError("max_copy_bytes: must be 1 or more");
  }
  Storage& storage = options.storage != nullptr ? *options.storage : PosixStorage();
  absl::StatusOr<std::unique_ptr<StorageDirectory>> opened =
      storage.OpenDirectory(directory, IfMissing::kCreate);
  if (!opened.ok()) return opened.status();
  auto core = std::make_shared<StateDirectoryCore>(*std::move(opened), options);
  if (absl::Status status = core->Open(); !status.ok()) return status;
  return std::unique_ptr<StateDirectory>(new StateDirectory(std::move(core)));
}

absl::StatusOr<Recovered> StateDirectory::Recover(Engine& engine,
                                                  std::span<const std::string> drop) {
  return Recover(engine, [](Restore&) {}, drop);
}
absl::StatusOr<Recovered> StateDirectory::Recover(Engine& engine, StateDirectory::Work work,
                                                  std::span<const std::string> drop) {
  if (Call().nested()) return NestedError("Recover()");
  return core_->Recover(engine, work, drop);
}
absl::StatusOr<std::optional<SnapshotInfo>> StateDirectory::Newest() {
  if (Call().nested()) return NestedError("Newest()");
  return core_->Newest();
}
absl::Status StateDirectory::TakeSnapshot(Engine& engine, std::string_view note,
                                          std::span<const std::string> drop) {
  if (Call().nested()) return NestedError("TakeSnapshot()");
  const std::shared_ptr<StateDirectoryCore> core = core_;
  return core->TakeSnapshot(engine, note, drop);
}
bool StateDirectory::GiveUpSnapshot() noexcept { return !Call::WouldBeNested() && core_->GiveUp(); }
SnapshotState StateDirectory::state() const { return core_->state(); }

}  // namespace pleat::inline v0_1
