// How options are written: for each kind of value a type with Set(), which reads its text, and
// Get(), which writes the text that Set() reads as the value.
//
// The messages of errors do not name the option; OptionError() adds the name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <pleat/json.h>

#include "engine/lines/scan/option_error.h"
#include "engine/lines/scan/reasons.h"

namespace pleat::inline v0_1 {

// Whether `path` is well formed.
absl::Status CheckPath(std::string_view path);

// The same of all paths of a time.
absl::Status CheckTimePaths(std::string_view paths);

// Whether `condition` is well formed, and its paths are members of events.
absl::Status CheckEventCondition(const Condition& condition);

struct DurationText {
  static absl::Status Set(Duration& to, std::string_view text);
  static std::string Get(Duration value) { return FormatDuration(value); }
};

// `every` and `phase`: DURATION, or DURATION@HH:MM[:SS], or DURATION@DURATION.
struct ClosingText {
  static absl::Status Set(ClosingOptions& to, std::string_view text);
  static std::string Get(const ClosingOptions& value);
};

// `quiet_period` and `quiet_floor`: DURATION, or adaptive:FLOOR..CEILING.
struct QuietText {
  static absl::Status Set(FolderOptions& to, std::string_view text);
  static std::string Get(const FolderOptions& value);
};

// A whole number of at least 1; the second with a suffix such as M or Gi, if wanted.
absl::StatusOr<uint64_t> ParseCount(std::string_view text, uint64_t max);
absl::StatusOr<uint64_t> ParseBytes(std::string_view text, uint64_t max);

template <auto kParse>
struct NumberText {
  template <class Integer>
  static absl::Status Set(Integer& to, std::string_view text) {
    const absl::StatusOr<uint64_t> value = kParse(text, std::numeric_limits<Integer>::max());
    if (value.ok()) to = static_cast<Integer>(*value);
    return value.status();
  }
  static std::string Get(uint64_t value) { return std::to_string(value); }
};
using CountText = NumberText<ParseCount>;
using BytesText = NumberText<ParseBytes>;

// One path; see engine/lines/scan/written_path.h.
struct PathText {
  static absl::Status Set(std::string& to, std::string_view text);
  static std::string Get(const std::string& value);
};

// One path, or several whose members are joined.
struct TimePathText {
  static absl::Status Set(std::string& to, std::string_view text);
  static std::string Get(const std::string& value) { return value; }
};

struct ZoneText {
  static absl::Status Set(std::string& to, std::string_view text);
  static std::string Get(const std::string& value) { return value; }
};
struct TimeFormatText {
  static absl::Status Set(std::string& to, std::string_view text);
  static std::string Get(const std::string& value) { return value; }
};

// 0 is no year: it has no text.
struct YearText {
  static absl::Status Set(int& to, std::string_view text);
  static std::string Get(int value) { return value == 0 ? std::string() : std::to_string(value); }
};

// true or false, which means the opposite unless `kOn`.
template <bool kOn>
struct SwitchText {
  static absl::Status Set(bool& to, std::string_view text) {
    if (text != "true" && text != "false") {
      return Wrong(invalid_line::Quoted(text) + " is not true or false");
    }
    to = (text == "true") == kOn;
    return absl::OkStatus();
  }
  static std::string Get(bool value) { return value == kOn ? "true" : "false"; }
};

// A condition over the members of events; one over merged values, whose names may be anything.
struct EventConditionText {
  static absl::Status Set(Condition& to, std::string_view text);
  static std::string Get(const Condition& value);
};
struct MergedConditionText {
  static absl::Status Set(Condition& to, std::string_view text);
  static std::string Get(const Condition& value) { return EventConditionText::Get(value); }
};

// An enumerator by its name.
template <class Enum>
struct Choice {
  std::string_view name;
  Enum value;
};
inline constexpr Choice<TimeUnit> kTimeUnits[] = {{"s", TimeUnit::kSeconds},
                                                  {"ms", TimeUnit::kMilliseconds},
                                                  {"us", TimeUnit::kMicroseconds},
                                                  {"ns", TimeUnit::kNanoseconds}};
inline constexpr Choice<Edge> kEdges[] = {
    {"trailing", Edge::kTrailing}, {"leading", Edge::kLeading}, {"both", Edge::kBoth}};
inline constexpr Choice<OnLate> kOnLate[] = {
    {"reject", OnLate::kReject}, {"fold", OnLate::kFold}, {"correct", OnLate::kCorrect}};
inline constexpr Choice<Rest> kRests[] = {
    {"drop", Rest::kDrop}, {"first", Rest::kFirst}, {"last", Rest::kLast}};
inline constexpr Choice<OnLimit> kOnLimit[] = {{"refuse", OnLimit::kRefuse},
                                               {"emit", OnLimit::kEmitOldest}};

template <auto& kChoices>
struct ChoiceText {
  template <class Enum>
  static absl::Status Set(Enum& to, std::string_view text) {
    std::string names;
    for (const Choice<Enum>& each : kChoices) {
      if (text == each.name) return to = each.value, absl::OkStatus();
      const bool last = &each + 1 == std::end(kChoices);
      if (!names.empty()) names += last ? " or " : ", ";
      names += each.name;
    }
    return Wrong("must be " + names + ", not " + invalid_line::Quoted(text));
  }
  template <class Enum>
  static std::string Get(Enum value) {
    for (const Choice<Enum>& each : kChoices) {
      if (each.value == value) return std::string(each.name);
    }
    return {};  // TimeUnit::kNotStated
  }
};

}  // namespace pleat::inline v0_1
