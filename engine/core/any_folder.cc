// A folder of an engine: FolderCore, the collection whose books are FoldBooks, and the handle, whose
// calls go from here to the books; those of events from folder_events.cc.
#include <pleat/untyped/any_folder.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <pleat/stats.h>

#include "engine/base/concat.h"
#include "engine/base/in_order.h"
#include "engine/base/inside.h"
#include "engine/base/spread.h"
#include "engine/core/keyed_collection.h"
#include "engine/core/opening.h"
#include "engine/fold/fold_book.h"

namespace pleat::inline v0_1 {
namespace {

// How many gaps of a folder are counted one by one: with so many, a share of them that one in eight
// tells is within a tenth of a percentage point, by three standard deviations at the worst moment.
constexpr size_t kExactGaps = 4'000'000;

// The limits of one partition.
FolderOptions OptionsFor(const FolderOptions& options, int i, int partitions) {
  FolderOptions share = options;
  CutToShares({&share.limits.max_groups, &share.limits.max_bytes, &share.limits.max_backlog,
               &share.leases.max_leased, &share.leases.max_dead_letters, &share.measure.max_ghosts,
               &share.measure.max_trace},
              i, partitions);
  return share;
}

// Options of before, with the value that a description has of one of those that can change. Returns
// whether that was one.
bool TakeOption(FolderOptions& before, std::string_view option, std::string_view value) {
  if (option == "quiet_period") return TakeValue(value, before.quiet_period);
  if (option == "max_wait") return TakeValue(value, before.max_wait);
  if (option == "max_events") return TakeValue(value, before.max_events);
  if (option == "max_group_bytes") return TakeValue(value, before.max_group_bytes);
  if (option == "late.allowed_lateness") return TakeValue(value, before.late.allowed_lateness);
  if (option == "late.on_late") return TakeValue(value, before.late.on_late);
  if (option == "measure.gap_stats") return TakeValue(value, before.measure.gap_stats);
  if (option == "measure.max_ghosts") return TakeValue(value, before.measure.max_ghosts);
  return true;
}

// Whether options are in range; below.
absl::Status Check(const FolderOptions& options, const StateOps& ops, int partitions);

// The option that differs and cannot change, or nothing. It says how entries are laid out, or what
// is remembered.
std::string_view FixedOption(const FolderOptions& now, const FolderOptions& then, bool has_ids) {
  // A new option does not compile here until it was thought about.
  const auto& [quiet, floor, hold, events, bytes, edge, leading, partial, closing, late, limits,
               leases, measure] = now;
  const bool learns = floor > Duration{0};
  const bool corrects =
      (late.on_late == OnLate::kCorrect) != (then.late.on_late == OnLate::kCorrect);
  if (floor != then.quiet_floor) return "quiet_floor";
  if (learns && quiet != then.quiet_period) return "quiet_period with quiet_floor";
  if (closing.every != then.closing.every) return "closing.every";
  if (closing.phase != then.closing.phase) return "closing.phase";
  if (closing.settable != then.closing.settable) return "closing.settable";
  if (edge != then.edge) return "edge";
  if (leading != then.leading_events) return "leading_events";
  if (partial != then.partial_every) return "partial_every";
  if (has_ids && late.allowed_lateness != then.late.allowed_lateness)
    return "late.allowed_lateness with ids";
  if (has_ids && late.deduplication_window != then.late.deduplication_window)
    return "late.deduplication_window with ids";
  if (corrects) return "late.on_late from or to kCorrect";
  if (measure.max_trace != then.measure.max_trace) return "measure.max_trace";
  return {};
}

}  // namespace

class FolderCore final : public KeyedCollection<FoldBook> {
 public:
  FolderCore(EngineCore& engine, std::string_view name, const FolderOptions& options,
             const StateOps& ops, std::shared_ptr<void> context_owner)
      : KeyedCollection(engine, name),
        settable_(options.closing.settable),
        options_(options),
        ops_(ops),
        context_owner_(std::move(context_owner)) {}

