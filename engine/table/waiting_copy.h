// A WaitingCopy gives the events that waited in a reorder stage at one moment, in the order of their
// turns, to a thread that writes them while another one puts and takes further events.
//
// To begin one costs a pointer for each piece of the stage's calendar, some 40 KiB, and an entry of 24
// bytes for each of the few beside it and of its open piece, which is a thousandth of the bound. The events
// themselves are not copied: chunks that the stage frees meanwhile are kept until the copy is gone
// (EventMemory::Hold).
//
// Thread safety: one thread at a time; any besides that of the stage.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <pleat/detail/export.h>
#include <pleat/stored.h>

#include "engine/table/waiting_event.h"

namespace pleat::inline v0_1 {

class PLEAT_EXPORT WaitingCopy {
 public:
  // REQUIRES: nobody puts or takes events meanwhile; there is no other copy. `memory` outlives this one.
  explicit WaitingCopy(EventMemory& memory) noexcept : memory_(memory) { memory_.Hold(); }
  ~WaitingCopy() { memory_.EndHold(); }
  WaitingCopy(const WaitingCopy&) = delete;
  WaitingCopy& operator=(const WaitingCopy&) = delete;

  // For the stage, which says what waits: the run from that place in its first chunk on; entries in any
  // order; and the pieces of the calendar, in the order of time.
  void AddRun(const EventList& events, uint32_t offset) noexcept { run_ = Part(events, offset); }
  void AddEntry(const WaitingEntry& entry) { entries_.push_back(entry); }
  void AddPiece(const EventList& events) { pieces_.push_back(Part(events, 0)); }

  // The next event, which stays valid as long as this copy. Null: that was all.
  // Complexity: O(log(events of a piece of the calendar)).
  const WaitingEvent* Next();

  // Writes further events, for snapshots: some 64 KiB, each behind a mark. False: that was all.
  bool SaveNext(FieldWriter& out);
  static constexpr uint8_t kEnd = 0;
  static constexpr uint8_t kEvent = 1;  // earlier versions: also a control event
  static constexpr uint8_t kControlEvent = 2;

 private:
  // The events that a list had, of which the last chunk may grow meanwhile.
  struct Part {
    const EventChunk* chunk = nullptr;
    const EventChunk* last = nullptr;
    uint32_t last_used = 0;
    uint32_t offset = 0;

    Part() = default;
    Part(const EventList& events, uint32_t begin) noexcept
        : chunk(events.first),
          last(events.last),
          last_used(events.last == nullptr ? 0 : events.last->used),
          offset(begin) {}
    const WaitingEvent* Front() noexcept;  // null: it has none
    void DropFront() noexcept { offset += chunk->At(offset).bytes(); }
  };

  void FillPiece();

  EventMemory& memory_;
  Part run_;
  std::vector<WaitingEntry> entries_;
  size_t next_entry_ = 0;
  bool sorted_ = false;  // entries_
  std::vector<Part> pieces_;
  size_t next_piece_ = 0;
  std::vector<WaitingEntry> piece_;  // the events of the piece before that
  size_t next_in_piece_ = 0;
};

}  // namespace pleat::inline v0_1
