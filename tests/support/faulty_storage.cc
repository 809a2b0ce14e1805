#include "tests/support/faulty_storage.h"

#include <unistd.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "engine/base/check.h"
#include "engine/state/storage_error.h"

namespace pleat::inline v0_1 {
namespace {

using Kind = StorageCall::Kind;
using FileId = FaultyDisk::FileId;

// As the messages of PosixStorage() have it.
std::string_view WordsOf(Kind kind) {
  switch (kind) {
    case Kind::kOpenDirectory:
    case Kind::kOpen: return "open";
    case Kind::kMakeDirectory:
    case Kind::kCreate: return "create";
    case Kind::kSyncParent: return "sync the directory above";
    case Kind::kLock: return "lock";
    case Kind::kRename: return "rename";
    case Kind::kRemove: return "remove";
    case Kind::kList: return "list";
    case Kind::kSyncDirectory:
    case Kind::kSync: return "sync";
    case Kind::kAppend: return "write to";
    case Kind::kOverwrite: return "overwrite";
    case Kind::kClose: return "close";
    case Kind::kReadAt: return "read";
    case Kind::kSize: return "examine";
  }
  return "";
}

// Whether a trouble that lasts, and that shows as `error`, is one of such calls.
bool Concerns(int error, const StorageCall& call) {
  const bool opens = call.kind == Kind::kOpenDirectory || call.kind == Kind::kCreate ||
                     call.kind == Kind::kOpen || call.kind == Kind::kList ||
                     call.kind == Kind::kLock;
  switch (error) {
    case ENOSPC:
    case EDQUOT: return call.changes() && call.kind != Kind::kRemove;
    case EROFS: return call.changes() || call.kind == Kind::kLock;
    case EMFILE: return opens;
    case EACCES:
      return opens || call.kind == Kind::kMakeDirectory || call.kind == Kind::kRename ||
             call.kind == Kind::kRemove;
    default: return true;
  }
}

}  // namespace

bool StorageCall::changes() const {
  switch (kind) {
    case Kind::kMakeDirectory:
    case Kind::kSyncParent:
    case Kind::kCreate:
    case Kind::kRename:
    case Kind::kRemove:
    case Kind::kSyncDirectory:
    case Kind::kAppend:
    case Kind::kOverwrite:
    case Kind::kSync: return true;
    default: return false;
  }
}

std::string StorageCall::ToString() const {
  std::string text(WordsOf(kind));
  text.append(" ").append(path);
  if (kind == Kind::kAppend || kind == Kind::kOverwrite || kind == Kind::kReadAt) {
    text.append(", ").append(std::to_string(bytes)).append(" bytes");
  }
  return text;
}

// What the handles share. Its lock is held by each call.
class FaultyStorage::Machine {
 public:
  // What becomes of a call.
  struct Fate {
    absl::Status error;   // what it returns, unless OK
    bool acts = true;     // whether the call is carried out at all
    bool powered = true;  // a call without power has no effect of any kind
    uint64_t bytes = 0;   // that an append which does not act has written all the same
    FailedSync sync = {};
  };

  explicit Machine(FaultyDisk state) : disk(std::move(state)) {}

  // Takes the next number. `bytes` are those of an append to `file`.
  Fate Begin(StorageCall call, FileId file = FaultyDisk::kNoFile, std::string_view bytes = {}) {
    const size_t number = log.size();
    if (recording) moments.push_back({disk, file, std::string(bytes)});
    log.push_back(call);
    if (crash_at.has_value() && number >= *crash_at) {
      const std::string text = "cannot " + call.ToString() + ": the power is off";
      return {absl::InternalError(text), false, false, number == *crash_at ? crash_bytes : 0};
    }
    for (const StorageFault& fault : faults) {
      if (fault.error == 0 || fault.error == EINTR) continue;
      const bool is_first = number == fault.call;
      const bool is_later = fault.for_good && number > fault.call &&
                            (Concerns(fault.error, call) || log[fault.call].kind == call.kind);
      if (!is_first && !is_later) continue;
      return {StorageError(fault.error, WordsOf(call.kind), call.path), is_first && fault.done,
              true, is_first ? fault.bytes : 0, fault.sync};
    }
    return {};
  }

  void Open(FileId file) { ++open[file]; }
  void Close(FileId file) {
    if (--open[file] == 0) open.erase(file);
  }
  void Collect() {
    std::set<FileId> held;
    for (const auto& [file, count] : open) held.insert(file);
    disk.Collect(held);
  }

  struct Moment {
    FaultyDisk disk;  // before the call
    FileId file;
    std::string bytes;
  };

