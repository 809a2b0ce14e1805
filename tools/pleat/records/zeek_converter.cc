#include "tools/pleat/records/zeek_converter.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include <pleat/json_lines.h>

#include "tools/pleat/byte_source.h"
#include "tools/pleat/json_text.h"
#include "tools/pleat/records/field_value.h"

namespace pleat::cli {
namespace {

// `\xHH` becomes a byte, and `\\` a backslash; anything else stays.
void UnescapeBytes(std::string_view text, std::string& out) {
  out.clear();
  while (!text.empty()) {
    unsigned byte = 0;
    const char* const digits = text.data() + 2;
    const bool is_byte = text.size() >= 4 && text.starts_with("\\x") &&
                         std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2;
    const bool is_backslash = text.starts_with("\\\\");
    out += is_byte ? static_cast<char>(byte) : text[0];
    text.remove_prefix(is_byte ? 4 : is_backslash ? 2 : 1);
  }
}

std::string Unescaped(std::string_view text) {
  std::string out;
  UnescapeBytes(text, out);
  return out;
}

}  // namespace

ZeekConverter::Type ZeekConverter::TypeCalled(std::string_view name) {
  for (const std::string_view list : {"set[", "vector[", "table["}) {
    if (!name.starts_with(list) || !name.ends_with(']')) continue;
    name.remove_prefix(list.size());
    name.remove_suffix(1);
    return {TypeCalled(name).kind, /*is_list=*/true};
  }
  constexpr std::string_view kNumbers[] = {"count", "int", "port", "double", "time", "interval"};
  if (std::ranges::find(kNumbers, name) != std::end(kNumbers)) return {Kind::kNumber};
  return {name == "bool" ? Kind::kTruth : Kind::kText};
}

absl::Status ZeekConverter::TakeLine(std::string_view record, uint64_t line, RecordLines& lines) {
  if (record.starts_with(kByteOrderMark)) record.remove_prefix(kByteOrderMark.size());
  if (record.ends_with('\r')) record.remove_suffix(1);
  if (record.empty()) return absl::OkStatus();
  if (record[0] == '#') return TakeDirective(record, line);
  if (columns_.names().empty()) {
    const bool is_json = record.starts_with('{');
    return HeaderError(name_, line,
                       is_json ? "looks like lines of JSON, which need no --input"
                               : "expected #fields before the first record");
  }
  if (types_.size() != columns_.names().size())
    return HeaderError(name_, line, "expected as many #types as #fields before the first record");
  Split(record);
  if (const std::string mistake = columns_.Mistake(fields_.size()); !mistake.empty()) {
    lines.Refuse(line, mistake, record);
    return absl::OkStatus();
  }
  std::string& out = lines.text();
  columns_.AppendObject(out, [&](size_t i) { AppendValue(fields_[i], types_[i], out); });
  lines.End(line, record);
  return absl::OkStatus();
}

absl::Status ZeekConverter::TakeTooLong(std::string_view record, uint64_t line,
                                        RecordLines& lines) {
  if (record[0] != '#') return LinewiseConverter::TakeTooLong(record, line, lines);
  constexpr std::string_view kNeeded[] = {"#fields", "#types", "#separator"};
  const auto begins = [&](std::string_view each) { return record.starts_with(each); };
  if (std::ranges::none_of(kNeeded, begins)) return absl::OkStatus();
  return HeaderError(name_, line, "the header: " + std::string(kRecordTooLong));
}

// #separator has a blank behind it, and the others what it says.
absl::Status ZeekConverter::TakeDirective(std::string_view record, uint64_t line) {
  constexpr std::string_view kSeparator = "#separator ";
  if (record.starts_with(kSeparator)) {
    separator_ = Unescaped(record.substr(kSeparator.size()));
    if (!separator_.empty()) return absl::OkStatus();
    return HeaderError(name_, line, "#separator is empty");
  }
  Split(record);
  const std::string_view directive = fields_[0];
  const std::string_view value = fields_.size() > 1 ? fields_[1] : std::string_view();
  if (directive == "#set_separator" && !value.empty()) set_separator_ = Unescaped(value);
  if (directive == "#empty_field") empty_ = value;
  if (directive == "#unset_field") unset_ = value;
  const size_t columns = fields_.size() - 1;
  if (directive == "#fields") {
    if (columns == 0 || columns > kObjectMembersMax)
      return HeaderError(name_, line, "expected 1 to 1,024 #fields");
    columns_.Name({fields_.begin() + 1, fields_.end()});
    types_.clear();
  } else if (directive == "#types") {
    types_.clear();
    for (size_t i = 1; i <= columns; ++i) types_.push_back(TypeCalled(fields_[i]));
  }
  return absl::OkStatus();
}

void ZeekConverter::Split(std::string_view record) {
  fields_.clear();
  for (size_t begin = 0; begin <= record.size();) {
    const size_t end = std::min(record.find(separator_, begin), record.size());
    fields_.push_back(record.substr(begin, end - begin));
    begin = end + separator_.size();
  }
}

void ZeekConverter::AppendValue(std::string_view value, Type type, std::string& out) {
  if (!type.is_list || value == unset_) return AppendElement(value, type.kind, out);
  out += '[';
  const bool is_empty = value == empty_;
  for (size_t begin = 0; !is_empty && begin <= value.size();) {
    const size_t end = std::min(value.find(set_separator_, begin), value.size());
    if (begin > 0) out += ',';
    AppendElement(value.substr(begin, end - begin), type.kind, out);
    begin = end + set_separator_.size();
  }
  out += ']';
}

void ZeekConverter::AppendElement(std::string_view value, Kind kind, std::string& out) {
  if (value == unset_) {
    out += "null";
  } else if (kind == Kind::kNumber && IsFieldNumber(value, Exponents::kTaken)) {
    out += value;
  } else if (kind == Kind::kTruth && (value == "T" || value == "F")) {
    out += value == "T" ? "true" : "false";
  } else if (value == empty_) {
    out += "\"\"";
  } else {
    if (value.find('\\') != value.npos) {
      UnescapeBytes(value, unescaped_);
      if (IsUtf8(unescaped_)) value = unescaped_;
    }
    AppendJsonString(value, out);
  }
}

}  // namespace pleat::cli
