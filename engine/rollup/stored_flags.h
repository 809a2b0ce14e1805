// The flags that counters and windows begin with in the bytes of a rollup book.
#pragma once

#include <cstdint>

namespace pleat::inline v0_1::rollup_stored {

// Of a counter:
constexpr uint8_t kForgotten = 1;  // its key follows, and nothing else
constexpr uint8_t kHasStart = 2;
constexpr uint8_t kHasInside = 4;
constexpr uint8_t kHasAccount = 8;
constexpr uint8_t kIrregular = 16;
constexpr uint8_t kReleased = 32;
constexpr uint8_t kCounterFlags = 64;  // less than this; this: no counter follows any more

// Of a window, behind three bits of resolution:
constexpr uint8_t kResolution = 7;
constexpr uint8_t kFinal = 8;
constexpr uint8_t kWaits = 16;  // its emission does
constexpr uint8_t kDetailed = 32;
constexpr uint8_t kWindowFlags = 64;

// Of a window that is in no chain, in place of the last three:
constexpr uint8_t kCorrection = 8;
constexpr uint8_t kCorrects = 16;
constexpr uint8_t kLooseFlags = 32;

}  // namespace pleat::inline v0_1::rollup_stored
