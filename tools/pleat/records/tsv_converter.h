// Values with tabs between, and a header: a record a line, and no quotes.
//
// \t, \n, \r and \\ in a field are a tab, a newline, a return and a backslash, and a field that is \N is
// null, as PostgreSQL and MySQL write them. A backslash before anything else is a backslash. Empty lines
// are skipped, and so is a later line that repeats the header, and a byte order mark before a line.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tools/pleat/records/columns.h"
#include "tools/pleat/records/line_converter.h"
#include "tools/pleat/records/table_options.h"

namespace pleat::cli {

class TsvConverter final : public LinewiseConverter {
 public:
  // `name`: the input's, for messages.
  TsvConverter(const TableOptions& table, std::string name);

  std::span<const DoubledName> doubled() const override { return columns_.doubled(); }

 private:
  absl::Status TakeLine(std::string_view record, uint64_t line, RecordLines& lines) override;
  absl::Status TakeTooLong(std::string_view record, uint64_t line, RecordLines& lines) override;
  absl::Status TakeHeader(std::string_view record, uint64_t line);
  void AppendValue(std::string_view field, std::string& out);
  std::string_view TextOf(std::string_view field);

  const std::string name_;
  const bool escapes_;  // else a backslash is a backslash
  const char comment_;
  Columns columns_;
  std::vector<std::string_view> fields_;  // of the line under way
  std::string unescaped_;
};

}  // namespace pleat::cli
