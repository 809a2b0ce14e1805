// A key's bytes in 24 bytes of an entry: keys of up to 23 bytes lie inline, longer ones leave a
// length, an 8-byte prefix and a pointer. Two keys are compared as three words; only long keys with
// equal lengths and prefixes go to memory of their own.
//
//   inline:  word 0..2 = the bytes, zero padded; last byte = length (0..23)
//   long:    word 0 = first 8 bytes, word 1 = pointer, word 2 = length in the low 32 bits, last
//            byte = kLong
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace pleat::inline v0 {

class PackedKey {
 public:
  static constexpr size_t kInlineBytesMax = 23;

  // A view for looking up: a long key refers to `key`'s own bytes.
  explicit PackedKey(std::string_view key) noexcept {
    if (key.size() <= kInlineBytesMax) {
      if (!key.empty()) std::memcpy(bytes_, key.data(), key.size());
      bytes_[kTagAt] = static_cast<char>(key.size());
    } else {
      const auto length = static_cast<uint32_t>(key.size());
      const char* data = key.data();
      std::memcpy(bytes_, data, 8);
      std::memcpy(bytes_ + 8, &data, sizeof(data));
      std::memcpy(bytes_ + 16, &length, sizeof(length));
      bytes_[kTagAt] = static_cast<char>(kLong);
    }
  }

  // A copy that owns its bytes; give them back with Release().
  PackedKey Own() const {
    if (!is_long()) return *this;
    char* copy = new char[size()];
    std::memcpy(copy, long_data(), size());
    return PackedKey(std::string_view(copy, size()));
  }

  void Release() noexcept {
    if (is_long()) delete[] long_data();
  }

  bool is_long() const noexcept { return static_cast<uint8_t>(bytes_[kTagAt]) == kLong; }

  size_t size() const noexcept {
    if (!is_long()) return static_cast<uint8_t>(bytes_[kTagAt]);
    uint32_t length;
    std::memcpy(&length, bytes_ + 16, sizeof(length));
    return length;
  }

  size_t heap_bytes() const noexcept { return is_long() ? size() : 0; }

  // Valid while this object, or for a long key the bytes it refers to, stays where it is.
  std::string_view view() const noexcept { return {is_long() ? long_data() : bytes_, size()}; }

  friend bool operator==(const PackedKey& a, const PackedKey& b) noexcept {
    uint64_t x[3];
    uint64_t y[3];
    std::memcpy(x, a.bytes_, sizeof(x));
    std::memcpy(y, b.bytes_, sizeof(y));
    if (((x[0] ^ y[0]) | (x[2] ^ y[2])) != 0) return false;
    if (x[1] == y[1]) return true;
    return a.is_long() && std::memcmp(a.long_data(), b.long_data(), a.size()) == 0;
  }

 private:
  static constexpr size_t kTagAt = 23;
  static constexpr uint8_t kLong = 0xff;

  const char* long_data() const noexcept {
    const char* data;
    std::memcpy(&data, bytes_ + 8, sizeof(data));
    return data;
  }

  alignas(8) char bytes_[24] = {};
};
static_assert(sizeof(PackedKey) == 24);

}  // namespace pleat::inline v0
