// JsonFolder: lines to events of a folder (LineFeed), closed groups to lines.
#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <pleat/drain.h>
#include <pleat/json.h>
#include <pleat/stats.h>
#include <pleat/untyped/companion.h>

#include "engine/base/lock.h"
#include "engine/lines/feed/emission_line.h"
#include "engine/lines/feed/fold_plan.h"
#include "engine/lines/feed/line_companion.h"
#include "engine/lines/feed/line_feed.h"
#include "engine/lines/feed/line_intake.h"
#include "engine/lines/feed/taken_emissions.h"
#include "engine/lines/spec/spec_check.h"
#include "engine/table/spelled_key.h"

namespace pleat::inline v0_1 {
using TakenGroups = TakenEmissions<EmissionPrinter>;

class [[gnu::visibility("hidden")]] JsonFolder::Impl {
 public:
  using Outcome = FoldOutcome;
  static constexpr auto kOutcome = &LineResult::fold;

  // See OpenAlone() and OpenFed().
  static absl::StatusOr<std::shared_ptr<Impl>> Open(Engine& engine, std::string_view name,
                                                    const FoldSpec& spec,
                                                    Companion::NamedTexts stored_options,
                                                    std::unique_ptr<AnyIntake> intake);
  // Most options of the spec need no place in a companion: they are part of the states' shape.
  static Companion::NamedTexts StoredOptionsOf(const FoldSpec& spec) {
    return OptionsNamed(OptionsOf(spec), {"reorder"});
  }

  // The engine owns `plan`, as it owns the groups that are left in the collection.
  Impl(Engine& engine, const AnyFolder& folder, FoldPlan& plan, const FoldSpec& spec,
       std::unique_ptr<AnyIntake> intake)
      : engine_(engine),
        intake_(std::move(intake)),
        plan_(plan),
        folder_(folder),
        may_be_future_(spec.event.future_limit != kForever && plan.stage == nullptr),
        max_groups_(spec.folder.limits.max_groups),
        on_limit_(spec.folder.limits.on_limit),
        feed_(plan.events, plan.tally, plan.stage.get()) {}

  LineFeed<FoldOutcome>& feed() noexcept { return feed_; }
  AnyFolder& folder() noexcept { return folder_; }
  const AnyFolder& collection() const noexcept { return folder_; }
  std::optional<MergeMismatch> mismatch() const { return plan_.Mismatch(); }
  uint64_t saturated() const noexcept { return saturated_.load(std::memory_order_relaxed); }

  // For the feed.
  size_t BatchSize(const EventBatch& events, size_t first, size_t end, int64_t line) const noexcept;
  size_t Add(const EventBatch& events, size_t first, size_t end,
             std::span<FoldOutcome> outcomes) noexcept;
  static AnyBatch EventsOf(const EventBatch& events, size_t first, size_t end) noexcept {
    return AnyBatch::Of<LineEvent>(std::span(events.events).subspan(first, end - first));
  }
  bool Obey(const ControlEvent& control, EngineTime at, int64_t line) noexcept;
  static EngineTime NextHalt() noexcept { return kNever; }
  void MoveTime(EngineTime now, int64_t /*line*/) {
    [[maybe_unused]] const bool none_due = engine_.Advance(now, 0);
  }
  static std::string ConflictOf(const EventBatch& events, size_t i);
  static bool IsUsual(FoldOutcome outcome) noexcept {
    return outcome == FoldOutcome::kOpened || outcome == FoldOutcome::kFolded;
  }
  static bool IsTaken(FoldOutcome outcome) noexcept {
    return IsUsual(outcome) || outcome == FoldOutcome::kCorrected;
  }

  template <class Write>  // as TakenEmissions::Print() takes
  size_t Pop(size_t max, Write write);
  size_t CloseAndPop(absl::FunctionRef<void(std::string_view lines)> write);
  void Scan(absl::FunctionRef<void(std::string_view lines)> write) const;

 private:
  std::unique_ptr<TakenGroups> Spare();
  void Keep(std::unique_ptr<TakenGroups> taken);

  Engine& engine_;
  const std::unique_ptr<AnyIntake>
      intake_;  // kept, so that there is no other one; null without a bound
  const FoldPlan& plan_;
  AnyFolder folder_;
  const bool may_be_future_;  // the engine may find an event beyond the future limit
  const size_t max_groups_;
  const OnLimit on_limit_;
  LineFeed<FoldOutcome> feed_;
  std::atomic<uint64_t> saturated_{0};

