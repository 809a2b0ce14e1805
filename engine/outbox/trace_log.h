// A TraceLog keeps the latest steps of the groups of one book, for readers of traces (trace.h), in a
// ring. A reader has the number of its next record and nothing else here; one that falls behind loses
// the oldest records. A book has a log only if its folder asks for a trace.
//
// Runs under the partition's lock, and changes no result: it is told what has happened.
//
// Invariants:
//   - The log keeps the records first() to next() - 1, at most `max`.
//   - A step of an emission is noted while its entry lives.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include <pleat/time.h>
#include <pleat/trace.h>
#include <pleat/untyped/any_folder.h>

#include "engine/base/instant.h"
#include "engine/outbox/outbox_entries.h"
#include "engine/outbox/ready.h"

namespace pleat::inline v0_1 {

class TraceLog {
 public:
  // `max`: how many records are kept, at least 1. `entries` outlives the log.
  TraceLog(const OutboxEntries& entries, uint32_t partition, size_t max)
      : entries_(entries), partition_(partition), max_(max) {}

  uint64_t first() const noexcept { return next_ - std::min<uint64_t>(next_, max_); }
  uint64_t next() const noexcept { return next_; }

  // kOpened or kCancelled, of a group.
  void NoteGroup(TraceStep step, uint64_t group, std::string_view key, const GroupInfo& info,
                 EngineTime when, const Instant& at);

  // An emission is ready to be taken, or a group closed without one (kSilent).
  void NoteReady(const Ready& ready, const Instant& at);
  void NoteSilent(const Ready& ready, const Instant& at) { Note(TraceStep::kSilent, ready, at); }

  // What becomes of an emission.
  void NoteGone(TraceStep step, const Ready& ready, const Instant& at) { Note(step, ready, at); }
  // The same of one that was delivered `deliveries` times, at `lease_at`.
  void NoteLease(TraceStep step, const Ready& ready, LeaseTime lease_at, uint32_t deliveries,
                 const Instant& at);

  // Appends copies of up to `max` records from `from` on. REQUIRES: first() <= from <= next().
  void Copy(uint64_t from, size_t max, std::vector<TraceRecord>& out) const;

 private:
  static constexpr size_t kBlockRecords = 256;
  static constexpr size_t kKeptKeyBytes = 128;  // longer keys give their memory back

  const TraceRecord& At(uint64_t number) const noexcept {
    const auto slot = static_cast<size_t>(number % max_);
    return blocks_[slot / kBlockRecords][slot % kBlockRecords];
  }
  TraceRecord& Next(TraceStep step, uint64_t group, std::string_view key, const GroupInfo& info,
                    EngineTime when, const Instant& at);
  TraceRecord& Note(TraceStep step, const Ready& ready, const Instant& at);

  const OutboxEntries& entries_;
  const uint32_t partition_;
  const size_t max_;
  uint64_t next_ = 0;
  std::vector<std::unique_ptr<TraceRecord[]>> blocks_;  // by slot, as far as they were used
};

}  // namespace pleat::inline v0_1
