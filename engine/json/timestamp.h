// RFC 3339 text without an allocation; the rest is in <pleat/json.h>.
#pragma once

#include <cstddef>

#include <pleat/time.h>

namespace pleat::inline v0 {

inline constexpr size_t kTimestampBytes = 27;

// Writes what FormatTimestamp() returns.
void WriteTimestamp(EngineTime t, char* to) noexcept;

}  // namespace pleat::inline v0
