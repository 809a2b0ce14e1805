// Checks that the specs have in common. Each returns the first error, which names the option.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include <absl/status/status.h>
#include <pleat/json.h>
#include <pleat/json_lines.h>
#include <pleat/json_rollup.h>
#include <pleat/time.h>

namespace pleat::inline v0_1 {

struct NamedDuration {
  std::string_view option;
  Duration value;
};
absl::Status CheckNotNegative(std::initializer_list<NamedDuration> durations);
absl::Status CheckAboveZero(std::initializer_list<NamedDuration> durations);

// Of one that is given.
absl::Status CheckDeduplicationWindow(Duration window, Duration allowed_lateness, bool has_id);

struct NamedCount {
  std::string_view option;
  uint64_t value;
};
absl::Status CheckNotZero(std::initializer_list<NamedCount> counts);

struct NamedPath {
  std::string_view option;
  std::string_view path;
};
absl::Status CheckPathOf(NamedPath path);

// Of those that are given.
absl::Status CheckPathsOf(std::initializer_list<NamedPath> paths);

// Whether the names of these output members are UTF-8, and neither in `taken` nor in `used`. Adds
// them to `used`. The error says how to rename a member.
absl::Status CheckNames(std::string_view option, std::span<const KeyField> fields,
                        std::span<const std::string_view> taken, std::set<std::string_view>& used);

// The options of the folder that a spec asks for.
FolderOptions FolderOptionsOf(const FoldSpec& spec);

// The options of the counter that a spec asks for, with its calendar.
RollupOptions RollupOptionsOf(const RollupSpec& spec);

}  // namespace pleat::inline v0_1
