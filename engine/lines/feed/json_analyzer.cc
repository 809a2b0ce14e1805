// JsonAnalyzer: an Analyzer that takes the key and the stamp of each line. With a bound of disorder
// the keys wait for their turn.
#include <algorithm>
#include <utility>

#include <pleat/json_analysis.h>

#include "engine/lines/feed/read_lines.h"
#include "engine/lines/feed/stored_stage.h"
#include "engine/lines/plan/event_plan.h"
#include "engine/lines/plan/event_reader.h"
#include "engine/lines/scan/reasons.h"
#include "engine/table/spelled_key.h"

namespace pleat::inline v0_1 {

class [[gnu::visibility("hidden")]] JsonAnalyzer::Impl {
 public:
  Impl(const EventSpec& spec, AnalyzerOptions options)
      : plan_(spec),
        future_limit_(spec.future_limit),
        stage_(StageFor(spec)),
        reader_(plan_),
        analyzer_(std::move(options)) {}

  void Add(ReadLines& lines, OnUnusualLine on_unusual) {
    assumed_utc_ |= lines.reader().assumed_utc();
    const auto add_events = [&](size_t end) {
      while (lines.next_event < end) {
        const size_t i = lines.next_event;
        const ReadLines::Line& line = lines.sources()[i];
        lines.TakenUpTo(i + 1);
        if (AddEvent(lines.batch().events[i])) continue;
        if (!on_unusual({line.index, line.text(), kInTheFuture})) return false;
      }
      return true;
    };
    const auto add_other = [&](const ReadLines::NoEvent& other) {
      LineResult result = other.result;
      if (result.kind == LineResult::Kind::kWaiting) {
        newest_read_ = std::max(newest_read_, lines.NewestExcludedBefore(other.line.index));
        result = ReadAlone(other.line.text());
        if (result.kind == LineResult::Kind::kEvent || result.kind == LineResult::Kind::kExcluded)
          return true;
      } else if (result.kind == LineResult::Kind::kInvalid) {
        CountInvalid();
      }
      return on_unusual({other.line.index, other.line.text(), result});
    };
    lines.Take(SIZE_MAX, add_events, add_other);
    CountExcluded(lines.TakeExcluded());
    counts_.not_numbers += std::exchange(lines.batch().not_numbers, 0);
    newest_read_ = std::max(newest_read_, lines.NewestExcludedBefore(lines.next_line));
    if (stage_ != nullptr) AddDue();
  }

  LineResult AddLine(std::string_view line) {
    const LineResult result = ReadAlone(line);
    if (result.kind == LineResult::Kind::kEvent && stage_ != nullptr) AddDue();
    return result;
  }

  const EventPlan& plan() const noexcept { return plan_; }
  LineCounts counts() const noexcept {
    LineCounts counts = counts_;
    if (stage_ == nullptr) return counts;
    counts.waiting = stage_->waiting();
    counts.events -= counts.waiting;
    counts.released_early = stage_->taken_early();
    return counts;
  }
  const Analyzer& analyzer() const noexcept { return analyzer_; }
  bool assumed_utc() const noexcept { return assumed_utc_ || reader_.assumed_utc(); }
  uint64_t out_of_order() const noexcept { return out_of_order_; }
  std::unique_ptr<const Analysis> Finish() {
    if (stage_ != nullptr) {
      stage_->Advance(stage_->newest());
      AddDue();
    }
    return std::move(analyzer_).Finish();
  }

 private:
  static constexpr LineResult kInTheFuture{LineResult::Kind::kInvalid, FoldOutcome::kOpened,
                                           invalid_line::kFuture};

