// The value that a field of text stands for: a plain decimal number is that, as it is written, and so are
// `true`, `false` and `null`; an empty field is null; any other is text. So sums work, and 007 and 7e2,
// which may be ids, stay texts. Quotes around a field make no difference:
// many programs put them around every field.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace pleat::cli {

// Whether a number may have an exponent: where a log says that a field is a number, 1e-05 is no id.
enum class Exponents : uint8_t { kRefused, kTaken };

bool IsFieldNumber(std::string_view field, Exponents exponents);

// Whether a field is written as it is, without quotes.
bool IsBareField(std::string_view field);

void AppendFieldValue(std::string_view field, std::string& out);

}  // namespace pleat::cli