  Description Describe() const override;
  std::string ShapeOf(uint32_t version) const override {
    return ops_.shape == nullptr ? "" : ops_.shape(ops_.context, version);
  }
  void SaveShared(FieldWriter& out) const override { measured_.Save(out); }
  void LoadShared(FieldReader& in) override;

 private:
  friend class AnyFolder;

  std::unique_ptr<Book> MakeBook(int partition) override {
    const int partitions = engine().partition_count();
    const FoldBook::Setting setting{
        .ops = ops_,
        .hash_key = engine().hash_key(),
        .name_key = engine().name_key(),
        .on_arrival = engine().timeline().axis() == Axis::kArrival,
        .measure = {.exact = ShareOf(kExactGaps, partition, partitions), .whole = &measured_}};
    return std::make_unique<FoldBook>(
        engine().pool(),
        OptionsFor(before_ == nullptr ? options_ : *before_, partition, partitions), setting,
        static_cast<uint32_t>(partition), listeners(partition));
  }
  void BeginClosing(EngineTime now, LeaseTime leases) override {
    DoInEach<FoldBook>(now, leases, engine().timeline().TakePositions(1),
                       [](FoldBook& book, int, const Instant& at) { book.BeginClosing(at); });
  }
  absl::Status UseOptionsOf(const Description& then) override;
  void UseOwnOptions() override { before_.reset(); }
  void SetOptionsOf(Book& book, int partition, const Instant& at) override {
    const FolderOptions share = OptionsFor(options_, partition, engine().partition_count());
    static_cast<FoldBook&>(book).SetOptions(share, at);
  }
  void HaveSetOptions() override {
    if (std::exchange(begins_to_measure_, false)) BeginMeasuring();
  }
  void BeginMeasuring();
  Ledger LedgerOfAll();
  size_t ShareOfGroups(const FolderOptions& options, size_t groups, size_t bytes_each,
                       int partition) const;

  // --- The calls of the handle

  template <auto change, class... Arguments>
  ControlOutcome Control(std::string_view key, std::optional<EngineTime> at,
                         const Arguments&... arguments);
  bool Peek(std::string_view key, AnyFolder::Look look);
  bool Scan(ScanCursor& cursor, size_t max, AnyFolder::See see);
  void ScanInOrder(AnyFolder::See see);
  absl::Status Reserve(size_t groups, size_t key_bytes);
  absl::Status SetOptions(const FolderOptions& options);  // in range
  FolderOptions options() {
    LockGuard guard(home(0).partition->lock());
    return options_;
  }
  std::unique_ptr<GapStats> gap_stats();

