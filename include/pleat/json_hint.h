// What to say of a path that leads to no member of a line: the path that is likely meant, and what
// there is in its place; and of a condition that no line meets.
//
//   {"Actor":{"login":"ann"},"at":5}  and the path actor.login:
//   meant  Actor.login
//   has    has "Actor", "at"          of the line itself, so that `place` is empty
//
// A hint takes the line apart anew, which costs far more than reading it: it is for a line that was
// refused, once for each path.
#pragma once

#include <string>
#include <string_view>

#include <pleat/export.h>
#include <pleat/json_text.h>

namespace pleat::inline v0_1 {

// A path of a spec, and the option that it belongs to.
struct OptionPath {
  std::string option;
  std::string path;

  friend bool operator==(const OptionPath&, const OptionPath&) = default;
};

struct PathHint {
  // A path of the line that differs from the one asked for in the case of letters, in _ and -, or
  // in a letter or two; that goes into an array; that was written for jq or as JSONPath, as .a,
  // $.a or a[0]; that is a JSON Pointer, as a name has dots; or that leads to the same name
  // elsewhere. Empty if there is none, or if `in_list`.
  std::string meant;

  // The place up to which the path leads, or that list: its own path in quotes, or empty for the
  // whole line.
  std::string place;

  // What is there, for people: `has "user", "time" and 3 more`, `is an array of 2`, `is a number`.
  // If `in_list`, also how to make lines of the list's elements. All three are empty if the path
  // leads to a scalar, or the line is no JSON object.
  std::string has;

  // Whether the suggested path goes into a list of objects, which is at `place`. With an index in
  // the path, only one of the objects would count.
  bool in_list = false;
};

// REQUIRES: `path` is well formed.
PLEAT_EXPORT PathHint HintFor(std::string_view line, std::string_view path);

// What keeps `condition` from holding, for people: comparisons of a member of the line with a value
// of another type, which never hold, such as `"status" is a number, "5xx" is text`. Empty if there
// is no such comparison, or the line is no JSON object. Comparisons under `not` are left out.
PLEAT_EXPORT std::string TypeHintFor(std::string_view line, const Condition& condition);

}  // namespace pleat::inline v0_1
