// A reader of CSV for tests, as plain as we could make it: it has the whole text, and copies every
// field. It shares nothing with tools/pleat, so that the two can be held against each other.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace pleat::inline v0_1 {

struct PlainRecord {
  size_t line = 0;  // where it begins, from 1
  std::vector<std::string> fields;
  bool unclosed = false;   // a quote is not closed
  bool broken = false;     // text follows the closing quote of a field
  std::string text;        // as it came, without the end of its line
  std::vector<bool> null;  // of TSV: the fields that are \N
};

// The records of `text` by RFC 4180, empty lines and byte order marks before a record left out; the
// first is the header, if there is one. Of a quote that is not closed within 1,000 lines, or at all, or on another
// line with text behind it, only the line where it begins is a record.
std::vector<PlainRecord> ParsePlainCsv(std::string_view text, char separator);

// The same of lines with tabs between their fields, and with escapes.
std::vector<PlainRecord> ParsePlainTsv(std::string_view text);

// The names of columns with this header: no two are the same, and none is empty.
std::vector<std::string> PlainColumnNames(const std::vector<std::string>& header);

}  // namespace pleat::inline v0_1
