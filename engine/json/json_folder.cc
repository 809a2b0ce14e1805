// JsonFolder: lines to events (EventReader), events to the engine, closed groups to lines.
#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <pleat/close_and_pop.h>
#include <pleat/companion.h>
#include <pleat/gap_stats.h>
#include <pleat/json.h>

#include "engine/base/lock.h"
#include "engine/json/emission_line.h"
#include "engine/json/event_reader.h"
#include "engine/json/fold_plan.h"
#include "engine/json/line_tally.h"
#include "engine/json/read_lines.h"
#include "engine/json/reasons.h"
#include "engine/json/spec_check.h"

namespace pleat::inline v0_1 {
namespace {

// How many groups are moved out before they are printed: enough to spread the cost of a call, few
// enough to stay in the cache.
constexpr size_t kTakenAtOnce = 256;

// How much of them is printed before it is handed on: what is copied next is still in the nearest
// cache. A line can be as large as its group.
constexpr size_t kPrintedAtOnce = 16 * 1024;

// The room that is kept for the lines of the next call.
constexpr size_t kPrintedKept = 4 * kPrintedAtOnce;

// How many events are folded by one call to the engine.
constexpr size_t kFoldedAtOnce = 256;

// Groups moved out of the engine, printed and destroyed with no lock held. What an EmissionBuffer is
// to states of a C++ type: its memory is kept for the next groups.
class TakenGroups {
 public:
  TakenGroups(const FoldPlan& plan, const StateOps& ops)
      : printer_(plan),
        ops_(ops),
        states_(std::make_unique_for_overwrite<char[]>(kTakenAtOnce * ops.size)) {
    groups_.reserve(kTakenAtOnce);
  }
  TakenGroups(const TakenGroups&) = delete;
  TakenGroups& operator=(const TakenGroups&) = delete;
  ~TakenGroups() { Clear(); }

  size_t size() const noexcept { return groups_.size(); }

  // Under a partition's lock: copies the keys and moves the states. There is room for kTakenAtOnce.
  void Take(std::span<const ClosedGroup> groups) {
    for (const ClosedGroup& group : groups) {
      char* const state = states_.get() + groups_.size() * ops_.size;
      ops_.relocate(ops_.context, state, group.state);
      groups_.push_back(group);
      groups_.back().state = state;
      keys_.Put(group.key);
    }
  }

  void Print(absl::FunctionRef<void(std::string_view lines)> write) {
    const char* key = keys_.text().data();
    for (ClosedGroup& group : groups_) {
      group.key = {key, group.key.size()};
      key += group.key.size();
      printer_.Append(group, lines_);
      if (lines_.text().size() >= kPrintedAtOnce) HandOn(write);
    }
    HandOn(write);
    Clear();
  }

  uint64_t saturated() const noexcept { return printer_.saturated(); }

  // Whether it is worth keeping for another call. REQUIRES: no groups.
  bool worth_keeping() const noexcept {
    return lines_.capacity() <= kPrintedKept && keys_.capacity() <= kPrintedKept;
  }

 private:
  void HandOn(absl::FunctionRef<void(std::string_view lines)> write) {
    if (!lines_.text().empty()) write(lines_.text());
    lines_.Clear();
  }

  void Clear() noexcept {
    for (ClosedGroup& group : groups_) ops_.destroy(ops_.context, group.state);
    groups_.clear();
    keys_.Clear();
  }

  EmissionPrinter printer_;
  const StateOps& ops_;
  std::unique_ptr<char[]> states_;
  std::vector<ClosedGroup> groups_;  // their key views give sizes only, until printed
  LineWriter keys_;
  LineWriter lines_;
};

}  // namespace

class [[gnu::visibility("hidden")]] JsonFolder::Impl {
 public:
  // The engine owns `plan`, as it owns the groups that are left in the collection.
  Impl(const AnyFolder& folder, FoldPlan& plan, const FoldSpec& spec)
      : plan_(plan),
        tally_(plan.tally),
        folder_(folder),
        future_limit_(spec.event.future_limit),
        max_groups_(spec.folder.limits.max_groups),
        on_limit_(spec.folder.limits.on_limit),
        reader_(plan.events),
        lines_(plan.events) {}

  LineResult FoldLine(std::string_view line, EngineTime arrival);
  void FoldLines(std::string_view text, EngineTime arrival, OnUnusualLine on_unusual);
  size_t Fold(ReadLines& lines, size_t max, EngineTime arrival, OnUnusualLine on_unusual);
  size_t Pop(size_t max, absl::FunctionRef<void(std::string_view lines)> write);
  size_t CloseAndPop(absl::FunctionRef<void(std::string_view lines)> write);
  void Scan(absl::FunctionRef<void(std::string_view lines)> write) const;

