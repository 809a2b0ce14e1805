#include "engine/json/fold_plan.h"

#include <cstring>

#include "engine/json/reasons.h"
#include "engine/json/reducers.h"

namespace pleat::inline v0 {
namespace {

const FoldPlan& PlanOf(void* context) noexcept { return *static_cast<const FoldPlan*>(context); }

uint64_t& HeapBytes(void* state) noexcept { return *static_cast<uint64_t*>(state); }

void* At(void* state, uint32_t offset) noexcept { return static_cast<char*>(state) + offset; }

void Open(void* context, void* state) { std::memset(state, 0, PlanOf(context).state_bytes); }

int64_t Fold(void* context, void* state, const void* event_bytes) {
  const auto& event = *static_cast<const FoldEvent*>(event_bytes);
  const Operand* operand = event.operands;
  size_t growth = 0;
  for (const FoldPlan::MergedValue& merge : PlanOf(context).merges) {
    if (operand->present) {
      growth += FoldState(merge.reducer, At(state, merge.offset), *operand, event);
    }
    ++operand;
  }
  HeapBytes(state) += growth;
  return static_cast<int64_t>(growth);
}

void Relocate(void* context, void* to, void* from) {
  std::memcpy(to, from, PlanOf(context).state_bytes);
}

void Destroy(void* context, void* state) {
  for (const FoldPlan::MergedValue& merge : PlanOf(context).merges) {
    DestroyState(merge.reducer, At(state, merge.offset));
  }
}

size_t StateHeapBytes(void*, const void* state) {
  return static_cast<size_t>(*static_cast<const uint64_t*>(state));
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

int AddPath(PathTree& paths, std::string_view text) { return paths.Add(*ParsePath(text)); }

}  // namespace

FoldPlan::FoldPlan(const FoldSpec& spec)
    : time_unit(spec.time_unit), time_shift(MicrosecondShift(spec.time_unit)), meta(spec.meta) {
  for (const KeyField& field : spec.key) {
    const std::string shown = "key " + bad_line::Quoted(field.path);
    keys.push_back({AddPath(paths, field.path), Quote(field.name) + ":",
                    shown + std::string(bad_line::kKeyAbsent),
                    shown + std::string(bad_line::kKeyContainer)});
  }
  if (!spec.time.empty()) {
    time_slot = AddPath(paths, spec.time);
    time_absent = "event time " + bad_line::Quoted(spec.time) + std::string(bad_line::kKeyAbsent);
  }
  for (const Merge& merge : spec.merges) {
    const int slot = merge.path.empty() ? PathTree::kNone : AddPath(paths, merge.path);
    const std::string quoted = Quote(merge.name);
    merges.push_back({merge.reducer, slot, state_bytes, quoted + ":", quoted});
    state_bytes += StateSize(merge.reducer);
    grows |= StateGrows(merge.reducer);
  }
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
  ops.heap_bytes = grows ? StateHeapBytes : nullptr;
  return ops;
}

void FoldPlan::AppendMerges(const void* state, LineWriter& out, std::string& saturated) const {
  for (const MergedValue& merge : merges) {
    out.Put(',');
    out.Put(merge.label);
    const void* const at = static_cast<const char*>(state) + merge.offset;
    if (AppendState(merge.reducer, at, out)) continue;
    if (!saturated.empty()) saturated += ',';
    saturated += merge.quoted_name;
  }
}

}  // namespace pleat::inline v0
