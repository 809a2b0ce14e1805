#include <pleat/state_directory.h>

#include <algorithm>
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
  SnapshotState state() const {
    LockGuard guard(state_lock_);
    return state_;
  }

 private:
  absl::Status ReadManifest();
  absl::Status WriteManifest();
  absl::Status WriteFile(std::string_view name, absl::FunctionRef<absl::Status(ByteSink&)> write);
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

  mutable Lock state_lock_;
  SnapshotState state_ ABSL_GUARDED_BY(state_lock_);
};

// --- Files

// So that either the file that has the name now or the new one is there, whatever fails.
absl::Status StateDirectoryCore::WriteFile(std::string_view name,
                                           absl::FunctionRef<absl::Status(ByteSink&)> write) {
  const std::string unfinished = Concat(name, kUnfinished);
  if (absl::Status gone = directory_->Remove(unfinished); !gone.ok() && !absl::IsNotFound(gone)) {
    return gone;
  }
  absl::StatusOr<std::unique_ptr<StorageWriter>> file = directory_->CreateFile(unfinished);
  if (!file.ok()) return file.status();
  FileSink sink(**file);
  absl::Status status = write(sink);
  if (status.ok()) status = (*file)->Sync();
  const absl::Status closed = (*file)->Close();
  if (status.ok()) status = closed;
  if (status.ok()) status = directory_->Rename(unfinished, name);
  if (status.ok()) return directory_->SyncDirectory();
  directory_->Remove(unfinished).IgnoreError();  // else RemoveLeftovers() does
  return status;
}

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
  return WriteFile(kManifest, [&](ByteSink& sink) { return manifest_.Write(sink); });
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
  FileSource source(**file);
  const absl::StatusOr<std::unique_ptr<pleat::Restore>> restore = pleat::Restore::Begin(
      engine, source,
      {.skip_numbers = options_.repeats ? 0 : lives * kNumbersPerLife, .drop = drop});
  if (!restore.ok()) return At(name, restore.status());
  work(**restore);
  if (absl::Status status = (*restore)->Check(); !status.ok()) return At(name, status);
  if (absl::Status status = BeginLife(); !status.ok()) return status;
  if (absl::Status status = (*restore)->Finish(); !status.ok()) return At(name, status);
  newest_ = name;
  LockGuard guard(state_lock_);
  state_.bytes = *size;
  return info;
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
  absl::Status status = WriteFile(NameOfSnapshot(number), [&](ByteSink& sink) {
    const absl::Status taken = pleat::TakeSnapshot(engine, sink,
                                                   {.identity = IdentityOf(number, manifest_.lives),
                                                    .tag = manifest_.lives,
                                                    .note = note,
                                                    .compress = options_.compress,
                                                    .expected = expected});
    bytes = static_cast<FileSink&>(sink).written();
    return taken;
  });
  if (!status.ok()) return status;
  const absl::StatusOr<SnapshotInfo> checked = Check(number);
  if (!checked.ok()) return checked.status();
  collections_ = checked->collections;
  LockGuard guard(state_lock_);
  state_.bytes = bytes;
  return absl::OkStatus();
}

absl::StatusOr<SnapshotInfo> StateDirectoryCore::Check(uint64_t number) {
  const std::string name = NameOfSnapshot(number);
  const absl::StatusOr<std::unique_ptr<StorageReader>> file = directory_->OpenFile(name);
  if (!file.ok()) return file.status();
  FileSource source(**file);
  absl::StatusOr<SnapshotInfo> info = CheckSnapshot(source);
  if (!info.ok()) return At(name, info.status());
  return info;
}

// One that was written whole is the newest from then on, also if MANIFEST cannot say so yet: then
// the attempt has failed, and the next one says it.
absl::Status StateDirectoryCore::TakeSnapshot(Engine& engine, std::string_view note,
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

StateDirectory::StateDirectory(std::unique_ptr<StateDirectoryCore> core) : core_(std::move(core)) {}
StateDirectory::~StateDirectory() = default;

absl::StatusOr<std::unique_ptr<StateDirectory>> StateDirectory::Open(
    std::string_view directory, const StateDirectoryOptions& options) {
  Storage& storage = options.storage != nullptr ? *options.storage : PosixStorage();
  absl::StatusOr<std::unique_ptr<StorageDirectory>> opened =
      storage.OpenDirectory(directory, IfMissing::kCreate);
  if (!opened.ok()) return opened.status();
  auto core = std::make_unique<StateDirectoryCore>(*std::move(opened), options);
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
  return core_->TakeSnapshot(engine, note, drop);
}
SnapshotState StateDirectory::state() const { return core_->state(); }

}  // namespace pleat::inline v0_1
