#include "tools/pleat/records/tsv_converter.h"

#include <algorithm>
#include <utility>

#include <pleat/json_lines.h>

#include "tools/pleat/byte_source.h"
#include "tools/pleat/records/field_value.h"
#include "tools/pleat/records/plain_row.h"

namespace pleat::cli {
namespace {

bool IsInQuotes(std::string_view text) {
  return text.size() >= 2 && text.starts_with('"') && text.ends_with('"');
}

}  // namespace

TsvConverter::TsvConverter(const TableOptions& table, std::string name)
    : name_(std::move(name)), escapes_(table.tsv_escapes), comment_(table.comment) {
  if (!table.header.empty()) columns_.Name(table.header);
}

absl::Status TsvConverter::TakeLine(std::string_view record, uint64_t line, RecordLines& lines) {
  if (record.starts_with(kByteOrderMark)) record.remove_prefix(kByteOrderMark.size());
  if (record.ends_with('\r')) record.remove_suffix(1);
  if (record.empty() || (comment_ != 0 && record[0] == comment_)) return absl::OkStatus();
  const std::vector<std::string>& names = columns_.names();
  if (!names.empty()) {
    const std::string_view text(record.data(), record.size() + kBytesBehindRow);
    char* const room = lines.Room(RoomForRow(columns_, text));
    const PlainRow row = WritePlainRow(columns_, '\t', FieldQuotes::kNone, text, room);
    if (row.taken > 0) {
      lines.EndAt(room + row.written, line, record);
      return absl::OkStatus();
    }
  }
  fields_.clear();
  for (size_t begin = 0; begin <= record.size();) {
    const size_t end = std::min(record.find('\t', begin), record.size());
    fields_.push_back(record.substr(begin, end - begin));
    begin = end + 1;
  }
  if (names.empty()) return TakeHeader(record, line);
  std::string mistake = columns_.Mistake(fields_.size());
  if (!mistake.empty()) {
    if (std::ranges::any_of(fields_, [](auto each) { return each.starts_with('"'); }))
      mistake += "; if quotes are meant, --input csv --separator '\\t'";
    lines.Refuse(line, mistake, record);
  } else if (!std::ranges::equal(fields_, names, {}, [&](auto each) { return TextOf(each); })) {
    std::string& out = lines.text();
    columns_.AppendObject(out, [&](size_t i) { AppendValue(fields_[i], out); });
    lines.End(line, record);
  }
  return absl::OkStatus();
}

absl::Status TsvConverter::TakeTooLong(std::string_view record, uint64_t line, RecordLines& lines) {
  if (!columns_.names().empty()) return LinewiseConverter::TakeTooLong(record, line, lines);
  return HeaderError(name_, line, "the header: " + std::string(kRecordTooLong));
}

absl::Status TsvConverter::TakeHeader(std::string_view record, uint64_t line) {
  std::string mistake = HeaderMistake(record, fields_.size(), /*in_quotes=*/false);
  if (mistake.empty() && std::ranges::all_of(fields_, IsInQuotes))
    mistake = "the names are in quotes, which TSV does not have: --input csv --separator '\\t'";
  if (!mistake.empty()) return HeaderError(name_, line, mistake);
  std::vector<std::string> names;
  names.reserve(fields_.size());
  for (const std::string_view field : fields_) names.emplace_back(TextOf(field));
  columns_.Name(std::move(names));
  return absl::OkStatus();
}

void TsvConverter::AppendValue(std::string_view field, std::string& out) {
  if (escapes_ && field == "\\N") {
    out += "null";
  } else {
    AppendFieldValue(TextOf(field), out);
  }
}

std::string_view TsvConverter::TextOf(std::string_view field) {
  if (!escapes_ || field.find('\\') == field.npos) return field;
  constexpr std::string_view kNames = "tnr\\";
  constexpr std::string_view kMeanings = "\t\n\r\\";
  unescaped_.clear();
  for (size_t i = 0; i < field.size(); ++i) {
    const size_t known =
        field[i] == '\\' && i + 1 < field.size() ? kNames.find(field[i + 1]) : kNames.npos;
    unescaped_ += known == kNames.npos ? field[i] : kMeanings[known];
    if (known != kNames.npos) ++i;
  }
  return unescaped_;
}

}  // namespace pleat::cli
