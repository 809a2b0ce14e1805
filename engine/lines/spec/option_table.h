// The options of a spec by name: a table says where in the spec each lies and how it is written.
//
//   constexpr Option<FoldSpec> kOutputOptions[] = {
//       As<FoldSpec, CountText>("raw", PLEAT_AT(raw)),
//   };
//   constexpr OptionGroup<FoldSpec> kOptions[] = {kKeyOptions<FoldSpec>, kOutputOptions};
//
// A spec keeps its table to itself, and gives SetOption() and OptionsOf() to the outside.
#pragma once

#include <algorithm>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <pleat/json_lines.h>

#include "engine/lines/scan/option_error.h"
#include "engine/lines/scan/reasons.h"
#include "engine/lines/spec/spec_text.h"

namespace pleat::inline v0_1 {

// A list of key fields, of which an option gives one or several.
struct KeyText {
  static absl::Status Set(std::vector<KeyField>& to, std::string_view text) {
    absl::StatusOr<std::vector<KeyField>> fields = ParseKeyFields(text);
    if (!fields.ok()) return fields.status();
    std::ranges::move(*fields, std::back_inserter(to));
    return absl::OkStatus();
  }
  static std::string Get(const KeyField& field) { return FormatKeyField(field); }
};

using OptionTexts = std::vector<std::string>;

template <class Text, class Value>
OptionTexts TextsOf(const Value& value) {
  return {Text::Get(value)};
}

template <class Text, class Element>
OptionTexts TextsOf(const std::vector<Element>& list) {
  OptionTexts texts;
  for (const Element& each : list) texts.push_back(Text::Get(each));
  return texts;
}

template <class Spec>
struct Option {
  std::string_view name;
  absl::Status (*set)(Spec& spec, std::string_view text);
  OptionTexts (*get)(const Spec& spec);
};

// `Where` gives the option's place in a spec.
template <class Spec, class Text, class Where>
constexpr Option<Spec> As(std::string_view name, Where) {
  return {name, [](Spec& spec, std::string_view text) { return Text::Set(Where()(spec), text); },
          [](const Spec& spec) { return TextsOf<Text>(Where()(spec)); }};
}
#define PLEAT_AT(place) ([](auto& spec) -> auto& { return spec.place; })

// A table is made of groups, so that specs can share some.
template <class Spec>
using OptionGroup = std::span<const Option<Spec>>;

// As SetOption() of a FoldSpec.
template <class Spec>
absl::Status SetOptionOf(std::span<const OptionGroup<Spec>> groups, Spec& spec,
                         std::string_view name, std::string_view text) {
  std::string spelled(name);
  std::ranges::replace(spelled, '_', '-');
  for (const OptionGroup<Spec> group : groups) {
    const auto option = std::ranges::find(group, spelled, &Option<Spec>::name);
    if (option == group.end()) continue;
    const absl::Status status = option->set(spec, text);
    return status.ok() ? status : OptionError(spelled, status);
  }
  return absl::NotFoundError("unknown option " + invalid_line::Quoted(name));
}

// As OptionsOf() a FoldSpec.
template <class Spec>
std::vector<std::pair<std::string, std::string>> OptionsThatDiffer(
    std::span<const OptionGroup<Spec>> groups, const Spec& spec) {
  const Spec empty;
  std::vector<std::pair<std::string, std::string>> out;
  for (const OptionGroup<Spec> group : groups) {
    for (const Option<Spec>& option : group) {
      OptionTexts texts = option.get(spec);
      if (texts == option.get(empty)) continue;
      for (std::string& text : texts) out.emplace_back(option.name, std::move(text));
    }
  }
  return out;
}

}  // namespace pleat::inline v0_1
