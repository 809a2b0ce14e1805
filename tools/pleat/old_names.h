// The names that options and commands had before the version that gave them the words of the field.
// Whoever still uses one is told the new one.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace pleat::cli {

struct OldName {
  std::string_view name;
  std::string_view now;
};

inline constexpr OldName kOldCommands[] = {{"journal", "state"}, {"window", "live"}};
inline constexpr OldName kOldOptions[] = {
    {"accept-limit", "allowed-lateness"},
    {"bad", "invalid"},
    {"journal", "state"},
    {"lateness", "reorder"},
    {"max-hold", "max-wait"},
    {"on-bad", "on-invalid"},
};

inline std::string CalledNow(std::string_view name) {
  return ": it is called " + std::string(name) + " now";
}

// For a message about an unknown option, of a command that has the options `known`: the name that it
// has now, between `before` and `after`. Empty if it never had another one.
inline std::string NewNameOf(std::string_view option, const std::vector<std::string_view>& known,
                             std::string_view before, std::string_view after) {
  const auto is_known = [&](std::string_view name) {
    return std::ranges::find(known, name) != known.end();
  };
  if (option == "durability" && is_known("state")) {
    return ": it had one value, and is gone; leave it out, with its value";
  }
  for (const OldName& each : kOldOptions) {
    if (each.name != option || !is_known(each.now)) continue;
    return CalledNow(std::string(before).append(each.now).append(after));
  }
  return {};
}

}  // namespace pleat::cli
