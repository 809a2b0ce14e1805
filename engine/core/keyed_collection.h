// A KeyedCollection takes events by key, one by one or in batches, into books of one type, which is
// a KeyedBook. A folder is one; a collection of another kind derives from it, with its own book.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string_view>

#include <pleat/batch.h>

#include "engine/base/inside.h"
#include "engine/core/batch_piece.h"
#include "engine/core/outbox_collection.h"
#include "engine/table/keyed_book.h"

namespace pleat::inline v0_1 {

// `BaseT`: Collection, or an OutboxCollection if the books emit.
template <KeyedBook BookT, class BaseT = OutboxCollection>
class KeyedCollection : public BaseT {
 public:
  using BookType = BookT;
  using Outcome = typename BookT::Outcome;
  using Counts = typename BookT::Counts;
  using BaseT::BaseT;
  using BaseT::engine;

  // The calls of handles, which refuse to be made inside another call.
  Outcome Fold(std::string_view key, const void* event, EngineTime at) {
    return Guarded([&] { return FoldOne(key, event, at); });
  }
  // `verb`: what the handle calls it.
  Counts FoldBatch(std::string_view verb, const AnyBatch& batch, std::span<Outcome> outcomes,
                   PartitionRange only, std::optional<SourcePosition> place) {
    if (!outcomes.empty()) this->CheckRoom(verb, batch.size, outcomes.size());
    Outcome* const first = outcomes.empty() ? nullptr : outcomes.data();
    const Call call;
    if (!call.nested()) return FoldPieces(batch, first, only, place);
    if (first != nullptr) std::fill_n(first, batch.size, Outcome::kWouldDeadlock);
    Counts counts;
    counts.Add(Outcome::kWouldDeadlock, batch.size);
    return counts;
  }

  // Folds an event, and then calls `look(book, event, now)` under the same lock, unless there is no
  // book for the event.
  template <class Look>
  [[gnu::always_inline]] Outcome FoldAnd(std::string_view key, const void* event, EngineTime at,
                                         const Look& look) {
    if (key.size() > kKeyBytesMax || BookT::IsTooLong(event)) [[unlikely]]
      return RefuseTooLong();
    const bool is_short = key.size() <= PackedKey::kInlineBytesMax;
    const PackedKey packed = is_short ? PackedKey::Short(key) : PackedKey(key);
    const uint64_t hash =
        is_short ? packed.ShortHashWith(engine().hash_key()) : this->HashOf(packed);
    const EventRef ref{packed, hash, event, Clamp(at)};
    Home& home = this->HomeOf(packed);
    Timeline& timeline = engine().timeline();
    LockGuard guard(home.partition->lock());
    const Partition::Copied* const copied = home.partition->CopyFirstUnlessStopped();
    if (copied == nullptr) return Outcome::kStopped;
    BookT* const book = Typed(this->BookFor(home));
    if (book == nullptr) return Outcome::kStopped;
    EngineTime now;
    if (!timeline.Observe(ref.at, now)) {
      const Outcome refused = Refuse(home, Outcome::kFuture);
      look(*book, ref, now);
      return refused;
    }
    const LeaseTime leases = timeline.lease_now();
    const auto entry = book->Find(ref);
    // An event that only folds takes no position: threads do not meet at that counter.
    uint64_t position = BookT::kPlainTakesPosition ? timeline.TakePositions(1) : 0;
    const bool folded = home.partition->DoOneOfMany(
        *copied, *book, now, leases, position, [&](const Instant& instant) {
          const bool plain = book->FoldPlainly(ref, entry, instant);
          book->Settle(instant);
          return plain;
        });
    if (folded) [[likely]] {
      look(*book, ref, now);
      return BookT::kPlain;
    }
    if (!BookT::kPlainTakesPosition) position = timeline.TakePositions(1);
    const Outcome outcome = home.partition->Do(
        *copied, *book, now, leases, position,
        [&](const Instant& instant) { return book->FoldSlowly(ref, entry, instant); });
    look(*book, ref, now);
    return outcome;
  }

  // For a batch: the book of a partition, or null once we are closed. REQUIRES: its lock is held.
  BookT* BookOf(size_t partition) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return Typed(this->BookFor(this->home(partition)));
  }

