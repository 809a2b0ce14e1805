// The value that a field of text stands for, as in the conditions of the command line: a field that
// is a number, `true`, `false` or `null` in JSON is that, as it is written; an empty one is null; any
// other is text. So sums work, and 007 stays a text. Quotes around a field make no difference:
// many programs put them around every field.
#pragma once

#include <string>
#include <string_view>

namespace pleat::cli {

void AppendFieldValue(std::string_view field, std::string& out);

}  // namespace pleat::cli
