// The options of a FoldSpec, and of an EventSpec alone, by name.
#include <string>
#include <utility>
#include <vector>

#include <pleat/json.h>

#include "engine/lines/spec/event_options.h"
#include "engine/lines/spec/option_table.h"
#include "engine/lines/spec/option_text.h"
#include "engine/lines/spec/spec_text.h"

namespace pleat::inline v0_1 {
namespace {

struct MergeText {
  static absl::Status Set(std::vector<Merge>& to, std::string_view text) {
    absl::StatusOr<Merge> merge = ParseMerge(text);
    if (!merge.ok()) return merge.status();
    to.push_back(*std::move(merge));
    return absl::OkStatus();
  }
  static std::string Get(const Merge& merge) { return FormatMerge(merge); }
};

constexpr Option<FoldSpec> kGroupOptions[] = {
    As<FoldSpec, QuietText>("quiet", PLEAT_AT(folder)),
    As<FoldSpec, PathText>("class", PLEAT_AT(marks.key_class)),
    As<FoldSpec, DurationText>("max-wait", PLEAT_AT(folder.max_wait)),
    As<FoldSpec, ClosingText>("close-every", PLEAT_AT(folder.closing)),
    As<FoldSpec, PathText>("close-at", PLEAT_AT(marks.close_at)),
    As<FoldSpec, CountText>("max-events", PLEAT_AT(folder.max_events)),
    As<FoldSpec, BytesText>("max-bytes", PLEAT_AT(folder.max_group_bytes)),
    As<FoldSpec, EventConditionText>("start-when", PLEAT_AT(marks.start_when)),
    As<FoldSpec, EventConditionText>("end-when", PLEAT_AT(marks.end_when)),
    As<FoldSpec, MergedConditionText>("close-when", PLEAT_AT(close_when)),
    As<FoldSpec, EventConditionText>("flush-when", PLEAT_AT(marks.flush_when)),
    As<FoldSpec, EventConditionText>("cancel-when", PLEAT_AT(marks.cancel_when)),
    As<FoldSpec, PathText>("quiet-path", PLEAT_AT(marks.quiet_path)),
    As<FoldSpec, ChoiceText<kEdges>>("edge", PLEAT_AT(folder.edge)),
    As<FoldSpec, CountText>("leading", PLEAT_AT(folder.leading_events)),
    As<FoldSpec, DurationText>("partial-every", PLEAT_AT(folder.partial_every)),
};

constexpr Option<FoldSpec> kLateOptions[] = {
    As<FoldSpec, DurationText>("allowed-lateness", PLEAT_AT(folder.late.allowed_lateness)),
    As<FoldSpec, ChoiceText<kOnLate>>("on-late", PLEAT_AT(folder.late.on_late)),
};

constexpr Option<FoldSpec> kOutputOptions[] = {
    As<FoldSpec, PathText>("id", PLEAT_AT(marks.id)),
    As<FoldSpec, DurationText>("deduplication-window", PLEAT_AT(folder.late.deduplication_window)),
    As<FoldSpec, MergeText>("merge", PLEAT_AT(merges)),
    As<FoldSpec, ChoiceText<kRests>>("rest", PLEAT_AT(rest)),
    As<FoldSpec, CountText>("raw", PLEAT_AT(raw)),
    As<FoldSpec, CountText>("raw-last", PLEAT_AT(raw_last)),
    As<FoldSpec, SwitchText<false>>("no-meta", PLEAT_AT(meta)),
    As<FoldSpec, SwitchText<true>>("emission-id", PLEAT_AT(emission_id)),
    As<FoldSpec, CountText>("max-groups", PLEAT_AT(folder.limits.max_groups)),
    As<FoldSpec, BytesText>("max-memory", PLEAT_AT(folder.limits.max_bytes)),
    As<FoldSpec, ChoiceText<kOnLimit>>("on-limit", PLEAT_AT(folder.limits.on_limit)),
};

constexpr OptionGroup<FoldSpec> kFoldOptions[] = {kKeyOptions<FoldSpec>,       kGroupOptions,
                                                  kTimeOptions<FoldSpec>,      kLateOptions,
                                                  kSelectionOptions<FoldSpec>, kOutputOptions};

constexpr OptionGroup<EventSpec> kEventOptions[] = {kKeyOptions<EventSpec>, kTimeOptions<EventSpec>,
                                                    kSelectionOptions<EventSpec>};

}  // namespace

absl::Status SetOption(EventSpec& spec, std::string_view name, std::string_view text) {
  return SetOptionOf<EventSpec>(kEventOptions, spec, name, text);
}

absl::Status SetOption(FoldSpec& spec, std::string_view name, std::string_view text) {
  return SetOptionOf<FoldSpec>(kFoldOptions, spec, name, text);
}

std::vector<std::pair<std::string, std::string>> OptionsOf(const FoldSpec& spec) {
  return OptionsThatDiffer<FoldSpec>(kFoldOptions, spec);
}

}  // namespace pleat::inline v0_1
