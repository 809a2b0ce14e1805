// RFC 3339 text without an allocation; the rest is in <pleat/json.h>.
#pragma once

#include <cstddef>
#include <cstdint>

#include <pleat/time.h>

namespace pleat::inline v0 {

inline constexpr size_t kTimestampBytes = 27;

// Writes timestamps, one after the other, each as FormatTimestamp() returns it. Neighbours tend to
// share a minute, so it remembers the last one's.
class TimestampWriter {
 public:
  void Write(EngineTime t, char* to) noexcept;

 private:
  void SetDay(int64_t day) noexcept;
  void SetMinute(int64_t micros) noexcept;

  int64_t day_ = -1;                 // since 0001-01-01
  int64_t minute_ = -60'000'000;     // its beginning, in microseconds since 0001-01-01
  char text_[kTimestampBytes] = {};  // of the minute's beginning
};

}  // namespace pleat::inline v0
