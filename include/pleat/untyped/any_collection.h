// AnyCollection is a handle of a collection of any kind that emits, without its types, that hands
// out emissions, ends leases and tells listeners. AnyFolder is one. Adapters that only consume,
// such as the Consumer of asio.h, need no more.
//
//   collection.Pop(100, {}, [](std::span<const pleat::ClosedGroup> groups) { ... });
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include <absl/functional/function_ref.h>
#include <pleat/batch.h>
#include <pleat/detail/export.h>
#include <pleat/emission.h>
#include <pleat/outcome.h>
#include <pleat/stats.h>
#include <pleat/time.h>

namespace pleat::inline v0_1 {

class EngineCore;
class OutboxCollection;
class RollupCounter;

// Told that there may be something to pop or to lease, and of dead letters. Adapters to event loops
// derive from it.
class EmissionListener {
 public:
  // Called under a partition's lock, once for one or several new emissions, by the thread that has
  // brought them about: set a flag, wake a loop, and return. A call on an engine from there does
  // nothing (see Engine). Throwing ends the program.
  virtual void MayHaveEmissions() noexcept = 0;

  // Called likewise when a partition has, or may have, nothing more to deliver: all its emissions
  // were popped, acked, dropped, are dead letters or wait behind one; and when the collection is
  // closed.
  virtual void MayBeDrained() noexcept {}

  // Called likewise when one or several emissions have become dead letters, which deaths() counts
  // by then; and when the collection is closed. Look for the letters once the call is over.
  virtual void MayHaveDeadLetters() noexcept {}

 protected:
  ~EmissionListener() = default;
};

// Thread safety: as Engine; any thread, any time, also on one object.
// Ownership: a handle, cheap to copy. When the collection is closed or its engine is gone, every
// call answers so (kStopped, kClosed, or nothing).
class PLEAT_EXPORT AnyCollection {
 public:
  using Take = absl::FunctionRef<void(std::span<const ClosedGroup>)>;
  using Borrow = absl::FunctionRef<void(const ClosedGroup&, const Delivery&)>;
  using SeeDead = absl::FunctionRef<void(const ClosedGroup&, const Death&)>;

  // For an engine's own collections and tests of new kinds: `collection` was added to `engine`.
  AnyCollection(std::shared_ptr<EngineCore> engine, std::shared_ptr<OutboxCollection> collection);

  // See EmissionSource for the meaning of these. `take` gets one or several emissions at a time;
  // that of AckAndTake() gets the one whose lease the call ends. `take`, `borrow` and `see` run
  // under partitions' locks: copy or move the state out and return; `borrow` and `see` leave the
  // state as it is. A call on an engine from them does nothing (see Engine). Throwing ends the
  // program.
  size_t Pop(size_t max, PartitionRange from, Take take) noexcept;
  size_t Lease(size_t max, Duration visibility_timeout, LeaseTime now, PartitionRange from,
               Borrow borrow) noexcept;
  LeaseOutcome Ack(const LeaseToken& token) noexcept;
  size_t Ack(std::span<const LeaseToken> tokens, std::span<LeaseOutcome> outcomes) noexcept;
  LeaseOutcome AckAndTake(const LeaseToken& token, Take take) noexcept;
  LeaseOutcome Nack(const LeaseToken& token) noexcept;
  LeaseOutcome Nack(const LeaseToken& token, Duration delay, LeaseTime now) noexcept;
  Extension Extend(const LeaseToken& token, Duration visibility_timeout, LeaseTime now) noexcept;
  size_t EndLeases(PartitionRange of) noexcept;
  bool ScanDeadLetters(ScanCursor& cursor, size_t max, SeeDead see) const noexcept;
  LeaseOutcome RetryDeadLetter(const LeaseToken& token) noexcept;
  LeaseOutcome DropDeadLetter(const LeaseToken& token) noexcept;
  uint64_t deaths() const noexcept;

  // From its return on `listener` is told of emissions of the partitions `of`; emissions that were
  // there before, the listener has to look for itself. From the return of RemoveListener() on it is
  // not called any more.
  // REQUIRES: a listener is removed before its end.
  void AddListener(EmissionListener& listener, PartitionRange of) noexcept;
  void RemoveListener(EmissionListener& listener) noexcept;

  Ledger ledger() const noexcept;
  Sizes sizes() const noexcept;
  size_t held_bytes() const noexcept;  // see Folder::held_bytes()
  std::string_view name() const noexcept;

  // The end of input: closes what is open, so that it becomes emissions. See Folder::CloseAll() and
  // RollupCounter::CloseAll().
  void CloseAll() noexcept;

  // Ends the collection: drops all that it holds, and frees the name.
  void Close() noexcept;

  // Whether the collection was closed, or the engine is gone.
  bool closed() const noexcept;

  // The engine's own, for callers that have only the collection.
  void Advance(EngineTime now) noexcept;
  EngineTime now() const noexcept;
  int partitions() const noexcept;
  // Moves LeaseTime to `now`, and takes nothing back yet. O(1).
  void MoveLeaseTime(LeaseTime now) noexcept;

 protected:
  OutboxCollection& collection() const noexcept { return *collection_; }
  const std::shared_ptr<EngineCore>& shared_engine() const noexcept { return engine_; }
  const std::shared_ptr<OutboxCollection>& shared_collection() const noexcept {
    return collection_;
  }

 private:
  friend class Drain;
  friend class RollupCounter;

  std::shared_ptr<EngineCore> engine_;  // which the collection uses
  std::shared_ptr<OutboxCollection> collection_;
};

}  // namespace pleat::inline v0_1
