// The description of a collection in a snapshot, which is only restored into one like it: the kind,
// the options that have a part in the results, and how its users' types are stored. Options that the
// table of options lets change may differ.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <absl/status/status.h>
#include <pleat/stored.h>
#include <pleat/time.h>

namespace pleat::inline v0_1 {

struct Description {
  std::string kind;                                          // "folder"
  std::vector<std::pair<std::string, std::string>> options;  // name and value
  std::string shape;                                         // of the fields of the user's type
  uint32_t version = 1;                                      // of that type
  bool stored = true;                                        // its users' types can be stored

  Description& Add(std::string_view option, std::string_view value) {
    options.emplace_back(option, value);
    return *this;
  }
  Description& Add(std::string_view option, uint64_t value) {
    return Add(option, std::to_string(value));
  }
  Description& Add(std::string_view option, Duration value);

  template <class F>
  void Stored(F& f) {
    f(kind, options, shape, version);
  }
};

// Gives an option the value that a description has of it. Returns whether that was one.
bool TakeValue(std::string_view value, Duration& option);
bool TakeValue(std::string_view value, uint64_t& option);
bool TakeValue(std::string_view value, bool& option);
template <class Enum>
  requires std::is_enum_v<Enum>
bool TakeValue(std::string_view value, Enum& option) {
  uint64_t number = 0;
  if (!TakeValue(value, number) || number > UINT8_MAX) return false;
  option = static_cast<Enum>(number);
  return true;
}

// The value of an option, in words: several values are joined, and an option that is not described
// has its default, or is "absent".
std::string ValueOf(const Description& of, std::string_view option);

// The error for an option that differs, with both values. `beside`: what binds it, such as
// " with ids".
absl::Status OptionDiffers(std::string_view name, const Description& then, const Description& now,
                           std::string_view option, std::string_view beside = {});

// Whether a collection that is `now` can take what one that was `then` has left; the error names
// what differs, by the collection's `name`. Adds the options that differ and may to `changed`.
absl::Status CheckSame(std::string_view name, const Description& then, const Description& now,
                       std::string_view shape_of_then, std::vector<std::string>& changed);

}  // namespace pleat::inline v0_1
