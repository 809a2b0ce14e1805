// Whether a spec is complete and consistent. The first error is reported, in a fixed order.
#include "engine/lines/spec/spec_check.h"

#include <algorithm>
#include <initializer_list>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <pleat/json.h>

#include "engine/base/utf8.h"
#include "engine/lines/plan/event_plan.h"
#include "engine/lines/scan/reasons.h"
#include "engine/lines/scan/time_paths.h"
#include "engine/lines/scan/written_path.h"
#include "engine/lines/spec/condition_text.h"
#include "engine/lines/spec/option_text.h"
#include "engine/lines/spec/spec_text.h"
#include "engine/lines/time/closing_phase.h"
#include "engine/lines/time/time_rules.h"

namespace pleat::inline v0_1 {

absl::Status CheckNotNegative(std::initializer_list<NamedDuration> durations) {
  for (const auto& [option, value] : durations) {
    if (value < Duration(0)) return OptionError(option, "must not be negative");
  }
  return absl::OkStatus();
}

absl::Status CheckAboveZero(std::initializer_list<NamedDuration> durations) {
  for (const auto& [option, value] : durations) {
    if (value <= Duration(0)) return OptionError(option, "must be above zero");
  }
  return absl::OkStatus();
}

absl::Status CheckDeduplicationWindow(Duration window, Duration allowed_lateness, bool has_id) {
  constexpr const char* kOption = "deduplication-window";
  if (!has_id) return OptionError(kOption, "needs --id, which it says how long to remember");
  if (window == kForever) return OptionError(kOption, "must not be inf: ids would fill the memory");
  if (window >= allowed_lateness) return absl::OkStatus();
  return OptionError(kOption, "must be --allowed-lateness, " + FormatDuration(allowed_lateness) +
                                  ", or more: an event that is not late could count twice");
}

absl::Status CheckNotZero(std::initializer_list<NamedCount> counts) {
  for (const auto& [option, value] : counts) {
    if (value == 0) return OptionError(option, "must be at least 1");
  }
  return absl::OkStatus();
}

absl::Status CheckPathOf(NamedPath path) {
  absl::Status status = CheckPath(path.path);
  return status.ok() ? status : OptionError(path.option, status);
}

absl::Status CheckPathsOf(std::initializer_list<NamedPath> paths) {
  for (const NamedPath& each : paths) {
    if (each.path.empty()) continue;
    if (absl::Status status = CheckPathOf(each); !status.ok()) return status;
  }
  return absl::OkStatus();
}

namespace {

using invalid_line::Quoted;

// "--key: the output name "count" is taken; rename it, such as --key key_count=count"
absl::Status Collision(std::string_view option, std::string_view why, const KeyField& field) {
  KeyField renamed = field;
  renamed.name.insert(0, std::string(option) + "_");
  return OptionError(option, std::string(why) + "; rename it, such as --" + std::string(option) +
                                 " " + FormatKeyField(renamed));
}

}  // namespace

absl::Status CheckNames(std::string_view option, std::span<const KeyField> fields,
                        std::span<const std::string_view> taken, std::set<std::string_view>& used) {
  for (const KeyField& field : fields) {
    const std::string name = Quoted(field.name);
    if (!IsUtf8(field.name)) return OptionError(option, "name " + name + " is not UTF-8");
    if (std::ranges::find(taken, field.name) != taken.end()) {
      return Collision(option, "the output name " + name + " is taken", field);
    }
    if (!used.insert(field.name).second) {
      return Collision(option, "two outputs are named " + name, field);
    }
  }
  return absl::OkStatus();
}

namespace {

// "--merge: two outputs are named "k"; rename it, such as --merge 'merge_k=count()'"
absl::Status Collision(std::string_view option, std::string_view why, const Merge& merge) {
  Merge renamed = merge;
  renamed.name.insert(0, "merge_");
  return OptionError(option, std::string(why) + "; rename it, such as --" + std::string(option) +
                                 " '" + FormatMerge(renamed) + "'");
}

// The names of output members: which are in use.
class OutputNames {
 public:
  void Reserve(std::string_view name) { reserved_.insert(name); }

