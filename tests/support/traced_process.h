// Runs a program up to one of its system calls, and kills it there: so a test can end a process at
// each point at which it touches the world, and again at the same one.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace pleat::inline v0_1 {

struct TracedEnd {
  bool killed = false;
  int code = 0;        // of a program that came to its end
  uint64_t calls = 0;  // system calls of its main thread
};

// Runs `argv`, and kills it with SIGKILL when its main thread is about to make its system call of
// that number, counted from 1; UINT64_MAX: never. Standard output goes nowhere, standard error to
// the file `err`.
inline TracedEnd RunUpToCall(std::vector<std::string> argv, uint64_t call, const std::string& err) {
  std::vector<char*> arguments;
  for (std::string& argument : argv) arguments.push_back(argument.data());
  arguments.push_back(nullptr);
  const pid_t pid = fork();
  if (pid == 0) {
    dup2(open("/dev/null", O_RDWR), STDIN_FILENO);
    dup2(STDIN_FILENO, STDOUT_FILENO);
    dup2(open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDERR_FILENO);
    setenv("ASAN_OPTIONS", "detect_leaks=0", 1);  // it traces the process itself
    ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    execv(arguments[0], arguments.data());
    _exit(127);
  }
  TracedEnd end;
  int status = 0;
  if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status)) {
    ADD_FAILURE() << "cannot trace " << argv[0];
    return end;
  }
  ptrace(PTRACE_SETOPTIONS, pid, nullptr, PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD);
  bool inside = false;
  for (long signal = 0;;) {
    ptrace(PTRACE_SYSCALL, pid, nullptr, signal);
    if (waitpid(pid, &status, 0) != pid) break;
    if (!WIFSTOPPED(status)) break;
    const bool at_call = WSTOPSIG(status) == (SIGTRAP | 0x80);
    signal = at_call ? 0 : WSTOPSIG(status);
    if (!at_call) continue;
    inside = !inside;
    if (!inside || ++end.calls != call) continue;
    kill(pid, SIGKILL);
  }
  end.killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  end.code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  return end;
}

}  // namespace pleat::inline v0_1
