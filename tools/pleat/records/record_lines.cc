#include "tools/pleat/records/record_lines.h"

#include <algorithm>
#include <utility>

#include <pleat/json_lines.h>

#include "tools/pleat/records/refused_record.h"

namespace pleat::cli {

void RecordLines::End(uint64_t input_line, std::string_view record) {
  EndAt(std::ranges::copy(text_, Room(text_.size())).out, input_line, record);
}

void RecordLines::EndAt(const char* end, uint64_t input_line, std::string_view record) {
  const auto size = static_cast<size_t>(end - (lines_.get() + end_));
  if (size > kLineBytesMax) return Refuse(input_line, "longer than 1 MiB as JSON", record);
  end_ += size;
  EndLine(input_line);
}

void RecordLines::Refuse(uint64_t input_line, std::string_view reason, std::string_view record) {
  text_.clear();
  AppendRefused(reason, record, text_);
  std::ranges::copy(text_, Room(text_.size()));
  end_ += text_.size();
  EndLine(input_line);
}

void RecordLines::MakeRoom(size_t bytes) {
  size_ = std::max(2 * size_, end_ + bytes);
  auto larger = std::make_unique_for_overwrite<char[]>(size_);
  std::copy_n(lines_.get(), end_, larger.get());
  lines_ = std::move(larger);
}

void RecordLines::EndLine(uint64_t input_line) {
  text_.clear();
  *Room(1) = '\n';
  ++end_;
  if (input_line != first_ + count_) {
    NoteLines();
    first_ = input_line;
  }
  ++count_;
}

void RecordLines::NoteLines() {
  if (count_ > 0) map_.Add(first_, count_);
  first_ += count_;
  count_ = 0;
}

void RecordLines::Take(size_t bytes) {
  NoteLines();
  given_ += bytes;
  if (given_ == end_) given_ = end_ = 0;
}

}  // namespace pleat::cli
