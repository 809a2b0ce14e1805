// AnyFolder is a Folder without the types: state and event are bytes that a table of functions knows
// how to handle. Folder<Event, State> wraps it; adapters whose state is laid out at run time (the
// JSON one, a language binding) use it directly. If you have a struct, you want folder.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <pleat/batch.h>
#include <pleat/engine.h>
#include <pleat/export.h>
#include <pleat/lease.h>
#include <pleat/options.h>
#include <pleat/outcome.h>
#include <pleat/partition.h>
#include <pleat/state_ops.h>
#include <pleat/stats.h>
#include <pleat/time.h>

namespace pleat::inline v0_1 {

class FolderCore;
struct GapStats;

// Names an emission: no two of one collection in one Engine object share it, also when a key comes
// back. Nothing is stored yet, so the next process counts from 0 again.
struct EmissionId {
  uint32_t partition = 0;
  uint64_t generation = 0;  // counts the partition's emissions, from 0

  friend bool operator==(const EmissionId&, const EmissionId&) = default;
};

// What is known of a group beside its key and state.
struct GroupInfo {
  uint64_t count = 0;  // events folded, the opening one included
  EngineTime first;    // smallest stamp
  EngineTime last;     // largest stamp
};

// An emission on its way out. The views are valid during the call that hands it over.
struct ClosedGroup : GroupInfo {
  std::string_view key;
  void* state = nullptr;  // relocate or destroy it: nobody else will
  EngineTime closed;  // the deadline it closed at; engine time for what an event or a call closed
  Reason reason = Reason::kQuiet;
  EmissionId id;
  uint32_t revision = 1;  // counts the emissions of one group, from 1
  bool partial = false;   // the group went on: kLeading, kPartial
  // Of a correction: the key's last emission before it, unless that is forgotten.
  std::optional<EmissionId> corrects = std::nullopt;
};

// Where a scan over the open groups stands; a new one stands at the beginning, and so does one before partition 0.
struct ScanCursor {
  int partition = 0;
  uint32_t place = 0;
};

// Told that there may be something to pop or to lease. What waits for emissions, such as an adapter to some
// event loop, derives from it.
class EmissionListener {
 public:
  // Called under a partition's lock, once for each emission, by whichever thread has brought it about: set a
  // flag, wake a loop, and return. A call on an engine from there does nothing (see Engine); throwing terminates.
  virtual void MayHaveEmissions() noexcept = 0;

 protected:
  ~EmissionListener() = default;
};

// Thread safety: as Engine; any thread, any time, also on one object. Cheap to copy: it refers to a
// collection of an engine. When that is closed or gone, every call answers so (kStopped, kClosed, or nothing).
class PLEAT_EXPORT AnyFolder {
 public:
  using Take = absl::FunctionRef<void(const ClosedGroup&)>;
  using Borrow = absl::FunctionRef<void(const ClosedGroup&, const Delivery&)>;
  using SeeDead = absl::FunctionRef<void(const ClosedGroup&, const Death&)>;
  using Look = absl::FunctionRef<void(const GroupInfo&, const void* state)>;
  using See = absl::FunctionRef<void(std::string_view key, const GroupInfo&, const void* state)>;

  // Creates the collection `name` in the engine. `context_owner` is kept until it is closed and the last handle is gone;
  // without one, `ops.context` must outlive the engine.
  // Errors: kInvalidArgument for an option out of range, which the message names; kAlreadyExists if
  // the engine has a collection of this name; kFailedPrecondition if the engine is gone (`engine` is a
  // Handle() of it), or from inside a fold function.
  static absl::StatusOr<AnyFolder> Open(Engine& engine, std::string_view name,
                                        const FolderOptions& options, const StateOps& ops,
                                        std::shared_ptr<void> context_owner = nullptr);

  // Prints why the collection `name` was not opened, and ends the program: for constructors.
  [[noreturn]] static void OpenFailed(std::string_view name, const absl::Status& why) noexcept;

  // See Folder for the meaning of all of these. `look` and `take` run under partitions' locks: copy or
  // move the state out and return. A call on an engine from them does nothing (see Engine); throwing terminates.
  FoldOutcome Fold(std::string_view key, const void* event, EngineTime at) noexcept;
  FoldCounts FoldBatch(const AnyBatch& batch, std::span<FoldOutcome> outcomes,
                       PartitionRange only = {}) noexcept;
  bool Flush(std::string_view key) noexcept;
  bool Cancel(std::string_view key) noexcept;
  ControlOutcome Flush(std::string_view key, EngineTime at) noexcept;
  ControlOutcome Cancel(std::string_view key, EngineTime at) noexcept;
  bool Peek(std::string_view key, Look look) const noexcept;
  bool Scan(ScanCursor& cursor, size_t max, See see) const noexcept;
  void CloseAll() noexcept;
  void Close() noexcept;

  size_t Pop(size_t max, PartitionRange from, Take take) noexcept;

  // `borrow` must leave the state as it is; and so must `see`.
  size_t Lease(size_t max, Duration ttl, LeaseTime now, PartitionRange from,
               Borrow borrow) noexcept;
  LeaseOutcome Ack(const LeaseToken& token) noexcept;
  LeaseOutcome Nack(const LeaseToken& token) noexcept;
  LeaseOutcome Nack(const LeaseToken& token, Duration delay, LeaseTime now) noexcept;
  Extension Extend(const LeaseToken& token, Duration ttl, LeaseTime now) noexcept;
  bool ScanDeadLetters(ScanCursor& cursor, size_t max, SeeDead see) const noexcept;
  LeaseOutcome RetryDeadLetter(const LeaseToken& token) noexcept;
  LeaseOutcome DropDeadLetter(const LeaseToken& token) noexcept;

  // From its return on `listener` is told of emissions of these partitions; what was there before, it has to
  // look for itself. From the return of Remove on it is not called any more. Remove it before it is gone.
  void AddListener(EmissionListener& listener, PartitionRange of) noexcept;
  void RemoveListener(EmissionListener& listener) noexcept;

  Ledger ledger() const noexcept;
  Sizes sizes() const noexcept;

  // What was measured so far, of each partition at one instant; null if MeasureOptions::gap_stats does not ask for
  // it. Some hundred microseconds.
  std::unique_ptr<GapStats> gap_stats() const noexcept;
  const StateOps& ops() const noexcept;

  // Whether it was closed, or the engine is gone.
  bool closed() const noexcept;

  // The engine's own, for whoever has only the folder.
  void Advance(EngineTime now) noexcept;
  EngineTime now() const noexcept;

  // Moves LeaseTime to `now`, and takes nothing back yet. O(1).
  void MoveLeaseTime(LeaseTime now) noexcept;
  int partitions() const noexcept;

 private:
  AnyFolder(std::shared_ptr<EngineCore> engine, std::shared_ptr<FolderCore> core);

  std::shared_ptr<EngineCore> engine_;  // which the core uses
  std::shared_ptr<FolderCore> core_;
};

}  // namespace pleat::inline v0_1
