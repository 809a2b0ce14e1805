// Text to events, a piece of a few lines at a time.
#include "engine/lines/feed/read_lines.h"

#include <algorithm>

#include "engine/base/check.h"

namespace pleat::inline v0_1 {
namespace {

// Bytes of lines that are indexed at once: enough to spread the cost of a call, few enough that the
// lines and their tokens are still in the cache when they are scanned. A longer line is a piece of
// its own.
constexpr size_t kPieceBytes = 16 * 1024;

// Prefetches the cache lines of `bytes` from `begin` on.
void FetchMemory(const void* begin, size_t bytes) noexcept {
  constexpr size_t kCacheLine = 64;
  const char* const at = static_cast<const char*>(begin);
  for (size_t i = 0; i < bytes; i += kCacheLine) __builtin_prefetch(at + i);
}

}  // namespace

std::string_view ReadLines::FirstPiece(std::string_view text) noexcept {
  if (text.size() <= kPieceBytes) return text;
  const size_t newline = text.rfind('\n', kPieceBytes - 1);
  return newline == std::string_view::npos ? FirstLine(text) : text.substr(0, newline + 1);
}

void ReadLines::Read(std::string_view text) {
  batch_.Clear();
  sources_.clear();
  no_events_.clear();
  control_places_.clear();
  excluded_.clear();
  newest_excluded_.clear();
  has_open_ = false;
  next_excluded_ = 0;
  lines_ = next_line = next_event = next_no_event = 0;
  PLEAT_DCHECK(text.size() <= UINT32_MAX);
  while (!text.empty()) {
    const std::string_view piece = FirstPiece(text);
    ReadPiece(piece);
    text.remove_prefix(piece.size());
  }
  batch_.Link();
  PLEAT_DCHECK(sources_.size() == batch_.events.size());
}

size_t ReadLines::Take(size_t max, absl::FunctionRef<bool(size_t end)> take_events,
                       absl::FunctionRef<bool(const NoEvent& other)> take_other) {
  const size_t begin = next_line;
  const size_t end = begin + std::min(max, lines_ - begin);
  const auto before = [](const Line& line, size_t index) { return line.index < index; };
  for (bool go_on = true; go_on && next_line < end;) {
    const bool interrupted =
        next_no_event < no_events_.size() && no_events_[next_no_event].line.index < end;
    const size_t stop = interrupted ? no_events_[next_no_event].line.index : end;
    const auto first = sources_.begin() + static_cast<std::ptrdiff_t>(next_event);
    const auto last = std::lower_bound(first, sources_.end(), stop, before);
    go_on = take_events(static_cast<size_t>(last - sources_.begin()));
    if (!go_on) break;
    next_line = stop;
    if (!interrupted) break;
    ++next_line;
    go_on = take_other(no_events_[next_no_event++]);
  }
  return next_line - begin;
}

void ReadLines::Fetch(size_t first, size_t count) const noexcept {
  if (count == 0) return;
  PLEAT_DCHECK(first + count <= sources_.size());
  const size_t wanted = batch_.values_an_event();
  const Line& last = sources_[first + count - 1];
  const auto text = static_cast<size_t>(last.data + last.size - sources_[first].data);
  FetchMemory(&batch_.events[first], count * sizeof(batch_.events[first]));
  FetchMemory(batch_.values.data() + first * wanted, count * wanted * sizeof(EventValue));
  if (!batch_.marks.empty()) FetchMemory(&batch_.marks[first], count * sizeof(EventMarks));
  FetchMemory(sources_[first].data, text);
}

inline void ReadLines::Note(std::string_view text, LineResult::Kind kind) {
  const auto size = static_cast<uint32_t>(text.size());
  const auto index = static_cast<uint32_t>(lines_++);
  if (kind != LineResult::Kind::kEvent) [[unlikely]]
    return NoteOther({text.data(), size, index}, kind);
  if (waits_) NotePlaces();
  Line& line = sources_.emplace_back();  // field by field, as the event is
  line.data = text.data();
  line.size = size;
  line.index = index;
}

// Of the event that comes next.
inline void ReadLines::NotePlaces() {
  const size_t first = sources_.size() * words_;
  if (places_.size() < first + words_) [[unlikely]]
    places_.resize(2 * first + words_);
  reader_.WritePlaces(places_.data() + first);
}

void ReadLines::ReadPiece(std::string_view piece) {
  const bool indexed = piece.size() <= kLineBytesMax && reader_.Index(piece);
  while (!piece.empty()) {
    const size_t newline = piece.find('\n');
    const std::string_view line = piece.substr(0, newline);
    const LineResult::Kind kind =
        indexed ? reader_.ReadNext(line, batch_) : reader_.Read(line, batch_);
    Note(line, kind);
    if (newline == std::string_view::npos) return;
    piece.remove_prefix(newline + 1);
  }
}

void ReadLines::NoteOther(const Line& line, LineResult::Kind kind) {
  using Kind = LineResult::Kind;
  if (kind == Kind::kControl) {
    no_events_.push_back({line, {kind, {}, {}}, reader_.control(), control_places_.size()});
    if (!waits_) return;
    control_places_.resize(control_places_.size() + words_);
    reader_.WritePlaces(control_places_.data() + control_places_.size() - words_);
  } else if (kind == Kind::kExcluded) {
    excluded_.push_back(line.index);
    if (may_be_open_) {
      const EngineTime before =
          newest_excluded_.empty() ? kBeginningOfTime : newest_excluded_.back();
      newest_excluded_.push_back(std::max(before, reader_.excluded_at()));
    }
  } else if (kind == Kind::kWaiting) {
    has_open_ = true;
    no_events_.push_back({line, {.kind = kind}, {}, 0});
  } else if (kind != Kind::kBlank) {
    const std::string_view reason = batch_.texts.Copy(reader_.reason());
    LineResult result{kind, {}, reason};
    result.about = reader_.about();
    no_events_.push_back({line, result, {}, 0});
  }
}

EngineTime ReadLines::NewestExcludedBefore(size_t index) const noexcept {
  const auto behind = std::ranges::lower_bound(excluded_, index);
  const auto count = static_cast<size_t>(behind - excluded_.begin());
  return count == 0 || newest_excluded_.empty() ? kBeginningOfTime : newest_excluded_[count - 1];
}

JsonLines::JsonLines(const EventPlan& plan) : read_(std::make_unique<ReadLines>(plan)) {}
JsonLines::~JsonLines() = default;

void JsonLines::Read(std::string_view text) { read_->Read(text); }

bool ReadLines::any_usable() const noexcept {
  return !sources_.empty() || !excluded_.empty() ||
         std::ranges::any_of(no_events_, [](const NoEvent& other) {
           return other.result.kind == LineResult::Kind::kControl ||
                  other.result.kind == LineResult::Kind::kWaiting;
         });
}

bool JsonLines::any_usable() const noexcept { return read_->any_usable(); }

size_t JsonLines::left() const noexcept { return read_->lines() - read_->next_line; }

}  // namespace pleat::inline v0_1
