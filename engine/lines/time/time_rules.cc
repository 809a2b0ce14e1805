#include "engine/lines/time/time_rules.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

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
  constexpr std::string_view kLetters = "YymdebBhaAHIMSpzZsFTDRnt%";
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
    default:
      return Wrong(shown +
                   " is not known; there are %Y %m %d %e %y %b %B %a %A %H %I %p %M %S %E*f " +
                   "%z %Z %s %F %T %D %R %n %t %%");
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

// The letters that a clock of the zone has had since 1970, and those of UTC.
std::set<std::string> LettersUsedBy(const absl::TimeZone& zone) {
  std::set<std::string> used = {"UTC", "GMT", "UT", "Z"};
  const absl::Time end = absl::FromUnixSeconds(int64_t{1} << 31);
  absl::Time at = absl::UnixEpoch();
  for (absl::TimeZone::CivilTransition change; at < end;) {
    used.insert(zone.At(at).zone_abbr);
    if (!zone.NextTransition(at, &change)) break;
    at = zone.At(change.to).post;
  }
  return used;
}

// `format` with what stands for %Z.
std::string WithLetters(std::string_view format, std::string_view letters) {
  std::string out;
  while (!format.empty()) {
    const std::string_view text = FirstDirective(format).text;
    out += text == "%Z" ? letters : text;
    format.remove_prefix(text.size());
  }
  return out;
}

}  // namespace

std::optional<std::chrono::seconds> OffsetOfLetters(const absl::TimeZone& zone,
                                                    std::string_view letters,
                                                    absl::CivilSecond shown) {
  if (const std::optional<std::chrono::minutes> utc = ReadOffset(letters)) return utc;
  const absl::TimeZone::TimeInfo here = zone.At(shown);
  std::vector<absl::Time> near = {here.pre, here.post};
  absl::TimeZone::CivilTransition change;
  if (zone.PrevTransition(here.pre, &change))
    near.push_back(zone.At(change.to).post - absl::Seconds(1));
  if (zone.NextTransition(here.pre, &change)) near.push_back(zone.At(change.to).post);
  for (const absl::Time time : near) {
    const absl::TimeZone::CivilInfo info = zone.At(time);
    if (info.zone_abbr == letters) return std::chrono::seconds(info.offset);
  }
  return std::nullopt;
}

bool LacksYear(std::string_view format) {
  return !format.empty() && LettersOf(format).find_first_of("sYyFD") == std::string::npos;
}

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
  if (!has("s") && !(has("mbBhFD") && has("deFD"))) {
    return Wrong(Quoted(format) + " does not say month and day (or %s, Unix seconds)");
  }
  if (std::ranges::count(letters, 'Z') + std::ranges::count(letters, 'z') > 1)
    return Wrong("the zone is said once, by %z or %Z");
  if (has("Z") && LacksYear(format))
    return Wrong("%Z, the letters of a zone, needs a year, such as %Y");
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

TimeRules TimeRulesFor(std::string_view zone, std::string_view format, int year) {
  TimeRules rules;
  rules.assumes_utc = zone.empty();
  rules.zone = zone.empty() ? absl::UTCTimeZone() : *ParseTimeZone(zone);
  rules.lacks_year = LacksYear(format);
  rules.year = year;
  rules.may_be_open = rules.lacks_year || (!zone.empty() && !ReadOffset(zone));
  const std::string front = rules.lacks_year ? "%E4Y|" : "";
  const std::string letters = LettersOf(format);
  rules.format_has_zone = letters.find_first_of("zsZ") != std::string::npos;
  if (!format.empty()) rules.format = front + ForAbsl(format);
  if (letters.find('Z') == std::string::npos) return rules;
  for (const std::string& used : LettersUsedBy(rules.zone))
    rules.lettered.push_back({used, front + ForAbsl(WithLetters(format, used))});
  return rules;
}

}  // namespace pleat::inline v0_1
