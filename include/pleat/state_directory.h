// A StateDirectory keeps an engine's state in a directory, so that a restart forgets nothing that
// the source of its events can say again.
//
//   auto directory = *pleat::StateDirectory::Open("/var/lib/orders");
//   auto engine = *pleat::Engine::Open({.partitions = 16});
//   pleat::Folder<Order, Basket> baskets(*engine, "baskets", options);     // every collection
//   absl::StatusOr<pleat::Recovered> found = directory->Recover(*engine);
//   if (!found.ok()) return found.status();
//
//   read the source from engine->SourcePositionOf(source, partition) on, with positions;
//   and now and then:
//   absl::Status taken = directory->TakeSnapshot(*engine);                 // any thread
//
// The directory holds the newest snapshot, and nothing else of size. A new one is written beside
// the newest, synced, renamed, and read again; only then the older one goes. So at every instant,
// also in a crash of the machine, one whole snapshot is there. What came after it is lost, unless
// the source says it again: see docs/durability.md for what that means for emissions and leases.
//
// A child made by fork() has the parent's StateDirectory, and its lock. REQUIRES: it calls neither
// Recover() nor TakeSnapshot(), which would put the child's state in place of the parent's, under
// names that the parent takes for its own. It may destroy the StateDirectory, or end by exec or
// _exit; the directory is locked until both have ended or closed it.
//
// A StateDirectory starts no thread and reads no clock: the caller says when. Folding goes on
// meanwhile; snapshot.h says what a snapshot costs.
//
// A disk may hang: a call of the system then returns late, or never, and so does the call here that
// made it. Another thread can give a snapshot up: its memory is free at once, and folding is as it
// was. The thread itself is stuck until the system lets it go, and the process has the directory's
// lock for as long: another process that opens the directory gets kUnavailable.
//
// Files: LOCK, MANIFEST, and snapshot-N; for the owner alone (mode 0600), because they hold keys
// and states as they are, and the key of the names of ids. docs/formats.md has their layout.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <pleat/detail/export.h>
#include <pleat/engine.h>
#include <pleat/snapshot.h>
#include <pleat/untyped/storage.h>

namespace pleat::inline v0_1 {

class StateDirectoryCore;

struct StateDirectoryOptions {
  // Where the directory is. Default: the files of the system.
  // Ownership: outlives the StateDirectory, and a snapshot that is still in it.
  Storage* storage = nullptr;

  // Whether snapshots are compressed: a third to a half of the bytes, for the time of one core at
  // some 300 MB a second.
  bool compress = true;

  // Whether the source repeats all events since a snapshot in the same order, by one thread, as a
  // program does that reads a file. Numbers of emissions then go on where the snapshot stood, and
  // come to mean the same again; see RestoreOptions::skip_numbers.
  bool repeats = false;

  // Tells this directory's files from others. For tests; a program leaves it alone, and the
  // StateDirectory draws it.
  std::optional<uint64_t> identity = std::nullopt;

  // The most bytes that copies of entries may take while a snapshot is taken: see SnapshotOptions.
  uint64_t max_copy_bytes = SnapshotOptions::kMaxCopyBytes;
};

// What Recover() has found.
struct Recovered {
  // Nothing if there was no snapshot yet: the engine begins empty.
  std::optional<SnapshotInfo> snapshot;

  // The engine's collections that the snapshot does not have, sorted; without a snapshot all. They
  // begin empty, and so do their source positions. A name here that is not new to you was closed,
  // and left out of a snapshot, or has been written in another way.
  std::vector<std::string> began_empty;

