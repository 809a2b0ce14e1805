// JsonAnalyzer: an Analyzer that takes the key and the stamp of each line.
#include <utility>

#include <pleat/json_analysis.h>

#include "engine/lines/feed/read_lines.h"
#include "engine/lines/plan/event_plan.h"
#include "engine/lines/plan/event_reader.h"
#include "engine/lines/scan/reasons.h"

namespace pleat::inline v0_1 {

class [[gnu::visibility("hidden")]] JsonAnalyzer::Impl {
 public:
  Impl(const EventSpec& spec, AnalyzerOptions options)
      : plan_(spec),
        future_limit_(spec.future_limit),
        reader_(plan_),
        analyzer_(std::move(options)) {}

  void Add(ReadLines& lines, OnUnusualLine on_unusual) {
    assumed_utc_ |= lines.reader().assumed_utc();
    const auto& events = lines.batch().events;
    for (size_t i = 0; i < events.size(); ++i) {
      if (AddEvent(events[i])) continue;
      const ReadLines::Line& line = lines.sources()[i];
      if (!on_unusual({line.index, line.text(), kInTheFuture})) return;
    }
    for (const ReadLines::NoEvent& each : lines.no_events()) {
      if (each.result.kind == LineResult::Kind::kInvalid) CountInvalid();
      if (!on_unusual({each.line.index, each.line.text(), each.result})) return;
    }
    lines.next_line = lines.lines();
    CountExcluded(lines.TakeExcluded());
  }

  LineResult AddLine(std::string_view line) {
    event_.Clear();
    const LineResult::Kind kind = reader_.Read(line, event_);
    if (kind == LineResult::Kind::kBlank) return {};
    if (kind == LineResult::Kind::kInvalid) CountInvalid();
    if (kind == LineResult::Kind::kExcluded) CountExcluded(1);
    if (kind != LineResult::Kind::kEvent) {
      return {.kind = kind, .reason = reader_.reason(), .about = reader_.about()};
    }
    if (!AddEvent(event_.events.front())) return kInTheFuture;
    return {kind, {}, {}};
  }

  const EventPlan& plan() const noexcept { return plan_; }
  LineCounts counts() const noexcept { return counts_; }
  const Analyzer& analyzer() const noexcept { return analyzer_; }
  bool assumed_utc() const noexcept { return assumed_utc_ || reader_.assumed_utc(); }
  std::unique_ptr<const Analysis> Finish() { return std::move(analyzer_).Finish(); }

 private:
  static constexpr LineResult kInTheFuture{LineResult::Kind::kInvalid, FoldOutcome::kOpened,
                                           invalid_line::kFuture};

  // Returns false if the event lies beyond the future limit.
  bool AddEvent(const KeyedEvent<LineEvent>& event) {
    if (IsBeyondFuture(event.at, analyzer_.now(), future_limit_)) {
      CountInvalid();
      return false;
    }
    analyzer_.Add(event.key, event.at);
    ++counts_.lines;
    ++counts_.events;
    return true;
  }
  void CountInvalid() noexcept { ++counts_.lines, ++counts_.invalid; }
  void CountExcluded(size_t lines) noexcept { counts_.lines += lines, counts_.excluded += lines; }

  const EventPlan plan_;
  const Duration future_limit_;
  EventReader reader_;  // of AddLine(),
  EventBatch event_;    // which has one event
  Analyzer analyzer_;
  LineCounts counts_;
  bool assumed_utc_ = false;
};

absl::StatusOr<std::unique_ptr<JsonAnalyzer>> JsonAnalyzer::Open(const EventSpec& spec,
                                                                 AnalyzerOptions options) {
  options.watermark_delay = spec.reorder;
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
std::unique_ptr<const Analysis> JsonAnalyzer::Finish() && { return impl_->Finish(); }
const EventPlan& JsonAnalyzer::plan() const noexcept { return impl_->plan(); }

}  // namespace pleat::inline v0_1
