// A live set of an engine: LiveSetCore, the collection whose books are LiveSetBooks, and the handle,
// whose calls go from here to the books.
#include <pleat/untyped/any_live_set.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include <pleat/live_set_options.h>
#include <pleat/metrics.h>

#include "engine/base/check.h"
#include "engine/base/inside.h"
#include "engine/core/add_counts.h"
#include "engine/core/feed_collection.h"
#include "engine/core/keyed_collection.h"
#include "engine/core/opening.h"
#include "engine/live/live_set_book.h"

namespace pleat::inline v0_1 {

extern template class KeyedCollection<LiveSetBook, FeedCollection>;

class LiveSetCore final : public KeyedCollection<LiveSetBook, FeedCollection> {
 public:
  LiveSetCore(EngineCore& engine, std::string_view name, const LiveSetOptions& options,
              const PayloadOps& ops, std::shared_ptr<void> context_owner)
      : KeyedCollection(engine, name, ops, std::move(context_owner)), options_(options) {}

  Description Describe() const override {
    Description live_set = DescribeAs("live_set");
    live_set.Add("ttl", options_.ttl);
    live_set.Add("retention", options_.retention);
    live_set.Add("refresh", static_cast<uint64_t>(options_.refresh));
    return live_set;
  }
  std::vector<Statistic> Statistics() override { return StatisticsOf(ledger(), sizes()); }
  std::vector<uint64_t> CountEntries() const override {
    return CountInBooks<LiveSetBook>([](const LiveSetBook& book) { return book.sizes().members; });
  }

 private:
  friend class AnyLiveSet;

  std::unique_ptr<Book> MakeBook(int partition) override {
    return std::make_unique<LiveSetBook>(
        engine().pool(), ShareOfOptions(before_.value_or(options_), partition), ops(),
        engine().hash_key(), engine().name_key(), static_cast<uint32_t>(partition));
  }
  LiveSetOptions ShareOfOptions(const LiveSetOptions& options, int partition) {
    LiveSetOptions share = options;
    CutToShares({&share.limits.max_series, &share.limits.max_members, &share.limits.max_bytes,
                 &share.max_changes},
                partition, engine().partition_count());
    return share;
  }
  absl::Status UseOptionsOf(const Description& then) override;
  void UseOwnOptions() override { before_.reset(); }
  void SetOptionsOf(Book& book, int partition, const Instant& at) override {
    static_cast<LiveSetBook&>(book).SetOptions(ShareOfOptions(options_, partition), at);
  }
  LiveSetLedger ledger() {
    return Sum<LiveSetBook>([](const LiveSetBook& book) { return book.ledger(); });
  }
  LiveSetSizes sizes() {
    return Sum<LiveSetBook>([](const LiveSetBook& book) { return book.sizes(); });
  }

  // --- The calls of the handle that move time, or lock for more than one change

  LiveSetCounts Import(std::string_view series, const AnyBatch& rows);
  LiveSetControl Remove(std::string_view series, std::string_view id, const RemoveOptions& options);

  absl::Status SetOptions(const LiveSetOptions& options);
  LiveSetOptions options() {
    LockGuard guard(home(0).partition->lock());
    return options_;
  }

