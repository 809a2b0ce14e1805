#include "tests/support/traced_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <gtest/gtest.h>

namespace pleat::inline v0_1 {
namespace {

constexpr unsigned kPatienceSeconds = 300;

// --- Calls that can fail

struct CallKind {
  const char* name = "";
  bool moves_bytes = false;  // the third argument says how many
};

// Calls about files. Without memory or threads a program may end in any way, so those calls are left
// alone.
const std::map<long, CallKind>& FileCalls() {
  static const std::map<long, CallKind> calls = {
      {SYS_read, {"read", true}},
      {SYS_pread64, {"pread", true}},
      {SYS_write, {"write", true}},
      {SYS_pwrite64, {"pwrite", true}},
      {SYS_openat, {"openat"}},
      {SYS_close, {"close"}},
      {SYS_lseek, {"lseek"}},
      {SYS_fsync, {"fsync"}},
      {SYS_fdatasync, {"fdatasync"}},
      {SYS_ftruncate, {"ftruncate"}},
      {SYS_flock, {"flock"}},
      {SYS_fchmod, {"fchmod"}},
      {SYS_fchown, {"fchown"}},
      {SYS_renameat, {"renameat"}},
      {SYS_renameat2, {"renameat2"}},
      {SYS_linkat, {"linkat"}},
      {SYS_unlinkat, {"unlinkat"}},
      {SYS_mkdirat, {"mkdirat"}},
      {SYS_readlinkat, {"readlinkat"}},
      {SYS_newfstatat, {"newfstatat"}},
      {SYS_fstat, {"fstat"}},
      {SYS_getdents64, {"getdents64"}},
#ifdef SYS_open
      {SYS_open, {"open"}},
      {SYS_stat, {"stat"}},
      {SYS_lstat, {"lstat"}},
      {SYS_rename, {"rename"}},
      {SYS_link, {"link"}},
      {SYS_unlink, {"unlink"}},
      {SYS_mkdir, {"mkdir"}},
      {SYS_readlink, {"readlink"}},
#endif
  };
  return calls;
}

#ifdef __x86_64__
constexpr bool kCanFailCalls = true;
constexpr size_t kNumberPlace = offsetof(user_regs_struct, orig_rax);
constexpr size_t kAnswerPlace = offsetof(user_regs_struct, rax);
constexpr size_t kSizePlace = offsetof(user_regs_struct, rdx);
#else
constexpr bool kCanFailCalls = false;
constexpr size_t kNumberPlace = 0;
constexpr size_t kAnswerPlace = 0;
constexpr size_t kSizePlace = 0;
#endif

long Register(pid_t thread, size_t place) {
  return ptrace(PTRACE_PEEKUSER, thread, place, nullptr);
}
void SetRegister(pid_t thread, size_t place, long value) {
  ptrace(PTRACE_POKEUSER, thread, place, value);
}

// --- The program

// Starts the program, traced or not. `life` gets the end of a pipe that ends when the program does.
pid_t Start(std::vector<std::string> argv, const std::string& out, const std::string& err,
            bool traced, int& life) {
  std::vector<char*> arguments;
  for (std::string& argument : argv) arguments.push_back(argument.data());
  arguments.push_back(nullptr);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return -1;
  const pid_t pid = fork();
  if (pid == 0) {
    dup2(open("/dev/null", O_RDONLY), STDIN_FILENO);
    dup2(open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDOUT_FILENO);
    dup2(open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDERR_FILENO);
    setenv("ASAN_OPTIONS", "detect_leaks=0", 1);  // it traces the process itself
    fcntl(ends[1], F_SETFD, 0);
    alarm(kPatienceSeconds);
    if (traced) ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    execv(arguments[0], arguments.data());
    _exit(127);
  }
  close(ends[1]);
  life = ends[0];
  return pid;
}

void Conclude(int status, TroubledEnd& end) {
  end.code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  end.killed = end.code == -SIGKILL;
  end.stuck = end.code == -SIGALRM;
}

// Follows the threads of a program from call to call.
class Tracer {
 public:
  Tracer(pid_t pid, const Trouble& trouble) : pid_(pid), trouble_(trouble) {}

  TroubledEnd Run() {
    int status = 0;
    if (waitpid(pid_, &status, 0) != pid_ || !WIFSTOPPED(status)) {
      ADD_FAILURE() << "cannot trace the program";
      return end_;
    }
    constexpr long kOptions = PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE;
    ptrace(PTRACE_SETOPTIONS, pid_, nullptr, kOptions);
    known_.insert(pid_);
    ptrace(PTRACE_SYSCALL, pid_, nullptr, 0);
    for (;;) {
      const pid_t thread = waitpid(-1, &status, __WALL);
      if (thread < 0) break;
      if (WIFSTOPPED(status)) {
        ptrace(PTRACE_SYSCALL, thread, nullptr, SignalAfter(thread, status));
        continue;
      }
      known_.erase(thread);
      inside_.erase(thread);
      if (thread != pid_) continue;
      Conclude(status, end_);
      break;
    }
    return end_;
  }

