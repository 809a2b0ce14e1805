// Signals, turned into a flag that loops look at and a descriptor that poll() watches.
//
// The first SIGINT asks for an orderly end: stop reading, hand out what is open, say what happened.
// The second one ends the process at once. SIGTERM and SIGHUP end it at once too, as they would by
// default, but no half-written file is left behind. SIGPIPE is ignored, so that writing to a closed
// pipe is an answer (EPIPE) and not the end of the process.
#pragma once

#include <string>

namespace pleat::inline v0 {

// To be called once, by main. SIGINT is taken even where the parent had it ignored, as a shell script
// does for its background jobs: an explicit `kill -INT` should work there as well.
void InstallSignalHandlers();

// Whether a SIGINT has come.
bool Interrupted();

// Becomes readable with the first SIGINT. Never read it.
int InterruptFd();

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

}  // namespace pleat::inline v0
