// The part of a collection that reads changes. A reader of one series locks one partition, that of
// a prefix all of them, because their changes have one order.
#include "engine/core/feed_collection.h"

#include <algorithm>
#include <string>
#include <utility>

#include <pleat/untyped/any_live_set.h>

#include "engine/base/in_order.h"
#include "engine/base/inside.h"
#include "engine/core/opening.h"

namespace pleat::inline v0_1 {
namespace {

// Series by when they became non-empty; of those with equal positions, which two partitions may give,
// by name.
std::pair<uint64_t, std::string_view> OrderOf(const auto& series) {
  return {series.since, series.name};
}

// A series as it lies in a book; and a copy.
struct SeenSeries {
  std::string_view name;
  size_t count;
  uint64_t since;
};
struct KeptSeries {
  explicit KeptSeries(const SeenSeries& seen)
      : name(seen.name), count(seen.count), since(seen.since) {}
  std::string name;
  size_t count;
  uint64_t since;

  friend bool operator<(const KeptSeries& a, const KeptSeries& b) {
    return OrderOf(a) < OrderOf(b);
  }
  friend bool operator<(const KeptSeries& a, const SeenSeries& b) {
    return OrderOf(a) < OrderOf(b);
  }
  friend bool operator<(const SeenSeries& a, const KeptSeries& b) {
    return OrderOf(a) < OrderOf(b);
  }
};

}  // namespace

absl::Status FeedCollection::CheckPayload(const PayloadOps& ops) {
  if (ops.size == 0) return absl::OkStatus();
  if (ops.copy == nullptr || ops.destroy == nullptr || ops.equal == nullptr) {
    return OutOfRange("copy, destroy and equal of the payload", "given");
  }
  if (ops.align == 0 || (ops.align & (ops.align - 1)) != 0 || ops.align > 8) {
    return OutOfRange("the payload's alignment", "a power of two up to 8");
  }
  return absl::OkStatus();
}

// --- Series

bool FeedCollection::Scan(ScanCursor& cursor, size_t max, AnyFeed::SeeSeries see) {
  size_t seen = 0;
  return ScanBooks(cursor, [&](const Home& home, uint32_t& place) {
    return Feed(home.book)->Scan(place, max, TimeFor(kBeginningOfTime), seen, see);
  });
}

// One call on the engine, which sees one partition after the other: see(partition, name, count,
// since).
template <class See>
void FeedCollection::ForEachSeries(EngineTime now, const See& see) {
  const Call call;
  for (size_t i = 0; i < home_count(); ++i) {
    const Home& home = this->home(i);
    LongLockGuard guard(home.partition->lock());
    if (home.book == nullptr) continue;
    Feed(home.book)->ForEachSeries(
        TimeFor(now),
        [&](std::string_view name, size_t count, uint64_t since) { see(i, name, count, since); });
  }
}

// No lock is held between the rounds. A series that becomes non-empty meanwhile has a later position
// than any before in its partition, and is left out: so the call ends, and none is shown twice.
void FeedCollection::AllSeries(EngineTime now, AnyFeed::SeeSeries see) {
  size_t size = 0;
  std::vector<uint64_t> ends(home_count());  // of the positions at the beginning
  ForEachSeries(now, [&](size_t partition, std::string_view, size_t, uint64_t since) {
    ++size;
    ends[partition] = std::max(ends[partition], since + 1);
  });
  const auto list = [&](const auto& add) {
    ForEachSeries(now, [&](size_t partition, std::string_view name, size_t count, uint64_t since) {
      if (since < ends[partition]) add(SeenSeries{name, count, since});
    });
  };
  // Few, because a copy is half as large as the series itself.
  ShowInOrder<KeptSeries>(size, RoomForRound(size / 4), list,
                          [&](const KeptSeries& series) { see(series.name, series.count); });
}

// Of a few more than these, the smallest are dropped each time that there are twice as many.
std::vector<FeedCollection::Row> FeedCollection::TopSeries(size_t n, EngineTime now) {
  const auto larger = [](const Row& a, const Row& b) {
    return a.count != b.count ? a.count > b.count : OrderOf(a) < OrderOf(b);
  };
  const size_t kept = std::max<size_t>(n, 1024);
  std::vector<Row> rows;
  ForEachSeries(now, [&](size_t, std::string_view series, size_t count, uint64_t since) {
    rows.push_back({std::string(series), count, since});
    if (rows.size() / 2 < kept) return;
    const auto end = rows.begin() + static_cast<std::ptrdiff_t>(kept);
    std::nth_element(rows.begin(), end, rows.end(), larger);
    rows.erase(end, rows.end());
  });
  std::sort(rows.begin(), rows.end(), larger);
  if (rows.size() > n) rows.erase(rows.begin() + static_cast<std::ptrdiff_t>(n), rows.end());
  return rows;
}

// --- Watching

// No series has a name that is too long: such a scope has no partitions, and its readers miss nothing.
PartitionRange FeedCollection::RangeOf(const WatchScope& scope) noexcept {
  if (scope.is_prefix) return Clip({});
  if (scope.name.size() > kKeyBytesMax) return {0, 0};
  const auto partition = static_cast<int>(engine().IndexOfPartition(PackedKey(scope.name)));
  return {partition, partition + 1};
}

uint64_t FeedCollection::StartToKeep(const Home& home) {
  ChangeLog& log = Feed(home.book)->changes();
  Do(home, [&](const Instant& at) {
    Budget budget;
    return home.book->CloseDue(at, budget);
  });
  log.Keep();
  return log.next();
}

// Partitions outside the scope stand at their beginning, which is never read.
ChangeCursor FeedCollection::Watch(const WatchScope& scope,
                                   AnyFeed::SeeSeries see) ABSL_NO_THREAD_SAFETY_ANALYSIS {
  ChangeCursor cursor{.next = std::vector<uint64_t>(home_count())};
  const PartitionRange range = RangeOf(scope);
  LockRange(range);
  for (int i = range.begin; i < range.end; ++i) {
    Home& home = this->home(static_cast<size_t>(i));
    if (BookFor(home) == nullptr) continue;
    const FeedBook& book = *Feed(home.book);
    cursor.next[static_cast<size_t>(i)] = StartToKeep(home);
    book.ForEachSeries(TimeFor(kBeginningOfTime),
                       [&](std::string_view series, size_t count, uint64_t) {
                         if (scope.Covers(series)) see(series, count);
                       });
  }
  HandOverRange(range);
  return cursor;
}

ReadChanges FeedCollection::Read(const WatchScope& scope, ChangeCursor& cursor, size_t max,
                                 AnyFeed::SeeChange see) {
  for (;;) {
    const ReadChanges read = ReadSome(scope, cursor, max, see);
    if (read != ReadChanges::kMore || max == 0) return read;
  }
}

// Ends members only where the reader has nothing else to read, and no more than it may still read
// and the log keeps. So a reader that is not behind misses nothing, however many members fall due
// at once.
ReadChanges FeedCollection::ReadSome(const WatchScope& scope, ChangeCursor& cursor, size_t& max,
                                     AnyFeed::SeeChange see) ABSL_NO_THREAD_SAFETY_ANALYSIS {
  if (closed()) return ReadChanges::kClosed;
  const PartitionRange range = RangeOf(scope);
  const bool forged = cursor.next.size() != home_count();
  if (forged) cursor.next.assign(home_count(), 0);
  // Of one that is not complete, members are due whose ends have no number yet.
  struct Head {
    ChangeLog* log;
    uint64_t* next;
    bool complete;
  };
  const auto later = [](const Head& a, const Head& b) {
    return b.log->order(*b.next) < a.log->order(*a.next);
  };
  std::vector<Head> heads;
  bool resync = forged;
  LockRange(range);
  for (int i = range.begin; i < range.end; ++i) {
    Home& home = this->home(static_cast<size_t>(i));
    uint64_t& next = cursor.next[static_cast<size_t>(i)];
    if (BookFor(home) == nullptr) continue;
    FeedBook& book = *Feed(home.book);
    ChangeLog& log = book.changes();
    log.Keep();
    const bool lost = !log.HasAll(scope, next);
    if (!lost) next = std::max(next, log.first());
    const bool drained = !lost && log.NextOf(scope, next) == log.next();
    const bool complete = Do(home, [&](const Instant& at) {
      Budget budget(drained ? std::min(max, log.capacity()) : 0);
      return book.CloseDue(at, budget);
    });
    resync |= lost || next < log.first();
    heads.push_back({&log, &next, complete});
  }
  if (resync) {
    for (const Head& head : heads) *head.next = head.log->first();
    HandOverRange(range);
    return ReadChanges::kResync;
  }
  const auto skip = [&](const Head& head) {
    const uint64_t found = head.log->NextOf(scope, *head.next);
    *head.next = found;
    return found == head.log->next();
  };
  // Nothing may overtake the ends that have no number yet.
  bool waits = false;
  std::erase_if(heads, [&](const Head& head) {
    const bool drained = skip(head);
    waits |= drained && !head.complete;
    return drained;
  });
  std::make_heap(heads.begin(), heads.end(), later);
  while (max > 0 && !heads.empty() && !waits) {
    std::pop_heap(heads.begin(), heads.end(), later);
    Head& head = heads.back();
    see(head.log->at((*head.next)++));
    --max;
    if (skip(head)) {
      waits = !head.complete;
      heads.pop_back();
    } else {
      std::push_heap(heads.begin(), heads.end(), later);
    }
  }
  HandOverRange(range);
  return heads.empty() && !waits ? ReadChanges::kAll : ReadChanges::kMore;
}

// Listeners are told of the close under the first partition's lock, which knows them all.
void FeedCollection::AddListener(ChangeListener& listener,
                                 const WatchScope& scope) ABSL_NO_THREAD_SAFETY_ANALYSIS {
  const PartitionRange range = RangeOf(scope);
  LockRange(Clip({}));
  listeners_.push_back(&listener);
  for (int i = range.begin; i < range.end; ++i) {
    Home& home = this->home(static_cast<size_t>(i));
    if (BookFor(home) != nullptr) Feed(home.book)->changes().Listen(scope, listener);
  }
  HandOverRange(Clip({}));
}

void FeedCollection::RemoveListener(ChangeListener& listener) ABSL_NO_THREAD_SAFETY_ANALYSIS {
  LockRange(Clip({}));
  std::erase(listeners_, &listener);
  for (size_t i = 0; i < home_count(); ++i) {
    Home& home = this->home(i);
    if (home.book != nullptr) Feed(home.book)->changes().Unlisten(listener);
  }
  HandOverRange(Clip({}));
}

void FeedCollection::TellOfClose(int partition) {
  if (partition > 0) return;
  for (ChangeListener* listener : listeners_) listener->MayHaveChanges();
}

}  // namespace pleat::inline v0_1
