// A stream of server-sent events (text/event-stream), as curl writes it: each event's data is a record, a
// JSON object on one line or several.
//
// Lines end with \n, \r\n or \r, and an empty one ends an event. Its type, its id and comments are left
// out, and so is an event without data. At the end of the input an event needs no empty line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tools/pleat/records/record_converter.h"

namespace pleat::cli {

class SseConverter final : public RecordConverter {
 public:
  absl::StatusOr<size_t> Take(std::string_view text, RecordLines& lines) override;
  bool Unfinished() const override { return !line_.empty() || has_data_; }
  absl::Status End(RecordLines& lines) override;

 private:
  void EndLine(RecordLines& lines);
  void TakeData(std::string_view value);
  void EndEvent(RecordLines& lines);

  std::string line_;  // under way, up to the limit of a line
  bool line_too_long_ = false;
  bool behind_return_ = false;  // a newline belongs to it
  uint64_t number_ = 1;         // of the line, by newlines

  // The data of the event under way.
  std::string data_;
  bool has_data_ = false;
  bool too_long_ = false;
  bool in_string_ = false;  // at the end of the data so far
  std::string_view mistake_;
  uint64_t begin_ = 0;  // the line
};

}  // namespace pleat::cli