  const bool settable_;  // closing times, which never changes: asked for without a lock
  // Changes with all partitions locked, and the engine's list of collections. So it is read under
  // the lock of a partition, or of that list.
  FolderOptions options_;
  std::unique_ptr<FolderOptions> before_;  // of a snapshot that is being taken over
  const StateOps ops_;
  const std::shared_ptr<void> context_owner_;
  MeasuredWhole measured_;          // with MeasureOptions::gap_stats
  bool begins_to_measure_ = false;  // or ends: once the options that are being set hold
};

// Limits may differ from run to run; all else has a part in the results.
Description FolderCore::Describe() const {
  Description folder;
  folder.kind = "folder";
  folder.stored = ops_.save != nullptr;
  folder.Add("quiet_period", options_.quiet_period);
  folder.Add("quiet_floor", options_.quiet_floor);
  folder.Add("max_wait", options_.max_wait);
  folder.Add("max_events", options_.max_events);
  folder.Add("max_group_bytes", options_.max_group_bytes);
  folder.Add("edge", static_cast<uint64_t>(options_.edge));
  // Options that came later: without them folders are described as they ever were.
  if (options_.leading_events != 1) folder.Add("leading_events", options_.leading_events);
  if (options_.late.deduplication_window != Duration{0}) {
    folder.Add("late.deduplication_window", options_.late.deduplication_window);
  }
  folder.Add("partial_every", options_.partial_every);
  folder.Add("late.allowed_lateness", options_.late.allowed_lateness);
  folder.Add("late.on_late", static_cast<uint64_t>(options_.late.on_late));
  folder.Add("measure.gap_stats", options_.measure.gap_stats ? "on" : "off");
  if (options_.measure.gap_stats) folder.Add("measure.max_ghosts", options_.measure.max_ghosts);
  folder.Add("marks of events", ops_.marks != nullptr ? "on" : "off");
  // Folders without closing times are described as they ever were.
  if (options_.closing.every != kForever) {
    folder.Add("closing.every", options_.closing.every);
    folder.Add("closing.phase", options_.closing.phase);
  }
  if (options_.closing.settable) folder.Add("closing.settable", "on");
  if (ops_.has_close_at) folder.Add("close_at of events", "on");
  if (ops_.closing_time != nullptr) folder.Add("a closing time", "on");
  folder.Add("ids of events", ops_.has_ids ? "on" : "off");
  folder.Add("a condition", ops_.condition != nullptr ? "on" : "off");
  folder.version = ops_.stored_version;
  if (folder.stored) folder.shape = ShapeOf(folder.version);
  return folder;
}

// One operation: time moves as by an event that is folded, then `change`, a function of the book, has
// the group of the key.
template <auto change, class... Arguments>
ControlOutcome FolderCore::Control(std::string_view key, std::optional<EngineTime> at,
                                   const Arguments&... arguments) {
  return Guarded([&] {
    if (key.size() > kKeyBytesMax) return ControlOutcome::kNoGroup;
    const PackedKey packed(key);
    Home& home = HomeOf(packed);
    Timeline& timeline = engine().timeline();
    LockGuard guard(home.partition->lock());
    EngineTime now = timeline.now();
    if (at && !timeline.Observe(Clamp(*at), now)) return ControlOutcome::kFuture;
    if (home.book == nullptr) return closed() ? ControlOutcome::kClosed : ControlOutcome::kNoGroup;
    const bool found = Do(home, now, [&](const Instant& instant) {
      return (Typed(home.book)->*change)(key, HashOf(packed), arguments..., instant);
    });
    return found ? ControlOutcome::kDone : ControlOutcome::kNoGroup;
  });
}

bool FolderCore::Peek(std::string_view key, AnyFolder::Look look) {
  if (key.size() > kKeyBytesMax) return false;
  const PackedKey packed(key);
  Home& home = HomeOf(packed);
  LockGuard guard(home.partition->lock());
  if (home.book == nullptr) return false;
  return Typed(home.book)->Peek(key, HashOf(packed), engine().timeline().now(), look);
}

bool FolderCore::Scan(ScanCursor& cursor, size_t max, AnyFolder::See see) {
  size_t seen = 0;
  return ScanBooks(cursor, [&](const Home& home, uint32_t& place) {
    return Typed(home.book)->Scan(place, max, engine().timeline().now(), seen, see);
  });
}

void FolderCore::ScanInOrder(AnyFolder::See see) ABSL_NO_THREAD_SAFETY_ANALYSIS {
  const PartitionRange all = Clip({});
  LockRange(all);
  const EngineTime now = engine().timeline().now();
  const auto list = [&](const auto& add) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    for (size_t i = 0; i < home_count(); ++i) {
      const FoldBook* const book = Typed(home(i).book);
      if (book != nullptr) book->ListOpen(static_cast<uint32_t>(i), now, add);
    }
  };
  const std::vector<uint64_t> counts = CountEntries();
  const size_t groups = std::reduce(counts.begin(), counts.end());
  ShowInOrder<FoldBook::OpenPlace>(
      groups, RoomForRound(groups), list, [&](const FoldBook::OpenPlace& place) {
        Typed(home(place.partition).book)->ShowGroup(place.number, see);
      });
  HandOverRange(all);
}

// --- Other options

absl::Status FolderCore::SetOptions(const FolderOptions& options) {
  return ChangeOptions([&] { return FixedOption(options_, options, ops_.has_ids); },
                       [&] {
                         begins_to_measure_ =
                             options.measure.gap_stats != options_.measure.gap_stats;
                         options_ = options;
                       });
}

