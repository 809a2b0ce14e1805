#include "engine/core/window_core.h"

#include <algorithm>
#include <string>
#include <utility>

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
  return std::make_unique<WindowBook>(engine().pool(),
                                      OptionsFor(options_, partition, engine().partition_count()),
                                      ops_, engine().hash_key(), static_cast<uint32_t>(partition));
}

// --- Changes

// An id that is too long is refused like a key that is: before time moves.
WindowOutcome WindowCore::Add(std::string_view series, const void* event, EngineTime at) {
  return IsTooLong(event) ? RefuseTooLong() : Fold(series, event, at);
}

WindowCounts WindowCore::AddBatch(const AnyBatch& batch, WindowOutcome* outcomes,
                                  PartitionRange only) {
  WindowCounts counts;
  AnyBatch rest = batch;
  for (size_t i = 0;; ++i) {
    if (i < rest.size && !IsTooLong(rest.EventOf(i))) continue;
    AnyBatch piece = rest;
    piece.size = i;
    counts.Add(FoldBatch(piece, outcomes, only));
    if (i == rest.size) return counts;
    const WindowOutcome refused =
        IsElsewhere(rest.KeyOf(i), only) ? WindowOutcome::kElsewhere : RefuseTooLong();
    counts.Add(refused);
    if (outcomes != nullptr) {
      outcomes[i] = refused;
      outcomes += i + 1;
    }
    rest.RemovePrefix(i + 1);
    i = SIZE_MAX;  // the next one is 0
  }
}

bool WindowCore::IsElsewhere(std::string_view series, PartitionRange only) noexcept {
  const PackedKey key(series.size() > kKeyBytesMax ? std::string_view() : series);
  const auto partition = static_cast<int>(engine().IndexOfPartition(key));
  return partition < only.begin || partition >= only.end;
}

template <class Result, class Change>
Result WindowCore::WithSeries(std::string_view series, Result none, const Change& change) {
  if (series.size() > kKeyBytesMax) return none;
  const PackedKey packed(series);
  Home& home = HomeOf(packed);
  LockGuard guard(home.partition->lock());
  if (BookFor(home) == nullptr) return none;
  return change(home, *Typed(home.book), WindowBook::SeriesRef{packed, HashOf(packed)});
}

