// UTF-8, checked byte by byte: for options, and for lines in builds without simdjson.
#pragma once

#include <string_view>

namespace pleat::inline v0_1 {

// Whether `text` is valid UTF-8 as RFC 3629 defines it: no overlong form, no surrogate, nothing
// above U+10FFFF.
bool IsUtf8(std::string_view text) noexcept;

}  // namespace pleat::inline v0_1
