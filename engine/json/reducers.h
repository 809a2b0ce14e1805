// What one merge remembers of its group, one small state per reducer.
//
// The states of a group lie side by side in its slot, laid out at run time. All zeros is every
// state's beginning and moving the bytes moves the state, so that opening is a memset and relocating
// a memcpy; what a state owns on the heap (long texts, sets) is freed by DestroyState(). Everything
// that can be worked out from the event alone is in the Operand, before any lock is taken.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <pleat/json.h>

#include "engine/json/line_writer.h"
#include "engine/json/number.h"

namespace pleat::inline v0 {

// What one event brings to one merge.
struct Operand {
  bool present = false;      // false: nothing; the rest is not set
  uint32_t elements = 0;     // keys, set: how many of the batch's elements are this operand's,
  size_t first_element = 0;  // and where they begin
  std::string_view text;     // min, max, first, last, and a set's only element: canonical
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

struct ReducerName {
  std::string_view name;
  Reducer reducer;
};
inline constexpr ReducerName kReducerNames[] = {
    {"keys", Reducer::kKeys},   {"set", Reducer::kSet},     {"sum", Reducer::kSum},
    {"min", Reducer::kMin},     {"max", Reducer::kMax},     {"mean", Reducer::kMean},
    {"count", Reducer::kCount}, {"first", Reducer::kFirst}, {"last", Reducer::kLast},
};

// Bytes of a state; a multiple of 8, which is also its alignment.
uint32_t StateSize(Reducer reducer) noexcept;

// Whether a state can own heap memory.
bool StateGrows(Reducer reducer) noexcept;

// Folds a present operand; returns by how many bytes the heap it owns has grown.
size_t FoldState(Reducer reducer, void* state, const Operand& operand, const FoldEvent& event);

void DestroyState(Reducer reducer, void* state) noexcept;

// Appends the merged value as JSON. Returns false if a sum saturated on the way.
bool AppendState(Reducer reducer, const void* state, LineWriter& out);

}  // namespace pleat::inline v0
