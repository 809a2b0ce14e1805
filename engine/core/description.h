// The description of a collection in a snapshot, which is only restored into one like it: the kind,
// the options that have a part in the results, and how its users' types are stored.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
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

// Whether a collection that is `now` can take what one that was `then` has left; the error names
// what differs, by the collection's `name`.
absl::Status CheckSame(std::string_view name, const Description& then, const Description& now,
                       std::string_view shape_of_then);

}  // namespace pleat::inline v0_1
