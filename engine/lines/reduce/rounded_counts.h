// Numbers rounded to three significant digits, and how often which came: what percentiles are told
// from.
//
// A number is rounded by its decimal text, half away from zero, so that the result depends on no
// floating point and a number of three digits is exact. A code stands for a rounded number; codes have
// the order of their numbers. As rounding keeps the order too, the percentile of rounded numbers is
// the rounded percentile: off by at most 0.5 %.
//
// The counts lie in two sorted arrays. This is plain data, like SmallText: all zeros is "none", the
// bytes may be moved, and the owner calls Clear().
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <pleat/stored.h>

#include "engine/lines/reduce/line_writer.h"

namespace pleat::inline v0_1 {

// The code of a number, spelled as in JSON. Beyond 10^1,000,000 a number counts as the largest one
// below, and within 10^-1,000,000 as 0.
int32_t RoundedCodeOf(std::string_view number) noexcept;

// Appends the number that a code stands for.
void AppendRounded(int32_t code, LineWriter& out);

class RoundedCounts {
 public:
  // How many different rounded numbers are told apart: a group takes at most 196 KiB. Where there are
  // more, the largest ones are, and those below count as the smallest of them.
  static constexpr size_t kCodesMax = 16'384;

  void Add(int32_t code);

  bool empty() const noexcept { return table_ == nullptr; }

  // Whether there were more than kCodesMax.
  bool cut() const noexcept;

  // The smallest code that at least so many thousandths of all numbers do not exceed. O(n) for n
  // different codes. REQUIRES: not empty.
  int32_t Percentile(uint64_t thousandths) const noexcept;

  // The heap memory that the counts own, in O(1).
  size_t heap_bytes() const noexcept;

  // After a memcpy of other counts: copies their heap block, so that each owns its own.
  void Detach();

  void Clear() noexcept;

  // Loaded counts have the same heap_bytes().
  void Save(FieldWriter& out) const;
  // REQUIRES: there are none.
  void Load(FieldReader& in);

 private:
  struct Table;

  Table* table_;  // null: none
};
static_assert(sizeof(RoundedCounts) == 8);

}  // namespace pleat::inline v0_1
