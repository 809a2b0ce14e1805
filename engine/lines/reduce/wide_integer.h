// Integers of 128 bits: sums of lines are made of them, so that no number of events takes integers of
// 64 bits beyond the range.
#pragma once

#include <cstdint>
#include <string_view>

#include "engine/lines/reduce/line_writer.h"

namespace pleat::inline v0_1 {

__extension__ using WideInteger = __int128;
__extension__ using WideMagnitude = unsigned __int128;

// The value of an integer as JSON writes it. False if it does not fit.
bool ReadWide(std::string_view token, WideInteger& out) noexcept;

void AppendWide(WideInteger value, LineWriter& out);

// The mean of `count` integers with this sum: exactly if it is an integer, else rounded to the nearest
// double, or from 2^53 on, where doubles are further apart than integers, to the nearest integer. So it
// is neither below all of the integers nor above them. REQUIRES: `count` is above 0.
void AppendMeanOf(WideInteger sum, uint64_t count, LineWriter& out);

}  // namespace pleat::inline v0_1