  mutable std::mutex lock;
  FaultyDisk disk;
  std::vector<StorageCall> log;
  std::vector<StorageFault> faults;
  std::optional<size_t> crash_at;
  uint64_t crash_bytes = 0;
  bool recording = false;
  std::vector<Moment> moments;
  std::set<std::string> locked;
  std::map<FileId, int> open;
};

class FaultyStorage::Writer final : public StorageWriter {
 public:
  Writer(std::shared_ptr<Machine> machine, FileId file, std::string path)
      : machine_(std::move(machine)), file_(file), path_(std::move(path)) {
    machine_->Open(file_);
  }
  ~Writer() override {
    const std::lock_guard guard(machine_->lock);
    if (!closed_) machine_->Close(file_);
  }

  absl::Status Append(std::string_view bytes) override {
    if (!failed_.ok()) return failed_;
    const std::lock_guard guard(machine_->lock);
    FaultyDisk& disk = machine_->disk;
    const Machine::Fate fate = machine_->Begin({Kind::kAppend, path_, bytes.size()}, file_, bytes);
    failed_ = fate.error;
    if (!fate.acts) bytes = bytes.substr(0, fate.bytes);
    if (const uint64_t room = disk.Room(); bytes.size() > room) {
      bytes = bytes.substr(0, room);
      if (failed_.ok()) failed_ = StorageError(ENOSPC, WordsOf(Kind::kAppend), path_);
    }
    disk.Append(file_, bytes);
    return failed_;
  }

  absl::Status Overwrite(std::string_view bytes) override {
    if (!failed_.ok()) return failed_;
    const std::lock_guard guard(machine_->lock);
    const Machine::Fate fate = machine_->Begin({Kind::kOverwrite, path_, bytes.size()});
    failed_ = fate.error;
    if (failed_.ok() && bytes.size() > machine_->disk.Bytes(file_).size() + machine_->disk.Room()) {
      return failed_ = StorageError(ENOSPC, WordsOf(Kind::kOverwrite), path_);
    }
    if (fate.acts) machine_->disk.Overwrite(file_, bytes);
    return failed_;
  }

  absl::Status Sync() override {
    if (!failed_.ok()) return failed_;
    const std::lock_guard guard(machine_->lock);
    FaultyDisk& disk = machine_->disk;
    const Machine::Fate fate = machine_->Begin({Kind::kSync, path_});
    if (fate.acts && disk.OwesError(file_)) {
      failed_ = StorageError(EIO, WordsOf(Kind::kSync), path_);
    } else if (fate.acts) {
      disk.Sync(file_);
      failed_ = fate.error;
    } else {
      if (fate.powered) disk.FailSync(file_, fate.sync);
      if (!fate.powered || fate.sync != FailedSync::kToldLater) failed_ = fate.error;
    }
    return failed_;
  }

  absl::Status Close() override {
    if (closed_) return failed_;
    const std::lock_guard guard(machine_->lock);
    closed_ = true;
    failed_ = ClosedError(path_);
    machine_->Close(file_);
    return machine_->Begin({Kind::kClose, path_}).error;
  }

 private:
  const std::shared_ptr<Machine> machine_;
  const FileId file_;
  const std::string path_;
  absl::Status failed_;
  bool closed_ = false;
};

class FaultyStorage::Reader final : public StorageReader {
 public:
  Reader(std::shared_ptr<Machine> machine, FileId file, std::string path)
      : machine_(std::move(machine)), file_(file), path_(std::move(path)) {
    machine_->Open(file_);
  }
  ~Reader() override {
    const std::lock_guard guard(machine_->lock);
    machine_->Close(file_);
  }

  absl::StatusOr<size_t> ReadAt(uint64_t offset, absl::Span<char> buffer) override {
    const std::lock_guard guard(machine_->lock);
    const Machine::Fate fate = machine_->Begin({Kind::kReadAt, path_, buffer.size()});
    if (!fate.error.ok()) return fate.error;
    const std::string& bytes = machine_->disk.Bytes(file_);
    if (offset >= bytes.size()) return size_t{0};
    return bytes.copy(buffer.data(), buffer.size(), offset);
  }

  absl::StatusOr<uint64_t> Size() override {
    const std::lock_guard guard(machine_->lock);
    const Machine::Fate fate = machine_->Begin({Kind::kSize, path_});
    if (!fate.error.ok()) return fate.error;
    return uint64_t{machine_->disk.Bytes(file_).size()};
  }

 private:
  const std::shared_ptr<Machine> machine_;
  const FileId file_;
  const std::string path_;
};

class FaultyStorage::Directory final : public StorageDirectory {
 public:
  // `key` is that of the disk, `path` the one that was asked for.
  Directory(std::shared_ptr<Machine> machine, std::string key, std::string path)
      : machine_(std::move(machine)), key_(std::move(key)), path_(std::move(path)) {}
  ~Directory() override {
    const std::lock_guard guard(machine_->lock);
    if (locks_) machine_->locked.erase(key_);
  }

