// What binds bytes to their place. Each checksum of a store begins with a seed made of the store's
// identity, the number of the file and the byte in it; so that bytes from elsewhere, or from an older
// life of the file, are damage. A section of a block is bound to its partition and offset, too: it
// does not pass for another one's.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace pleat::inline v0_1 {

struct Binding {
  uint64_t identity = 0;
  uint64_t segment = 0;  // the number of the file; 0: MANIFEST
  uint64_t place = 0;    // the byte in it

  // Of the bytes that begin `offset` behind the place.
  Binding Behind(uint64_t offset) const noexcept { return {identity, segment, place + offset}; }
};

// XXH3-64.
uint64_t ChecksumOf(std::string_view bytes, const Binding& binding) noexcept;
uint64_t ChecksumOfSection(std::string_view bytes, const Binding& binding, uint32_t partition,
                           uint64_t first_offset) noexcept;

// A cut of the log: behind the block that ends there. 0 of all: before the first one.
struct StoreCut {
  uint64_t segment = 0;
  uint64_t end = 0;

  friend auto operator<=>(const StoreCut&, const StoreCut&) = default;
};

// Numbers of fixed size, the lowest byte first.
template <class Number>
void PutFixed(char* to, Number number) noexcept {
  for (size_t i = 0; i < sizeof(number); ++i) to[i] = static_cast<char>(number >> 8 * i);
}
template <class Number>
Number FixedAt(const char* from) noexcept {
  Number number = 0;
  for (size_t i = 0; i < sizeof(number); ++i) {
    number |= static_cast<Number>(Number{static_cast<unsigned char>(from[i])} << 8 * i);
  }
  return number;
}

}  // namespace pleat::inline v0_1
