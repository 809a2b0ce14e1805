#include "engine/core/outbox_collection.h"

#include <algorithm>

namespace pleat::inline v0_1 {

// --- Handing out

// Merges the emissions of the partitions of `from`, and hands out up to `max` of them by
// `hand_out(outbox, next, at)`. A book that has taken back many leases, or passed many emissions
// that wait for their key, says kLater, so that others have their turn at the locks: then all begin
// again, or, if something was handed out, the call ends.
template <class HandOut>
size_t OutboxCollection::HandOutRange(size_t max, PartitionRange from, bool lends,
                                      const HandOut& hand_out) ABSL_NO_THREAD_SAFETY_ANALYSIS {
  struct Head {
    Handout next;
    const Home* home;
  };
  const auto later = [](const Head& a, const Head& b) {
    return BookIn(*b.home).outbox().IsBefore(b.next, BookIn(*a.home).outbox(), a.next);
  };
  const PartitionRange range = Clip(from);
  if (range.empty() || max == 0) return 0;
  Timeline& timeline = engine().timeline();
  std::vector<Head> heads;
  heads.reserve(static_cast<size_t>(range.end - range.begin));
  size_t handed_out = 0;
  bool known = true;  // the next emission, of every book
  do {
    known = true;
    heads.clear();
    LockRange(range);
    const EngineTime now = timeline.now();
    const LeaseTime leases = timeline.lease_now();
    // One operation: `before` of the head, and a look at the emission that comes next.
    const auto look = [&](Head& head, const auto& before) ABSL_NO_THREAD_SAFETY_ANALYSIS {
      Partition& partition = *head.home->partition;
      OutboxBook& book = BookIn(*head.home);
      partition.DoOneOfMany(partition.CopyFirst(), book, now, leases, timeline.TakePositions(1),
                            [&](const Instant& at) {
                              head.next = before(book.outbox(), head.next, at)
                                              ? book.NextHandout(at, lends)
                                              : Handout(Handout::What::kLater);
                            });
      known &= head.next.what() != Handout::What::kLater;
      return static_cast<bool>(head.next);
    };
    for (int i = range.begin; i < range.end; ++i) {
      Head head{{}, &home(static_cast<size_t>(i))};
      if (head.home->book == nullptr) continue;
      const bool found = look(head, [](Outbox& outbox, const Handout&, const Instant& at) {
        return outbox.TakeBack(at);
      });
      if (found) heads.push_back(head);
    }
    std::make_heap(heads.begin(), heads.end(), later);
    while (known && handed_out < max && !heads.empty()) {
      std::pop_heap(heads.begin(), heads.end(), later);
      const bool found = look(heads.back(), hand_out);
      ++handed_out;
      if (found) {
        std::push_heap(heads.begin(), heads.end(), later);
      } else {
        heads.pop_back();
      }
    }
    if (lends) {
      for (int i = range.begin; i < range.end; ++i) {
        const Home& home = this->home(static_cast<size_t>(i));
        if (home.book != nullptr) home.partition->Publish(*home.book);
      }
    }
    HandOverRange(range);
  } while (!known && handed_out == 0);
  return handed_out;
}

size_t OutboxCollection::Pop(size_t max, PartitionRange from, Outbox::Take take) {
  return HandOutRange(max, from, /*lends=*/false,
                      [&](Outbox& outbox, const Handout& next, const Instant& at) {
                        outbox.Pop(next, at, take);
                        return true;
                      });
}

size_t OutboxCollection::Lease(size_t max, Duration ttl, PartitionRange from,
                               Outbox::Borrow borrow) {
  const LeaseToken origin{.epoch = engine().epoch(), .collection = number()};
  return HandOutRange(max, from, /*lends=*/true,
                      [&](Outbox& outbox, const Handout& next, const Instant& at) {
                        outbox.Lend(next, at, ttl, origin, borrow);
                        return true;
                      });
}

// --- Leases

// The outcome of `change(outbox, at)`, if the token is one of this collection's.
template <class Change>
LeaseOutcome OutboxCollection::WithToken(const LeaseToken& token, const Change& change) {
  const bool ours = token.epoch == engine().epoch() && token.collection == number();
  if (!ours || token.partition >= home_count()) return LeaseOutcome::kStale;
  const Home& home = this->home(token.partition);
  LockGuard guard(home.partition->lock());
  if (home.book == nullptr) return closed() ? LeaseOutcome::kClosed : LeaseOutcome::kStale;
  return Do(home, [&](const Instant& at) { return change(BookIn(home).outbox(), at); });
}

LeaseOutcome OutboxCollection::Ack(const LeaseToken& token) {
  return WithToken(token, [&](Outbox& outbox, const Instant& at) { return outbox.Ack(token, at); });
}

LeaseOutcome OutboxCollection::Nack(const LeaseToken& token, Duration delay) {
  return WithToken(
      token, [&](Outbox& outbox, const Instant& at) { return outbox.Nack(token, delay, at); });
}

Extension OutboxCollection::Extend(const LeaseToken& token, Duration ttl) {
  Extension extension;
  extension.outcome = WithToken(token, [&](Outbox& outbox, const Instant& at) {
    extension = outbox.Extend(token, ttl, at);
    return extension.outcome;
  });
  return extension;
}

size_t OutboxCollection::EndLeases(PartitionRange of) {
  const PartitionRange range = Clip(of);
  size_t ended = 0;
  for (int i = range.begin; i < range.end; ++i) {
    const Home& home = this->home(static_cast<size_t>(i));
    LongLockGuard guard(home.partition->lock());
    if (home.book == nullptr) continue;
    ended += Do(home, [&](const Instant& at) { return BookIn(home).outbox().EndLeases(at); });
  }
  return ended;
}

LeaseOutcome OutboxCollection::RetryDeadLetter(const LeaseToken& token) {
  return WithToken(
      token, [&](Outbox& outbox, const Instant& at) { return outbox.RetryDeadLetter(token, at); });
}

LeaseOutcome OutboxCollection::DropDeadLetter(const LeaseToken& token) {
  return WithToken(
      token, [&](Outbox& outbox, const Instant& at) { return outbox.DropDeadLetter(token, at); });
}

// Leases that have run out by now may have become letters.
bool OutboxCollection::ScanDeadLetters(ScanCursor& cursor, size_t max, Outbox::SeeDead see) {
  for (size_t seen = 0; cursor.partition < engine().partition_count(); ++cursor.partition) {
    const Home& home = this->home(static_cast<size_t>(cursor.partition));
    LongLockGuard guard(home.partition->lock());
    if (home.book != nullptr) {
      Do(home, [&](const Instant& at) {
        Budget budget;
        home.book->ExpireLeases(at, budget);
      });
      const Outbox& outbox = BookIn(home).outbox();
      if (!outbox.ScanDeadLetters(cursor.place, max, seen, see)) return true;
    }
    cursor.place = 0;
  }
  return false;
}

// --- Listeners and counts

void OutboxCollection::TellOfClose(int partition) {
  for (EmissionListener* listener : listeners(partition)) listener->MayHaveEmissions();
  if (partition > 0) return;
  for (EmissionListener* listener : idle_listeners_) listener->MayHaveEmissions();
}

void OutboxCollection::AddListener(EmissionListener& listener, PartitionRange of) {
  const PartitionRange range = Clip(of);
  for (int i = range.begin; i < range.end; ++i) {
    LockGuard guard(engine().partition(i).lock());
    listeners_[static_cast<size_t>(i)].push_back(&listener);
  }
  if (!range.empty()) return;
  LockGuard guard(home(0).partition->lock());
  idle_listeners_.push_back(&listener);
}

void OutboxCollection::RemoveListener(EmissionListener& listener) {
  for (size_t i = 0; i < home_count(); ++i) {
    LockGuard guard(home(i).partition->lock());
    std::erase(listeners_[i], &listener);
  }
  LockGuard guard(home(0).partition->lock());
  std::erase(idle_listeners_, &listener);
}

Ledger OutboxCollection::ledger() {
  Ledger sum;
  for (size_t i = 0; i < home_count(); ++i) {
    const Home& home = this->home(i);
    LockGuard guard(home.partition->lock());
    if (home.book != nullptr) sum += BookIn(home).ledger();
  }
  return sum;
}

Sizes OutboxCollection::sizes() {
  Sizes sum;
  for (size_t i = 0; i < home_count(); ++i) {
    const Home& home = this->home(i);
    LockGuard guard(home.partition->lock());
    if (home.book != nullptr) sum += BookIn(home).sizes();
  }
  return sum;
}

}  // namespace pleat::inline v0_1
