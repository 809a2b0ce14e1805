// How many data members the classes of a text have, by the names that house style gives them: those
// of a class end in `_`. A struct whose members are for all to see has none by this count.
#pragma once

#include <map>
#include <string>

namespace pleat_structure {

// By name; nested classes as Outer::Inner.
std::map<std::string, int> DataMembersIn(const std::string& text);

}  // namespace pleat_structure
