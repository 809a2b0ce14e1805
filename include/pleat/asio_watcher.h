// Watcher: awaits the changes of a live set or a presence, of one series or of a prefix.
//
//   pleat::Watcher watcher(driver, readers, {.name = "page 1"});
//   std::vector<pleat::LiveMember<>> live;
//   watcher.Watch(live);                // who is on the page now; the changes behind that follow
//   for (;;) {                          // in a coroutine
//     auto change = co_await watcher.async_next(boost::asio::use_awaitable);
//     Show(change->id, CauseName(change->cause), change->count);
//   }
//
// Changes stay in the live set's ring (LiveSetOptions::max_changes), and a watcher has a place in
// the ring. So a watcher that stalls costs nobody anything. If changes that it has not read are
// gone, its operations complete with AsioError::kResync, and the program calls Watch() again:
//
//     auto [error, change] = co_await watcher.async_next(as_tuple(use_awaitable));
//     if (error == pleat::AsioError::kResync) {
//       live.clear();
//       watcher.Watch(live);
//     }
//
// An orderly end, at which no change is lost:
// 1. engine->Stop(). From its return on, events are answered kStopped.
// 2. driver.Stop(). Operations that wait complete with kClosed, and io.run() can return.
// 3. Read the changes that were not told yet, from watcher.cursor() on, by the live set's Read().
// Members that are live then end with the engine, without a change.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/system/error_code.hpp>
#include <pleat/asio.h>
#include <pleat/asio_driver.h>
#include <pleat/change.h>
#include <pleat/detail/asio_operation.h>
#include <pleat/detail/change_reader.h>
#include <pleat/detail/export.h>
#include <pleat/stats.h>
#include <pleat/time.h>

namespace pleat::inline v0_1 {

struct WatcherOptions {
  // How many operations may wait. Range: at least 1. Default: 65,536.
  size_t max_waiters = 65'536;

  // How many changes of one interval are told each. If there are more, the latest count of each of
  // their series follows when the interval is over, with cause kCounted.
  // docs/semantics-live-sets.md has the rule. Costs the memory of one change for each series that
  // changes in an interval. Default: all changes are told.
  size_t max_changes = SIZE_MAX;

  // The length of the intervals, which are multiples of it since 1970, on the engine's axis.
  // Range: above zero. Default: 1 s.
  Duration interval = std::chrono::seconds(1);
};

// An I/O object in Asio's manner, whose operations take any completion token. Completion, order of
// operations, cancellation and allocation are those of Consumer.
//
// Changes come in the order of LiveSet::Read(), each once. An operation that starts while others
// wait takes what is behind theirs.
//
// Errors: operation_aborted, or an AsioError.
// - kResync: changes were lost, or there was no Watch() yet. cursor() now is at the first change
//   that there is. All operations that wait complete with this error.
// - kClosed: the driver was stopped, the live set was closed, or the engine is gone.
// - kOverloaded: WatcherOptions::max_waiters operations wait already.
//
// Cost: a watcher of one series passes over the changes of the others for nothing. One of a prefix
// looks at each change of the live set.
//
// Thread safety: as Consumer. Any thread may call Watch(), GoOn() and cursor().
// Ownership: keeps a handle of the source.
//
// `Source` is a LiveSet or a Presence, as in Watcher<LiveSet<News>>, or has the same Watch(),
// Read(), any() and ChangeType.
template <class Source, class Executor = boost::asio::any_io_executor>
class Watcher {
 public:
  using executor_type = Executor;
  template <class Other>
  struct rebind_executor {
    using other = Watcher<Source, Other>;
  };

  using Change = typename Source::ChangeType;
  using NextHandler = void(boost::system::error_code, std::optional<Change>);
  using NextManyHandler = void(boost::system::error_code, std::vector<Change>);

  // On the driver's executor.
  Watcher(Driver& driver, const Source& source, const WatchScope& scope,
          const WatcherOptions& options = {})
      : Watcher(Executor(driver.get_executor()), driver, source, scope, options) {}

  Watcher(const Executor& executor, Driver& driver, const Source& source, const WatchScope& scope,
          const WatcherOptions& options = {})
      : executor_(executor),
        reader_(std::make_shared<Reader>(source, scope, options.max_changes, options.interval)),
        any_(executor, driver, reader_, options) {}

  template <class Other>
    requires std::is_constructible_v<Executor, const Other&>
  explicit Watcher(Watcher<Source, Other>&& other)
      : executor_(other.executor_), reader_(other.reader_), any_(std::move(other.any_)) {}

  Watcher(Watcher&&) noexcept = default;
  Watcher& operator=(Watcher&&) noexcept = default;
  ~Watcher() = default;  // as cancel()

  executor_type get_executor() const noexcept { return executor_; }

  // Cancels all operations that wait.
  void cancel() noexcept { any_.cancel(); }

  WatcherStats stats() const {
    WatcherStats stats{any_.stats()};
    any_.Exclude([&] { stats.resyncs = reader_->resyncs(); });
    return stats;
  }

  // Appends what is live now; the changes that are told next are those behind that, with nothing
  // between. Of one series a vector of LiveMember (of a presence, of PresentUser), of a prefix one
  // of SeriesCount. Call it when no operation waits: otherwise nobody can tell which of its changes
  // come before.
  template <class Live>
  void Watch(std::vector<Live>& live) {
    any_.Exclude([&] { reader_->Watch(live); });
  }

  // Goes on from a cursor that was stored, in the same Engine object. Nothing is lost in between,
  // or else the next operation completes with kResync.
  void GoOn(const ChangeCursor& cursor) {
    any_.Exclude([&] { reader_->GoOn(cursor); });
  }

  // Everything before the cursor was told. Of changes beyond max_changes that were not counted yet,
  // it is at the first.
  ChangeCursor cursor() const {
    ChangeCursor cursor;
    any_.Exclude([&] { cursor = reader_->cursor(); });
    return cursor;
  }

  // Takes the next change.
  template <boost::asio::completion_token_for<NextHandler> Token =
                boost::asio::default_completion_token_t<Executor>>
  auto async_next(Token&& token = Token()) {
    return Initiate<NextHandler, true>(1, token);
  }

  // Takes from 1 to `max` changes.
  template <boost::asio::completion_token_for<NextManyHandler> Token =
                boost::asio::default_completion_token_t<Executor>>
  auto async_next_many(size_t max, Token&& token = Token()) {
    return Initiate<NextManyHandler, false>(max, token);
  }

 private:
  using Reader = ChangeReaderOf<Source>;

  template <class, class>
  friend class Watcher;

  template <class Signature, bool kOne, class Token>
  auto Initiate(size_t max, Token& token) {
    using Take = TakeChanges<Source>;
    return boost::asio::async_initiate<Token, Signature>(
        TakeInitiation<Take, kOne, Executor>{any_.queue(), executor_}, token, Take{reader_}, max);
  }

  Executor executor_;
  std::shared_ptr<Reader> reader_;
  AnyWatcher any_;
};

}  // namespace pleat::inline v0_1
