// JsonRollup: lines to events of a rollup counter (LineFeed), its windows to lines.
//
// Emissions that wait in the counter count against max_bytes. The times of Pop() must not decide
// which events are refused. So before an event that could meet the limit, SetOnFull()'s function pops
// all waiting emissions; or else they are moved from the counter to HeldWindows, which Pop() hands
// out first.
#include <pleat/json_rollup.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <pleat/drain.h>
#include <pleat/rollup.h>

#include "engine/base/check.h"
#include "engine/lines/feed/held_windows.h"
#include "engine/lines/feed/line_companion.h"
#include "engine/lines/feed/line_feed.h"
#include "engine/lines/feed/line_intake.h"
#include "engine/lines/feed/rollup_line.h"
#include "engine/lines/feed/taken_emissions.h"
#include "engine/lines/plan/event_plan.h"
#include "engine/lines/spec/spec_check.h"
#include "engine/table/spelled_key.h"

namespace pleat::inline v0_1 {
namespace {

EventPlan PlanOf(const RollupSpec& spec) {
  EventPlan plan(spec.event);
  if (!spec.id.empty()) plan.AddId(spec.id);
  if (!spec.value.empty()) plan.AddValue("value", spec.value, ValueForm::kNumber);
  return plan;
}

class RollupCompanion final : public LineCompanion {
 public:
  RollupCompanion(const RollupSpec& spec, NamedTexts options)
      : LineCompanion(PlanOf(spec), StageFor(spec.event), std::move(options)) {}

  HeldWindows& held() noexcept { return held_; }

  void Save(FieldWriter& out) const override {
    LineCompanion::Save(out);
    held_.Save(out);
  }
  void Load(FieldReader& in) override {
    LineCompanion::Load(in);
    held_.Load(in);
  }

 private:
  HeldWindows held_;
};

// The delta of an event's value; of none, if the event has no number.
Delta DeltaOf(const EventValue& value) noexcept {
  if (!value.present) return Delta::None();
  const Number& number = value.number;
  if (!number.integer) return number.real;
  if (number.fits) return number.whole;
  return number.real < 0 ? Delta::Below() : Delta::Above();
}

// How windows are moved out of the engine.
constexpr StateOps kWindowOps{
    .size = sizeof(CountedWindow),
    .align = alignof(CountedWindow),
    .relocate = [](void*, void* to,
                   void* from) { new (to) CountedWindow(*static_cast<CountedWindow*>(from)); },
    .destroy = [](void*, void*) {}};

// An upper bound of the bytes that an event takes.
size_t BytesFor(const KeyedEvent<LineEvent>& event, std::string_view id) noexcept {
  constexpr size_t kBytes = 4096;
  return kBytes + 2 * (event.key.size() + id.size());
}

}  // namespace

class [[gnu::visibility("hidden")]] JsonRollup::Impl {
 public:
  using Outcome = AddOutcome;
  static constexpr auto kOutcome = &LineResult::add;

  // See OpenAlone() and OpenFed().
  static absl::StatusOr<std::shared_ptr<Impl>> Open(Engine& engine, std::string_view name,
                                                    const RollupSpec& spec,
                                                    Companion::NamedTexts stored_options,
                                                    std::unique_ptr<AnyIntake> intake);
  // The spec's options that have a part in the results, but for those of the engine and the counter,
  // which look after themselves.
  static Companion::NamedTexts StoredOptionsOf(const RollupSpec& spec) {
    return OptionsNamed(OptionsOf(spec), {"key", "value", "id", "time", "time-unit", "reorder",
                                          "where", "from", "to"});
  }

  Impl(Engine& engine, const RollupCounter& counter, const RollupSpec& spec,
       std::shared_ptr<RollupCompanion> companion, std::unique_ptr<AnyIntake> intake)
      : engine_(engine),
        intake_(std::move(intake)),
        counter_(counter),
        emissions_(counter.any()),
        spec_(spec),
        may_be_future_(spec.event.future_limit != kForever && companion->stage() == nullptr),
        companion_(std::move(companion)),
        taken_(RollupPrinter(spec), kWindowOps),
        feed_(companion_->plan(), companion_->tally(), companion_->stage()) {}

