// Texts that stand for values: durations, times, JSON strings and conditions, read and written.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <absl/status/statusor.h>
#include <pleat/export.h>
#include <pleat/time.h>

namespace pleat::inline v0_1 {

// "250us", "5ms", "1.5s", "5m" or "5min", "1h", "1d", "1w", "0"; several units from the largest on:
// "1h30m", "1 min 30 s"; ISO 8601 without years and months: "PT5M", "P1DT2H". "inf" gives kForever.
// Cut to microseconds. Errors: kInvalidArgument.
PLEAT_EXPORT absl::StatusOr<Duration> ParseDuration(std::string_view text);

// The shortest text of one unit, up to days, that ParseDuration() reads as `d`.
PLEAT_EXPORT std::string FormatDuration(Duration d);

// Reads RFC 3339: date, T or t or space, time, optional fraction, Z, z or an offset. Digits past
// the microsecond are cut. Returns false for anything else, second 60 and impossible dates
// included.
PLEAT_EXPORT bool ParseTimestamp(std::string_view text, EngineTime& out) noexcept;

// RFC 3339 in UTC with six fractional digits, e.g. 2015-09-12T00:47:35.776000Z.
PLEAT_EXPORT std::string FormatTimestamp(EngineTime t);

// Appends `text` as a JSON string, quotes included, in which only ", \ and control characters are
// escaped. REQUIRES: `text` is valid UTF-8.
PLEAT_EXPORT void AppendJsonString(std::string_view text, std::string& out);

// A condition over the members of an event, or over merged values: one comparison, or several under
// all, any or not.
//
// A comparison compares the scalar at `path` with `value`. = and != compare any two scalars,
// numbers by their value. < <= > >= compare two numbers, or two strings byte by byte, and are false
// for anything else. != is the opposite of =. An absent member counts as null. An object or an
// array equals nothing.
struct Condition {
  enum class Kind : uint8_t {
    kNone,
    kEqual,
    kNotEqual,
    kLess,
    kAtMost,
    kGreater,
    kAtLeast,
    kAll,
    kAny,
    kNot
  };
  Kind kind = Kind::kNone;
  std::string path;              // of a comparison; for merged values the name of the merge
  std::string value;             // of a comparison: a JSON scalar
  std::vector<Condition> parts;  // of kAll and kAny one or more, of kNot one

  friend bool operator==(const Condition&, const Condition&) = default;
};

// Reads a condition from `PATH OP VALUE`, such as `status = failed` or `total >= 100`, or from a
// JSON document of comparisons under all, any and not, such as
//
//   {"all":["total>=100",{"not":"status=open"}]}
//
// of at most 16 levels and 256 comparisons. OP is one of = != < <= > >=. VALUE is read as a JSON
// scalar if it is one, else as text. White space around PATH and VALUE is not part of them. A PATH
// that holds an operator or quotes goes in quotes, and so does a text that begins with an operator
// or a quote, or that holds && or ||. Errors: kInvalidArgument; the message says how to write what
// was likely meant.
PLEAT_EXPORT absl::StatusOr<Condition> ParseCondition(std::string_view text);

// The text that ParseCondition() reads as `condition`. REQUIRES: it is not kNone.
PLEAT_EXPORT std::string FormatCondition(const Condition& condition);

}  // namespace pleat::inline v0_1
