// The columns of a table of text, and the objects that its records become: each field a member, with the
// name of its column.
//
// Names differ: of columns that are called alike the second one is Sprint_2, and the fifth one is column_5
// if it has no name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <absl/status/status.h>

namespace pleat::cli {

class Columns {
 public:
  // As they are in the header; empty before it was read.
  const std::vector<std::string>& names() const { return names_; }
  void Name(std::vector<std::string> names);

  // What is wrong with a record of so many fields; empty if that is their number.
  std::string Mistake(size_t fields) const;
  // Appends what is in front of a field's value: `{"first":`, `,"second":` and so on.
  void AppendBegin(size_t column, std::string& out) const { out += beginnings_[column]; }

 private:
  std::vector<std::string> names_;
  std::vector<std::string> beginnings_;
};

// Why a record with so many fields is no header; empty if it may be one. What is likely another format is
// named, since each of its lines would be invalid. `in_quotes`: of the first field.
std::string HeaderMistake(std::string_view record, size_t fields, bool in_quotes);

absl::Status HeaderError(const std::string& input, uint64_t line, std::string_view why);

}  // namespace pleat::cli
