#include "engine/store/log_span.h"

#include <optional>
#include <utility>

#include "engine/store/block_table.h"
#include "engine/store/store_files.h"

namespace pleat::inline v0_1 {

absl::StatusOr<PendingBlock*> SpanReader::Next() {
  for (; !spans_.empty(); spans_ = spans_.subspan(1), reader_.reset()) {
    if (reader_ == nullptr) {
      if (absl::Status entered = EnterSpan(); !entered.ok()) return entered;
    }
    if (at_ == spans_.front().end) continue;
    if (absl::Status read = Read(); !read.ok()) return read;
    return &block_;
  }
  return nullptr;
}

absl::Status SpanReader::EnterSpan() {
  const LogSpan& span = spans_.front();
  absl::StatusOr<std::unique_ptr<StorageReader>> reader =
      directory_.OpenFile(NameOfSegment(span.segment));
  if (!reader.ok()) return reader.status();
  reader_ = *std::move(reader);
  at_ = span.begin;
  before_ = span.before;
  return absl::OkStatus();
}

// After a failed sync the file may show older bytes, such as a block of an earlier life of the store;
// that does not name the block before it.
absl::Status SpanReader::Read() {
  const LogSpan& span = spans_.front();
  const Binding place{identity_, span.segment, at_};
  const absl::StatusOr<std::optional<BlockHead>> head = ReadBlockHeadAt(*reader_, place, buffer_);
  if (!head.ok()) return head.status();
  bool is_whole = *head && (*head)->before == before_ && (*head)->bytes() <= span.end - at_;
  if (is_whole) {
    absl::Status read = ReadInto(*reader_, at_, (*head)->bytes(), buffer_);
    if (!read.ok()) return read;
    is_whole = IsWholeBlock(**head, buffer_, place);
  }
  if (!is_whole) {
    return StoreDamage(directory_.path(), NameOfSegment(span.segment), at_,
                       "a block was written here and is damaged: open the store again to go on "
                       "with what comes before it");
  }
  block_.Copy(**head, buffer_);
  before_ = (*head)->digest;
  at_ += (*head)->bytes();
  return absl::OkStatus();
}

}  // namespace pleat::inline v0_1
