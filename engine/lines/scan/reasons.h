// Why a line is invalid: the closed list. A reason is one line of plain text; the few that name a
// member or show a value (a missing key, a repeated name, a time) are built from it, escaped and
// cut, and from one of those that begin with a space.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace pleat::inline v0_1::invalid_line {

// Not one JSON object.
inline constexpr std::string_view kTooLong = "longer than 1 MiB";
inline constexpr std::string_view kByteOrderMark = "not valid JSON: starts with a byte order mark";
inline constexpr std::string_view kNotUtf8 = "not UTF-8";
inline constexpr std::string_view kControl = "not valid JSON: control character in a string";
inline constexpr std::string_view kUnclosedString = "not valid JSON: unclosed string";
inline constexpr std::string_view kNotIndexed = "not valid JSON";
inline constexpr std::string_view kNotObject = "not a JSON object";
inline constexpr std::string_view kNoEnd = "not valid JSON: does not end with the object's '}'";
inline constexpr std::string_view kTrailing = "not valid JSON: text after the object";
inline constexpr std::string_view kUnclosed = "not valid JSON: unclosed object or array";
inline constexpr std::string_view kNoName = "not valid JSON: expected a member name in quotes";
inline constexpr std::string_view kNoColon = "not valid JSON: expected ':' after a member name";
inline constexpr std::string_view kNoObjectEnd = "not valid JSON: expected ',' or '}'";
inline constexpr std::string_view kNoArrayEnd = "not valid JSON: expected ',' or ']'";
inline constexpr std::string_view kNoValue = "not valid JSON: expected a value";
inline constexpr std::string_view kNumber = "not valid JSON: malformed number";
inline constexpr std::string_view kLiteral = "not valid JSON: unknown word";
inline constexpr std::string_view kEscape = "not valid JSON: unknown escape in a string";
inline constexpr std::string_view kSurrogate = "not valid JSON: lone surrogate in a string";
inline constexpr std::string_view kDepth = "nested deeper than 64 levels";
inline constexpr std::string_view kMembers = "an object of more than 1,024 members";
inline constexpr std::string_view kTwice = " appears twice";  // member "a" appears twice

// Not a usable event.
inline constexpr std::string_view kKeyAbsent = " is missing";  // key "a" is missing
inline constexpr std::string_view kKeyContainer = " is an object or an array";
inline constexpr std::string_view kKeyTooLong = "key longer than 64 KiB";
inline constexpr std::string_view kMemberTooLong = "member longer than 64 KiB";
inline constexpr std::string_view kIdTooLong = "id longer than 64 KiB";
inline constexpr std::string_view kTtl =
    "TTL is not a duration above zero, as text, such as \"90s\"";
inline constexpr std::string_view kVersion = "version is not a whole number from 0 to 2^64 - 1";
inline constexpr std::string_view kTimeType =
    " is neither text nor a number";  // event time true is
inline constexpr std::string_view kTimeText =
    " is not of a known form: state it with --time-format";
inline constexpr std::string_view kTimeOfDay =
    " is a time of day: join its date, as in --time date,time";
inline constexpr std::string_view kOtherZone =
    " is of a zone whose letters are none of --time-zone: state a zone that uses them";
inline constexpr std::string_view kTimeFormat = " is not written as --time-format states";
inline constexpr std::string_view kNoSuchTime = " is a date or a time that does not exist";
inline constexpr std::string_view kOtherWeekday = " is on another day of the week than it states";
inline constexpr std::string_view kTimeLeap = " is a leap second; seconds end at 59";
inline constexpr std::string_view kTimeRange = " is outside the years 0001 to 9999";
inline constexpr std::string_view kFuture = "event time is ahead of the future limit";
inline constexpr std::string_view kQuietPeriod =
    "quiet period is not a duration above zero, as text, such as \"90s\"";

// `text` as it is, fit for a message: cut after about 60 bytes. Controls, and bytes that are not
// UTF-8, become '?'.
std::string Shown(std::string_view text);

// The same in quotes, escaped.
std::string Quoted(std::string_view text);

}  // namespace pleat::inline v0_1::invalid_line
