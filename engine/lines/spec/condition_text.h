// Conditions as options: `PATH OP VALUE`, or a JSON object.
//
//   condition:   comparison, or one of {"all":[PART,...]} {"any":[PART,...]} {"not":PART}
//   part:        a JSON string with a comparison, or such an object
//   comparison:  PATH OP VALUE, white space around each allowed
//
// PATH is a path (engine/lines/scan/written_path.h) up to the first operator outside of its quotes. VALUE is a JSON
// scalar, or else text. A likely slip (==, =>, &&, AND, not, True, a comma, single quotes) is an
// error that says how to write it, or, if it is meant, to put it in quotes.
#pragma once

#include <string>
#include <string_view>

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>
#include <pleat/json_lines.h>

namespace pleat::inline v0_1 {

// How far all, any and not nest, and how many comparisons there are.
inline constexpr int kConditionLevelsMax = 16;
inline constexpr int kComparisonsMax = 256;

// Whether the option takes a condition, by its name.
inline bool TakesCondition(std::string_view option) noexcept {
  return option.ends_with("when") || option == "where";
}

// Whether `condition` can be formatted and run; `check_path` judges the path of every comparison.
// Errors: kInvalidArgument; the message does not name the option.
absl::Status CheckCondition(const Condition& condition,
                            absl::FunctionRef<absl::Status(const std::string& path)> check_path);

// The name of a merge that stands in the place of a path: in quotes if it has marks in it.
std::string MergedName(std::string_view path);

}  // namespace pleat::inline v0_1
