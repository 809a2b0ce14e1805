// A KeyArena keeps the bytes of long keys. It has a slab for each class of sizes, so that keys lie
// close together in the pool's pages, cost no call of malloc, and go back to the pool.
//
// Classes are 16 bytes apart up to 128, then four to every doubling: at most a fifth of a place is
// unused. Each place begins with its number. A key longer than 4 KiB gets memory of its own.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>

#include "engine/base/check.h"
#include "engine/table/packed_key.h"
#include "engine/table/slab.h"

namespace pleat::inline v0_1 {

class KeyArena {
 public:
  explicit KeyArena(Pages& pool) : pool_(pool) {}

  // A short key as it is; a long key with a copy of its bytes. Give the key back with Release().
  PackedKey Keep(const PackedKey& key) {
    return key.is_long() ? PackedKey(KeepText(key.view())) : key;
  }
  void Release(const PackedKey& key) noexcept {
    if (key.is_long()) ReleaseText(key.view());
  }

  // Makes room for so many keys of about `bytes` each. Keys that need no memory of the pool, because
  // they are short or have memory of their own, need no room.
  void Reserve(size_t keys, size_t bytes) {
    if (bytes > PackedKey::kInlineBytesMax && bytes + sizeof(uint32_t) <= kBytesMax)
      PlacesFor(bytes + sizeof(uint32_t)).Reserve(keys);
  }

  // A copy of the text, which is not empty, until ReleaseText() of that copy.
  std::string_view KeepText(std::string_view text) {
    const size_t size = text.size() + sizeof(uint32_t);
    uint32_t number = 0;
    char* place = nullptr;
    if (size > kBytesMax) {
      place = new char[size];
    } else {
      Places& slab = PlacesFor(size);
      number = slab.Allocate();
      place = reinterpret_cast<char*>(slab.hot(number));
    }
    std::memcpy(place, &number, sizeof(number));
    std::memcpy(place + sizeof(number), text.data(), text.size());
    return {place + sizeof(number), text.size()};
  }
  void ReleaseText(std::string_view text) noexcept {
    char* const place = const_cast<char*>(text.data()) - sizeof(uint32_t);
    const size_t bytes = text.size() + sizeof(uint32_t);
    if (bytes > kBytesMax) {
      delete[] place;
      return;
    }
    uint32_t number;
    std::memcpy(&number, place, sizeof(number));
    PLEAT_DCHECK(slabs_ != nullptr && (*slabs_)[ClassOf(bytes)] != nullptr);
    (*slabs_)[ClassOf(bytes)]->Free(number);
  }

  // The bytes that keeping the key takes beside its 24.
  static size_t BytesFor(const PackedKey& key) noexcept {
    return key.is_long() ? BytesForText(key.view()) : 0;
  }
  static size_t BytesForLength(size_t key_bytes) noexcept {
    return key_bytes > PackedKey::kInlineBytesMax ? BytesForTextOf(key_bytes) : 0;
  }
  // The bytes that a text takes.
  static size_t BytesForText(std::string_view text) noexcept { return BytesForTextOf(text.size()); }
  static size_t BytesForTextOf(size_t length) noexcept {
    const size_t bytes = length + sizeof(uint32_t);
    PLEAT_DCHECK(bytes > kBytesMax || SizeOf(ClassOf(bytes)) >= bytes);
    return bytes > kBytesMax ? bytes : SizeOf(ClassOf(bytes));
  }

 private:
  using Places = Slab<NoCold, 12>;
  static constexpr size_t kBytesMax = 4096;
  static constexpr size_t kStep = 16;
  static constexpr size_t kSmall = 8;  // classes of a step each, up to 128 bytes
  static constexpr size_t kClasses = kSmall + 4 * 5;
  using Slabs = std::array<std::unique_ptr<Places>, kClasses>;

  static size_t ClassOf(size_t bytes) noexcept {
    if (bytes <= kSmall * kStep) return (bytes - 1) / kStep;
    const auto doubling = static_cast<size_t>(std::bit_width(bytes - 1)) - 8;  // 0: up to 256
    const size_t quarter = ((bytes - 1) >> (doubling + 5)) % 4;
    return kSmall + 4 * doubling + quarter;
  }
  static size_t SizeOf(size_t size_class) noexcept {
    if (size_class < kSmall) return (size_class + 1) * kStep;
    const size_t doubling = (size_class - kSmall) / 4;
    return (5 + (size_class - kSmall) % 4) << (doubling + 5);
  }

  // Of the class of places with room for `size` bytes.
  Places& PlacesFor(size_t size) {
    if (slabs_ == nullptr) slabs_ = std::make_unique<Slabs>();
    std::unique_ptr<Places>& slab = (*slabs_)[ClassOf(size)];
    if (slab == nullptr) slab = std::make_unique<Places>(pool_, SizeOf(ClassOf(size)));
    return *slab;
  }

  Pages& pool_;
  std::unique_ptr<Slabs> slabs_;  // null: there was no long key
};

}  // namespace pleat::inline v0_1