  // Changes with all partitions locked, and the engine's list of collections.
  LiveSetOptions options_;
  std::optional<LiveSetOptions> before_;  // of a snapshot that is being taken over
};

namespace {

// As for folders: see any_folder.cc.
bool TakeLiveSetOption(LiveSetOptions& before, std::string_view option, std::string_view value) {
  if (option == "ttl") return TakeValue(value, before.ttl);
  if (option == "retention") return TakeValue(value, before.retention);
  if (option == "refresh") return TakeValue(value, before.refresh);
  return true;
}

// The ring of changes is as large as it is.
std::string_view FixedLiveSetOption(const LiveSetOptions& now, const LiveSetOptions& then) {
  // A new option does not compile here until it was thought about.
  const auto& [ttl, retention, refresh, max_changes, limits] = now;
  return max_changes != then.max_changes ? "max_changes" : std::string_view();
}

absl::Status Check(const LiveSetOptions& options, const PayloadOps& ops, int partitions) {
  if (options.ttl <= Duration::zero()) return OutOfRange("ttl", "above zero");
  if (options.retention < Duration::zero()) return OutOfRange("retention", "zero or more");
  if (options.limits.max_per_series < 1) return OutOfRange("limits.max_per_series", "at least 1");
  absl::Status limits = CheckLimits({{"limits.max_series", options.limits.max_series},
                                     {"limits.max_members", options.limits.max_members},
                                     {"limits.max_bytes", options.limits.max_bytes},
                                     {"max_changes", options.max_changes}},
                                    partitions);
  return limits.ok() ? FeedCollection::CheckPayload(ops) : limits;
}

}  // namespace

absl::Status LiveSetCore::UseOptionsOf(const Description& then) {
  absl::StatusOr<LiveSetOptions> before = OptionsOf(
      then, options_, TakeLiveSetOption,
      [&](const LiveSetOptions& o) { return Check(o, ops(), engine().partition_count()); },
      [&](const LiveSetOptions& o) { return FixedLiveSetOption(o, options_); });
  if (!before.ok()) return before.status();
  before_ = *std::move(before);
  return absl::OkStatus();
}

absl::Status LiveSetCore::SetOptions(const LiveSetOptions& options) {
  absl::Status in_range = Check(options, ops(), engine().partition_count());
  if (!in_range.ok()) return in_range;
  return ChangeOptions([&] { return FixedLiveSetOption(options_, options); },
                       [&] { options_ = options; });
}

LiveSetCounts LiveSetCore::Import(std::string_view series, const AnyBatch& rows) {
  Timeline& timeline = engine().timeline();
  if (series.size() > kKeyBytesMax) {
    LiveSetCounts counts;
    for (size_t i = 0; i < rows.size; ++i) counts.Add(RefuseTooLong());
    return counts;
  }
  LiveSetCounts none;
  none.Add(LiveSetOutcome::kStopped, rows.size);
  return WithSeries<LiveSetBook>(
      series, none,
      [&](Home& home, LiveSetBook& book, const LiveSetBook::SeriesRef& ref)
          ABSL_NO_THREAD_SAFETY_ANALYSIS {
            if (home.partition->stopped()) return none;
            const EngineTime now = timeline.now();
            const auto is_future = [&](EngineTime stamp) {
              return timeline.IsFuture(Clamp(stamp), now);
            };
            return home.partition->Do(
                home.partition->CopyFirst(), book, now, timeline.lease_now(),
                timeline.TakePositions(std::max<size_t>(rows.size, 1)),
                [&](const Instant& at) { return book.Import(ref, rows, is_future, at); });
          });
}

LiveSetControl LiveSetCore::Remove(std::string_view series, std::string_view id,
                                   const RemoveOptions& options) {
  if (series.size() > kKeyBytesMax || id.size() > kKeyBytesMax) return LiveSetControl::kOverLimit;
  Timeline& timeline = engine().timeline();
  return WithSeries<LiveSetBook>(
      series, LiveSetControl::kClosed,
      [&](Home& home, LiveSetBook& book, const LiveSetBook::SeriesRef& ref)
          ABSL_NO_THREAD_SAFETY_ANALYSIS {
            EngineTime now = timeline.now();
            if (options.at && !timeline.Observe(Clamp(*options.at), now)) {
              return LiveSetControl::kFuture;
            }
            return Do(home, now, [&](const Instant& at) {
              RemoveOptions clamped = options;
              if (options.at) clamped.at = Clamp(*options.at);
              return book.Remove(ref, id, clamped, at);
            });
          });
}

// --- Counts

LiveSetLedger& LiveSetLedger::operator+=(const LiveSetLedger& other) noexcept {
  return AddCounts(*this, other);
}
LiveSetSizes& LiveSetSizes::operator+=(const LiveSetSizes& other) noexcept {
  return AddCounts(*this, other);
}

// --- The handle

AnyLiveSet::AnyLiveSet(std::shared_ptr<EngineCore> engine,
                       std::shared_ptr<LiveSetCore> core) noexcept
    : AnyFeed(std::move(engine), std::move(core)) {}

LiveSetCore& AnyLiveSet::core() const noexcept { return static_cast<LiveSetCore&>(feed()); }

absl::StatusOr<AnyLiveSet> AnyLiveSet::Open(Engine& engine, std::string_view name,
                                            const LiveSetOptions& options, const PayloadOps& ops,
                                            std::shared_ptr<void> context_owner) {
  auto core = OpenCore<LiveSetCore>(engine, name, Check(options, ops, engine.partitions()), options,
                                    ops, std::move(context_owner));
  if (!core.ok()) return core.status();
  return AnyLiveSet(EngineAccess::CoreOf(engine), *std::move(core));
}

void AnyLiveSet::OpenFailed(std::string_view name, const absl::Status& why) noexcept {
  FailToOpen("live set", name, why);
}

LiveSetOutcome AnyLiveSet::Add(std::string_view series, const void* event, EngineTime at) noexcept {
  return core().Fold(series, event, at);
}
LiveSetCounts AnyLiveSet::AddBatch(const AnyBatch& batch, std::span<LiveSetOutcome> outcomes,
                                   PartitionRange only,
                                   std::optional<SourcePosition> position) noexcept {
  return core().FoldBatch("AddBatch", batch, outcomes, only, position);
}
LiveSetOutcome AnyLiveSet::Touch(std::string_view series, std::string_view id,
                                 EngineTime at) noexcept {
  const auto touch = [&](LiveSetBook& book, const auto& ref, const Instant& instant) {
    return book.Touch(ref, id, Clamp(at), instant);
  };
  return core().ChangeSeriesAt<LiveSetBook>(series, std::max(series.size(), id.size()), at, touch);
}
LiveSetCounts AnyLiveSet::Import(std::string_view series, const AnyBatch& rows) noexcept {
  const Call call;
  if (!call.nested()) return core().Import(series, rows);
  LiveSetCounts counts;
  counts.Add(LiveSetOutcome::kWouldDeadlock, rows.size);
  return counts;
}
LiveSetControl AnyLiveSet::Remove(std::string_view series, std::string_view id,
                                  const RemoveOptions& options) noexcept {
  return Guarded([&] { return core().Remove(series, id, options); });
}
size_t AnyLiveSet::Remove(std::string_view series, EngineTime from, EngineTime to) noexcept {
  const auto remove = [&](LiveSetBook& book, const auto& ref, const Instant& at) {
    return book.RemoveBetween(ref, from, to, at);
  };
  return core().ChangeSeries<LiveSetBook>(series, size_t{0}, remove);
}
LiveSetControl AnyLiveSet::SetTtl(std::string_view series, Duration ttl) noexcept {
  if (Call::WouldBeNested()) return LiveSetControl::kWouldDeadlock;
  if (series.size() > kKeyBytesMax) return LiveSetControl::kOverLimit;
  if (ttl <= Duration::zero()) return LiveSetControl::kOutOfRange;
  const auto set = [&](LiveSetBook& book, const auto& ref, const Instant& at) {
    return book.SetTtl(ref, ttl, at);
  };
  return core().ChangeSeries<LiveSetBook>(series, LiveSetControl::kClosed, set);
}
size_t AnyLiveSet::Clear(std::string_view series) noexcept {
  const auto clear = [](LiveSetBook& book, const auto& ref, const Instant& at) {
    return book.Clear(ref, at);
  };
  return core().ChangeSeries<LiveSetBook>(series, size_t{0}, clear);
}

size_t AnyLiveSet::Count(std::string_view series, EngineTime now) const noexcept {
  return core().Looking<LiveSetBook>(series, now, size_t{0}, [](auto& book, auto& ref, auto as_of) {
    return book.Count(ref, as_of);
  });
}
size_t AnyLiveSet::CountSince(std::string_view series, EngineTime since,
                              EngineTime now) const noexcept {
  return since >= kEndOfTime ? 0 : CountBetween(series, since + Duration{1}, kNever, now);
}
// Flat, because services count often, and the compiler would inline half of the way.
[[gnu::flatten]] size_t AnyLiveSet::CountBetween(std::string_view series, EngineTime from,
                                                 EngineTime to, EngineTime now) const noexcept {
  const auto count = [&](auto& book, auto& ref, auto as_of) {
    return book.CountBetween(ref, from, to, as_of);
  };
  return core().Looking<LiveSetBook>(series, now, size_t{0}, count);
}
bool AnyLiveSet::List(std::string_view series, const ListOptions& options, ListCursor& cursor,
                      See see) const noexcept {
  const auto list = [&](auto& book, auto& ref, auto as_of) {
    return book.List(ref, options, as_of, cursor, see);
  };
  return core().Looking<LiveSetBook>(series, options.now, false, list);
}
bool AnyLiveSet::Find(std::string_view series, std::string_view id, EngineTime now,
                      See see) const noexcept {
  return core().Looking<LiveSetBook>(series, now, false, [&](auto& book, auto& ref, auto as_of) {
    return book.Find(ref, id, as_of, see);
  });
}
std::optional<size_t> AnyLiveSet::Rank(std::string_view series, std::string_view id,
                                       EngineTime now) const noexcept {
  const auto rank = [&](auto& book, auto& ref, auto as_of) { return book.Rank(ref, id, as_of); };
  return core().Looking<LiveSetBook>(series, now, std::optional<size_t>(), rank);
}
void AnyLiveSet::CountMany(std::span<const KeyView> series, std::span<size_t> counts,
                           EngineTime now) const noexcept {
  PLEAT_DCHECK(series.size() == counts.size());
  for (size_t i = 0; i < series.size(); ++i) counts[i] = Count(series[i], now);
}
ChangeCursor AnyLiveSet::Watch(std::string_view series, See see) noexcept {
  return Guarded([&] { return core().WatchSeriesOf<LiveSetBook>(series, see); });
}
absl::Status AnyLiveSet::SetOptions(const LiveSetOptions& options) noexcept {
  const Call call;
  if (call.nested()) {
    return absl::FailedPreconditionError("SetOptions() from inside a function of the caller's");
  }
  return core().SetOptions(options);
}
LiveSetOptions AnyLiveSet::options() const noexcept {
  return Guarded([&] { return core().options(); });
}
LiveSetLedger AnyLiveSet::ledger() const noexcept {
  return Guarded([&] { return core().ledger(); });
}
LiveSetSizes AnyLiveSet::sizes() const noexcept {
  return Guarded([&] { return core().sizes(); });
}
size_t AnyLiveSet::held_bytes() const noexcept {
  return Guarded([&] { return core().held_bytes(); });
}

}  // namespace pleat::inline v0_1
