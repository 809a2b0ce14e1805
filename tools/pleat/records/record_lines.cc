#include "tools/pleat/records/record_lines.h"

#include <pleat/json_lines.h>

#include "tools/pleat/records/refused_record.h"

namespace pleat::cli {

void RecordLines::End(uint64_t input_line, std::string_view record) {
  if (text_.size() - begin_ > kLineBytesMax) {
    return Refuse(input_line, "longer than 1 MiB as JSON", record);
  }
  EndLine(input_line);
}

void RecordLines::Refuse(uint64_t input_line, std::string_view reason, std::string_view record) {
  text_.resize(begin_);
  AppendRefused(reason, record, text_);
  EndLine(input_line);
}

void RecordLines::EndLine(uint64_t input_line) {
  text_ += '\n';
  begin_ = text_.size();
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
  if (given_ < text_.size()) return;
  text_.clear();
  begin_ = given_ = 0;
}

}  // namespace pleat::cli
