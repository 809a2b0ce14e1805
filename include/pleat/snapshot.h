// Snapshots: all that an engine knows, as bytes, taken while other threads go on folding.
//
//   absl::Status taken = pleat::TakeSnapshot(*engine, sink);       // any thread
//
//   auto engine = *pleat::Engine::Open({.partitions = 16});        // after a restart
//   pleat::Folder<Edit, Edits> edits(*engine, "edits", options);   // the same collections
//   absl::Status restored = pleat::RestoreSnapshot(*engine, source);
//
// Everything is there again: open groups with their deadlines, emissions that wait, leases and the
// tokens that consumers hold, ids of events, members, counters, counts. What fell due meanwhile
// closes with the next Advance(), in the order of deadlines, without a new event.
//
// Options that can change may be others than at the cut. Then a collection comes back as if it had
// run with those of the snapshot up to the cut, and SetOptions() had been called there.
//
// A snapshot belongs to one *cut*: an instant between two operations. What came before it is in the
// snapshot as a whole, also a batch of up to 256 events over several partitions, and nothing that
// came later is. At the cut all threads wait for as long as a batch under way takes, some ten
// microseconds. Then the thread that takes the snapshot writes one partition after the other, some
// 64 entries at a time, and an entry that changes before its turn is copied as it was:
// - An open group, by the first event that folds into it or the first call that ends it: some 100
//   to 200 ns more, once. Likewise an emission that waits, a remembered id, a member or a user, and
//   a rollup's counter with all its windows.
// - Leases are copied as a whole, of one partition at its first change, which locks it for some 15
//   to 70 ns for each of them.
// - Memory: the copies that are not written yet, up to SnapshotOptions::max_copy_bytes. A copied
//   group takes some two thirds of its bytes in the engine. No call waits for the sink.
//
// A sink that does not return, such as a disk that hangs, holds up nobody but the thread that takes
// the snapshot. Copies grow meanwhile, as other threads change entries. Before they would be more
// than max_copy_bytes the snapshot fails, as it does when GiveUpSnapshot() is called: all copies
// are freed at once, also while that thread is still in the sink, and folding goes on as if there
// were no snapshot. TakeSnapshot() then returns as soon as the sink does.
//
// To keep snapshots in a directory of files, use a StateDirectory (state_directory.h). The
// functions here serve callers that keep them elsewhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <pleat/detail/export.h>
#include <pleat/engine.h>
#include <pleat/time.h>

namespace pleat::inline v0_1 {

class RestoreCore;

// Takes bytes in order. An error ends the writing, and is passed on.
class ByteSink {
 public:
  virtual ~ByteSink() = default;
  virtual absl::Status Append(std::string_view bytes) = 0;
};

// Gives bytes in order. A restore holds locks meanwhile: Read() calls no engine.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // Fills the first bytes of `room`, and returns how many; 0 at the end only.
  virtual absl::StatusOr<size_t> Read(std::span<char> room) = 0;
};

// What the beginning of a snapshot says of it.
struct SnapshotInfo {
  // Up to where a collection has taken a source: see SourcePosition.
  struct Source {
    uint64_t source = 0;
    uint64_t lowest = 0;   // every partition has taken what comes before
    uint64_t highest = 0;  // and some partition this
  };
  struct Collection {
    std::string name;
    uint32_t number = 0;   // no other one of the engine ever had it, also not under this name
    std::string kind;      // "folder", "live_set", "presence" or "rollup"
    uint64_t entries = 0;  // at the cut: open groups, members, users, or counters
    std::vector<Source> sources = {};
    // At the cut: those that have a part in the results, in words: `60s`, `forever`, `kReject`.
    std::vector<std::pair<std::string, std::string>> options = {};
    // Of Restore::info() and Recovered: those that differ in the engine's collection, with the
    // values that it has now. What an option does that changes: docs/durability.md.
    std::vector<std::pair<std::string, std::string>> changed = {};
  };