  // `option` is that of `output`, a KeyField or a Merge.
  absl::Status Add(std::string_view option, const auto& output) {
    const std::string name = Quoted(output.name);
    if (!IsUtf8(output.name)) return OptionError(option, "name " + name + " is not UTF-8");
    if (reserved_.contains(output.name)) {
      return Collision(option, "the output name " + name + " is taken", output);
    }
    if (used_.insert(output.name).second) return absl::OkStatus();
    return Collision(option, "two outputs are named " + name, output);
  }

  absl::Status AddKey(const EventSpec& spec) {
    for (const KeyField& field : KeyMembers(spec)) {
      if (absl::Status status = Add("key", field); !status.ok()) return status;
    }
    return absl::OkStatus();
  }

 private:
  std::set<std::string_view> reserved_ = {"_fold"};
  std::set<std::string_view> used_;
};

absl::Status CheckNames(const FoldSpec& spec) {
  OutputNames names;
  if (spec.raw != 0) names.Reserve("_raw");
  if (spec.raw_last != 0) names.Reserve("_raw_last");
  if (spec.rest != Rest::kDrop) names.Reserve("_rest");
  if (absl::Status status = names.AddKey(spec.event); !status.ok()) return status;
  for (const Merge& merge : spec.merges) {
    if (absl::Status status = names.Add("merge", merge); !status.ok()) return status;
    if (IsUtf8(merge.separator)) continue;
    return OptionError("merge", "separator " + Quoted(merge.separator) + " is not UTF-8");
  }
  return absl::OkStatus();
}

absl::Status CheckMergePaths(const FoldSpec& spec) {
  for (const Merge& merge : spec.merges) {
    if (merge.reducer == Reducer::kTop && merge.bound > kTopBoundMax) {
      return OptionError("merge", "top: N is at most " + std::to_string(kTopBoundMax));
    }
    if (TakesNoPath(merge.reducer) && merge.path.empty()) continue;
    if (merge.reducer == Reducer::kDuration) return OptionError("merge", "duration takes no path");
    if (merge.path == kWholeEvent && TakesWholeEvent(merge.reducer)) continue;
    if (absl::Status status = CheckPathOf({"merge", merge.path}); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status CheckMarks(const MarkSpec& marks) {
  const std::pair<std::string_view, const Condition*> conditions[] = {
      {"start-when", &marks.start_when},
      {"end-when", &marks.end_when},
      {"flush-when", &marks.flush_when},
      {"cancel-when", &marks.cancel_when}};
  for (const auto& [option, condition] : conditions) {
    if (condition->kind == Condition::Kind::kNone) continue;
    absl::Status status = CheckEventCondition(*condition);
    if (!status.ok()) return OptionError(option, status);
  }
  return absl::OkStatus();
}

// Whether the value of a reducer is a scalar, or can be one. Lists can not be compared with
// anything.
bool GivesScalar(Reducer reducer) {
  return reducer != Reducer::kKeys && reducer != Reducer::kSet && reducer != Reducer::kArray &&
         reducer != Reducer::kTop;
}

absl::Status CheckMergedValue(const FoldSpec& spec, const std::string& path) {
  const std::string name = MergedName(path);
  for (const Merge& merge : spec.merges) {
    if (merge.name != name) continue;
    if (merge.path == kWholeEvent) {
      return Wrong(Quoted(name) + " is a whole event; compare one of its members, such as last(a)");
    }
    if (GivesScalar(merge.reducer)) return absl::OkStatus();
    return Wrong(
        Quoted(name) + " is a list; what can be compared is given by sum, min, max, mean, " +
        "count, first, last, distinct, concat, duration or p50 (distinct counts what set lists)");
  }
  return Wrong("there is no --merge named " + Quoted(name));
}

absl::Status CheckCloseWhen(const FoldSpec& spec) {
  if (spec.close_when.kind == Condition::Kind::kNone) return absl::OkStatus();
  absl::Status status = CheckCondition(
      spec.close_when, [&](const std::string& path) { return CheckMergedValue(spec, path); });
  return status.ok() ? status : OptionError("close-when", status);
}

absl::Status CheckClosing(const ClosingOptions& closing) {
  absl::Status status = CheckAboveZero({{"close-every", closing.every}});
  status.Update(CheckNotNegative({{"close-every", closing.phase}}));
  if (!status.ok() || closing.phase == Duration(0)) return status;
  if (closing.phase < closing.every && closing.every != kForever) return absl::OkStatus();
  return OptionError("close-every", "the time behind @ must come within the period");
}

absl::Status CheckAdaptive(const FoldSpec& spec) {
  const FolderOptions& folder = spec.folder;
  if (folder.quiet_floor == Duration(0)) {
    if (spec.marks.key_class.empty()) return absl::OkStatus();
    return OptionError("class", "needs --quiet adaptive:FLOOR..CEILING, which learns by class");
  }
  if (folder.quiet_floor < Duration(0)) return OptionError("quiet", "must be above zero");
  if (folder.quiet_floor >= folder.quiet_period) {
    return OptionError("quiet", "adaptive: the floor must be below the ceiling");
  }
  if (folder.quiet_period == kForever)
    return OptionError("quiet", "adaptive: the ceiling must not be inf");
  if (spec.marks.quiet_path.empty()) return absl::OkStatus();
  return OptionError("quiet-path",
                     "not with --quiet adaptive: the quiet period is said or learned");
}

// Options that make no sense together, or without another.
absl::Status CheckTogether(const FoldSpec& spec) {
  const FolderOptions& folder = spec.folder;
  if (absl::Status status = CheckAdaptive(spec); !status.ok()) return status;
  const bool accepts_all = folder.late.allowed_lateness == kForever;
  if (!spec.marks.id.empty() && accepts_all) {
    return OptionError("id", "needs --allowed-lateness, which says how long ids are remembered");
  }
  if (const Duration window = folder.late.deduplication_window; window != Duration(0)) {
    absl::Status status =
        CheckDeduplicationWindow(window, folder.late.allowed_lateness, !spec.marks.id.empty());
    if (!status.ok()) return status;
  }
  if (folder.leading_events > 1 && folder.edge == Edge::kTrailing) {
    return OptionError("leading", "needs --edge leading or both, which hand events out at once");
  }
  if (folder.late.on_late != OnLate::kReject) {
    const std::string way = ChoiceText<kOnLate>::Get(folder.late.on_late);
    if (accepts_all) return OptionError("on-late", way + " needs --allowed-lateness");
    if (!spec.marks.id.empty()) {
      return OptionError("id", "not with --on-late " + way + ": ids of late events are forgotten");
    }
  }
  if (folder.edge == Edge::kLeading && folder.partial_every != kForever) {
    return OptionError("partial-every",
                       "not with --edge leading, which holds back all but the first");
  }
  return absl::OkStatus();
}

absl::Status CheckKeyIsGiven(const EventSpec& spec) {
  if (spec.key.empty()) {
    return OptionError("key", "required: the path of the group key; '' makes all one group");
  }
  const auto is_empty = [](const KeyField& field) { return field.path.empty(); };
  if (spec.key.size() == 1 || std::ranges::none_of(spec.key, is_empty)) return absl::OkStatus();
  return OptionError("key", "'' makes all one group, and takes no other path beside it");
}

absl::Status CheckTimeText(const EventSpec& spec) {
  if (!spec.time_zone.empty()) {
    const absl::Status zone = ParseTimeZone(spec.time_zone).status();
    if (!zone.ok()) return OptionError("time-zone", zone);
  }
  if (spec.time_year < 0 || spec.time_year > 9999)
    return OptionError("time-year", "must be 1 to 9999");
  const bool lacks_year = LacksYear(spec.time_format);
  if (spec.time_year != 0 && !lacks_year)
    return OptionError("time-year", "needs a --time-format that says no year");
  if (spec.time_format.empty()) return absl::OkStatus();
  const absl::Status format = CheckTimeFormat(spec.time_format);
  if (!format.ok()) return OptionError("time-format", format);
  if (!lacks_year || !spec.time.empty() || spec.time_year != 0) return absl::OkStatus();
  return OptionError("time-format", "says no year: state it with --time-year");
}

absl::Status CheckSelection(const EventSpec& spec) {
  if (spec.where.kind != Condition::Kind::kNone) {
    absl::Status status = CheckEventCondition(spec.where);
    if (!status.ok()) return OptionError("where", status);
  }
  if (spec.time.empty() && spec.from != kBeginningOfTime)
    return OptionError("from", "needs --time");
  if (spec.time.empty() && spec.to != kNever) return OptionError("to", "needs --time");
  if (spec.from < spec.to) return absl::OkStatus();
  return OptionError("to", "must be after --from: events at --to are excluded");
}

absl::Status CheckEvent(const EventSpec& spec) {
  absl::Status status = CheckKeyIsGiven(spec);
  status.Update(CheckNotNegative({{"reorder", spec.reorder}, {"future-limit", spec.future_limit}}));
  if (!status.ok()) return status;
  if (spec.time.empty() && spec.reorder > Duration(0)) {
    return OptionError("reorder", "needs --time");
  }
  for (const KeyField& field : KeyMembers(spec)) status.Update(CheckPathOf({"key", field.path}));
  if (!spec.time.empty()) {
    const absl::Status paths = CheckTimePaths(spec.time);
    if (!paths.ok()) status.Update(OptionError("time", paths));
  }
  if (status.ok() && spec.time_unit != TimeUnit::kNotStated && !spec.time.empty() &&
      SplitTimePaths(spec.time).size() > 1) {
    status = OptionError("time-unit", "not with a --time of several members, which are text");
  }
  status.Update(CheckTimeText(spec));
  status.Update(CheckSelection(spec));
  return status;
}

}  // namespace

absl::Status Validate(const EventSpec& spec) {
  absl::Status status = CheckEvent(spec);
  status.Update(OutputNames().AddKey(spec));
  return status;
}

absl::Status Validate(const FoldSpec& spec) {
  const FolderOptions& folder = spec.folder;
  const MarkSpec& marks = spec.marks;
  absl::Status status = CheckKeyIsGiven(spec.event);
  if (status.ok() && FolderOptionsOf(spec).quiet_period == Duration(0)) {
    return OptionError("quiet", "required, and above zero");
  }
  status.Update(CheckAboveZero({{"quiet", FolderOptionsOf(spec).quiet_period},
                                {"max-wait", folder.max_wait},
                                {"partial-every", folder.partial_every}}));
  status.Update(CheckClosing(folder.closing));
  status.Update(CheckNotNegative({{"allowed-lateness", folder.late.allowed_lateness}}));
  status.Update(CheckEvent(spec.event));
  status.Update(CheckNotZero({{"max-events", folder.max_events},
                              {"max-bytes", folder.max_group_bytes},
                              {"leading", folder.leading_events},
                              {"max-groups", folder.limits.max_groups},
                              {"max-memory", folder.limits.max_bytes}}));
  status.Update(CheckPathsOf({{"id", marks.id},
                              {"quiet-path", marks.quiet_path},
                              {"close-at", marks.close_at},
                              {"class", marks.key_class}}));
  status.Update(CheckMergePaths(spec));
  status.Update(CheckNames(spec));
  status.Update(CheckMarks(marks));
  status.Update(CheckCloseWhen(spec));
  status.Update(CheckTogether(spec));
  return status;
}

// A zone's clock is the plan's affair: see ClosingCalendar.
FolderOptions FolderOptionsOf(const FoldSpec& spec) {
  FolderOptions options = spec.folder;
  if (options.quiet_period == Duration(0) && options.closing.every != kForever) {
    options.quiet_period = kForever;
  }
  if (!spec.event.time_zone.empty()) {
    options.closing = {.settable = options.closing.settable};
  } else {
    options.closing.phase = PhaseSince1970(options.closing);
  }
  return options;
}

EngineOptions EngineOptionsFor(const EventSpec& spec) {
  // One thread folds lines, so more partitions would gain nothing; and one keeps the limits exact,
  // as each partition gets an equal share of them.
  EngineOptions options;
  options.partitions = 1;
  options.axis = spec.time.empty() ? Axis::kArrival : Axis::kEvent;
  // With a bound of disorder lines wait for their turn before the engine, which sees them in order; and
  // the future limit is judged when they come.
  options.future_limit = spec.reorder > Duration{0} ? kForever : spec.future_limit;
  return options;
}

}  // namespace pleat::inline v0_1
