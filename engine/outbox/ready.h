// An emission on its way from a book to a consumer. Its key and state lie in an entry of the book,
// named by `entry`.
#pragma once

#include <cstdint>

#include <pleat/time.h>

namespace pleat::inline v0_1 {

struct Ready {
  EngineTime ripe;  // the instant of becoming ready: a deadline, or the time of an event or a call
  uint64_t order;   // among those of one instant
  uint64_t generation;  // counts the emissions of a book
  uint32_t entry;
  bool by_event;  // ready by an event or a call: goes behind those of time at the same instant
  uint8_t tag;    // the Reason
};
static_assert(sizeof(Ready) == 32);

}  // namespace pleat::inline v0_1
