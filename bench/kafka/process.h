// A program that is measured while it runs.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace pleat::bench {

class Process {
 public:
  // What it says goes to the file `log`.
  Process(std::vector<std::string> words, std::string log);
  ~Process() { Kill(); }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  double CpuSeconds() const;     // so far, of all its threads
  double PeakBytes() const;      // of resident memory
  uint64_t BytesToDisk() const;  // that the kernel has written for it, or will
  // Throws std::runtime_error if it has ended by itself.
  void CheckRuns();
  // Both return when it has ended.
  void Stop();
  void Kill();

 private:
  void End(int signal);
  uint64_t NumberIn(const char* file, const char* name) const;

  const std::string log_;
  pid_t pid_ = -1;  // none any more
};

}  // namespace pleat::bench
