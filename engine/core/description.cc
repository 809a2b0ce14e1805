#include "engine/core/description.h"

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

#include "engine/base/concat.h"
#include "engine/core/option_table.h"

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

// The names that have other values, in the order of `is`.
std::vector<std::string> OtherNames(const NamedValues& is, const NamedValues& was) {
  std::vector<std::string> names;
  for (const NamedValues* values : {&is, &was}) {
    for (const auto& [name, value] : *values) {
      const bool is_new = std::ranges::find(names, name) == names.end();
      if (is_new && ValuesOf(is, name) != ValuesOf(was, name)) names.push_back(name);
    }
  }
  return names;
}

absl::Status Differs(std::string_view name, std::string_view what, std::string_view is,
                     std::string_view was) {
  return absl::FailedPreconditionError(
      Concat("\"", name, "\": ", what, " is ", is, ", and ", was, " in the snapshot"));
}

}  // namespace

Description& Description::Add(std::string_view option, Duration value) {
  const auto count = value.count();
  if (value == kForever) return Add(option, "forever");
  if (count % 1'000'000 == 0) return Add(option, Concat(count / 1'000'000, "s"));
  if (count % 1'000 == 0) return Add(option, Concat(count / 1'000, "ms"));
  return Add(option, Concat(count, "us"));
}

bool TakeValue(std::string_view value, Duration& option) {
  if (value == "forever") {
    option = kForever;
    return true;
  }
  const size_t unit = value.find_last_of("0123456789") + 1;
  const std::string_view of = value.substr(unit);
  const int64_t length = of == "s" ? 1'000'000 : of == "ms" ? 1'000 : of == "us" ? 1 : 0;
  uint64_t number = 0;
  if (length == 0 || !TakeValue(value.substr(0, unit), number)) return false;
  if (number > static_cast<uint64_t>(kForever.count() / length)) return false;
  option = Duration(static_cast<int64_t>(number) * length);
  return true;
}

bool TakeValue(std::string_view value, uint64_t& option) {
  const char* const end = value.data() + value.size();
  const auto [behind, error] = std::from_chars(value.data(), end, option);
  return error == std::errc() && behind == end;
}

bool TakeValue(std::string_view value, bool& option) {
  option = value == "on";
  return option || value == "off";
}

std::string ValueOf(const Description& of, std::string_view option) {
  std::vector<std::string> values = ValuesOf(of.options, option);
  for (std::string& each : values) each = ValueInWords(of.kind, option, each);
  const OptionRow* const row = FindOption(of.kind, option);
  if (values.empty() && row != nullptr && !row->absent.empty()) values.emplace_back(row->absent);
  return Joined(values);
}

absl::Status OptionDiffers(std::string_view name, const Description& then, const Description& now,
                           std::string_view option, std::string_view beside) {
  return Differs(name, Concat(option, beside), ValueOf(now, option), ValueOf(then, option));
}

absl::Status CheckSame(std::string_view name, const Description& then, const Description& now,
                       std::string_view shape_of_then, std::vector<std::string>& changed) {
  if (then.kind != now.kind) return Differs(name, "the kind", now.kind, then.kind);
  for (const std::string& option : OtherNames(now.options, then.options)) {
    const OptionRow* const row = FindOption(now.kind, option);
    const bool may_differ = row != nullptr && row->may_change != MayChange::kFixed;
    if (!may_differ) return OptionDiffers(name, then, now, option);
    changed.push_back(option);
  }
  if (then.version > now.version) {
    return absl::UnimplementedError(Concat("\"", name, "\": version ", then.version,
                                           " of the fields, and the program has ", now.version));
  }
  if (then.shape == shape_of_then) return absl::OkStatus();
  if (then.shape.ends_with('\n') && shape_of_then.ends_with('\n')) {
    const NamedValues is = ValuesIn(shape_of_then);
    const NamedValues was = ValuesIn(then.shape);
    for (const std::string& what : OtherNames(is, was)) {
      return Differs(name, what, Joined(ValuesOf(is, what)), Joined(ValuesOf(was, what)));
    }
  }
  return absl::FailedPreconditionError(
      Concat("\"", name, "\": the fields of version ", then.version, " are (", shape_of_then,
             "), and (", then.shape, ") in the snapshot; raise kStoredVersion when fields change"));
}

}  // namespace pleat::inline v0_1
