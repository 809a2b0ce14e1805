// The variable behind a flag: how a text sets it, and which text it amounts to now.
//
// A value borrows its variable. Every command makes its table of flags with these functions, so
// that a duration, a file name or a choice is read, and refused, in the same words everywhere:
//
//   {"idle", "DURATION", "on a pipe: ...", AboveZero(options.idle)}
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <absl/status/status.h>
#include <pleat/json.h>
#include <pleat/time.h>

namespace pleat::cli {

struct FlagValue {
  // Reads `text`. `name` is the flag's, for messages. Errors: kInvalidArgument, "--name: why".
  std::function<absl::Status(std::string_view name, std::string_view text)> set;

  // The text that `set` would read as the present value; empty for a file that was not given. Null
  // if the value belongs to a spec, whose texts OptionsOf() tells.
  std::function<std::string()> text;

  // Empties the list of a spec that is the value; null for any other value.
  std::function<void()> clear = nullptr;
};

// "--name: why", as an error.
absl::Status WrongFlag(std::string_view name, std::string_view why);

// "true" or "false".
FlagValue Switch(bool& on);

// A whole number from `low` to `high`.
FlagValue Number(int& number, int low, int high);

// The same, which may not be given.
FlagValue MaybeNumber(std::optional<int>& number, int low, int high);

// A duration above zero.
FlagValue AboveZero(Duration& duration);

// Any text.
FlagValue Text(std::string& text);

enum class Dash { kStandardStream, kRefused };

// "a, b or c".
std::string Alternatives(std::span<const std::string_view> names);

// The name of a file. `dash` says whether "-" may stand for a standard stream.
FlagValue FileName(std::string& file, Dash dash);

// The option of a spec that has the flag's name; see SetOption().
template <class Spec>
FlagValue OptionOf(Spec& spec) {
  const auto set = [&spec](std::string_view name, std::string_view text) {
    return SetOption(spec, name, text);
  };
  return {set, nullptr};
}

// The same for `list`, a list of the spec.
template <class Spec, class List>
FlagValue ListOf(Spec& spec, List& list) {
  FlagValue value = OptionOf(spec);
  value.clear = [&list] { list.clear(); };
  return value;
}

// One of several names. `choice` is an enum that counts from 0, in the order of the names.
template <class Enum>
FlagValue OneOf(Enum& choice, const std::vector<std::string_view>& names) {
  const auto set = [&choice, names](std::string_view name, std::string_view text) {
    const auto it = std::ranges::find(names, text);
    if (it == names.end()) return WrongFlag(name, "must be " + Alternatives(names));
    choice = static_cast<Enum>(it - names.begin());
    return absl::OkStatus();
  };
  const auto text = [&choice, names] { return std::string(names[static_cast<size_t>(choice)]); };
  return {set, text};
}

}  // namespace pleat::cli
