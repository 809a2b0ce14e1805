#include "tests/support/plain_csv.h"

#include <algorithm>

namespace pleat::inline v0_1 {
namespace {

// Whether a line, or the text, ends at the front of `text`.
bool AtEndOfLine(std::string_view text) {
  return text.empty() || text[0] == '\n' || text == "\r" || text.substr(0, 2) == "\r\n";
}

// Takes a field off the front of `rest`.
void TakeField(std::string_view& rest, char separator, PlainRecord& record) {
  std::string field;
  if (!rest.empty() && rest[0] == '"') {
    for (rest.remove_prefix(1);; rest.remove_prefix(1)) {
      if (rest.empty()) {
        record.unclosed = true;
        break;
      }
      if (rest[0] == '"') {
        rest.remove_prefix(1);
        if (rest.empty() || rest[0] != '"') break;
      }
      field += rest[0];
    }
    if (AtEndOfLine(rest) || rest[0] == separator) {
      record.fields.push_back(field);
      return;
    }
    record.broken = true;
  }
  while (!rest.empty() && rest[0] != separator && !AtEndOfLine(rest)) {
    field += rest[0];
    rest.remove_prefix(1);
  }
  record.fields.push_back(field);
}

}  // namespace

std::vector<PlainRecord> ParsePlainCsv(std::string_view text, char separator) {
  std::vector<PlainRecord> records;
  size_t line = 1;
  while (!text.empty()) {
    PlainRecord record;
    record.line = line;
    if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
    std::string_view rest = text;
    TakeField(rest, separator, record);
    while (!AtEndOfLine(rest)) {
      rest.remove_prefix(1);
      TakeField(rest, separator, record);
    }
    record.text = text.substr(0, text.size() - rest.size());
    const size_t newline = rest.find('\n');
    rest = newline == rest.npos ? std::string_view() : rest.substr(newline + 1);
    const std::string_view taken = text.substr(0, text.size() - rest.size());
    line += static_cast<size_t>(std::ranges::count(taken, '\n'));
    text = rest;
    if (!record.text.empty()) records.push_back(record);
  }
  return records;
}

}  // namespace pleat::inline v0_1
