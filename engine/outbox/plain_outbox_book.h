// A PlainOutboxBook is an OutboxBook that shows an emission and gives it away alike: of deadlines that
// never move, and of states that need no destructor. A file of its own: where the compiler sees these
// bodies it guesses that a call leads to one of them, and asks at each emission of any book.
#pragma once

#include "engine/outbox/outbox_book.h"

namespace pleat::inline v0_1 {

class PlainOutboxBook : public OutboxBook {
 protected:
  using OutboxBook::OutboxBook;

  // For books whose deadlines never move: all that CloseDue() looks at is due.
  bool EmitDue(const Instant& at, size_t most) override {
    Budget budget(most);
    return CloseDue(at, budget);
  }
  ClosedGroup GiveAway(const Ready& ready) override { return Show(ready); }
  void Discard(const Ready& ready) noexcept override { FreeGiven(ready.entry); }
};

}  // namespace pleat::inline v0_1
