// A Partition is one lock and what it guards: a book for each collection that has had an event here, and
// whether the engine was stopped. It knows the engine's time only as an argument, and tells the timer wheel when its first
// deadline moves earlier.
//
// Lock order: the engine's list of collections, partitions by index, then the schedule, then what an alarm or a listener locks. User code runs under a partition's lock only as
// a fold function, or as the `take` and `look` of AnyFolder, which may not call back.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <vector>

#include <absl/base/thread_annotations.h>
#include <pleat/alarm.h>
#include <pleat/time.h>

#include "engine/base/book.h"
#include "engine/base/check.h"
#include "engine/base/lock.h"
#include "engine/timer/wheel.h"

namespace pleat::inline v0_1 {

class Partition;

// The timer wheel of an engine and its lock. A partition stays scheduled until its own lock holder
// says otherwise, so whoever finds it due and then waits for its lock sees the same as if it had
// come first. The first deadline can be asked for without the lock, so also by an alarm, which is
// told under it.
class Schedule {
 public:
  void Arm(Timer& timer, EngineTime deadline) {
    LockGuard guard(lock_);
    const EngineTime before = NextDeadline();
    wheel_.Schedule(timer, deadline);
    NoteNextDeadline();
    if (deadline < before) Tell(deadline);
  }
  Timer* FirstDue(EngineTime now) {
    LockGuard guard(lock_);
    return wheel_.FirstDue(now);
  }
  EngineTime NextDeadline() const noexcept { return next_.load(std::memory_order_acquire); }
  void Cancel(Timer& timer) {
    LockGuard guard(lock_);
    wheel_.Cancel(timer);
    if (timer.deadline() <= NextDeadline()) NoteNextDeadline();
  }
  void LeaseDeadlineIsEarlier(EngineTime deadline) {
    LockGuard guard(lock_);
    Tell(deadline);
  }
  void SetAlarm(EngineAlarm* alarm) {
    LockGuard guard(lock_);
    if (alarm != nullptr && alarm_ != nullptr)
      Fail("the engine has an alarm, or a driver, already");
    alarm_ = alarm;
  }

 private:
  void Tell(EngineTime deadline) ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock_) {
    if (alarm_ != nullptr) alarm_->DeadlineIsEarlier(deadline);
  }
  void NoteNextDeadline() ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock_) {
    next_.store(wheel_.NextDeadline(), std::memory_order_release);
  }

  mutable Lock lock_;
  TimerWheel wheel_ ABSL_GUARDED_BY(lock_);
  std::atomic<EngineTime> next_{kNever};  // the wheel's; changes under the lock only
  EngineAlarm* alarm_ ABSL_GUARDED_BY(lock_) = nullptr;
};

// Starts a cache line of its own, so that two locks never share one.
class alignas(128) Partition : public Timer {
 public:
  explicit Partition(Schedule& schedule) : schedule_(schedule) {}
  ~Partition() { schedule_.Cancel(*this); }

  Lock& lock() const ABSL_LOCK_RETURNED(lock_) { return lock_; }

  void AddBook(std::unique_ptr<Book> book) ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock_) {
    books_.push_back(std::move(book));
  }
  // REQUIRES: it is here.
  std::unique_ptr<Book> RemoveBook(const Book& book) ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock_);

  // Call after anything that may have given `book` an earlier deadline.
  void DeadlineMayBeEarlier(const Book& book) ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock_) {
    if (const EngineTime next = book.NextDue(); next < scheduled_) Reschedule(next);
  }

  // Applies what is due by `now` in every book and schedules the next visit. Returns whether all was
  // applied before `budget` ran out.
  bool CloseDue(EngineTime now, size_t& budget) ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock_);

  // Leases that run in a time of their own.
  void LeaseDeadlineMayBeEarlier(const Book& book) ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock_);
  bool ExpireLeases(EngineTime now, size_t& budget) ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock_);
  EngineTime NextLeaseDue() const noexcept { return lease_due_.load(std::memory_order_acquire); }

  // Nothing is folded from now on.
  void Stop() ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock_) { stopped_ = true; }
  bool stopped() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock_) { return stopped_; }

 private:
  void ScheduleFirst() ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock_);
  void Reschedule(EngineTime next) ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock_);

  mutable Lock lock_;
  Schedule& schedule_;
  std::vector<std::unique_ptr<Book>> books_ ABSL_GUARDED_BY(lock_);
  EngineTime scheduled_ ABSL_GUARDED_BY(lock_) = kNever;
  std::atomic<EngineTime> lease_due_{kNever};  // changes under the lock only
  bool stopped_ ABSL_GUARDED_BY(lock_) = false;
};

}  // namespace pleat::inline v0_1