  const EventPlan& events() const noexcept { return plan_.events; }
  LineCounts counts() const noexcept { return tally_.counts(); }
  StampCounts stamps() const noexcept { return tally_.stamps(); }
  void StartInput() noexcept { tally_.StartInput(); }
  std::vector<OptionPath> absent_paths() const { return tally_.Absent(plan_.events); }
  std::optional<MergeMismatch> mismatch() const { return plan_.Mismatch(); }
  uint64_t saturated() const noexcept { return saturated_.load(std::memory_order_relaxed); }
  AnyFolder& folder() noexcept { return folder_; }
  const AnyFolder& folder() const noexcept { return folder_; }

 private:
  LineResult Bad(std::string_view reason, const OptionPath* about = nullptr) noexcept {
    tally_.AddBad();
    return {.kind = LineResult::Kind::kBad, .reason = reason, .about = about};
  }

  void Stamp(std::span<KeyedEvent<LineEvent>> events, EngineTime arrival) const noexcept;
  size_t BatchSize(size_t events) const noexcept;
  bool FoldEvents(ReadLines& lines, size_t end, OnUnusualLine on_unusual);
  LineResult Count(FoldOutcome outcome, const KeyedEvent<LineEvent>& keyed);
  std::string_view ConflictOf(const KeyedEvent<LineEvent>& keyed);
  LineResult Obey(const ControlEvent& control, EngineTime arrival) noexcept;
  std::unique_ptr<TakenGroups> Spare();
  void Keep(std::unique_ptr<TakenGroups> taken);

  const FoldPlan& plan_;
  LineTally& tally_;
  AnyFolder folder_;
  const Duration future_limit_;
  const size_t max_groups_;
  const OnLimit on_limit_;
  EventReader reader_;  // of FoldLine(),
  EventBatch event_;    // which has one event
  ReadLines lines_;     // of FoldLines()
  std::array<FoldOutcome, kFoldedAtOnce> outcomes_;
  std::string conflict_;  // the reason of the latest
  std::atomic<uint64_t> saturated_{0};