  Lock spare_lock_;                                                  // held for no other lock
  std::unique_ptr<TakenGroups> spare_ ABSL_GUARDED_BY(spare_lock_);  // of the last call of Pop()
};

// Where the engine may find an event invalid, it is folded alone; and where one may be refused for one
// of two limits, the ledger has to tell for which: so in one batch all are refused for the same.
// Both are rare.
size_t JsonFolder::Impl::BatchSize(const EventBatch& /*events*/, size_t first, size_t end,
                                   int64_t /*line*/) const noexcept {
  if (may_be_future_) return 1;
  const size_t size = std::min(end - first, feed_.kEventsAtOnce);
  if (on_limit_ == OnLimit::kEmitOldest) return size;
  return folder_.sizes().open_groups + size > max_groups_ ? 1 : size;
}

size_t JsonFolder::Impl::Add(const EventBatch& events, size_t first, size_t end,
                             std::span<FoldOutcome> outcomes) noexcept {
  const FoldCounts counts = folder_.FoldBatch(EventsOf(events, first, end), outcomes);
  return counts[FoldOutcome::kOpened] + counts[FoldOutcome::kFolded];
}

bool JsonFolder::Impl::Obey(const ControlEvent& control, EngineTime at, int64_t /*line*/) noexcept {
  return (control.cancels ? folder_.Cancel(control.key, at) : folder_.Flush(control.key, at)) !=
         ControlOutcome::kFuture;
}

std::string JsonFolder::Impl::ConflictOf(const EventBatch& events, size_t i) {
  return "id " + invalid_line::Shown(events.marks[i].id) + " of key " +
         invalid_line::Shown(SpelledKey::Of(events.events[i].key).shown) +
         " was seen before with different content";
}

template <class Write>
size_t JsonFolder::Impl::Pop(size_t max, Write write) {
  std::unique_ptr<TakenGroups> taken = Spare();
  if (taken == nullptr)
    taken = std::make_unique<TakenGroups>(EmissionPrinter(plan_), folder_.ops());
  const uint64_t saturated_before = taken->printer().saturated();
  size_t popped = 0;
  while (popped < max) {
    const size_t wanted = std::min(max - popped, kTakenAtOnce);
    const size_t got =
        folder_.Pop(wanted, {}, [&](std::span<const ClosedGroup> groups) { taken->Take(groups); });
    taken->Print(write);
    popped += got;
    if (got < wanted) break;
  }
  saturated_.fetch_add(taken->printer().saturated() - saturated_before, std::memory_order_relaxed);
  if (taken->worth_keeping()) Keep(std::move(taken));
  return popped;
}

size_t JsonFolder::Impl::CloseAndPop(absl::FunctionRef<void(std::string_view lines)> write) {
  TakenGroups taken(EmissionPrinter(plan_), folder_.ops());
  const size_t popped = pleat::CloseAndPop(
      folder_, [&](std::span<const ClosedGroup> groups) { taken.Take(groups, write); });
  taken.Print(write);
  saturated_.fetch_add(taken.printer().saturated(), std::memory_order_relaxed);
  return popped;
}

std::unique_ptr<TakenGroups> JsonFolder::Impl::Spare() {
  LockGuard guard(spare_lock_);
  return std::move(spare_);
}

void JsonFolder::Impl::Keep(std::unique_ptr<TakenGroups> taken) {
  LockGuard guard(spare_lock_);
  std::swap(spare_, taken);  // what was there goes, with no lock held
}

void JsonFolder::Impl::Scan(absl::FunctionRef<void(std::string_view lines)> write) const {
  const EngineTime now = folder_.now();
  EmissionPrinter printer(plan_);
  LineWriter lines;
  folder_.ScanInOrder([&](std::string_view key, const GroupInfo& info, const void* state) {
    printer.AppendOpen(key, info, state, now, lines);
    lines.HandOn(write, kPrintedAtOnce);
  });
  lines.HandOn(write);
}

namespace {

// Stores the plan's keys, counts and waiting lines with the folder.
class PlanCompanion final : public Companion {
 public:
  PlanCompanion(std::shared_ptr<FoldPlan> plan, NamedTexts options)
      : plan_(std::move(plan)), options_(std::move(options)) {}

  NamedTexts Options() const override { return options_; }
  void Save(FieldWriter& out) const override { plan_->SaveCommon(out); }
  void Load(FieldReader& in) override { plan_->LoadCommon(in); }
  std::unique_ptr<Rest> BeginRest() override { return BeginWaiting(plan_->stage.get()); }
  void LoadRest(FieldReader& in) override { LoadWaiting(plan_->events, plan_->stage.get(), in); }
  bool is_used() const override { return plan_->stage != nullptr && plan_->stage->waiting() > 0; }