  LineFeed<AddOutcome>& feed() noexcept { return feed_; }
  RollupCounter& counter() noexcept { return counter_; }
  const RollupCounter& collection() const noexcept { return counter_; }
  void SetOnFull(std::function<void()> on_full) { on_full_ = std::move(on_full); }

  // For the feed.
  size_t BatchSize(const EventBatch& events, size_t first, size_t end, int64_t line);
  size_t Add(const EventBatch& events, size_t first, size_t end, std::span<AddOutcome> outcomes);
  AnyBatch EventsOf(const EventBatch& events, size_t first, size_t end);  // until the next call
  // Behind a piece of an intake, whose events come without a look at their sizes.
  void MakeRoom() {
    if (counter_.sizes().bytes > spec_.rollup.limits.max_bytes / 2) SetAside();
  }
  static bool Obey(const ControlEvent& /*control*/, EngineTime /*at*/, int64_t /*line*/) {
    PLEAT_CHECK(false && "the plan has no control lines");
  }
  static EngineTime NextHalt() noexcept { return kNever; }
  void MoveTime(EngineTime now, int64_t /*line*/) {
    [[maybe_unused]] const bool none_due = engine_.Advance(now, 0);
  }
  static std::string ConflictOf(const EventBatch& events, size_t i);
  static bool IsUsual(AddOutcome outcome) noexcept {
    return IsTaken(outcome) || outcome == AddOutcome::kDuplicate;
  }
  static bool IsTaken(AddOutcome outcome) noexcept {
    return outcome == AddOutcome::kAdded || outcome == AddOutcome::kClamped ||
           outcome == AddOutcome::kCorrected;
  }

  template <class Write>  // as TakenEmissions::Print() takes
  size_t Pop(size_t max, Write write);
  size_t CloseAndPop(WriteLines write);
  void Scan(WriteLines write) const;
  uint64_t saturated() const noexcept { return taken_.printer().saturated(); }

 private:
  bool MayFill(const EventBatch& events, size_t first, size_t size, size_t bytes) const noexcept;
  void TakeWaiting(EngineTime at);
  void SetAside();

  Engine& engine_;
  const std::unique_ptr<AnyIntake>
      intake_;  // kept, so that there is no other one; null without a bound
  RollupCounter counter_;
  AnyCollection emissions_;  // of the counter
  const RollupSpec spec_;
  const bool may_be_future_;  // the engine may find an event beyond the future limit
  const std::shared_ptr<RollupCompanion> companion_;
  TakenEmissions<RollupPrinter> taken_;
  std::function<void()> on_full_;

