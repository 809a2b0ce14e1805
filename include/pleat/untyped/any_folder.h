// AnyFolder is a Folder without the types: states and events are bytes, and StateOps says how to
// handle them. Folder<Event, State> wraps it. Adapters whose state is laid out at run time, such as
// the JSON one or a language binding, use it directly. If you have a struct, you want folder.h.
//
//   auto folder = *pleat::AnyFolder::Open(*engine, "counts", options, ops);
//   folder.Fold(key, &event, at);
//   folder.Pop(100, {}, [&](std::span<const pleat::ClosedGroup> groups) {
//     for (const pleat::ClosedGroup& group : groups) {
//       Publish(group.key, group.state);
//       ops.destroy(ops.context, group.state);
//     }
//   });
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <pleat/batch.h>
#include <pleat/detail/export.h>
#include <pleat/emission.h>
#include <pleat/engine.h>
#include <pleat/options.h>
#include <pleat/outcome.h>
#include <pleat/stats.h>
#include <pleat/time.h>
#include <pleat/untyped/any_batch.h>
#include <pleat/untyped/any_collection.h>
#include <pleat/untyped/state_ops.h>

namespace pleat::inline v0_1 {

class AnyIntake;
class FolderCore;
class IntakeTarget;
class TraceReader;

// Thread safety: any thread may call any method at any time, also on one object.
// Ownership: a handle, cheap to copy. When the collection is closed or its engine is gone, calls
// answer kStopped or kClosed, or do nothing.
class PLEAT_EXPORT AnyFolder : public AnyCollection {
 public:
  using Look = absl::FunctionRef<void(const GroupInfo&, const void* state)>;
  using See = absl::FunctionRef<void(std::string_view key, const GroupInfo&, const void* state)>;

  // Creates the collection `name` in the engine. `context_owner` is kept until it is closed and the
  // last handle is gone; without one, `ops.context` must outlive the engine.
  // Errors: kInvalidArgument for an option out of range, which the message names; kAlreadyExists if
  // the engine has a collection of this name; kFailedPrecondition if the engine is gone (`engine`
  // is a Handle() of it), or from inside a fold function.
  static absl::StatusOr<AnyFolder> Open(Engine& engine, std::string_view name,
                                        const FolderOptions& options, const StateOps& ops,
                                        std::shared_ptr<void> context_owner = nullptr);

  // Prints why the collection `name` was not opened, and ends the program: for constructors.
  [[noreturn]] static void OpenFailed(std::string_view name, const absl::Status& why) noexcept;

  // See Folder for the meaning of all of these. `look` and `see` run under a partition's lock: copy
  // the state and return. A call on an engine from them does nothing (see Engine); throwing ends
  // the program.
  FoldOutcome Fold(std::string_view key, const void* event, EngineTime at) noexcept;
  FoldCounts FoldBatch(const AnyBatch& batch, std::span<FoldOutcome> outcomes,
                       PartitionRange only = {},
                       std::optional<SourcePosition> position = {}) noexcept;
  // Has the intake feed this collection; see untyped/any_intake.h.
  void Join(AnyIntake& intake, std::unique_ptr<IntakeTarget> target) const noexcept;
  bool Flush(std::string_view key) noexcept;
  bool Cancel(std::string_view key) noexcept;
  ControlOutcome SetDeadline(std::string_view key, EngineTime deadline) noexcept;
  ControlOutcome Flush(std::string_view key, EngineTime at) noexcept;
  ControlOutcome Cancel(std::string_view key, EngineTime at) noexcept;
  bool Peek(std::string_view key, Look look) const noexcept;
  bool Scan(ScanCursor& cursor, size_t max, See see) const noexcept;
  // Shows all open groups as of one instant, in the order in which CloseAll() would close them.
  // Locks every partition meanwhile, and takes 6 bytes of memory for each group; of fewer than
  // 131,072 groups 24 bytes for each, up to 768 KiB.
  void ScanInOrder(See see) const noexcept;

  // Takes the memory for `groups` groups at a time, those that wait to be popped included, and has
  // the system clear it. Until there are more, an event that opens a group takes no memory for the
  // tables and splits no part of the index, so its cost is bounded by our own work.
  // `key_bytes`: how long keys are, within 16 bytes, if they are longer than 23 and up to 4 KiB.
  // Not among this is what states own, and what the folder remembers of groups that are gone. What
  // waits to be popped takes 32 bytes more: EngineOptions::prefault_bytes is for all of that.
  // The memory stays until Close(). A later call may ask for more; one for less changes nothing.
  // Call it before events come, but after a snapshot is restored: Restore takes it for an event.
  // Cost: for a million groups the system takes 10 to 200 ms, while no lock is held; then each
  // partition is locked for as long as it takes its share, in all some 5 ms.
  // Errors: kInvalidArgument if so many groups are more than `limits` lets in, or for key_bytes
  // above 64 KiB; kResourceExhausted if the system refuses; then nothing has changed.
  // kFailedPrecondition after Stop() or Close(), and from inside a fold function.
  absl::Status Reserve(size_t groups, size_t key_bytes = 0) noexcept;

  // Changes the options while the folder runs, as one step: each event, each batch of up to 256 and
  // each call sees those of before, or these. Open groups go on by them. A group that they would
  // have closed by now closes at once, with `closed` the engine's time; see docs/semantics.md.
  //
  //   pleat::FolderOptions options = folder.options();
  //   options.quiet_period = 2min;
  //   absl::Status changed = folder.SetOptions(options);
  //
  // All may change but quiet_floor, edge, leading_events, partial_every, closing and
  // measure.max_trace; quiet_period with quiet_floor; late.allowed_lateness with ids; and
  // late.on_late from or to kCorrect. A limit below what is there refuses and drops what comes, and
  // nothing that is there. Measurements that begin do so empty.
  // A folder that is restored with other options than those of the snapshot is as if they had been
  // set at its cut.
  // Cost: locks every partition meanwhile: some microseconds for limits and leases; for other
  // periods, lower max_events or max_group_bytes up to some 100 ns for each open group and each
  // emission that waits.
  // Errors: those of Open() for options; kFailedPrecondition for one that cannot change, which the
  // message names, after Close(), and from inside a fold function. Nothing has changed then.
  absl::Status SetOptions(const FolderOptions& options) noexcept;
  FolderOptions options() const noexcept;

  // The measurements so far, of each partition at one instant. Null without measure.gap_stats.
  // Cost: some hundred microseconds.
  std::unique_ptr<GapStats> gap_stats() const noexcept;
  const StateOps& ops() const noexcept;

 private:
  friend class TraceReader;  // see trace.h
  using AnyCollection::AnyCollection;

  FolderCore& core() const noexcept;
};

}  // namespace pleat::inline v0_1
