// A KeyedCollection takes events by key, one by one or in batches, into books of one type. A folder
// is one; a collection of another kind derives from it with a book of its own.
//
// A BookT is an OutboxBook with these members, of which `at` is the Instant of the operation:
//
//   using Guess = ...;                              the find of a look ahead
//   void PrefetchIndex(uint64_t hash) const;        the three steps of a look ahead, each of which
//   Guess PrefetchGroup(uint64_t hash) const;       fetches for the next one
//   void PrefetchLongKey(Guess) const;
//   uint32_t Find(const EventRef&) const;           the entry of the event's key
//   uint32_t Find(const EventRef&, Guess) const;
//   bool FoldPlainly(const EventRef&, uint32_t entry, const Instant& at);
//                                                   takes the event if that is easy and needs no
//                                                   position; if not, changes nothing
//   FoldOutcome FoldSlowly(const EventRef&, uint32_t entry, const Instant& at);
//                                                   takes any event
//   FoldOutcome Refuse(FoldOutcome why, const Instant& at);
//                                                   counts an event that goes no further
#pragma once

#include <string_view>

#include "engine/core/batch_piece.h"
#include "engine/core/collection.h"
#include "engine/table/event_ref.h"

namespace pleat::inline v0_1 {

template <class BookT>
class KeyedCollection : public Collection {
 public:
  using BookType = BookT;
  using Collection::Collection;
  using Collection::engine;

  FoldOutcome Fold(std::string_view key, const void* event, EngineTime at) {
    if (key.size() > kKeyBytesMax) [[unlikely]]
      return RefuseTooLong();
    const PackedKey packed(key);
    Home& home = HomeOf(packed);
    const EventRef ref{packed, HashOf(packed), event, Clamp(at)};
    Timeline& timeline = engine().timeline();
    LockGuard guard(home.partition->lock());
    if (home.partition->stopped()) return FoldOutcome::kStopped;
    BookT* const book = Typed(BookFor(home));
    if (book == nullptr) return FoldOutcome::kStopped;
    EngineTime now;
    if (!timeline.Observe(ref.at, now)) return Refuse(home, FoldOutcome::kFuture);
    const LeaseTime leases = timeline.lease_now();
    const uint32_t number = book->Find(ref);
    // An event that only folds takes no position: threads do not meet at that counter.
    const bool folded = home.partition->DoOneOfMany(
        *book, now, leases, 0,
        [&](const Instant& instant) { return book->FoldPlainly(ref, number, instant); });
    if (folded) [[likely]]
      return FoldOutcome::kFolded;
    return home.partition->Do(
        *book, now, leases, timeline.TakePositions(1),
        [&](const Instant& instant) { return book->FoldSlowly(ref, number, instant); });
  }

  FoldCounts FoldBatch(const AnyBatch& batch, FoldOutcome* outcomes, PartitionRange only) {
    // Fewer are folded one by one: a piece costs something before its first event.
    only = Clip(only);
    const bool all = only == Clip({});
    const size_t piece_from = all ? 4 : 1;
    FoldCounts counts;
    AnyBatch rest = batch;
    while (rest.size >= piece_from) {
      AnyBatch piece = rest;
      piece.size = std::min(rest.size, BatchPlan::kEventsMax);
      BatchPiece<KeyedCollection>(*this, piece, outcomes, only).Fold(counts);
      rest.RemovePrefix(piece.size);
      if (outcomes != nullptr) outcomes += piece.size;
    }
    for (size_t i = 0; i < rest.size; ++i) {
      const FoldOutcome outcome = Fold(rest.KeyOf(i), rest.EventOf(i), rest.AtOf(i));
      counts.Add(outcome);
      if (outcomes != nullptr) outcomes[i] = outcome;
    }
    return counts;
  }

  // For a batch: the book of a partition, or null once we are closed. REQUIRES: its lock is held.
  BookT* BookOf(size_t partition) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return Typed(BookFor(home(partition)));
  }

 protected:
  using typename Collection::Home;

  static BookT* Typed(OutboxBook* book) noexcept { return static_cast<BookT*>(book); }

 private:
  FoldOutcome Refuse(const Home& home, FoldOutcome why)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(home.partition->lock()) {
    return this->Do(home, [&](const Instant& at) { return Typed(home.book)->Refuse(why, at); });
  }

  // A key that is too long is not worth hashing; any partition can count it.
  FoldOutcome RefuseTooLong() {
    Home& first = home(0);
    LockGuard guard(first.partition->lock());
    if (first.partition->stopped() || BookFor(first) == nullptr) return FoldOutcome::kStopped;
    return Refuse(first, FoldOutcome::kOverLimit);
  }
};

}  // namespace pleat::inline v0_1
