// What a hot call answers: small values, no strings, no allocation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace pleat::inline v0 {

// What became of one event. Only kOpened and kFolded changed anything.
enum class FoldOutcome : uint8_t {
  kOpened,     // it opened a new group (which may have closed at once: max_events of 1, or overdue)
  kFolded,     // it was folded into the key's open group
  kLate,       // older than the accept limit by time; route it elsewhere if it matters
  kFuture,     // further ahead of the engine's time than the future limit; likely a broken clock
  kOverLimit,  // a limit on groups, bytes or key length was reached; after popping, or after time
               // has closed groups, the same event may be accepted
  kStopped,    // the engine was stopped; nothing is accepted any more
};

// What became of the events of one batch: how many were answered with each FoldOutcome.
struct FoldCounts {
  size_t opened = 0;
  size_t folded = 0;
  size_t late = 0;
  size_t future = 0;
  size_t over_limit = 0;
  size_t stopped = 0;

  friend bool operator==(const FoldCounts&, const FoldCounts&) = default;
};

// Why a group closed. These values are stored; never renumber.
enum class Reason : uint8_t {
  kQuiet = 1,      // nothing folded into it for the quiet period
  kMaxHold = 2,    // the max hold came strictly before the quiet deadline
  kMaxEvents = 3,  // it held max_events events
  kFlush = 4,      // Flush(key)
  kEnd = 5,        // CloseAll(): the end of the input
};

// "quiet", "max_hold", ...: the spelling used in output and metrics.
constexpr std::string_view ReasonName(Reason reason) noexcept {
  switch (reason) {
    case Reason::kQuiet: return "quiet";
    case Reason::kMaxHold: return "max_hold";
    case Reason::kMaxEvents: return "max_events";
    case Reason::kFlush: return "flush";
    case Reason::kEnd: return "end";
  }
  return "unknown";
}

}  // namespace pleat::inline v0
