// The options of a LiveSetSpec: by name, and whether they are complete and consistent.
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <pleat/json_live_set.h>

#include "engine/lines/plan/event_plan.h"
#include "engine/lines/spec/event_options.h"
#include "engine/lines/spec/option_table.h"
#include "engine/lines/spec/option_text.h"
#include "engine/lines/spec/spec_check.h"

namespace pleat::inline v0_1 {
namespace {

constexpr Choice<Refresh> kRefreshes[] = {
    {"latest", Refresh::kLatest}, {"first", Refresh::kFirst}, {"replace", Refresh::kReplace}};
constexpr Choice<OnLiveSetLimit> kOnLiveSetLimit[] = {{"refuse", OnLiveSetLimit::kRefuse},
                                                      {"drop", OnLiveSetLimit::kDropOldest}};

constexpr Option<LiveSetSpec> kMemberOptions[] = {
    As<LiveSetSpec, KeyText>("member", PLEAT_AT(member.id)),
    As<LiveSetSpec, DurationText>("ttl", PLEAT_AT(live_set.ttl)),
    As<LiveSetSpec, PathText>("ttl-path", PLEAT_AT(member.ttl_path)),
    As<LiveSetSpec, ChoiceText<kRefreshes>>("refresh", PLEAT_AT(live_set.refresh)),
    As<LiveSetSpec, PathText>("payload", PLEAT_AT(payload)),
    As<LiveSetSpec, PathText>("version", PLEAT_AT(member.version)),
    As<LiveSetSpec, EventConditionText>("remove-when", PLEAT_AT(member.remove_when)),
    As<LiveSetSpec, CountText>("max-series", PLEAT_AT(live_set.limits.max_series)),
    As<LiveSetSpec, CountText>("max-members", PLEAT_AT(live_set.limits.max_members)),
    As<LiveSetSpec, BytesText>("max-memory", PLEAT_AT(live_set.limits.max_bytes)),
    As<LiveSetSpec, ChoiceText<kOnLiveSetLimit>>("on-limit", PLEAT_AT(live_set.limits.on_limit)),
};

constexpr OptionGroup<LiveSetSpec> kLiveSetOptions[] = {
    kKeyOptions<LiveSetSpec>, kTimeOptions<LiveSetSpec>, kSelectionOptions<LiveSetSpec>,
    kMemberOptions};

// The names of the output members that lines have besides those of the key and of the member. All
// are taken in every mode, so that a name that is fine stays so.
constexpr std::string_view kTakenNames[] = {"at",    "cause",   "count", "stamp",
                                            "until", "payload", "within"};

absl::Status CheckNames(const LiveSetSpec& spec) {
  std::set<std::string_view> used;
  absl::Status status = CheckNames("key", KeyMembers(spec.event), kTakenNames, used);
  status.Update(CheckNames("member", spec.member.id, kTakenNames, used));
  return status;
}

absl::Status CheckMember(const MemberSpec& member, Refresh refresh) {
  absl::Status status = CheckPathsOf({{"ttl-path", member.ttl_path}, {"version", member.version}});
  if (status.ok() && member.id.empty()) {
    constexpr const char* kWhy = "needs --member: without it each event counts by itself";
    if (!member.ttl_path.empty()) return OptionError("ttl-path", kWhy);
    if (!member.version.empty()) return OptionError("version", kWhy);
    if (member.remove_when.kind != Condition::Kind::kNone) return OptionError("remove-when", kWhy);
    if (refresh != Refresh::kLatest) return OptionError("refresh", kWhy);
  }
  for (const KeyField& field : member.id) status.Update(CheckPathOf({"member", field.path}));
  if (!status.ok() || member.remove_when.kind == Condition::Kind::kNone) return status;
  status = CheckEventCondition(member.remove_when);
  return status.ok() ? status : OptionError("remove-when", status);
}

}  // namespace

absl::Status SetOption(LiveSetSpec& spec, std::string_view name, std::string_view text) {
  return SetOptionOf<LiveSetSpec>(kLiveSetOptions, spec, name, text);
}

std::vector<std::pair<std::string, std::string>> OptionsOf(const LiveSetSpec& spec) {
  return OptionsThatDiffer<LiveSetSpec>(kLiveSetOptions, spec);
}

absl::Status Validate(const LiveSetSpec& spec) {
  if (spec.event.key.empty())
    return OptionError("key", "required: the path of the series; '' makes all one");
  if (spec.live_set.ttl == Duration(0)) return OptionError("ttl", "required, and above zero");
  absl::Status status = CheckAboveZero({{"ttl", spec.live_set.ttl}});
  status.Update(CheckNames(spec));
  status.Update(Validate(spec.event));
  status.Update(CheckMember(spec.member, spec.live_set.refresh));
  status.Update(CheckPathsOf({{"payload", spec.payload}}));
  const LiveSetLimits& limits = spec.live_set.limits;
  status.Update(CheckNotZero({{"max-series", limits.max_series},
                              {"max-members", limits.max_members},
                              {"max-memory", limits.max_bytes}}));
  return status;
}

}  // namespace pleat::inline v0_1
