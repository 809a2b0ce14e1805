// JsonFolder: lines to events (EventReader), events to the engine, closed groups to lines.
#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include <pleat/json.h>

#include "engine/json/emission_line.h"
#include "engine/json/event_reader.h"
#include "engine/json/fold_plan.h"
#include "engine/json/reasons.h"
#include "engine/json/text.h"

namespace pleat::inline v0 {
namespace {

// How many groups are moved out before they are printed: enough to spread the cost of a call, few
// enough to stay in the cache.
constexpr size_t kTakenAtOnce = 256;

// A count that one thread adds to and any thread reads.
class Counter {
 public:
  void Add(uint64_t n) noexcept {
    value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
  uint64_t value() const noexcept { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> value_{0};
};

// Groups moved out of the engine, printed and destroyed with no lock held.
class TakenGroups {
 public:
  TakenGroups(const FoldPlan& plan, const StateOps& ops) : printer_(plan), ops_(ops) {}
  TakenGroups(const TakenGroups&) = delete;
  TakenGroups& operator=(const TakenGroups&) = delete;
  ~TakenGroups() { Clear(); }

  // Under a partition's lock: copies the key and moves the state.
  void Take(const ClosedGroup& group) {
    if (states_ == nullptr) {
      states_ = std::make_unique_for_overwrite<char[]>(kTakenAtOnce * ops_.size);
      groups_.reserve(kTakenAtOnce);
    }
    char* const state = states_.get() + groups_.size() * ops_.size;
    ops_.relocate(ops_.context, state, group.state);
    groups_.push_back(group);
    groups_.back().state = state;
    keys_ += group.key;
  }

  void Print(std::string& out) {
    size_t used = 0;
    for (ClosedGroup& group : groups_) {
      group.key = std::string_view(keys_).substr(used, group.key.size());
      used += group.key.size();
      printer_.Append(group, out);
    }
    Clear();
  }

 private:
  void Clear() noexcept {
    for (ClosedGroup& group : groups_) ops_.destroy(ops_.context, group.state);
    groups_.clear();
    keys_.clear();
  }

  EmissionPrinter printer_;
  const StateOps& ops_;
  std::vector<ClosedGroup> groups_;  // their key views give sizes only, until printed
  std::string keys_;
  std::unique_ptr<char[]> states_;
};

bool IsBlank(std::string_view line) noexcept {
  return std::all_of(line.begin(), line.end(), IsJsonSpace);
}

FolderOptions FolderOptionsFor(const FoldSpec& spec) {
  FolderOptions options;
  options.quiet_period = spec.quiet;
  options.max_hold = spec.max_hold;
  options.max_events = spec.max_events;
  options.accept_limit = spec.accept_limit;
  options.max_groups = spec.max_groups;
  options.max_bytes = spec.max_bytes;
  return options;
}

}  // namespace

class JsonFolder::Impl {
 public:
  Impl(const AnyFolder& folder, std::unique_ptr<FoldPlan> plan)
      : plan_(std::move(plan)), folder_(folder), reader_(*plan_) {}

  // The engine keeps the collection but not the plan, so that no state may be left behind.
  ~Impl() {
    folder_.CloseAll();
    folder_.Pop(SIZE_MAX, [&](const ClosedGroup& group) {
      folder_.ops().destroy(folder_.ops().context, group.state);
    });
  }

  LineResult FoldLine(std::string_view line, EngineTime arrival);
  size_t Pop(size_t max, std::string& out);

  LineCounts counts() const noexcept {
    return {events_.value() + bad_.value(), events_.value(), bad_.value(), mismatched_.value()};
  }
  AnyFolder& folder() noexcept { return folder_; }
  const AnyFolder& folder() const noexcept { return folder_; }

 private:
  LineResult Bad(std::string_view reason) noexcept {
    bad_.Add(1);
    return {LineResult::Kind::kBad, FoldOutcome::kOpened, reason};
  }

  std::unique_ptr<FoldPlan> plan_;
  AnyFolder folder_;
  EventReader reader_;
  Counter events_;
  Counter bad_;
  Counter mismatched_;
};

LineResult JsonFolder::Impl::FoldLine(std::string_view line, EngineTime arrival) {
  // A line over the limit may be only the beginning of one, so that blanks at its front say nothing.
  if (line.size() <= kLineBytesMax && IsBlank(line)) return {};
  const EventReader::Verdict verdict = reader_.Read(line, arrival);
  if (verdict == EventReader::Verdict::kBad) return Bad(reader_.reason());
  if (verdict == EventReader::Verdict::kNoUnit) {
    return {LineResult::Kind::kNoUnit, FoldOutcome::kOpened, reader_.reason()};
  }
  const FoldOutcome outcome = folder_.Fold(reader_.key(), &reader_.event(), reader_.event().at);
  if (outcome == FoldOutcome::kFuture) return Bad(bad_line::kFuture);
  if (outcome != FoldOutcome::kStopped) events_.Add(1);
  if (outcome == FoldOutcome::kOpened || outcome == FoldOutcome::kFolded) {
    mismatched_.Add(reader_.mismatched());
  }
  return {LineResult::Kind::kEvent, outcome, {}};
}

size_t JsonFolder::Impl::Pop(size_t max, std::string& out) {
  TakenGroups taken(*plan_, folder_.ops());
  size_t popped = 0;
  while (popped < max) {
    const size_t wanted = std::min(max - popped, kTakenAtOnce);
    const size_t got = folder_.Pop(wanted, [&](const ClosedGroup& group) { taken.Take(group); });
    taken.Print(out);
    popped += got;
    if (got < wanted) break;
  }
  return popped;
}

absl::StatusOr<std::unique_ptr<JsonFolder>> JsonFolder::Open(Engine& engine, std::string_view name,
                                                             const FoldSpec& spec) {
  if (absl::Status status = Validate(spec); !status.ok()) return status;
  auto plan = std::make_unique<FoldPlan>(spec);
  absl::StatusOr<AnyFolder> folder =
      AnyFolder::Open(engine, name, FolderOptionsFor(spec), plan->ops());
  if (!folder.ok()) return folder.status();
  return std::unique_ptr<JsonFolder>(
      new JsonFolder(std::make_unique<Impl>(*folder, std::move(plan))));
}

JsonFolder::JsonFolder(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
JsonFolder::~JsonFolder() = default;

LineResult JsonFolder::FoldLine(std::string_view line, EngineTime arrival) {
  return impl_->FoldLine(line, arrival);
}

size_t JsonFolder::Pop(size_t max, std::string& out) { return impl_->Pop(max, out); }

void JsonFolder::CloseAll() noexcept { impl_->folder().CloseAll(); }

LineCounts JsonFolder::counts() const noexcept { return impl_->counts(); }
Ledger JsonFolder::ledger() const noexcept { return impl_->folder().ledger(); }
Sizes JsonFolder::sizes() const noexcept { return impl_->folder().sizes(); }

}  // namespace pleat::inline v0
