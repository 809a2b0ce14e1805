// JsonLines: text to events, a piece of a few lines at a time.
#include <algorithm>
#include <cstring>

#include <pleat/json.h>

#include "engine/json/read_lines.h"

namespace pleat::inline v0_1 {
namespace {

// Lines indexed at once: enough to spread the cost of a call, few enough that they and their tokens
// are still in the cache when they are scanned. A longer line is a piece of its own.
constexpr size_t kPieceBytes = 16 * 1024;

// Asks for the cache lines of `bytes` from `begin` on.
void FetchMemory(const void* begin, size_t bytes) noexcept {
  constexpr size_t kCacheLine = 64;
  const char* const at = static_cast<const char*>(begin);
  for (size_t i = 0; i < bytes; i += kCacheLine) __builtin_prefetch(at + i);
}

// Up to and with its newline, or all.
std::string_view FirstLine(std::string_view text) noexcept {
  return text.substr(0, std::min(text.find('\n'), text.size() - 1) + 1);
}

}  // namespace

std::string_view JsonLines::Impl::FirstPiece(std::string_view text) noexcept {
  if (text.size() <= kPieceBytes) return text;
  const size_t newline = text.rfind('\n', kPieceBytes - 1);
  return newline == std::string_view::npos ? FirstLine(text) : text.substr(0, newline + 1);
}

void JsonLines::Impl::Read(std::string_view text) {
  batch_.Clear();
  sources_.clear();
  no_events_.clear();
  lines_ = next_line = next_event = next_no_event = 0;
  while (!text.empty()) {
    const std::string_view piece = FirstPiece(text);
    ReadPiece(piece);
    text.remove_prefix(piece.size());
  }
  batch_.Link();
}

void JsonLines::Impl::Fetch(size_t first, size_t count) const noexcept {
  if (count == 0) return;
  const size_t merges = batch_.operands.size() / batch_.events.size();
  const Line& last = sources_[first + count - 1];
  const auto text = static_cast<size_t>(last.data + last.size - sources_[first].data);
  FetchMemory(&batch_.events[first], count * sizeof(batch_.events[first]));
  FetchMemory(batch_.operands.data() + first * merges, count * merges * sizeof(Operand));
  if (!batch_.marks.empty()) FetchMemory(&batch_.marks[first], count * sizeof(EventMarks));
  FetchMemory(sources_[first].data, text);
}

void JsonLines::Impl::ReadPiece(std::string_view piece) {
  const bool indexed = piece.size() <= kLineBytesMax && reader_.Index(piece);
  while (!piece.empty()) {
    const std::string_view with_newline = FirstLine(piece);
    const std::string_view line = with_newline.substr(
        0, with_newline.size() - static_cast<size_t>(with_newline.back() == '\n'));
    Note(line, indexed ? reader_.ReadNext(line, batch_) : reader_.Read(line, batch_));
    piece.remove_prefix(with_newline.size());
  }
}

void JsonLines::Impl::Note(std::string_view text, EventReader::Verdict verdict) {
  using Verdict = EventReader::Verdict;
  const Line line{text.data(), static_cast<uint32_t>(text.size()), static_cast<uint32_t>(lines_++)};
  if (verdict == Verdict::kEvent) {
    sources_.push_back(line);
  } else if (verdict == Verdict::kControl) {
    no_events_.push_back({line, {LineResult::Kind::kControl, {}, {}}, reader_.control()});
  } else if (verdict != Verdict::kBlank) {
    const auto kind = verdict == Verdict::kBad ? LineResult::Kind::kBad : LineResult::Kind::kNoUnit;
    const std::string_view reason = batch_.texts.Copy(reader_.reason());
    no_events_.push_back({line, {kind, FoldOutcome::kOpened, reason}, {}});
  }
}

JsonLines::JsonLines(const JsonFolder& folder) : impl_(std::make_unique<Impl>(folder.plan())) {}
JsonLines::~JsonLines() = default;

void JsonLines::Read(std::string_view text) { impl_->Read(text); }

size_t JsonLines::left() const noexcept { return impl_->lines() - impl_->next_line; }

}  // namespace pleat::inline v0_1
