#include "tools/pleat/output_file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <iterator>
#include <utility>
#include <vector>

#include "tools/pleat/errno_status.h"
#include "tools/pleat/named_files.h"

namespace pleat::cli {
namespace {

constexpr size_t kBufferBytes = 256 * 1024;

// The mode that open(2) would have given a new file. A temporary one is private at first.
mode_t DefaultMode() {
  const mode_t mask = umask(0);
  umask(mask);
  return 0666 & ~mask;
}

// Gives a new file the owner, the group and the mode of the one that it will replace, as far as
// that is allowed: only root may give a file away, and some file systems know neither.
void TakeAfter(int fd, const struct stat& replaced) {
  if (fchown(fd, replaced.st_uid, replaced.st_gid) != 0) {
    constexpr auto kMyself = static_cast<uid_t>(-1);
    [[maybe_unused]] const int ignored = fchown(fd, kMyself, replaced.st_gid);
  }
  [[maybe_unused]] const int ignored = fchmod(fd, replaced.st_mode & 0777);
}

std::string PathOfDescriptor(int fd) { return "/proc/self/fd/" + std::to_string(fd); }

// The name is only durable once its directory is.
void SyncDirectoryOf(const std::string& path) {
  const int fd = open(DirectoryOf(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  fsync(fd);
  close(fd);
}

// `--html log.ndjson` with no page name is a slip that would cost the log.
absl::Status CheckReplaces(const WantedOutput& output) {
  struct stat info{};
  const std::string& path = output.named.path;
  if (path.empty() || output.replaces.empty() || stat(path.c_str(), &info) != 0) return {};
  if (!S_ISREG(info.st_mode) || info.st_size == 0) return {};
  std::string beginning(output.replaces.size(), '\0');
  std::ifstream(path, std::ios::binary).read(beginning.data(), std::ssize(beginning));
  if (beginning == output.replaces) return {};
  return absl::InvalidArgumentError(output.named.role + ": " + Printable(path) +
                                    " is another kind of file, and stays; remove it first, or "
                                    "name another FILE");
}

// Of a file that an earlier run has left: `is` is what is found of it.
absl::Status LostBytes(const std::string& name, const std::string& is, uint64_t bytes) {
  return absl::DataLossError(
      Printable(name) + ": " + is + ", and had at least " + std::to_string(bytes) +
      " bytes when the run was kept: put it back where it was, or begin anew with another file and "
      "another --state");
}

// Before any file is made: an empty one in the place of one that was moved away would hide that.
absl::Status CheckKept(std::span<const WantedOutput> wanted) {
  for (const WantedOutput& output : wanted) {
    if (!output.kept.ok()) return output.kept.status();
    if (*output.kept == 0 || access(output.named.path.c_str(), F_OK) == 0) continue;
    if (errno == ENOENT) return LostBytes(output.named.path, "is not there", *output.kept);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<OutputFile>> OutputFile::Create(const NamedFile& named, Mode mode) {
  const std::string& path = named.path;
  std::unique_ptr<OutputFile> file(new OutputFile(path, -1));
  const int fd = path == "-" ? named.standard : DescriptorNamed(path);
  if (fd == STDOUT_FILENO || fd == STDERR_FILENO) {
    file->name_ = fd == STDERR_FILENO ? "<stderr>" : "<stdout>";
    file->fd_ = fd;
    return file;
  }
  if (fd >= 0) {
    // Opening the name would start again at the beginning of the file behind it.
    file->fd_ = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (file->fd_ < 0) return ErrnoStatus(errno, path);
    return file;
  }
  struct stat info{};
  const bool exists = stat(path.c_str(), &info) == 0;
  if (!exists && errno != ENOENT) return ErrnoStatus(errno, path);
  if (exists && S_ISDIR(info.st_mode)) return ErrnoStatus(EISDIR, path);
  if (mode == Mode::kWhole && (!exists || S_ISREG(info.st_mode))) {
    if (absl::Status opened = file->OpenTemporary(FollowLinks(path)); !opened.ok()) return opened;
    if (exists) {
      TakeAfter(file->fd_, info);
    } else if (fchmod(file->fd_, DefaultMode()) != 0) {
      return ErrnoStatus(errno, path);
    }
    return file;
  }
  // Not cut back yet: that is for when nothing stands in the way of the run.
  file->fd_ = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY, 0666);
  if (file->fd_ < 0) return ErrnoStatus(errno, path);
  if (fstat(file->fd_, &info) != 0) return ErrnoStatus(errno, path);
  file->regular_ = S_ISREG(info.st_mode);
  if (!exists && file->regular_) SyncDirectoryOf(FollowLinks(path));
  return file;
}

absl::Status OutputFile::GoOnAt(uint64_t bytes) {
  if (!regular_ || !status_.ok()) return status_;
  struct stat info{};
  if (fstat(fd_, &info) != 0) {
    status_ = ErrnoStatus(errno, name_);
  } else if (info.st_size < static_cast<off_t>(bytes)) {
    status_ = LostBytes(name_, "has " + std::to_string(info.st_size) + " bytes", bytes);
  }
  bytes_written_ = bytes;
  is_to_cut_ = true;
  return status_;
}

absl::Status OutputFile::Cut() {
  if (!is_to_cut_ || !status_.ok()) return status_;
  is_to_cut_ = false;
  const auto size = static_cast<off_t>(bytes_written_);
  if (ftruncate(fd_, size) != 0 || lseek(fd_, size, SEEK_SET) != size) {
    status_ = ErrnoStatus(errno, name_);
  }
  return status_;
}

absl::Status OutputFile::Sync() {
  if (Cut().ok() && Flush().ok() && regular_ && fsync(fd_) != 0) return ErrnoStatus(errno, name_);
  return status_;
}

absl::Status OutputFile::OpenTemporary(const std::string& path) {
  if (access(path.c_str(), F_OK) == 0 && access(path.c_str(), W_OK) != 0) {
    return ErrnoStatus(errno, name_);  // a rename would get around the protection of the file
  }
  path_ = path;
  if (OpenNameless(DirectoryOf(path))) return absl::OkStatus();
  std::string name = DirectoryOf(path) + "/.pleat-XXXXXX";
  fd_ = mkostemp(name.data(), O_CLOEXEC);
  if (fd_ < 0) return ErrnoStatus(errno, name_);
  NoteTemporary(name);
  return absl::OkStatus();
}

// False where the system cannot make such a file, or could not give it a name later.
bool OutputFile::OpenNameless(const std::string& directory) {
  fd_ = open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd_ < 0) return false;
  if (access(PathOfDescriptor(fd_).c_str(), F_OK) == 0) return true;
  close(std::exchange(fd_, -1));
  return false;
}

// Gives a file without a name a temporary one. Other processes may have such names, and old ones.
bool OutputFile::NameTemporarily() {
  const std::string nameless = PathOfDescriptor(fd_);
  const std::string prefix = DirectoryOf(path_) + "/.pleat-" + std::to_string(getpid()) + "-";
  for (int i = 0;; ++i) {
    const std::string name = prefix + std::to_string(i);
    if (linkat(AT_FDCWD, nameless.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0) {
      NoteTemporary(name);
      return true;
    }
    if (errno != EEXIST) return false;
  }
}

void OutputFile::NoteTemporary(const std::string& name) {
  temporary_ = name;
  removed_on_kill_ = std::make_unique<RemovedOnKill>(temporary_);
}

OutputFile::~OutputFile() {
  if (!temporary_.empty()) unlink(temporary_.c_str());
  if (fd_ > STDERR_FILENO) close(fd_);
}

absl::Status OutputFile::Append(std::string_view text) {
  if (!status_.ok()) return status_;
  buffer_.append(text);
  return buffer_.size() < kBufferBytes ? absl::OkStatus() : Flush();
}

absl::Status OutputFile::Flush() {
  std::string_view left = buffer_;
  if (!left.empty()) Cut().IgnoreError();  // status_ has it
  while (status_.ok() && !left.empty()) {
    const ssize_t wrote = write(fd_, left.data(), left.size());
    if (wrote >= 0) {
      left.remove_prefix(static_cast<size_t>(wrote));
      bytes_written_ += static_cast<uint64_t>(wrote);
    } else if (errno == EPIPE && fd_ == STDOUT_FILENO) {
      status_ = absl::AbortedError(ErrnoStatus(EPIPE, name_).message());
    } else if (errno == EAGAIN) {  // somebody who shares the pipe made it non-blocking
      pollfd room{fd_, POLLOUT, 0};
      poll(&room, 1, -1);
    } else if (errno != EINTR) {
      status_ = ErrnoStatus(errno, name_);
    }
  }
  buffer_.clear();
  return status_;
}

absl::Status OutputFile::Commit() {
  if (!Cut().ok() || !Flush().ok() || path_.empty()) return status_;
  if (fsync(fd_) != 0 || (temporary_.empty() && !NameTemporarily()) ||
      rename(temporary_.c_str(), path_.c_str()) != 0) {
    status_ = ErrnoStatus(errno, name_);
    return status_;
  }
  temporary_.clear();
  removed_on_kill_.reset();
  SyncDirectoryOf(std::exchange(path_, {}));
  return absl::OkStatus();
}

absl::Status OpenWanted(std::span<const NamedFile> inputs, std::span<const WantedOutput> wanted) {
  std::vector<NamedFile> outputs;
  for (const WantedOutput& output : wanted) outputs.push_back(output.named);
  if (absl::Status differ = CheckNoneOverwritten(inputs, outputs); !differ.ok()) return differ;
  if (absl::Status kept = CheckKept(wanted); !kept.ok()) return kept;
  for (const WantedOutput& output : wanted) {
    if (absl::Status replaces = CheckReplaces(output); !replaces.ok()) return replaces;
  }
  for (const WantedOutput& output : wanted) {
    if (output.named.path.empty()) continue;
    auto created = OutputFile::Create(output.named, output.mode);
    if (!created.ok()) return created.status();
    output.file = *std::move(created);
  }
  for (const WantedOutput& output : wanted) {
    if (output.mode != OutputFile::Mode::kStream || output.file == nullptr) continue;
    if (absl::Status there = output.file->GoOnAt(*output.kept); !there.ok()) return there;
  }
  return absl::OkStatus();
}

}  // namespace pleat::cli
