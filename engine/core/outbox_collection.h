// An OutboxCollection is a collection of any kind whose books emit: it hands their emissions out, in
// one order over the partitions, and tells listeners. AnyCollection is the handle of one.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <pleat/emission.h>
#include <pleat/stats.h>

#include "engine/core/collection.h"
#include "engine/outbox/outbox_book.h"

namespace pleat::inline v0_1 {

class OutboxCollection : public Collection {
 public:
  OutboxCollection(EngineCore& engine, std::string_view name)
      : Collection(engine, name), filled_((home_count() + 63) / 64), listeners_(home_count()) {
    for (size_t i = 0; i < listeners_.size(); ++i) {
      listeners_[i].filled = &filled_[i / 64];
      listeners_[i].bit = uint64_t{1} << i % 64;
    }
  }

  // Whether no deadline of the engine has come, and nothing waits in any partition, or in these: a
  // poll that finds so needs no lock. The order matters: whoever applies deadlines fills the
  // outboxes, and then moves the next deadline; who reads that first cannot miss both.
  // `engine` is this one's, which callers have at hand.
  static bool NothingIsDue(const EngineCore& engine) noexcept {
    return engine.NextDeadline() > engine.timeline().now();
  }
  bool IsEmpty(const EngineCore& engine) const noexcept {
    return NothingIsDue(engine) &&
           std::ranges::all_of(filled_, [](const std::atomic<uint64_t>& filled) {
             return filled.load(std::memory_order_acquire) == 0;
           });
  }
  bool IsEmpty(PartitionRange of) const noexcept { return NothingIsDue(engine()) && !MayHave(of); }
  [[gnu::noinline]] size_t Pop(size_t max, PartitionRange from, AnyCollection::Take take);
  size_t Lease(size_t max, Duration visibility_timeout, PartitionRange from, Outbox::Borrow borrow);
  LeaseOutcome Ack(const LeaseToken& token);
  size_t Ack(std::span<const LeaseToken> tokens, std::span<LeaseOutcome> outcomes);
  LeaseOutcome AckAndTake(const LeaseToken& token, AnyCollection::Take take);
  LeaseOutcome Nack(const LeaseToken& token, Duration delay);
  Extension Extend(const LeaseToken& token, Duration visibility_timeout);
  size_t EndLeases(PartitionRange of);
  bool ScanDeadLetters(ScanCursor& cursor, size_t max, Outbox::SeeDead see);
  LeaseOutcome RetryDeadLetter(const LeaseToken& token);
  LeaseOutcome DropDeadLetter(const LeaseToken& token);

  bool emits() const noexcept final { return true; }
  // What a folder tells, for kinds that tell no more.
  std::vector<Statistic> Statistics() override;
  std::vector<uint64_t> CountEntries() const override;
  // Ends what is open, where something other than time can; the latter pops all that waits, and what
  // ends as it ends.
  void CloseAll();
  size_t CloseAndPop(AnyCollection::Take take);
  // Whether each partition, when looked at, had nothing that is yet to be popped or acked.
  bool IsDrained();

  // Appends up to `max` records of the partition's trace from `next` on to `out`, moves `next` behind
  // them, and adds those that were gone to `lost`. Returns how many there are behind.
  uint64_t CopyTrace(size_t partition, size_t max, uint64_t& next, uint64_t& lost,
                     std::vector<TraceRecord>& out);

  void AddListener(EmissionListener& listener, PartitionRange of);
  void RemoveListener(EmissionListener& listener);

  Ledger ledger();
  Sizes sizes();
  uint64_t deaths();

 protected:
  const Outbox::Listeners& listeners(int partition) const noexcept {
    return listeners_[static_cast<size_t>(partition)];
  }
  // Has all books begin to end what is open, with one time and position: time must not move between
  // one partition and the next, or what an event closed at a later time would lie ahead of us.
  // REQUIRES: all partitions are locked, until FinishClosing() of each book.
  virtual void BeginClosing(EngineTime /*now*/, LeaseTime /*leases*/) {}

 private:
  class Head;
  class Heads;

  static OutboxBook& BookIn(const Home& home) noexcept {
    return static_cast<OutboxBook&>(*home.book);
  }
  void TellOfClose(int partition) override;
  bool MayHave(PartitionRange of) const noexcept;
  size_t PopOne(size_t max, const Home& home, AnyCollection::Take take);
  void FinishClosing(EngineTime now, LeaseTime leases);
  void PassOn(bool passes_on) noexcept;
  struct Round;
  template <class HandOut>
  void HandOutLocked(Round& round, const HandOut& hand_out);
  size_t PopLocked(EngineTime now, LeaseTime leases, AnyCollection::Take take);
  template <class HandOut, class End>
  size_t HandOutRange(size_t max, PartitionRange range, bool lends, const HandOut& hand_out,
                      const End& end);
  bool IsOurs(const LeaseToken& token) const noexcept {
    return token.epoch == engine().epoch() && token.collection == number() &&
           token.partition < home_count();
  }
  size_t AckPiece(std::span<const LeaseToken> tokens, LeaseOutcome* outcomes);
  template <class Change>
  LeaseOutcome WithToken(const LeaseToken& token, const Change& change);

  std::vector<std::atomic<uint64_t>> filled_;  // a bit for each partition; see Outbox::Listeners
  std::vector<Outbox::Listeners> listeners_;   // by partition, whose lock guards them
  // Listeners of an empty range, who are told of Close() only. Guarded by the first partition's
  // lock.
  std::vector<EmissionListener*> idle_listeners_;
};

}  // namespace pleat::inline v0_1
