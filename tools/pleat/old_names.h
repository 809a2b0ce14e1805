// Names of options and commands that pleat does not have, and what to write instead: those of before
// the version that gave them the words of the field, and those that another command has.
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

// What an option of another command is here. A command is known by an option that it has.
struct ElsewhereName {
  std::string_view name;
  std::string_view has;
  std::string_view instead;
};

inline constexpr ElsewhereName kElsewhere[] = {
    {"window", "close-every", "--close-every 1h closes the groups at each hour"},
    {"top", "close-every", "--merge 'top=top(PATH)' counts the most frequent values"},
    {"merge", "window", "pleat fold merges, by the hour with --close-every 1h"},
    {"member", "window", "pleat fold --close-every 1h --merge 'n=distinct(PATH)' counts members"},
    {"top", "window", "pleat fold --close-every 1h --merge 'top=top(PATH)' has the most frequent"},
    {"format", "input", "--input says what the FILEs are, --time-format how times are written"},
};

// For a message about an unknown option, likewise.
inline std::string InsteadOf(std::string_view option, const std::vector<std::string_view>& known) {
  for (const ElsewhereName& each : kElsewhere) {
    if (each.name != option || std::ranges::find(known, each.has) == known.end()) continue;
    return "; " + std::string(each.instead);
  }
  return {};
}

}  // namespace pleat::cli
