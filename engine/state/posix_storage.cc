// The files of the system. All calls go by the descriptor of a directory, none by its path, and
// O_NOFOLLOW stands at each: what is opened is what was asked for, or nothing.
#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include <pleat/untyped/storage.h>

#include "engine/state/storage_error.h"

namespace pleat::inline v0_1 {
namespace {

// Calls again while signals interrupt. Returns what the system does.
template <class Call>
auto Uninterrupted(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

class Descriptor {
 public:
  explicit Descriptor(int fd = -1) noexcept : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }

  bool is_open() const noexcept { return fd_ >= 0; }
  int get() const noexcept { return fd_; }
  int Release() noexcept { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

Descriptor OpenAt(const Descriptor& directory, const char* name, int flags, mode_t mode = 0) {
  return Descriptor(Uninterrupted(
      [&] { return openat(directory.get(), name, flags | O_NOFOLLOW | O_CLOEXEC, mode); }));
}

bool IsSymbolicLink(int directory, const char* name) {
  struct stat entry;
  return fstatat(directory, name, &entry, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(entry.st_mode);
}

// Why `path` could not be opened. Depending on the flags, a link is ELOOP or ENOTDIR.
absl::Status OpenError(int error, const std::string& path, int directory, const char* name) {
  if ((error == ELOOP || error == ENOTDIR) && IsSymbolicLink(directory, name)) {
    return WrongKindError(path, "a symbolic link");
  }
  return StorageError(error, "open", path);
}

// Of the hash FNV-1a.
constexpr uint64_t kPrime = 0x100000001b3;

class PosixWriter final : public StorageWriter {
 public:
  PosixWriter(Descriptor file, std::string path) : file_(std::move(file)), path_(std::move(path)) {}

  absl::Status Append(std::string_view bytes) override {
    return WriteAll(bytes, [&](size_t) { return write(file_.get(), bytes.data(), bytes.size()); });
  }

  absl::Status Overwrite(std::string_view bytes) override {
    return WriteAll(bytes, [&](size_t at) {
      return pwrite(file_.get(), bytes.data(), bytes.size(), static_cast<off_t>(at));
    });
  }

  absl::Status Sync() override {
    if (!failed_.ok()) return failed_;
    // EINTR says nothing about what is on the disk, but no page was given up for it.
    if (Uninterrupted([&] { return fdatasync(file_.get()); }) != 0) {
      return failed_ = StorageError(errno, "sync", path_);
    }
    return absl::OkStatus();
  }

  absl::Status Close() override {
    if (!file_.is_open()) return ClosedError(path_);
    failed_ = ClosedError(path_);
#ifdef POSIX_FADV_DONTNEED
    // A synced file is seldom read again. Whoever reads it now reads it from the disk, and so finds
    // out whether the disk has it.
    posix_fadvise(file_.get(), 0, 0, POSIX_FADV_DONTNEED);
#endif
    // Interrupted or not, the descriptor is gone: another try could close somebody else's.
    if (close(file_.Release()) != 0 && errno != EINTR) return StorageError(errno, "close", path_);
    return absl::OkStatus();
  }

 private:
  // Calls `write_some(written)` until all is written; it writes `bytes`, of which the beginning goes.
  template <class WriteSome>
  absl::Status WriteAll(std::string_view& bytes, const WriteSome& write_some) {
    if (!failed_.ok()) return failed_;
    for (size_t written = 0; !bytes.empty();) {
      const ssize_t wrote = Uninterrupted([&] { return write_some(written); });
      // Nothing written and no error is nothing that a regular file does. It must not go on for ever.
      if (wrote <= 0) return failed_ = StorageError(wrote == 0 ? EIO : errno, "write to", path_);
      bytes.remove_prefix(static_cast<size_t>(wrote));
      written += static_cast<size_t>(wrote);
    }
    return absl::OkStatus();
  }

  Descriptor file_;
  const std::string path_;
  absl::Status failed_;  // what Append() and Sync() say from now on
};

class PosixReader final : public StorageReader {
 public:
  PosixReader(Descriptor file, std::string path) : file_(std::move(file)), path_(std::move(path)) {}

  absl::StatusOr<size_t> ReadAt(uint64_t offset, absl::Span<char> buffer) override {
    size_t total = 0;
    while (total < buffer.size()) {
      const ssize_t got = Uninterrupted([&] {
        return pread(file_.get(), buffer.data() + total, buffer.size() - total,
                     static_cast<off_t>(offset + total));
      });
      if (got < 0) return StorageError(errno, "read", path_);
      if (got == 0) break;
      total += static_cast<size_t>(got);
    }
    return total;
  }

  absl::StatusOr<uint64_t> Size() override {
    struct stat file;
    if (fstat(file_.get(), &file) != 0) return StorageError(errno, "examine", path_);
    return static_cast<uint64_t>(file.st_size);
  }

 private:
  const Descriptor file_;
  const std::string path_;
};

class PosixDirectory final : public StorageDirectory {
 public:
  PosixDirectory(Descriptor directory, std::string path)
      : directory_(std::move(directory)), path_(std::move(path)) {}

  const std::string& path() const override { return path_; }

  uint64_t MachineRun() override {
    const Descriptor file(open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
    char text[64];
    const ssize_t size =
        file.is_open() ? Uninterrupted([&] { return read(file.get(), text, sizeof text); }) : 0;
    uint64_t number = 0;
    for (ssize_t i = 0; i < size; ++i) number = (number ^ static_cast<uint8_t>(text[i])) * kPrime;
    return number;
  }

  absl::Status Lock() override {
    if (lock_.is_open()) return absl::OkStatus();
    const std::string path = PathIn(path_, kLockName);
    Descriptor file = OpenAt(directory_, kLockName, O_RDWR | O_CREAT | O_NONBLOCK, 0600);
    if (!file.is_open()) return OpenError(errno, path, directory_.get(), kLockName);
    if (absl::Status regular = CheckRegular(file, path); !regular.ok()) return regular;
    if (Uninterrupted([&] { return flock(file.get(), LOCK_EX | LOCK_NB); }) != 0) {
      if (errno == EWOULDBLOCK) return LockedError(path_, OwnerIn(file));
      return StorageError(errno, "lock", path);
    }
    if (absl::Status ours = CheckLock(file, path); !ours.ok()) return ours;
    // On a disk without space the lock has no number, and is a lock.
    const std::string owner = std::to_string(getpid());
    if (ftruncate(file.get(), 0) == 0) {
      [[maybe_unused]] const ssize_t wrote = pwrite(file.get(), owner.data(), owner.size(), 0);
    }
    lock_ = std::move(file);
    return absl::OkStatus();
  }

  absl::StatusOr<std::unique_ptr<StorageWriter>> CreateFile(std::string_view name) override {
    if (absl::Status plain = CheckFileName(path_, name); !plain.ok()) return plain;
    std::string path = PathIn(path_, name);
    Descriptor file =
        OpenAt(directory_, std::string(name).c_str(), O_WRONLY | O_CREAT | O_EXCL, 0600);
    if (!file.is_open()) return StorageError(errno, "create", path);
    return std::make_unique<PosixWriter>(std::move(file), std::move(path));
  }

  absl::StatusOr<std::unique_ptr<StorageReader>> OpenFile(std::string_view name) override {
    if (absl::Status plain = CheckFileName(path_, name); !plain.ok()) return plain;
    std::string path = PathIn(path_, name);
    const std::string entry(name);
    // O_NONBLOCK: a pipe would wait for a writer.
    Descriptor file = OpenAt(directory_, entry.c_str(), O_RDONLY | O_NONBLOCK);
    if (!file.is_open()) return OpenError(errno, path, directory_.get(), entry.c_str());
    if (absl::Status regular = CheckRegular(file, path); !regular.ok()) return regular;
    return std::make_unique<PosixReader>(std::move(file), std::move(path));
  }

  absl::Status Rename(std::string_view from, std::string_view to) override {
    if (absl::Status plain = CheckFileName(path_, from); !plain.ok()) return plain;
    if (absl::Status plain = CheckFileName(path_, to); !plain.ok()) return plain;
    const int fd = directory_.get();
    if (renameat(fd, std::string(from).c_str(), fd, std::string(to).c_str()) != 0) {
      return StorageError(errno, "rename to " + std::string(to), PathIn(path_, from));
    }
    return absl::OkStatus();
  }

  absl::Status Remove(std::string_view name) override {
    if (absl::Status plain = CheckFileName(path_, name); !plain.ok()) return plain;
    if (unlinkat(directory_.get(), std::string(name).c_str(), 0) != 0) {
      return StorageError(errno, "remove", PathIn(path_, name));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<std::string>> List() override {
    // A stream of its own, as one has a place in the directory.
    Descriptor own = OpenAt(directory_, ".", O_RDONLY | O_DIRECTORY);
    DIR* const stream = own.is_open() ? fdopendir(own.get()) : nullptr;
    if (stream == nullptr) return StorageError(errno, "list", path_);
    own.Release();
    std::vector<std::string> names;
    errno = 0;
    for (const dirent* entry = readdir(stream); entry != nullptr; entry = readdir(stream)) {
      const std::string_view name = entry->d_name;
      if (name != "." && name != ".." && name != kLockName) names.emplace_back(name);
      errno = 0;
    }
    const int error = errno;
    closedir(stream);
    if (error != 0) return StorageError(error, "list", path_);
    std::ranges::sort(names);
    return names;
  }

  absl::Status SyncDirectory() override {
    if (Uninterrupted([&] { return fsync(directory_.get()); }) != 0) {
      return StorageError(errno, "sync", path_);
    }
    return absl::OkStatus();
  }

  // Makes the directory's own entry durable.
  absl::Status SyncParent() const {
    // ".." is where the directory lies, whatever its path leads to by now.
    const Descriptor parent = OpenAt(directory_, "..", O_RDONLY | O_DIRECTORY);
    if (!parent.is_open()) {
      // One that may be passed and not read. The whole file system is the next best.
      if (errno == EACCES && syncfs(directory_.get()) == 0) return absl::OkStatus();
      return StorageError(errno, "open the directory above", path_);
    }
    if (Uninterrupted([&] { return fsync(parent.get()); }) != 0) {
      return StorageError(errno, "sync the directory above", path_);
    }
    return absl::OkStatus();
  }

 private:
  static absl::Status CheckRegular(const Descriptor& file, const std::string& path) {
    struct stat found;
    if (fstat(file.get(), &found) != 0) return StorageError(errno, "examine", path);
    if (!S_ISREG(found.st_mode)) return WrongKindError(path, "no regular file");
    return absl::OkStatus();
  }

  static std::string OwnerIn(const Descriptor& file) {
    char text[20];
    const ssize_t size = pread(file.get(), text, sizeof text, 0);
    return {text, size > 0 ? static_cast<size_t>(size) : 0};
  }

  // Has nothing but a number, as far as a crash has left it.
  static absl::Status CheckLock(const Descriptor& file, const std::string& path) {
    char text[21];
    const ssize_t size = Uninterrupted([&] { return pread(file.get(), text, sizeof text, 0); });
    if (size < 0) return StorageError(errno, "read", path);
    const bool is_number =
        std::all_of(text, text + size, [](char c) { return c == '\0' || (c >= '0' && c <= '9'); });
    if (is_number && size < std::ssize(text)) return absl::OkStatus();
    return WrongKindError(path, "somebody else's file, and would be overwritten");
  }

  const Descriptor directory_;
  const std::string path_;
  Descriptor lock_;  // the file LOCK, while it is locked
};

class PosixStorageImpl final : public Storage {
 public:
  absl::StatusOr<std::unique_ptr<StorageDirectory>> OpenDirectory(std::string_view path,
                                                                  IfMissing if_missing) override {
    if (path.find('\0') != path.npos) {
      return absl::InvalidArgumentError("a path with a zero byte in it");
    }
    // With a slash at its end a link would be followed.
    std::string plain(path);
    while (plain.size() > 1 && plain.ends_with('/')) plain.pop_back();

    if (if_missing == IfMissing::kCreate && mkdir(plain.c_str(), 0700) != 0 && errno != EEXIST) {
      return StorageError(errno, "create", path);
    }
    Descriptor opened(Uninterrupted(
        [&] { return open(plain.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC); }));
    if (!opened.is_open()) return OpenError(errno, plain, AT_FDCWD, plain.c_str());
    auto directory = std::make_unique<PosixDirectory>(std::move(opened), std::string(path));
    // One that is there already may be of a process that was killed before it came to this.
    if (if_missing == IfMissing::kCreate) {
      if (absl::Status synced = directory->SyncParent(); !synced.ok()) return synced;
    }
    return directory;
  }
};

}  // namespace

Storage& PosixStorage() {
  static PosixStorageImpl& storage = *new PosixStorageImpl;  // has no state
  return storage;
}

}  // namespace pleat::inline v0_1
