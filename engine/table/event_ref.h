// One event on its way into a book: the key that it goes to, hashed, and its stamp. The event
// itself is bytes that the book's owner knows how to read. These, and those of a long key, are the
// caller's.
#pragma once

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

}  // namespace pleat::inline v0_1
