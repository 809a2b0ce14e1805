// AnyCollection is a handle of a collection of any kind that emits, without its types, that hands
// out emissions, ends leases and tells listeners. AnyFolder is one. Adapters that only consume,
// such as the Consumer of asio.h, need no more.
//
//   collection.Pop(100, {}, [](std::span<const pleat::ClosedGroup> groups) { ... });
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include <absl/functional/function_ref.h>
#include <pleat/export.h>
#include <pleat/lease.h>
#include <pleat/outcome.h>
#include <pleat/partition.h>
#include <pleat/stats.h>
#include <pleat/time.h>

namespace pleat::inline v0_1 {

class EngineCore;
class OutboxCollection;

// Names an emission. No two emissions of one collection in one Engine object have the same id, also
// when a key comes back. In a process that restores a snapshot they go on, further ahead; else in
// the next process, and in a collection that is opened again under the same name, they begin at 0.
struct EmissionId {
  uint32_t partition = 0;

  // Counts the emissions of the partition, from 0.
  uint64_t generation = 0;

  friend bool operator==(const EmissionId&, const EmissionId&) = default;
};

// The counts and times of a group.
struct GroupInfo {
  // How many events were folded, at least 1: the opening one is included.
  uint64_t count = 0;

  // The smallest and the largest stamp.
  EngineTime first;
  EngineTime last;
};

// What an emission says beside its key and its state. The groups of a rollup counter are windows;
// rollup.h has the meaning of the members there.
struct EmissionInfo : GroupInfo {
  // When the group closed: the deadline itself if time did, however late anybody looked; the
  // engine's time if an event or a call did. Of a partial: the instant at which the partial was
  // due.
  EngineTime closed;

  // Why there is an emission; and its name, which repeats with each delivery and with no other
  // emission of the collection.
  Reason reason = Reason::kQuiet;

  // Whether the group went on: reason kLeading or kPartial.
  bool partial = false;

  // Counts the emissions of one group, from 1. Above 1 only with edges or partials.
  uint32_t revision = 1;
  EmissionId id;

  // Of a correction: the key's last emission before it, if that is still known.
  std::optional<EmissionId> corrects = std::nullopt;
};

// An emission on its way out. The views are valid during the call that hands it over.
struct ClosedGroup : EmissionInfo {
  std::string_view key;

  // On its way out for good: move or destroy it, nobody else will. Lent or only shown: leave it.
  void* state = nullptr;
};

// Where a scan stands. A new one stands at the beginning, and so does one before partition 0.
struct ScanCursor {
  int partition = 0;
  uint32_t place = 0;
};

// Told that there may be something to pop or to lease. Adapters to event loops derive from it.
class EmissionListener {
 public:
  // Called under a partition's lock, once for one or several new emissions, by the thread that has
  // brought them about: set a flag, wake a loop, and return. A call on an engine from there does
  // nothing (see Engine). Throwing ends the program.
  virtual void MayHaveEmissions() noexcept = 0;

  // Called likewise when a partition has nothing more to deliver: all its emissions were popped,
  // acked, dropped, or are dead letters; and when the collection is closed.
  virtual void MayBeDrained() noexcept {}

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

  // From its return on `listener` is told of emissions of the partitions `of`; emissions that were
  // there before, the listener has to look for itself. From the return of RemoveListener() on it is
  // not called any more.
  // REQUIRES: a listener is removed before its end.
  void AddListener(EmissionListener& listener, PartitionRange of) noexcept;
  void RemoveListener(EmissionListener& listener) noexcept;

  Ledger ledger() const noexcept;
  Sizes sizes() const noexcept;
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

 private:
  friend class Drain;

  std::shared_ptr<EngineCore> engine_;  // which the collection uses
  std::shared_ptr<OutboxCollection> collection_;
};

}  // namespace pleat::inline v0_1
