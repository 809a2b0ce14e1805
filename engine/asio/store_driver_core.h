// StoreDriverCore stands behind a StoreDriver: commits, one at a time, and the operations that wait
// for them, in the order of partitions and offsets.
//
//   asleep ---- commit_every is over, or in kGroup somebody waits ----> posted
//      ^                                                                  |
//      |                                                      the disk's thread takes it
//      |                                                                  v
//      +------------ served; nobody waits, or it has failed ---------- committing
//                                     |                                   ^
//                                     +---- in kGroup, others wait -------+ (by way of posted)
//
// mutex_ guards the state and is not held while the store commits. Nobody is forgotten: an operation
// looks whether its record is durable before it waits, and every commit looks after its end at all
// that wait, both under the mutex.
//
// The timer always runs, also while a commit is under way: so the execution context has work, and
// only the turns of the timer touch it. The thread of the disk posts handlers, and no more.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/intrusive/set.hpp>
#include <pleat/asio_store.h>

#include "engine/asio/context_guest.h"

namespace pleat::inline v0_1 {

class StoreDriverCore final : public ContextGuest,
                              public std::enable_shared_from_this<StoreDriverCore> {
 public:
  StoreDriverCore(boost::asio::any_io_executor executor, const StoreCalls& store,
                  const StoreDriverOptions& options);

  // Registers with the contexts and sets the timer. Once, after construction.
  void Begin();

  void Start(DurableWaiter::Pointer waiter);
  void Cancel(DurableWaiter& waiter) noexcept;
  void Wake();
  void Stop() noexcept;
  void Shutdown() noexcept override;  // of the driver's context; that of the disk stops it
  StoreDriverStats stats();
  boost::asio::any_io_executor executor();

 private:
  struct PlaceOf {
    using type = AppendPlace;
    const AppendPlace& operator()(const DurableWaiter& waiter) const noexcept {
      return waiter.place();
    }
  };
  struct IsBefore {
    bool operator()(const AppendPlace& a, const AppendPlace& b) const noexcept {
      return a.partition != b.partition ? a.partition < b.partition : a.offset < b.offset;
    }
  };
  using Waiters = boost::intrusive::multiset<DurableWaiter, boost::intrusive::key_of_value<PlaceOf>,
                                             boost::intrusive::compare<IsBefore>>;

  bool IsDurable(const AppendPlace& place) const noexcept;
  bool IsAppended(const AppendPlace& place) const noexcept;
  bool CommitsAtOnce() const noexcept;
  bool Admit(DurableWaiter& waiter) noexcept;
  void SetTimer();
  void TimerHasRung() noexcept;
  void CommitIfDue();
  void PostCommit();
  void Commit() noexcept;
  void NoteCommit(absl::Status status) noexcept;
  bool Serve() noexcept;
  void EndCommits(std::unique_lock<std::mutex>& lock) noexcept;

  const StoreCalls store_;
  const Duration commit_every_;
  const size_t max_waiters_;
  const DriverClock& clock_;
  boost::asio::any_io_executor executor_;  // changes only in Shutdown(), when nobody uses it
  const boost::asio::any_io_executor disk_;
  std::shared_ptr<ContextGuest> disk_guest_;

  std::mutex mutex_;
  std::condition_variable commit_over_;
  bool stopped_ = false;
  bool shut_down_ = false;
  bool posted_ = false;  // a commit, and it has not ended
  bool committing_ = false;
  Duration next_commit_;  // by the clock's Elapsed()
  std::optional<boost::asio::steady_timer> timer_;
  Waiters waiters_;
  StoreDriverStats stats_;  // but for `waiting`
};

}  // namespace pleat::inline v0_1