WindowOutcome WindowCore::Touch(std::string_view series, std::string_view id, EngineTime at) {
  if (series.size() > kKeyBytesMax || id.size() > kKeyBytesMax) return RefuseTooLong();
  Timeline& timeline = engine().timeline();
  return WithSeries(series, WindowOutcome::kStopped,
                    [&](Home& home, WindowBook& book, const WindowBook::SeriesRef& ref)
                        ABSL_NO_THREAD_SAFETY_ANALYSIS {
                          if (home.partition->stopped()) return WindowOutcome::kStopped;
                          EngineTime now;
                          const bool future = !timeline.Observe(Clamp(at), now);
                          return home.partition->Do(
                              book, now, timeline.lease_now(), timeline.TakePositions(1),
                              [&](const Instant& instant) {
                                if (future) return book.Refuse(WindowOutcome::kFuture, instant);
                                return book.Touch(ref, id, Clamp(at), instant);
                              });
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
  return WithSeries(series, none,
                    [&](Home& home, WindowBook& book,
                        const WindowBook::SeriesRef& ref) ABSL_NO_THREAD_SAFETY_ANALYSIS {
                      if (home.partition->stopped()) return none;
                      const EngineTime now = timeline.now();
                      const auto is_future = [&](EngineTime stamp) {
                        EngineTime seen = now;
                        return !timeline.ObserveAfter(Clamp(stamp), seen);
                      };
                      return home.partition->Do(
                          book, now, timeline.lease_now(),
                          timeline.TakePositions(std::max<size_t>(rows.size, 1)),
                          [&](const Instant& at) { return book.Import(ref, rows, is_future, at); });
                    });
}

WindowControl WindowCore::Remove(std::string_view series, std::string_view id,
                                 const RemoveOptions& options) {
  if (series.size() > kKeyBytesMax || id.size() > kKeyBytesMax) return WindowControl::kOverLimit;
  Timeline& timeline = engine().timeline();
  return WithSeries(
      series, WindowControl::kClosed,
      [&](Home& home, WindowBook& book, const WindowBook::SeriesRef& ref)
          ABSL_NO_THREAD_SAFETY_ANALYSIS {
            EngineTime now = timeline.now();
            if (options.at && !timeline.Observe(Clamp(*options.at), now)) {
              return WindowControl::kFuture;
            }
            return home.partition->Do(
                book, now, timeline.lease_now(), timeline.TakePositions(1), [&](const Instant& at) {
                  const auto stamp = options.at ? std::optional(Clamp(*options.at)) : std::nullopt;
                  return book.Remove(ref, id, stamp, options.only_if_not_newer, at);
                });
          });
}

size_t WindowCore::RemoveBetween(std::string_view series, EngineTime from, EngineTime to) {
  return WithSeries(series, size_t{0},
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
  return WithSeries(series, WindowControl::kClosed,
                    [&](Home& home, WindowBook& book,
                        const WindowBook::SeriesRef& ref) ABSL_NO_THREAD_SAFETY_ANALYSIS {
                      return Do(home, [&](const Instant& at) { return book.SetTtl(ref, ttl, at); });
                    });
}

size_t WindowCore::Clear(std::string_view series) {
  return WithSeries(series, size_t{0},
                    [&](Home& home, WindowBook& book, const WindowBook::SeriesRef& ref)
                        ABSL_NO_THREAD_SAFETY_ANALYSIS {
                          return Do(home, [&](const Instant& at) { return book.Clear(ref, at); });
                        });
}

// --- Reads

template <class Result, class Look>
Result WindowCore::Looking(std::string_view series, Result none, const Look& look) {
  if (series.size() > kKeyBytesMax) return none;
  const PackedKey packed(series);
  const Home& home = HomeOf(packed);
  LockGuard guard(home.partition->lock());
  if (home.book == nullptr) return none;
  const WindowBook& book = *Typed(home.book);
  return look(book, WindowBook::SeriesRef{packed, HashOf(packed)});
}

size_t WindowCore::Count(std::string_view series, EngineTime now) {
  return Looking(series, size_t{0}, [&](const WindowBook& book, const auto& ref) {
    return book.Count(ref, TimeFor(now));
  });
}

size_t WindowCore::CountBetween(std::string_view series, EngineTime from, EngineTime to,
                                EngineTime now) {
  return Looking(series, size_t{0}, [&](const WindowBook& book, const auto& ref) {
    return book.CountBetween(ref, from, to, TimeFor(now));
  });
}

bool WindowCore::List(std::string_view series, const ListOptions& options, ListCursor& cursor,
                      AnyWindow::See see) {
  return Looking(series, false, [&](const WindowBook& book, const auto& ref) {
    return book.List(ref, options, TimeFor(options.now), cursor, see);
  });
}

bool WindowCore::Find(std::string_view series, std::string_view id, EngineTime now,
                      AnyWindow::See see) {
  return Looking(series, false, [&](const WindowBook& book, const auto& ref) {
    return book.Find(ref, id, TimeFor(now), see);
  });
}

std::optional<size_t> WindowCore::Rank(std::string_view series, std::string_view id,
                                       EngineTime now) {
  return Looking(series, std::optional<size_t>(), [&](const WindowBook& book, const auto& ref) {
    return book.Rank(ref, id, TimeFor(now));
  });
}

bool WindowCore::Scan(ScanCursor& cursor, size_t max, AnyWindow::SeeSeries see) {
  for (size_t seen = 0; cursor.partition < engine().partition_count(); ++cursor.partition) {
    const Home& home = this->home(static_cast<size_t>(cursor.partition));
    LongLockGuard guard(home.partition->lock());
    const WindowBook* const book = Typed(home.book);
    if (book != nullptr && !book->Scan(cursor.place, max, TimeFor(kBeginningOfTime), seen, see))
      return true;
    cursor.place = 0;
  }
  return false;
}

std::vector<WindowCore::Row> WindowCore::AllSeries(EngineTime now) {
  std::vector<Row> rows;
  for (size_t i = 0; i < home_count(); ++i) {
    const Home& home = this->home(i);
    LongLockGuard guard(home.partition->lock());
    if (home.book == nullptr) continue;
    Typed(home.book)->ForEachSeries(TimeFor(now),
                                    [&](std::string_view series, size_t count, uint64_t since) {
                                      rows.push_back({std::string(series), count, since});
                                    });
  }
  std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.since < b.since; });
  return rows;
}

// --- Watching

PartitionRange WindowCore::RangeOf(const WatchScope& scope) noexcept {
  if (scope.is_prefix || scope.name.size() > kKeyBytesMax) return Clip({});
  const auto partition = static_cast<int>(engine().IndexOfPartition(PackedKey(scope.name)));
  return {partition, partition + 1};
}

// Partitions outside the scope stand at their beginning, which is never read.
ChangeCursor WindowCore::Watch(const WatchScope& scope,
                               AnyWindow::SeeSeries see) ABSL_NO_THREAD_SAFETY_ANALYSIS {
  ChangeCursor cursor{.next = std::vector<uint64_t>(home_count())};
  const PartitionRange range = RangeOf(scope);
  LockRange(range);
  for (int i = range.begin; i < range.end; ++i) {
    Home& home = this->home(static_cast<size_t>(i));
    if (BookFor(home) == nullptr) continue;
    WindowBook& book = *Typed(home.book);
    Do(home, [&](const Instant& at) {
      size_t budget = SIZE_MAX;
      book.CloseDue(at, budget);
    });
    book.changes().Keep();
    cursor.next[static_cast<size_t>(i)] = book.changes().next();
    book.ForEachSeries(TimeFor(kBeginningOfTime),
                       [&](std::string_view series, size_t count, uint64_t) {
                         if (scope.Covers(series)) see(series, count);
                       });
  }
  HandOverRange(range);
  return cursor;
}

ChangeCursor WindowCore::WatchSeries(std::string_view series, AnyWindow::See see) {
  ChangeCursor cursor{.next = std::vector<uint64_t>(home_count())};
  WithSeries(series, false,
             [&](Home& home, WindowBook& book, const WindowBook::SeriesRef& ref)
                 ABSL_NO_THREAD_SAFETY_ANALYSIS {
                   Do(home, [&](const Instant& at) {
                     size_t budget = SIZE_MAX;
                     return book.CloseDue(at, budget);
                   });
                   book.changes().Keep();
                   cursor.next[static_cast<size_t>(&home - &this->home(0))] = book.changes().next();
                   ListCursor place;
                   book.List(ref, {.newest_first = false, .limit = SIZE_MAX},
                             TimeFor(kBeginningOfTime), place, see);
                   return true;
                 });
  return cursor;
}

ReadChanges WindowCore::Read(const WatchScope& scope, ChangeCursor& cursor, size_t max,
                             AnyWindow::SeeChange see) {
  for (;;) {
    const ReadChanges read = ReadSome(scope, cursor, max, see);
    if (read != ReadChanges::kMore || max == 0) return read;
  }
}

// Ends members only where the reader has nothing else to read, and no more than it may still read
// and the log keeps. So a reader that is not behind misses nothing, however many members fall due at once.
ReadChanges WindowCore::ReadSome(const WatchScope& scope, ChangeCursor& cursor, size_t& max,
                                 AnyWindow::SeeChange see) ABSL_NO_THREAD_SAFETY_ANALYSIS {
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
    WindowBook& book = *Typed(home.book);
    ChangeLog& log = book.changes();
    log.Keep();
    const bool lost = !log.HasAll(scope, next);
    if (!lost) next = std::max(next, log.first());
    const bool drained = !lost && log.NextOf(scope, next) == log.next();
    const bool complete = Do(home, [&](const Instant& at) {
      size_t budget = drained ? std::min(max, log.capacity()) : 0;
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
    if (found < head.log->next()) *head.next = found;
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
void WindowCore::AddListener(ChangeListener& listener,
                             const WatchScope& scope) ABSL_NO_THREAD_SAFETY_ANALYSIS {
  const PartitionRange range = RangeOf(scope);
  LockRange(Clip({}));
  listeners_.push_back(&listener);
  for (int i = range.begin; i < range.end; ++i) {
    Home& home = this->home(static_cast<size_t>(i));
    if (BookFor(home) != nullptr) Typed(home.book)->changes().Listen(scope, listener);
  }
  HandOverRange(Clip({}));
}

void WindowCore::RemoveListener(ChangeListener& listener) ABSL_NO_THREAD_SAFETY_ANALYSIS {
  LockRange(Clip({}));
  std::erase(listeners_, &listener);
  for (size_t i = 0; i < home_count(); ++i) {
    Home& home = this->home(i);
    if (home.book != nullptr) Typed(home.book)->changes().Unlisten(listener);
  }
  HandOverRange(Clip({}));
}

void WindowCore::TellOfClose(int partition) {
  if (partition > 0) return;
  for (ChangeListener* listener : listeners_) listener->MayHaveChanges();
}

// --- Counts

WindowLedger WindowCore::ledger() {
  WindowLedger sum;
  for (size_t i = 0; i < home_count(); ++i) {
    const Home& home = this->home(i);
    LockGuard guard(home.partition->lock());
    if (home.book != nullptr) sum += Typed(home.book)->ledger();
  }
  return sum;
}

WindowSizes WindowCore::sizes() {
  WindowSizes sum;
  for (size_t i = 0; i < home_count(); ++i) {
    const Home& home = this->home(i);
    LockGuard guard(home.partition->lock());
    if (home.book != nullptr) sum += Typed(home.book)->sizes();
  }
  return sum;
}

}  // namespace pleat::inline v0_1