 private:
  const std::shared_ptr<FoldPlan> plan_;
  const NamedTexts options_;
};

}  // namespace

absl::StatusOr<std::shared_ptr<JsonFolder::Impl>> JsonFolder::Impl::Open(
    Engine& engine, std::string_view name, const FoldSpec& spec,
    Companion::NamedTexts stored_options, std::unique_ptr<AnyIntake> intake) {
  const auto plan = std::make_shared<FoldPlan>(spec);
  absl::StatusOr<AnyFolder> folder =
      AnyFolder::Open(engine, name, FolderOptionsOf(spec), plan->ops(), plan);
  if (!folder.ok()) return folder.status();
  const auto companion = std::make_shared<PlanCompanion>(plan, std::move(stored_options));
  if (absl::Status kept = SetCompanion(engine, name, companion); !kept.ok()) return kept;
  return std::make_shared<Impl>(engine, *folder, *plan, spec, std::move(intake));
}

absl::StatusOr<std::unique_ptr<JsonFolder>> JsonFolder::Open(Engine& engine, std::string_view name,
                                                             const FoldSpec& spec) {
  absl::StatusOr<std::shared_ptr<Impl>> impl = OpenAlone<Impl>(engine, name, spec);
  if (!impl.ok()) return impl.status();
  return std::unique_ptr<JsonFolder>(new JsonFolder(*std::move(impl)));
}
absl::StatusOr<std::unique_ptr<JsonFolder>> JsonFolder::Open(JsonIntake& intake,
                                                             std::string_view name,
                                                             const FoldSpec& spec) {
  absl::StatusOr<std::shared_ptr<Impl>> impl = OpenFed<Impl>(intake, name, spec);
  if (!impl.ok()) return impl.status();
  return std::unique_ptr<JsonFolder>(new JsonFolder(*std::move(impl)));
}

JsonFolder::JsonFolder(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
JsonFolder::~JsonFolder() = default;

LineResult JsonFolder::FoldLine(std::string_view line, EngineTime arrival,
                                OnUnusualLine on_unusual) {
  return impl_->feed().TakeLine(*impl_, line, arrival, on_unusual);
}

void JsonFolder::Advance(EngineTime now, OnUnusualLine on_unusual) {
  impl_->feed().Advance(*impl_, now, on_unusual);
}

void JsonFolder::TakeWaiting(OnUnusualLine on_unusual) {
  impl_->feed().TakeWaiting(*impl_, on_unusual);
}

std::optional<EngineTime> JsonFolder::next_waiting() const { return impl_->feed().next_waiting(); }

void JsonFolder::SetOnTaken(std::function<void()> on_taken) {
  impl_->feed().SetOnTaken(std::move(on_taken));
}

void JsonFolder::FoldLines(std::string_view text, EngineTime arrival, OnUnusualLine on_unusual) {
  impl_->feed().TakeText(*impl_, text, arrival, on_unusual);
}

size_t JsonFolder::Fold(JsonLines& lines, size_t max, EngineTime arrival,
                        OnUnusualLine on_unusual) {
  return impl_->feed().Take(*impl_, lines.read(), max, arrival, on_unusual);
}

const EventPlan& JsonFolder::plan() const noexcept { return impl_->feed().plan(); }

void JsonFolder::StartInput() noexcept { impl_->feed().StartInput(); }

size_t JsonFolder::Pop(size_t max, std::string& out) {
  return Pop(max, [&out](std::string_view lines) { out += lines; });
}

size_t JsonFolder::Pop(size_t max, absl::FunctionRef<void(std::string_view lines)> write) {
  return impl_->Pop(max, write);
}

size_t JsonFolder::PopEach(
    size_t max, absl::FunctionRef<void(std::string_view key, std::string_view line)> each) {
  return impl_->Pop(max, each);
}

void JsonFolder::Scan(absl::FunctionRef<void(std::string_view lines)> write) const {
  impl_->Scan(write);
}

void JsonFolder::CloseAll() noexcept { impl_->folder().CloseAll(); }
size_t JsonFolder::CloseAndPop(absl::FunctionRef<void(std::string_view lines)> write) {
  return impl_->CloseAndPop(write);
}
void JsonFolder::Close() noexcept { impl_->folder().Close(); }

LineCounts JsonFolder::counts() const noexcept { return impl_->feed().counts(); }
StampCounts JsonFolder::stamps() const noexcept { return impl_->feed().stamps(); }
Ledger JsonFolder::ledger() const noexcept { return impl_->folder().ledger(); }
Sizes JsonFolder::sizes() const noexcept { return impl_->folder().sizes(); }
std::unique_ptr<GapStats> JsonFolder::gap_stats() const noexcept {
  return impl_->folder().gap_stats();
}
std::vector<OptionPath> JsonFolder::absent_paths() const { return impl_->feed().absent_paths(); }
std::vector<OptionPath> JsonFolder::asked_paths() const { return impl_->feed().asked_paths(); }

std::optional<MergeMismatch> JsonFolder::mismatch() const { return impl_->mismatch(); }
uint64_t JsonFolder::saturated() const noexcept { return impl_->saturated(); }

}  // namespace pleat::inline v0_1
