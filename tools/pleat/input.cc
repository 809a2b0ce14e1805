#include "tools/pleat/input.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "tools/pleat/decompress.h"
#include "tools/pleat/errno_status.h"

namespace pleat::cli {
namespace {

constexpr size_t kSpecBytesMax = size_t{1} << 20;

class FileSource final : public ByteSource {
 public:
  FileSource(std::string name, int fd, bool live, InputWaiter& waiter, ReadCount& count)
      : name_(std::move(name)), fd_(fd), live_(live), waiter_(waiter), count_(count) {}

  ~FileSource() override {
    if (fd_ != STDIN_FILENO) close(fd_);
  }

  absl::StatusOr<size_t> Read(char* to, size_t size) override {
    for (;;) {
      if (live_ && !waiter_.AwaitInput(fd_)) return absl::CancelledError();
      const ssize_t got = read(fd_, to, size);
      if (got >= 0) {
        count_.bytes.fetch_add(static_cast<uint64_t>(got), std::memory_order_relaxed);
        return static_cast<size_t>(got);
      }
      if (errno != EINTR && errno != EAGAIN) return ErrnoStatus(errno, name_);
    }
  }

 private:
  std::string name_;
  int fd_;
  bool live_;
  InputWaiter& waiter_;
  ReadCount& count_;
};

absl::StatusOr<int> OpenForReading(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (fd < 0) return ErrnoStatus(errno, path);
  return fd;
}

// The same without waiting for the writer of a named pipe: that is left to AwaitInput, which a
// signal can wake up. Reading then blocks as usual.
absl::StatusOr<int> OpenWithoutWaiting(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (fd < 0) return ErrnoStatus(errno, path);
  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
  return fd;
}

}  // namespace

std::string InputName(const std::string& path) { return path == "-" ? "<stdin>" : path; }

absl::Status CheckReadable(const std::string& path) {
  if (path == "-") return absl::OkStatus();
  struct stat info{};
  if (stat(path.c_str(), &info) != 0) return ErrnoStatus(errno, path);
  if (S_ISDIR(info.st_mode)) return ErrnoStatus(EISDIR, path);
  if (!S_ISREG(info.st_mode)) {
    return access(path.c_str(), R_OK) == 0 ? absl::OkStatus() : ErrnoStatus(errno, path);
  }
  absl::StatusOr<int> fd = OpenForReading(path);
  if (!fd.ok()) return fd.status();
  close(*fd);
  return absl::OkStatus();
}

bool IsLive(const std::string& path) {
  struct stat info{};
  const int failed = path == "-" ? fstat(STDIN_FILENO, &info) : stat(path.c_str(), &info);
  return failed == 0 && !S_ISREG(info.st_mode);
}

uint64_t InputSize(const std::string& path) {
  struct stat info{};
  const int failed = path == "-" ? fstat(STDIN_FILENO, &info) : stat(path.c_str(), &info);
  return failed != 0 || !S_ISREG(info.st_mode) ? 0 : static_cast<uint64_t>(info.st_size);
}

uint64_t InputSizes(const std::vector<std::string>& paths) {
  uint64_t total = 0;
  for (const std::string& path : paths) {
    const uint64_t bytes = InputSize(path);
    if (bytes == 0) return 0;
    total += bytes;
  }
  return total;
}

absl::StatusOr<OpenedInput> OpenInput(const std::string& path, InputWaiter& waiter,
                                      ReadCount& count) {
  const std::string name = InputName(path);
  int fd = STDIN_FILENO;
  if (path != "-") {
    absl::StatusOr<int> opened = OpenWithoutWaiting(path);
    if (!opened.ok()) return opened.status();
    fd = *opened;
  }
  struct stat info{};
  if (fstat(fd, &info) != 0) return ErrnoStatus(errno, name);
  const bool live = !S_ISREG(info.st_mode);
  auto file = std::make_unique<FileSource>(name, fd, live, waiter, count);
  if (S_ISDIR(info.st_mode)) return ErrnoStatus(EISDIR, name);

  absl::StatusOr<std::unique_ptr<ByteSource>> source = Decompressed(std::move(file), name);
  if (!source.ok()) return source.status();
  return OpenedInput{std::move(*source), live, info};
}

absl::StatusOr<std::string> ReadWholeFile(const std::string& path) {
  absl::StatusOr<int> fd = OpenForReading(path);
  if (!fd.ok()) return fd.status();
  std::string text;
  char buffer[16 * 1024];
  int error = 0;
  while (text.size() <= kSpecBytesMax) {
    const ssize_t got = read(*fd, buffer, sizeof(buffer));
    if (got == 0) break;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      error = errno;
      break;
    }
    text.append(buffer, static_cast<size_t>(got));
  }
  close(*fd);
  if (error != 0) return ErrnoStatus(error, path);
  if (text.size() > kSpecBytesMax) {
    return absl::InvalidArgumentError(Printable(path) + ": larger than 1 MiB");
  }
  return text;
}

}  // namespace pleat::cli
