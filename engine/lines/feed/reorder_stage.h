// The reorder stage of lines: lines wait here until no older one can come, and go on in the order of
// their stamps.
//
// With a bound of disorder D the watermark is the newest stamp less D. A line is due when the
// watermark has reached its stamp, and lines that are due are taken in the order of (stamp, position
// of arrival). So what is behind the stage meets the lines as if they had been sorted, stably, by
// time.
//
//   arrival    40   25   33   60          D = 30
//   watermark  10   10   10   30
//   taken                     25          33, 40 and 60 wait
//
// A line older than what has passed has missed its turn: it does not wait, and is late or not by the
// rules of the collection. What has passed is the watermark; or the stamp of the last line that was
// taken before its turn, because there was no room.
//
// Where lines wait:
//   - A line that is not older than all before it goes to the end of the run, which is read as it was
//     written. So an input in order is appended and taken from the front.
//   - Others go to a heap, as long as there are few.
//   - If there are many, they go to a calendar (line_calendar.h), whose span is D, as no stamp that
//     waits is further away.
//
// Thread safety: one thread at a time; the counts are for any thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <absl/functional/function_ref.h>
#include <pleat/stored.h>
#include <pleat/time.h>

#include "engine/lines/feed/counter.h"
#include "engine/lines/feed/line_calendar.h"
#include "engine/lines/feed/waiting_line.h"

namespace pleat::inline v0_1 {

class ReorderStage {
 public:
  // `bound` is D. Lines that wait take at most `max_bytes`; see BytesOf().
  ReorderStage(Duration bound, Duration future_limit, size_t max_bytes);
  ~ReorderStage();
  ReorderStage(const ReorderStage&) = delete;
  ReorderStage& operator=(const ReorderStage&) = delete;

  // What a line counts against max_bytes: its own bytes, four for each word, and all that is kept
  // beside them, rounded up.
  static constexpr size_t BytesOf(size_t size, size_t words) noexcept {
    return size + sizeof(uint32_t) * words + 48;
  }

  // --- Time

  // Whether the stamp of a line that has just come is further ahead of the newest one than the
  // future limit allows. The first one is not.
  bool IsTooFarAhead(EngineTime at) const noexcept {
    return IsBeyondFuture(at, ahead_, future_limit_);
  }
  // A line with this stamp has come: the watermark moves.
  void NoteStamp(EngineTime at) noexcept {
    if (at <= newest_) return;
    newest_ = at;
    ahead_ = std::max(ahead_, at);
    watermark_ = std::max(watermark_, SaturatingSub(at, bound_));
  }
  // No line older than `now` is waited for any more.
  void Advance(EngineTime now) noexcept;

  EngineTime newest() const noexcept { return newest_; }  // stamp; kBeginningOfTime: none yet
  EngineTime watermark() const noexcept { return watermark_; }
  // Lines older than this have missed their turn.
  EngineTime passed() const noexcept { return std::max(watermark_, taken_early_); }

  // --- Lines in

  // So many lines have come, of whatever kind. Returns the position of the first.
  uint64_t CountArrived(uint64_t lines) noexcept {
    return std::exchange(arrived_, arrived_ + lines);
  }
  uint64_t arrived() const noexcept { return arrived_; }

  // Whether Put() can take the stamp before all that is due was taken.
  bool HasPlaceFor(EngineTime at) const noexcept { return calendar_.HasPlaceFor(at); }
  // REQUIRES: the stamp was noted, has not passed, and has a place.
  void Put(const WaitingLine& line, const uint32_t* words, std::string_view text);

  // --- Lines out

  // The next line, if it is due; else null. It is gone from the stage, and stays valid until
  // FreeTaken().
  const WaitingLine* TakeDue();
  bool is_over_limit() const noexcept { return bytes_ > max_bytes_; }
  // The next line, due or not, if the stage is over its bytes; else null.
  const WaitingLine* TakeOverLimit();
  void FreeTaken();

  // The smallest stamp that waits. Complexity: O(lines of a piece of the calendar).
  std::optional<EngineTime> next() const;

  // --- Any thread

  uint64_t waiting() const noexcept { return waiting_.value(); }
  uint64_t taken_early() const noexcept { return early_.value(); }

  // --- Snapshots. REQUIRES: nobody puts or takes lines meanwhile.

  // Each line that waits, in no order that means anything.
  void ForEach(absl::FunctionRef<void(const WaitingLine&)> see) const;
  // All but the lines.
  void SaveTimes(FieldWriter& out) const;
  // REQUIRES: no line waits.
  void LoadTimes(FieldReader& in);
  void Clear() noexcept;

 private:
  // Lines in order, and where the first of them is in the first chunk.
  struct Run {
    LineList lines;
    uint32_t offset = 0;
    EngineTime end = kBeginningOfTime;  // the stamp of its last line, and the position
    uint64_t end_position = 0;

    bool EndsBefore(const WaitingLine& line) const noexcept {
      return end != line.at ? end < line.at : end_position < line.position;
    }
  };

  void PutInHeap(const WaitingLine& line, const uint32_t* words, std::string_view text);
  const WaitingLine* RunFront() noexcept;
  const WaitingLine* TakeUpTo(EngineTime limit);

  const Duration bound_;
  const Duration future_limit_;
  const size_t max_bytes_;

  EngineTime newest_ = kBeginningOfTime;
  EngineTime ahead_ = kBeginningOfTime;  // the newest, or what Advance() says it may be
  EngineTime watermark_ = kBeginningOfTime;
  EngineTime taken_early_ = kBeginningOfTime;  // the latest
  uint64_t arrived_ = 0;
  size_t bytes_ = 0;  // as BytesOf() counts, of all that wait

  LineMemory memory_;
  Run run_;
  std::vector<WaitingEntry> heap_;
  LineList beside_;  // the lines of the heap
  LineCalendar calendar_;

  Counter waiting_;
  Counter early_;
};

}  // namespace pleat::inline v0_1
