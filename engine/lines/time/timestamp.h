// RFC 3339 text without an allocation. The public functions are in <pleat/json_lines.h>.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <pleat/time.h>

namespace pleat::inline v0_1 {

inline constexpr size_t kTimestampBytes = 27;

// Reads timestamps, one after the other, each as ParseTimestamp() does. Remembers the last date,
// which is usually that of the next one.
class TimestampReader {
 public:
  bool Read(std::string_view text, EngineTime& out) noexcept;

 private:
  static constexpr size_t kDateBytes = 10;

  bool ReadDate(std::string_view text) noexcept;
  bool ReadUnixTime(std::string_view text, Duration& out) noexcept;

  char date_[kDateBytes + 1] = "1970-01-01";
  std::chrono::days days_{0};  // from that day to the date
};

// Writes timestamps, one after the other, each as FormatTimestamp() does. Remembers the last
// minute, which is usually that of the next one.
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

}  // namespace pleat::inline v0_1