 private:
  // Takes note of a stop. Returns the signal that the thread goes on with.
  long SignalAfter(pid_t thread, int status) {
    if (status >> 16 != 0) return 0;                      // it has a new thread,
    const bool is_new = known_.insert(thread).second;     // which begins
    if (is_new && WSTOPSIG(status) == SIGSTOP) return 0;  // stopped
    if (WSTOPSIG(status) != (SIGTRAP | 0x80)) return WSTOPSIG(status);
    const auto inside = inside_.find(thread);
    if (inside == inside_.end()) {
      inside_[thread] = Enter(thread);
    } else {
      if (inside->second) SetRegister(thread, inside->second->place, inside->second->value);
      inside_.erase(inside);
    }
    return 0;
  }

  // A register that gets a value when the call has returned.
  struct Afterwards {
    size_t place;
    long value;
  };

  std::optional<Afterwards> Enter(pid_t thread) {
    ++end_.calls;
    if (trouble_.kind == Trouble::Kind::kKillAtCall) {
      if (end_.calls == trouble_.call) kill(pid_, SIGKILL);
      return {};
    }
    if (end_.calls < trouble_.call || (had_trouble() && !trouble_.lasting)) return {};
    const long number = Register(thread, kNumberPlace);
    const auto call = FileCalls().find(number);
    if (call == FileCalls().end()) return {};
    if (had_trouble() && end_.failed_call != call->second.name) return {};
    if (!had_trouble()) end_.failed_at = end_.calls;
    if (trouble_.kind == Trouble::Kind::kShort) {
      const long size = Register(thread, kSizePlace);
      if (!call->second.moves_bytes || size < 2) return {};
      end_.failed_call = call->second.name;
      SetRegister(thread, kSizePlace, size / 2);
      return Afterwards{kSizePlace, size};
    }
    end_.failed_call = call->second.name;
    // A close closes, whatever it answers.
    if (number != SYS_close) SetRegister(thread, kNumberPlace, -1);
    return Afterwards{kAnswerPlace, -trouble_.error};
  }

  bool had_trouble() const { return !end_.failed_call.empty(); }

  const pid_t pid_;
  const Trouble trouble_;
  TroubledEnd end_;
  std::set<pid_t> known_;
  std::map<pid_t, std::optional<Afterwards>> inside_;  // threads that are in a call
};

// Nothing is read off the clock: the instant only chooses where the program is killed.
TroubledEnd RunUntraced(pid_t pid, int life, const Trouble& trouble) {
  if (trouble.kind == Trouble::Kind::kKillAtInstant) {
    constexpr int64_t kMicros = 1'000'000;
    const timespec until{.tv_sec = trouble.instant.count() / kMicros,
                         .tv_nsec = trouble.instant.count() % kMicros * 1000};
    pollfd ended{life, POLLIN, 0};
    if (ppoll(&ended, 1, &until, nullptr) == 0) kill(pid, SIGKILL);
  }
  TroubledEnd end;
  int status = 0;
  if (waitpid(pid, &status, 0) != pid) {
    ADD_FAILURE() << "cannot wait for the program";
    return end;
  }
  Conclude(status, end);
  return end;
}

}  // namespace

bool CanFailCalls() { return kCanFailCalls; }

std::string ToText(const Trouble& trouble) {
  const std::string from_call = (trouble.lasting ? ", lasting, from call " : " from call ") +
                                std::to_string(trouble.call) + " on";
  switch (trouble.kind) {
    case Trouble::Kind::kNone: return "no trouble";
    case Trouble::Kind::kKillAtCall: return "killed at call " + std::to_string(trouble.call);
    case Trouble::Kind::kKillAtInstant:
      return "killed after " + std::to_string(trouble.instant.count()) + " us";
    case Trouble::Kind::kError: return std::string(std::strerror(trouble.error)) + from_call;
    case Trouble::Kind::kShort: return "half of the bytes" + from_call;
  }
  return "";
}

TroubledEnd RunInTrouble(std::vector<std::string> argv, const Trouble& trouble,
                         const std::string& err, const std::string& out) {
  const bool traced =
      trouble.kind != Trouble::Kind::kNone && trouble.kind != Trouble::Kind::kKillAtInstant;
  int life = -1;
  const pid_t pid = Start(std::move(argv), out, err, traced, life);
  if (pid < 0) {
    ADD_FAILURE() << "cannot start a program: " << std::strerror(errno);
    return {};
  }
  const TroubledEnd end = traced ? Tracer(pid, trouble).Run() : RunUntraced(pid, life, trouble);
  close(life);
  return end;
}

}  // namespace pleat::inline v0_1
