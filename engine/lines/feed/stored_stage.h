// The reorder stage of a spec, and how its lines get into snapshots and back.
#pragma once

#include <memory>

#include <absl/status/statusor.h>
#include <pleat/engine.h>
#include <pleat/json_lines.h>
#include <pleat/stored.h>
#include <pleat/untyped/any_intake.h>
#include <pleat/untyped/companion.h>

#include "engine/lines/plan/event_plan.h"
#include "engine/table/reorder_stage.h"

namespace pleat::inline v0_1 {

// Null without a bound of disorder; then the others do nothing.
std::unique_ptr<ReorderStage> StageFor(const EventSpec& spec);

// With a bound, the one intake of the engine, as long as it is kept: another collection with lines that
// wait, or another intake, would move time ahead of them. Else null.
absl::StatusOr<std::unique_ptr<AnyIntake>> TakeIntake(Engine& engine, const EventSpec& spec);

// The times of the stage.
void SaveStage(const ReorderStage* stage, FieldWriter& out);
void LoadStage(const EventPlan& plan, ReorderStage* stage, FieldReader& in);

// The lines that wait. Null: there are none.
std::unique_ptr<Companion::Rest> BeginWaiting(ReorderStage* stage);
// Lines are read anew, by `plan`. Any that is not what was saved fails the reader.
void LoadWaiting(const EventPlan& plan, ReorderStage* stage, FieldReader& in);

}  // namespace pleat::inline v0_1