// Or ends it. Of what was before nothing is known but how many groups are open. REQUIRES: all books
// are there, and nobody changes them.
void FolderCore::BeginMeasuring() {
  const Ledger all = options_.measure.gap_stats ? LedgerOfAll() : Ledger();
  measured_.Begin(all.open, all.opened + all.folded);
}

Ledger FolderCore::LedgerOfAll() {
  Ledger all;
  for (size_t i = 0; i < home_count(); ++i) {
    if (home(i).book != nullptr) all += Typed(home(i).book)->ledger();
  }
  return all;
}

// --- Options of a snapshot

absl::Status FolderCore::UseOptionsOf(const Description& then) {
  absl::StatusOr<FolderOptions> before = OptionsOf(
      then, options_, TakeOption,
      [&](const FolderOptions& o) { return Check(o, ops_, engine().partition_count()); },
      [&](const FolderOptions& o) { return FixedOption(o, options_, ops_.has_ids); });
  if (!before.ok()) return before.status();
  before_ = std::make_unique<FolderOptions>(*before);
  return absl::OkStatus();
}

// The books are there by then. Those that took over other options have changed to ours.
void FolderCore::LoadShared(FieldReader& in) {
  measured_.Load(in);
  if (before_ == nullptr) return;
  if (before_->measure.gap_stats != options_.measure.gap_stats) {
    BeginMeasuring();
  } else if (options_.measure.gap_stats) {
    measured_.SetOpen(LedgerOfAll().open);
  }
}

// How many of so many groups a partition may get, and may have by its limits.
size_t FolderCore::ShareOfGroups(const FolderOptions& options, size_t groups, size_t bytes_each,
                                 int partition) const {
  const int partitions = engine().partition_count();
  const LimitOptions limits = OptionsFor(options, partition, partitions).limits;
  return std::min({MostInOnePlace(groups, static_cast<size_t>(partitions)), limits.max_groups,
                   limits.max_bytes / bytes_each});
}

// The system clears the memory while no lock is held. Then each partition takes its pages.
absl::Status FolderCore::Reserve(size_t groups, size_t key_bytes) {
  const auto ended = [] {
    return absl::FailedPreconditionError("no event will be folded any more");
  };
  if (engine().stopped() || closed()) return ended();
  if (key_bytes > kKeyBytesMax) return OutOfRange("key_bytes", "at most 65536");
  const FolderOptions options = this->options();
  const size_t bytes_each = GroupTable::BytesOfNew(options, ops_, key_bytes);
  if (groups > options.limits.max_groups) return OutOfRange("groups", "at most limits.max_groups");
  if (groups > options.limits.max_bytes / bytes_each) {
    return OutOfRange("groups", Concat("at most limits.max_bytes / ", bytes_each));
  }
  size_t bytes = 0;
  for (int i = 0; i < engine().partition_count(); ++i) {
    Home& home = this->home(static_cast<size_t>(i));
    const size_t share = ShareOfGroups(options, groups, bytes_each, i);
    LockGuard guard(home.partition->lock());
    bytes += home.book == nullptr ? share * bytes_each
                                  : Typed(home.book)->BytesToReserve(share, key_bytes);
  }
  PagePool::Stock stock(engine().pool());
  if (!stock.Fill(bytes)) {
    return absl::ResourceExhaustedError(Concat("groups: the system refuses ", bytes, " bytes"));
  }
  for (int i = 0; i < engine().partition_count(); ++i) {
    Home& home = this->home(static_cast<size_t>(i));
    LongLockGuard guard(home.partition->lock());
    auto* const book = static_cast<FoldBook*>(BookFor(home));
    if (book == nullptr) return ended();
    book->Reserve(ShareOfGroups(options, groups, bytes_each, i), key_bytes);
  }
  return absl::OkStatus();
}

std::unique_ptr<GapStats> FolderCore::gap_stats() {
  const FolderOptions options = this->options();
  if (!options.measure.gap_stats) return nullptr;
  auto stats = std::make_unique<GapStats>();
  stats->quiet_period = options.quiet_period;
  stats->max_wait = options.max_wait;
  uint64_t before = 0;
  for (size_t i = 0; i < home_count(); ++i) {
    Home& home = this->home(i);
    LongLockGuard guard(home.partition->lock());
    if (home.book != nullptr) Typed(home.book)->AddTo(*stats);
    before = measured_.events_before();
  }
  stats->events -= std::min(stats->events, before);
  stats->open_peak = measured_.open_peak();
  return stats;
}

