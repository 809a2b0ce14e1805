#include "tools/pleat/records/line_converter.h"

#include <pleat/json_lines.h>

#include "tools/pleat/records/plain_row.h"

namespace pleat::cli {

absl::StatusOr<size_t> LinewiseConverter::Take(std::string_view text, RecordLines& lines) {
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
    if (absl::Status emitted = Emit(lines); !emitted.ok()) return emitted;
  }
  return taken;
}

absl::Status LinewiseConverter::End(RecordLines& lines) { return Emit(lines); }

absl::Status LinewiseConverter::Emit(RecordLines& lines) {
  const size_t size = record_.size();
  record_ += '\n';
  record_.append(kBytesBehindRow, '\0');
  const std::string_view record(record_.data(), size);
  absl::Status status =
      too_long_ ? TakeTooLong(record, line_, lines) : TakeLine(record, line_, lines);
  ++line_;
  record_.clear();
  too_long_ = false;
  return status;
}

absl::Status LinewiseConverter::TakeTooLong(std::string_view record, uint64_t line,
                                            RecordLines& lines) {
  lines.Refuse(line, kRecordTooLong, record);
  return absl::OkStatus();
}

absl::Status LineConverter::TakeLine(std::string_view record, uint64_t line, RecordLines& lines) {
  if (record.find_first_not_of(kWhiteSpace) == record.npos) return absl::OkStatus();
  const std::string_view mistake = AppendObject(record, lines.text());
  mistake.empty() ? lines.End(line, record) : lines.Refuse(line, mistake, record);
  return absl::OkStatus();
}

}  // namespace pleat::cli
