// A log in the extended log file format of the W3C, as IIS and CloudFront write it: `#Fields:` names the
// columns, other lines that begin with `#` are skipped, and a line each is a record.
//
// Fields are parted by tabs if the line has one, as those of CloudFront, and else by blanks; then a field
// may be in quotes, in which two quotes are one. `-` is null. #Fields may come again, and with other
// columns: a server writes it whenever it starts.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tools/pleat/records/columns.h"
#include "tools/pleat/records/line_converter.h"

namespace pleat::cli {

class W3cConverter final : public LinewiseConverter {
 public:
  // `name`: the input's, for messages.
  explicit W3cConverter(std::string name) : name_(std::move(name)) {}

  std::span<const DoubledName> doubled() const override { return columns_.doubled(); }

 private:
  struct Field {
    std::string_view text;  // without its quotes
    bool in_quotes = false;
  };

  absl::Status TakeLine(std::string_view record, uint64_t line, RecordLines& lines) override;
  absl::Status TakeTooLong(std::string_view record, uint64_t line, RecordLines& lines) override;
  absl::Status TakeDirective(std::string_view record, uint64_t line);
  void SplitAtTabs(std::string_view record);
  void SplitAtBlanks(std::string_view record);
  void AppendValue(const Field& field, std::string& out);

  const std::string name_;
  Columns columns_;
  std::vector<Field> fields_;  // of the line under way
  std::string unquoted_;
};

}  // namespace pleat::cli
