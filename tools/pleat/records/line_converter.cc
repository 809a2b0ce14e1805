#include "tools/pleat/records/line_converter.h"

#include <pleat/json_lines.h>

namespace pleat::cli {

absl::StatusOr<size_t> LineConverter::Take(std::string_view text, RecordLines& lines) {
  size_t taken = 0;
  while (taken < text.size() && !lines.full()) {
    const std::string_view rest = text.substr(taken);
    const std::string_view piece = rest.substr(0, rest.find('\n'));
    const size_t room = kLineBytesMax - record_.size();
    too_long_ |= piece.size() > room;
    record_ += piece.substr(0, room);
    taken += piece.size();
    if (piece.size() == rest.size()) break;
    ++taken;
    Emit(lines);
  }
  return taken;
}

absl::Status LineConverter::End(RecordLines& lines) {
  Emit(lines);
  return absl::OkStatus();
}

void LineConverter::Emit(RecordLines& lines) {
  const bool blank = record_.find_first_not_of(kWhiteSpace) == std::string::npos;
  if (too_long_) {
    lines.Refuse(line_, kRecordTooLong, record_);
  } else if (!blank) {
    const std::string_view mistake = AppendObject(record_, lines.text());
    mistake.empty() ? lines.End(line_, record_) : lines.Refuse(line_, mistake, record_);
  }
  ++line_;
  record_.clear();
  too_long_ = false;
}

}  // namespace pleat::cli
