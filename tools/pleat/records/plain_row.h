// The shortest way for the records that nearly all of a table are: one whole line, with a field for each
// column, in which nothing has to be unescaped or escaped. The converters of CSV and TSV try this way
// first, and read any other record byte by byte.
#pragma once

#include <string>
#include <string_view>

#include "tools/pleat/records/columns.h"

namespace pleat::cli {

// Whether fields may stand in quotes.
enum class FieldQuotes : bool { kNone, kTaken };

// Appends the object of a record, without the newline of its line. Returns false, and appends nothing,
// if the record is another than those above, or may repeat the header.
// REQUIRES: there is a header.
bool AppendPlainRow(const Columns& columns, char separator, FieldQuotes quotes,
                    std::string_view record, std::string& out);

}  // namespace pleat::cli
