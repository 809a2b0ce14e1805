#include "engine/partition/partition.h"

#include <algorithm>

namespace pleat::inline v0_1 {

bool Partition::CloseDue(EngineTime now, size_t& budget) {
  bool all = true;
  EngineTime next = kNever;
  for (const std::unique_ptr<Book>& book : books_) {
    if (book->NextDue() <= now) all = book->CloseDue(now, budget) && all;
    next = std::min(next, book->NextDue());
  }
  Reschedule(next);
  return all;
}

void Partition::LeaseDeadlineMayBeEarlier(const Book& book) {
  const EngineTime due = book.NextLeaseDue();
  if (due >= NextLeaseDue()) return;
  lease_due_.store(due, std::memory_order_release);
  schedule_.LeaseDeadlineIsEarlier(due);
}

bool Partition::ExpireLeases(EngineTime now, size_t& budget) {
  bool all = true;
  EngineTime next = kNever;
  for (const std::unique_ptr<Book>& book : books_) {
    all = book->ExpireLeases(now, budget) && all;
    next = std::min(next, book->NextLeaseDue());
  }
  lease_due_.store(next, std::memory_order_release);
  return all;
}

std::unique_ptr<Book> Partition::RemoveBook(const Book& book) {
  const auto it = std::find_if(books_.begin(), books_.end(),
                               [&](const auto& other) { return other.get() == &book; });
  std::unique_ptr<Book> removed = std::move(*it);
  books_.erase(it);
  if (removed->NextDue() <= scheduled_ || removed->NextLeaseDue() <= NextLeaseDue()) {
    ScheduleFirst();
  }
  return removed;
}

void Partition::ScheduleFirst() {
  EngineTime next = kNever;
  EngineTime next_lease = kNever;
  for (const std::unique_ptr<Book>& book : books_) {
    next = std::min(next, book->NextDue());
    next_lease = std::min(next_lease, book->NextLeaseDue());
  }
  Reschedule(next);
  lease_due_.store(next_lease, std::memory_order_release);
}

void Partition::Reschedule(EngineTime next) {
  scheduled_ = next;
  if (next == kNever) {
    schedule_.Cancel(*this);
  } else {
    schedule_.Arm(*this, next);
  }
}

}  // namespace pleat::inline v0_1
