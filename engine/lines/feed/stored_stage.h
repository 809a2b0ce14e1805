// The reorder stage of a spec, and how its lines get into snapshots and back.
#pragma once

#include <memory>

#include <pleat/json_lines.h>
#include <pleat/stored.h>

#include "engine/lines/plan/event_plan.h"
#include "engine/table/reorder_stage.h"

namespace pleat::inline v0_1 {

// Null without a bound of disorder; then the other two do nothing.
std::unique_ptr<ReorderStage> StageFor(const EventSpec& spec);

void SaveStage(const ReorderStage* stage, FieldWriter& out);

// Lines are read anew, by `plan`. Any that is not what was saved fails the reader.
void LoadStage(const EventPlan& plan, ReorderStage* stage, FieldReader& in);

}  // namespace pleat::inline v0_1
