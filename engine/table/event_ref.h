// An EventRef is one event on its way into a book: the key that it goes to, hashed, and its stamp. The event
// itself is bytes that the book's owner knows how to read. These, and those of a long key, are the
// caller's.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <pleat/time.h>

#include "engine/table/packed_key.h"

namespace pleat::inline v0_1 {

struct EventRef {
  PackedKey key;
  uint64_t hash;  // keyed
  const void* event;
  EngineTime at;
};

// The keys for which one batch has opened something so far, by their hashes, roughly: some others
// count as well. So a key that a look ahead has not found need not be looked up again.
class Newcomers {
 public:
  void Add(uint64_t hash) noexcept { bits_[WordOf(hash)] |= BitOf(hash); }
  bool MayHave(uint64_t hash) const noexcept { return (bits_[WordOf(hash)] & BitOf(hash)) != 0; }

 private:
  static constexpr size_t kWords = 32;

  static size_t WordOf(uint64_t hash) noexcept { return hash / 64 % kWords; }
  static uint64_t BitOf(uint64_t hash) noexcept { return uint64_t{1} << hash % 64; }

  std::array<uint64_t, kWords> bits_{};
};

}  // namespace pleat::inline v0_1
