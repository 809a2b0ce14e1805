#include "engine/core/collection.h"

#include <algorithm>
#include <utility>

namespace pleat::inline v0_1 {

Collection::Collection(EngineCore& engine, std::string_view name)
    : engine_(engine), name_(name), listeners_(static_cast<size_t>(engine.partition_count())) {
  const int partitions = engine_.partition_count();
  homes_.reserve(static_cast<size_t>(partitions));
  for (int i = 0; i < partitions; ++i) homes_.push_back({.partition = &engine_.partition(i)});
}

void Collection::AddBook(Home& home) {
  if (closed()) return;
  std::unique_ptr<OutboxBook> book = MakeBook(static_cast<int>(&home - homes_.data()));
  home.book = book.get();
  home.partition->AddBook(std::move(book));
}

// Books are destroyed without the partition's lock, for which others wait.
void Collection::Close() {
  closed_ = true;
  for (size_t i = 0; i < homes_.size(); ++i) {
    Home& home = homes_[i];
    std::unique_ptr<Book> book;
    LockGuard guard(home.partition->lock());
    if (home.book != nullptr) book = home.partition->RemoveBook(*std::exchange(home.book, nullptr));
    for (EmissionListener* listener : listeners_[i]) listener->MayHaveEmissions();
  }
  LockGuard guard(homes_.front().partition->lock());
  for (EmissionListener* listener : idle_listeners_) listener->MayHaveEmissions();
}

PartitionRange Collection::Clip(PartitionRange range) const noexcept {
  return {std::max(range.begin, 0), std::min(range.end, engine_.partition_count())};
}

void Collection::LockRange(PartitionRange range) noexcept ABSL_NO_THREAD_SAFETY_ANALYSIS {
  for (int i = range.begin; i < range.end; ++i) engine_.partition(i).lock().LockForLong();
}

void Collection::HandOverRange(PartitionRange range) noexcept ABSL_NO_THREAD_SAFETY_ANALYSIS {
  for (int i = range.end; i-- > range.begin;) engine_.partition(i).lock().HandOver();
}

// --- Handing out

// Merges the emissions of the partitions of `from`, and hands out up to `max` of them by
// `hand_out(outbox, next, at)`. A book that has taken back many leases, or passed many emissions
// that wait for their key, says kLater, so that others have their turn at the locks: then all begin
// again, or, if something was handed out, the call ends.
template <class HandOut>
size_t Collection::HandOutRange(size_t max, PartitionRange from, bool lends,
                                const HandOut& hand_out) ABSL_NO_THREAD_SAFETY_ANALYSIS {
  struct Head {
    Handout next;
    const Home* home;
  };
  const auto later = [](const Head& a, const Head& b) {
    return b.home->book->outbox().IsBefore(b.next, a.home->book->outbox(), a.next);
  };
  const PartitionRange range = Clip(from);
  if (range.empty() || max == 0) return 0;
  Timeline& timeline = engine_.timeline();
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
      OutboxBook& book = *head.home->book;
      partition.DoOneOfMany(book, now, leases, timeline.TakePositions(1), [&](const Instant& at) {
        head.next = before(book.outbox(), head.next, at) ? book.NextHandout(at, lends)
                                                         : Handout(Handout::What::kLater);
      });
      known &= head.next.what() != Handout::What::kLater;
      return static_cast<bool>(head.next);
    };
    for (int i = range.begin; i < range.end; ++i) {
      Head head{{}, &homes_[static_cast<size_t>(i)]};
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
        const Home& home = homes_[static_cast<size_t>(i)];
        if (home.book != nullptr) home.partition->Publish(*home.book);
      }
    }
    HandOverRange(range);
  } while (!known && handed_out == 0);
  return handed_out;
}

size_t Collection::Pop(size_t max, PartitionRange from, Outbox::Take take) {
  return HandOutRange(max, from, /*lends=*/false,
                      [&](Outbox& outbox, const Handout& next, const Instant& at) {
                        outbox.Pop(next, at, take);
                        return true;
                      });
}

size_t Collection::Lease(size_t max, Duration ttl, PartitionRange from, Outbox::Borrow borrow) {
  const LeaseToken origin{.epoch = engine_.epoch(), .collection = number_};
  return HandOutRange(max, from, /*lends=*/true,
                      [&](Outbox& outbox, const Handout& next, const Instant& at) {
                        outbox.Lend(next, at, ttl, origin, borrow);
                        return true;
                      });
}

