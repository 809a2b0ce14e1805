// A Partition is one lock and the state that it guards: a book for each collection that has had an
// event here, and whether the engine was stopped. The partition knows time only as an argument. It
// tells a timer wheel when its first deadline moves earlier; there is one wheel for the engine's
// time and one for lease time.
//
// Lock order: the engine's list of collections, partitions by index, then a schedule, then the
// locks of an alarm or a listener. User code runs under a partition's lock only as a fold function,
// or as the `take` and `look` of AnyFolder, which may not call back.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <absl/base/thread_annotations.h>
#include <pleat/time.h>
#include <pleat/untyped/alarm.h>

#include "engine/base/book.h"
#include "engine/base/budget.h"
#include "engine/base/check.h"
#include "engine/base/instant.h"
#include "engine/base/lock.h"
#include "engine/timer/wheel.h"

namespace pleat::inline v0_1 {

class Partition;

// The timer wheel of one clock of an engine, and its lock. A partition stays scheduled until its
// own lock holder says otherwise, so a caller that finds a partition due and then waits for its
// lock sees the same as if the caller had come first. The first deadline can be asked for without
// the lock, also by an alarm, which is told under the lock.
class Schedule {
 public:
  enum class Clock : uint8_t { kEngine, kLeases };

  explicit Schedule(Clock clock) : clock_(clock) {}

  void Arm(Timer& timer, EngineTime deadline);
  void Cancel(Timer& timer);
  Timer* FirstDue(EngineTime now) {
    LockGuard guard(lock_);
    return wheel_.FirstDue(now);
  }
  EngineTime NextDeadline() const noexcept { return next_.load(std::memory_order_acquire); }
  void SetAlarm(EngineAlarm& alarm);
  // Without `alarm`, whichever is set.
  void RemoveAlarm(const EngineAlarm* alarm = nullptr);

 private:
  void Tell(EngineTime deadline) ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock_);
  void NoteNextDeadline() ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock_) {
    next_.store(wheel_.NextDeadline(), std::memory_order_release);
  }

  const Clock clock_;
  mutable Lock lock_;
  TimerWheel wheel_ ABSL_GUARDED_BY(lock_);
  std::atomic<EngineTime> next_{kNever};  // the wheel's; changes under the lock only
  EngineAlarm* alarm_ ABSL_GUARDED_BY(lock_) = nullptr;
};

// The first deadline of a partition on one clock. Changes under the partition's lock only.
class PartitionTimer : public Timer {
 public:
  PartitionTimer(Partition& partition, Schedule& schedule)
      : partition_(partition), schedule_(schedule) {}
  ~PartitionTimer() { schedule_.Cancel(*this); }

  Partition& partition() const noexcept { return partition_; }
  EngineTime next() const noexcept { return next_; }  // kNever: none
  void MayBeEarlier(EngineTime next) {
    if (next < next_) Set(next);
  }
  void Set(EngineTime next);

 private:
  Partition& partition_;
  Schedule& schedule_;
  EngineTime next_ = kNever;
};

// Copies a partition as it is at one moment, for a snapshot. All calls are made under the
// partition's lock.
class PartitionCopier {
 public:
  // The partition is about to change for the first time. From now on its books keep, as they are
  // now, the entries that the copier still lacks.
  virtual void Begin(const Partition& partition) = 0;
  // It is about to change for the first time after EndCopySoon(): its books need keep nothing more.
  virtual void End() noexcept = 0;
  // The book is about to leave the partition.
  virtual void Leave(Book& book) = 0;

 protected:
  ~PartitionCopier() = default;
};

// Starts a cache line of its own, so that two locks never share one.
class alignas(128) Partition {
 public:
  Partition(Schedule& schedule, Schedule& leases)
      : due_(*this, schedule), lease_due_(*this, leases) {}

  Lock& lock() const ABSL_LOCK_RETURNED(lock_) { return lock_; }

