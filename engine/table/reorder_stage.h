// The reorder stage: events wait here until no older one can come, and go on in the order of their
// stamps. The stage knows an event by its stamp and its place among all that came.
//
// With a bound of disorder D the watermark is the newest stamp less D. An event is due when the
// watermark has reached its stamp, and events that are due are taken in the order of (stamp, position
// of arrival). So what is behind the stage meets the events as if they had been sorted, stably, by
// time.
//
//   arrival    40   25   33   60          D = 30
//   watermark  10   10   10   30
//   taken                     25          33, 40 and 60 wait
//
// An event older than what has passed has missed its turn: it does not wait, and is late or not by the
// rules of the collection. What has passed is the watermark; or the stamp of the last event that was
// taken before its turn, because there was no room.
//
// Where events wait:
//   - An event that is not older than all before it goes to the end of the run, which is read as it was
//     written. So an input in order is appended and taken from the front.
//   - Others go to a queue of a few.
//   - If there are many, they go to a calendar (event_calendar.h), whose span is D, as no stamp that
//     waits is further away.
//
// Thread safety: one thread at a time; the counts are for any thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <absl/functional/function_ref.h>
#include <pleat/detail/export.h>
#include <pleat/stored.h>
#include <pleat/time.h>

#include "engine/base/counter.h"
#include "engine/table/event_calendar.h"
#include "engine/table/waiting_copy.h"
#include "engine/table/waiting_event.h"
#include "engine/table/waiting_queue.h"

namespace pleat::inline v0_1 {

// An event that a snapshot had. Of lines in snapshots of earlier versions `is_control` is not known, and
// false.
struct LoadedEvent {
  EngineTime at;
  uint64_t position;
  bool is_control;
};

class PLEAT_EXPORT ReorderStage {
 public:
  // `bound` is D. Events that wait take at most `max_bytes`; see BytesOf().
  ReorderStage(Duration bound, Duration future_limit, size_t max_bytes);
  ~ReorderStage();
  ReorderStage(const ReorderStage&) = delete;
  ReorderStage& operator=(const ReorderStage&) = delete;

  // What an event counts against max_bytes: its own bytes, four for each word, and all that is kept
  // beside them, rounded up.
  static constexpr size_t BytesOf(size_t size, size_t words) noexcept {
    return size + sizeof(uint32_t) * words + 48;
  }

  // --- Time

  // Whether the stamp of an event that has just come is further ahead of the newest one than the
  // future limit allows. The first one is not.
  bool IsTooFarAhead(EngineTime at) const noexcept {
    return IsBeyondFuture(at, ahead_, future_limit_);
  }
  // An event with this stamp has come: the watermark moves.
  void NoteStamp(EngineTime at) noexcept {
    if (at <= newest_) return;
    newest_ = at;
    ahead_ = std::max(ahead_, at);
    watermark_ = std::max(watermark_, SaturatingSub(at, bound_));
  }
  // The engine's time is `now`: what a stamp may be ahead of.
  void NoteTime(EngineTime now) noexcept { ahead_ = std::max(ahead_, now); }
  // No event older than the newest is waited for any more.
  void ReachNewest() noexcept { watermark_ = std::max(watermark_, newest_); }
  // No event older than `now` is waited for any more.
  void Advance(EngineTime now) noexcept;

  EngineTime newest() const noexcept { return newest_; }  // stamp; kBeginningOfTime: none yet
  EngineTime watermark() const noexcept { return watermark_; }
  // Events older than this have missed their turn.
  EngineTime passed() const noexcept { return std::max(watermark_, taken_early_); }

  // --- Events in

  // So many events have come, of whatever kind. Returns the position of the first.
  uint64_t CountArrived(uint64_t events) noexcept {
    return std::exchange(arrived_, arrived_ + events);
  }
  uint64_t arrived() const noexcept { return arrived_; }

