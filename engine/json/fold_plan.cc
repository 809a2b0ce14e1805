#include "engine/json/fold_plan.h"

#include <algorithm>
#include <cstring>

#include "engine/json/reasons.h"
#include "engine/json/rest_members.h"

namespace pleat::inline v0_1 {
namespace {

const FoldPlan& PlanOf(void* context) noexcept { return *static_cast<const FoldPlan*>(context); }

uint64_t& HeapBytes(void* state) noexcept { return *static_cast<uint64_t*>(state); }

void* At(void* state, uint32_t offset) noexcept { return static_cast<char*>(state) + offset; }

void Open(void* context, void* state) { std::memset(state, 0, PlanOf(context).state_bytes); }

RestMembers& RestOf(const FoldPlan& plan, void* state) noexcept {
  return *static_cast<RestMembers*>(At(state, plan.rest_offset));
}

size_t FoldRest(RestMembers& members, const Operand& operand, const FoldEvent& event, bool last) {
  const size_t before = members.heap_bytes();
  const std::string_view* const names_and_values = event.elements + operand.first_element;
  for (uint32_t i = 0; i < operand.elements; i += 2) {
    members.Fold(names_and_values[i], names_and_values[i + 1], event.at, last);
  }
  return members.heap_bytes() - before;
}

int64_t Fold(void* context, void* state, const void* event_bytes) {
  const FoldPlan& plan = PlanOf(context);
  const auto& event = *static_cast<const FoldEvent*>(event_bytes);
  const Operand* operand = event.operands;
  size_t growth = 0;
  for (const FoldPlan::MergedValue& merge : plan.merges) {
    if (operand->present) growth += FoldState(merge, At(state, merge.offset), *operand, event);
    ++operand;
  }
  if (plan.rest != Rest::kDrop) {
    growth += FoldRest(RestOf(plan, state), *operand, event, plan.rest == Rest::kLast);
  }
  HeapBytes(state) += growth;
  if (const uint32_t weight = plan.weight_offset; weight != 0) {
    *static_cast<uint64_t*>(At(state, weight)) += event.line_bytes;
  }
  return static_cast<int64_t>(growth);
}

void Relocate(void* context, void* to, void* from) {
  std::memcpy(to, from, PlanOf(context).state_bytes);
}

void Copy(void* context, void* to, const void* from) {
  const FoldPlan& plan = PlanOf(context);
  std::memcpy(to, from, plan.state_bytes);
  size_t heap = 0;
  for (const FoldPlan::MergedValue& merge : plan.merges) {
    heap += DetachState(merge.reducer, At(to, merge.offset));
  }
  if (plan.rest != Rest::kDrop) {
    RestMembers& members = RestOf(plan, to);
    members.Detach();
    heap += members.heap_bytes();
  }
  HeapBytes(to) = heap;
}

void Destroy(void* context, void* state) {
  const FoldPlan& plan = PlanOf(context);
  for (const FoldPlan::MergedValue& merge : plan.merges) {
    DestroyState(merge.reducer, At(state, merge.offset));
  }
  if (plan.rest != Rest::kDrop) RestOf(plan, state).Clear();
}

size_t StateHeapBytes(void*, const void* state) {
  return static_cast<size_t>(*static_cast<const uint64_t*>(state));
}

EventMarks Marks(void*, std::string_view, const void* event) {
  return *static_cast<const FoldEvent*>(event)->marks;
}

bool MeetsCondition(void* context, const void* state) {
  return static_cast<FoldPlan*>(context)->MeetsCloseWhen(state);
}

size_t Weight(void* context, const void* state) {
  uint64_t bytes;
  std::memcpy(&bytes, static_cast<const char*>(state) + PlanOf(context).weight_offset,
              sizeof(bytes));
  return static_cast<size_t>(bytes);
}

int MicrosecondShift(TimeUnit unit) noexcept {
  switch (unit) {
    case TimeUnit::kSeconds: return 6;
    case TimeUnit::kMilliseconds: return 3;
    case TimeUnit::kNanoseconds: return -3;
    case TimeUnit::kMicroseconds:
    case TimeUnit::kNotStated: break;
  }
  return 0;
}

std::string Quote(std::string_view name) {
  std::string out;
  AppendJsonString(name, out);
  return out;
}

void AddName(std::string& names, std::string_view quoted) {
  if (!names.empty()) names += ',';
  names += quoted;
}

}  // namespace

FoldPlan::FoldPlan(const FoldSpec& spec)
    : time_unit(spec.time_unit),
      time_shift(MicrosecondShift(spec.time_unit)),
      meta(spec.meta),
      revisions(spec.edge != Edge::kTrailing || spec.partial_every != kForever),
      emission_ids(spec.emission_id) {
  for (const KeyField& field : spec.key) {
    const std::string shown = "key " + bad_line::Quoted(field.path);
    keys.push_back({AddPath("key", field.path), Quote(field.name) + ":",
                    shown + std::string(bad_line::kKeyAbsent),
                    shown + std::string(bad_line::kKeyContainer)});
  }
  if (!spec.time.empty()) {
    time_slot = AddPath("time", spec.time);
    time_absent = "event time " + bad_line::Quoted(spec.time) + std::string(bad_line::kKeyAbsent);
  }
  for (const Merge& merge : spec.merges) {
    AddMerge(merge, merge.path.empty() ? PathTree::kNone : AddPath("merge", merge.path));
  }
  if (spec.rest != Rest::kDrop) AddRest(spec);
  raw = spec.raw != 0;
  if (raw) AddMerge({"_raw", Reducer::kArray, {}, spec.raw}, kWholeEvent);
  if (spec.max_group_bytes != kNoByteCap) {
    weight_offset = state_bytes;
    state_bytes += sizeof(uint64_t);
  }
  AddMarks(spec);
}

int FoldPlan::AddPath(std::string_view option, const std::string& path) {
  const int slot = paths.Add(*ParsePath(path));
  const OptionPath asking{std::string(option), path};
  const bool known =
      std::ranges::any_of(asked, [&](const AskedPath& each) { return each.path == asking; });
  if (!known) asked.push_back({slot, asking});
  return slot;
}

void FoldPlan::AddMerge(const Merge& merge, int slot) {
  if (merge.reducer == Reducer::kDistinct) identity_keys = {RandomHashKey(), RandomHashKey()};
  const std::string quoted = Quote(merge.name);
  merges.push_back({RuleOf(merge), slot, state_bytes, quoted + ":", quoted});
  state_bytes += StateSize(merge.reducer);
  grows |= StateGrows(merge.reducer);
}

void FoldPlan::AddRest(const FoldSpec& spec) {
  rest = spec.rest;
  rest_offset = state_bytes;
  state_bytes += sizeof(RestMembers);
  grows = true;
  const auto taken = [&](std::string_view path) {
    if (!path.empty()) no_rest.insert(Quote(ParsePath(path)->front()));
  };
  taken(spec.time);
  taken(spec.id);
  for (const KeyField& field : spec.key) {
    taken(field.path);
    no_rest.insert(Quote(field.name));
  }
  for (const Merge& merge : spec.merges) {
    taken(merge.path);
    no_rest.insert(Quote(merge.name));
  }
  no_rest.insert({Quote("_fold"), Quote("_raw")});
}

void FoldPlan::AddMarks(const FoldSpec& spec) {
  const auto plan_of = [this](const char* option, const Condition& condition) {
    return ConditionPlan(condition, [&](const std::string& path) { return AddPath(option, path); });
  };
  start_when = plan_of("start-when", spec.start_when);
  end_when = plan_of("end-when", spec.end_when);
  flush_when = plan_of("flush-when", spec.flush_when);
  cancel_when = plan_of("cancel-when", spec.cancel_when);
  if (!spec.quiet_path.empty()) quiet_slot = AddPath("quiet-path", spec.quiet_path);
  if (!spec.key_class.empty()) {
    class_slot = AddPath("class", spec.key_class);
    class_container =
        "class " + bad_line::Quoted(spec.key_class) + std::string(bad_line::kKeyContainer);
  }
  if (!spec.id.empty()) {
    const std::string shown = "id " + bad_line::Quoted(spec.id);
    id = Id{AddPath("id", spec.id), shown + std::string(bad_line::kKeyAbsent),
            shown + std::string(bad_line::kKeyContainer)};
  }
  has_control = !flush_when.empty() || !cancel_when.empty();
  has_marks = !start_when.empty() || !end_when.empty() || !spec.quiet_path.empty() ||
              !spec.key_class.empty() || id;
  close_when = ConditionPlan(spec.close_when, [&](const std::string& name) {
    const auto found = std::find_if(spec.merges.begin(), spec.merges.end(),
                                    [&](const Merge& merge) { return merge.name == name; });
    return static_cast<int>(found - spec.merges.begin());
  });
}

bool FoldPlan::MeetsCloseWhen(const void* state) {
  return close_when.Holds([&](int index) {
    const MergedValue& merge = merges[static_cast<size_t>(index)];
    merged_text.Clear();
    AppendState(merge, static_cast<const char*>(state) + merge.offset, merged_text);
    return merged_text.text();
  });
}

StateOps FoldPlan::ops() noexcept {
  StateOps ops;
  ops.size = state_bytes;
  ops.align = alignof(uint64_t);
  ops.context = this;
  ops.open = Open;
  ops.fold = Fold;
  ops.relocate = Relocate;
  ops.destroy = Destroy;
  ops.copy = Copy;
  ops.heap_bytes = grows ? StateHeapBytes : nullptr;
  ops.marks = has_marks ? Marks : nullptr;
  ops.has_ids = id.has_value();
  ops.condition = close_when.empty() ? nullptr : MeetsCondition;
  ops.weight = weight_offset == 0 ? nullptr : Weight;
  return ops;
}

void FoldPlan::AppendMerges(const void* state, LineWriter& out, CaveatNames& names) const {
  const auto at = [state](uint32_t offset) { return static_cast<const char*>(state) + offset; };
  const auto append = [&](const MergedValue& merge) {
    out.Put(',');
    out.Put(merge.label);
    const Caveats caveats = AppendState(merge, at(merge.offset), out);
    if (caveats.saturated) AddName(names.saturated, merge.quoted_name);
    if (caveats.cut) AddName(names.cut, merge.quoted_name);
  };
  std::for_each(merges.begin(), merges.end() - raw, append);
  if (rest != Rest::kDrop) {
    const auto& members = *reinterpret_cast<const RestMembers*>(at(rest_offset));
    members.AppendTo(out);
    if (members.cut()) AddName(names.cut, "\"_rest\"");
  }
  if (raw) append(merges.back());
}

}  // namespace pleat::inline v0_1
