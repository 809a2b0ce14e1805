// A log of Zeek, as its ASCII writer writes it: lines that begin with `#` say how the others are written
// (#separator, #set_separator, #empty_field, #unset_field, #fields, #types), and the others are records.
//
// #types decides what a value is: of count, int, port, double, time and interval a number, of bool true or
// false, of set[T] and vector[T] an array, and text otherwise. An unset value is null. Of escapes, \x09 is
// a byte; text whose bytes would be no UTF-8 keeps its escapes. The lines with `#` may come again, as when
// logs are joined.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tools/pleat/records/columns.h"
#include "tools/pleat/records/line_converter.h"

namespace pleat::cli {

class ZeekConverter final : public LinewiseConverter {
 public:
  // `name`: the input's, for messages.
  explicit ZeekConverter(std::string name) : name_(std::move(name)) {}

  std::span<const DoubledName> doubled() const override { return columns_.doubled(); }

 private:
  enum class Kind : uint8_t { kText, kNumber, kTruth };
  struct Type {
    Kind kind = Kind::kText;
    bool is_list = false;
  };

  static Type TypeCalled(std::string_view name);
  absl::Status TakeLine(std::string_view record, uint64_t line, RecordLines& lines) override;
  absl::Status TakeTooLong(std::string_view record, uint64_t line, RecordLines& lines) override;
  absl::Status TakeDirective(std::string_view record, uint64_t line);
  void Split(std::string_view record);
  void AppendValue(std::string_view value, Type type, std::string& out);
  void AppendElement(std::string_view value, Kind kind, std::string& out);

  const std::string name_;
  std::string separator_ = "\t";
  std::string set_separator_ = ",";
  std::string empty_ = "(empty)";
  std::string unset_ = "-";
  Columns columns_;
  std::vector<Type> types_;               // of the columns; empty: not stated yet
  std::vector<std::string_view> fields_;  // of the line under way
  std::string unescaped_;
};

}  // namespace pleat::cli
