// The value that a field of text stands for: a plain decimal number is that, as it is written, and so are
// `true`, `false` and `null`; an empty field is null; any other is text. So sums work, and 007 and 7e2,
// which may be ids, stay texts. Quotes around a field make no difference:
// many programs put them around every field.
#pragma once

#include <string>
#include <string_view>

namespace pleat::cli {

void AppendFieldValue(std::string_view field, std::string& out);

}  // namespace pleat::cli
