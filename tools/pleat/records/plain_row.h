// The shortest way for the records that nearly all of a table are: one whole line, with a field for each
// column, in which nothing has to be unescaped or escaped. The converters of CSV and TSV try this way
// first, and read any other record byte by byte.
#pragma once

#include <cstddef>
#include <string_view>

#include "tools/pleat/records/columns.h"

namespace pleat::cli {

// Whether fields may stand in quotes.
enum class FieldQuotes : bool { kNone, kTaken };

// A record that fewer bytes follow may be taken for another one.
inline constexpr size_t kBytesBehindRow = 80;

// How many bytes the object of the first record of `text` may need.
size_t RoomForRow(const Columns& columns, std::string_view text);

struct PlainRow {
  size_t record = 0;  // how long that is, without what ends its line
  size_t taken = 0;   // and with that; 0: the record is another than those above
  size_t written = 0;
};

// Writes the object of the first record of `text`, without a newline behind it; not if the record repeats
// the name of the first column.
// REQUIRES: there is a header; RoomForRow() bytes can be written at `to`.
PlainRow WritePlainRow(const Columns& columns, char separator, FieldQuotes quotes,
                       std::string_view text, char* to);

}  // namespace pleat::cli
