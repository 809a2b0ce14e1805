// An OutboxCollection is a collection of any kind whose books emit: it hands their emissions out, in
// one order over the partitions, and tells listeners. AnyCollection is the handle of one.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include <pleat/lease.h>
#include <pleat/stats.h>

#include "engine/core/collection.h"
#include "engine/outbox/outbox_book.h"

namespace pleat::inline v0_1 {

class OutboxCollection : public Collection {
 public:
  OutboxCollection(EngineCore& engine, std::string_view name)
      : Collection(engine, name), listeners_(home_count()) {}

  size_t Pop(size_t max, PartitionRange from, Outbox::Take take);
  size_t Lease(size_t max, Duration ttl, PartitionRange from, Outbox::Borrow borrow);
  LeaseOutcome Ack(const LeaseToken& token);
  LeaseOutcome Nack(const LeaseToken& token, Duration delay);
  Extension Extend(const LeaseToken& token, Duration ttl);
  size_t EndLeases(PartitionRange of);
  bool ScanDeadLetters(ScanCursor& cursor, size_t max, Outbox::SeeDead see);
  LeaseOutcome RetryDeadLetter(const LeaseToken& token);
  LeaseOutcome DropDeadLetter(const LeaseToken& token);

  void AddListener(EmissionListener& listener, PartitionRange of);
  void RemoveListener(EmissionListener& listener);

  Ledger ledger();
  Sizes sizes();

 protected:
  const Outbox::Listeners& listeners(int partition) const noexcept {
    return listeners_[static_cast<size_t>(partition)];
  }

 private:
  class Head;
  class Heads;

  static OutboxBook& BookIn(const Home& home) noexcept {
    return static_cast<OutboxBook&>(*home.book);
  }
  void TellOfClose(int partition) override;
  template <class HandOut>
  size_t HandOutRange(size_t max, PartitionRange from, bool lends, const HandOut& hand_out);
  template <class Change>
  LeaseOutcome WithToken(const LeaseToken& token, const Change& change);

  std::vector<Outbox::Listeners> listeners_;  // by partition, whose lock guards them
  // Listeners of an empty range, who are told of Close() only. Guarded by the first partition's
  // lock.
  Outbox::Listeners idle_listeners_;
};

}  // namespace pleat::inline v0_1
