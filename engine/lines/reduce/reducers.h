// The state of one merge of a group, a small one for each reducer.
//
// The states of a group lie side by side in its slot, laid out at run time. Every state begins as
// zeros, and moving the bytes moves the state. So opening is a memset, and relocating a memcpy.
// DestroyState() frees the heap memory that a state owns (long texts, sets). Whatever the event
// alone decides is in the EventValue already, before any lock is taken.
//
// A bounded state that has cut something off never changes again, so later events cost it nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <pleat/json.h>
#include <pleat/stored.h>

#include "engine/lines/reduce/line_writer.h"
#include "engine/lines/scan/event.h"

namespace pleat::inline v0_1 {

// A reducer with its arguments.
struct MergeRule {
  Reducer reducer;
  uint64_t bound;            // of elements; kConcat: of bytes
  std::string separator;     // kConcat: canonical, without its quotes
  uint64_t separator_bytes;  // unescaped
};
MergeRule RuleOf(const Merge& merge);

struct ReducerName {
  std::string_view name;
  Reducer reducer;
};
inline constexpr ReducerName kReducerNames[] = {
    {"keys", Reducer::kKeys},         {"set", Reducer::kSet},     {"sum", Reducer::kSum},
    {"min", Reducer::kMin},           {"max", Reducer::kMax},     {"mean", Reducer::kMean},
    {"count", Reducer::kCount},       {"first", Reducer::kFirst}, {"last", Reducer::kLast},
    {"distinct", Reducer::kDistinct}, {"array", Reducer::kArray}, {"concat", Reducer::kConcat},
    {"duration", Reducer::kDuration}, {"p50", Reducer::kP50},     {"p90", Reducer::kP90},
    {"p95", Reducer::kP95},           {"p99", Reducer::kP99},     {"p999", Reducer::kP999},
    {"top", Reducer::kTop},
};

// Whether two merges can have one state, because they differ only in what they tell of it.
bool ShareState(const Merge& a, const Merge& b) noexcept;

// Bytes of a state; a multiple of 8, which is also its alignment.
uint32_t StateSize(Reducer reducer) noexcept;

// Whether a state can own heap memory.
bool StateGrows(Reducer reducer) noexcept;

// The form in which a merge takes the values at its path.
ValueForm FormFor(const Merge& merge) noexcept;

// Folds a value that is present. Returns by how many bytes the heap memory of the state has grown.
size_t FoldState(const MergeRule& rule, void* state, const EventValue& value,
                 const LineEvent& event);

// Makes a state that is a copy of another state's bytes own its heap memory. Returns how many bytes
// that is.
size_t DetachState(Reducer reducer, void* state);

void DestroyState(Reducer reducer, void* state) noexcept;

// A state that was loaded folds on, and is printed, as the one that was saved.
void SaveState(Reducer reducer, const void* state, FieldWriter& out);

// Loads a state that is zeros, and returns how many bytes of heap memory it owns. Any bytes are
// safe: whatever folding and comparing take for granted of a value is checked. That it is JSON is
// not.
size_t LoadState(const MergeRule& rule, void* state, FieldReader& in);

// Remarks on a merged value, for "_fold".
struct Caveats {
  bool saturated = false;  // a sum stayed at the end of its type
  bool cut = false;        // a bound left something out
};

// Appends the merged value as JSON.
Caveats AppendState(const MergeRule& rule, const void* state, LineWriter& out);

}  // namespace pleat::inline v0_1
