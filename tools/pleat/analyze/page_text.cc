#include "tools/pleat/analyze/page_text.h"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <utility>

namespace pleat::cli {
namespace {

struct Character {
  char32_t code;
  size_t size;  // in bytes
};

// The character that `bytes` begins with; none if that is not UTF-8.
std::optional<Character> FirstOf(std::string_view bytes) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(bytes[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return Character{lead, 1};
  const size_t size = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || bytes.size() < size) return std::nullopt;
  char32_t code = lead & (0x7Fu >> size);
  for (size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return std::nullopt;
    code = code << 6 | (byte(i) & 0x3F);
  }
  static constexpr char32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  if (code < kSmallest[size] || code > 0x10FFFF || surrogate) return std::nullopt;
  return Character{code, size};
}

// Controls, separators and marks of direction, which could hide or reorder the text around them.
bool IsInvisible(char32_t code) {
  static constexpr std::pair<char32_t, char32_t> kRanges[] = {
      {0, 0x1F},        {0x7F, 0x9F},     {0xAD, 0xAD},     {0x61C, 0x61C},
      {0x200B, 0x200B}, {0x200E, 0x200F}, {0x2028, 0x202E}, {0x2060, 0x206F},
      {0xFDD0, 0xFDEF}, {0xFEFF, 0xFEFF}, {0xFFF9, 0xFFFB}, {0xE0000, 0xE0FFF}};
  return std::ranges::any_of(
             kRanges,
             [code](const auto& range) { return code >= range.first && code <= range.second; }) ||
         (code & 0xFFFE) == 0xFFFE;
}

void Append(std::string& out, std::string_view bytes, char32_t code) {
  switch (code) {
    case '&': out += "&amp;"; return;
    case '<': out += "&lt;"; return;
    case '>': out += "&gt;"; return;
    case '"': out += "&quot;"; return;
    case '\'': out += "&#39;"; return;
    default: break;
  }
  if (IsInvisible(code)) {
    char name[24];
    std::snprintf(name, sizeof(name), "[U+%04X]", static_cast<unsigned>(code));
    out += name;
  } else {
    out += bytes;
  }
}

}  // namespace

std::string Escaped(std::string_view bytes, size_t characters_max) {
  std::string out;
  for (size_t count = 0; !bytes.empty(); ++count) {
    if (count == characters_max) return out + "…";
    const std::optional<Character> first = FirstOf(bytes);
    const size_t size = first ? first->size : 1;
    if (first) {
      Append(out, bytes.substr(0, size), first->code);
    } else {
      out += "\uFFFD";
    }
    bytes.remove_prefix(size);
  }
  return out;
}

}  // namespace pleat::cli
