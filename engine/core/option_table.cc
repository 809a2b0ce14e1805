#include "engine/core/option_table.h"

#include <algorithm>
#include <charconv>

namespace pleat::inline v0_1 {
namespace {

constexpr auto kFixed = MayChange::kFixed;
constexpr auto kAtRestart = MayChange::kAtRestart;
constexpr auto kAnyTime = MayChange::kAnyTime;

constexpr OptionRow kOptions[] = {
    {"folder", "quiet_period", kAnyTime},
    {"folder", "quiet_floor", kFixed},
    {"folder", "max_wait", kAnyTime},
    {"folder", "max_events", kAnyTime},
    {"folder", "max_group_bytes", kAnyTime},
    {"folder", "edge", kFixed, "kTrailing kLeading kBoth "},
    {"folder", "leading_events", kFixed, "", "1"},
    {"folder", "partial_every", kFixed},
    {"folder", "closing.every", kFixed, "", "forever"},
    {"folder", "closing.phase", kFixed, "", "0s"},
    {"folder", "closing.settable", kFixed, "", "off"},
    {"folder", "late.allowed_lateness", kAnyTime},
    {"folder", "late.on_late", kAnyTime, "kReject kFold kCorrect "},
    {"folder", "late.deduplication_window", kFixed, "", "0s"},
    {"folder", "limits.max_groups", kAnyTime},
    {"folder", "limits.max_bytes", kAnyTime},
    {"folder", "limits.on_limit", kAnyTime, "kRefuse kEmitOldest "},
    {"folder", "limits.count_ready", kAnyTime},
    {"folder", "limits.max_backlog", kAnyTime},
    {"folder", "limits.on_backlog", kAnyTime, "kRefuse kDropOldest "},
    {"folder", "leases.max_deliveries", kAnyTime},
    {"folder", "leases.max_leased", kAnyTime},
    {"folder", "leases.max_age", kAnyTime},
    {"folder", "leases.max_nack_delay", kAnyTime},
    {"folder", "leases.max_dead_letters", kAnyTime},
    {"folder", "leases.on_dead_limit", kAnyTime, "kKeepTrying kDropOldest "},
    {"folder", "leases.wait_behind_dead", kAnyTime},
    {"folder", "measure.gap_stats", kAnyTime},
    {"folder", "measure.max_ghosts", kAnyTime},
    {"folder", "measure.max_trace", kAtRestart},
    {"live_set", "ttl", kAnyTime},
    {"live_set", "retention", kAnyTime},
    {"live_set", "refresh", kAnyTime, "kLatest kFirst kReplace "},
    {"live_set", "max_changes", kAtRestart},
    {"live_set", "limits.max_series", kAnyTime},
    {"live_set", "limits.max_members", kAnyTime},
    {"live_set", "limits.max_per_series", kAnyTime},
    {"live_set", "limits.max_bytes", kAnyTime},
    {"live_set", "limits.on_limit", kAnyTime, "kRefuse kDropOldest "},
    {"presence", "ttl", kAnyTime},
    {"presence", "grace", kAnyTime},
    {"presence", "max_changes", kAtRestart},
    {"presence", "limits.max_per_user", kAnyTime},
    {"presence", "limits.max_per_series", kAnyTime},
    {"presence", "limits.max_series", kAnyTime},
    {"presence", "limits.max_users", kAnyTime},
    {"presence", "limits.max_connections", kAnyTime},
    {"presence", "limits.max_bytes", kAnyTime},
    {"rollup", "windows", kFixed},
    {"rollup", "calendar", kFixed},
    {"rollup", "allowed_lateness", kFixed},
    {"rollup", "margin", kFixed},
    {"rollup", "on_late", kAnyTime, "kReject kClamp kCorrect "},
    {"rollup", "deduplication_window", kFixed},
    {"rollup", "retention", kAnyTime},
    {"rollup", "forget_after", kAnyTime},
    {"rollup", "clears", kFixed},
    {"rollup", "a store", kFixed},
    {"rollup", "limits.max_keys", kAnyTime},
    {"rollup", "limits.max_bytes", kAnyTime},
    {"rollup", "limits.max_backlog", kAnyTime},
    {"rollup", "leases.max_deliveries", kAnyTime},
    {"rollup", "leases.max_leased", kAnyTime},
    {"rollup", "leases.max_age", kAnyTime},
    {"rollup", "leases.max_nack_delay", kAnyTime},
    {"rollup", "leases.max_dead_letters", kAnyTime},
    {"rollup", "leases.on_dead_limit", kAnyTime, "kKeepTrying kDropOldest "},
    {"rollup", "leases.wait_behind_dead", kAnyTime},
};

}  // namespace

std::span<const OptionRow> OptionTable() { return kOptions; }

const OptionRow* FindOption(std::string_view kind, std::string_view option) {
  const auto* const found = std::ranges::find_if(
      kOptions, [&](const OptionRow& row) { return row.kind == kind && row.option == option; });
  return found == std::end(kOptions) ? nullptr : found;
}

std::string ValueInWords(std::string_view kind, std::string_view option, std::string_view value) {
  const OptionRow* const row = FindOption(kind, option);
  std::string_view names = row == nullptr ? std::string_view() : row->values;
  size_t number = 0;
  const auto read = std::from_chars(value.data(), value.data() + value.size(), number);
  const bool is_number = read.ec == std::errc() && read.ptr == value.data() + value.size();
  for (; is_number && !names.empty(); --number) {
    const std::string_view name = names.substr(0, names.find(' '));
    if (number == 0) return std::string(name);
    names.remove_prefix(name.size() + 1);
  }
  return std::string(value);
}

}  // namespace pleat::inline v0_1
