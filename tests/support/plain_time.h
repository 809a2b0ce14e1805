// Times and durations as text, for the model: read and written one character at a time with the
// calendar of <chrono>, sharing nothing with engine/lines.
#pragma once

#include <optional>
#include <string>

#include <pleat/time.h>

namespace pleat::inline v0_1 {

// RFC 3339: date, T or t or space, time, optional fraction, then Z, z or an offset; digits past the
// microsecond are cut. Nothing for any other text, and beyond the years 0001 to 9999.
std::optional<EngineTime> ReadPlainTimestamp(const std::string& text);

// RFC 3339, the same without a zone, common log format and RFC 2822, rewritten as RFC 3339 and read as
// that; a date alone is its midnight, and blanks around are ignored; `zone` is the offset from UTC, such as "+01:00", of a text that states none. Nothing for any other
// text, and where ReadPlainTimestamp() gives nothing.
std::optional<EngineTime> ReadPlainTimeText(const std::string& text, const std::string& zone);

// A JSON number of 10^exponent microseconds since 1970, read as a decimal and cut toward zero.
std::optional<EngineTime> ReadPlainNumber(const std::string& text, long exponent);

// RFC 3339 in UTC with six fractional digits.
std::string WritePlainTimestamp(EngineTime t);

// Numbers and units from larger to smaller, also as in ISO 8601 without years and months, "inf", or a
// bare 0; only the last number may have a fraction, of which what is below a microsecond is cut, by long
// multiplication. Nothing for any other text, and for what does not stay below kForever.
std::optional<Duration> ReadPlainDuration(const std::string& text);

}  // namespace pleat::inline v0_1
