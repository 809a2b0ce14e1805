#include "tools/pleat/output_file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <utility>

#include "tools/pleat/errno_status.h"

namespace pleat::inline v0 {
namespace {

constexpr size_t kBufferBytes = 256 * 1024;

// A name that is a symbolic link stands for what it points to: that is what gets replaced.
std::string Resolved(const std::string& path) {
  char* const real = realpath(path.c_str(), nullptr);
  if (real == nullptr) return path;
  std::string out(real);
  std::free(real);
  return out;
}

std::string DirectoryOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// The descriptor that a name such as /dev/stdout or /dev/fd/3 stands for, or -1. Opening these names
// anew would start again at the beginning of what they are redirected to.
int DescriptorNamed(std::string_view path) {
  if (path == "/dev/stdout") return STDOUT_FILENO;
  if (path == "/dev/stderr") return STDERR_FILENO;
  for (const std::string_view prefix : {"/dev/fd/", "/proc/self/fd/"}) {
    if (path.substr(0, prefix.size()) != prefix) continue;
    const std::string_view digits = path.substr(prefix.size());
    int fd = -1;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), fd);
    return error == std::errc() && end == digits.data() + digits.size() ? fd : -1;
  }
  return -1;
}

// What open(2) would have given a new file, which mkstemp makes private at first.
mode_t DefaultMode() {
  const mode_t mask = umask(0);
  umask(mask);
  return 0666 & ~mask;
}

// The name is only durable once its directory is.
void SyncDirectoryOf(const std::string& path) {
  const int fd = open(DirectoryOf(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  fsync(fd);
  close(fd);
}

}  // namespace

absl::StatusOr<std::unique_ptr<OutputFile>> OutputFile::Create(const std::string& path, Mode mode) {
  std::unique_ptr<OutputFile> file(new OutputFile(path, -1));
  if (const int fd = DescriptorNamed(path); fd >= 0) {
    file->fd_ = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (file->fd_ < 0) return ErrnoStatus(errno, path);
    return file;
  }
  struct stat info{};
  const bool exists = stat(path.c_str(), &info) == 0;
  if (exists && S_ISDIR(info.st_mode)) return ErrnoStatus(EISDIR, path);
  if (mode == Mode::kWhole && (!exists || S_ISREG(info.st_mode))) {
    if (absl::Status opened = file->OpenTemporary(Resolved(path)); !opened.ok()) return opened;
    if (fchmod(file->fd_, exists ? info.st_mode & 0777 : DefaultMode()) != 0) {
      return ErrnoStatus(errno, path);
    }
    return file;
  }
  // Not truncated yet: the caller asks Is() first, and then StartOver().
  file->fd_ = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY, 0666);
  if (file->fd_ < 0) return ErrnoStatus(errno, path);
  file->truncate_ = fstat(file->fd_, &info) == 0 && S_ISREG(info.st_mode);
  return file;
}

absl::Status OutputFile::StartOver() {
  if (truncate_ && ftruncate(fd_, 0) != 0) status_ = ErrnoStatus(errno, name_);
  return status_;
}

std::unique_ptr<OutputFile> OutputFile::Standard(int fd) {
  return std::unique_ptr<OutputFile>(
      new OutputFile(fd == STDERR_FILENO ? "<stderr>" : "<stdout>", fd));
}

absl::Status OutputFile::OpenTemporary(const std::string& path) {
  if (access(path.c_str(), F_OK) == 0 && access(path.c_str(), W_OK) != 0) {
    return ErrnoStatus(errno, name_);  // a rename would get around the protection of the file
  }
  std::string name = DirectoryOf(path) + "/.pleat-XXXXXX";
  fd_ = mkostemp(name.data(), O_CLOEXEC);
  if (fd_ < 0) return ErrnoStatus(errno, name_);
  path_ = path;
  temporary_ = name;
  removed_on_kill_ = std::make_unique<RemovedOnKill>(temporary_);
  return absl::OkStatus();
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
  while (status_.ok() && !left.empty()) {
    const ssize_t wrote = write(fd_, left.data(), left.size());
    if (wrote >= 0) {
      left.remove_prefix(static_cast<size_t>(wrote));
    } else if (errno == EPIPE && fd_ == STDOUT_FILENO) {
      status_ = absl::AbortedError(name_);
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
  if (!Flush().ok() || temporary_.empty()) return status_;
  if (fsync(fd_) != 0 || rename(temporary_.c_str(), path_.c_str()) != 0) {
    status_ = ErrnoStatus(errno, name_);
    return status_;
  }
  temporary_.clear();
  removed_on_kill_.reset();
  SyncDirectoryOf(path_);
  return absl::OkStatus();
}

bool OutputFile::Is(const std::string& path) const {
  struct stat mine{};
  struct stat other{};
  const int failed = path == "-" ? fstat(STDIN_FILENO, &other) : stat(path.c_str(), &other);
  return failed == 0 && fstat(fd_, &mine) == 0 && S_ISREG(mine.st_mode) &&
         mine.st_dev == other.st_dev && mine.st_ino == other.st_ino;
}

}  // namespace pleat::inline v0
