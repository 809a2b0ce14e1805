// What one merge remembers of its group, one small state per reducer.
//
// The states of a group lie side by side in its slot, laid out at run time. All zeros is every
// state's beginning and moving the bytes moves the state, so that opening is a memset and relocating
// a memcpy; what a state owns on the heap (long texts, sets) is freed by DestroyState(). Everything
// that can be worked out from the event alone is in the Operand, before any lock is taken.
//
// A bounded state that has cut something stays as it is, so that from then on an event costs it
// nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <pleat/json.h>

#include "engine/json/line_writer.h"
#include "engine/json/number.h"

namespace pleat::inline v0_1 {

// What one event brings to one merge.
struct Operand {
  bool present = false;      // false: nothing; the rest is not set
  uint32_t elements = 0;     // keys, set...: how many of the batch's elements are this operand's,
  size_t first_element = 0;  // and where they begin
  uint32_t bytes = 0;        // concat: of the text, unescaped
  std::string_view text;     // min, max, first, last, concat, and a set's only element: canonical
  Number number;             // sum, mean, min, max
};

// One event as the engine hands it to the fold function.
struct FoldEvent {
  EngineTime at;
  const Operand* operands;           // one for each merge
  const std::string_view* elements;  // of the batch, canonical
  uint32_t mismatched;               // values that a reducer could not take
  uint32_t line_bytes;
  const EventMarks* marks;  // null if no event of the plan has any
};

// A reducer with what it was told.
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
};

// Bytes of a state; a multiple of 8, which is also its alignment.
uint32_t StateSize(Reducer reducer) noexcept;

// Whether a state can own heap memory.
bool StateGrows(Reducer reducer) noexcept;

// Folds a present operand; returns by how many bytes the heap it owns has grown.
size_t FoldState(const MergeRule& rule, void* state, const Operand& operand,
                 const FoldEvent& event);

// Makes a state that is a copy of another one's bytes a state of its own; returns how many bytes of
// heap it owns.
size_t DetachState(Reducer reducer, void* state);

void DestroyState(Reducer reducer, void* state) noexcept;

// What has to be said of a merged value.
struct Caveats {
  bool saturated = false;  // a sum stayed at the end of its type
  bool cut = false;        // a bound left something out
};

// Appends the merged value as JSON.
Caveats AppendState(const MergeRule& rule, const void* state, LineWriter& out);

}  // namespace pleat::inline v0_1
