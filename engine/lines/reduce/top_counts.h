// How often which values came, for those that came most often: what `top` tells.
//
// Up to a number of different values the counts are exact. From then on Space-Saving (Metwally,
// Agrawal, El Abbadi 2005) takes over: a new value replaces the one with the smallest count, and
// begins with that count, by which its own may be too high. So a count is never too low; with m values
// kept it is too high by at most 1/m of all that came, and a value that came more often than that is
// kept. What is replaced is determined: of equal counts the one in the lowest place.
//
// This is plain data, like SmallText: all zeros is "none", the bytes may be moved, and the owner calls
// Clear().
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <pleat/stored.h>

#include "engine/lines/reduce/line_writer.h"

namespace pleat::inline v0_1 {

class TopCounts {
 public:
  // How many values are kept to tell the `n` most frequent ones.
  static constexpr uint64_t KeptFor(uint64_t n) noexcept { return n > 100 ? 10 * n : 1000; }

  // Counts `value`, a canonical text, and keeps at most `kept`. Values that differ in the spelling of
  // their numbers are one, which is told as it came first. O(1) while counts are exact; a value
  // that replaces another one takes O(kept).
  // `may_be_odd`: it may have numbers that are not in normal form (normal.h).
  void Add(std::string_view value, uint64_t kept, bool may_be_odd = false);

  // Whether a value was replaced, so that counts may be too high.
  bool cut() const noexcept;

  // Appends up to `n` values as objects, joined by commas: those with the largest counts first, of
  // equal ones that which came first.
  void AppendTo(uint64_t n, LineWriter& out) const;

  // The heap memory that the counts own, in O(1).
  size_t heap_bytes() const noexcept;

  // Makes counts that are a copy of others' bytes own their heap memory.
  void Detach();

  void Clear() noexcept;

  // Loaded counts have the same heap_bytes(), but for what SmallText::Save() says.
  void Save(FieldWriter& out) const;
  // REQUIRES: there are none.
  void Load(FieldReader& in, uint64_t kept);

 private:
  struct Table;

  Table* table_;  // null: none
};
static_assert(sizeof(TopCounts) == 8);

}  // namespace pleat::inline v0_1
