// A FeedCollection is a collection whose books log changes: it gives a snapshot and the changes
// behind it with nothing between, merges what several partitions have logged into one order, and
// tells who listens. Live sets and presence are such.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <absl/status/status.h>
#include <pleat/change.h>
#include <pleat/options.h>
#include <pleat/untyped/any_feed.h>

#include "engine/core/collection.h"
#include "engine/live/feed_book.h"

namespace pleat::inline v0_1 {

class FeedCollection : public Collection {
 public:
  using Collection::Collection;

  // What options of all kinds have in common: limits that partitions share, and a payload. Why they
  // are out of range, if so.
  using SharedLimits = std::initializer_list<std::pair<std::string_view, size_t>>;
  static absl::Status CheckOptions(SharedLimits limits, int partitions, const PayloadOps& ops);

  // The methods of AnyFeed.
  ChangeCursor Watch(const WatchScope& scope, AnyFeed::SeeSeries see);
  ReadChanges Read(const WatchScope& scope, ChangeCursor& cursor, size_t max,
                   AnyFeed::SeeChange see);
  void AddListener(ChangeListener& listener, const WatchScope& scope);
  void RemoveListener(ChangeListener& listener);
  bool Scan(ScanCursor& cursor, size_t max, AnyFeed::SeeSeries see);
  virtual const PayloadOps& ops() const noexcept = 0;

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

 protected:
  // Applies `change(home, book, series)` to the book of a series, under its lock. Returns `none` if
  // the collection is closed, or the name too long.
  template <class BookT, class Result, class Change>
  Result WithSeries(std::string_view series, Result none, const Change& change);
  // The same for a call stamped `at`, which moves time: `change(book, series, instant)`, unless the
  // stamp lies beyond the future limit.
  template <class BookT, class Change>
  typename BookT::Outcome WithSeriesAt(std::string_view series, EngineTime at,
                                       const Change& change);
  // The same for a read, `look(book, series)`.
  template <class BookT, class Result, class Look>
  Result Looking(std::string_view series, Result none, const Look& look);
  // Shows who is in the series, by the book's List(); the cursor stands behind that.
  template <class BookT, class See>
  ChangeCursor WatchSeriesOf(std::string_view series, See see);
  // The sum of `count(book)` of all books, each at one instant.
  template <class BookT, class Count>
  auto Sum(const Count& count);

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

template <class BookT, class Change>
typename BookT::Outcome FeedCollection::WithSeriesAt(std::string_view series, EngineTime at,
                                                     const Change& change) {
  using Outcome = typename BookT::Outcome;
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
Result FeedCollection::Looking(std::string_view series, Result none, const Look& look) {
  if (series.size() > kKeyBytesMax) return none;
  const PackedKey packed(series);
  const Home& home = HomeOf(packed);
  LockGuard guard(home.partition->lock());
  if (home.book == nullptr) return none;
  return look(static_cast<const BookT&>(*home.book), FeedBook::SeriesRef{packed, HashOf(packed)});
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

template <class BookT, class Count>
auto FeedCollection::Sum(const Count& count) {
  decltype(count(std::declval<const BookT&>())) sum;
  for (size_t i = 0; i < home_count(); ++i) {
    const Home& home = this->home(i);
    LockGuard guard(home.partition->lock());
    if (home.book != nullptr) sum += count(static_cast<const BookT&>(*home.book));
  }
  return sum;
}

}  // namespace pleat::inline v0_1
