// A member found in a line: its type and its text.
//
// The text is a piece of the line itself, checked but not copied. A value lives as long as the
// line.
#pragma once

#include <cstdint>
#include <string_view>

namespace pleat::inline v0_1 {

// A cache line each, so that scanners of several threads never write to one line.
struct alignas(64) Value {
  enum class Kind : uint8_t { kAbsent, kNull, kBool, kNumber, kString, kArray, kObject };

  Kind kind = Kind::kAbsent;

  // Whether `text` is canonical as it stands, and tells the value from any other: a scalar without a
  // backslash, and no number but a short integer (normal.h).
  bool plain = false;

  // Whether this is a number for which IsShortInteger() is true.
  bool short_integer = false;

  std::string_view text;  // quotes and brackets included, white space around it not

  bool present() const noexcept { return kind > Kind::kNull; }
  bool scalar() const noexcept { return kind != Kind::kAbsent && kind < Kind::kArray; }
};

}  // namespace pleat::inline v0_1
