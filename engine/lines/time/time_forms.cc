#include "engine/lines/time/time_forms.h"

#include <algorithm>
#include <cstddef>
#include <span>

#include "engine/lines/time/time_fields.h"

namespace pleat::inline v0_1 {
namespace {

constexpr std::string_view kMonths[] = {"jan", "feb", "mar", "apr", "may", "jun",
                                        "jul", "aug", "sep", "oct", "nov", "dec"};
constexpr std::string_view kWeekdays[] = {"sun", "mon", "tue", "wed", "thu", "fri", "sat"};

// Whether `text` begins with `name`, which is in small letters, in letters of any case.
bool BeginsWith(std::string_view text, std::string_view name) noexcept {
  const auto same = [](char a, char b) {
    return (a >= 'A' && a <= 'Z' ? a + ('a' - 'A') : a) == b;
  };
  return text.size() >= name.size() && std::equal(name.begin(), name.end(), text.begin(),
                                                  [&](char b, char a) { return same(a, b); });
}

// Which of the names comes next.
int TakeName(TimeFields& fields, std::span<const std::string_view> names) noexcept {
  for (size_t i = 0; i < names.size(); ++i) {
    if (!BeginsWith(fields.rest(), names[i])) continue;
    fields.Skip(names[i].size());
    return static_cast<int>(i);
  }
  fields.Mismatch();
  return 0;
}

void SkipBlanks(TimeFields& fields) noexcept {
  while (fields.StartsWith(' ')) fields.Skip(1);
}

void TakeBlanks(TimeFields& fields) noexcept {
  fields.OneOf(" ");
  SkipBlanks(fields);
}

// ":42.5"
void TakeSeconds(TimeFields& fields, CivilTime& out) noexcept {
  fields.OneOf(":");
  out.second = fields.Number(2, 99);
  if (!fields.StartsWith('.') && !fields.StartsWith(',')) return;
  fields.OneOf(".,");
  out.micros = fields.Fraction();
}

void TakeHourAndMinute(TimeFields& fields, CivilTime& out) noexcept {
  out.hour = fields.Number(2, 99);
  fields.OneOf(":");
  out.minute = fields.Number(2, 99);
}

std::chrono::minutes TakeZoneOffset(TimeFields& fields) noexcept {
  constexpr std::string_view kUtc[] = {"utc", "gmt", "ut", "z"};
  if (!fields.StartsWith('+') && !fields.StartsWith('-')) {
    TakeName(fields, kUtc);
    return std::chrono::minutes(0);
  }
  const bool west = fields.OneOf("+-") == '-';
  std::chrono::minutes offset = std::chrono::hours(fields.Number(2, 23));
  const bool colon = fields.StartsWith(':');
  if (colon) fields.OneOf(":");
  if (colon || fields.StartsWithDigit()) offset += std::chrono::minutes(fields.Number(2, 59));
  return west ? -offset : offset;
}

// How many letters the text begins with.
size_t LettersAtFront(std::string_view text) noexcept {
  const auto is_letter = [](char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); };
  return static_cast<size_t>(std::ranges::find_if_not(text, is_letter) - text.begin());
}

// The zone, if there is one before a byte of `end`.
void TakeZone(TimeFields& fields, char end, CivilTime& out) noexcept {
  if (fields.rest().empty() || fields.StartsWith(end)) return;
  SkipBlanks(fields);
  const std::string_view letters = fields.rest().substr(0, LettersAtFront(fields.rest()));
  if (letters.empty() || ReadOffset(letters)) {
    out.offset = TakeZoneOffset(fields);
  } else {
    out.letters = letters;
    fields.Skip(letters.size());
  }
}

bool ReadIsoForm(TimeFields fields, CivilTime& out) noexcept {
  out.year = fields.Number(4, 9999);
  fields.OneOf("-");
  out.month = fields.Number(2, 99);
  fields.OneOf("-");
  out.day = fields.Number(2, 99);
  if (fields.AllTaken()) return true;
  fields.OneOf("Tt ");
  TakeHourAndMinute(fields, out);
  TakeSeconds(fields, out);
  TakeZone(fields, '\0', out);
  return fields.AllTaken();
}

bool ReadLogForm(TimeFields fields, CivilTime& out) noexcept {
  const bool bracket = fields.StartsWith('[');
  if (bracket) fields.OneOf("[");
  out.day = fields.Number(2, 99);
  fields.OneOf("/");
  out.month = 1 + TakeName(fields, kMonths);
  fields.OneOf("/");
  out.year = fields.Number(4, 9999);
  if (fields.StartsWith(':')) {
    fields.OneOf(":");
    TakeHourAndMinute(fields, out);
    TakeSeconds(fields, out);
    TakeZone(fields, bracket ? ']' : '\0', out);
  }
  if (bracket) fields.OneOf("]");
  return fields.AllTaken();
}

// " (CET)"
void SkipComment(TimeFields& fields) noexcept {
  SkipBlanks(fields);
  if (!fields.StartsWith('(')) return fields.Mismatch();
  const size_t end = fields.rest().find_first_of("()", 1);
  if (end == std::string_view::npos) return fields.Mismatch();
  fields.Skip(end);
  fields.OneOf(")");
}

bool ReadMailForm(TimeFields fields, CivilTime& out) noexcept {
  if (!fields.StartsWithDigit()) {
    out.weekday = std::chrono::weekday(static_cast<unsigned>(TakeName(fields, kWeekdays)));
    fields.OneOf(",");
    TakeBlanks(fields);
  }
  out.day = fields.Number(1, 9);
  if (fields.StartsWithDigit()) out.day = out.day * 10 + fields.Number(1, 9);
  TakeBlanks(fields);
  out.month = 1 + TakeName(fields, kMonths);
  TakeBlanks(fields);
  out.year = fields.Number(4, 9999);
  if (fields.AllTaken()) return true;
  TakeBlanks(fields);
  TakeHourAndMinute(fields, out);
  if (fields.StartsWith(':')) TakeSeconds(fields, out);
  TakeZone(fields, '\0', out);
  const bool has_zone = out.offset || !out.letters.empty();
  if (has_zone && !fields.rest().empty()) SkipComment(fields);
  return fields.AllTaken();
}

}  // namespace

std::string_view WithoutBlanks(std::string_view text) noexcept {
  constexpr std::string_view kBlanks = " \t\r\n";
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  return text.substr(0, text.find_last_not_of(kBlanks) + 1);
}

std::optional<CivilTime> ReadCivilTime(std::string_view text) noexcept {
  const TimeFields fields(WithoutBlanks(text));
  for (const auto read : {ReadIsoForm, ReadLogForm, ReadMailForm}) {
    CivilTime out;
    if (read(fields, out)) return out;
  }
  return std::nullopt;
}

std::optional<std::chrono::minutes> ReadOffset(std::string_view text) noexcept {
  TimeFields fields(text);
  const std::chrono::minutes offset = TakeZoneOffset(fields);
  if (!fields.AllTaken()) return std::nullopt;
  return offset;
}

}  // namespace pleat::inline v0_1
