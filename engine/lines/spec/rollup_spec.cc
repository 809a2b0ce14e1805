// The options of a RollupSpec: by name, and whether they are complete and consistent.
#include <algorithm>
#include <chrono>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <pleat/json_rollup.h>

#include "engine/lines/plan/event_plan.h"
#include "engine/lines/spec/event_options.h"
#include "engine/lines/spec/option_table.h"
#include "engine/lines/spec/option_text.h"
#include "engine/lines/spec/spec_check.h"
#include "engine/lines/time/time_rules.h"
#include "engine/lines/time/window_calendar.h"

namespace pleat::inline v0_1 {
namespace {

constexpr Choice<OnLateAdd> kOnLateAdd[] = {
    {"reject", OnLateAdd::kReject}, {"clamp", OnLateAdd::kClamp}, {"correct", OnLateAdd::kCorrect}};

// One or several lengths of windows, with commas between them.
struct WindowsText {
  static absl::Status SetOne(Duration& to, std::string_view text) {
    if (text == kMonthText) return to = kMonth, absl::OkStatus();
    if (text.ends_with("mo") && text.find_first_not_of("0123456789") == text.size() - 2) {
      return Wrong(invalid_line::Quoted(text) + ": months come one by one, as 1mo");
    }
    if (absl::Status read = DurationText::Set(to, text); !read.ok()) return read;
    if (to != kMonth) return absl::OkStatus();
    return Wrong(invalid_line::Quoted(text) + " is the mean length of a month, which is 1mo");
  }
  static absl::Status Set(std::vector<Duration>& to, std::string_view text) {
    std::vector<Duration> windows;
    for (size_t at = 0; at <= text.size();) {
      const size_t end = std::min(text.find(',', at), text.size());
      absl::Status read = SetOne(windows.emplace_back(), text.substr(at, end - at));
      if (!read.ok()) return read;
      at = end + 1;
    }
    std::ranges::move(windows, std::back_inserter(to));
    return absl::OkStatus();
  }
  static std::string Get(Duration window) {
    return window == kMonth ? std::string(kMonthText) : FormatDuration(window);
  }

