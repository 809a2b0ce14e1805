#include "tools/pleat/line_reader.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace pleat::cli {
namespace {

// Large enough that a system call per block costs nothing, small enough to stay in the cache.
constexpr size_t kReadBytes = 256 * 1024;

// An unfinished line that is not yet too long, and room for a whole read behind it.
constexpr size_t kLineBufferBytes = kLineBytesShown + kReadBytes;

}  // namespace

LineReader::LineReader(std::unique_ptr<ByteSource> source, UnfinishedEnd end)
    : source_(std::move(source)),
      unfinished_end_(end),
      buffer_(kLineBufferBytes + kLinePaddingBytes) {}

LineBlock LineReader::Take(LineBlock::Kind kind, size_t end) {
  const LineBlock block{kind, {buffer_.data() + begin_, end - begin_}, source_->unfinished()};
  begin_ = end;
  return block;
}

// All that is left is a line without its newline, or nothing.
LineBlock LineReader::TakeEnd() {
  const bool leaves = unfinished_end_ == UnfinishedEnd::kLeft;
  const bool unfinished = end_ > 0 || (leaves && source_->unfinished());
  if (leaves) begin_ = end_ = 0;
  LineBlock block = Take(end_ == 0 ? LineBlock::Kind::kEnd : LineBlock::Kind::kLines, end_);
  block.unfinished = unfinished;
  return block;
}

absl::StatusOr<LineBlock> LineReader::Next() {
  if (in_long_) return NextOfLong();
  if (absl::Status begun = Begin(); !begun.ok()) return begun;
  std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
  end_ -= begin_;
  begin_ = 0;
  for (size_t scanned = 0;;) {
    if (const void* newline = memrchr(buffer_.data() + scanned, '\n', end_ - scanned)) {
      const auto* const at = static_cast<const char*>(newline);
      return Take(LineBlock::Kind::kLines, static_cast<size_t>(at + 1 - buffer_.data()));
    }
    if (end_ >= kLineBytesShown) {
      in_long_ = true;
      return Take(LineBlock::Kind::kLongBegin, end_);
    }
    if (ended_) return TakeEnd();
    scanned = end_;
    if (absl::Status read = Fill(); !read.ok()) return read;
  }
}

absl::StatusOr<uint64_t> LineReader::Skip(uint64_t bytes, TextDigest& digest) {
  if (absl::Status begun = Begin(); !begun.ok()) return begun;
  for (uint64_t left = bytes;;) {
    const auto size = static_cast<size_t>(std::min<uint64_t>(left, end_ - begin_));
    digest.Add({buffer_.data() + begin_, size});
    begin_ += size;
    left -= size;
    if (left == 0 || ended_) return bytes - left;
    begin_ = end_ = 0;
    if (absl::Status read = Fill(); !read.ok()) return read;
  }
}

absl::StatusOr<uint64_t> LineReader::SkipLine(uint64_t most, bool& ends) {
  ends = false;
  if (absl::Status begun = Begin(); !begun.ok()) return begun;
  for (uint64_t read = 0;;) {
    std::string_view text(buffer_.data() + begin_, end_ - begin_);
    text = text.substr(0, most - read);
    const size_t newline = text.find('\n');
    ends = newline != text.npos;
    const size_t size = ends ? newline + 1 : text.size();
    begin_ += size;
    read += size;
    if (ends || read == most || ended_) return read;
    begin_ = end_ = 0;
    if (absl::Status filled = Fill(); !filled.ok()) return filled;
  }
}

absl::StatusOr<bool> LineReader::AtEnd() {
  if (absl::Status begun = Begin(); !begun.ok()) return begun;
  if (begin_ == end_) begin_ = end_ = 0;
  while (begin_ == end_ && !ended_) {
    if (absl::Status read = Fill(); !read.ok()) return read;
  }
  return begin_ == end_;
}

absl::StatusOr<bool> LineReader::AtLineEnd() {
  if (begin_ > 0 && buffer_[begin_ - 1] == '\n') return true;
  absl::StatusOr<bool> at_end = AtEnd();
  if (!at_end.ok()) return at_end;
  return *at_end || buffer_[begin_] == '\n';
}

absl::StatusOr<bool> LineReader::AtLastLineEnd() {
  const absl::StatusOr<bool> at_end = AtEnd();
  if (!at_end.ok()) return at_end.status();
  constexpr std::string_view kLongest = "\r\n";
  while (end_ - begin_ <= kLongest.size() && !ended_) {
    if (absl::Status read = Fill(); !read.ok()) return read;
  }
  const std::string_view rest(buffer_.data() + begin_, end_ - begin_);
  return rest.empty() || rest == "\n" || rest == kLongest;
}

absl::Status LineReader::Begin() {
  return std::exchange(at_beginning_, false) ? SkipByteOrderMark() : absl::OkStatus();
}

// No line of JSON begins as the mark does, so waiting for the rest of it holds none back.
absl::Status LineReader::SkipByteOrderMark() {
  while (!ended_) {
    const std::string_view first(buffer_.data(), end_);
    if (first.starts_with(kByteOrderMark)) {
      begin_ = kByteOrderMark.size();
      break;
    }
    if (!kByteOrderMark.starts_with(first)) break;
    if (absl::Status read = Fill(); !read.ok()) return read;
  }
  return absl::OkStatus();
}

absl::StatusOr<LineBlock> LineReader::NextOfLong() {
  if (begin_ == end_) {
    begin_ = end_ = 0;
    if (absl::Status read = Fill(); !read.ok()) return read;
  }
  const auto* const newline =
      static_cast<const char*>(std::memchr(buffer_.data() + begin_, '\n', end_ - begin_));
  if (newline == nullptr && !ended_) return Take(LineBlock::Kind::kLongMore, end_);
  in_long_ = false;
  return Take(LineBlock::Kind::kLongEnd,
              newline == nullptr ? end_ : static_cast<size_t>(newline + 1 - buffer_.data()));
}

absl::Status LineReader::Fill() {
  absl::StatusOr<size_t> got = source_->Read(buffer_.data() + end_, kReadBytes);
  if (!got.ok()) return got.status();
  ended_ = *got == 0;
  end_ += *got;
  return absl::OkStatus();
}

}  // namespace pleat::cli
