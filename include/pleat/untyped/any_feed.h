// AnyFeed is a handle of a collection of any kind that has series and tells of their changes, such
// as an AnyLiveSet. Adapters that only watch need no more.
//
//   pleat::ChangeCursor cursor = feed.Watch(scope, [](std::string_view series, size_t count) {});
//   feed.Read(scope, cursor, 100, [](const pleat::AnyChange& change) { ... });
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include <absl/functional/function_ref.h>
#include <pleat/change.h>
#include <pleat/detail/export.h>
#include <pleat/emission.h>
#include <pleat/time.h>

namespace pleat::inline v0_1 {

class EngineCore;
class FeedCollection;
struct PayloadOps;

// Thread safety: any thread may call any method at any time, also on one object.
// Ownership: a handle, cheap to copy. When the collection is closed or its engine is gone, calls
// answer kClosed, or nothing.
class PLEAT_EXPORT AnyFeed {
 public:
  // They run under a partition's lock: copy and return. A call on an engine from there does nothing
  // (see Engine); throwing ends the program.
  using SeeSeries = absl::FunctionRef<void(std::string_view series, size_t count)>;
  using SeeChange = absl::FunctionRef<void(const AnyChange&)>;

  // See LiveSet for the meaning of these.
  ChangeCursor Watch(const WatchScope& scope, SeeSeries see) noexcept;
  ReadChanges Read(const WatchScope& scope, ChangeCursor& cursor, size_t max,
                   SeeChange see) noexcept;

  // From its return on `listener` is told of changes of the scope; earlier ones it has to look for
  // itself. From the return of RemoveListener() on it is not called any more. It is also told when
  // the collection is closed. O(listeners) to remove.
  // REQUIRES: a listener is removed before its end.
  void AddListener(ChangeListener& listener, const WatchScope& scope) noexcept;
  void RemoveListener(ChangeListener& listener) noexcept;

  void TopSeries(size_t n, EngineTime now, SeeSeries see) const noexcept;
  // All series with members, oldest first, by when they became non-empty; `see` may call engines.
  // A series that has members throughout the call is shown once, with a count of some instant in
  // it. One that begins, ends, or ends and begins again meanwhile, is shown once or not at all.
  void AllSeries(EngineTime now, SeeSeries see) const noexcept;
  bool Scan(ScanCursor& cursor, size_t max, SeeSeries see) const noexcept;

  // The payload of changes.
  const PayloadOps& ops() const noexcept;

  // Has every book check its invariants. For tests.
  void CheckWhole() const noexcept;
  void Close() noexcept;
  bool closed() const noexcept;

 protected:
  AnyFeed(std::shared_ptr<EngineCore> engine, std::shared_ptr<FeedCollection> feed) noexcept;

  FeedCollection& feed() const noexcept { return *feed_; }
  const std::shared_ptr<EngineCore>& shared_engine() const noexcept { return engine_; }
  const std::shared_ptr<FeedCollection>& shared_feed() const noexcept { return feed_; }

 private:
  std::shared_ptr<EngineCore> engine_;  // which the collection uses
  std::shared_ptr<FeedCollection> feed_;
};

}  // namespace pleat::inline v0_1
