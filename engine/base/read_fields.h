// Reading stored fields whose values code depends on: an instant within time, an enum that has the
// value. A value out of range fails the reading.
#pragma once

#include <cstddef>
#include <cstdint>

#include <pleat/stored.h>
#include <pleat/time.h>

namespace pleat::inline v0_1 {

// kBeginningOfTime to kNever.
inline EngineTime ReadTime(FieldReader& in) {
  EngineTime t{};
  in(t);
  return in.Expect(t >= kBeginningOfTime && t <= kNever) ? t : EngineTime{};
}
inline LeaseTime ReadLeaseTime(FieldReader& in) { return LeaseTime(ReadTime(in)); }

// A value of an enum that has the values 0 to `last`.
template <class Enum>
Enum ReadEnum(FieldReader& in, Enum last) {
  Enum value{};
  in(value);
  return in.Expect(value <= last) ? value : Enum{};
}

}  // namespace pleat::inline v0_1
