// UTF-8, checked byte by byte: for options and labels, and for lines in builds without simdjson.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace pleat::inline v0_1 {

// How many bytes a character has that begins with `lead`, and between which values its second byte
// lies; its later ones lie between 0x80 and 0xbf.
struct Utf8Sequence {
  size_t bytes;  // 0: no character begins so
  uint8_t low = 0x80;
  uint8_t high = 0xbf;
};

// The table 3-7 of the Unicode standard.
constexpr Utf8Sequence Utf8SequenceFrom(uint8_t lead) noexcept {
  if (lead < 0x80) return {1};
  if (lead < 0xc2) return {0};
  if (lead < 0xe0) return {2};
  if (lead == 0xe0) return {3, 0xa0, 0xbf};
  if (lead == 0xed) return {3, 0x80, 0x9f};
  if (lead < 0xf0) return {3};
  if (lead == 0xf0) return {4, 0x90, 0xbf};
  if (lead < 0xf4) return {4};
  if (lead == 0xf4) return {4, 0x80, 0x8f};
  return {0};
}

// The length of the character that `text` begins with, as RFC 3629 defines it: no overlong form, no
// surrogate, nothing above U+10FFFF. 0 if there is none. REQUIRES: `text` is not empty.
constexpr size_t CharacterLength(std::string_view text) noexcept {
  const auto byte = [text](size_t i) { return static_cast<uint8_t>(text[i]); };
  const Utf8Sequence sequence = Utf8SequenceFrom(byte(0));
  if (text.size() < sequence.bytes) return 0;
  for (size_t i = 1; i < sequence.bytes; ++i) {
    const uint8_t low = i == 1 ? sequence.low : uint8_t{0x80};
    const uint8_t high = i == 1 ? sequence.high : uint8_t{0xbf};
    if (byte(i) < low || byte(i) > high) return 0;
  }
  return sequence.bytes;
}

// Whether all of `text` is UTF-8.
constexpr bool IsUtf8(std::string_view text) noexcept {
  while (!text.empty()) {
    const size_t length = CharacterLength(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

}  // namespace pleat::inline v0_1
