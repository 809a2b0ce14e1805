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

// So many bytes are read behind a record, whatever they are.
inline constexpr size_t kBytesBehindRow = 64;

// How many bytes the object of a record may need.
size_t RoomForRow(const Columns& columns, std::string_view record);

// Writes the object of a record, without the newline of its line, and returns where it ends; null if the
// record is another than those above, or repeats the name of the first column.
// REQUIRES: there is a header; kBytesBehindRow bytes can be read behind the record, and RoomForRow()
// bytes be written at `to`.
char* WritePlainRow(const Columns& columns, char separator, FieldQuotes quotes,
                    std::string_view record, char* to);

}  // namespace pleat::cli