  uint64_t identity = 0;  // see SnapshotOptions
  uint64_t tag = 0;
  EngineTime now{};  // the engine's time, at the cut
  LeaseTime lease_now{};
  int partitions = 0;
  Axis axis = Axis::kArrival;
  std::vector<Collection> collections;  // by name
  std::string note;                     // see SnapshotOptions
  // Partitions that were damaged, and left out of this copy by SalvageStateDirectory(): they begin
  // empty, their entries do not count, and what they had counted is missing.
  std::vector<int> lost = {};
};

struct SnapshotOptions {
  // Written into the snapshot, and bound into every checksum: a part of another snapshot is told
  // apart. Any number.
  uint64_t identity = 0;

  // Kept for the caller: any number, and any bytes, such as how far an input had been read.
  uint64_t tag = 0;
  std::string_view note = {};

  // Whether blocks are compressed (zstd, level 1).
  bool compress = true;

  // Collections that the engine has to have, such as those of the snapshot before: all that one of
  // them held would be gone with it, if it was closed a little too early, and also if another one
  // has its name now. Names and numbers count.
  std::span<const SnapshotInfo::Collection> expected = {};

  // The most bytes that the copies of all partitions may take at a time, as they are allocated. The
  // snapshot fails before they would take more: allow as many as the machine can spare while the
  // sink is at its slowest. Events and lines that wait for their turn do not count: of these a
  // snapshot keeps no more than waited at its cut. Range: 1 or more.
  uint64_t max_copy_bytes = kMaxCopyBytes;
  // The default. A healthy disk needs a twelfth of an engine's groups at most in our measurements
  // (docs/durability.md). Leases are copied as a whole, some 150 bytes each, however fast it is.
  static constexpr uint64_t kMaxCopyBytes = uint64_t{1} << 30;
};

// Takes a snapshot. Returns when all of it has been appended to `sink`. Collections and the engine
// itself may end meanwhile: what they held at the cut is copied, up to the bound.
// Errors. None changes anything in the engine.
// - kFailedPrecondition: the engine is gone; the states of a collection cannot be stored, or one is
//   expected and not there, which the message names.
// - kInvalidArgument: max_copy_bytes is 0.
// - kUnavailable: another thread takes one of this engine, also one that was given up, until its
//   sink has returned.
// - kResourceExhausted: the copies reached max_copy_bytes. Take it when less changes, find out why
//   the sink is slow, or allow more.
// - kCancelled: GiveUpSnapshot() was called.
// - Those of the sink.
PLEAT_EXPORT absl::Status TakeSnapshot(Engine& engine, ByteSink& sink,
                                       const SnapshotOptions& options = {});

// Gives up the snapshot that another thread takes of this engine. When it returns, the copies are
// freed. TakeSnapshot() returns an error as soon as its sink returns, kCancelled unless the copies
// reached their bound before; until then no other one can begin. Returns false, and does nothing,
// if none is being taken, or from inside a fold function.
// Thread safety: any thread. Complexity: O(partitions + copies); it waits for no sink.
PLEAT_EXPORT bool GiveUpSnapshot(Engine& engine, std::optional<uint64_t> identity = {}) noexcept;

// The bytes of copies that the snapshot under way keeps, of all partitions.
struct SnapshotCopies {
  uint64_t bytes = 0;       // now; 0: none is being taken
  uint64_t most_bytes = 0;  // at any one time, of the one under way, or else of the last one
};

// Thread safety: any thread, also while TakeSnapshot() waits for its sink.
PLEAT_EXPORT SnapshotCopies SnapshotCopiesOf(Engine& engine) noexcept;

struct RestoreOptions {
  // By how much the numbers of emissions, leases and changes go on ahead of those in the snapshot.
  // What was handed out after the snapshot and then forgotten had numbers of its own, and no number
  // may mean two things. 0 is right only if the source repeats all events since the cut in their
  // order, so that each number comes to mean the same again.
  // Range: a multiple of 65,536. Default: 2^32.
  uint64_t skip_numbers = uint64_t{1} << 32;

