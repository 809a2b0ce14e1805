// The identity of a key, or of a member: the canonical texts of some scalars, joined by commas. A
// comma inside a string is inside quotes, so that no two tuples are ever confused. One with numbers that
// are not in normal form has two texts (spelled_key.h), of which the one that came is printed.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "engine/lines/reduce/line_writer.h"

namespace pleat::inline v0_1 {

// Appends each of the scalars behind its label, which is its name in quotes and a colon, with commas
// between them. REQUIRES: as many labels as scalars.
void AppendScalars(std::span<const std::string> labels, std::string_view joined, LineWriter& out);

}  // namespace pleat::inline v0_1
