// Partitions: which one a key belongs to.
#pragma once

#include <cstdint>
#include <string_view>

#include <pleat/export.h>

namespace pleat::inline v0 {

// The version of StablePartitionHash. Stored with anything that depends on it.
inline constexpr uint32_t kPartitionHashVersion = 1;

// A fixed 64-bit hash of the key's bytes: the same in every process, on every machine, for ever.
// It spreads well but is not keyed; the tables inside a partition use a keyed hash of their own.
PLEAT_EXPORT uint64_t StablePartitionHash(std::string_view key) noexcept;

// The partition of `key` among `partitions` >= 1 of them: 0 <= result < partitions.
PLEAT_EXPORT int PartitionOf(std::string_view key, int partitions) noexcept;

}  // namespace pleat::inline v0
