#include "tools/pleat/interrupt.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdint>
#include <cstring>

namespace pleat::cli {
namespace {

constexpr int kSlots = 4;
constexpr int64_t kSameSignalMs = 250;

// A signal handler may touch these. Nothing else has to be global.
volatile sig_atomic_t g_stop_signal = 0;
std::atomic<int64_t> g_stopped_ms = 0;
int g_pipe[2] = {-1, -1};
std::atomic<bool> g_report_wanted = false;
int g_report_fd = -1;

struct DoomedPath {
  std::atomic<bool> used = false;
  char path[PATH_MAX];
};
DoomedPath g_doomed[kSlots];
static_assert(std::atomic<bool>::is_always_lock_free, "read in a signal handler");
static_assert(std::atomic<int64_t>::is_always_lock_free, "likewise");

void RemoveDoomed() {
  for (DoomedPath& doomed : g_doomed) {
    if (doomed.used.load(std::memory_order_acquire)) unlink(doomed.path);
  }
}

// One of the few clocks that a signal handler may read.
int64_t MonotonicMs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

extern "C" void OnStop(int number) {
  if (g_stop_signal == 0) {
    g_stopped_ms.store(MonotonicMs(), std::memory_order_relaxed);
    g_stop_signal = number;
    const char wake = 1;
    [[maybe_unused]] const ssize_t ignored = write(g_pipe[1], &wake, 1);
    return;
  }
  if (MonotonicMs() - g_stopped_ms.load(std::memory_order_relaxed) < kSameSignalMs) return;
  constexpr char kSaid[] = "pleat: stopped at once; what was open is lost\n";
  [[maybe_unused]] const ssize_t ignored = write(STDERR_FILENO, kSaid, sizeof(kSaid) - 1);
  RemoveDoomed();
  _exit(128 + number);
}

extern "C" void OnReport(int) {
  g_report_wanted.store(true, std::memory_order_relaxed);
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t ignored = write(g_report_fd, &one, sizeof(one));
}

// The process ends as it would have: raised again, the signal finds its default action.
extern "C" void OnDeath(int number) {
  RemoveDoomed();
  raise(number);
}

void Install(int number, void (*handler)(int), bool unless_ignored) {
  struct sigaction old{};
  if (unless_ignored && sigaction(number, nullptr, &old) == 0 && old.sa_handler == SIG_IGN) return;
  struct sigaction action{};
  action.sa_handler = handler;
  if (handler == OnDeath) action.sa_flags = static_cast<int>(SA_RESETHAND);
  // A report interrupts nothing. What ends the run has to be noticed by a blocked open or write.
  if (handler == OnReport) action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(number, &action, nullptr);
}

}  // namespace

void InstallSignalHandlers() {
  [[maybe_unused]] const int ignored = pipe2(g_pipe, O_CLOEXEC | O_NONBLOCK);
  g_report_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  Install(SIGINT, OnStop, false);
  Install(SIGTERM, OnStop, true);
  Install(SIGHUP, OnStop, true);
  Install(SIGUSR1, OnReport, false);
  Install(SIGPIPE, SIG_IGN, false);
  Install(SIGXFSZ, SIG_IGN, false);
  Install(SIGQUIT, OnDeath, true);
  Install(SIGABRT, OnDeath, true);
  Install(SIGXCPU, OnDeath, true);
}

int StopSignal() { return g_stop_signal; }

int InterruptFd() { return g_pipe[0]; }

// The flag goes down first: a signal in between raises it again, and one more report does no harm.
bool TakeReportWish() {
  if (!g_report_wanted.load(std::memory_order_relaxed)) return false;
  g_report_wanted.store(false, std::memory_order_relaxed);
  uint64_t count = 0;
  [[maybe_unused]] const ssize_t ignored = read(g_report_fd, &count, sizeof(count));
  return true;
}

int ReportFd() { return g_report_fd; }

RemovedOnKill::RemovedOnKill(const std::string& path) : slot_(-1) {
  if (path.size() >= PATH_MAX) return;
  for (int i = 0; i < kSlots; ++i) {
    if (g_doomed[i].used.load(std::memory_order_relaxed)) continue;
    std::memcpy(g_doomed[i].path, path.c_str(), path.size() + 1);
    g_doomed[i].used.store(true, std::memory_order_release);
    slot_ = i;
    return;
  }
}

RemovedOnKill::~RemovedOnKill() {
  if (slot_ >= 0) g_doomed[slot_].used.store(false, std::memory_order_release);
}

}  // namespace pleat::cli
