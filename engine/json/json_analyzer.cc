// JsonAnalyzer: lines to events (EventReader), of which only key and stamp are looked at.
#include <utility>

#include <pleat/json_analysis.h>

#include "engine/json/event_reader.h"
#include "engine/json/fold_plan.h"
#include "engine/json/read_lines.h"
#include "engine/json/reasons.h"

namespace pleat::inline v0_1 {

class [[gnu::visibility("hidden")]] JsonAnalyzer::Impl {
 public:
  Impl(const FoldSpec& spec, AnalyzerOptions options)
      : plan_(spec),
        future_limit_(spec.future_limit),
        reader_(plan_),
        analyzer_(std::move(options)) {}

  void Add(JsonLines::Impl& lines, OnUnusualLine on_unusual) {
    const auto& events = lines.batch().events;
    for (size_t i = 0; i < events.size(); ++i) {
      if (AddEvent(events[i])) continue;
      const JsonLines::Impl::Line& line = lines.sources()[i];
      if (!on_unusual({line.index, line.text(), kInTheFuture})) return;
    }
    for (const JsonLines::Impl::NoEvent& each : lines.no_events()) {
      if (each.result.kind == LineResult::Kind::kBad) CountBad();
      if (!on_unusual({each.line.index, each.line.text(), each.result})) return;
    }
  }

  LineResult AddLine(std::string_view line) {
    event_.Clear();
    switch (reader_.Read(line, event_)) {
      case EventReader::Verdict::kControl:
      case EventReader::Verdict::kBlank: return {};
      case EventReader::Verdict::kBad:
        CountBad();
        return {LineResult::Kind::kBad, FoldOutcome::kOpened, reader_.reason()};
      case EventReader::Verdict::kNoUnit:
        return {LineResult::Kind::kNoUnit, FoldOutcome::kOpened, reader_.reason()};
      case EventReader::Verdict::kEvent: break;
    }
    if (!AddEvent(event_.events.front())) return kInTheFuture;
    return {LineResult::Kind::kEvent, FoldOutcome::kOpened, {}};
  }

  const FoldPlan& plan() const noexcept { return plan_; }
  LineCounts counts() const noexcept { return counts_; }
  const Analyzer& analyzer() const noexcept { return analyzer_; }
  std::unique_ptr<const Analysis> Finish() { return std::move(analyzer_).Finish(); }

 private:
  static constexpr LineResult kInTheFuture{LineResult::Kind::kBad, FoldOutcome::kOpened,
                                           bad_line::kFuture};

  // Returns false if it lies beyond the future limit.
  bool AddEvent(const KeyedEvent<FoldEvent>& event) {
    const EngineTime now = analyzer_.now();
    if (future_limit_ != kForever && now != kBeginningOfTime &&
        event.at > SaturatingAdd(now, future_limit_)) {
      CountBad();
      return false;
    }
    analyzer_.Add(event.key, event.at);
    ++counts_.lines;
    ++counts_.events;
    return true;
  }
  void CountBad() noexcept { ++counts_.lines, ++counts_.bad; }

  const FoldPlan plan_;
  const Duration future_limit_;
  EventReader reader_;  // of AddLine(),
  EventBatch event_;    // which has one event
  Analyzer analyzer_;
  LineCounts counts_;
};

absl::StatusOr<std::unique_ptr<JsonAnalyzer>> JsonAnalyzer::Open(const FoldSpec& spec,
                                                                 AnalyzerOptions options) {
  FoldSpec wanted;
  wanted.key = spec.key;
  wanted.quiet = std::chrono::seconds(1);  // any
  wanted.time = spec.time;
  wanted.time_unit = spec.time_unit;
  wanted.lateness = options.lateness = spec.lateness;
  wanted.future_limit = spec.future_limit;
  if (absl::Status valid = Validate(wanted); !valid.ok()) return valid;
  if (spec.time.empty()) return absl::InvalidArgumentError("--time: is required");
  if (absl::Status valid = Validate(options); !valid.ok()) return valid;
  return std::unique_ptr<JsonAnalyzer>(
      new JsonAnalyzer(std::make_unique<Impl>(wanted, std::move(options))));
}

JsonAnalyzer::JsonAnalyzer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
JsonAnalyzer::~JsonAnalyzer() = default;

void JsonAnalyzer::Add(JsonLines& lines, OnUnusualLine on_unusual) {
  impl_->Add(*lines.impl_, on_unusual);
}
LineResult JsonAnalyzer::AddLine(std::string_view line) { return impl_->AddLine(line); }
LineCounts JsonAnalyzer::counts() const noexcept { return impl_->counts(); }
const Analyzer& JsonAnalyzer::analyzer() const noexcept { return impl_->analyzer(); }
std::unique_ptr<const Analysis> JsonAnalyzer::Finish() && { return impl_->Finish(); }
const FoldPlan& JsonAnalyzer::plan() const noexcept { return impl_->plan(); }

JsonLines::JsonLines(const JsonAnalyzer& analyzer)
    : impl_(std::make_unique<Impl>(analyzer.plan())) {}

}  // namespace pleat::inline v0_1
