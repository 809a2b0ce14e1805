// RFC 3339 text without an allocation; the rest is in <pleat/json.h>.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <pleat/time.h>

namespace pleat::inline v0_1 {

inline constexpr size_t kTimestampBytes = 27;

// Why a text is no timestamp.
enum class TimestampFault : uint8_t {
  kNotRfc3339,
  kNoSuchTime,  // it has a month 13, a 30th of February, an hour 24
  kLeapSecond,  // it is second 60
  kOutOfRange,  // it is not in the years 0001 to 9999, once in UTC
};

// Reads timestamps, one after the other, each as ParseTimestamp() does. It remembers the last date.
class TimestampReader {
 public:
  bool Read(std::string_view text, EngineTime& out) noexcept;

  // Of a text that Read() does not take.
  TimestampFault FaultOf(std::string_view text);

 private:
  static constexpr size_t kDateBytes = 10;

  bool ReadDate(std::string_view text) noexcept;
  bool ReadUnixTime(std::string_view text, Duration& out) noexcept;

  char date_[kDateBytes + 1] = "1970-01-01";
  std::chrono::days days_{0};  // from that day to the date
};

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

}  // namespace pleat::inline v0_1