  // Collections of the snapshot that the engine does not have, and that are to be forgotten. A name
  // that the snapshot lacks or the engine has is passed over.
  std::span<const std::string> drop = {};
};

// A restoring, which several threads may share:
//
//   auto restore = *pleat::Restore::Begin(*engine, source);
//   on each thread:  restore->Work();
//   absl::Status restored = restore->Finish();
//
// Thread safety: any thread may call Work() at any time, also several at once.
class PLEAT_EXPORT Restore {
 public:
  // Reads the beginning. `engine` and `source` outlive the object.
  // REQUIRES: nobody else uses the engine until Finish().
  // Errors, with nothing changed in the engine:
  // - kDataLoss: the bytes are not a snapshot, or damaged; the message says at which byte, and why.
  // - kFailedPrecondition: the engine has taken events, or is gone; the number of partitions, the
  //   axis, the watermark delay, a collection or an option that cannot change differs, or fields
  //   that changed under an old version; the message names what differs, with both values. Or an
  //   older version of pleat wrote it.
  // - kUnimplemented: written by a newer version of pleat.
  // - Those of the source.
  static absl::StatusOr<std::unique_ptr<Restore>> Begin(Engine& engine, ByteSource& source,
                                                        const RestoreOptions& options = {});
  // Without Finish(), or if that fails, the engine is as it was before Begin().
  ~Restore();
  Restore(const Restore&) = delete;
  Restore& operator=(const Restore&) = delete;

  const SnapshotInfo& info() const noexcept;
  // Restores partitions until none is left. One thread has a few MiB of the snapshot in memory, and
  // of a single field or state all; several have 16 MiB more together, for partitions that they
  // restore at the same time. Of larger partitions they restore one after the other.
  void Work() noexcept;
  // Works, and then waits for nobody: REQUIRES that no other thread is in Work(). Errors: those of
  // Begin(), found in later bytes. After OK, Finish() does not fail.
  absl::Status Check() noexcept;
  // Check(); and from here on the engine is where the snapshot stood.
  absl::Status Finish() noexcept;

 private:
  explicit Restore(std::unique_ptr<RestoreCore> core);

  std::unique_ptr<RestoreCore> core_;
};

// The same by one thread.
PLEAT_EXPORT absl::Status RestoreSnapshot(Engine& engine, ByteSource& source,
                                          const RestoreOptions& options = {});

// Reads the beginning of a snapshot alone. Errors: as CheckSnapshot().
PLEAT_EXPORT absl::StatusOr<SnapshotInfo> ReadSnapshotInfo(ByteSource& source);

// Reads all of a snapshot and checks each block, without an engine. Errors: kDataLoss and
// kUnimplemented, as Restore::Begin(); those of the source.
PLEAT_EXPORT absl::StatusOr<SnapshotInfo> CheckSnapshot(ByteSource& source);

// Has an engine without a snapshot skip numbers, as RestoreOptions::skip_numbers says.
// Errors: kFailedPrecondition if the engine has taken events, or is gone; nothing has changed then.
PLEAT_EXPORT absl::Status SkipNumbers(Engine& engine, uint64_t by);

// The names and numbers of its collections, by name. Errors: kFailedPrecondition if the engine is
// gone.
PLEAT_EXPORT absl::StatusOr<std::vector<SnapshotInfo::Collection>> CollectionsIn(Engine& engine);

// Tells an engine, by any of its handles, from every other one, also when it is gone. Two are equal
// if neither is owner_before() the other.
PLEAT_EXPORT std::weak_ptr<const void> IdentityOf(Engine& engine) noexcept;

// The time of leases, as Engine::now() is that of groups: a driver goes on from both.
PLEAT_EXPORT LeaseTime LeaseTimeOf(Engine& engine) noexcept;

}  // namespace pleat::inline v0_1