// --- Leases

// The outcome of `change(outbox, at)`, if the token is one of this collection's.
template <class Change>
LeaseOutcome Collection::WithToken(const LeaseToken& token, const Change& change) {
  const bool ours = token.epoch == engine_.epoch() && token.collection == number_;
  if (!ours || token.partition >= homes_.size()) return LeaseOutcome::kStale;
  const Home& home = homes_[token.partition];
  LockGuard guard(home.partition->lock());
  if (home.book == nullptr) return closed() ? LeaseOutcome::kClosed : LeaseOutcome::kStale;
  return Do(home, [&](const Instant& at) { return change(home.book->outbox(), at); });
}

LeaseOutcome Collection::Ack(const LeaseToken& token) {
  return WithToken(token, [&](Outbox& outbox, const Instant& at) { return outbox.Ack(token, at); });
}

LeaseOutcome Collection::Nack(const LeaseToken& token, Duration delay) {
  return WithToken(
      token, [&](Outbox& outbox, const Instant& at) { return outbox.Nack(token, delay, at); });
}

Extension Collection::Extend(const LeaseToken& token, Duration ttl) {
  Extension extension;
  extension.outcome = WithToken(token, [&](Outbox& outbox, const Instant& at) {
    extension = outbox.Extend(token, ttl, at);
    return extension.outcome;
  });
  return extension;
}

LeaseOutcome Collection::RetryDeadLetter(const LeaseToken& token) {
  return WithToken(
      token, [&](Outbox& outbox, const Instant& at) { return outbox.RetryDeadLetter(token, at); });
}

LeaseOutcome Collection::DropDeadLetter(const LeaseToken& token) {
  return WithToken(
      token, [&](Outbox& outbox, const Instant& at) { return outbox.DropDeadLetter(token, at); });
}

// Leases that have run out by now may have become letters.
bool Collection::ScanDeadLetters(ScanCursor& cursor, size_t max, Outbox::SeeDead see) {
  for (size_t seen = 0; cursor.partition < engine_.partition_count(); ++cursor.partition) {
    const Home& home = homes_[static_cast<size_t>(cursor.partition)];
    LongLockGuard guard(home.partition->lock());
    if (home.book != nullptr) {
      Do(home, [&](const Instant& at) {
        size_t budget = SIZE_MAX;
        home.book->ExpireLeases(at, budget);
      });
      const Outbox& outbox = home.book->outbox();
      if (!outbox.ScanDeadLetters(cursor.place, max, seen, see)) return true;
    }
    cursor.place = 0;
  }
  return false;
}

// --- Listeners and counts

void Collection::AddListener(EmissionListener& listener, PartitionRange of) {
  const PartitionRange range = Clip(of);
  for (int i = range.begin; i < range.end; ++i) {
    LockGuard guard(engine_.partition(i).lock());
    listeners_[static_cast<size_t>(i)].push_back(&listener);
  }
  if (!range.empty()) return;
  LockGuard guard(homes_.front().partition->lock());
  idle_listeners_.push_back(&listener);
}

void Collection::RemoveListener(EmissionListener& listener) {
  for (size_t i = 0; i < homes_.size(); ++i) {
    LockGuard guard(homes_[i].partition->lock());
    std::erase(listeners_[i], &listener);
  }
  LockGuard guard(homes_.front().partition->lock());
  std::erase(idle_listeners_, &listener);
}

Ledger Collection::ledger() {
  Ledger sum;
  for (const Home& home : homes_) {
    LockGuard guard(home.partition->lock());
    if (home.book != nullptr) sum += home.book->ledger();
  }
  return sum;
}

Sizes Collection::sizes() {
  Sizes sum;
  for (const Home& home : homes_) {
    LockGuard guard(home.partition->lock());
    if (home.book != nullptr) sum += home.book->sizes();
  }
  return sum;
}

void Collection::CheckWhole() {
  for (const Home& home : homes_) {
    LockGuard guard(home.partition->lock());
    if (home.book != nullptr) home.book->CheckWhole();
  }
}

}  // namespace pleat::inline v0_1
