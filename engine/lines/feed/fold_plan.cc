#include "engine/lines/feed/fold_plan.h"

#include <algorithm>
#include <cstring>

#include "engine/base/check.h"
#include "engine/lines/reduce/last_events.h"
#include "engine/lines/reduce/rest_members.h"
#include "engine/lines/scan/option_json.h"
#include "engine/lines/scan/time_paths.h"
#include "engine/lines/scan/written_path.h"
#include "engine/lines/spec/condition_text.h"
#include "engine/lines/spec/spec_text.h"

namespace pleat::inline v0_1 {
namespace {

// Another value of one of these would read stored states as something else, or make of the same
// lines other groups. The options of the folder and of the engine look after themselves.
constexpr std::string_view kStoredOptions[] = {
    "key",         "time",       "time-unit",   "class",      "start-when",
    "end-when",    "flush-when", "cancel-when", "close-when", "quiet-path",
    "close-every", "close-at",   "id",          "merge",      "rest",
    "raw",         "raw-last",   "where",       "from",       "to",
};

const FoldPlan& PlanOf(void* context) noexcept { return *static_cast<const FoldPlan*>(context); }

uint64_t& HeapBytes(void* state) noexcept { return *static_cast<uint64_t*>(state); }

void* At(void* state, uint32_t offset) noexcept { return static_cast<char*>(state) + offset; }

void Open(void* context, void* state) { std::memset(state, 0, PlanOf(context).state_bytes); }

RestMembers& RestOf(const FoldPlan& plan, void* state) noexcept {
  return *static_cast<RestMembers*>(At(state, plan.rest_offset));
}

LastEvents& LastEventsOf(const FoldPlan& plan, void* state) noexcept {
  return *static_cast<LastEvents*>(At(state, plan.raw_last_offset));
}

size_t FoldRest(RestMembers& members, const EventValue& value, const LineEvent& event, bool last) {
  PLEAT_DCHECK(value.elements % 2 == 0);
  const size_t before = members.heap_bytes();
  const std::string_view* const names_and_values = event.elements + value.first_element;
  for (uint32_t i = 0; i < value.elements; i += 2) {
    members.Fold(names_and_values[i], names_and_values[i + 1], event.at, last);
  }
  return members.heap_bytes() - before;
}

// The values behind those of the merges. Returns by how many bytes the heap memory has grown.
size_t FoldMore(const FoldPlan& plan, void* state, const EventValue* value,
                const LineEvent& event) {
  size_t growth = 0;
  if (plan.raw_last != 0) {
    LastEvents& last = LastEventsOf(plan, state);
    const size_t before = last.heap_bytes();
    last.Fold(value->text, event.at, plan.raw_last);
    growth += last.heap_bytes() - before;
    ++value;
  }
  if (plan.rest != Rest::kDrop) {
    growth += FoldRest(RestOf(plan, state), *value, event, plan.rest == Rest::kLast);
  }
  return growth;
}

int64_t Fold(void* context, void* state, const void* event_bytes) {
  const FoldPlan& plan = PlanOf(context);
  const auto& event = *static_cast<const LineEvent*>(event_bytes);
  const EventValue* value = event.values;
  size_t growth = 0;
  for (const FoldPlan::StatePart& part : plan.parts) {
    if (value->present) growth += FoldState(part, At(state, part.offset), *value, event);
    ++value;
  }
  if (plan.has_more) [[unlikely]]
    growth += FoldMore(plan, state, value, event);
  if (growth != 0) HeapBytes(state) += growth;
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
  for (const FoldPlan::StatePart& part : plan.parts) {
    heap += DetachState(part.reducer, At(to, part.offset));
  }
  if (plan.raw_last != 0) {
    LastEvents& last = LastEventsOf(plan, to);
    last.Detach();
    heap += last.heap_bytes();
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
  for (const FoldPlan::StatePart& part : plan.parts) {
    DestroyState(part.reducer, At(state, part.offset));
  }
  if (plan.raw_last != 0) LastEventsOf(plan, state).Clear();
  if (plan.rest != Rest::kDrop) RestOf(plan, state).Clear();
}

size_t StateHeapBytes(void*, const void* state) {
  return static_cast<size_t>(*static_cast<const uint64_t*>(state));
}

EventMarks Marks(void*, std::string_view, const void* event) {
  return *static_cast<const LineEvent*>(event)->marks;
}

EngineTime ClosingTime(void* context, EngineTime opened) {
  return PlanOf(context).calendar->After(opened);
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

void SaveAll(void* context, const void* state, FieldWriter& out) {
  const FoldPlan& plan = PlanOf(context);
  const auto at = [state](uint32_t offset) { return static_cast<const char*>(state) + offset; };
  for (const FoldPlan::StatePart& part : plan.parts) {
    SaveState(part.reducer, at(part.offset), out);
  }
  if (plan.raw_last != 0) {
    reinterpret_cast<const LastEvents*>(at(plan.raw_last_offset))->Save(out);
  }
  if (plan.rest != Rest::kDrop) {
    reinterpret_cast<const RestMembers*>(at(plan.rest_offset))->Save(out);
  }
  // Always, as max_group_bytes may be set or unset until the state is read again.
  out.PutNumber(plan.weight_offset == 0 ? 0 : Weight(context, state));
}

// Values that are not read remain zeros, which are a state of every kind.
void LoadAll(void* context, void* state, FieldReader& in) {
  const FoldPlan& plan = PlanOf(context);
  Open(context, state);
  size_t heap = 0;
  for (const FoldPlan::StatePart& part : plan.parts) {
    heap += LoadState(part, At(state, part.offset), in);
  }
  if (plan.raw_last != 0) {
    LastEvents& last = LastEventsOf(plan, state);
    last.Load(in, plan.raw_last);
    heap += last.heap_bytes();
  }
  if (plan.rest != Rest::kDrop) {
    RestMembers& members = RestOf(plan, state);
    members.Load(in);
    heap += members.heap_bytes();
  }
  HeapBytes(state) = heap;
  // Version 1 has no weight without max_group_bytes.
  const uint64_t weight = in.version() > 1 || plan.weight_offset != 0 ? in.Number() : 0;
  if (plan.weight_offset != 0) *static_cast<uint64_t*>(At(state, plan.weight_offset)) = weight;
}

std::string Shape(void* context, uint32_t) { return PlanOf(context).shape; }

// Those of kStoredOptions, each a line. Text of the user's may have newlines.
std::string ShapeOf(const FoldSpec& spec) {
  std::string shape;
  for (const auto& [name, text] : OptionsOf(spec)) {
    if (std::ranges::find(kStoredOptions, name) == std::end(kStoredOptions)) continue;
    shape += name + ": ";
    for (const char c : text) {
      if (c == '\n' || c == '\\') shape += '\\';
      shape += c == '\n' ? 'n' : c;
    }
    shape += '\n';
  }
  return shape;
}

std::string Quote(std::string_view name) {
  std::string out;
  AppendJsonString(name, out);
  return out;
}

const char* TypeWord(Value::Kind kind) {
  switch (kind) {
    case Value::Kind::kBool: return "booleans";
    case Value::Kind::kNumber: return "numbers";
    case Value::Kind::kArray: return "arrays";
    case Value::Kind::kObject: return "objects";
    default: return "text";
  }
}

void AddName(std::string& names, std::string_view quoted) {
  if (!names.empty()) names += ',';
  names += quoted;
}

}  // namespace

FoldPlan::FoldPlan(const FoldSpec& spec)
    : events(spec.event),
      rest(spec.rest),
      raw(spec.raw != 0),
      meta(spec.meta),
      revisions(spec.folder.edge != Edge::kTrailing || spec.folder.partial_every != kForever),
      emission_ids(spec.emission_id),
      stage(StageFor(spec.event)),
      shape(ShapeOf(spec)) {
  PLEAT_DCHECK(Validate(spec).ok());
  for (const KeyField& field : KeyMembers(spec.event))
    key_labels.push_back(Quote(field.name) + ":");
  for (auto merge = spec.merges.begin(); merge != spec.merges.end(); ++merge) {
    const auto shared = std::find_if(spec.merges.begin(), merge, [&](const Merge& earlier) {
      return ShareState(earlier, *merge);
    });
    if (shared != merge) {
      AddMergedValue(*merge, merges[static_cast<size_t>(shared - spec.merges.begin())].offset);
      continue;
    }
    const ValueForm form = FormFor(*merge);
    const bool is_member = !merge->path.empty() && merge->path != kWholeEvent;
    is_member ? events.AddValue("merge", merge->path, form) : events.AddValue(form);
    AddMerge(*merge);
  }
  if (raw) {
    events.AddValue(ValueForm::kLine);
    AddMerge({"_raw", Reducer::kArray, {}, spec.raw});
  }
  if (spec.raw_last != 0) AddLastEvents(spec);
  if (rest != Rest::kDrop) AddRest(spec);
  if (spec.folder.max_group_bytes != kNoByteCap) {
    weight_offset = state_bytes;
    state_bytes += sizeof(uint64_t);
  }
  events.AddMarks(spec.marks);
  if (!spec.event.time_zone.empty() && spec.folder.closing.every != kForever) {
    calendar.emplace(events.time_rules.zone, spec.folder.closing);
  }
  close_when = ConditionPlan(
      spec.close_when,
      [&](const std::string& name) {
        const auto found = std::ranges::find(spec.merges, MergedName(name), &Merge::name);
        PLEAT_DCHECK(found != spec.merges.end());
        return static_cast<int>(found - spec.merges.begin());
      },
      spec.event.untyped);
  tally.Begin(events);
}

void FoldPlan::AddMerge(const Merge& merge) {
  AddMergedValue(merge, state_bytes);
  parts.push_back(merges.back());
  state_bytes += StateSize(merge.reducer);
  grows |= StateGrows(merge.reducer);
}

void FoldPlan::AddMergedValue(const Merge& merge, uint32_t offset) {
  const std::string quoted = Quote(merge.name);
  merges.push_back({{RuleOf(merge), offset}, quoted + ":", quoted});
}

void FoldPlan::AddLastEvents(const FoldSpec& spec) {
  events.AddValue(ValueForm::kLine);
  raw_last = spec.raw_last;
  raw_last_offset = state_bytes;
  state_bytes += sizeof(LastEvents);
  grows = has_more = true;
}

void FoldPlan::AddRest(const FoldSpec& spec) {
  events.AddValue(ValueForm::kMembers);
  rest_offset = state_bytes;
  state_bytes += sizeof(RestMembers);
  grows = has_more = true;
  const auto take = [&](std::string_view path) {
    if (path.empty() || path == kWholeEvent) return;
    const WrittenPath written = *ParseWrittenPath(path);
    for (const PathWay& way : written.ways) {
      events.taken_names.insert(Quote(way.steps.front()));
    }
  };
  if (!spec.event.time.empty()) {
    const std::vector<std::string> paths = SplitTimePaths(spec.event.time);
    for (const std::string& path : paths) take(path);
  }
  take(spec.marks.id);
  for (const KeyField& field : KeyMembers(spec.event)) {
    take(field.path);
    events.taken_names.insert(Quote(field.name));
  }
  for (const Merge& merge : spec.merges) {
    take(merge.path);
    events.taken_names.insert(Quote(merge.name));
  }
  events.taken_names.insert({Quote("_fold"), Quote("_raw")});
  if (raw_last != 0) events.taken_names.insert(Quote("_raw_last"));
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
  ops.marks = events.has_marks ? Marks : nullptr;
  ops.has_ids = events.id.has_value();
  ops.has_close_at = events.close_at_slot != PathTree::kNone;
  ops.closing_time = calendar ? ClosingTime : nullptr;
  ops.condition = close_when.empty() ? nullptr : MeetsCondition;
  ops.weight = weight_offset == 0 ? nullptr : Weight;
  ops.save = SaveAll;
  ops.load = LoadAll;
  ops.shape = Shape;
  ops.stored_version = 2;
  return ops;
}

// The keys first, which only a plan with `distinct` has; they are drawn anew by every other process.
void FoldPlan::SaveCommon(FieldWriter& out) const {
  if (events.has_identities()) {
    for (const HashKey& key : events.identity_keys) {
      for (const uint64_t word : key) out.PutWord(word);
    }
  }
  tally.Save(events, out);
  SaveStage(stage.get(), out);
}

void FoldPlan::LoadCommon(FieldReader& in) {
  if (events.has_identities()) {
    for (HashKey& key : events.identity_keys) {
      for (uint64_t& word : key) word = in.Word();
    }
  }
  tally.Load(events, in);
  LoadStage(events, stage.get(), in);
}

std::optional<MergeMismatch> FoldPlan::Mismatch() const {
  const Mismatches seen = tally.mismatches();
  if (seen.place < 0) return std::nullopt;
  const auto place = static_cast<size_t>(seen.place);
  const EventPlan::WantedValue& wanted = events.values[place];
  const auto merge = std::ranges::find(merges, parts[place].offset, &StatePart::offset);
  const auto asked = std::ranges::find(events.asked, wanted.slot, &EventPlan::AskedPath::slot);
  PLEAT_DCHECK(merge != merges.end() && asked != events.asked.end());
  return MergeMismatch{.name = Unescaped(merge->quoted_name),
                       .reducer = std::string(NameOf(merge->reducer)),
                       .path = asked->path.path,
                       .type = TypeWord(seen.kind),
                       .only = !seen.differ};
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
  if (raw_last != 0) {
    const auto& last = *reinterpret_cast<const LastEvents*>(at(raw_last_offset));
    out.Put(",\"_raw_last\":[");
    last.AppendTo(out);
    out.Put(']');
    if (last.cut()) AddName(names.cut, "\"_raw_last\"");
  }
}

}  // namespace pleat::inline v0_1
