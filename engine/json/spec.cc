// The options of a FoldSpec by name: one table says where in the spec each lies and how it is
// written.
#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include <pleat/json_spec.h>

#include "engine/json/option_text.h"
#include "engine/json/reasons.h"
#include "engine/json/spec_text.h"

namespace pleat::inline v0_1 {
namespace {

// A list, of which an option gives one element or several.
struct KeyText {
  static absl::Status Set(std::vector<KeyField>& to, std::string_view text) {
    absl::StatusOr<std::vector<KeyField>> fields = ParseKeyFields(text);
    if (!fields.ok()) return fields.status();
    std::ranges::move(*fields, std::back_inserter(to));
    return absl::OkStatus();
  }
  static std::string Get(const KeyField& field) { return FormatKeyField(field); }
};

struct MergeText {
  static absl::Status Set(std::vector<Merge>& to, std::string_view text) {
    absl::StatusOr<Merge> merge = ParseMerge(text);
    if (!merge.ok()) return merge.status();
    to.push_back(*std::move(merge));
    return absl::OkStatus();
  }
  static std::string Get(const Merge& merge) { return FormatMerge(merge); }
};

using Texts = std::vector<std::string>;

template <class Text, class Value>
Texts TextsOf(const Value& value) {
  return {Text::Get(value)};
}

template <class Text, class Element>
Texts TextsOf(const std::vector<Element>& list) {
  Texts texts;
  for (const Element& each : list) texts.push_back(Text::Get(each));
  return texts;
}

struct Option {
  std::string_view name;
  absl::Status (*set)(FoldSpec& spec, std::string_view text);
  Texts (*get)(const FoldSpec& spec);
};

// `Where` gives the option's place in a spec.
template <class Text, class Where>
constexpr Option As(std::string_view name, Where) {
  return {name,
          [](FoldSpec& spec, std::string_view text) { return Text::Set(Where()(spec), text); },
          [](const FoldSpec& spec) { return TextsOf<Text>(Where()(spec)); }};
}

#define PLEAT_AT(place) ([](auto& spec) -> auto& { return spec.place; })
constexpr Option kOptions[] = {
    As<KeyText>("key", PLEAT_AT(event.key)),
    As<QuietText>("quiet", PLEAT_AT(folder)),
    As<PathText>("class", PLEAT_AT(marks.key_class)),
    As<DurationText>("max-hold", PLEAT_AT(folder.max_hold)),
    As<CountText>("max-events", PLEAT_AT(folder.max_events)),
    As<BytesText>("max-bytes", PLEAT_AT(folder.max_group_bytes)),
    As<EventConditionText>("start-when", PLEAT_AT(marks.start_when)),
    As<EventConditionText>("end-when", PLEAT_AT(marks.end_when)),
    As<MergedConditionText>("close-when", PLEAT_AT(close_when)),
    As<EventConditionText>("flush-when", PLEAT_AT(marks.flush_when)),
    As<EventConditionText>("cancel-when", PLEAT_AT(marks.cancel_when)),
    As<PathText>("quiet-path", PLEAT_AT(marks.quiet_path)),
    As<ChoiceText<kEdges>>("edge", PLEAT_AT(folder.edge)),
    As<DurationText>("partial-every", PLEAT_AT(folder.partial_every)),
    As<PathText>("time", PLEAT_AT(event.time)),
    As<ChoiceText<kTimeUnits>>("time-unit", PLEAT_AT(event.time_unit)),
    As<DurationText>("lateness", PLEAT_AT(event.lateness)),
    As<DurationText>("accept-limit", PLEAT_AT(folder.late.accept_limit)),
    As<ChoiceText<kOnLate>>("on-late", PLEAT_AT(folder.late.on_late)),
    As<DurationText>("future-limit", PLEAT_AT(event.future_limit)),
    As<PathText>("id", PLEAT_AT(marks.id)),
    As<MergeText>("merge", PLEAT_AT(merges)),
    As<ChoiceText<kRests>>("rest", PLEAT_AT(rest)),
    As<CountText>("raw", PLEAT_AT(raw)),
    As<SwitchText<false>>("no-meta", PLEAT_AT(meta)),
    As<SwitchText<true>>("emission-id", PLEAT_AT(emission_id)),
    As<CountText>("max-groups", PLEAT_AT(folder.limits.max_groups)),
    As<BytesText>("max-memory", PLEAT_AT(folder.limits.max_bytes)),
    As<ChoiceText<kOnLimit>>("on-limit", PLEAT_AT(folder.limits.on_limit)),
};
#undef PLEAT_AT

}  // namespace

absl::Status SetOption(FoldSpec& spec, std::string_view name, std::string_view text) {
  std::string spelled(name);
  std::ranges::replace(spelled, '_', '-');
  const auto option = std::ranges::find(kOptions, spelled, &Option::name);
  if (option == std::end(kOptions)) {
    return absl::NotFoundError("unknown option " + bad_line::Quoted(name));
  }
  const absl::Status status = option->set(spec, text);
  return status.ok() ? status : OptionError(spelled, status);
}

std::vector<std::pair<std::string, std::string>> OptionsOf(const FoldSpec& spec) {
  const FoldSpec empty;
  std::vector<std::pair<std::string, std::string>> out;
  for (const Option& option : kOptions) {
    Texts texts = option.get(spec);
    if (texts == option.get(empty)) continue;
    for (std::string& text : texts) out.emplace_back(option.name, std::move(text));
  }
  return out;
}

}  // namespace pleat::inline v0_1
