// The names that options and commands had before the version that gave them the words of the field.
// Whoever still uses one is told the new one.
#pragma once

#include <string>
#include <string_view>

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

// The name that the option has now; empty if it never had another one.
constexpr std::string_view NewNameOf(std::string_view option) noexcept {
  for (const OldName& each : kOldOptions) {
    if (each.name == option) return each.now;
  }
  return {};
}

// An option that had one value, and has gone. What stood behind it goes as well.
inline constexpr std::string_view kGoneOption = "durability";

// What a message about an unknown name adds.
inline std::string CalledNow(std::string_view name) {
  return ": it is called " + std::string(name) + " now";
}
inline constexpr std::string_view kGoneSays =
    ": it had one value, and is gone; leave it out, with its value";

}  // namespace pleat::cli
