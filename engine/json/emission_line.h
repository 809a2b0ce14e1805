// One emission as one line of JSON.
#pragma once

#include <string>
#include <string_view>

#include <pleat/any_folder.h>

#include "engine/json/fold_plan.h"

namespace pleat::inline v0 {

// Appends the line of `group`, its '\n' included. Does not touch the state's ownership.
void AppendEmission(const FoldPlan& plan, const ClosedGroup& group, std::string& out);

}  // namespace pleat::inline v0