  // Newer snapshots that are damaged, and why. They were never whole: a snapshot that was checked
  // is the only one.
  std::string passed_over;
};

// How the snapshots of a state directory stand.
struct SnapshotState {
  uint64_t taken = 0;   // since Open()
  uint64_t failed = 0;  // attempts since Open()
  uint64_t bytes = 0;   // of the newest; 0: there is none
  // Of copies: see SnapshotCopies.
  uint64_t copy_bytes = 0;
  uint64_t most_copy_bytes = 0;
  absl::Status last;  // of the last attempt
};

// Thread safety: any thread may call any method at any time.
class PLEAT_EXPORT StateDirectory {
 public:
  // Opens the directory, or makes it, and locks it.
  // Errors, each with the path. Nothing was changed then.
  // - kUnavailable: another process or StateDirectory has the directory; the message has its
  //   number.
  // - kFailedPrecondition: the directory has files and is no state directory, or its LOCK is
  //   somebody else's file: name another directory.
  // - kDataLoss: MANIFEST is damaged, or says that a snapshot was here and there is none. Look at
  //   the directory with InspectStateDirectory(), copy what is left with
  //   SalvageStateDirectory(), or put a backup in its place.
  // - kUnimplemented: written by a newer version.
  // - kInvalidArgument: max_copy_bytes is 0.
  // - Those of storage.h.
  static absl::StatusOr<std::unique_ptr<StateDirectory>> Open(
      std::string_view directory, const StateDirectoryOptions& options = {});
  // Gives up a snapshot that another thread takes, and does not wait for it. That thread's call
  // returns as it would have, and has the directory locked until then.
  ~StateDirectory();
  StateDirectory(const StateDirectory&) = delete;
  StateDirectory& operator=(const StateDirectory&) = delete;

  // Brings `engine` to where the newest snapshot stood. Call it once, also in a new directory, when
  // the engine has all its collections, and before the first event. `drop` names collections that
  // the program has no longer: what the snapshot has of them is forgotten with the next one.
  // Errors. Nothing was changed then, neither in the engine nor in the directory, and the call may
  // be made again.
  // - kDataLoss: no snapshot is whole: see Open().
  // - kFailedPrecondition, kUnimplemented: those of Restore::Begin(), with the name of the file:
  //   the engine has taken events, is gone, or is not like the one of the snapshot, in what the
  //   message names. Open it as it was. A collection of the snapshot that the engine does not have,
  //   and that is not in `drop`, is refused: more likely its opening was left out.
  // - Those of storage.h.
  absl::StatusOr<Recovered> Recover(Engine& engine, std::span<const std::string> drop = {});

  // The same with the help of other threads: `work(restore)` has them call restore.Work(), and
  // returns when none of them is in it any more.
  using Work = absl::FunctionRef<void(Restore& restore)>;
  absl::StatusOr<Recovered> Recover(Engine& engine, Work work,
                                    std::span<const std::string> drop = {});

  // What the newest snapshot says of itself; nothing if there is none. Before Recover(), for a
  // program that keeps something of its own in the note.
  // Errors: as Recover(), as far as the beginning of the file tells.
  absl::StatusOr<std::optional<SnapshotInfo>> Newest();

  // Takes a snapshot of the engine that Recover() had. Returns when it is on the disk, and was read
  // again. `note` is kept with it, for the caller; see SnapshotInfo::note. It has all collections
  // that the engine has. Those of the snapshot before, or for the first one of Recover(), have to
  // be among them, but for those in `drop`: name there the ones that you have closed for good, also
  // if you have opened others under their names.
  // Errors. The snapshot before is as it was, and folding goes on. After one of storage.h the new
  // one may be whole all the same, and is then the newest.
  // - kFailedPrecondition: before Recover(); the engine is gone, or is another one; a collection
  //   was closed that is not in `drop`, or cannot be stored; the message names it. Mend the caller:
  //   at the end of a program take the last snapshot before engines and collections end.
  // - kUnavailable: another thread takes one into this directory or of this engine, also one that
  //   was given up, until its call has returned. There is nothing to do.
  // - kResourceExhausted: max_copy_bytes; see SnapshotOptions. kCancelled: GiveUpSnapshot().
  // - Those of storage.h, such as kResourceExhausted for a full disk: the next attempt may succeed.
  absl::Status TakeSnapshot(Engine& engine, std::string_view note = {},
                            std::span<const std::string> drop = {});

