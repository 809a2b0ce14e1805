// Conditions, for the model: what pleat::Condition and ParseCondition() promise in json.h, under naive
// JSON. Numbers are compared digit by digit, so that none is too long to be exact.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tests/model/plain_path.h"
#include "tests/support/plain_json.h"

namespace pleat::inline v0_1 {

struct PlainCondition {
  std::string op;    // = != < <= > >=, all any not; empty: there is no condition
  std::string path;  // of a comparison, as it was written
  PlainJson value;   // of a comparison
  std::vector<PlainCondition> parts;
};

// From `PATH OP VALUE`, where a PATH in quotes has no quotes inside, or from a document of comparisons
// under all, any and not. The text must be right.
PlainCondition ReadPlainCondition(const std::string& text);

// The paths of its comparisons.
void AddPlainPaths(const PlainCondition& condition, std::vector<PlainPath>& paths);

// What is at a path: null if nothing is.
using PlainLookup = std::function<PlainJson(const std::string& path)>;

// Whether the condition holds; no condition never does.
bool Holds(const PlainCondition& condition, const PlainLookup& at);

// Whether a value is a number, also one in quotes, whose text is then that between them.
bool IsPlainNumber(const PlainJson& value);

// A number in a form that equal numbers share.
std::string PlainNumberForm(const std::string& number);

// Less than, equal to or greater than 0, as the numbers `a` and `b` are, which are spelled as in JSON.
int ComparePlainNumbers(const std::string& a, const std::string& b);

}  // namespace pleat::inline v0_1
