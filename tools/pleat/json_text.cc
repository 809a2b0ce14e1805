#include "tools/pleat/json_text.h"

#include <algorithm>
#include <cstdint>

#include <pleat/json_lines.h>

namespace pleat::cli {
namespace {

// The length of the UTF-8 character that the text begins with; 0 if it begins with none.
size_t CharacterAt(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t first = byte(0);
  if (first < 0x80) return 1;
  const size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < size) return 0;
  for (size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  // Overlong forms, surrogates, and what is above the last character.
  const bool out_of_range = (first == 0xe0 && byte(1) < 0xa0) ||
                            (first == 0xed && byte(1) > 0x9f) ||
                            (first == 0xf0 && byte(1) < 0x90) || (first == 0xf4 && byte(1) > 0x8f);
  return out_of_range ? 0 : size;
}

}  // namespace

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const size_t size = CharacterAt(text);
    if (size == 0) return false;
    text.remove_prefix(size);
  }
  return true;
}

std::string JsonText(std::string_view text) {
  std::string valid;
  while (!text.empty()) {
    const size_t size = CharacterAt(text);
    valid += size > 0 ? text.substr(0, size) : std::string_view("\uFFFD");
    text.remove_prefix(std::max<size_t>(size, 1));
  }
  std::string out;
  AppendJsonString(valid, out);
  return out;
}

}  // namespace pleat::cli
