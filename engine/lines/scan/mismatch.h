// Values of a type or form that their option does not take: the place in the plan and the type of
// the first one, and whether all were alike. The counts are elsewhere; this is for people.
#pragma once

#include "engine/lines/scan/value.h"

namespace pleat::inline v0_1 {

struct Mismatches {
  int place = -1;  // among EventPlan::values, of the first; -1: there was none
  Value::Kind kind = Value::Kind::kAbsent;
  bool differ = false;  // in place or type

  void Note(const Mismatches& later) noexcept {
    if (later.place < 0) return;
    if (place < 0) {
      const bool differed = differ;
      *this = later;
      differ |= differed;
      return;
    }
    differ |= later.differ || later.place != place || later.kind != kind;
  }

  // Whether Note(later) would change anything.
  bool WouldNote(const Mismatches& later) const noexcept {
    if (later.place < 0 || (place >= 0 && differ)) return false;
    Mismatches noted = *this;
    noted.Note(later);
    return noted != *this;
  }

  friend bool operator==(const Mismatches&, const Mismatches&) = default;
};

}  // namespace pleat::inline v0_1
