#include "engine/table/waiting_copy.h"

#include <algorithm>
#include <functional>

namespace pleat::inline v0_1 {

const WaitingEvent* WaitingCopy::Part::Front() noexcept {
  while (chunk != nullptr) {
    if (offset < (chunk == last ? last_used : chunk->used)) return &chunk->At(offset);
    chunk = chunk == last ? nullptr : chunk->next;
    offset = 0;
  }
  return nullptr;
}

// Sorts the events of the next piece that has any.
void WaitingCopy::FillPiece() {
  if (next_in_piece_ < piece_.size()) return;
  piece_.clear();
  next_in_piece_ = 0;
  while (piece_.empty() && next_piece_ < pieces_.size()) {
    Part& part = pieces_[next_piece_++];
    while (const WaitingEvent* const event = part.Front()) {
      piece_.push_back(WaitingEntry::Of(*event));
      part.DropFront();
    }
  }
  std::ranges::sort(piece_, std::less<>());
}

const WaitingEvent* WaitingCopy::Next() {
  if (!sorted_) {
    std::ranges::sort(entries_, std::less<>());
    sorted_ = true;
  }
  FillPiece();
  const WaitingEvent* const of_run = run_.Front();
  const WaitingEntry* first = nullptr;
  const auto look_at = [&first](const WaitingEntry& entry) {
    if (first == nullptr || entry < *first) first = &entry;
  };
  if (next_entry_ < entries_.size()) look_at(entries_[next_entry_]);
  if (next_in_piece_ < piece_.size()) look_at(piece_[next_in_piece_]);
  if (of_run != nullptr && (first == nullptr || WaitingEntry::Of(*of_run) < *first)) {
    run_.DropFront();
    return of_run;
  }
  if (first == nullptr) return nullptr;
  const bool of_piece = next_in_piece_ < piece_.size() && first == &piece_[next_in_piece_];
  ++(of_piece ? next_in_piece_ : next_entry_);
  return first->event;
}

// Each event comes behind a mark: stamp, position and text. Behind the last one comes kEnd.
bool WaitingCopy::SaveNext(FieldWriter& out) {
  constexpr size_t kBytesAtOnce = size_t{64} << 10;
  for (size_t written = 0; written < kBytesAtOnce;) {
    const WaitingEvent* const event = Next();
    out.PutByte(event == nullptr ? kEnd : event->is_control ? kControlEvent : kEvent);
    if (event == nullptr) return false;
    out(event->at, event->position);
    out.PutBytes(event->text());
    written += event->bytes();
  }
  return true;
}

}  // namespace pleat::inline v0_1