  // `collection`: the number of the collection.
  void AddBook(std::unique_ptr<Book> book, uint32_t collection)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock_) {
    CopyFirst();
    books_.push_back({std::move(book), collection});
  }
  // REQUIRES: the book is here.
  std::unique_ptr<Book> RemoveBook(const Book& book) ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock_);

  // Shows that a snapshot that was cut has begun to copy the partition, so that it may change. Good
  // while the lock is held: asked for once, it serves all operations until then.
  class Copied {
    friend class Partition;
    constexpr Copied() = default;
  };

  // The one door. Applies `change(at)`, one operation, to `book`, and returns its result. Only here
  // is an Instant made, and whatever changes a book asks for one. The same operations with the same
  // instants, one after the other, leave the same book.
  //
  // `now` is the engine's time, read under the lock, of an event the time that includes it.
  // `position` is 0 for an operation that takes none; a batch, also of acks, takes its positions before
  // it has the lock.
  template <class Change>
  auto Do(Copied, Book& book, EngineTime now, LeaseTime leases, uint64_t position,
          const Change& change) ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock_) {
    PLEAT_DCHECK(lock_.held() && may_change());
    const Publisher publisher{*this, book};
    return change(Instant(now, leases, position));
  }
  // The same for one of many operations while the lock is held, or one that makes no deadline
  // earlier: after the last one that may have, call Publish(book).
  template <class Change>
  [[gnu::always_inline]] auto DoOneOfMany(Copied, Book&, EngineTime now, LeaseTime leases,
                                          uint64_t position, const Change& change)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock_) {
    PLEAT_DCHECK(lock_.held() && may_change());
    return change(Instant(now, leases, position));
  }
  // Tells the wheels if a deadline of `book` is the partition's first.
  void Publish(const Book& book) ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock_) {
    due_.MayBeEarlier(book.NextDue());
    lease_due_.MayBeEarlier(EngineTime(book.NextLeaseDue()));
  }

  // Whether a deadline may have come that no book has applied.
  bool MayBeDue(EngineTime now) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock_) {
    return due_.next() <= now;
  }

  // From now on, before anything changes here, `copier` begins to copy the partition, once.
  void CopyBeforeChange(PartitionCopier& copier) ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock_) {
    PLEAT_DCHECK(copier_ == nullptr && begun_ == nullptr);
    copier_ = &copier;
    NoteUnusual();
  }
  // Has it begin now, unless it has begun; or end, after EndCopySoon().
  Copied CopyFirst() ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock_) {
    if (copier_ != nullptr) [[unlikely]]
      BeginCopy();
    return {};
  }
  // The same for events, which are not folded once the engine was stopped: then null. Both are one
  // question.
  const Copied* CopyFirstUnlessStopped() ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock_) {
    if (unusual_) [[unlikely]] {
      if (stopped_) return nullptr;
      BeginCopy();
    }
    static constexpr Copied kCopied;
    return &kCopied;
  }
  // In the midst of an operation, before which the copying has begun: the copier ends it before the
  // next one.
  void EndCopySoon() ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock_) {
    if (begun_ == nullptr) return;
    copier_ = begun_;
    NoteUnusual();
  }
  // Forgets the copier.
  void EndCopy() ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock_) {
    copier_ = begun_ = nullptr;
    NoteUnusual();
  }
  // Calls `visit(collection, book)` for each book.
  template <class Visit>
  void ForEachBook(const Visit& visit) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock_) {
    for (const Kept& kept : books_) visit(kept.collection, *kept.book);
  }
  size_t book_count() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock_) { return books_.size(); }

  // When a visit by time happens.
  struct Moment {
    EngineTime now;
    LeaseTime leases;
    uint64_t position;
  };
  // Applies the deadlines up to `moment.now` in every book and schedules the next visit. Returns
  // whether all was applied before `budget` was spent.
  bool CloseDue(const Moment& moment, Budget& budget) ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock_);
  // The same for leases that have run out by `moment.leases`.
  bool ExpireLeases(const Moment& moment, Budget& budget) ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock_);

  // Nothing is folded from now on.
  void Stop() ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock_) {
    stopped_ = true;
    NoteUnusual();
  }
  bool stopped() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock_) { return stopped_; }

 private:
  struct Kept {
    std::unique_ptr<Book> book;
    uint32_t collection;
  };
  struct Publisher {
    Partition& partition;
    const Book& book;
    ~Publisher() ABSL_NO_THREAD_SAFETY_ANALYSIS { partition.Publish(book); }
  };

  [[gnu::cold]] void BeginCopy() ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock_);
  bool may_change() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock_) {
    return copier_ == nullptr || copier_ == begun_;
  }
  void NoteUnusual() ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock_) {
    unusual_ = stopped_ || copier_ != nullptr;
  }
  EngineTime NextDue() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock_);
  EngineTime NextLeaseDue() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock_);

  mutable Lock lock_;
  bool stopped_ ABSL_GUARDED_BY(lock_) = false;
  bool unusual_ ABSL_GUARDED_BY(lock_) = false;               // stopped, or to be copied
  PartitionCopier* copier_ ABSL_GUARDED_BY(lock_) = nullptr;  // waits for the next operation,
  PartitionCopier* begun_ ABSL_GUARDED_BY(lock_) = nullptr;   // has seen one; both: waits to end
  std::vector<Kept> books_ ABSL_GUARDED_BY(lock_);
  PartitionTimer due_ ABSL_GUARDED_BY(lock_);
  PartitionTimer lease_due_ ABSL_GUARDED_BY(lock_);  // a LeaseTime, in the wheel's terms
};

}  // namespace pleat::inline v0_1