  // Gives up the snapshot that another thread takes, as GiveUpSnapshot() of snapshot.h; also while
  // that thread syncs the file or reads it again. The snapshot before stays. The part of the new
  // one that was written is removed when that call returns, or by the next Recover(); if the
  // process ends while it is read again, the next Recover() may find it whole, and take it. Returns
  // false, and does nothing, if none is being taken, if it is whole already, or from inside a fold
  // function.
  bool GiveUpSnapshot() noexcept;

  // Waits for no disk.
  SnapshotState state() const;

 private:
  explicit StateDirectory(std::shared_ptr<StateDirectoryCore> core);

  std::shared_ptr<StateDirectoryCore> core_;  // also of a call that outlives this
};

// Looking after a state directory, without an engine: what is in it, whether it is whole, and
// saving what can be saved. `pleat state show|check|salvage` are the functions from here on.
//
//   absl::StatusOr<pleat::StateDirectoryReport> report =
//       pleat::InspectStateDirectory("/var/lib/orders", pleat::Depth::kWhole);
//   if (report.ok()) for (const pleat::Damage& each : report->damage) Print(each.file, each.why);
//
// The directory is only read, and no lock is taken: also one that is in use can be looked at. A
// snapshot that is replaced meanwhile may then be missing; look again.
//
// Thread safety: any thread.

struct Damage {
  std::string file;     // its name in the directory
  uint64_t offset = 0;  // of the first byte of the block that is damaged
  std::string why;
};

struct StateDirectoryReport {
  // What the newest snapshot says whose beginning can be read; none: there is no such one.
  std::optional<SnapshotInfo> snapshot;
  std::string file;    // its name
  uint64_t bytes = 0;  // its size

  uint64_t snapshots = 0;      // files
  std::vector<Damage> damage;  // by file and offset

  // Nothing is there that an engine would have to be brought back from.
  bool is_new() const noexcept { return snapshots == 0 && damage.empty(); }
};

enum class Depth : uint8_t {
  kBeginning,  // of each file: O(collections)
  kWhole,      // every block of every file: O(bytes)
};

// Errors: those of storage.h, kNotFound if there is no directory; kFailedPrecondition if it has
// files and is no state directory; kUnimplemented for files of a newer version. Damage is no error.
PLEAT_EXPORT absl::StatusOr<StateDirectoryReport> InspectStateDirectory(
    std::string_view directory, Depth depth, Storage& storage = PosixStorage());

struct SalvageReport {
  std::string file;               // the snapshot that was saved; empty: none could be
  SnapshotInfo snapshot;          // what it says
  std::vector<int> lost;          // its partitions that are left out, ascending
  uint64_t bytes_lost = 0;        // of the file, that are not in the copy
  std::vector<Damage> damage;     // all that was found
  bool manifest_rebuilt = false;  // from what the snapshot says
  bool waiting_lost = false;      // events and lines that waited for their turn are left out

  // Whether the copy has all that the directory had.
  bool whole() const noexcept {
    return !file.empty() && lost.empty() && !manifest_rebuilt && !waiting_lost;
  }
};

// Copies what can be saved into the new directory `to`, so that a StateDirectory can open it: of
// the newest snapshot whose beginning is whole, the partitions of which every block is whole. One
// that is left out begins empty, and what waits for its turn is left out as a whole if a part of it
// is damaged; positions of sources are as they were, so what it had taken is not
// folded again. The copy says which are left out (SnapshotInfo::lost). O(bytes).
// Errors: those of InspectStateDirectory(); kAlreadyExists if `to` has files. Nothing is written to
// `from`.
PLEAT_EXPORT absl::StatusOr<SalvageReport> SalvageStateDirectory(std::string_view from,
                                                                 std::string_view to,
                                                                 Storage& storage = PosixStorage());

}  // namespace pleat::inline v0_1