  const std::string& path() const override { return path_; }

  uint64_t MachineRun() override {
    const std::lock_guard guard(machine_->lock);
    return machine_->disk.machine_run();
  }

  absl::Status Lock() override {
    const std::lock_guard guard(machine_->lock);
    if (locks_) return absl::OkStatus();
    const Machine::Fate fate = machine_->Begin({Kind::kLock, PathIn(path_, kLockName)});
    if (!fate.error.ok()) return fate.error;
    if (!machine_->locked.insert(key_).second) {
      return LockedError(path_, std::to_string(getpid()));
    }
    locks_ = true;
    return absl::OkStatus();
  }

  absl::StatusOr<std::unique_ptr<StorageWriter>> CreateFile(std::string_view name) override {
    if (absl::Status plain = CheckFileName(path_, name); !plain.ok()) return plain;
    const std::string path = PathIn(path_, name);
    const std::lock_guard guard(machine_->lock);
    const Machine::Fate fate = machine_->Begin({Kind::kCreate, path});
    if (!fate.acts) return fate.error;
    if (machine_->disk.Find(key_, name) != FaultyDisk::kNoFile) {
      return StorageError(EEXIST, WordsOf(Kind::kCreate), path);
    }
    const FileId file = machine_->disk.Create(key_, name);
    if (!fate.error.ok()) return fate.error;
    return std::make_unique<Writer>(machine_, file, path);
  }

  absl::StatusOr<std::unique_ptr<StorageReader>> OpenFile(std::string_view name) override {
    if (absl::Status plain = CheckFileName(path_, name); !plain.ok()) return plain;
    const std::string path = PathIn(path_, name);
    const std::lock_guard guard(machine_->lock);
    const Machine::Fate fate = machine_->Begin({Kind::kOpen, path});
    if (!fate.error.ok()) return fate.error;
    const FileId file = machine_->disk.Find(key_, name);
    if (file == FaultyDisk::kNoFile) return StorageError(ENOENT, WordsOf(Kind::kOpen), path);
    return std::make_unique<Reader>(machine_, file, path);
  }

  absl::Status Rename(std::string_view from, std::string_view to) override {
    if (absl::Status plain = CheckFileName(path_, from); !plain.ok()) return plain;
    if (absl::Status plain = CheckFileName(path_, to); !plain.ok()) return plain;
    const std::string path = PathIn(path_, from);
    const std::lock_guard guard(machine_->lock);
    const Machine::Fate fate = machine_->Begin({Kind::kRename, path});
    if (!fate.acts) return fate.error;
    if (machine_->disk.Find(key_, from) == FaultyDisk::kNoFile) {
      return StorageError(ENOENT, "rename to " + std::string(to), path);
    }
    machine_->disk.Rename(key_, from, to);
    return fate.error;
  }

  absl::Status Remove(std::string_view name) override {
    if (absl::Status plain = CheckFileName(path_, name); !plain.ok()) return plain;
    const std::string path = PathIn(path_, name);
    const std::lock_guard guard(machine_->lock);
    const Machine::Fate fate = machine_->Begin({Kind::kRemove, path});
    if (!fate.acts) return fate.error;
    if (machine_->disk.Find(key_, name) == FaultyDisk::kNoFile) {
      return StorageError(ENOENT, WordsOf(Kind::kRemove), path);
    }
    machine_->disk.Remove(key_, name);
    return fate.error;
  }

  absl::StatusOr<std::vector<std::string>> List() override {
    const std::lock_guard guard(machine_->lock);
    const Machine::Fate fate = machine_->Begin({Kind::kList, path_});
    if (!fate.error.ok()) return fate.error;
    return machine_->disk.Names(key_);
  }

  absl::Status SyncDirectory() override {
    const std::lock_guard guard(machine_->lock);
    const Machine::Fate fate = machine_->Begin({Kind::kSyncDirectory, path_});
    if (fate.acts) {
      machine_->disk.SyncDirectory(key_);
      machine_->Collect();
    } else if (fate.powered) {
      machine_->disk.FailSyncDirectory(key_);
    }
    return fate.error;
  }

