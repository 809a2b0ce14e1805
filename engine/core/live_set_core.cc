#include "engine/core/live_set_core.h"

#include <algorithm>
#include <utility>

#include "engine/core/statistics.h"

namespace pleat::inline v0_1 {
namespace {

// The limits of one partition.
LiveSetOptions OptionsFor(const LiveSetOptions& options, int i, int partitions) {
  LiveSetOptions share = options;
  for (size_t* limit : {&share.limits.max_series, &share.limits.max_members,
                        &share.limits.max_bytes, &share.max_changes}) {
    *limit = ShareOf(*limit, i, partitions);
  }
  return share;
}

}  // namespace

LiveSetCore::LiveSetCore(EngineCore& engine, std::string_view name, const LiveSetOptions& options,
                         const PayloadOps& ops, std::shared_ptr<void> context_owner)
    : KeyedCollection(engine, name),
      options_(options),
      ops_(ops),
      context_owner_(std::move(context_owner)) {}

std::unique_ptr<Book> LiveSetCore::MakeBook(int partition) {
  return std::make_unique<LiveSetBook>(
      engine().pool(), OptionsFor(options_, partition, engine().partition_count()), ops_,
      engine().hash_key(), engine().name_key(), static_cast<uint32_t>(partition));
}

Description LiveSetCore::Describe() const {
  Description live_set;
  live_set.kind = "live_set";
  live_set.stored = ops_.stored();
  live_set.Add("ttl", options_.ttl);
  live_set.Add("retention", options_.retention);
  live_set.Add("refresh", static_cast<uint64_t>(options_.refresh));
  live_set.version = ops_.stored_version;
  live_set.shape = ShapeOf(live_set.version);
  return live_set;
}

std::string LiveSetCore::ShapeOf(uint32_t version) const {
  return ops_.shape == nullptr ? "" : ops_.shape(ops_.context, version);
}

// --- Changes

LiveSetOutcome LiveSetCore::Touch(std::string_view series, std::string_view id, EngineTime at) {
  if (series.size() > kKeyBytesMax || id.size() > kKeyBytesMax) return RefuseTooLong();
  return WithSeriesAt<LiveSetBook>(series, at,
                                   [&](LiveSetBook& book, const auto& ref, const Instant& instant) {
                                     return book.Touch(ref, id, Clamp(at), instant);
                                   });
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
            return home.partition->Do(
                home.partition->CopyFirst(), book, now, timeline.lease_now(),
                timeline.TakePositions(1), [&](const Instant& at) {
                  const auto stamp = options.at ? std::optional(Clamp(*options.at)) : std::nullopt;
                  return book.Remove(ref, id, stamp, options.only_if_not_newer, at);
                });
          });
}

size_t LiveSetCore::RemoveBetween(std::string_view series, EngineTime from, EngineTime to) {
  return WithSeries<LiveSetBook>(
      series, size_t{0},
      [&](Home& home, LiveSetBook& book,
          const LiveSetBook::SeriesRef& ref) ABSL_NO_THREAD_SAFETY_ANALYSIS {
        return Do(home, [&](const Instant& at) { return book.RemoveBetween(ref, from, to, at); });
      });
}

LiveSetControl LiveSetCore::SetTtl(std::string_view series, Duration ttl) {
  if (series.size() > kKeyBytesMax) return LiveSetControl::kOverLimit;
  if (ttl <= Duration::zero()) return LiveSetControl::kOutOfRange;
  return WithSeries<LiveSetBook>(
      series, LiveSetControl::kClosed,
      [&](Home& home, LiveSetBook& book, const LiveSetBook::SeriesRef& ref)
          ABSL_NO_THREAD_SAFETY_ANALYSIS {
            return Do(home, [&](const Instant& at) { return book.SetTtl(ref, ttl, at); });
          });
}

size_t LiveSetCore::Clear(std::string_view series) {
  return WithSeries<LiveSetBook>(
      series, size_t{0},
      [&](Home& home, LiveSetBook& book, const LiveSetBook::SeriesRef& ref)
          ABSL_NO_THREAD_SAFETY_ANALYSIS {
            return Do(home, [&](const Instant& at) { return book.Clear(ref, at); });
          });
}

// --- Reads

size_t LiveSetCore::Count(std::string_view series, EngineTime now) {
  return Looking<LiveSetBook>(series, size_t{0}, [&](const LiveSetBook& book, const auto& ref) {
    return book.Count(ref, TimeFor(now));
  });
}

size_t LiveSetCore::CountBetween(std::string_view series, EngineTime from, EngineTime to,
                                 EngineTime now) {
  return Looking<LiveSetBook>(series, size_t{0}, [&](const LiveSetBook& book, const auto& ref) {
    return book.CountBetween(ref, from, to, TimeFor(now));
  });
}

bool LiveSetCore::List(std::string_view series, const ListOptions& options, ListCursor& cursor,
                       AnyLiveSet::See see) {
  return Looking<LiveSetBook>(series, false, [&](const LiveSetBook& book, const auto& ref) {
    return book.List(ref, options, TimeFor(options.now), cursor, see);
  });
}

bool LiveSetCore::Find(std::string_view series, std::string_view id, EngineTime now,
                       AnyLiveSet::See see) {
  return Looking<LiveSetBook>(series, false, [&](const LiveSetBook& book, const auto& ref) {
    return book.Find(ref, id, TimeFor(now), see);
  });
}

std::optional<size_t> LiveSetCore::Rank(std::string_view series, std::string_view id,
                                        EngineTime now) {
  return Looking<LiveSetBook>(
      series, std::optional<size_t>(),
      [&](const LiveSetBook& book, const auto& ref) { return book.Rank(ref, id, TimeFor(now)); });
}

ChangeCursor LiveSetCore::WatchSeries(std::string_view series, AnyLiveSet::See see) {
  return WatchSeriesOf<LiveSetBook>(series, see);
}

// --- Counts

LiveSetLedger LiveSetCore::ledger() {
  return Sum<LiveSetBook>([](const LiveSetBook& book) { return book.ledger(); });
}

LiveSetSizes LiveSetCore::sizes() {
  return Sum<LiveSetBook>([](const LiveSetBook& book) { return book.sizes(); });
}

std::vector<Statistic> LiveSetCore::Statistics() { return StatisticsOf(ledger(), sizes()); }

std::vector<Statistic> StatisticsOf(const LiveSetLedger& ledger, const LiveSetSizes& sizes) {
  StatisticList out;
  out.Events({{"added", ledger.added},
              {"refreshed", ledger.refreshed},
              {"updated", ledger.updated},
              {"unchanged", ledger.unchanged},
              {"duplicate", ledger.duplicate},
              {"conflict", ledger.conflict},
              {"late", ledger.late},
              {"future", ledger.future},
              {"tombstoned", ledger.tombstoned},
              {"over_limit", ledger.over_limit}});
  out.HeldBytes(sizes.bytes);
  out.Series(sizes.series);
  out.Changes(ledger.causes);
  out.Gauge("pleat_members", "Members that are live.", ledger.live);
  out.Gauge("pleat_members_held", "Members that are live, or may come back with a longer TTL.",
            sizes.members);
  out.Gauge("pleat_tombstones", "Removed members whose late events are refused.", sizes.tombstones);
  out.Counter("pleat_tombstones_refused",
              "Removals that left no tombstone: the limit on bytes was met.",
              ledger.tombstones_refused);
  return std::move(out).Take();
}

}  // namespace pleat::inline v0_1
