#include "engine/asio/store_driver_core.h"

#include <chrono>
#include <cstdint>
#include <utility>

#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>

#include "engine/asio/machine_clock.h"
#include "engine/base/check.h"

namespace pleat::inline v0_1 {
namespace {

// The context of the disk is shutting down: no commit runs any more.
class DiskGuest final : public ContextGuest {
 public:
  explicit DiskGuest(std::weak_ptr<StoreDriverCore> core) : core_(std::move(core)) {}

  void Shutdown() noexcept override {
    if (const auto core = core_.lock()) core->Stop();
  }

 private:
  const std::weak_ptr<StoreDriverCore> core_;
};

}  // namespace

StoreDriverCore::StoreDriverCore(boost::asio::any_io_executor executor, const StoreCalls& store,
                                 const StoreDriverOptions& options)
    : store_(store),
      commit_every_(options.commit_every),
      max_waiters_(options.max_waiters),
      clock_(options.clock != nullptr ? *options.clock : MachineClock()),
      executor_(std::move(executor)),
      disk_(options.disk),
      next_commit_(clock_.Elapsed() + commit_every_),
      timer_(executor_) {
  PLEAT_CHECK(static_cast<bool>(disk_));
  PLEAT_CHECK(commit_every_ > Duration::zero() && commit_every_ <= std::chrono::hours(24));
  PLEAT_CHECK(max_waiters_ > 0);
}

void StoreDriverCore::Begin() {
  disk_guest_ = std::make_shared<DiskGuest>(weak_from_this());
  AddGuest(disk_, disk_guest_);
  AddGuest(executor_, shared_from_this());
  const std::lock_guard lock(mutex_);
  SetTimer();
}

bool StoreDriverCore::IsDurable(const AppendPlace& place) const noexcept {
  return place.offset < store_.durable(*store_.store, place.partition);
}

bool StoreDriverCore::IsAppended(const AppendPlace& place) const noexcept {
  return place.offset < store_.next(*store_.store, place.partition);
}

// Whether somebody who waits has a commit started. After a failure the disk is left in peace until
// the next try.
bool StoreDriverCore::CommitsAtOnce() const noexcept {
  return store_.durability == StoreDurability::kGroup && stats_.last_commit.ok();
}

void StoreDriverCore::Start(DurableWaiter::Pointer waiter) {
  const std::lock_guard lock(mutex_);
  if (shut_down_) return;
  // From here on it belongs to whoever answers it.
  DurableWaiter& admitted = *waiter.release();
  if (!Admit(admitted)) return;
  admitted.ConnectCancellation();
  const AppendPlace place = admitted.place();
  waiters_.insert(admitted);
  if (!posted_ && CommitsAtOnce() && IsAppended(place)) PostCommit();
}

// Whether the operation has to wait; if not, it was completed. After the end the store may be gone.
bool StoreDriverCore::Admit(DurableWaiter& waiter) noexcept {
  if (stopped_) {
    waiter.Complete(boost::asio::error::operation_aborted);
  } else if (IsDurable(waiter.place())) {
    waiter.Complete({});
  } else if (waiters_.size() >= max_waiters_) {
    ++stats_.overloaded;
    waiter.Complete(AsioError::kOverloaded);
  } else {
    return true;
  }
  return false;
}

void StoreDriverCore::Cancel(DurableWaiter& waiter) noexcept {
  const std::lock_guard lock(mutex_);
  if (shut_down_ || !waiter.is_linked()) return;
  waiters_.erase(waiters_.iterator_to(waiter));
  ++stats_.cancelled;
  waiter.Complete(boost::asio::error::operation_aborted);
}

void StoreDriverCore::SetTimer() {
  if (stopped_ || !clock_.runs()) return;
  timer_->expires_after(next_commit_ - clock_.Elapsed());
  timer_->async_wait([self = shared_from_this()](const boost::system::error_code& error) {
    if (!error) self->TimerHasRung();
  });
}

// Most often it is early, because a commit has ended since it was set.
void StoreDriverCore::TimerHasRung() noexcept {
  const std::lock_guard lock(mutex_);
  CommitIfDue();
  SetTimer();
}

void StoreDriverCore::Wake() {
  const std::lock_guard lock(mutex_);
  CommitIfDue();
}

void StoreDriverCore::CommitIfDue() {
  const Duration now = clock_.Elapsed();
  if (stopped_ || now < next_commit_) return;
  next_commit_ = now + commit_every_;
  if (!posted_) PostCommit();
}

void StoreDriverCore::PostCommit() {
  posted_ = true;
  boost::asio::post(disk_, [self = shared_from_this()] { self->Commit(); });
}

// On the disk's thread.
void StoreDriverCore::Commit() noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (stopped_) return;
    committing_ = true;
  }
  absl::Status status = store_.commit(*store_.store);

  const std::lock_guard lock(mutex_);
  posted_ = committing_ = false;
  NoteCommit(std::move(status));
  if (stopped_) {
    commit_over_.notify_all();
    return;
  }
  const bool others_wait = Serve();
  if (others_wait && CommitsAtOnce()) PostCommit();
}

void StoreDriverCore::NoteCommit(absl::Status status) noexcept {
  next_commit_ = clock_.Elapsed() + commit_every_;
  ++stats_.commits;
  if (!status.ok()) ++stats_.failed_commits;
  stats_.last_commit = std::move(status);
}

// Completes those whose record is durable, which are the first of each partition. Returns whether
// one is left whose record was appended.
bool StoreDriverCore::Serve() noexcept {
  bool others_wait = false;
  for (auto it = waiters_.begin(); it != waiters_.end();) {
    DurableWaiter& waiter = *it;
    const AppendPlace place = waiter.place();
    if (IsDurable(place)) {
      it = waiters_.erase(it);
      waiter.Complete({});
    } else {
      others_wait |= IsAppended(place);
      it = waiters_.upper_bound({.partition = place.partition, .offset = UINT64_MAX});
    }
  }
  return others_wait;
}

// The timer goes now, and not with this: its context may be going when the last one lets go of this.
void StoreDriverCore::EndCommits(std::unique_lock<std::mutex>& lock) noexcept {
  stopped_ = true;
  commit_over_.wait(lock, [this] { return !committing_; });
  timer_.reset();
}

void StoreDriverCore::Stop() noexcept {
  std::unique_lock lock(mutex_);
  EndCommits(lock);
  Serve();
  while (!waiters_.empty()) {
    DurableWaiter& first = *waiters_.begin();
    waiters_.erase(waiters_.begin());
    first.Complete(boost::asio::error::operation_aborted);
  }
}

// Handlers are destroyed with no lock held: they may own anything, this too.
void StoreDriverCore::Shutdown() noexcept {
  Waiters waiters;
  {
    std::unique_lock lock(mutex_);
    EndCommits(lock);
    shut_down_ = true;
    waiters.swap(waiters_);
  }
  executor_ = {};
  while (!waiters.empty()) {
    DurableWaiter& first = *waiters.begin();
    waiters.erase(waiters.begin());
    first.Destroy();
  }
}

StoreDriverStats StoreDriverCore::stats() {
  const std::lock_guard lock(mutex_);
  StoreDriverStats stats = stats_;
  stats.waiting = waiters_.size();
  return stats;
}

boost::asio::any_io_executor StoreDriverCore::executor() {
  const std::lock_guard lock(mutex_);
  return executor_;
}

}  // namespace pleat::inline v0_1
