// One event as it was read from a line: its stamp, its marks, and the values that a plan wants,
// each in the form that is wanted.
//
// All texts are canonical (text.h). A text lies in the line itself if it is canonical there, and
// else in the batch of the event (event_batch.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include <pleat/time.h>
#include <pleat/untyped/any_folder.h>

#include "engine/lines/scan/number.h"

namespace pleat::inline v0_1 {

// The form in which a value is wanted. A null counts as absent in all forms.
enum class ValueForm : uint8_t {
  kEvent,       // the event itself counts; no member is read
  kPresence,    // whether the member is there
  kText,        // the text of any value
  kNumber,      // a number, also in quotes; also as text, without them
  kRounded,     // the code of a rounded number (rounded_counts.h)
  kPiece,       // the text of a scalar; of a string without its quotes
  kElements,    // the elements of an array; of any other value its text
  kIdentities,  // the same, but a short mark in place of each long one
  kNames,       // the member names of an object
  kLine,        // the whole line, no member
  kMembers,     // names and values of the members at the top that nobody else takes
};

// A value in the form that is wanted.
struct EventValue {
  bool present = false;      // false: absent, or of another form; the rest is not set
  bool odd = false;          // kElements: some number is not in normal form (normal.h)
  uint32_t elements = 0;     // kElements, kNames...: how many elements of the batch belong to it,
  size_t first_element = 0;  // and the first of them
  uint32_t bytes = 0;        // kPiece: of the text, unescaped
  std::string_view text;     // kText, kNumber, kPiece, kLine, and an only element
  Number number;             // kNumber; kRounded: the code is `whole`
};

// What an event says about the member of a series that it is about, for a collection of members.
struct MemberMarks {
  std::string_view id;  // its scalars, joined as those of a key
  Duration ttl{0};      // of its own; 0: none
  std::optional<uint64_t> version;
};

// The part of an event that a collection folds.
struct LineEvent {
  EngineTime at;
  const EventValue* values;          // as many as are wanted
  const std::string_view* elements;  // of all events of the batch
  uint32_t mismatched;  // values that are there, but of a form that their option does not take
  uint32_t line_bytes;
  const EventMarks* marks;  // null if no event of the plan has any
};

}  // namespace pleat::inline v0_1
