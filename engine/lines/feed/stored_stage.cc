#include "engine/lines/feed/stored_stage.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/read_fields.h"
#include "engine/lines/plan/event_batch.h"
#include "engine/lines/plan/event_reader.h"

namespace pleat::inline v0_1 {
namespace {

// Puts a line back. Returns false if it is not one that waits.
bool PutBack(EventReader& reader, EventBatch& batch, std::string& line, EngineTime at,
             uint64_t position, size_t words, ReorderStage& stage) {
  const size_t size = line.size();
  line.append(kLinePaddingBytes, ' ');
  const std::string_view text(line.data(), size);
  batch.Clear();
  const LineResult::Kind kind = reader.Read(text, batch);
  const bool is_control = kind == LineResult::Kind::kControl;
  if (kind != LineResult::Kind::kEvent && !is_control) return false;
  const EngineTime read = is_control ? reader.control().at : batch.events[0].at;
  const bool waits = at >= stage.passed() && at <= stage.newest() && stage.HasPlaceFor(at);
  if (read != at || !waits || position >= stage.arrived()) return false;
  static_assert(kPaddingBytes >= kLinePaddingBytes);
  std::vector<uint32_t> places(words);
  reader.WritePlaces(places.data());
  stage.Put({.at = at,
             .position = position,
             .size = static_cast<uint32_t>(size),
             .words = static_cast<uint32_t>(places.size()),
             .is_control = is_control},
            places.data(), text);
  return true;
}

}  // namespace

std::unique_ptr<ReorderStage> StageFor(const EventSpec& spec) {
  if (spec.reorder == Duration{0}) return nullptr;
  return std::make_unique<ReorderStage>(spec.reorder, spec.future_limit, spec.max_waiting_bytes);
}

absl::StatusOr<std::unique_ptr<AnyIntake>> TakeIntake(Engine& engine, const EventSpec& spec) {
  if (spec.reorder == Duration{0}) return nullptr;
  absl::StatusOr<AnyIntake> intake = AnyIntake::Open(engine, {});
  if (intake.ok()) return std::make_unique<AnyIntake>(*std::move(intake));
  if (!absl::IsAlreadyExists(intake.status())) return intake.status();
  return absl::AlreadyExistsError(
      "reorder: the engine has a collection whose lines wait, or an intake; open another engine");
}

void SaveStage(const ReorderStage* stage, FieldWriter& out) {
  if (stage == nullptr) return;
  stage->SaveTimes(out);
  // In the order of their turns, so that the bytes tell nothing of where each line waits.
  out.PutNumber(stage->waiting());
  for (const WaitingEntry& each : stage->InTurn()) {
    out(each.at, each.position);
    out.PutBytes(each.event->text());
  }
}

void LoadStage(const EventPlan& plan, ReorderStage* stage, FieldReader& in) {
  if (stage == nullptr) return;
  stage->Clear();
  stage->LoadTimes(in);
  EventReader reader(plan);
  EventBatch batch;
  const auto words = static_cast<size_t>(plan.paths.slots());
  for (uint64_t left = in.Number(); left > 0 && in.ok(); --left) {
    const EngineTime at = ReadTime(in);
    const uint64_t position = in.Number();
    std::string line;
    in(line);
    in.Expect(in.ok() && PutBack(reader, batch, line, at, position, words, *stage));
  }
}

}  // namespace pleat::inline v0_1
