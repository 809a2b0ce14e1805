#include "engine/table/event_calendar.h"

#include <algorithm>
#include <bit>

#include "engine/base/check.h"

namespace pleat::inline v0_1 {

EventCalendar::EventCalendar(Duration span, EventMemory& memory)
    : memory_(memory), shift_(ShiftFor(span)), pieces_(kPieces) {}

// As many pieces as the ring has may have events: those of a span, which may begin and end within one.
int EventCalendar::ShiftFor(Duration span) noexcept {
  const int64_t longest = (kEndOfTime - kBeginningOfTime).count();
  int shift = 0;
  while ((std::min(span.count(), longest) >> shift) > kPieces - 2) ++shift;
  return shift;
}

void EventCalendar::Put(const WaitingEvent& event, const uint32_t* words, std::string_view text) {
  PLEAT_DCHECK(HasPlaceFor(event.at) && !IsInOpenPiece(event.at));
  const int64_t piece = PieceOf(event.at);
  if (events_ == 0 && is_open_) Close();
  if (events_ == 0 || piece < lowest_) lowest_ = piece;
  ++events_;
  occupied_[SlotOf(piece) / 64] |= uint64_t{1} << (SlotOf(piece) % 64);
  memory_.Append(At(piece), event, words, text);
}

// Moves lowest_ on to the first piece that has events. Returns false if there is none.
bool EventCalendar::FindLowest() noexcept {
  if (events_ == 0) return false;
  const size_t slot = SlotOf(lowest_);
  size_t word = slot / 64;
  uint64_t bits = occupied_[word] & (~uint64_t{0} << (slot % 64));
  while (bits == 0) {
    word = (word + 1) % occupied_.size();
    bits = occupied_[word];
  }
  const size_t found = word * 64 + static_cast<size_t>(std::countr_zero(bits));
  lowest_ += static_cast<int64_t>((found - slot) % kPieces);
  return true;
}

void EventCalendar::Open(int64_t piece) {
  is_open_ = true;
  open_ = piece;
  At(piece).ForEach(0, [this](const WaitingEvent& event) { index_.Put(event); });
}

void EventCalendar::Close() noexcept {
  memory_.LetGo(At(open_));
  occupied_[SlotOf(open_) / 64] &= ~(uint64_t{1} << (SlotOf(open_) % 64));
  index_.Clear();
  is_open_ = false;
}

const WaitingEntry* EventCalendar::First(EngineTime limit) {
  if (is_open_ && index_.empty()) Close();
  if (!is_open_) {
    if (!FindLowest() || lowest_ > PieceOf(limit)) return nullptr;
    Open(lowest_);
  }
  // An event is read some time after its entry is looked at.
  constexpr size_t kAhead = 4;
  constexpr size_t kCacheLines = 4;
  const WaitingEntry* const first = index_.First();
  if (const WaitingEntry* const behind = index_.Behind(kAhead)) {
    const char* const soon = reinterpret_cast<const char*>(behind->event);
    for (size_t i = 0; i < kCacheLines; ++i) __builtin_prefetch(soon + 64 * i);
  }
  return first;
}

void EventCalendar::TakeFirst() noexcept {
  At(open_).dead += index_.First()->event->bytes();
  index_.TakeFirst();
  --events_;
}

void EventCalendar::FillHoles() {
  if (!is_open_ || !At(open_).has_holes()) return;
  if (index_.empty()) return Close();
  memory_.Repack(At(open_), index_.all());
}

void EventCalendar::ForEachPiece(absl::FunctionRef<void(const EventList&)> see) const {
  for (int64_t piece = lowest_; piece < lowest_ + kPieces; ++piece) {
    const EventList& events = pieces_[SlotOf(piece)];
    if (events.first != nullptr && !(is_open_ && SlotOf(piece) == SlotOf(open_))) see(events);
  }
}

EngineTime EventCalendar::smallest() const {
  if (!index_.empty()) return index_.smallest();
  EngineTime least = kNever;
  if (events_ == 0) return least;
  int64_t piece = lowest_;
  while ((is_open_ && piece == open_) || pieces_[SlotOf(piece)].first == nullptr) ++piece;
  pieces_[SlotOf(piece)].ForEach(
      0, [&least](const WaitingEvent& event) { least = std::min(least, event.at); });
  return least;
}

void EventCalendar::Clear() noexcept {
  for (EventList& piece : pieces_) memory_.Free(piece);
  occupied_ = {};
  index_.Clear();
  events_ = 0;
  is_open_ = false;
}

}  // namespace pleat::inline v0_1
