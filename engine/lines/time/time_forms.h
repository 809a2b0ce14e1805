// The forms in which people write times, apart from the one that is read fastest (timestamp.h). A
// reader here says what the text says; whether such a time exists is decided later.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace pleat::inline v0_1 {

// What a text says of a time, each number as it stands there.
struct CivilTime {
  int year = 0;  // 0 to 9999
  int month = 0;
  int day = 0;
  int hour = 0;
  int minute = 0;
  int second = 0;
  int micros = 0;                               // further digits are cut
  std::optional<std::chrono::minutes> offset;   // from UTC; none if no zone is stated
  std::string_view letters;                     // of a zone, such as CET, that is stated so
  std::optional<std::chrono::weekday> weekday;  // if it is stated
};

// Reads a text of any of these forms; nothing for any other text.
//
//   2015-02-24 09:58:42        or with T or t
//   24/Feb/2015:09:58:42       common log format, also in brackets
//   Tue, 24 Feb 2015 09:58:42  RFC 2822; the day of the week and the seconds may be absent
//
// each with or without a fraction of a second, behind a point or a comma, and a zone: Z, UTC, GMT,
// UT, +01:00, +0100 or +01, or other letters, also behind spaces. RFC 2822 may have a comment in
// parentheses behind the zone. A date alone is its midnight. Blanks around the text are no part of it.
std::optional<CivilTime> ReadCivilTime(std::string_view text) noexcept;

// Without the blanks, of any kind, at both ends.
std::string_view WithoutBlanks(std::string_view text) noexcept;

// Reads such a zone alone, but for other letters.
std::optional<std::chrono::minutes> ReadOffset(std::string_view text) noexcept;

}  // namespace pleat::inline v0_1
