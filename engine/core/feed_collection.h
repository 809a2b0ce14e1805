// A FeedCollection is a collection whose books log changes: it gives a snapshot and the changes
// behind it with nothing between, merges what several partitions have logged into one order, and
// tells who listens. Live sets and presence are such.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <absl/status/status.h>
#include <pleat/change.h>
#include <pleat/options.h>
#include <pleat/untyped/any_feed.h>

#include "engine/base/inside.h"
#include "engine/core/collection.h"
#include "engine/live/feed_book.h"

namespace pleat::inline v0_1 {

class FeedCollection : public Collection {
 public:
  // `ops`: of the payload, whose context lives as long as its owner.
  FeedCollection(EngineCore& engine, std::string_view name, const PayloadOps& ops,
                 std::shared_ptr<void> context_owner)
      : Collection(engine, name), ops_(ops), context_owner_(std::move(context_owner)) {}

  static absl::Status CheckPayload(const PayloadOps& ops);

  // The methods of AnyFeed.
  ChangeCursor Watch(const WatchScope& scope, AnyFeed::SeeSeries see);
  ReadChanges Read(const WatchScope& scope, ChangeCursor& cursor, size_t max,
                   AnyFeed::SeeChange see);
  void AddListener(ChangeListener& listener, const WatchScope& scope);
  void RemoveListener(ChangeListener& listener);
  bool Scan(ScanCursor& cursor, size_t max, AnyFeed::SeeSeries see);
  const PayloadOps& ops() const noexcept { return ops_; }

  // A series with members, and the position at which it became non-empty.
  struct Row {
    std::string name;
    size_t count;
    uint64_t since;
  };
  // Shows every series once, in order; `see` runs under no lock, and may call the engine.
  void AllSeries(EngineTime now, AnyFeed::SeeSeries see);
  // The `n` with most members, in order of these.
  std::vector<Row> TopSeries(size_t n, EngineTime now);

  std::string ShapeOf(uint32_t version) const final {
    return ops_.shape == nullptr ? "" : ops_.shape(ops_.context, version);
  }

 protected:
  // A description without options.
  Description DescribeAs(std::string_view kind) const {
    return {.kind = std::string(kind),
            .shape = ShapeOf(ops_.stored_version),
            .version = ops_.stored_version,
            .stored = ops_.stored()};
  }
  // Applies `change(home, book, series)` to the book of a series, under its lock. Returns `none` if
  // the collection is closed, or the name too long.
  template <class BookT, class Result, class Change>
  Result WithSeries(std::string_view series, Result none, const Change& change);
  // The next three are whole calls of a handle's. A change at the present, by `change(book, series,
  // instant)`.
  template <class BookT, class Result, class Change>
  Result ChangeSeries(std::string_view series, Result none, const Change& change);
  // A change stamped `at`, which moves time. The call goes no further if the stamp lies beyond the
  // future limit, or the longest of the names is too long.
  template <class BookT, class Change>
  typename BookT::Outcome ChangeSeriesAt(std::string_view series, size_t longest_name,
                                         EngineTime at, const Change& change);
  // A read, `look(book, series, as_of)`, as of `now` or the engine's time.
  template <class BookT, class Result, class Look>
  Result Looking(std::string_view series, EngineTime now, Result none, const Look& look);
  // Shows who is in the series, by the book's List(); the cursor stands behind that.
  template <class BookT, class See>
  ChangeCursor WatchSeriesOf(std::string_view series, See see);

  EngineTime TimeFor(EngineTime now) noexcept { return std::max(now, engine().timeline().now()); }

 private:
  template <class See>
  void ForEachSeries(EngineTime now, const See& see);
  static FeedBook* Feed(Book* book) noexcept { return static_cast<FeedBook*>(book); }
  // A part of Read(). Counts `max` down. kMore also if members are due that have not ended yet.
  ReadChanges ReadSome(const WatchScope& scope, ChangeCursor& cursor, size_t& max,
                       AnyFeed::SeeChange see);
  // Ends what is due, and keeps the changes from now on; the number of the next one.
  uint64_t StartToKeep(const Home& home) ABSL_EXCLUSIVE_LOCKS_REQUIRED(home.partition->lock());
  void TellOfClose(int partition) override;
  PartitionRange RangeOf(const WatchScope& scope) noexcept;

