// The members at the top of a line, for advice on what they hold.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pleat::cli {

struct LineMember {
  std::string name;   // as between the quotes, with its escapes
  std::string value;  // of a text likewise; else the JSON
  bool is_text = false;
};

// In the order of the line; none if it is no JSON object.
std::vector<LineMember> MembersOf(std::string_view line);

// The text at `path`, if that is the name of a member at the top of the line; else nothing.
std::string TextAt(std::string_view line, std::string_view path);

// Where --time names a column of days, and a column whose name says that it has a time has the time of
// day: a sentence that says so. Every event would be at midnight. `time` is the option's text.
std::string AdviceOnDays(std::string_view line, std::string_view time);

}  // namespace pleat::cli
