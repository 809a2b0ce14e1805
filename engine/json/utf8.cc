#include "engine/json/utf8.h"

#include <cstddef>
#include <cstdint>

namespace pleat::inline v0_1 {
namespace {

// The second byte of a sequence lies between `low` and `high`; later ones between 0x80 and 0xbf.
struct Sequence {
  size_t bytes;  // 0: no sequence begins with this byte
  uint8_t low = 0x80;
  uint8_t high = 0xbf;
};

// The table 3-7 of the Unicode standard.
constexpr Sequence SequenceFrom(uint8_t lead) noexcept {
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

}  // namespace

bool IsUtf8(std::string_view text) noexcept {
  const auto byte = [text](size_t i) { return static_cast<uint8_t>(text[i]); };
  for (size_t i = 0; i < text.size();) {
    const Sequence sequence = SequenceFrom(byte(i));
    if (sequence.bytes == 0 || text.size() - i < sequence.bytes) return false;
    for (size_t k = 1; k < sequence.bytes; ++k) {
      const uint8_t low = k == 1 ? sequence.low : uint8_t{0x80};
      const uint8_t high = k == 1 ? sequence.high : uint8_t{0xbf};
      if (byte(i + k) < low || byte(i + k) > high) return false;
    }
    i += sequence.bytes;
  }
  return true;
}

}  // namespace pleat::inline v0_1
