#include "tools/pleat/records/sse_converter.h"

#include <algorithm>
#include <utility>

#include <pleat/json_lines.h>

namespace pleat::cli {
namespace {

constexpr std::string_view kNoField = "expected data:, event:, id: or retry:, or an empty line";
constexpr std::string_view kNoObject = "the data is no JSON object";
constexpr std::string_view kNewlineInString = "the data has a newline in a string";

// Unknown fields are skipped, as the standard asks for. But a text that is no stream of events is not
// skipped as a whole: the name of a field is a word.
bool IsFieldName(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
  });
}

// Whether a string of JSON is open at the end of `text`, if one was at its front.
bool EndsInString(std::string_view text, bool in_string) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (in_string && text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      in_string = !in_string;
    }
  }
  return in_string;
}

}  // namespace

absl::StatusOr<size_t> SseConverter::Take(std::string_view text, RecordLines& lines) {
  size_t taken = 0;
  while (taken < text.size() && !lines.full()) {
    if (std::exchange(behind_return_, false) && text[taken] == '\n') {
      ++taken, ++number_;
      continue;
    }
    std::string_view piece = text.substr(taken);
    piece = piece.substr(0, piece.find('\n'));
    piece = piece.substr(0, piece.find('\r'));
    const size_t room = kLineBytesMax - line_.size();
    line_too_long_ |= piece.size() > room;
    line_ += piece.substr(0, room);
    taken += piece.size();
    if (taken == text.size()) break;
    const bool is_return = text[taken++] == '\r';
    EndLine(lines);
    behind_return_ = is_return;
    if (!is_return) ++number_;
  }
  return taken;
}

absl::Status SseConverter::End(RecordLines& lines) {
  if (!line_.empty()) EndLine(lines);
  EndEvent(lines);
  return absl::OkStatus();
}

void SseConverter::EndLine(RecordLines& lines) {
  const std::string_view line = line_;
  if (line.empty()) {
    EndEvent(lines);
  } else if (line[0] != ':') {
    const size_t colon = std::min(line.find(':'), line.size());
    const std::string_view name = line.substr(0, colon);
    std::string_view value = line.substr(std::min(colon + 1, line.size()));
    if (value.starts_with(' ')) value.remove_prefix(1);
    if (name == "data") {
      TakeData(value);
    } else if (!IsFieldName(name)) {
      lines.Refuse(number_, kNoField, line);
    }
  }
  line_.clear();
  line_too_long_ = false;
}

void SseConverter::TakeData(std::string_view value) {
  if (!std::exchange(has_data_, true)) {
    begin_ = number_;
    in_string_ = false;
  } else {
    if (in_string_) mistake_ = kNewlineInString;
    if (data_.size() < kLineBytesMax) data_ += ' ';
  }
  const size_t room = kLineBytesMax - data_.size();
  too_long_ |= line_too_long_ || value.size() > room;
  data_ += value.substr(0, room);
  in_string_ = EndsInString(value, in_string_);
}

void SseConverter::EndEvent(RecordLines& lines) {
  if (data_.find_first_not_of(" \t") == data_.npos) {
    // Nothing is said: a sign of life.
  } else if (too_long_) {
    lines.Refuse(begin_, kRecordTooLong, data_);
  } else if (!mistake_.empty()) {
    lines.Refuse(begin_, mistake_, data_);
  } else if (data_[data_.find_first_not_of(" \t")] != '{') {
    lines.Refuse(begin_, kNoObject, data_);
  } else {
    lines.text() += data_;
    lines.End(begin_, data_);
  }
  data_.clear();
  has_data_ = too_long_ = false;
  mistake_ = {};
}

}  // namespace pleat::cli
