// An OutboxBook is a book that emits: the book owns an outbox and hands out through it. A
// collection of any kind derives its book from this class and says how its entries look.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include <pleat/stats.h>

#include "engine/base/book.h"
#include "engine/outbox/outbox.h"
#include "engine/outbox/trace_log.h"

namespace pleat::inline v0_1 {

struct Statistic;

class OutboxBook : public Book, protected OutboxEntries {
 public:
  static constexpr size_t kEmittedAtOnce = 64;

  // See Outbox for these.
  OutboxBook(PagePool& pool, const OutboxOptions& options, uint32_t partition,
             const Outbox::Listeners& listeners)
      : pages_(pool),
        trace_(options.max_trace > 0 ? new TraceLog(*this, partition, options.max_trace) : nullptr),
        outbox_(pages_, options, partition, *this, listeners, trace_.get()) {}

  using Book::Save;  // not that of an entry

  Outbox& outbox() noexcept { return outbox_; }
  const Outbox& outbox() const noexcept { return outbox_; }
  // The steps of groups and emissions; null unless the collection keeps them.
  const TraceLog* trace() const noexcept { return trace_.get(); }

  // The next emission. Applies deadlines up to `at` only as far as needed to know the emission, and
  // the next ones up to `most`.
  Handout NextHandout(const Instant& at, bool lends, size_t most = kEmittedAtOnce) {
    size_t in_line = 1024;  // emissions put behind one of their key before others get the lock
    for (;;) {
      const Handout next = outbox_.Next(at, lends, in_line);
      if (next.what() != Handout::What::kEmpty) return next;
      const bool all = EmitDue(at, most);
      if (all && outbox_.queue_empty()) return Handout();
    }
  }

  // Pops up to `max` emissions, and closes what is due for that. `known` says whether the one behind
  // them is: if not, others should have their turn at the lock first.
  size_t Pop(const Instant& at, size_t max, AnyCollection::Take take, bool& known);

  bool ExpireLeases(const Instant& at, Budget& budget) final {
    const bool all = outbox_.ExpireLeases(at, budget);
    outbox_.NoteIfDrained();
    return all;
  }
  LeaseTime NextLeaseDue() const noexcept final { return outbox_.NextLeaseDue(); }
  void SkipNumbers(uint64_t by, const Instant& at) override { outbox_.SkipAhead(by, at); }

  // Ends what is left of what was open, if BeginClosing() of the book came before: EmitDue() ends it
  // since then, a few entries at a time, behind all that is due.
  virtual void FinishClosing(const Instant&) {}

  // By default only the emissions are saved in steps.
  bool SaveNext(FieldWriter& out) override { return outbox_.SaveNext(out); }
  void EndSave() noexcept override { outbox_.EndSave(); }

  virtual Ledger ledger() const noexcept = 0;
  Sizes sizes() const noexcept {
    const Ledger now = ledger();
    return {.open_groups = now.open,
            .ready_emissions = now.ready,
            .unacked_emissions = now.unacked,
            .dead_letters = now.dead,
            .behind_dead = outbox_.behind_dead(),
            .bytes = bytes()};
  }

 protected:
  // What counts against the limit on bytes, if there is one.
  virtual size_t bytes() const noexcept { return 0; }
  // Pushes the next `most` entries that are due by `at` into the outbox, in order. Returns whether
  // those were all. How many are pushed shows at the limit on the backlog: so it goes by what is due,
  // and not by what had to be looked at, of which a snapshot keeps nothing.
  virtual bool EmitDue(const Instant& at, size_t most) = 0;
  // See Outbox::PopQueue().
  virtual size_t PopQueue(const Instant& at, size_t max, AnyCollection::Take take) {
    return outbox_.PopQueue<OutboxEntries>(*this, at, max, take);
  }
  // Pops up to `max` emissions that become ready only now, without pushing them, where that changes
  // nothing else. Returns how many.
  virtual size_t PopDue(const Instant&, size_t, AnyCollection::Take) { return 0; }

  PageAccount pages_;                      // of all its tables
  const std::unique_ptr<TraceLog> trace_;  // null: none is kept
  Outbox outbox_;
};

inline size_t OutboxBook::Pop(const Instant& at, size_t max, AnyCollection::Take take,
                              bool& known) {
  size_t popped = 0;
  while (popped < max) {
    if (outbox_.would_be_next()) popped += PopDue(at, max - popped, take);
    if (popped == max) break;
    const Handout next = NextHandout(at, /*lends=*/false, std::min(max - popped, kEmittedAtOnce));
    known = next.what() != Handout::What::kLater;
    if (!next) break;
    if (next.what() == Handout::What::kReady) {
      popped += PopQueue(at, max - popped, take);
    } else {
      GivenRun run(take);
      outbox_.Pop(next, at, run);
      run.HandOver();
      ++popped;
    }
  }
  return popped;
}

// What a collection with these counts tells.
std::vector<Statistic> StatisticsOf(const Ledger& ledger, const Sizes& sizes);

}  // namespace pleat::inline v0_1
