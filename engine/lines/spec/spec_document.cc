// A spec as a JSON document: one object whose members are the options by name.
#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <pleat/json.h>

#include "engine/lines/scan/option_json.h"
#include "engine/lines/scan/reasons.h"
#include "engine/lines/scan/text.h"
#include "engine/lines/spec/condition_text.h"

namespace pleat::inline v0_1 {
namespace {

using invalid_line::Quoted;

using Set = absl::FunctionRef<absl::Status(std::string_view, std::string_view)>;

absl::Status SetScalar(std::string_view name, std::string_view value, Set set) {
  switch (value[0]) {
    case '"': return set(name, Unescaped(value));
    case '{':
      if (TakesCondition(name)) return set(name, value);
      [[fallthrough]];
    case '[':
    case 'n':
      return absl::InvalidArgumentError(
          "option " + Quoted(name) +
          " takes a string, a number, true or false, or an array of these");
    default: return set(name, value);
  }
}

absl::Status SetMember(std::string_view name, std::string_view value, Set set) {
  if (value[0] != '[') return SetScalar(name, value, set);
  if (TakesCondition(name)) {
    return absl::InvalidArgumentError(
        "option " + Quoted(name) +
        R"( takes one condition; several are {"any":["a=1","b=2"]} or {"all":[...]})");
  }
  absl::Status status;
  ForEachElement(value, [&](std::string_view element) {
    if (status.ok()) status = SetScalar(name, element, set);
  });
  return status;
}

}  // namespace

absl::Status ForEachOption(std::string_view document, Set set) {
  const std::string_view text = Trimmed(document);
  if (text.empty()) return absl::InvalidArgumentError("spec: empty");
  if (std::string wrong = WhyNoObject(text); !wrong.empty()) {
    return absl::InvalidArgumentError("spec: " + wrong);
  }
  absl::Status status;
  std::set<std::string> names;
  std::vector<std::pair<std::string, std::string_view>> bounds;
  ForEachMember(text, [&](std::string_view quoted, std::string_view value) {
    if (!status.ok()) return;
    const std::string name = Unescaped(quoted);
    // No name comes twice as it is written, but max-wait is also written max_wait.
    std::string spelled = name;
    std::ranges::replace(spelled, '_', '-');
    if (!names.insert(spelled).second) {
      status = absl::InvalidArgumentError("spec: option " + Quoted(name) + " appears twice");
      return;
    }
    if (spelled == "from" || spelled == "to") return bounds.emplace_back(name, value), void();
    status = SetMember(name, value, set);
  });
  for (const auto& [name, value] : bounds) {
    if (status.ok()) status = SetMember(name, value, set);
  }
  return status;
}

absl::StatusOr<FoldSpec> ParseFoldSpec(std::string_view document) {
  FoldSpec spec;
  absl::Status status =
      ForEachOption(document, [&](std::string_view name, std::string_view text) -> absl::Status {
        absl::Status set = SetOption(spec, name, text);
        if (!absl::IsNotFound(set)) return set;
        return absl::InvalidArgumentError(std::string(set.message()));
      });
  if (!status.ok()) return status;
  return spec;
}

}  // namespace pleat::inline v0_1