// --- The handle

namespace {

absl::Status CheckClosing(const ClosingOptions& closing, const StateOps& ops) {
  if (closing.every <= Duration::zero()) return OutOfRange("closing.every", "above zero");
  if (closing.phase < Duration::zero() || closing.phase >= closing.every) {
    return OutOfRange("closing.phase", "zero or more, and less than closing.every");
  }
  if (closing.phase > Duration::zero() && closing.every == kForever) {
    return OutOfRange("closing.phase", "zero without closing.every");
  }
  if (ops.has_close_at && ops.marks == nullptr) {
    return OutOfRange("marks of events with close_at", "given");
  }
  if ((ops.has_close_at || closing.settable) && ops.relocate == nullptr) {
    return OutOfRange(closing.settable ? "closing.settable" : "close_at of events",
                      "left alone: it takes a state that can be moved");
  }
  return absl::OkStatus();
}

absl::Status Check(const FolderOptions& options, const StateOps& ops, int partitions) {
  if (options.quiet_period <= Duration::zero()) return OutOfRange("quiet_period", "above zero");
  if (options.quiet_floor < Duration::zero()) return OutOfRange("quiet_floor", "zero or more");
  if (options.quiet_floor >= options.quiet_period ||
      (options.quiet_floor > Duration::zero() && options.quiet_period == kForever)) {
    return OutOfRange("quiet_floor",
                      "below quiet_period, which is then the ceiling and not kForever");
  }
  if (options.max_wait == Duration::zero()) {
    return OutOfRange("max_wait", "given; kForever if a busy group may stay open without end");
  }
  if (options.max_wait < Duration::zero()) return OutOfRange("max_wait", "above zero");
  if (options.max_events < 1) return OutOfRange("max_events", "at least 1");
  if (options.max_group_bytes < 1) return OutOfRange("max_group_bytes", "at least 1");
  if (options.leading_events < 1) return OutOfRange("leading_events", "at least 1");
  if (options.leading_events > 1 && options.edge == Edge::kTrailing) {
    return OutOfRange("leading_events", "1 with Edge::kTrailing, which hands out no event at once");
  }
  if (options.partial_every <= Duration::zero()) return OutOfRange("partial_every", "above zero");
  const bool partials = options.partial_every != kForever;
  if (partials && options.edge == Edge::kLeading) {
    return OutOfRange("partial_every", "kForever with Edge::kLeading, which holds back all else");
  }
  if ((partials || options.edge != Edge::kTrailing) && ops.copy == nullptr) {
    return OutOfRange(partials ? "partial_every" : "edge",
                      "left alone: it takes a state that can be copied");
  }
  if (absl::Status closing = CheckClosing(options.closing, ops); !closing.ok()) return closing;
  if (options.late.allowed_lateness < Duration::zero())
    return OutOfRange("late.allowed_lateness", "zero or more");
  if (options.late.on_late != OnLate::kReject && options.late.allowed_lateness == kForever) {
    return OutOfRange("late.on_late", "kReject without late.allowed_lateness: nothing is late");
  }
  if (ops.has_ids && ops.marks == nullptr) return OutOfRange("marks of events with ids", "given");
  if (ops.has_ids && options.late.allowed_lateness == kForever) {
    return OutOfRange("late.allowed_lateness",
                      "given with ids: it says how long they are remembered");
  }
  const Duration window = options.late.deduplication_window;
  if (window != Duration{0} &&
      (!ops.has_ids || window < options.late.allowed_lateness || window == kForever)) {
    return OutOfRange("late.deduplication_window",
                      "allowed_lateness or more, below kForever, and with ids");
  }
  if (ops.has_ids && options.late.on_late != OnLate::kReject) {
    return OutOfRange("late.on_late", "kReject with ids: an event could count twice");
  }
  absl::Status limits = CheckLimits({{"limits.max_groups", options.limits.max_groups},
                                     {"limits.max_bytes", options.limits.max_bytes},
                                     {"limits.max_backlog", options.limits.max_backlog}},
                                    partitions);
  if (!limits.ok()) return limits;
  if (absl::Status leases = CheckLeases(options.leases, partitions); !leases.ok()) return leases;
  if (options.measure.max_trace > 0 &&
      options.measure.max_trace < static_cast<size_t>(partitions)) {
    return OutOfRange(
        "measure.max_trace",
        Concat("zero, or at least one for each of the engine's partitions, ", partitions));
  }
  if (ops.open == nullptr || ops.fold == nullptr || ops.destroy == nullptr) {
    return OutOfRange("open, fold and destroy of the state", "given");
  }
  const bool power_of_two = ops.align != 0 && (ops.align & (ops.align - 1)) == 0;
  if (!power_of_two || ops.align > 64) {
    return OutOfRange("the state's alignment", "a power of two up to 64");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<AnyFolder> AnyFolder::Open(Engine& engine, std::string_view name,
                                          const FolderOptions& options, const StateOps& ops,
                                          std::shared_ptr<void> context_owner) {
  auto core = OpenCore<FolderCore>(engine, name, Check(options, ops, engine.partitions()), options,
                                   ops, std::move(context_owner));
  if (!core.ok()) return core.status();
  return AnyFolder(EngineAccess::CoreOf(engine), *std::move(core));
}

void AnyFolder::OpenFailed(std::string_view name, const absl::Status& why) noexcept {
  FailToOpen("folder", name, why);
}

FolderCore& AnyFolder::core() const noexcept { return static_cast<FolderCore&>(collection()); }

bool AnyFolder::Flush(std::string_view key) noexcept {
  return core().Control<&FoldBook::Flush>(key, std::nullopt) == ControlOutcome::kDone;
}
ControlOutcome AnyFolder::Flush(std::string_view key, EngineTime at) noexcept {
  return core().Control<&FoldBook::Flush>(key, at);
}
bool AnyFolder::Cancel(std::string_view key) noexcept {
  return core().Control<&FoldBook::Cancel>(key, std::nullopt) == ControlOutcome::kDone;
}
ControlOutcome AnyFolder::Cancel(std::string_view key, EngineTime at) noexcept {
  return core().Control<&FoldBook::Cancel>(key, at);
}
ControlOutcome AnyFolder::SetDeadline(std::string_view key, EngineTime deadline) noexcept {
  if (!core().settable_ && !Call::WouldBeNested()) return ControlOutcome::kNotSettable;
  return core().Control<&FoldBook::SetDeadline>(key, std::nullopt, deadline);
}
bool AnyFolder::Peek(std::string_view key, Look look) const noexcept {
  return Guarded([&] { return core().Peek(key, look); });
}
bool AnyFolder::Scan(ScanCursor& cursor, size_t max, See see) const noexcept {
  if (cursor.partition < 0) cursor = {};
  return Guarded([&] { return core().Scan(cursor, std::max<size_t>(max, 1), see); });
}
void AnyFolder::ScanInOrder(See see) const noexcept {
  Guarded([&] { core().ScanInOrder(see); });
}
absl::Status AnyFolder::Reserve(size_t groups, size_t key_bytes) noexcept {
  const Call call;
  if (call.nested()) return absl::FailedPreconditionError("Reserve() from inside a fold function");
  return core().Reserve(groups, key_bytes);
}
std::unique_ptr<GapStats> AnyFolder::gap_stats() const noexcept {
  return Guarded([&] { return core().gap_stats(); });
}
absl::Status AnyFolder::SetOptions(const FolderOptions& options) noexcept {
  const Call call;
  if (call.nested()) {
    return absl::FailedPreconditionError("SetOptions() from inside a fold function");
  }
  absl::Status status = Check(options, ops(), partitions());
  return status.ok() ? core().SetOptions(options) : status;
}
FolderOptions AnyFolder::options() const noexcept {
  return Guarded([&] { return core().options(); });
}
const StateOps& AnyFolder::ops() const noexcept { return core().ops_; }

}  // namespace pleat::inline v0_1
