// An EventCalendar keeps events whose stamps lie within a span of time, and gives them in order.
//
// Time is cut into some 1,000 pieces for the span, and each piece has a list of events, as they came. A
// piece is opened when its events are to be taken: then an index of them is sorted, which fits a cache.
// This is a calendar queue (R. Brown, "Calendar queues: a fast O(1) priority queue implementation for
// the simulation event set problem", CACM 31(10), 1988) whose calendar is one span long. To put an event
// costs O(1), and to take one O(log n) of the n in its piece.
//
// Thread safety: one thread at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <absl/functional/function_ref.h>
#include <pleat/time.h>

#include "engine/table/waiting_event.h"
#include "engine/table/waiting_queue.h"

namespace pleat::inline v0_1 {

class EventCalendar {
 public:
  // Borrows `memory`.
  EventCalendar(Duration span, EventMemory& memory);

  // Whether Put() can take the stamp, with the events that are there.
  bool HasPlaceFor(EngineTime at) const noexcept {
    return events_ == 0 || PieceOf(at) - lowest_ < kPieces;
  }
  // Whether it falls into the piece that is open. Put() takes no such event.
  bool IsInOpenPiece(EngineTime at) const noexcept { return is_open_ && PieceOf(at) == open_; }
  // REQUIRES: its piece is not before that of an event that was taken.
  void Put(const WaitingEvent& event, const uint32_t* words, std::string_view text);

  // Fetches what Put() will write to, for an event that comes soon: other events of its piece came long
  // ago. To be called some events before with `is_near` false, which fetches where that is, and then
  // with true.
  void Fetch(EngineTime at, bool is_near) const noexcept {
    pieces_[SlotOf(PieceOf(at))].FetchEnd(is_near);
  }

  // Whether First() has nothing to do.
  bool empty() const noexcept { return events_ == 0 && !is_open_; }
  // The first event, if it may be one with a stamp up to `limit`. Null: there is none up to there.
  const WaitingEntry* First(EngineTime limit);
  // Takes the event of First(), which stays valid as long as memory that was let go.
  void TakeFirst() noexcept;
  // Writes the open piece anew if most of it was taken.
  void FillHoles();

  // The events that are there: those of the open piece, in any order; and the lists of other pieces, in
  // the order of time.
  std::span<const WaitingEntry> open() const noexcept { return index_.all(); }
  void ForEachPiece(absl::FunctionRef<void(const EventList&)> see) const;
  EngineTime smallest() const;  // stamp; kNever: there is none
  void Clear() noexcept;

 private:
  static constexpr int64_t kPieces = 1024;

  int64_t PieceOf(EngineTime at) const noexcept { return at.time_since_epoch().count() >> shift_; }
  static size_t SlotOf(int64_t piece) noexcept {
    return static_cast<size_t>(piece & (kPieces - 1));
  }
  static int ShiftFor(Duration span) noexcept;
  EventList& At(int64_t piece) noexcept { return pieces_[SlotOf(piece)]; }
  bool FindLowest() noexcept;
  void Open(int64_t piece);
  void Close() noexcept;

  EventMemory& memory_;
  const int shift_;  // a piece has so many microseconds, as a power of two
  uint64_t events_ = 0;
  std::vector<EventList> pieces_;                  // a ring
  std::array<uint64_t, kPieces / 64> occupied_{};  // a bit for each of them that has events
  int64_t lowest_ = 0;                             // no piece before it has any

  bool is_open_ = false;
  int64_t open_ = 0;
  WaitingQueue index_;  // of the events of the open piece
};

}  // namespace pleat::inline v0_1
