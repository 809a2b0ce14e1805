// RFC 3339 text without an allocation; the rest is in <pleat/json.h>.
#pragma once

#include <cstddef>
#include <cstdint>

#include <pleat/time.h>

namespace pleat::inline v0 {

inline constexpr size_t kTimestampBytes = 27;

// Writes timestamps, one after the other, each as FormatTimestamp() returns it. Neighbours tend to
// share a day, so it remembers the last one's date.
class TimestampWriter {
 public:
  void Write(EngineTime t, char* to) noexcept;

 private:
  int64_t day_ = -1;  // since 0001-01-01
  char text_[kTimestampBytes] = {};
};

}  // namespace pleat::inline v0
