// Converters of formats whose records are lines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include "tools/pleat/records/record_converter.h"

namespace pleat::cli {

inline constexpr std::string_view kWhiteSpace = " \t\r";  // within a line

class LinewiseConverter : public RecordConverter {
 public:
  absl::StatusOr<size_t> Take(std::string_view text, RecordLines& lines) final;
  bool Unfinished() const final { return !record_.empty(); }
  absl::Status End(RecordLines& lines) final;

 protected:
  // A line of the limit. Its newline, and kBytesBehindRow bytes, can be read behind it.
  // Errors: nothing behind can be read.
  virtual absl::Status TakeLine(std::string_view record, uint64_t line, RecordLines& lines) = 0;
  // Of a line above the limit, its beginning.
  virtual absl::Status TakeTooLong(std::string_view record, uint64_t line, RecordLines& lines);

 private:
  absl::Status Emit(RecordLines& lines);

  std::string record_;  // under way, up to the limit of a line
  bool too_long_ = false;
  uint64_t line_ = 1;
};

// Of a format in which each line that is not blank is a record.
class LineConverter : public LinewiseConverter {
 private:
  absl::Status TakeLine(std::string_view record, uint64_t line, RecordLines& lines) final;
  // Appends the object that `record` is. Returns what is wrong with the record, or nothing.
  virtual std::string_view AppendObject(std::string_view record, std::string& out) = 0;
};

}  // namespace pleat::cli
