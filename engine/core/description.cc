#include "engine/core/description.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/base/concat.h"

namespace pleat::inline v0_1 {
namespace {

using NamedValues = std::vector<std::pair<std::string, std::string>>;

// A shape that is lines, "name: value".
NamedValues ValuesIn(std::string_view shape) {
  NamedValues values;
  while (!shape.empty()) {
    const std::string_view line = shape.substr(0, shape.find('\n'));
    shape.remove_prefix(std::min(line.size() + 1, shape.size()));
    const size_t colon = std::min(line.find(": "), line.size());
    values.emplace_back(line.substr(0, colon), line.substr(std::min(colon + 2, line.size())));
  }
  return values;
}

// All values of a name, which a list has several times.
std::vector<std::string> ValuesOf(const NamedValues& values, std::string_view name) {
  std::vector<std::string> all;
  for (const auto& [each, value] : values) {
    if (each == name) all.push_back(value);
  }
  return all;
}

std::string Joined(const std::vector<std::string>& values) {
  if (values.empty()) return "absent";
  std::string joined = values.front();
  for (size_t i = 1; i < values.size(); ++i) joined += "; " + values[i];
  return joined;
}

}  // namespace

Description& Description::Add(std::string_view option, Duration value) {
  const auto count = value.count();
  if (value == kForever) return Add(option, "forever");
  if (count % 1'000'000 == 0) return Add(option, Concat(count / 1'000'000, "s"));
  if (count % 1'000 == 0) return Add(option, Concat(count / 1'000, "ms"));
  return Add(option, Concat(count, "us"));
}

absl::Status CheckSame(std::string_view name, const Description& then, const Description& now,
                       std::string_view shape_of_then) {
  const auto differs = [&](std::string_view what, std::string_view is, std::string_view was) {
    return absl::FailedPreconditionError(
        Concat("\"", name, "\": ", what, " is ", is, ", and ", was, " in the snapshot"));
  };
  if (then.kind != now.kind) return differs("the kind", now.kind, then.kind);
  // The first name that has other values, in the order of `is`.
  const auto check = [&](const NamedValues& is, const NamedValues& was) {
    for (const NamedValues* values : {&is, &was}) {
      for (const auto& [what, value] : *values) {
        const std::vector<std::string> now_it_is = ValuesOf(is, what);
        const std::vector<std::string> then_it_was = ValuesOf(was, what);
        if (now_it_is != then_it_was) return differs(what, Joined(now_it_is), Joined(then_it_was));
      }
    }
    return absl::OkStatus();
  };
  if (absl::Status same = check(now.options, then.options); !same.ok()) return same;
  if (then.version > now.version) {
    return absl::UnimplementedError(Concat("\"", name, "\": version ", then.version,
                                           " of the fields, and the program has ", now.version));
  }
  if (then.shape == shape_of_then) return absl::OkStatus();
  if (then.shape.ends_with('\n') && shape_of_then.ends_with('\n')) {
    absl::Status same = check(ValuesIn(shape_of_then), ValuesIn(then.shape));
    if (!same.ok()) return same;
  }
  return absl::FailedPreconditionError(
      Concat("\"", name, "\": the fields of version ", then.version, " are (", shape_of_then,
             "), and (", then.shape, ") in the snapshot; raise kStoredVersion when fields change"));
}

}  // namespace pleat::inline v0_1
