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

void Partition::Reschedule(EngineTime next) {
  scheduled_ = next;
  if (next == kNever) {
    schedule_.Cancel(*this);
  } else {
    schedule_.Arm(*this, next);
  }
}

}  // namespace pleat::inline v0
