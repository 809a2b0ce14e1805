// Runs a program in trouble: it is killed, or one of its system calls fails, at a point that a test
// has drawn. Calls are counted over all threads of the program, so that with one thread a number is
// the same point each time.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace pleat::inline v0_1 {

struct Trouble {
  enum class Kind {
    kNone,
    kKillAtCall,     // when the call of that number is about to be made
    kKillAtInstant,  // so long after the start; untraced, so anywhere
    kError,  // the first call about a file from that number on is not made, and answers `error`
    kShort,  // the first read or write from that number on takes half of the bytes
  };
  Kind kind = Kind::kNone;
  uint64_t call = 0;  // counted from 1
  std::chrono::microseconds instant{0};
  int error = 0;         // as errno
  bool lasting = false;  // from then on every call of that name fails so
};

// For messages: "ENOSPC from call 17 on".
std::string ToText(const Trouble& trouble);

struct TroubledEnd {
  bool killed = false;      // by the trouble
  bool stuck = false;       // it did not end within minutes, and was killed for that
  int code = 0;             // of a program that came to its end; -number of a signal that ended it
  uint64_t calls = 0;       // that it made; unknown after kKillAtInstant
  uint64_t failed_at = 0;   // the number of the call
  std::string failed_call;  // that failed or was cut short: "write"; empty if it came to none
};

// Whether calls can be made to fail on this kind of processor.
bool CanFailCalls();

// Runs `argv`. Standard error goes to the file `err`, and standard output to `out`.
TroubledEnd RunInTrouble(std::vector<std::string> argv, const Trouble& trouble,
                         const std::string& err, const std::string& out = "/dev/null");

// Runs `argv` to its end, or kills it when it is about to make its system call of that number.
inline TroubledEnd RunUpToCall(std::vector<std::string> argv, uint64_t call, const std::string& err,
                               const std::string& out = "/dev/null") {
  const Trouble trouble{.kind = Trouble::Kind::kKillAtCall, .call = call};
  return RunInTrouble(std::move(argv), trouble, err, out);
}

}  // namespace pleat::inline v0_1
