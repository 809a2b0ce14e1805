#include "engine/partition/partition.h"

#include <algorithm>

namespace pleat::inline v0 {

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

void Partition::Close() {
  stopped_ = closed_ = true;
  books_.clear();
  Reschedule(kNever);
  lease_due_.store(kNever, std::memory_order_release);
}

void Partition::Reschedule(EngineTime next) {
  scheduled_ = next;
  if (next == kNever) {
    schedule_.Cancel(*this);
  } else {
    schedule_.Arm(*this, next);
  }
}

}  // namespace pleat::inline v0
