// logfmt: a record a line, of `name=value` with white space between.
//
// A value in quotes has the escapes of JSON, and those by which Go quotes text: \a \v \' \xHH
// \UHHHHHHHH. One in single quotes has none, and ends with a quote in front of white space. Any other goes
// up to the next white space. A name without `=` is true. A record without a `=` is none, so that a line of
// a stack trace is not taken for one.
#pragma once

#include <string>
#include <string_view>

#include "tools/pleat/records/line_converter.h"

namespace pleat::cli {

class LogfmtConverter final : public LineConverter {
 private:
  std::string_view AppendObject(std::string_view record, std::string& out) override;
  std::string_view AppendPair(std::string_view& rest, std::string& out);

  bool has_equals_ = false;
  std::string value_;
};

}  // namespace pleat::cli
