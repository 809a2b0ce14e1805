// A history: what threads have called on a folder of one partition, when, and what they were answered; and whether
// calls that come one after the other, each at some instant between its beginning and its end, explain it.
//
// Recorded histories rather than controlled schedules: the engine has a lock for each partition and no step in
// between that could be scheduled, so that its real interleavings are the ones to judge. The checker found the
// planted races within tens of histories; it needs no hooks in the engine, and what it accepts it can prove.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <pleat/untyped/any_folder.h>

namespace pleat::inline v0_1 {

// An emission as the history knows it.
struct SeenEmission {
  uint64_t generation = 0;
  std::vector<uint16_t> events;
  uint64_t lease = 0;  // the number of the delivery; 0: popped
  uint32_t deliveries = 0;

  friend bool operator==(const SeenEmission&, const SeenEmission&) = default;
};

struct HistoryCall {
  enum class Kind : uint8_t { kFold, kPeek, kFlush, kCancel, kPop, kLease, kAck, kNack, kAdvance };

  Kind kind;
  uint64_t begin =
      0;  // in ticks of one counter: a call that ended before another began comes first
  uint64_t end = 0;
  int thread = 0;
  size_t key = 0;        // kFold, kPeek, kFlush, kCancel
  uint16_t event = 0;    // kFold
  size_t max = 0;        // kPop, kLease
  uint64_t lease = 0;    // kAck, kNack
  int64_t now = 0;       // kAdvance: engine time to get to
  bool follows = false;  // it comes behind the call before it in the history: both are of one batch

  // What was answered.
  bool yes = false;                     // kFold: opened; kFlush, kCancel, kPeek: there was a group
  std::vector<uint16_t> events;         // kPeek
  std::vector<SeenEmission> emissions;  // kPop, kLease
  LeaseOutcome outcome = LeaseOutcome::kDone;

  std::string Show() const;
};

// Of a folder in which time closes no group.
struct HistoryRules {
  size_t keys = 1;
  size_t max_events = 3;
  uint32_t max_deliveries = 2;
  int64_t ttl = 3;  // of every lease
};

enum class Verdict : uint8_t {
  kExplained,
  kNotExplained,
  kUndecided,  // there are too many orders to try: a thread was away in the middle of a call, for example
};

// Whether a sequence of the calls explains all answers (Wing and Gong's search, with Lowe's memory of where it has
// been). Calls of one batch stand together in `calls`, in their order.
Verdict Judge(const HistoryRules& rules, const std::vector<HistoryCall>& calls);

// Has `threads` threads call a folder, about `calls` times in all, as `seed` says.
std::vector<HistoryCall> RecordHistory(uint64_t seed, const HistoryRules& rules, int threads,
                                       size_t calls);

// Draws a history for each seed and judges it. The first one that nothing explains, if any, is told.
struct HistorySearch {
  uint64_t first_seed = 1;
  uint64_t histories = 1000;
};
struct HistoryFound {
  uint64_t histories = 0;  // looked at
  size_t calls = 0;
  size_t overlaps = 0;  // calls during which another one began or ended
  uint64_t undecided = 0;
  std::optional<std::string> failure;  // the history that nothing explains
};
HistoryFound SearchHistories(const HistorySearch& search);

}  // namespace pleat::inline v0_1
