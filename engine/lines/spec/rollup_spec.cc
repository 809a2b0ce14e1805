// The options of a RollupSpec: by name, and whether they are complete and consistent.
#include <algorithm>
#include <iterator>
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

namespace pleat::inline v0_1 {
namespace {

constexpr Choice<OnLateAdd> kOnLateAdd[] = {
    {"reject", OnLateAdd::kReject}, {"clamp", OnLateAdd::kClamp}, {"correct", OnLateAdd::kCorrect}};

// One or several lengths of windows, with commas between them.
struct WindowsText {
  static absl::Status Set(std::vector<Duration>& to, std::string_view text) {
    std::vector<Duration> windows;
    for (size_t at = 0; at <= text.size();) {
      const size_t end = std::min(text.find(',', at), text.size());
      absl::Status read = DurationText::Set(windows.emplace_back(), text.substr(at, end - at));
      if (!read.ok()) return read;
      at = end + 1;
    }
    std::ranges::move(windows, std::back_inserter(to));
    return absl::OkStatus();
  }
  static std::string Get(Duration window) { return FormatDuration(window); }
};

constexpr Option<RollupSpec> kWindowOptions[] = {
    As<RollupSpec, WindowsText>("window", PLEAT_AT(rollup.windows)),
    As<RollupSpec, DurationText>("allowed-lateness", PLEAT_AT(rollup.allowed_lateness)),
    As<RollupSpec, DurationText>("margin", PLEAT_AT(rollup.margin)),
    As<RollupSpec, PathText>("value", PLEAT_AT(value)),
    As<RollupSpec, PathText>("id", PLEAT_AT(id)),
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

absl::Status CheckWindows(const std::vector<Duration>& windows) {
  if (windows.empty()) return OptionError("window", "required: how long a window is");
  if (windows.size() > kResolutionsMax) {
    return OptionError("window", "at most " + std::to_string(kResolutionsMax) + " lengths");
  }
  Duration before{0};
  for (const Duration window : windows) {
    const std::string text = FormatDuration(window);
    if (window <= Duration(0)) return OptionError("window", "must be above zero");
    if (window == kForever) return OptionError("window", "must not be inf");
    if (window <= before) {
      return OptionError("window", text + " is not longer than " + FormatDuration(before) +
                                       ", which is before it");
    }
    if (window % windows.front() != Duration(0)) {
      return OptionError("window", text + " is not a multiple of " +
                                       FormatDuration(windows.front()) + ", the first one");
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
  absl::Status status = CheckWindows(spec.rollup.windows);
  status.Update(CheckDurations(spec.rollup));
  status.Update(CheckNames("key", KeyMembers(spec.event), kRollupNames, used));
  status.Update(Validate(spec.event));
  status.Update(CheckPathsOf({{"value", spec.value}, {"id", spec.id}}));
  status.Update(CheckNotZero(
      {{"max-keys", spec.rollup.limits.max_keys}, {"max-memory", spec.rollup.limits.max_bytes}}));
  return status;
}

}  // namespace pleat::inline v0_1
