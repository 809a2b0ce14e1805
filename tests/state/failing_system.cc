#include "tests/state/failing_system.h"

#include <fcntl.h>
#include <stdarg.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace pleat::inline v0_1 {

SystemFault g_fault;
SystemPlan g_plan;

namespace {

// Whether this call is one that fails; errno says why. `most` is how many bytes it may take.
bool SystemFails(const SystemCall& call, size_t* most = nullptr) {
  if (g_plan) {
    const SystemFate fate = g_plan(call);
    if (most != nullptr) *most = std::min(*most, fate.most);
    errno = fate.error;
    return fate.error != 0;
  }
  if (g_fault.call != call.name) return false;
  ++g_fault.seen;
  if (most != nullptr) *most = std::min(*most, g_fault.most);
  if (g_fault.times == 0) return false;
  --g_fault.times;
  errno = g_fault.error;
  return true;
}

int Sync(std::string_view name, long number, int fd) {
  if (SystemFails({.name = name, .changes = true})) return -1;
  return g_plan ? 0 : static_cast<int>(syscall(number, fd));
}

}  // namespace
}  // namespace pleat::inline v0_1

extern "C" {

ssize_t write(int fd, const void* bytes, size_t size) {
  size_t most = size;
  if (pleat::SystemFails({.name = "write", .changes = true, .bytes = size}, &most)) return -1;
  return syscall(SYS_write, fd, bytes, most);
}
ssize_t pread(int fd, void* buffer, size_t size, off_t offset) {
  size_t most = size;
  if (pleat::SystemFails({.name = "pread", .bytes = size}, &most)) return -1;
  return syscall(SYS_pread64, fd, buffer, most, offset);
}
int fdatasync(int fd) { return pleat::Sync("fdatasync", SYS_fdatasync, fd); }
int fsync(int fd) { return pleat::Sync("fsync", SYS_fsync, fd); }
// As Linux does it, it closes in any case.
int close(int fd) {
  const int closed = static_cast<int>(syscall(SYS_close, fd));
  return pleat::SystemFails({.name = "close"}) ? -1 : closed;
}
int open(const char* path, int flags, ...) {
  if (pleat::SystemFails({.name = "open", .changes = (flags & O_CREAT) != 0})) return -1;
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  return static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}
int openat(int fd, const char* path, int flags, ...) {
  if (pleat::SystemFails({.name = "openat", .changes = (flags & O_CREAT) != 0})) return -1;
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  return static_cast<int>(syscall(SYS_openat, fd, path, flags, mode));
}
int mkdir(const char* path, mode_t mode) noexcept {
  return pleat::SystemFails({.name = "mkdir", .changes = true})
             ? -1
             : static_cast<int>(syscall(SYS_mkdirat, AT_FDCWD, path, mode));
}
int renameat(int from_fd, const char* from, int to_fd, const char* to) noexcept {
  return pleat::SystemFails({.name = "renameat", .changes = true})
             ? -1
             : static_cast<int>(syscall(SYS_renameat2, from_fd, from, to_fd, to, 0));
}
int unlinkat(int fd, const char* path, int flags) noexcept {
  return pleat::SystemFails({.name = "unlinkat", .changes = true})
             ? -1
             : static_cast<int>(syscall(SYS_unlinkat, fd, path, flags));
}
int flock(int fd, int operation) noexcept {
  return pleat::SystemFails({.name = "flock"})
             ? -1
             : static_cast<int>(syscall(SYS_flock, fd, operation));
}
}