 protected:
  using typename BaseT::Home;

  static BookT* Typed(Book* book) noexcept { return static_cast<BookT*>(book); }

  Outcome RefuseTooLong() { return this->template CountTooLong<BookT>(); }

 private:
  Outcome FoldOne(std::string_view key, const void* event, EngineTime at) {
    return FoldAnd(key, event, at, [](BookT&, const EventRef&, EngineTime) {});
  }

  // A batch goes through the engine's gate piece by piece, each with its position in the source: a
  // snapshot has all of a piece, or nothing.
  Counts FoldPieces(const AnyBatch& batch, Outcome* outcomes, PartitionRange only,
                    std::optional<SourcePosition> place) {
    only = this->Clip(only);
    Counts counts;
    for (AnyBatch rest = batch; rest.size > 0;) {
      AnyBatch piece = rest;
      piece.size = std::min(rest.size, BatchPlan::kEventsMax);
      const Gate::Pass pass(engine().gate());
      if (place) {
        FoldAtPlace(piece, outcomes, only, *place, counts);
        place->offset += piece.size;
      } else {
        FoldPiece(piece, outcomes, only, counts);
      }
      rest.RemovePrefix(piece.size);
      if (outcomes != nullptr) outcomes += piece.size;
    }
    return counts;
  }

  // Up to kEventsMax events.
  void FoldPiece(const AnyBatch& piece, Outcome* outcomes, PartitionRange only, Counts& counts) {
    // A BatchPiece has a fixed cost, so fewer than four events are folded one by one; not in a range
    // of partitions, where the piece finds out which events are in it.
    const size_t piece_from = only == this->Clip({}) ? 4 : 1;
    if (piece.size >= piece_from) {
      return BatchPiece<KeyedCollection>(*this, piece, outcomes, only).Fold(counts);
    }
    for (size_t i = 0; i < piece.size; ++i) {
      const Outcome outcome = FoldOne(piece.KeyOf(i), piece.EventOf(i), piece.AtOf(i));
      counts.Add(outcome);
      if (outcomes != nullptr) outcomes[i] = outcome;
    }
  }

  // The same with a position in the source, which moves behind the piece unless the engine was stopped.
  void FoldAtPlace(const AnyBatch& piece, Outcome* outcomes, PartitionRange only,
                   const SourcePosition& place, Counts& counts) {
    SourcePositions& places = this->source_positions();
    if (place.offset >= places.HighestOf(place.source, only)) [[likely]] {
      FoldPiece(piece, outcomes, only, counts);
    } else {
      for (size_t i = 0; i < piece.size; ++i) {
        const Outcome outcome = FoldUnlessTaken(piece, i, only, place);
        counts.Add(outcome);
        if (outcomes != nullptr) outcomes[i] = outcome;
      }
    }
    if (!engine().stopped()) places.Advance(place.source, only, place.offset + piece.size);
  }

  // Event `i` of a piece, some of which may have been taken before: each partition knows how far.
  Outcome FoldUnlessTaken(const AnyBatch& piece, size_t i, PartitionRange only,
                          const SourcePosition& place) {
    const std::string_view key = piece.KeyOf(i);
    const size_t partition =
        key.size() > kKeyBytesMax ? 0 : engine().IndexOfPartition(PackedKey(key));
    if (!only.Contains(static_cast<int>(partition))) {
      AnyBatch one = piece;
      one.RemovePrefix(i);
      one.size = 1;
      Counts moves_time;
      Outcome outcome = Outcome::kElsewhere;
      BatchPiece<KeyedCollection>(*this, one, &outcome, only).Fold(moves_time);
      return outcome;
    }
    if (place.offset + i < this->source_positions().Of(place.source, partition)) {
      return Outcome::kReplayed;
    }
    return FoldOne(key, piece.EventOf(i), piece.AtOf(i));
  }

  Outcome Refuse(const Home& home, Outcome why)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(home.partition->lock()) {
    return this->Do(home, [&](const Instant& at) { return Typed(home.book)->Refuse(why, at); });
  }
};

}  // namespace pleat::inline v0_1
