// Adds two structs of counts, column by column, so that a new column cannot be forgotten.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace pleat::inline v0_1 {

// REQUIRES: every member is a uint64_t, or an array of them.
template <class Counts>
Counts& AddCounts(Counts& sum, const Counts& other) noexcept {
  using Columns = std::array<uint64_t, sizeof(Counts) / sizeof(uint64_t)>;
  auto columns = std::bit_cast<Columns>(sum);
  const auto more = std::bit_cast<Columns>(other);
  for (size_t i = 0; i < columns.size(); ++i) columns[i] += more[i];
  return sum = std::bit_cast<Counts>(columns);
}

}  // namespace pleat::inline v0_1
