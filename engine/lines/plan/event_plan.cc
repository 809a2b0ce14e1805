#include "engine/lines/plan/event_plan.h"

#include <algorithm>

#include "engine/base/check.h"
#include "engine/lines/scan/reasons.h"
#include "engine/lines/scan/time_paths.h"
#include "engine/lines/scan/written_path.h"

namespace pleat::inline v0_1 {

EventPlan::EventPlan(const EventSpec& spec)
    : time_unit(spec.time_unit),
      time_rules(TimeRulesFor(spec.time_zone, spec.time_format, spec.time_year)),
      time_shift(MicrosecondShift(spec.time_unit)),
      waits(spec.reorder > Duration{0}),
      untyped(spec.untyped),
      has_range(spec.from != kBeginningOfTime || spec.to != kNever),
      from(spec.from),
      to(spec.to) {
  PLEAT_DCHECK(Validate(spec).ok());
  for (const KeyField& field : KeyMembers(spec)) keys.push_back(AddScalar("key", field.path));
  where = ConditionPlan(
      spec.where, [this](const std::string& path) { return AddPath("where", path); }, untyped);
  has_selection = has_range || !where.empty();
  if (spec.time.empty()) return;
  const std::vector<std::string> time_paths = SplitTimePaths(spec.time);
  for (const std::string& path : time_paths) {
    time_parts.push_back(
        {AddPath("time", path),
         /*optional=*/false,
         "event time " + invalid_line::Quoted(path) + std::string(invalid_line::kKeyAbsent),
         {},
         {"time", path}});
  }
  time_slot = time_parts.front().slot;
  time_path = time_parts.front().path;
  time_absent = time_parts.front().absent;
  if (time_parts.size() == 1) time_parts.clear();
}

void EventPlan::AddMarks(const MarkSpec& marks) {
  const auto plan_of = [this](const char* option, const Condition& condition) {
    return ConditionPlan(
        condition, [&](const std::string& path) { return AddPath(option, path); }, untyped);
  };
  start_when = plan_of("start-when", marks.start_when);
  end_when = plan_of("end-when", marks.end_when);
  flush_when = plan_of("flush-when", marks.flush_when);
  cancel_when = plan_of("cancel-when", marks.cancel_when);
  if (!marks.quiet_path.empty()) quiet_slot = AddPath("quiet-path", marks.quiet_path);
  if (!marks.close_at.empty()) close_at_slot = AddPath("close-at", marks.close_at);
  if (!marks.key_class.empty()) key_class = AddScalar("class", marks.key_class);
  if (!marks.id.empty()) id = AddScalar("id", marks.id);
  has_control = !flush_when.empty() || !cancel_when.empty();
  has_marks = !start_when.empty() || !end_when.empty() || quiet_slot != PathTree::kNone ||
              close_at_slot != PathTree::kNone || key_class || id;
}

void EventPlan::AddId(const std::string& path) {
  id = AddScalar("id", path);
  id_has_content = false;
  has_marks = true;
}

void EventPlan::AddMember(const MemberSpec& spec) {
  for (const KeyField& field : spec.id) member.push_back(AddScalar("member", field.path));
  if (!spec.ttl_path.empty()) ttl_slot = AddPath("ttl-path", spec.ttl_path);
  if (!spec.version.empty()) version_slot = AddPath("version", spec.version);
  cancel_when = ConditionPlan(
      spec.remove_when, [&](const std::string& path) { return AddPath("remove-when", path); },
      untyped);
  has_control = !cancel_when.empty();
}

void EventPlan::AddValue(std::string_view option, const std::string& path, ValueForm form) {
  if (form == ValueForm::kIdentities) identity_keys = {RandomHashKey(), RandomHashKey()};
  values.push_back({form, AddPath(option, path)});
}

std::vector<OptionPath> EventPlan::Absent(const UnseenPaths& unseen) const {
  std::vector<OptionPath> absent;
  for (const AskedPath& each : asked) {
    if (unseen.any_line() && unseen.Has(each.slot)) absent.push_back(each.path);
  }
  return absent;
}

std::vector<OptionPath> EventPlan::Asked() const {
  std::vector<OptionPath> all;
  all.reserve(asked.size());
  for (const AskedPath& each : asked) all.push_back(each.path);
  return all;
}

int EventPlan::AddPath(std::string_view option, const std::string& path) {
  const int slot = paths.AddWritten(*ParseWrittenPath(path));
  const OptionPath asking{std::string(option), path};
  const bool known =
      std::ranges::any_of(asked, [&](const AskedPath& each) { return each.path == asking; });
  if (!known) asked.push_back({slot, asking});
  return slot;
}

EventPlan::ScalarMember EventPlan::AddScalar(std::string_view option, const std::string& path) {
  const std::string shown = std::string(option) + " " + invalid_line::Quoted(path);
  return {AddPath(option, path),
          ParseWrittenPath(path)->optional,
          shown + std::string(invalid_line::kKeyAbsent),
          shown + std::string(invalid_line::kKeyContainer),
          {std::string(option), path}};
}

}  // namespace pleat::inline v0_1
