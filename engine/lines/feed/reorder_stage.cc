#include "engine/lines/feed/reorder_stage.h"

#include <algorithm>
#include <functional>

#include "engine/base/check.h"

namespace pleat::inline v0_1 {
namespace {

// How many lines the heap may have before others go to the calendar: its entries fit the nearest
// cache.
constexpr size_t kHeapLines = 256;

}  // namespace

ReorderStage::ReorderStage(Duration bound, Duration future_limit, size_t max_bytes)
    : bound_(bound), future_limit_(future_limit), max_bytes_(max_bytes), calendar_(bound, memory_) {
  PLEAT_DCHECK(bound > Duration{0});
}

ReorderStage::~ReorderStage() { Clear(); }

void ReorderStage::Advance(EngineTime now) noexcept {
  watermark_ = std::max(watermark_, now);
  ahead_ = std::max(ahead_, SaturatingAdd(now, bound_));
}

// --- Lines in

void ReorderStage::Put(const WaitingLine& line, const uint32_t* words, std::string_view text) {
  PLEAT_DCHECK(line.size == text.size());
  PLEAT_DCHECK(line.at >= passed() && line.at <= newest_ && HasPlaceFor(line.at));
  bytes_ += BytesOf(line.size, line.words);
  waiting_.Add(1);
  if (run_.EndsBefore(line) || run_.lines.first == nullptr) {
    run_.end = line.at;
    run_.end_position = line.position;
    memory_.Append(run_.lines, line, words, text);
  } else if (heap_.size() < kHeapLines || calendar_.IsInOpenPiece(line.at)) {
    PutInHeap(line, words, text);
  } else {
    calendar_.Put(line, words, text);
  }
}

void ReorderStage::PutInHeap(const WaitingLine& line, const uint32_t* words,
                             std::string_view text) {
  heap_.push_back(WaitingEntry::Of(*memory_.Append(beside_, line, words, text)));
  std::ranges::push_heap(heap_, std::greater<>());
}

// --- Lines out

// The first line of the run. Null: it has none.
inline const WaitingLine* ReorderStage::RunFront() noexcept {
  LineList& lines = run_.lines;
  while (lines.first != nullptr && run_.offset == lines.first->used) {
    memory_.LetGoFirst(lines);
    run_.offset = 0;
  }
  return lines.first == nullptr ? nullptr : &lines.first->At(run_.offset);
}

// The next line, if its stamp is not behind `limit`; else null.
const WaitingLine* ReorderStage::TakeUpTo(EngineTime limit) {
  enum class From : uint8_t { kRun, kHeap, kCalendar };
  From from = From::kRun;
  WaitingEntry first{.at = kNever, .position = 0, .line = nullptr};
  if (const WaitingLine* const line = RunFront(); line != nullptr) first = WaitingEntry::Of(*line);
  if (!heap_.empty() && heap_.front() < first) {
    first = heap_.front();
    from = From::kHeap;
  }
  const WaitingEntry* const other = calendar_.First(std::min(first.at, limit));
  if (other != nullptr && *other < first) {
    first = *other;
    from = From::kCalendar;
  }
  if (first.at > limit) return nullptr;
  switch (from) {
    case From::kRun: run_.offset += first.line->bytes(); break;
    case From::kHeap:
      std::ranges::pop_heap(heap_, std::greater<>());
      heap_.pop_back();
      beside_.dead += first.line->bytes();
      break;
    case From::kCalendar: calendar_.TakeFirst(); break;
  }
  bytes_ -= BytesOf(first.line->size, first.line->words);
  waiting_.Add(~uint64_t{0});
  return first.line;
}

const WaitingLine* ReorderStage::TakeDue() { return TakeUpTo(watermark_); }

const WaitingLine* ReorderStage::TakeOverLimit() {
  if (!is_over_limit()) return nullptr;
  const WaitingLine* const line = TakeUpTo(kEndOfTime);
  if (line->at > watermark_) early_.Add(1);
  taken_early_ = std::max(taken_early_, line->at);
  return line;
}

void ReorderStage::FreeTaken() {
  memory_.FreeTaken();
  if (beside_.has_holes()) memory_.Repack(beside_, heap_);
  calendar_.FillHoles();
}

std::optional<EngineTime> ReorderStage::next() const {
  if (waiting() == 0) return std::nullopt;
  EngineTime least = calendar_.smallest();
  if (!heap_.empty()) least = std::min(least, heap_.front().at);
  const WaitingLine* const front = run_.lines.Front(run_.offset);
  if (front != nullptr) least = std::min(least, front->at);
  return least;
}

// --- Snapshots

void ReorderStage::ForEach(absl::FunctionRef<void(const WaitingLine&)> see) const {
  run_.lines.ForEach(run_.offset, see);
  for (const WaitingEntry& each : heap_) see(*each.line);
  calendar_.ForEach(see);
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

void ReorderStage::Clear() noexcept {
  calendar_.Clear();
  memory_.Free(run_.lines);
  memory_.Free(beside_);
  memory_.FreeTaken();
  run_ = Run();
  heap_.clear();
  bytes_ = 0;
  waiting_.Add(~waiting_.value() + 1);
}

}  // namespace pleat::inline v0_1
