// Text that is not ours, as a page shows it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace pleat::cli {

// Any bytes as text for HTML and for XML, in an element or between double quotes. A character that
// cannot be seen, or that would turn text around, is shown by its name; bytes that are not UTF-8
// are shown as a replacement character. A text longer than `characters_max` ends with an ellipsis.
std::string Escaped(std::string_view bytes, size_t characters_max = 4096);

}  // namespace pleat::cli
