// The const functions of a text that give what may be written: a reference, a pointer or a span to
// what is not const. Whoever may only read an object could change it by one of these, past what the
// object does before it changes.
#pragma once

#include <set>
#include <string>

namespace pleat_structure {

// Their names.
std::set<std::string> ConstThatWritesIn(const std::string& text);

}  // namespace pleat_structure
