// The answers of calls that are made for every event, and the reasons of emissions. Small values:
// no strings, no allocation.
//
// Every kind of collection has an enumeration of its own, so that a switch knows all answers. Those
// that two kinds have in common have the same name and the same number in both:
//
//   kAdded 0  kRefreshed 1  kUpdated 2  kUnchanged 3  kCorrected 2  kDuplicate 4  kConflict 5
//   kLate 6  kFuture 7  kOverLimit 8  kStopped 9 (a call that is no event: kClosed)
//   kWouldDeadlock 10  kElsewhere 11  kReplayed 12  kFull 13
//
// Programs may store the numbers: they never change.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <pleat/detail/export.h>

namespace pleat::inline v0_1 {

// The answer to one event, and how to react. Only kOpened, kFolded and kCorrected changed
// a group or made an emission. On event time every event moves the watermark, but for those
// answered kFuture, kStopped or kWouldDeadlock, and those with a key that is too long.
enum class FoldOutcome : uint8_t {
  // The event opened a group. (Which may have closed at once: with max_events of 1, or overdue.)
  kOpened = 0,
  // The event was folded into the open group of its key.
  kFolded = 1,
  // The event is late, and became an emission of its own (OnLate::kCorrect).
  kCorrected = 2,
  // The event would have opened a group while max_backlog emissions wait. Offer the event again
  // when some were taken.
  kOverloaded = 3,
  // An event of this id was taken already: a retry. There is nothing to do.
  kDuplicate = 4,
  // An event of this id, but of other content, was taken already: one of the two is wrong.
  kConflict = 5,
  // The event is older than the allowed lateness. Store it somewhere else, or drop it.
  kLate = 6,
  // The event is further ahead of the engine's time than the future limit: likely its clock is
  // wrong.
  kFuture = 7,
  // A limit on groups, bytes or key length was reached. The same event may be accepted once
  // emissions were taken, or time has closed groups; a key that is too long never is.
  kOverLimit = 8,
  // The engine was stopped or is gone, or the folder was closed: no event is accepted any more.
  kStopped = 9,
  // Called from inside a fold function; not counted. Call again after the fold.
  kWouldDeadlock = 10,
  // The key's partition is outside the range that FoldBatch() was called with; not counted. Another
  // worker, with the range of that partition, folds the event.
  kElsewhere = 11,
  // The partition has taken the event before, by its SourcePosition; not counted.
  kReplayed = 12,
};
inline constexpr size_t kFoldOutcomes = 13;

// The answer of SetDeadline(), and of Flush() and Cancel() with a stamp.
enum class ControlOutcome : uint8_t {
  kDone = 0,            // the key's group was closed, dropped, or given the deadline
  kNoGroup = 1,         // the key has no open group; time has moved
  kNotSettable = 2,     // SetDeadline() on a folder without closing.settable; nothing has changed
  kFuture = 7,          // the stamp is beyond the future limit; nothing has changed
  kClosed = 9,          // the collection is closed
  kWouldDeadlock = 10,  // called from inside a fold function; nothing has changed
};

// How many events of a batch were answered with each outcome: counts[FoldOutcome::kLate].
template <class Answer, size_t kAnswers>
class OutcomeCounts {
 public:
  using Outcome = Answer;
  static constexpr size_t kOutcomes = kAnswers;

  constexpr size_t operator[](Outcome outcome) const noexcept {
    return counts_[static_cast<size_t>(outcome)];
  }
  constexpr void Add(Outcome outcome, size_t events = 1) noexcept {
    counts_[static_cast<size_t>(outcome)] += events;
  }
  constexpr void Add(const OutcomeCounts& other) noexcept {
    for (size_t i = 0; i < kOutcomes; ++i) counts_[i] += other.counts_[i];
  }

  friend bool operator==(const OutcomeCounts&, const OutcomeCounts&) = default;

 private:
  size_t counts_[kOutcomes] = {};
};
using FoldCounts = OutcomeCounts<FoldOutcome, kFoldOutcomes>;

// Why there is an emission: why its group closed, or why the emission came before that. Programs
// may store these values: they never change.
enum class Reason : uint8_t {
  kQuiet = 1,         // its key had no event for the quiet period
  kMaxWait = 2,       // the max wait came strictly before the quiet deadline
  kMaxEvents = 3,     // the group held max_events events
  kFlush = 4,         // Flush(key)
  kEnd = 5,           // CloseAll(): the end of the input
  kMaxBytes = 6,      // the group weighed max_group_bytes
  kEndMark = 7,       // an event with an end mark, which is its last
  kStartMark = 8,     // an event with a start mark came, which opened the next group
  kCondition = 9,     // its state met the condition
  kLimit = 10,        // room was needed, and the group was the next to close (OnLimit::kEmitOldest)
  kLeading = 11,      // not closed: its first event (Edge::kLeading, kBoth)
  kPartial = 12,      // not closed: the group so far (partial_every)
  kCorrection = 13,   // no group: a late event by itself (OnLate::kCorrect)
  kFinal = 14,        // a final window of a rollup counter (rollup.h)
  kClosingTime = 15,  // the closing time came strictly before the other two (options.h)
};
inline constexpr size_t kReasons = 15;
// The reasons up to kFinal: those that every stored ledger counts.
inline constexpr size_t kFirstReasons = 14;

// The place of a reason in an array with one element for each, from 0.
constexpr size_t IndexOf(Reason reason) noexcept { return static_cast<size_t>(reason) - 1; }

// "quiet", "max_wait", ...: the spelling used in output and metrics.
constexpr std::string_view ReasonName(Reason reason) noexcept {
  switch (reason) {
    case Reason::kQuiet: return "quiet";
    case Reason::kMaxWait: return "max_wait";
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
    case Reason::kFinal: return "final";
    case Reason::kClosingTime: return "closing_time";
  }
  return "unknown";
}

}  // namespace pleat::inline v0_1
