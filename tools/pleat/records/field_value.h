// The value that a field of text stands for: a plain decimal number is that, as it is written; an empty
// field is null; any other is text, `true` and `null` too. So sums work, and 007 and 7e2, which may be
// ids, stay texts. Quotes around a field make no difference: many programs put them around every field.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace pleat::cli {

// Whether a number may have an exponent: where a log says that a field is a number, 1e-05 is no id.
enum class Exponents : uint8_t { kRefused, kTaken };

bool IsFieldNumber(std::string_view field, Exponents exponents);

void AppendFieldValue(std::string_view field, std::string& out);

}  // namespace pleat::cli
