#include "tools/pleat/interrupt.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstring>

namespace pleat::inline v0 {
namespace {

constexpr int kExitInterrupted = 130;
constexpr int kSlots = 4;

// What a signal handler may touch: nothing else has to be global.
volatile sig_atomic_t g_interrupted = 0;
int g_pipe[2] = {-1, -1};

struct DoomedPath {
  std::atomic<bool> used = false;
  char path[PATH_MAX];
};
DoomedPath g_doomed[kSlots];
static_assert(std::atomic<bool>::is_always_lock_free, "read in a signal handler");

void RemoveDoomed() {
  for (DoomedPath& doomed : g_doomed) {
    if (doomed.used.load(std::memory_order_acquire)) unlink(doomed.path);
  }
}

extern "C" void OnInterrupt(int) {
  if (g_interrupted != 0) {
    RemoveDoomed();
    _exit(kExitInterrupted);
  }
  g_interrupted = 1;
  const char wake = 1;
  [[maybe_unused]] const ssize_t ignored = write(g_pipe[1], &wake, 1);
}

extern "C" void OnKill(int number) {
  RemoveDoomed();
  signal(number, SIG_DFL);
  raise(number);
}

void Install(int number, void (*handler)(int), bool unless_ignored) {
  struct sigaction old{};
  if (unless_ignored && sigaction(number, nullptr, &old) == 0 && old.sa_handler == SIG_IGN) return;
  struct sigaction action{};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  sigaction(number, &action, nullptr);  // no SA_RESTART: a blocked open or write must notice
}

}  // namespace

void InstallSignalHandlers() {
  [[maybe_unused]] const int ignored = pipe2(g_pipe, O_CLOEXEC | O_NONBLOCK);
  Install(SIGINT, OnInterrupt, false);
  Install(SIGTERM, OnKill, true);
  Install(SIGHUP, OnKill, true);
  Install(SIGPIPE, SIG_IGN, false);
}

bool Interrupted() { return g_interrupted != 0; }

int InterruptFd() { return g_pipe[0]; }

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

}  // namespace pleat::inline v0