  const PayloadOps ops_;
  const std::shared_ptr<void> context_owner_;
  // All of them, to be told of Close(). Guarded by the first partition's lock.
  std::vector<ChangeListener*> listeners_;
};

template <class BookT, class Result, class Change>
Result FeedCollection::WithSeries(std::string_view series, Result none, const Change& change) {
  if (series.size() > kKeyBytesMax) return none;
  const PackedKey packed(series);
  Home& home = HomeOf(packed);
  LockGuard guard(home.partition->lock());
  if (BookFor(home) == nullptr) return none;
  return change(home, static_cast<BookT&>(*home.book), FeedBook::SeriesRef{packed, HashOf(packed)});
}

template <class BookT, class Result, class Change>
Result FeedCollection::ChangeSeries(std::string_view series, Result none, const Change& change) {
  return Guarded([&] {
    return WithSeries<BookT>(
        series, none,
        [&](Home& home, BookT& book, const FeedBook::SeriesRef& ref)
            ABSL_NO_THREAD_SAFETY_ANALYSIS {
              return Do(home, [&](const Instant& at) { return change(book, ref, at); });
            });
  });
}

template <class BookT, class Change>
typename BookT::Outcome FeedCollection::ChangeSeriesAt(std::string_view series, size_t longest_name,
                                                       EngineTime at, const Change& change) {
  using Outcome = typename BookT::Outcome;
  const Call call;
  if (call.nested()) return Outcome::kWouldDeadlock;
  if (longest_name > kKeyBytesMax) return CountTooLong<BookT>();
  return WithSeries<BookT>(
      series, Outcome::kStopped,
      [&](Home& home, BookT& book, const FeedBook::SeriesRef& ref) ABSL_NO_THREAD_SAFETY_ANALYSIS {
        const Partition::Copied* const copied = home.partition->CopyFirstUnlessStopped();
        if (copied == nullptr) return Outcome::kStopped;
        Timeline& timeline = engine().timeline();
        EngineTime now;
        const bool future = !timeline.Observe(Clamp(at), now);
        return home.partition->Do(*copied, book, now, timeline.lease_now(),
                                  timeline.TakePositions(1), [&](const Instant& instant) {
                                    return future ? book.Refuse(Outcome::kFuture, instant)
                                                  : change(book, ref, instant);
                                  });
      });
}

template <class BookT, class Result, class Look>
Result FeedCollection::Looking(std::string_view series, EngineTime now, Result none,
                               const Look& look) {
  const Call call;
  if (call.nested() || series.size() > kKeyBytesMax) return none;
  const PackedKey packed(series);
  const Home& home = HomeOf(packed);
  LockGuard guard(home.partition->lock());
  if (home.book == nullptr) return none;
  const FeedBook::SeriesRef ref{packed, HashOf(packed)};
  return look(static_cast<const BookT&>(*home.book), ref, TimeFor(now));
}

template <class BookT, class See>
ChangeCursor FeedCollection::WatchSeriesOf(std::string_view series, See see) {
  ChangeCursor cursor{.next = std::vector<uint64_t>(home_count())};
  WithSeries<BookT>(
      series, false,
      [&](Home& home, BookT& book, const FeedBook::SeriesRef& ref) ABSL_NO_THREAD_SAFETY_ANALYSIS {
        cursor.next[static_cast<size_t>(&home - &this->home(0))] = StartToKeep(home);
        ListCursor place;
        book.List(ref, {.newest_first = false, .limit = SIZE_MAX}, TimeFor(kBeginningOfTime), place,
                  see);
        return true;
      });
  return cursor;
}

}  // namespace pleat::inline v0_1
