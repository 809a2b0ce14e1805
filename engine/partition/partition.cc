#include "engine/partition/partition.h"

#include <algorithm>
#include <utility>

namespace pleat::inline v0_1 {

void Schedule::Arm(Timer& timer, EngineTime deadline) {
  LockGuard guard(lock_);
  const EngineTime before = NextDeadline();
  wheel_.Schedule(timer, deadline);
  NoteNextDeadline();
  if (deadline < before && alarm_ != nullptr) Tell(deadline);
}

void Schedule::Cancel(Timer& timer) {
  LockGuard guard(lock_);
  wheel_.Cancel(timer);
  if (timer.deadline() <= NextDeadline()) NoteNextDeadline();
}

void Schedule::Tell(EngineTime deadline) {
  if (clock_ == Clock::kLeases) {
    alarm_->LeaseDeadlineIsEarlier(LeaseTime(deadline));
  } else {
    alarm_->DeadlineIsEarlier(deadline);
  }
}

void Schedule::SetAlarm(EngineAlarm& alarm) {
  LockGuard guard(lock_);
  if (alarm_ != nullptr) Fail("the engine has an alarm, or a driver, already");
  alarm_ = &alarm;
}

void Schedule::RemoveAlarm(const EngineAlarm* alarm) {
  LockGuard guard(lock_);
  if (alarm == nullptr || alarm == alarm_) alarm_ = nullptr;
}

void PartitionTimer::Set(EngineTime next) {
  next_ = next;
  if (next == kNever) {
    schedule_.Cancel(*this);
  } else {
    schedule_.Arm(*this, next);
  }
}

bool Partition::CloseDue(const Moment& moment, Budget& budget) {
  bool all = true;
  for (const auto& [book_here, collection] : books_) {
    Book* const book = book_here.get();
    if (book->NextDue() > moment.now) continue;
    all = DoOneOfMany(CopyFirst(), *book, moment.now, moment.leases, moment.position,
                      [&](const Instant& at) { return book->CloseDue(at, budget); }) &&
          all;
  }
  due_.Set(NextDue());
  return all;
}

bool Partition::ExpireLeases(const Moment& moment, Budget& budget) {
  bool all = true;
  for (const auto& [book_here, collection] : books_) {
    Book* const book = book_here.get();
    if (book->NextLeaseDue() > moment.leases) continue;
    all = DoOneOfMany(CopyFirst(), *book, moment.now, moment.leases, moment.position,
                      [&](const Instant& at) { return book->ExpireLeases(at, budget); }) &&
          all;
  }
  lease_due_.Set(NextLeaseDue());
  return all;
}

void Partition::BeginCopy() {
  PartitionCopier& copier = *std::exchange(copier_, nullptr);
  if (std::exchange(begun_, &copier) == &copier) {
    begun_ = nullptr;
    copier.End();
  } else {
    copier.Begin(*this);
  }
  NoteUnusual();
}

std::unique_ptr<Book> Partition::RemoveBook(const Book& book) {
  CopyFirst();
  const auto it = std::find_if(books_.begin(), books_.end(),
                               [&](const Kept& kept) { return kept.book.get() == &book; });
  PLEAT_DCHECK(it != books_.end());
  if (begun_ != nullptr) begun_->Leave(*it->book);
  std::unique_ptr<Book> removed = std::move(it->book);
  books_.erase(it);
  if (removed->NextDue() <= due_.next()) due_.Set(NextDue());
  if (EngineTime(removed->NextLeaseDue()) <= lease_due_.next()) lease_due_.Set(NextLeaseDue());
  return removed;
}

EngineTime Partition::NextDue() const {
  EngineTime next = kNever;
  for (const Kept& kept : books_) next = std::min(next, kept.book->NextDue());
  return next;
}

EngineTime Partition::NextLeaseDue() const {
  EngineTime next = kNever;
  for (const Kept& kept : books_) {
    next = std::min(next, EngineTime(kept.book->NextLeaseDue()));
  }
  return next;
}

}  // namespace pleat::inline v0_1
