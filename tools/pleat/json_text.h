// Any bytes as a JSON string.
#pragma once

#include <string>
#include <string_view>

namespace pleat::cli {

bool IsUtf8(std::string_view text);

// Bytes that are no UTF-8, as names of files may have, become U+FFFD.
std::string JsonText(std::string_view text);

}  // namespace pleat::cli
