// JsonEvents: lines are read as for every collection, and handed on one by one.
#include <pleat/untyped/json_events.h>

#include <utility>

#include "engine/base/check.h"
#include "engine/lines/feed/line_tally.h"
#include "engine/lines/feed/read_lines.h"
#include "engine/lines/plan/event_plan.h"
#include "engine/lines/plan/event_reader.h"
#include "engine/lines/scan/option_json.h"
#include "engine/lines/scan/path.h"
#include "engine/lines/scan/text.h"
#include "engine/lines/spec/spec_check.h"
#include "engine/table/spelled_key.h"

namespace pleat::inline v0_1 {
namespace {

// The text that a canonical scalar stands for.
std::string_view TextOf(std::string_view canonical, TextArena& texts) {
  if (!canonical.starts_with('"')) return canonical;
  canonical = canonical.substr(1, canonical.size() - 2);
  if (canonical.find('\\') == canonical.npos) return canonical;
  return texts.Take(WriteUnescaped(canonical, texts.Reserve(canonical.size())));
}

}  // namespace

class [[gnu::visibility("hidden")]] JsonEvents::Impl {
 public:
  Impl(const EventSpec& spec, std::string_view id) : plan_(PlanOf(spec, id)), reader_(plan_) {
    tally_.Begin(plan_);
  }

  void Take(ReadLines& lines, EngineTime now, Keep keep, OnUnusualLine on_unusual) {
    tally_.Note(lines.reader(), lines.batch());
    const auto take_events = [&](size_t end) {
      while (lines.next_event < end) {
        const size_t i = lines.next_event;
        lines.TakenUpTo(i + 1);
        if (!TakeEvent(lines.sources()[i], lines.batch(), i, now, keep, on_unusual)) return false;
      }
      return true;
    };
    const auto take_other = [&](const ReadLines::NoEvent& other) {
      LineResult result = other.result;
      if (result.kind == LineResult::Kind::kWaiting) {
        event_.Clear();
        const std::optional<EngineTime> newest = tally_.newest();
        reader_.DecideBy(newest ? newest : plan_.FirstNear(now));
        result.kind = reader_.Read(other.line.text(), event_);
        if (result.kind == LineResult::Kind::kEvent)
          return TakeEvent(other.line, event_, 0, now, keep, on_unusual);
        result.reason = reader_.reason();
        result.about = reader_.about();
      }
      if (result.kind == LineResult::Kind::kInvalid) tally_.AddInvalid();
      return on_unusual({other.line.index, other.line.text(), result});
    };
    lines.Take(SIZE_MAX, take_events, take_other);
    tally_.AddExcluded(lines.TakeExcluded());
  }

  LineResult TakeLongLine(std::string_view beginning) {
    event_.Clear();
    const LineResult::Kind kind = reader_.Read(beginning, event_);
    PLEAT_CHECK(kind == LineResult::Kind::kInvalid);
    tally_.AddInvalid();
    return {.kind = kind, .reason = reader_.reason(), .about = reader_.about()};
  }

  const EventPlan& plan() const noexcept { return plan_; }
  LineTally& tally() noexcept { return tally_; }

 private:
  static EventPlan PlanOf(const EventSpec& spec, std::string_view id) {
    EventPlan plan(spec);
    if (!id.empty()) plan.AddId(std::string(id));
    plan.paths.AskForAll();  // the line is kept
    return plan;
  }

  bool TakeEvent(const ReadLines::Line& line, EventBatch& batch, size_t i, EngineTime now,
                 Keep keep, OnUnusualLine on_unusual) {
    const bool is_stamped = plan_.time_slot != PathTree::kNone;
    JsonEvent event{.index = line.index,
                    .line = Trimmed(line.text()),
                    .key = SpelledKey::Of(batch.events[i].key).identity,
                    .id = {},
                    .at = is_stamped ? batch.events[i].at : now};
    if (plan_.keys.size() == 1) event.key = TextOf(event.key, batch.texts);
    if (plan_.id) event.id = TextOf(batch.marks[i].id, batch.texts);
    const std::string_view refused = keep(event);
    if (refused.empty()) {
      tally_.AddEvents(1);
      if (is_stamped) tally_.NoteStamp(event.at);
      return true;
    }
    tally_.AddInvalid();
    return on_unusual({line.index, line.text(), {LineResult::Kind::kInvalid, {}, refused}});
  }

  const EventPlan plan_;
  LineTally tally_;
  EventReader reader_;  // of TakeLongLine(), and of lines that may be at several instants
  EventBatch event_;    // of those
};

absl::StatusOr<std::unique_ptr<JsonEvents>> JsonEvents::Open(const EventSpec& spec,
                                                             std::string_view id) {
  PLEAT_CHECK(spec.reorder == Duration{0} && spec.future_limit == kForever);
  if (absl::Status valid = Validate(spec); !valid.ok()) return valid;
  if (absl::Status valid = CheckPathsOf({{"id", id}}); !valid.ok()) return valid;
  return std::unique_ptr<JsonEvents>(new JsonEvents(std::make_unique<Impl>(spec, id)));
}

JsonEvents::JsonEvents(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
JsonEvents::~JsonEvents() = default;

void JsonEvents::Take(JsonLines& lines, EngineTime now, Keep keep, OnUnusualLine on_unusual) {
  impl_->Take(lines.read(), now, keep, on_unusual);
}
LineResult JsonEvents::TakeLongLine(std::string_view beginning) {
  return impl_->TakeLongLine(beginning);
}
void JsonEvents::StartInput() noexcept { impl_->tally().StartInput(); }
LineCounts JsonEvents::counts() const noexcept { return impl_->tally().counts(); }
StampCounts JsonEvents::stamps() const noexcept { return impl_->tally().stamps(); }
std::vector<OptionPath> JsonEvents::absent_paths() const {
  return impl_->tally().Absent(impl_->plan());
}
std::vector<OptionPath> JsonEvents::asked_paths() const { return impl_->plan().Asked(); }
const EventPlan& JsonEvents::plan() const noexcept { return impl_->plan(); }

}  // namespace pleat::inline v0_1
