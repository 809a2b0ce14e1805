#include "engine/table/reorder_stage.h"

#include <algorithm>

#include "engine/base/check.h"

namespace pleat::inline v0_1 {
ReorderStage::ReorderStage(Duration bound, Duration future_limit, size_t max_bytes)
    : bound_(bound), future_limit_(future_limit), max_bytes_(max_bytes), calendar_(bound, memory_) {
  PLEAT_DCHECK(bound > Duration{0});
}

ReorderStage::~ReorderStage() { Clear(); }

void ReorderStage::Advance(EngineTime now) noexcept {
  if (now == kBeginningOfTime) return;  // there was no event
  watermark_ = std::max(watermark_, now);
  ahead_ = std::max(ahead_, SaturatingAdd(now, bound_));
}

// --- Events in

void ReorderStage::Put(const WaitingEvent& event, const uint32_t* words, std::string_view text) {
  PLEAT_DCHECK(event.at >= passed() && HasPlaceFor(event.at));
  if (run_.EndsBefore(event) || run_.events.first == nullptr) return PutBack(event, words, text);
  CountPut(event, text);
  if (few_.size() < kFewEvents || calendar_.IsInOpenPiece(event.at)) {
    PutInFew(event, words, text);
  } else {
    calendar_.Put(event, words, text);
  }
}

void ReorderStage::PutBack(const WaitingEvent& event, const uint32_t* words,
                           std::string_view text) {
  CountPut(event, text);
  run_.end = event.at;
  run_.end_position = event.position;
  memory_.Append(run_.events, event, words, text);
}

inline void ReorderStage::CountPut(const WaitingEvent& event, std::string_view text) {
  PLEAT_DCHECK(event.size == text.size() && event.at <= newest_);
  bytes_ += BytesOf(event.size, event.words);
  waiting_.Add(1);
}

void ReorderStage::PutInFew(const WaitingEvent& event, const uint32_t* words,
                            std::string_view text) {
  few_.Put(*memory_.Append(beside_, event, words, text));
}

// --- Events out

// The first event of the run. Null: it has none.
inline const WaitingEvent* ReorderStage::RunFront() noexcept {
  EventList& events = run_.events;
  while (events.first != nullptr && run_.offset == events.first->used) {
    memory_.LetGoFirst(events);
    run_.offset = 0;
  }
  return events.first == nullptr ? nullptr : &events.first->At(run_.offset);
}

// The next event, if its stamp is not behind `limit` and it may be taken; else null.
const WaitingEvent* ReorderStage::TakeUpTo(EngineTime limit, Controls controls) {
  enum class From : uint8_t { kRun, kFew, kCalendar };
  From from = From::kRun;
  WaitingEntry first{.at = kNever, .position = 0, .event = nullptr};
  if (const WaitingEvent* const event = RunFront(); event != nullptr)
    first = WaitingEntry::Of(*event);
  if (const WaitingEntry* const other = few_.First(); other != nullptr && *other < first) {
    first = *other;
    from = From::kFew;
  }
  if (!calendar_.empty()) {
    const WaitingEntry* const other = calendar_.First(std::min(first.at, limit));
    if (other != nullptr && *other < first) {
      first = *other;
      from = From::kCalendar;
    }
  }
  if (first.at > limit) return nullptr;
  if (controls == Controls::kLeft && first.event->is_control) return nullptr;
  switch (from) {
    case From::kRun: run_.offset += first.event->bytes(); break;
    case From::kFew:
      few_.TakeFirst();
      beside_.dead += first.event->bytes();
      break;
    case From::kCalendar: calendar_.TakeFirst(); break;
  }
  bytes_ -= BytesOf(first.event->size, first.event->words);
  waiting_.Add(~uint64_t{0});
  return first.event;
}

const WaitingEvent* ReorderStage::TakeDue(Controls controls) {
  return TakeUpTo(watermark_, controls);
}

const WaitingEvent* ReorderStage::TakeOverLimit(Controls controls) {
  if (!is_over_limit()) return nullptr;
  const WaitingEvent* const event = TakeUpTo(kEndOfTime, controls);
  if (event == nullptr) return nullptr;
  if (event->at > watermark_) early_.Add(1);
  taken_early_ = std::max(taken_early_, event->at);
  return event;
}

void ReorderStage::FreeTaken() {
  memory_.FreeTaken();
  if (beside_.has_holes()) memory_.Repack(beside_, few_.all());
  calendar_.FillHoles();
}

std::optional<EngineTime> ReorderStage::next() const {
  if (waiting() == 0) return std::nullopt;
  EngineTime least = std::min(calendar_.smallest(), few_.smallest());
  const WaitingEvent* const front = run_.events.Front(run_.offset);
  if (front != nullptr) least = std::min(least, front->at);
  return least;
}

// --- Snapshots

std::unique_ptr<WaitingCopy> ReorderStage::Copy() {
  auto copy = std::make_unique<WaitingCopy>(memory_);
  copy->AddRun(run_.events, run_.offset);
  for (const WaitingEntry& each : few_.all()) copy->AddEntry(each);
  for (const WaitingEntry& each : calendar_.open()) copy->AddEntry(each);
  calendar_.ForEachPiece([&copy](const EventList& events) { copy->AddPiece(events); });
  return copy;
}

void ReorderStage::SaveTimes(FieldWriter& out) const {
  out(newest_, ahead_, watermark_, taken_early_, arrived_, early_.value());
}

void ReorderStage::LoadTimes(FieldReader& in) {
  PLEAT_DCHECK(waiting() == 0);
  for (EngineTime* each : {&newest_, &ahead_, &watermark_, &taken_early_}) {
    in(*each);
    if (!in.Expect(Clamp(*each) == *each)) *each = kBeginningOfTime;
  }
  in.Expect(watermark_ >= SaturatingSub(newest_, bound_));
  arrived_ = in.Number();
  early_.Load(in);
}

void ReorderStage::LoadEvents(FieldReader& in, std::optional<uint64_t> count, PutLoaded put) {
  PLEAT_DCHECK(waiting() == 0);
  uint8_t mark = WaitingCopy::kEvent;
  const auto is_another = [&] {
    if (count) return (*count)-- > 0;
    mark = in.Byte();
    return in.Expect(mark <= WaitingCopy::kControlEvent) && mark != WaitingCopy::kEnd;
  };
  WaitingEntry last{};
  std::string text;
  while (is_another()) {
    WaitingEntry entry{};
    in(entry.at, entry.position, text);
    const bool in_turn = waiting() == 0 || last < entry;
    const bool has_come =
        Clamp(entry.at) == entry.at && entry.at <= newest_ && entry.position < arrived_;
    const LoadedEvent event{.at = entry.at,
                            .position = entry.position,
                            .is_control = mark == WaitingCopy::kControlEvent};
    if (!in.Expect(in.ok() && in_turn && has_come && put(event, text))) return;
    last = entry;
  }
}

void ReorderStage::Clear() noexcept {
  calendar_.Clear();
  memory_.Free(run_.events);
  memory_.Free(beside_);
  memory_.FreeTaken();
  run_ = Run();
  few_.Clear();
  bytes_ = 0;
  waiting_.Add(~waiting_.value() + 1);
}

}  // namespace pleat::inline v0_1
