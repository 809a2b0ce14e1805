// What a hot call answers: small values, no strings, no allocation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <pleat/export.h>

namespace pleat::inline v0_1 {

// What became of one event. Only kOpened, kFolded and kCorrected changed a group or made an emission; on event
// time all but kFuture, kStopped and kWouldDeadlock, and a key that is too long, have moved the watermark.
enum class FoldOutcome : uint8_t {
  kOpened,     // it opened a new group (which may have closed at once: max_events of 1, or overdue)
  kFolded,     // it was folded into the key's open group
  kLate,       // older than the accept limit by time; route it elsewhere if it matters
  kFuture,     // further ahead of the engine's time than the future limit; likely a broken clock
  kOverLimit,  // a limit on groups, bytes or key length was reached; after popping, or after time
               // has closed groups, the same event may be accepted
  kStopped,    // the engine was stopped or is gone, or the folder was closed: nothing is accepted
  kDuplicate,  // an event of this id was taken already: a retry, done
  kConflict,   // the same, but its content was different: one of the two is wrong
  kCorrected,  // late, and handed out as a correction by itself (OnLate::kCorrect)
  kOverloaded,  // it would have opened a group, and too many emissions wait to be taken (max_backlog)
  kWouldDeadlock,  // called from inside a fold function; not counted
  kElsewhere,      // FoldBatch() was told to leave its partition alone; not counted
};
inline constexpr size_t kFoldOutcomes = 12;

// What Flush() and Cancel() with a stamp answer.
enum class ControlOutcome : uint8_t {
  kDone,           // the key's group was closed, or dropped
  kNoGroup,        // the key has no open group; time has moved
  kFuture,         // beyond the future limit; nothing has changed
  kClosed,         // the collection is closed
  kWouldDeadlock,  // called from inside a fold function; nothing has changed
};

// What became of the events of one batch: how many were answered with each FoldOutcome.
struct FoldCounts {
  size_t opened = 0;
  size_t folded = 0;
  size_t late = 0;
  size_t future = 0;
  size_t over_limit = 0;
  size_t stopped = 0;
  size_t duplicate = 0;
  size_t conflict = 0;
  size_t corrected = 0;
  size_t overloaded = 0;
  size_t would_deadlock = 0;
  size_t elsewhere = 0;

  constexpr void Add(FoldOutcome outcome, size_t events = 1) noexcept {
    switch (outcome) {
      case FoldOutcome::kOpened: opened += events; break;
      case FoldOutcome::kFolded: folded += events; break;
      case FoldOutcome::kLate: late += events; break;
      case FoldOutcome::kFuture: future += events; break;
      case FoldOutcome::kOverLimit: over_limit += events; break;
      case FoldOutcome::kStopped: stopped += events; break;
      case FoldOutcome::kDuplicate: duplicate += events; break;
      case FoldOutcome::kConflict: conflict += events; break;
      case FoldOutcome::kCorrected: corrected += events; break;
      case FoldOutcome::kOverloaded: overloaded += events; break;
      case FoldOutcome::kWouldDeadlock: would_deadlock += events; break;
      case FoldOutcome::kElsewhere: elsewhere += events; break;
    }
  }

  friend bool operator==(const FoldCounts&, const FoldCounts&) = default;
};

// Why there is an emission: why its group closed, or why it did not wait for that. These values are
// stored; never renumber.
enum class Reason : uint8_t {
  kQuiet = 1,        // nothing folded into it for the quiet period
  kMaxHold = 2,      // the max hold came strictly before the quiet deadline
  kMaxEvents = 3,    // it held max_events events
  kFlush = 4,        // Flush(key)
  kEnd = 5,          // CloseAll(): the end of the input
  kMaxBytes = 6,     // it weighed max_group_bytes
  kEndMark = 7,      // an event with an end mark, which is its last
  kStartMark = 8,    // an event with a start mark came, which opened the next group
  kCondition = 9,    // its state met the condition
  kLimit = 10,       // room was needed, and it was the next to close (OnLimit::kEmitOldest)
  kLeading = 11,     // not closed: its first event (Edge::kLeading, kBoth)
  kPartial = 12,     // not closed: as it is so far (partial_every)
  kCorrection = 13,  // no group: a late event by itself (OnLate::kCorrect)
};
inline constexpr size_t kReasons = 13;

// Where a reason stands among all, from 0, in arrays of what there is one of for each.
constexpr size_t IndexOf(Reason reason) noexcept { return static_cast<size_t>(reason) - 1; }

// "quiet", "max_hold", ...: the spelling used in output and metrics.
constexpr std::string_view ReasonName(Reason reason) noexcept {
  switch (reason) {
    case Reason::kQuiet: return "quiet";
    case Reason::kMaxHold: return "max_hold";
    case Reason::kMaxEvents: return "max_events";
    case Reason::kFlush: return "flush";
    case Reason::kEnd: return "end";
    case Reason::kMaxBytes: return "max_bytes";
    case Reason::kEndMark: return "end_mark";
    case Reason::kStartMark: return "start_mark";
    case Reason::kCondition: return "condition";
    case Reason::kLimit: return "limit";
    case Reason::kLeading: return "leading";
    case Reason::kPartial: return "partial";
    case Reason::kCorrection: return "correction";
  }
  return "unknown";
}

}  // namespace pleat::inline v0_1
