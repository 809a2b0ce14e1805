#include "tools/pleat/records/w3c_converter.h"

#include <algorithm>
#include <utility>

#include <pleat/json_lines.h>

#include "tools/pleat/byte_source.h"
#include "tools/pleat/records/field_value.h"

namespace pleat::cli {
namespace {

constexpr std::string_view kBlankOrTab = " \t";
constexpr std::string_view kFields = "#Fields:";

// The size of the field in quotes at the front of `text`, with them; 0 if no quote closes it in front of a
// blank or the end.
size_t SizeInQuotes(std::string_view text) {
  for (size_t end = text.find('"', 1); end != text.npos; end = text.find('"', end + 1)) {
    if (end + 1 == text.size() || text[end + 1] == ' ') return end + 1;
    if (text[end + 1] != '"') return 0;
    ++end;
  }
  return 0;
}

}  // namespace

absl::Status W3cConverter::TakeLine(std::string_view record, uint64_t line, RecordLines& lines) {
  if (record.starts_with(kByteOrderMark)) record.remove_prefix(kByteOrderMark.size());
  if (record.ends_with('\r')) record.remove_suffix(1);
  if (record.empty()) return absl::OkStatus();
  if (record[0] == '#') return TakeDirective(record, line);
  const bool has_tabs = record.find('\t') != record.npos;
  if (columns_.names().empty()) {
    const std::string without = has_tabs ? "tsv" : "csv --separator ' '";
    return HeaderError(name_, line,
                       "expected #Fields: before the first record; if there is none: --input " +
                           without + " --header NAME,...");
  }
  has_tabs ? SplitAtTabs(record) : SplitAtBlanks(record);
  if (fields_.empty()) return absl::OkStatus();
  if (const std::string mistake = columns_.Mistake(fields_.size()); !mistake.empty()) {
    lines.Refuse(line, mistake, record);
    return absl::OkStatus();
  }
  std::string& out = lines.text();
  columns_.AppendObject(out, [&](size_t i) { AppendValue(fields_[i], out); });
  lines.End(line, record);
  return absl::OkStatus();
}

absl::Status W3cConverter::TakeTooLong(std::string_view record, uint64_t line, RecordLines& lines) {
  if (record[0] != '#') return LinewiseConverter::TakeTooLong(record, line, lines);
  if (!record.starts_with(kFields)) return absl::OkStatus();
  return HeaderError(name_, line, "the header: " + std::string(kRecordTooLong));
}

absl::Status W3cConverter::TakeDirective(std::string_view record, uint64_t line) {
  if (!record.starts_with(kFields)) return absl::OkStatus();
  std::vector<std::string> names;
  for (std::string_view rest = record.substr(kFields.size()); !rest.empty();) {
    const size_t end = std::min(rest.find_first_of(kBlankOrTab), rest.size());
    if (end > 0) names.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (names.empty() || names.size() > kObjectMembersMax)
    return HeaderError(name_, line, "expected 1 to 1,024 names behind #Fields:");
  if (names.size() == 1 && names[0].find(',') != std::string::npos) {
    return HeaderError(name_, line,
                       "#Fields: has commas: --input csv --comment '#' --header with these names");
  }
  columns_.Name(std::move(names));
  return absl::OkStatus();
}

void W3cConverter::SplitAtTabs(std::string_view record) {
  fields_.clear();
  for (size_t begin = 0; begin <= record.size();) {
    const size_t end = std::min(record.find('\t', begin), record.size());
    fields_.push_back({record.substr(begin, end - begin)});
    begin = end + 1;
  }
}

// A quote that does not close makes all that follow plain text, so that none is searched for twice.
void W3cConverter::SplitAtBlanks(std::string_view record) {
  fields_.clear();
  bool has_quotes = true;
  for (;;) {
    record.remove_prefix(std::min(record.find_first_not_of(' '), record.size()));
    if (record.empty()) return;
    const bool may_be_quoted = has_quotes && record[0] == '"';
    const size_t quoted = may_be_quoted ? SizeInQuotes(record) : 0;
    if (may_be_quoted) has_quotes = quoted > 0;
    const size_t size = quoted > 0 ? quoted : std::min(record.find(' '), record.size());
    const std::string_view text = record.substr(0, size);
    if (quoted > 0) {
      fields_.push_back({text.substr(1, size - 2), /*in_quotes=*/true});
    } else {
      fields_.push_back({text});
    }
    record.remove_prefix(size);
  }
}

void W3cConverter::AppendValue(const Field& field, std::string& out) {
  if (!field.in_quotes) {
    AppendFieldValue(field.text == "-" ? std::string_view() : field.text, out);
    return;
  }
  unquoted_.clear();
  for (size_t i = 0; i < field.text.size(); ++i) {
    unquoted_ += field.text[i];
    if (field.text[i] == '"') ++i;  // the second one of two
  }
  AppendFieldValue(unquoted_, out);
}

}  // namespace pleat::cli