  // Whether Put() can take the stamp before all that is due was taken.
  bool HasPlaceFor(EngineTime at) const noexcept { return calendar_.HasPlaceFor(at); }
  // Fetches memory for events that come soon, whose stamps these are: the second one comes first.
  void Fetch(EngineTime later, EngineTime soon) const noexcept {
    if (few_.size() < kFewEvents) return;
    calendar_.Fetch(later, /*is_near=*/false);
    calendar_.Fetch(soon, /*is_near=*/true);
  }
  // REQUIRES: the stamp was noted, has not passed, and has a place.
  void Put(const WaitingEvent& event, const uint32_t* words, std::string_view text);
  // The same for one that a snapshot had, which may be due.
  // REQUIRES: its turn is behind that of all that wait, and its stamp was noted.
  void PutBack(const WaitingEvent& event, const uint32_t* words, std::string_view text);

  // --- Events out

  // Whether a control event is taken when its turn has come.
  enum class Controls : uint8_t { kTaken, kLeft };
  // The next event, if it is due; else null. It is gone from the stage, and stays valid until
  // FreeTaken().
  const WaitingEvent* TakeDue(Controls controls = Controls::kTaken);
  bool is_over_limit() const noexcept { return bytes_ > max_bytes_; }
  // The next event, due or not, if the stage is over its bytes; else null.
  const WaitingEvent* TakeOverLimit(Controls controls = Controls::kTaken);
  void FreeTaken();

  // The smallest stamp that waits. Complexity: O(events of a piece of the calendar).
  std::optional<EngineTime> next() const;

  // --- Any thread

  uint64_t waiting() const noexcept { return waiting_.value(); }
  uint64_t taken_early() const noexcept { return early_.value(); }

  // --- Snapshots. REQUIRES: nobody puts or takes events meanwhile.

  // The events that wait. The copy may be read while others are put and taken; the stage outlives it.
  // REQUIRES: there is no other copy.
  std::unique_ptr<WaitingCopy> Copy();
  // All but the events.
  void SaveTimes(FieldWriter& out) const;
  // REQUIRES: no event waits.
  void LoadTimes(FieldReader& in);
  // Reads what WaitingCopy::SaveNext() has written; or `count` events, without a byte before each. For
  // each event `put` is called, which puts it back, or returns false if the text makes no sense.
  // REQUIRES: LoadTimes() comes before.
  using PutLoaded = absl::FunctionRef<bool(const LoadedEvent& event, std::string& text)>;
  void LoadEvents(FieldReader& in, std::optional<uint64_t> count, PutLoaded put);
  void Clear() noexcept;

 private:
  // How many events few_ may have before others go to the calendar: its entries fit the nearest cache.
  static constexpr size_t kFewEvents = 256;

  // Events in order, and where the first of them is in the first chunk.
  struct Run {
    EventList events;
    uint32_t offset = 0;
    EngineTime end = kBeginningOfTime;  // the stamp of its last event, and the position
    uint64_t end_position = 0;

    bool EndsBefore(const WaitingEvent& event) const noexcept {
      return end != event.at ? end < event.at : end_position < event.position;
    }
  };

  void CountPut(const WaitingEvent& event, std::string_view text);
  void PutInFew(const WaitingEvent& event, const uint32_t* words, std::string_view text);
  const WaitingEvent* RunFront() noexcept;
  const WaitingEvent* TakeUpTo(EngineTime limit, Controls controls);

  const Duration bound_;
  const Duration future_limit_;
  const size_t max_bytes_;

  EngineTime newest_ = kBeginningOfTime;
  EngineTime ahead_ = kBeginningOfTime;  // the newest, or what Advance() says it may be
  EngineTime watermark_ = kBeginningOfTime;
  EngineTime taken_early_ = kBeginningOfTime;  // the latest
  uint64_t arrived_ = 0;
  size_t bytes_ = 0;  // as BytesOf() counts, of all that wait

  EventMemory memory_;
  Run run_;
  WaitingQueue few_;
  EventList beside_;  // the events of few_
  EventCalendar calendar_;

  Counter waiting_;
  Counter early_;
};

}  // namespace pleat::inline v0_1