  LineResult ReadAlone(std::string_view line) {
    event_.Clear();
    const EngineTime newest = std::max(newest_, newest_read_);
    if (newest != kBeginningOfTime) {
      reader_.DecideBy(newest);
    } else {
      reader_.DecideBy(std::nullopt);
    }
    const LineResult::Kind kind = reader_.Read(line, event_);
    counts_.not_numbers += std::exchange(event_.not_numbers, 0);
    if (kind == LineResult::Kind::kBlank) return {};
    if (kind == LineResult::Kind::kInvalid) CountInvalid();
    if (kind == LineResult::Kind::kExcluded) {
      CountExcluded(1);
      newest_read_ = std::max(newest_read_, reader_.excluded_at());
    }
    if (kind != LineResult::Kind::kEvent) {
      return {.kind = kind, .reason = reader_.reason(), .about = reader_.about()};
    }
    if (!AddEvent(event_.events.front())) return kInTheFuture;
    return {kind, {}, {}};
  }
  // Returns false if the event lies beyond the future limit.
  bool AddEvent(const KeyedEvent<LineEvent>& event) {
    const bool is_future = stage_ == nullptr
                               ? IsBeyondFuture(event.at, analyzer_.now(), future_limit_)
                               : stage_->IsTooFarAhead(event.at);
    if (is_future) {
      CountInvalid();
      return false;
    }
    out_of_order_ += static_cast<uint64_t>(event.at < newest_);
    newest_ = std::max(newest_, event.at);
    const std::string_view key = SpelledKey::Of(event.key).identity;
    if (stage_ == nullptr) {
      analyzer_.Add(key, event.at);
    } else {
      Arrive(key, event.at);
    }
    ++counts_.lines;
    ++counts_.events;
    return true;
  }
  void Arrive(std::string_view key, EngineTime at) {
    stage_->NoteStamp(at);
    const uint64_t position = stage_->CountArrived(1);
    if (at < stage_->passed()) {
      AddDue();
      analyzer_.Add(key, at);
      return;
    }
    if (!stage_->HasPlaceFor(at)) AddDue();
    stage_->Put({.at = at,
                 .position = position,
                 .size = static_cast<uint32_t>(key.size()),
                 .words = 0,
                 .is_control = false},
                nullptr, key);
    if (!stage_->is_over_limit()) return;
    AddDue();
    while (const WaitingEvent* line = stage_->TakeOverLimit()) AddWaiting(*line);
  }
  void AddDue() {
    while (const WaitingEvent* line = stage_->TakeDue()) AddWaiting(*line);
    analyzer_.Advance(stage_->watermark());
  }
  void AddWaiting(const WaitingEvent& line) {
    analyzer_.Add(line.text(), line.at);
    stage_->FreeTaken();
  }
  void CountInvalid() noexcept { ++counts_.lines, ++counts_.invalid; }
  void CountExcluded(size_t lines) noexcept { counts_.lines += lines, counts_.excluded += lines; }

  const EventPlan plan_;
  const Duration future_limit_;
  const std::unique_ptr<ReorderStage> stage_;  // null without a bound of disorder
  EngineTime newest_ = kBeginningOfTime;       // stamp so far
  EngineTime newest_read_ = kBeginningOfTime;  // of lines that are excluded by their stamps
  uint64_t out_of_order_ = 0;                  // events, as they came
  EventReader reader_;                         // of AddLine(),
  EventBatch event_;                           // which has one event
  Analyzer analyzer_;
  LineCounts counts_;
  bool assumed_utc_ = false;
};

absl::StatusOr<std::unique_ptr<JsonAnalyzer>> JsonAnalyzer::Open(const EventSpec& spec,
                                                                 AnalyzerOptions options) {
  options.watermark_delay = Duration{0};  // lines come in order, as far as the spec says how
  if (absl::Status valid = Validate(spec); !valid.ok()) return valid;
  if (spec.time.empty()) return absl::InvalidArgumentError("--time: is required");
  if (absl::Status valid = Validate(options); !valid.ok()) return valid;
  return std::unique_ptr<JsonAnalyzer>(
      new JsonAnalyzer(std::make_unique<Impl>(spec, std::move(options))));
}

JsonAnalyzer::JsonAnalyzer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
JsonAnalyzer::~JsonAnalyzer() = default;

void JsonAnalyzer::Add(JsonLines& lines, OnUnusualLine on_unusual) {
  impl_->Add(lines.read(), on_unusual);
}
LineResult JsonAnalyzer::AddLine(std::string_view line) { return impl_->AddLine(line); }
LineCounts JsonAnalyzer::counts() const noexcept { return impl_->counts(); }
const Analyzer& JsonAnalyzer::analyzer() const noexcept { return impl_->analyzer(); }
bool JsonAnalyzer::assumed_utc() const noexcept { return impl_->assumed_utc(); }
uint64_t JsonAnalyzer::out_of_order() const noexcept { return impl_->out_of_order(); }
std::unique_ptr<const Analysis> JsonAnalyzer::Finish() && { return impl_->Finish(); }
const EventPlan& JsonAnalyzer::plan() const noexcept { return impl_->plan(); }

}  // namespace pleat::inline v0_1
