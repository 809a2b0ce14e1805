#include "engine/core/window_core.h"

#include <algorithm>
#include <utility>

#include <pleat/collections.h>

namespace pleat::inline v0_1 {
namespace {

// The limits of one partition.
WindowOptions OptionsFor(const WindowOptions& options, int i, int partitions) {
  WindowOptions share = options;
  for (size_t* limit : {&share.limits.max_series, &share.limits.max_members,
                        &share.limits.max_bytes, &share.max_changes}) {
    *limit = ShareOf(*limit, i, partitions);
  }
  return share;
}

}  // namespace

WindowCore::WindowCore(EngineCore& engine, std::string_view name, const WindowOptions& options,
                       const PayloadOps& ops, std::shared_ptr<void> context_owner)
    : KeyedCollection(engine, name),
      options_(options),
      ops_(ops),
      context_owner_(std::move(context_owner)) {}

std::unique_ptr<Book> WindowCore::MakeBook(int partition) {
  return std::make_unique<WindowBook>(
      engine().pool(), OptionsFor(options_, partition, engine().partition_count()), ops_,
      engine().hash_key(), engine().name_key(), static_cast<uint32_t>(partition));
}

void WindowCore::ListIn(CollectionList& list) {
  list.windows.push_back(
      {.name = name(), .options = options_, .ledger = ledger(), .sizes = sizes()});
}

Description WindowCore::Describe() const {
  Description window;
  window.kind = "window";
  window.stored = ops_.stored();
  window.Add("ttl", options_.ttl);
  window.Add("retention", options_.retention);
  window.Add("refresh", static_cast<uint64_t>(options_.refresh));
  window.version = ops_.stored_version;
  window.shape = ShapeOf(window.version);
  return window;
}

std::string WindowCore::ShapeOf(uint32_t version) const {
  return ops_.shape == nullptr ? "" : ops_.shape(ops_.context, version);
}

// --- Changes

WindowOutcome WindowCore::Touch(std::string_view series, std::string_view id, EngineTime at) {
  if (series.size() > kKeyBytesMax || id.size() > kKeyBytesMax) return RefuseTooLong();
  return WithSeriesAt<WindowBook>(series, at,
                                  [&](WindowBook& book, const auto& ref, const Instant& instant) {
                                    return book.Touch(ref, id, Clamp(at), instant);
                                  });
}

WindowCounts WindowCore::Import(std::string_view series, const AnyBatch& rows) {
  Timeline& timeline = engine().timeline();
  if (series.size() > kKeyBytesMax) {
    WindowCounts counts;
    for (size_t i = 0; i < rows.size; ++i) counts.Add(RefuseTooLong());
    return counts;
  }
  WindowCounts none;
  none.Add(WindowOutcome::kStopped, rows.size);
  return WithSeries<WindowBook>(
      series, none,
      [&](Home& home, WindowBook& book, const WindowBook::SeriesRef& ref)
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

WindowControl WindowCore::Remove(std::string_view series, std::string_view id,
                                 const RemoveOptions& options) {
  if (series.size() > kKeyBytesMax || id.size() > kKeyBytesMax) return WindowControl::kOverLimit;
  Timeline& timeline = engine().timeline();
  return WithSeries<WindowBook>(
      series, WindowControl::kClosed,
      [&](Home& home, WindowBook& book, const WindowBook::SeriesRef& ref)
          ABSL_NO_THREAD_SAFETY_ANALYSIS {
            EngineTime now = timeline.now();
            if (options.at && !timeline.Observe(Clamp(*options.at), now)) {
              return WindowControl::kFuture;
            }
            return home.partition->Do(
                home.partition->CopyFirst(), book, now, timeline.lease_now(),
                timeline.TakePositions(1), [&](const Instant& at) {
                  const auto stamp = options.at ? std::optional(Clamp(*options.at)) : std::nullopt;
                  return book.Remove(ref, id, stamp, options.only_if_not_newer, at);
                });
          });
}

size_t WindowCore::RemoveBetween(std::string_view series, EngineTime from, EngineTime to) {
  return WithSeries<WindowBook>(series, size_t{0},
                                [&](Home& home, WindowBook& book, const WindowBook::SeriesRef& ref)
                                    ABSL_NO_THREAD_SAFETY_ANALYSIS {
                                      return Do(home, [&](const Instant& at) {
                                        return book.RemoveBetween(ref, from, to, at);
                                      });
                                    });
}

WindowControl WindowCore::SetTtl(std::string_view series, Duration ttl) {
  if (series.size() > kKeyBytesMax) return WindowControl::kOverLimit;
  if (ttl <= Duration::zero()) return WindowControl::kOutOfRange;
  return WithSeries<WindowBook>(
      series, WindowControl::kClosed,
      [&](Home& home, WindowBook& book, const WindowBook::SeriesRef& ref)
          ABSL_NO_THREAD_SAFETY_ANALYSIS {
            return Do(home, [&](const Instant& at) { return book.SetTtl(ref, ttl, at); });
          });
}

size_t WindowCore::Clear(std::string_view series) {
  return WithSeries<WindowBook>(
      series, size_t{0},
      [&](Home& home, WindowBook& book, const WindowBook::SeriesRef& ref)
          ABSL_NO_THREAD_SAFETY_ANALYSIS {
            return Do(home, [&](const Instant& at) { return book.Clear(ref, at); });
          });
}

// --- Reads

size_t WindowCore::Count(std::string_view series, EngineTime now) {
  return Looking<WindowBook>(series, size_t{0}, [&](const WindowBook& book, const auto& ref) {
    return book.Count(ref, TimeFor(now));
  });
}

size_t WindowCore::CountBetween(std::string_view series, EngineTime from, EngineTime to,
                                EngineTime now) {
  return Looking<WindowBook>(series, size_t{0}, [&](const WindowBook& book, const auto& ref) {
    return book.CountBetween(ref, from, to, TimeFor(now));
  });
}

bool WindowCore::List(std::string_view series, const ListOptions& options, ListCursor& cursor,
                      AnyWindow::See see) {
  return Looking<WindowBook>(series, false, [&](const WindowBook& book, const auto& ref) {
    return book.List(ref, options, TimeFor(options.now), cursor, see);
  });
}

bool WindowCore::Find(std::string_view series, std::string_view id, EngineTime now,
                      AnyWindow::See see) {
  return Looking<WindowBook>(series, false, [&](const WindowBook& book, const auto& ref) {
    return book.Find(ref, id, TimeFor(now), see);
  });
}

std::optional<size_t> WindowCore::Rank(std::string_view series, std::string_view id,
                                       EngineTime now) {
  return Looking<WindowBook>(
      series, std::optional<size_t>(),
      [&](const WindowBook& book, const auto& ref) { return book.Rank(ref, id, TimeFor(now)); });
}

ChangeCursor WindowCore::WatchSeries(std::string_view series, AnyWindow::See see) {
  return WatchSeriesOf<WindowBook>(series, see);
}

// --- Counts

WindowLedger WindowCore::ledger() {
  return Sum<WindowBook>([](const WindowBook& book) { return book.ledger(); });
}

WindowSizes WindowCore::sizes() {
  return Sum<WindowBook>([](const WindowBook& book) { return book.sizes(); });
}

}  // namespace pleat::inline v0_1
