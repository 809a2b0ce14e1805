// Signals, turned into flags that loops look at and descriptors that poll() watches.
//
// The first SIGINT, SIGTERM or SIGHUP asks for an orderly end: stop reading, hand out the open
// groups, print the summary. A second signal ends the process at once and leaves no half-written
// file. A signal within a quarter of a second after the first is the same one: timeout(1) and
// other wrappers signal both the process and its group. SIGPIPE and SIGXFSZ are ignored, so that a
// write to a closed pipe or past the limit of a file fails (EPIPE, EFBIG) and does not end the
// process. SIGQUIT, SIGABRT and SIGXCPU end the process as usual, but leave no half-written file
// either. SIGUSR1 asks for a report, and interrupts nothing.
#pragma once

#include <cstdint>
#include <string>

namespace pleat::cli {

// To be called once, by main. SIGINT is taken even where the parent had it ignored, as a shell
// script does for its background jobs: an explicit `kill -INT` should work there as well.
void InstallSignalHandlers();

// The first signal that has asked for the end, or 0.
int StopSignal();
// Who reads on without writing looks for one after so many bytes.
inline constexpr uint64_t kBytesBetweenLooks = 16 << 20;
inline bool Interrupted() { return StopSignal() != 0; }

// Becomes readable with the first such signal. Never read it.
int InterruptFd();

// Whether SIGUSR1 has come since the last call. To be asked again until it says no, before a wait.
bool TakeReportWish();

// Becomes readable with such a signal, until TakeReportWish() has said that it came.
int ReportFd();

// Removes the file `path` if the process is ended by a signal while this object lives.
class RemovedOnKill {
 public:
  explicit RemovedOnKill(const std::string& path);
  ~RemovedOnKill();
  RemovedOnKill(const RemovedOnKill&) = delete;
  RemovedOnKill& operator=(const RemovedOnKill&) = delete;

 private:
  int slot_;
};

}  // namespace pleat::cli
