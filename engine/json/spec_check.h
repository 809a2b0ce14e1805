// Checks that the specs have in common. Each returns the first error, which names the option.
#pragma once

#include <initializer_list>
#include <string_view>

#include <absl/status/status.h>
#include <pleat/time.h>

namespace pleat::inline v0_1 {

struct NamedDuration {
  std::string_view option;
  Duration value;
};
absl::Status CheckNotNegative(std::initializer_list<NamedDuration> durations);
absl::Status CheckAboveZero(std::initializer_list<NamedDuration> durations);

struct NamedPath {
  std::string_view option;
  std::string_view path;
};
absl::Status CheckPathOf(NamedPath path);

// Of those that are given.
absl::Status CheckPathsOf(std::initializer_list<NamedPath> paths);

}  // namespace pleat::inline v0_1