 private:
  static constexpr std::string_view kMonthText = "1mo";
};

constexpr Option<RollupSpec> kWindowOptions[] = {
    As<RollupSpec, WindowsText>("window", PLEAT_AT(rollup.windows)),
    As<RollupSpec, DurationText>("window-offset", PLEAT_AT(window_offset)),
    As<RollupSpec, DurationText>("allowed-lateness", PLEAT_AT(rollup.allowed_lateness)),
    As<RollupSpec, DurationText>("margin", PLEAT_AT(rollup.margin)),
    As<RollupSpec, PathText>("value", PLEAT_AT(value)),
    As<RollupSpec, PathText>("id", PLEAT_AT(id)),
    As<RollupSpec, DurationText>("deduplication-window", PLEAT_AT(rollup.deduplication_window)),
    As<RollupSpec, ChoiceText<kOnLateAdd>>("on-late", PLEAT_AT(rollup.on_late)),
    As<RollupSpec, CountText>("max-keys", PLEAT_AT(rollup.limits.max_keys)),
    As<RollupSpec, BytesText>("max-memory", PLEAT_AT(rollup.limits.max_bytes)),
    As<RollupSpec, SwitchText<true>>("emission-id", PLEAT_AT(emission_id)),
};

constexpr OptionGroup<RollupSpec> kRollupOptions[] = {
    kKeyOptions<RollupSpec>, kTimeOptions<RollupSpec>, kSelectionOptions<RollupSpec>,
    kWindowOptions};

// The names of the output members that lines have besides those of the key. A key may use none of
// them in any mode, so that no option makes a valid name invalid.
constexpr std::string_view kRollupNames[] = {"start",  "end",      "count",     "sum",
                                             "reason", "corrects", "saturated", "id"};

// The calendar that the windows of a spec follow. A zone that cannot be read is reported elsewhere.
WindowCalendar CalendarOf(const RollupSpec& spec) {
  const absl::StatusOr<absl::TimeZone> zone =
      spec.event.time_zone.empty() ? absl::UTCTimeZone() : ParseTimeZone(spec.event.time_zone);
  return {zone.value_or(absl::UTCTimeZone()), spec.window_offset};
}

// Whether the windows are others than those that begin at multiples of their length since 1970.
bool FollowsCalendar(const RollupSpec& spec) {
  const std::vector<Duration>& windows = spec.rollup.windows;
  return spec.window_offset != Duration{0} || !std::ranges::all_of(windows, IsPlainInUtc) ||
         CalendarOf(spec).name() != absl::UTCTimeZone().name();
}

absl::Status CheckOffset(const RollupSpec& spec) {
  constexpr Duration kDay = std::chrono::hours(24);
  constexpr Duration kShortestMonth = 28 * kDay;
  const Duration offset = spec.window_offset;
  if (offset < Duration{0}) return OptionError("window-offset", "must not be negative");
  if (offset == Duration{0}) return absl::OkStatus();
  const Duration most = std::min(std::max(spec.rollup.windows.back(), kDay), kShortestMonth);
  if (offset < most) return absl::OkStatus();
  return OptionError("window-offset", "must be below " + FormatDuration(most) +
                                          ": by how much later than at midnight days begin, and " +
                                          "than on Monday or the first, weeks and months");
}

absl::Status CheckWindows(const RollupSpec& spec) {
  const std::vector<Duration>& windows = spec.rollup.windows;
  const bool follows = FollowsCalendar(spec);
  if (windows.empty()) return OptionError("window", "required: how long a window is");
  if (windows.size() > kResolutionsMax) {
    return OptionError("window", "at most " + std::to_string(kResolutionsMax) + " lengths");
  }
  Duration before{0};
  for (const Duration window : windows) {
    const std::string text = WindowsText::Get(window);
    if (window <= Duration(0)) return OptionError("window", "must be above zero");
    if (window == kForever) return OptionError("window", "must not be inf");
    if (window <= before) {
      return OptionError("window", text + " is not longer than " + WindowsText::Get(before) +
                                       ", which is before it");
    }
    if (spec.rollup.calendar) {
      before = window;
      continue;
    }
    if (follows && !HasCalendarLength(window)) {
      return OptionError("window", text + " is neither shorter than a day nor whole days, as " +
                                       "windows by the calendar are");
    }
    const bool fits =
        window == windows.front() ||
        (follows ? IsMadeOf(window, windows.front()) : window % windows.front() == Duration(0));
    if (!fits) {
      return OptionError("window", text + " is not a multiple of " +
                                       WindowsText::Get(windows.front()) + ", the first one");
    }
    before = window;
  }
  return absl::OkStatus();
}

absl::Status CheckDurations(const RollupOptions& rollup) {
  if (rollup.allowed_lateness == kForever) {
    return OptionError("allowed-lateness", "required: without it no window would ever be final");
  }
  absl::Status status =
      CheckNotNegative({{"allowed-lateness", rollup.allowed_lateness}, {"margin", rollup.margin}});
  if (rollup.margin == kForever) {
    status.Update(OptionError("margin", "must not be inf: no window would ever be final"));
  }
  return status;
}

absl::Status CheckDeduplication(const RollupSpec& spec) {
  const Duration window = spec.rollup.deduplication_window;
  if (window == Duration{0}) return absl::OkStatus();
  return CheckDeduplicationWindow(window, spec.rollup.allowed_lateness, !spec.id.empty());
}

}  // namespace

absl::Status SetOption(RollupSpec& spec, std::string_view name, std::string_view text) {
  return SetOptionOf<RollupSpec>(kRollupOptions, spec, name, text);
}

std::vector<std::pair<std::string, std::string>> OptionsOf(const RollupSpec& spec) {
  return OptionsThatDiffer<RollupSpec>(kRollupOptions, spec);
}

absl::Status Validate(const RollupSpec& spec) {
  if (spec.event.key.empty())
    return OptionError("key", "required: the path of what is counted by; '' counts all");
  std::set<std::string_view> used;
  absl::Status status = CheckWindows(spec);
  if (status.ok()) status = CheckOffset(spec);
  status.Update(CheckDurations(spec.rollup));
  status.Update(CheckDeduplication(spec));
  status.Update(CheckNames("key", KeyMembers(spec.event), kRollupNames, used));
  status.Update(Validate(spec.event));
  status.Update(CheckPathsOf({{"value", spec.value}, {"id", spec.id}}));
  status.Update(CheckNotZero(
      {{"max-keys", spec.rollup.limits.max_keys}, {"max-memory", spec.rollup.limits.max_bytes}}));
  return status;
}

RollupOptions RollupOptionsOf(const RollupSpec& spec) {
  RollupOptions options = spec.rollup;
  if (options.calendar || !FollowsCalendar(spec)) return options;
  const auto calendar = std::make_shared<WindowCalendar>(CalendarOf(spec));
  options.calendar = [calendar](EngineTime at, Duration length) {
    return calendar->Around(at, length);
  };
  options.calendar_name = calendar->name();
  return options;
}

}  // namespace pleat::inline v0_1