  Lock spare_lock_;                                                  // held for no other lock
  std::unique_ptr<TakenGroups> spare_ ABSL_GUARDED_BY(spare_lock_);  // of the last call of Pop()
};

LineResult JsonFolder::Impl::FoldLine(std::string_view line, EngineTime arrival) {
  event_.Clear();
  const LineResult::Kind kind = reader_.Read(line, event_);
  tally_.Note(reader_);
  switch (kind) {
    case LineResult::Kind::kBlank: return {};
    case LineResult::Kind::kBad: return Bad(reader_.reason(), reader_.about());
    case LineResult::Kind::kControl: return Obey(reader_.control(), arrival);
    case LineResult::Kind::kExcluded: return tally_.AddExcluded(1), LineResult{kind};
    case LineResult::Kind::kNoUnit: return {kind, {}, reader_.reason()};
    case LineResult::Kind::kEvent: break;
  }
  event_.Link();
  Stamp(event_.events, arrival);
  const KeyedEvent<LineEvent>& keyed = event_.events.front();
  return Count(folder_.Fold(keyed.key, &keyed.event, keyed.at), keyed);
}

// On arrival time.
void JsonFolder::Impl::Stamp(std::span<KeyedEvent<LineEvent>> events,
                             EngineTime arrival) const noexcept {
  if (plan_.events.time_slot != PathTree::kNone) return;
  for (KeyedEvent<LineEvent>& each : events) each.at = each.event.at = arrival;
}

// The result of a line whose event had this outcome.
LineResult JsonFolder::Impl::Count(FoldOutcome outcome, const KeyedEvent<LineEvent>& keyed) {
  if (outcome == FoldOutcome::kFuture) return Bad(bad_line::kFuture);
  if (outcome != FoldOutcome::kStopped) {
    tally_.AddEvents(1);
    tally_.NoteStamp(keyed.at);
  }
  const bool taken = outcome == FoldOutcome::kOpened || outcome == FoldOutcome::kFolded ||
                     outcome == FoldOutcome::kCorrected;
  if (taken) tally_.AddMismatched(keyed.event.mismatched);
  const bool conflict = outcome == FoldOutcome::kConflict;
  return {LineResult::Kind::kEvent, outcome, conflict ? ConflictOf(keyed) : std::string_view()};
}

std::string_view JsonFolder::Impl::ConflictOf(const KeyedEvent<LineEvent>& keyed) {
  conflict_ = "id " + bad_line::Shown(keyed.event.marks->id) + " of key " +
              bad_line::Shown(keyed.key) + " was seen before with different content";
  return conflict_;
}

// A control line moves time as a folded event would, and groups that are due close before it acts.
LineResult JsonFolder::Impl::Obey(const ControlEvent& control, EngineTime arrival) noexcept {
  const EngineTime at = plan_.events.time_slot != PathTree::kNone ? control.at : arrival;
  const ControlOutcome outcome =
      control.cancels ? folder_.Cancel(control.key, at) : folder_.Flush(control.key, at);
  if (outcome == ControlOutcome::kFuture) return Bad(bad_line::kFuture);
  tally_.AddEvents(1);
  tally_.AddControl();
  tally_.NoteStamp(at);
  return {LineResult::Kind::kControl, {}, {}};
}

void JsonFolder::Impl::FoldLines(std::string_view text, EngineTime arrival,
                                 OnUnusualLine on_unusual) {
  size_t lines_before = 0;
  for (bool go_on = true; go_on && !text.empty();) {
    const std::string_view piece = ReadLines::FirstPiece(text);
    text.remove_prefix(piece.size());
    lines_.Read(piece);
    Fold(lines_, SIZE_MAX, arrival, [&](UnusualLine line) {
      line.index += lines_before;
      return go_on = on_unusual(line);
    });
    lines_before += lines_.lines();
  }
}

size_t JsonFolder::Impl::Fold(ReadLines& lines, size_t max, EngineTime arrival,
                              OnUnusualLine on_unusual) {
  tally_.Note(lines.reader());
  const auto fold_events = [&](size_t end) {
    const std::span events(lines.batch().events);
    Stamp(events.subspan(lines.next_event, end - lines.next_event), arrival);
    return FoldEvents(lines, end, on_unusual);
  };
  const auto take_other = [&](const ReadLines::NoEvent& other) {
    LineResult result = other.result;
    if (result.kind == LineResult::Kind::kBad) tally_.AddBad();
    if (result.kind == LineResult::Kind::kControl) result = Obey(other.control, arrival);
    return on_unusual({other.line.index, other.line.text(), result});
  };
  const size_t taken = lines.Take(max, fold_events, take_other);
  tally_.AddExcluded(lines.TakeExcluded());
  return taken;
}

// How many of `events` to fold at once. Where the engine may find one bad, no later one may be
// folded before that was said; and where one may be refused for one of two limits, the ledger has
// to tell for which: so in one batch all are refused for the same. Both are rare.
size_t JsonFolder::Impl::BatchSize(size_t events) const noexcept {
  if (future_limit_ != kForever) return 1;
  const size_t size = std::min(events, kFoldedAtOnce);
  if (on_limit_ == OnLimit::kEmitOldest) return size;
  return folder_.sizes().open_groups + size > max_groups_ ? 1 : size;
}

// Folds the events up to `end`. Returns false if `on_unusual` said to stop.
bool JsonFolder::Impl::FoldEvents(ReadLines& lines, size_t end, OnUnusualLine on_unusual) {
  const std::span<const KeyedEvent<LineEvent>> events = lines.batch().events;
  while (lines.next_event < end) {
    const size_t first = lines.next_event;
    const auto batch = events.subspan(first, BatchSize(end - first));
    const size_t behind = first + batch.size();
    if (&lines != &lines_) lines.Fetch(behind, std::min(batch.size(), events.size() - behind));
    const FoldCounts counts = folder_.FoldBatch(AnyBatch::Of<LineEvent>(batch), outcomes_);
    lines.TakenUpTo(behind);
    if (counts.opened + counts.folded == batch.size()) {
      tally_.AddEvents(batch.size());
      uint64_t mismatched = 0;
      for (const KeyedEvent<LineEvent>& each : batch) {
        mismatched += each.event.mismatched;
        tally_.NoteStamp(each.at);
      }
      tally_.AddMismatched(mismatched);
      continue;
    }
    for (size_t i = 0; i < batch.size(); ++i) {
      const LineResult result = Count(outcomes_[i], batch[i]);
      const bool usual =
          result.kind == LineResult::Kind::kEvent &&
          (result.fold == FoldOutcome::kOpened || result.fold == FoldOutcome::kFolded);
      const ReadLines::Line& line = lines.sources()[first + i];
      if (!usual && !on_unusual({line.index, line.text(), result})) return false;
    }
  }
  return true;
}

size_t JsonFolder::Impl::Pop(size_t max, absl::FunctionRef<void(std::string_view lines)> write) {
  std::unique_ptr<TakenGroups> taken = Spare();
  if (taken == nullptr) taken = std::make_unique<TakenGroups>(plan_, folder_.ops());
  const uint64_t saturated_before = taken->saturated();
  size_t popped = 0;
  while (popped < max) {
    const size_t wanted = std::min(max - popped, kTakenAtOnce);
    const size_t got =
        folder_.Pop(wanted, {}, [&](std::span<const ClosedGroup> groups) { taken->Take(groups); });
    taken->Print(write);
    popped += got;
    if (got < wanted) break;
  }
  saturated_.fetch_add(taken->saturated() - saturated_before, std::memory_order_relaxed);
  if (taken->worth_keeping()) Keep(std::move(taken));
  return popped;
}

size_t JsonFolder::Impl::CloseAndPop(absl::FunctionRef<void(std::string_view lines)> write) {
  TakenGroups taken(plan_, folder_.ops());
  const size_t popped = pleat::CloseAndPop(folder_, [&](std::span<const ClosedGroup> groups) {
    while (!groups.empty()) {
      const size_t size = std::min(groups.size(), kTakenAtOnce - taken.size());
      taken.Take(groups.first(size));
      groups = groups.subspan(size);
      if (taken.size() == kTakenAtOnce) taken.Print(write);
    }
  });
  taken.Print(write);
  saturated_.fetch_add(taken.saturated(), std::memory_order_relaxed);
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
    if (lines.text().size() < kPrintedAtOnce) return;
    write(lines.text());
    lines.Clear();
  });
  if (!lines.text().empty()) write(lines.text());
}

