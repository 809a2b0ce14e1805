#include "engine/lines/spec/option_text.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <optional>
#include <span>
#include <utility>

#include <pleat/json_lines.h>

#include "engine/lines/scan/option_json.h"
#include "engine/lines/scan/path.h"
#include "engine/lines/scan/time_paths.h"
#include "engine/lines/scan/written_path.h"
#include "engine/lines/spec/condition_text.h"
#include "engine/lines/spec/path_hint.h"
#include "engine/lines/time/time_rules.h"

namespace pleat::inline v0_1 {
namespace {

using invalid_line::Quoted;

constexpr std::string_view kAdaptive = "adaptive:";

struct Suffix {
  std::string_view name;
  uint64_t factor;
};
constexpr Suffix kNoSuffix[] = {{"", 1}};
constexpr Suffix kByteSuffixes[] = {
    {"", 1},
    {"K", 1'000},
    {"M", 1'000'000},
    {"G", 1'000'000'000},
    {"Ki", uint64_t{1} << 10},
    {"Mi", uint64_t{1} << 20},
    {"Gi", uint64_t{1} << 30},
};

absl::StatusOr<uint64_t> ParseNumber(std::string_view text, uint64_t max,
                                     std::span<const Suffix> suffixes, std::string_view form) {
  uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  const std::string_view name(stop, static_cast<size_t>(end - stop));
  const auto suffix = std::ranges::find(suffixes, name, &Suffix::name);
  if (stop == text.data() || suffix == suffixes.end() || value == 0) {
    return Wrong(Quoted(text) + " is not " + std::string(form));
  }
  const bool fits = error == std::errc() && !__builtin_mul_overflow(value, suffix->factor, &value);
  if (!fits || value > max) return Wrong(Quoted(text) + " is too large");
  return value;
}

}  // namespace

absl::Status CheckPath(std::string_view path) {
  const absl::StatusOr<WrittenPath> steps = ParseWrittenPath(path);
  if (steps.ok()) return absl::OkStatus();
  std::string message = "path " + Quoted(path) + " " + std::string(steps.status().message());
  // Of one with marks the message says how to write them.
  const bool has_marks = path.find_first_of("|?=") != path.npos;
  const Path meant = has_marks ? Path() : StepsMeant(path);
  if (!meant.empty()) message += "; did you mean " + Quoted(FormatPath(meant)) + "?";
  return Wrong(message);
}

absl::Status CheckTimePaths(std::string_view paths) {
  const std::vector<std::string> split = SplitTimePaths(paths);
  for (const std::string& path : split) {
    if (absl::Status status = CheckPath(path); !status.ok()) return status;
    if (ParseWrittenPath(path)->optional) {
      return Wrong(Quoted(path) + ": an event has a time, and takes no ?");
    }
  }
  return absl::OkStatus();
}

absl::Status CheckEventCondition(const Condition& condition) {
  return CheckCondition(condition, [](const std::string& path) { return CheckPath(path); });
}

absl::Status DurationText::Set(Duration& to, std::string_view text) {
  const absl::StatusOr<Duration> parsed = ParseDuration(text);
  if (parsed.ok()) to = *parsed;
  return parsed.status();
}

namespace {

// HH:MM or HH:MM:SS, or the same with one digit of hour, as a duration since midnight.
std::optional<Duration> ReadTimeOfDay(std::string_view given) {
  const std::string text = (given.find(':') == 1 ? "0" : "") + std::string(given);
  const auto part = [&](size_t at, int end) {
    const bool digits =
        text[at] >= '0' && text[at] <= '9' && text[at + 1] >= '0' && text[at + 1] <= '9';
    const int value = digits ? 10 * (text[at] - '0') + (text[at + 1] - '0') : end;
    return value < end ? std::optional(value) : std::nullopt;
  };
  const bool has_seconds = text.size() == 8;
  if (!has_seconds && text.size() != 5) return std::nullopt;
  if (text[2] != ':' || (has_seconds && text[5] != ':')) return std::nullopt;
  const std::optional<int> hour = part(0, 24);
  const std::optional<int> minute = part(3, 60);
  const std::optional<int> second = has_seconds ? part(6, 60) : std::optional(0);
  if (!hour || !minute || !second) return std::nullopt;
  return std::chrono::hours(*hour) + std::chrono::minutes(*minute) + std::chrono::seconds(*second);
}

}  // namespace

absl::Status ClosingText::Set(ClosingOptions& to, std::string_view text) {
  const size_t at = text.find('@');
  const bool has_phase = at != std::string_view::npos;
  const std::string_view every = has_phase ? Trimmed(text.substr(0, at)) : text;
  const std::string_view phase = has_phase ? Trimmed(text.substr(at + 1)) : "";
  if (absl::Status status = DurationText::Set(to.every, every); !status.ok()) {
    const std::string_view daily = has_phase ? phase : Trimmed(text);
    if (!ReadTimeOfDay(daily)) return status;
    return Wrong(std::string(status.message()) + "; each day at that time is 24h@" +
                 std::string(daily));
  }
  to.phase = Duration{0};
  if (!has_phase) return absl::OkStatus();
  if (const std::optional<Duration> time = ReadTimeOfDay(phase)) {
    to.phase = *time;
  } else if (phase.find(':') != std::string_view::npos ||
             !DurationText::Set(to.phase, phase).ok()) {
    return Wrong(Quoted(phase) + " behind @ is neither a time of day, such as 09:00, nor a " +
                 "duration, such as 1d9h");
  }
  if (to.phase < to.every) return absl::OkStatus();
  return Wrong(Quoted(phase) + " does not come within " + FormatDuration(to.every) +
               ": behind @ stands how far into each period its end lies, such as 24h@09:00");
}

std::string ClosingText::Get(const ClosingOptions& value) {
  using std::chrono::seconds;
  std::string every = FormatDuration(value.every);
  if (value.phase == Duration{0}) return every;
  if (value.phase >= std::chrono::hours(24) || value.phase % seconds(1) != Duration{0}) {
    return every + "@" + FormatDuration(value.phase);
  }
  std::string time = "@00:00:00";
  const int64_t count = value.phase / seconds(1);
  const auto put = [&](size_t place, int64_t number) {
    time[place] = static_cast<char>('0' + number / 10);
    time[place + 1] = static_cast<char>('0' + number % 10);
  };
  put(1, count / 3600);
  put(4, count / 60 % 60);
  put(7, count % 60);
  if (count % 60 == 0) time.resize(6);
  return every + time;
}

absl::Status QuietText::Set(FolderOptions& to, std::string_view text) {
  Duration floor{0};
  std::string_view ceiling = text;
  if (text.starts_with(kAdaptive)) {
    const std::string_view range = text.substr(kAdaptive.size());
    const size_t dots = range.find("..");
    if (dots == std::string_view::npos) {
      return Wrong(Quoted(text) + " is not adaptive:FLOOR..CEILING, such as adaptive:5s..5m");
    }
    absl::Status status = DurationText::Set(floor, range.substr(0, dots));
    if (!status.ok()) return status;
    if (floor <= Duration(0)) return Wrong("the floor in " + Quoted(text) + " must be above zero");
    ceiling = range.substr(dots + 2);
  }
  absl::Status status = DurationText::Set(to.quiet_period, ceiling);
  if (status.ok()) to.quiet_floor = floor;
  return status;
}

std::string QuietText::Get(const FolderOptions& value) {
  std::string quiet = FormatDuration(value.quiet_period);
  if (value.quiet_floor == Duration(0)) return quiet;
  return std::string(kAdaptive) + FormatDuration(value.quiet_floor) + ".." + quiet;
}

absl::StatusOr<uint64_t> ParseCount(std::string_view text, uint64_t max) {
  return ParseNumber(text, max, kNoSuffix, "a whole number of at least 1");
}

absl::StatusOr<uint64_t> ParseBytes(std::string_view text, uint64_t max) {
  return ParseNumber(text, max, kByteSuffixes,
                     "a size of at least 1 (a whole number of bytes, or of one of K, M, G in "
                     "thousands, Ki, Mi, Gi in 1,024s)");
}

absl::Status PathText::Set(std::string& to, std::string_view text) {
  absl::Status status = CheckPath(text);
  if (!status.ok()) return status;
  if (!text.starts_with('/') && EndOfWritten(text, ",") != text.size()) {
    return Wrong(
        "path " + Quoted(text) +
        " has a comma in it: this option takes one path; a name with a comma goes in quotes");
  }
  return to = NormalPath(text), absl::OkStatus();
}

std::string PathText::Get(const std::string& value) {
  const bool bare = value.starts_with('/') || EndOfWritten(value, ",") == value.size();
  return bare ? value : JsonString(value);
}

absl::Status TimePathText::Set(std::string& to, std::string_view text) {
  absl::Status status = CheckTimePaths(text);
  if (status.ok()) to = text;
  return status;
}

absl::Status ZoneText::Set(std::string& to, std::string_view text) {
  absl::Status status = ParseTimeZone(text).status();
  if (status.ok()) to = text;
  return status;
}

absl::Status TimeFormatText::Set(std::string& to, std::string_view text) {
  absl::Status status = CheckTimeFormat(text);
  if (status.ok()) to = text;
  return status;
}

absl::Status YearText::Set(int& to, std::string_view text) {
  constexpr uint64_t kLastYear = 9999;
  const absl::StatusOr<uint64_t> year = ParseCount(text, kLastYear);
  if (!year.ok()) return Wrong(Quoted(text) + " is not a year from 1 to 9999, such as 2024");
  to = static_cast<int>(*year);
  return absl::OkStatus();
}

absl::Status EventConditionText::Set(Condition& to, std::string_view text) {
  absl::StatusOr<Condition> condition = ParseCondition(text);
  if (!condition.ok()) return condition.status();
  absl::Status status = CheckEventCondition(*condition);
  if (status.ok()) to = *std::move(condition);
  return status;
}

std::string EventConditionText::Get(const Condition& value) {
  return value.kind == Condition::Kind::kNone ? std::string() : FormatCondition(value);
}

absl::Status MergedConditionText::Set(Condition& to, std::string_view text) {
  absl::StatusOr<Condition> condition = ParseCondition(text);
  if (!condition.ok()) return condition.status();
  absl::Status status =
      CheckCondition(*condition, [](const std::string&) { return absl::OkStatus(); });
  if (status.ok()) to = *std::move(condition);
  return status;
}

}  // namespace pleat::inline v0_1
