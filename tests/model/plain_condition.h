// Conditions, for the model: what pleat::Condition and ParseCondition() promise in json.h, under naive
// JSON. Numbers are compared digit by digit, so that none is too long to be exact.
#pragma once

#include <functional>
#include <string>
#include <vector>

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

// What is at a path: null if nothing is.
using PlainLookup = std::function<PlainJson(const std::string& path)>;

// Whether the condition holds; no condition never does.
bool Holds(const PlainCondition& condition, const PlainLookup& at);

// Less than, equal to or greater than 0, as the numbers `a` and `b` are, which are spelled as in JSON.
int ComparePlainNumbers(const std::string& a, const std::string& b);

}  // namespace pleat::inline v0_1