namespace {

// Stores the plan's keys and counts with the folder. The options of the spec need no place here:
// they are part of the states' shape.
class PlanCompanion final : public Companion {
 public:
  explicit PlanCompanion(std::shared_ptr<FoldPlan> plan) : plan_(std::move(plan)) {}

  NamedTexts Options() const override { return {}; }
  void Save(FieldWriter& out) const override { plan_->SaveCommon(out); }
  void Load(FieldReader& in) override { plan_->LoadCommon(in); }

 private:
  const std::shared_ptr<FoldPlan> plan_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<JsonFolder>> JsonFolder::Open(Engine& engine, std::string_view name,
                                                             const FoldSpec& spec) {
  if (absl::Status status = Validate(spec); !status.ok()) return status;
  const auto plan = std::make_shared<FoldPlan>(spec);
  absl::StatusOr<AnyFolder> folder =
      AnyFolder::Open(engine, name, FolderOptionsOf(spec), plan->ops(), plan);
  if (!folder.ok()) return folder.status();
  const auto companion = std::make_shared<PlanCompanion>(plan);
  if (absl::Status kept = SetCompanion(engine, name, companion); !kept.ok()) return kept;
  return std::unique_ptr<JsonFolder>(new JsonFolder(std::make_unique<Impl>(*folder, *plan, spec)));
}

JsonFolder::JsonFolder(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
JsonFolder::~JsonFolder() = default;

LineResult JsonFolder::FoldLine(std::string_view line, EngineTime arrival) {
  return impl_->FoldLine(line, arrival);
}

void JsonFolder::FoldLines(std::string_view text, EngineTime arrival, OnUnusualLine on_unusual) {
  impl_->FoldLines(text, arrival, on_unusual);
}

size_t JsonFolder::Fold(JsonLines& lines, size_t max, EngineTime arrival,
                        OnUnusualLine on_unusual) {
  return impl_->Fold(lines.read(), max, arrival, on_unusual);
}

const EventPlan& JsonFolder::plan() const noexcept { return impl_->events(); }

void JsonFolder::StartInput() noexcept { impl_->StartInput(); }

size_t JsonFolder::Pop(size_t max, std::string& out) {
  return impl_->Pop(max, [&out](std::string_view lines) { out += lines; });
}

size_t JsonFolder::Pop(size_t max, absl::FunctionRef<void(std::string_view lines)> write) {
  return impl_->Pop(max, write);
}

void JsonFolder::Scan(absl::FunctionRef<void(std::string_view lines)> write) const {
  impl_->Scan(write);
}

void JsonFolder::CloseAll() noexcept { impl_->folder().CloseAll(); }
size_t JsonFolder::CloseAndPop(absl::FunctionRef<void(std::string_view lines)> write) {
  return impl_->CloseAndPop(write);
}
void JsonFolder::Close() noexcept { impl_->folder().Close(); }

LineCounts JsonFolder::counts() const noexcept { return impl_->counts(); }
StampCounts JsonFolder::stamps() const noexcept { return impl_->stamps(); }
Ledger JsonFolder::ledger() const noexcept { return impl_->folder().ledger(); }
Sizes JsonFolder::sizes() const noexcept { return impl_->folder().sizes(); }
std::unique_ptr<GapStats> JsonFolder::gap_stats() const noexcept {
  return impl_->folder().gap_stats();
}
std::vector<OptionPath> JsonFolder::absent_paths() const { return impl_->absent_paths(); }

std::optional<MergeMismatch> JsonFolder::mismatch() const { return impl_->mismatch(); }
uint64_t JsonFolder::saturated() const noexcept { return impl_->saturated(); }

}  // namespace pleat::inline v0_1
