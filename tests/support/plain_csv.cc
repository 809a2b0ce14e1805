#include "tests/support/plain_csv.h"

#include <algorithm>
#include <sstream>

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
    int newlines = 0;  // in the field
    for (rest.remove_prefix(1);; rest.remove_prefix(1)) {
      if (rest.empty() || newlines == 1000) {
        record.unclosed = true;
        return;
      }
      newlines += rest[0] == '\n' ? 1 : 0;
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
    record.unclosed = newlines > 0;
    if (record.unclosed) return;
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
    std::string_view rest = text, field = text;
    TakeField(rest, separator, record);
    while (!record.unclosed && !AtEndOfLine(rest)) {
      rest.remove_prefix(1);
      field = rest;
      TakeField(rest, separator, record);
    }
    if (record.unclosed) rest = field.substr(std::min(field.find('\n'), field.size()));
    record.text = text.substr(0, text.size() - rest.size());
    if (record.unclosed && !rest.empty() && record.text.ends_with('\r')) record.text.pop_back();
    const size_t newline = rest.find('\n');
    rest = newline == rest.npos ? std::string_view() : rest.substr(newline + 1);
    const std::string_view taken = text.substr(0, text.size() - rest.size());
    line += static_cast<size_t>(std::ranges::count(taken, '\n'));
    text = rest;
    if (!record.text.empty()) records.push_back(record);
  }
  return records;
}

std::vector<PlainRecord> ParsePlainTsv(std::string_view text) {
  std::vector<PlainRecord> records;
  std::istringstream in{std::string(text)};
  size_t number = 0;
  for (std::string line; std::getline(in, line);) {
    PlainRecord record{.line = ++number, .fields = {}, .text = {}, .null = {}};
    if (line.starts_with("\xef\xbb\xbf")) line.erase(0, 3);
    if (line.ends_with('\r')) line.pop_back();
    if (line.empty()) continue;
    record.text = line;
    line += '\t';
    for (size_t begin = 0; begin < line.size();) {
      const std::string field = line.substr(begin, line.find('\t', begin) - begin);
      begin += field.size() + 1;
      record.null.push_back(field == "\\N");
      std::string& value = record.fields.emplace_back();
      for (size_t i = 0; i < field.size(); ++i) {
        const std::string two = field.substr(i, 2);
        if (two == "\\t") value += '\t';
        if (two == "\\n") value += '\n';
        if (two == "\\r") value += '\r';
        if (two == "\\\\") value += '\\';
        const bool escaped = two == "\\t" || two == "\\n" || two == "\\r" || two == "\\\\";
        escaped ? void(++i) : void(value += field[i]);
      }
    }
    records.push_back(record);
  }
  return records;
}

std::vector<std::string> PlainColumnNames(const std::vector<std::string>& header) {
  std::vector<std::string> names;
  for (size_t i = 0; i < header.size(); ++i) {
    const bool is_first = std::find(header.begin(), header.begin() + static_cast<ptrdiff_t>(i),
                                    header[i]) == header.begin() + static_cast<ptrdiff_t>(i);
    const std::string base = header[i].empty() ? "column_" + std::to_string(i + 1) : header[i];
    const auto is_taken = [&](const std::string& name) {
      return std::ranges::count(header, name) > 0 || std::ranges::count(names, name) > 0;
    };
    std::string name = base;
    const bool keeps = header[i].empty() ? !is_taken(base) : is_first;
    for (int n = 2; !keeps && (name == base || is_taken(name)); ++n)
      name = base + "_" + std::to_string(n);
    names.push_back(name);
  }
  return names;
}

}  // namespace pleat::inline v0_1
