// What the episodes of live sets and of presence draw alike: names, and how times are shown.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <pleat/time.h>

#include "tests/model/choices.h"

namespace pleat::inline v0_1 {

// `count` different names: short or long, one of them empty, and now and then two more, the longest
// that is allowed and the first that is too long.
std::vector<std::string> DrawNames(Choices& choices, char first, size_t count);

// In microseconds; an instant counts from where the tests start.
std::string ShortText(EngineTime t);
std::string ShortText(Duration d);

}  // namespace pleat::inline v0_1
