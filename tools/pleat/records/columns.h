// The columns of a table of text, and the objects that its records become: each field a member, with the
// name of its column.
//
// Names differ: of columns that are called alike the second one is Sprint_2, and the fifth one is column_5
// if it has no name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <absl/status/status.h>

#include "tools/pleat/records/table_options.h"

namespace pleat::cli {

class Columns {
 public:
  // As they are in the header; empty before it was read.
  const std::vector<std::string>& names() const { return names_; }
  // Of a log, headers may come again.
  void Name(std::vector<std::string> names);

  const std::vector<DoubledName>& doubled() const { return doubled_; }

  // What is wrong with a record of so many fields; empty if that is their number.
  std::string Mistake(size_t fields) const;
  // What is in front of a field's value: `{"first":`, `,"second":` and so on.
  std::string_view Beginning(size_t column) const {
    return beginnings().substr(ends_[column], ends_[column + 1] - ends_[column]);
  }
  // Appends the object of a record. `append_value(column)` appends a field's value.
  template <class F>
  void AppendObject(std::string& out, F&& append_value) const {
    for (size_t i = 0; i < names_.size(); ++i) {
      out += Beginning(i);
      append_value(i);
    }
    out += '}';
  }
  // All of them, one behind the other; so many bytes can be read behind the last. And where each begins
  // and ends there: 0, then the end of each.
  static constexpr size_t kBytesBehind = 16;
  std::string_view beginnings() const { return {beginnings_.data(), ends_.back()}; }
  std::span<const size_t> ends() const { return ends_; }

 private:
  std::vector<std::string> names_;
  std::string beginnings_;  // and bytes behind them
  std::vector<size_t> ends_;
  std::vector<DoubledName> doubled_;
};

// Why a record with so many fields is no header; empty if it may be one. What is likely another format is
// named, since each of its lines would be invalid. `in_quotes`: of the first field.
std::string HeaderMistake(std::string_view record, size_t fields, bool in_quotes);

absl::Status HeaderError(const std::string& input, uint64_t line, std::string_view why);

}  // namespace pleat::cli