 private:
  const std::shared_ptr<Machine> machine_;
  const std::string key_;
  const std::string path_;
  bool locks_ = false;
};

FaultyStorage::FaultyStorage() : FaultyStorage(FaultyDisk()) {}

FaultyStorage::FaultyStorage(FaultyDisk disk)
    : machine_(std::make_shared<Machine>(std::move(disk))) {
  machine_->Collect();
}

FaultyStorage::FaultyStorage(const FaultyStorage& other) : FaultyStorage(other.machine_->disk) {}

FaultyStorage& FaultyStorage::operator=(const FaultyStorage& other) {
  if (this != &other) machine_ = FaultyStorage(other).machine_;
  return *this;
}

FaultyStorage::~FaultyStorage() = default;

absl::StatusOr<std::unique_ptr<StorageDirectory>> FaultyStorage::OpenDirectory(
    std::string_view path, IfMissing if_missing) {
  std::string key(path);
  while (key.size() > 1 && key.ends_with('/')) key.pop_back();
  const std::lock_guard guard(machine_->lock);
  FaultyDisk& disk = machine_->disk;
  if (if_missing == IfMissing::kCreate && !disk.HasDirectory(key)) {
    const Machine::Fate fate = machine_->Begin({Kind::kMakeDirectory, key});
    if (fate.acts) disk.MakeDirectory(key);
    if (!fate.error.ok()) return fate.error;
  }
  const Machine::Fate fate = machine_->Begin({Kind::kOpenDirectory, key});
  if (!fate.error.ok()) return fate.error;
  if (!disk.HasDirectory(key)) {
    return StorageError(ENOENT, WordsOf(Kind::kOpenDirectory), key);
  }
  if (if_missing == IfMissing::kCreate) {
    const Machine::Fate synced = machine_->Begin({Kind::kSyncParent, key});
    if (synced.acts) disk.SyncParentOf(key);
    if (!synced.error.ok()) return synced.error;
  }
  return std::make_unique<Directory>(machine_, std::move(key), std::string(path));
}

const std::vector<StorageCall>& FaultyStorage::log() const { return machine_->log; }

void FaultyStorage::Fail(StorageFault fault) { machine_->faults.push_back(fault); }

void FaultyStorage::Heal() { machine_->faults.clear(); }

void FaultyStorage::SetCapacity(uint64_t bytes) { machine_->disk.set_capacity(bytes); }

void FaultyStorage::set_lost(Lost lost) { machine_->disk.set_lost(lost); }

void FaultyStorage::CrashAt(size_t call, uint64_t bytes) {
  machine_->crash_at = call;
  machine_->crash_bytes = bytes;
}

void FaultyStorage::Record() {
  PLEAT_CHECK(machine_->log.empty());
  machine_->recording = true;
}

FaultyStorage FaultyStorage::At(size_t call, uint64_t bytes) const {
  PLEAT_CHECK(machine_->recording && call <= calls());
  if (call == calls()) return *this;
  const Machine::Moment& moment = machine_->moments[call];
  PLEAT_CHECK(bytes <= moment.bytes.size());
  FaultyDisk disk = moment.disk;
  if (bytes > 0) disk.Append(moment.file, std::string_view(moment.bytes).substr(0, bytes));
  return FaultyStorage(std::move(disk));
}

FaultyStorage FaultyStorage::Reboot(Pick pick) const {
  return FaultyStorage(machine_->disk.AfterPowerLoss(pick));
}

uint64_t FaultyStorage::PowerLosses() const { return machine_->disk.PowerLosses(); }

std::vector<std::string> FaultyStorage::Paths() const {
  std::vector<std::string> paths;
  for (const std::string& directory : machine_->disk.Paths()) {
    for (const std::string& name : machine_->disk.Names(directory)) {
      const std::string path = PathIn(directory, name);
      if (!machine_->disk.HasDirectory(path)) paths.push_back(path);
    }
  }
  std::ranges::sort(paths);
  return paths;
}

std::string FaultyStorage::Content(const std::string& path) const {
  const size_t slash = path.rfind('/');
  return machine_->disk.Bytes(machine_->disk.Find(path.substr(0, slash), path.substr(slash + 1)));
}

void FaultyStorage::SetContent(const std::string& path, std::string_view bytes) {
  const size_t slash = path.rfind('/');
  const std::string directory = path.substr(0, slash);
  machine_->disk.MakeDirectory(directory);
  machine_->disk.SyncParentOf(directory);
  machine_->disk.Plant(directory, path.substr(slash + 1), bytes);
}

uint64_t ForEachPowerLoss(const FaultyStorage& storage, uint64_t most, uint64_t seed,
                          absl::FunctionRef<void(FaultyStorage)> visit) {
  const uint64_t count = storage.PowerLosses();
  if (count <= most) {
    EveryChoice choices;
    do {
      visit(storage.Reboot(choices.pick()));
    } while (choices.Next());
    return count;
  }
  const auto lose = [](uint32_t) { return 0u; };
  const auto keep = [](uint32_t n) { return n - 1; };
  for (uint64_t i = 0; i < most; ++i) {
    DrawnChoice drawn(seed + i);
    visit(i == 0   ? storage.Reboot(lose)
          : i == 1 ? storage.Reboot(keep)
                   : storage.Reboot(drawn.pick()));
  }
  return count;
}

}  // namespace pleat::inline v0_1
