#include "engine/lines/feed/stored_stage.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/read_fields.h"
#include "engine/lines/plan/event_batch.h"
#include "engine/lines/plan/event_reader.h"

namespace pleat::inline v0_1 {
namespace {

class WaitingRest final : public Companion::Rest {
 public:
  explicit WaitingRest(std::unique_ptr<WaitingCopy> copy) : copy_(std::move(copy)) {}
  bool SaveNext(FieldWriter& out) override { return copy_->SaveNext(out); }

 private:
  const std::unique_ptr<WaitingCopy> copy_;
};

// Reads lines anew, to put them back.
class LinesBack {
 public:
  LinesBack(const EventPlan& plan, ReorderStage& stage)
      : stage_(stage), reader_(plan), places_(static_cast<size_t>(plan.paths.slots())) {}

  // Returns false if the line is not one that waits.
  bool Put(const LoadedEvent& loaded, std::string& line) {
    const size_t size = line.size();
    line.append(kLinePaddingBytes, ' ');
    const std::string_view text(line.data(), size);
    batch_.Clear();
    reader_.DecideBy(loaded.at);  // which was decided when it came
    const LineResult::Kind kind = reader_.Read(text, batch_);
    const bool is_control = kind == LineResult::Kind::kControl;
    if (kind != LineResult::Kind::kEvent && !is_control) return false;
    if (loaded.at != (is_control ? reader_.control().at : batch_.events[0].at)) return false;
    static_assert(kPaddingBytes >= kLinePaddingBytes);
    reader_.WritePlaces(places_.data());
    stage_.PutBack({.at = loaded.at,
                    .position = loaded.position,
                    .size = static_cast<uint32_t>(size),
                    .words = static_cast<uint32_t>(places_.size()),
                    .is_control = is_control},
                   places_.data(), text);
    return true;
  }

 private:
  ReorderStage& stage_;
  EventReader reader_;
  EventBatch batch_;
  std::vector<uint32_t> places_;
};

// Reads `count` lines; or all, with a byte before each.
void LoadLines(const EventPlan& plan, ReorderStage& stage, std::optional<uint64_t> count,
               FieldReader& in) {
  LinesBack lines(plan, stage);
  stage.LoadEvents(in, count, [&](const LoadedEvent& loaded, std::string& line) {
    return lines.Put(loaded, line);
  });
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
      "reorder: the engine has a collection whose lines wait, or an intake; give lines to several "
      "by a "
      "JsonIntake, or open another engine");
}

void SaveStage(const ReorderStage* stage, FieldWriter& out) {
  if (stage == nullptr) return;
  stage->SaveTimes(out);
  out.PutNumber(0);
}

// Earlier versions had the lines here, behind their number.
void LoadStage(const EventPlan& plan, ReorderStage* stage, FieldReader& in) {
  if (stage == nullptr) return;
  stage->Clear();
  stage->LoadTimes(in);
  LoadLines(plan, *stage, in.Number(), in);
}

std::unique_ptr<Companion::Rest> BeginWaiting(ReorderStage* stage) {
  if (stage == nullptr || stage->waiting() == 0) return nullptr;
  return std::make_unique<WaitingRest>(stage->Copy());
}

void LoadWaiting(const EventPlan& plan, ReorderStage* stage, FieldReader& in) {
  if (stage == nullptr) return in.Fail();
  LoadLines(plan, *stage, std::nullopt, in);
}

}  // namespace pleat::inline v0_1
