#include "engine/lines/time/time_rules.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include "engine/base/utf8.h"
#include "engine/lines/scan/option_error.h"
#include "engine/lines/scan/reasons.h"
#include "engine/lines/time/time_forms.h"

namespace pleat::inline v0_1 {
namespace {

using invalid_line::Quoted;

// A name of the IANA's database. Everything else that absl::LoadTimeZone() would take (a file's
// path, this machine's own zone) would mean something else on another machine.
bool MayBeZoneName(std::string_view text) noexcept {
  const auto is_letter = [](char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); };
  const auto is_part = [&](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') ||
           std::string_view("_+-/").find(c) != std::string_view::npos;
  };
  return !text.empty() && is_letter(text.front()) && std::ranges::all_of(text, is_part) &&
         text != "localtime";
}

bool HasZoneData() {
  absl::TimeZone any;
  return absl::LoadTimeZone("America/New_York", &any);
}

// One thing that a format asks for: "%m", "%E*S", or a byte that stands for itself.
struct Directive {
  std::string_view text;  // with its '%'
  char letter = '\0';     // what it reads; '\0' if that is no part of a time
};

// The directive that `rest` begins with. Its text is empty if the directive is unknown.
Directive FirstDirective(std::string_view rest) noexcept {
  constexpr std::string_view kLetters = "YymdebBhaAHIMSpzsFTDRnt%";
  constexpr std::string_view kNoPart = "aAnt%";
  constexpr Directive kLong[] = {{"%E4Y", 'Y'}, {"%E*S", 'S'}, {"%E*f", 'f'},
                                 {"%E*z", 'z'}, {"%Ez", 'z'},  {"%ET", '\0'}};
  if (rest.front() != '%') return {rest.substr(0, 1), '\0'};
  for (const Directive& each : kLong) {
    if (rest.starts_with(each.text)) return {rest.substr(0, each.text.size()), each.letter};
  }
  if (rest.size() < 2 || kLetters.find(rest[1]) == std::string_view::npos) return {};
  const bool no_part = kNoPart.find(rest[1]) != std::string_view::npos;
  return {rest.substr(0, 2), no_part ? '\0' : rest[1]};
}

// Why no directive is known with which `rest` begins.
absl::Status UnknownDirective(std::string_view rest) {
  const std::string_view text = rest.substr(0, 2);
  if (text.size() < 2) return Wrong("ends in %; a percent sign is %%");
  const std::string shown = invalid_line::Shown(text);
  switch (text[1]) {
    case 'f':
    case 'N':
    case 'L': return Wrong(shown + ": the digits of a fraction are %E*f, as in %S.%E*f");
    case 'Z':
      return Wrong(shown +
                   ": a zone's letters do not say its offset; write them as they stand, and " +
                   "what they mean as --time-zone");
    default:
      return Wrong(shown +
                   " is not known; there are %Y %m %d %e %y %b %B %a %A %H %I %p %M %S %E*f " +
                   "%z %s %F %T %D %R %n %t %%");
  }
}

// What the directives of a format read, as their letters.
std::string LettersOf(std::string_view format) {
  std::string letters;
  while (!format.empty()) {
    const Directive next = FirstDirective(format);
    if (next.letter != '\0') letters += next.letter;
    format.remove_prefix(next.text.size());
  }
  return letters;
}

// What means the same to absl. A year would have any number of digits there, so that %Y%m%d would
// read nothing; years have four. %z would take +0100 and not +01:00, and %e not the blank before a
// day of one digit.
std::string ForAbsl(std::string_view format) {
  constexpr std::pair<std::string_view, std::string_view> kOthers[] = {
      {"%Y", "%E4Y"}, {"%F", "%E4Y-%m-%d"}, {"%z", "%Ez"}, {"%e", " %e"}};
  std::string out;
  while (!format.empty()) {
    const std::string_view text = FirstDirective(format).text;
    const auto other =
        std::ranges::find(kOthers, text, [](const auto& each) { return each.first; });
    out += other == std::end(kOthers) ? text : other->second;
    format.remove_prefix(text.size());
  }
  return out;
}

}  // namespace

absl::StatusOr<absl::TimeZone> ParseTimeZone(std::string_view text) {
  if (const std::optional<std::chrono::minutes> offset = ReadOffset(text)) {
    return absl::FixedTimeZone(static_cast<int>(std::chrono::seconds(*offset).count()));
  }
  absl::TimeZone zone;
  const bool is_name = MayBeZoneName(text);
  if (is_name && absl::LoadTimeZone(std::string(text), &zone)) return zone;
  if (is_name && !HasZoneData()) {
    return Wrong("there is no time zone data on this machine to look up " + Quoted(text) +
                 ": install tzdata, or give an offset, such as +01:00");
  }
  return Wrong(Quoted(text) +
               " is not a time zone: a name such as Europe/Berlin, or an offset such "
               "as +01:00");
}

absl::Status CheckTimeFormat(std::string_view format) {
  if (format.empty()) return Wrong("needs a format, such as %Y-%m-%d %H:%M:%S");
  if (!IsUtf8(format) || format.find('\0') != std::string_view::npos) {
    return Wrong(Quoted(format) + " is not text");
  }
  for (std::string_view rest = format; !rest.empty();) {
    const std::string_view text = FirstDirective(rest).text;
    if (text.empty()) return UnknownDirective(rest);
    rest.remove_prefix(text.size());
  }
  const std::string letters = LettersOf(format);
  const auto has = [&](std::string_view any_of) {
    return letters.find_first_of(any_of) != std::string::npos;
  };
  if (has("s") && letters.size() > 1) {
    return Wrong("%s, Unix seconds, is a whole time; for seconds with a fraction see --time-unit");
  }
  if (!has("s") && !(has("YyFD") && has("mbBhFD") && has("deFD"))) {
    return Wrong(Quoted(format) + " does not say year, month and day (or %s, Unix seconds)");
  }
  if (has("I") != has("p")) return Wrong("%I, hours up to 12, and %p, AM or PM, go together");
  return absl::OkStatus();
}

int MicrosecondShift(TimeUnit unit) noexcept {
  switch (unit) {
    case TimeUnit::kSeconds: return 6;
    case TimeUnit::kMilliseconds: return 3;
    case TimeUnit::kNanoseconds: return -3;
    case TimeUnit::kMicroseconds:
    case TimeUnit::kNotStated: break;
  }
  return 0;
}

TimeRules TimeRulesFor(std::string_view zone, std::string_view format) {
  TimeRules rules;
  rules.assumes_utc = zone.empty();
  rules.zone = zone.empty() ? absl::UTCTimeZone() : *ParseTimeZone(zone);
  rules.format = ForAbsl(format);
  rules.format_has_zone = LettersOf(format).find_first_of("zs") != std::string::npos;
  return rules;
}

}  // namespace pleat::inline v0_1