  LineFeed<AddOutcome> feed_;
  std::vector<KeyedEvent<CounterEvent>> batch_;
};

// How many events from `first` on are added at once. An event that the engine may find invalid is added
// alone, so that it is reported before a later event is added. An event that may be refused is
// added alone, so that the ledger tells which limit refused it. Both are rare.
size_t JsonRollup::Impl::BatchSize(const EventBatch& events, size_t first, size_t end,
                                   int64_t /*line*/) {
  const RollupLimits& limits = spec_.rollup.limits;
  const RollupSizes sizes = counter_.sizes();
  const size_t most = may_be_future_ ? 1 : feed_.kEventsAtOnce;
  size_t size = std::min(end - first, most);
  if (sizes.keys + size > limits.max_keys) size = 1;
  if (!MayFill(events, first, size, sizes.bytes)) return size;
  TakeWaiting(events.events[first].at);
  return 1;
}

// Whether these events may exceed the limit of bytes, if `bytes` are held before.
bool JsonRollup::Impl::MayFill(const EventBatch& events, size_t first, size_t size,
                               size_t bytes) const noexcept {
  for (size_t i = first; i < first + size; ++i) {
    bytes +=
        BytesFor(events.events[i], events.marks.empty() ? std::string_view() : events.marks[i].id);
  }
  return bytes > spec_.rollup.limits.max_bytes;
}

// Takes out the windows that are final before an event stamped `at`. Only time moves at first:
// windows become final as they are popped, a few at a time.
void JsonRollup::Impl::TakeWaiting(EngineTime at) {
  EngineTime now = engine_.now();
  const bool is_future = may_be_future_ && IsBeyondFuture(at, now, spec_.event.future_limit);
  if (feed_.on_event_time() && !is_future) now = std::max(now, at);
  [[maybe_unused]] const bool none_due = engine_.Advance(now, 0);
  SetAside();
}

// Takes out the windows that are final.
void JsonRollup::Impl::SetAside() {
  if (on_full_) on_full_();
  emissions_.Pop(SIZE_MAX, {}, [this](std::span<const ClosedGroup> groups) {
    for (const ClosedGroup& group : groups) companion_->held().Add(group);
  });
}

AnyBatch JsonRollup::Impl::EventsOf(const EventBatch& events, size_t first, size_t end) {
  batch_.clear();
  for (size_t i = first; i < end; ++i) {
    const KeyedEvent<LineEvent>& line = events.events[i];
    KeyedEvent<CounterEvent>& event = batch_.emplace_back();
    event.key = line.key;
    event.at = line.at;
    if (!events.values.empty()) event.event.delta = DeltaOf(events.values[i]);
    if (!events.marks.empty()) event.event.id = events.marks[i].id;
  }
  return AnyBatch::Of<CounterEvent>(batch_);
}

size_t JsonRollup::Impl::Add(const EventBatch& events, size_t first, size_t end,
                             std::span<AddOutcome> outcomes) {
  EventsOf(events, first, end);
  return counter_.AddBatch(batch_, outcomes)[AddOutcome::kAdded];
}

std::string JsonRollup::Impl::ConflictOf(const EventBatch& events, size_t i) {
  return "id " + invalid_line::Shown(events.marks[i].id) + " of key " +
         invalid_line::Shown(SpelledKey::Of(events.events[i].key).shown) +
         " was seen before with another value";
}

template <class Write>
size_t JsonRollup::Impl::Pop(size_t max, Write write) {
  size_t popped = 0;
  const auto take = [this](std::span<const ClosedGroup> windows) { taken_.Take(windows); };
  for (bool more = true; more && popped < max;) {
    const size_t wanted = std::min(max - popped, kTakenAtOnce);
    size_t got = companion_->held().Take(wanted, take);
    if (got == 0) got = emissions_.Pop(wanted, {}, take);
    taken_.Print(write);
    popped += got;
    more = got > 0;
  }
  return popped;
}

size_t JsonRollup::Impl::CloseAndPop(WriteLines write) {
  const auto take = [&](std::span<const ClosedGroup> windows) { taken_.Take(windows, write); };
  size_t popped = companion_->held().Take(SIZE_MAX, take);
  popped += pleat::CloseAndPop(emissions_, take);
  taken_.Print(write);
  return popped;
}

void JsonRollup::Impl::Scan(WriteLines write) const {
  RollupPrinter printer(spec_);
  LineWriter lines;
  counter_.ScanOpen([&](std::string_view key, const CountedWindow& window) {
    printer.AppendOpen(key, window, lines);
    lines.HandOn(write, kPrintedAtOnce);
  });
  lines.HandOn(write);
}

absl::StatusOr<std::shared_ptr<JsonRollup::Impl>> JsonRollup::Impl::Open(
    Engine& engine, std::string_view name, const RollupSpec& spec,
    Companion::NamedTexts stored_options, std::unique_ptr<AnyIntake> intake) {
  absl::StatusOr<RollupCounter> counter = RollupCounter::Open(engine, name, RollupOptionsOf(spec));
  if (!counter.ok()) return counter.status();
  auto companion = std::make_shared<RollupCompanion>(spec, std::move(stored_options));
  if (absl::Status kept = SetCompanion(engine, name, companion); !kept.ok()) return kept;
  return std::make_shared<Impl>(engine, *counter, spec, std::move(companion), std::move(intake));
}

absl::StatusOr<std::unique_ptr<JsonRollup>> JsonRollup::Open(Engine& engine, std::string_view name,
                                                             const RollupSpec& spec) {
  absl::StatusOr<std::shared_ptr<Impl>> impl = OpenAlone<Impl>(engine, name, spec);
  if (!impl.ok()) return impl.status();
  return std::unique_ptr<JsonRollup>(new JsonRollup(*std::move(impl)));
}
absl::StatusOr<std::unique_ptr<JsonRollup>> JsonRollup::Open(JsonIntake& intake,
                                                             std::string_view name,
                                                             const RollupSpec& spec) {
  absl::StatusOr<std::shared_ptr<Impl>> impl = OpenFed<Impl>(intake, name, spec);
  if (!impl.ok()) return impl.status();
  return std::unique_ptr<JsonRollup>(new JsonRollup(*std::move(impl)));
}

JsonRollup::JsonRollup(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
JsonRollup::~JsonRollup() = default;

size_t JsonRollup::Add(JsonLines& lines, size_t max, EngineTime arrival, OnUnusualLine on_unusual) {
  return impl_->feed().Take(*impl_, lines.read(), max, arrival, on_unusual);
}
LineResult JsonRollup::AddLine(std::string_view line, EngineTime arrival,
                               OnUnusualLine on_unusual) {
  return impl_->feed().TakeLine(*impl_, line, arrival, on_unusual);
}
void JsonRollup::Advance(EngineTime now, OnUnusualLine on_unusual) {
  impl_->feed().Advance(*impl_, now, on_unusual);
}
void JsonRollup::TakeWaiting(OnUnusualLine on_unusual) {
  impl_->feed().TakeWaiting(*impl_, on_unusual);
}
std::optional<EngineTime> JsonRollup::next_waiting() const { return impl_->feed().next_waiting(); }
void JsonRollup::SetOnTaken(std::function<void()> on_taken) {
  impl_->feed().SetOnTaken(std::move(on_taken));
}
void JsonRollup::StartInput() noexcept { impl_->feed().StartInput(); }
size_t JsonRollup::Pop(size_t max, WriteLines write) { return impl_->Pop(max, write); }
size_t JsonRollup::PopEach(
    size_t max, absl::FunctionRef<void(std::string_view key, std::string_view line)> each) {
  return impl_->Pop(max, each);
}
void JsonRollup::Scan(WriteLines write) const { impl_->Scan(write); }
void JsonRollup::CloseAll() noexcept { impl_->counter().CloseAll(); }
size_t JsonRollup::CloseAndPop(WriteLines write) { return impl_->CloseAndPop(write); }
void JsonRollup::SetOnFull(std::function<void()> on_full) { impl_->SetOnFull(std::move(on_full)); }
LineCounts JsonRollup::counts() const noexcept { return impl_->feed().counts(); }
StampCounts JsonRollup::stamps() const noexcept { return impl_->feed().stamps(); }
RollupLedger JsonRollup::ledger() const noexcept { return impl_->counter().ledger(); }
RollupSizes JsonRollup::sizes() const noexcept { return impl_->counter().sizes(); }
uint64_t JsonRollup::saturated() const noexcept { return impl_->saturated(); }
std::vector<OptionPath> JsonRollup::absent_paths() const { return impl_->feed().absent_paths(); }
std::vector<OptionPath> JsonRollup::asked_paths() const { return impl_->feed().asked_paths(); }
const EventPlan& JsonRollup::plan() const noexcept { return impl_->feed().plan(); }

}  // namespace pleat::inline v0_1
