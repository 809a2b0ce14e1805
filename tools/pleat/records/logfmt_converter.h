// logfmt: a record a line, of `name=value` with white space between.
//
// A value in quotes has the escapes of JSON, and those by which Go quotes text: \a \v \' \xHH
// \UHHHHHHHH. Any other value goes up to the next white space. A name without `=` is true. A record
// without a `=` is none, so that a line of a stack trace is not taken for one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tools/pleat/records/record_converter.h"

namespace pleat::cli {

class LogfmtConverter final : public RecordConverter {
 public:
  absl::StatusOr<size_t> Take(std::string_view text, RecordLines& lines) override;
  absl::Status End(RecordLines& lines) override;

 private:
  void Emit(RecordLines& lines);
  std::string_view AppendObject(std::string& out);
  std::string_view AppendPair(std::string_view& rest, std::string& out);

  std::string record_;  // under way, up to the limit of a line
  bool too_long_ = false;
  bool has_equals_ = false;
  uint64_t line_ = 1;
  std::string value_;
};

}  // namespace pleat::cli
