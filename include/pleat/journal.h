// A Journal keeps an engine's state in a directory, so that a restart forgets nothing that the
// source of its events can say again.
//
//   auto journal = *pleat::Journal::Open("/var/lib/orders");
//   auto engine = *pleat::Engine::Open({.partitions = 16});
//   pleat::Folder<Order, Basket> baskets(*engine, "baskets", options);     // every collection
//   absl::StatusOr<pleat::Recovered> found = journal->Recover(*engine);
//   if (!found.ok()) return found.status();
//
//   read the source from engine->SourceMarkOf(source, partition) on, with marks; and now and then:
//   absl::Status taken = journal->TakeSnapshot(*engine);                   // any thread
//
// The directory holds the newest snapshot, and nothing else of size. A new one is written beside
// the newest, synced, renamed, and read again; only then the older one goes. So at every instant,
// also in a crash of the machine, one whole snapshot is there. What came after it is lost, unless
// the source says it again: see docs/durability.md for what that means for emissions and leases.
//
// A journal starts no thread and reads no clock: the caller says when. Folding goes on meanwhile;
// snapshot.h says what a snapshot costs.
//
// Files: LOCK, MANIFEST, and snapshot-N; for the owner alone (mode 0600), because they hold keys
// and states as they are, and the key of the names of ids. docs/formats.md has their layout.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <pleat/engine.h>
#include <pleat/export.h>
#include <pleat/snapshot.h>
#include <pleat/storage.h>

namespace pleat::inline v0_1 {

class JournalCore;

struct JournalOptions {
  // Where the directory is. Default: the files of the system.
  // Ownership: outlives the journal.
  Storage* storage = nullptr;

  // Whether snapshots are compressed: a third to a half of the bytes, for the time of one core at
  // some 300 MB a second.
  bool compress = true;

  // Whether the source repeats all events since a snapshot in the same order, by one thread, as a
  // program does that reads a file. Numbers of emissions then go on where the snapshot stood, and
  // come to mean the same again; see RestoreOptions::skip_numbers.
  bool repeats = false;

  // Tells this directory's files from others. For tests; a program leaves it alone, and the journal
  // draws it.
  std::optional<uint64_t> identity = std::nullopt;
};

// What Recover() has found.
struct Recovered {
  // Nothing if there was no snapshot yet: the engine begins empty.
  std::optional<SnapshotInfo> snapshot;

  // Newer snapshots that are damaged, and why. They were never whole: a snapshot that was checked
  // is the only one.
  std::string passed_over;
};

// How the snapshots of a journal stand.
struct SnapshotState {
  uint64_t taken = 0;   // since Open()
  uint64_t failed = 0;  // attempts since Open()
  uint64_t bytes = 0;   // of the newest; 0: there is none
  absl::Status last;    // of the last attempt
};

// Thread safety: any thread may call any method at any time.
class PLEAT_EXPORT Journal {
 public:
  // Opens the directory, or makes it, and locks it.
  // Errors: those of storage.h; kUnavailable while another process or journal has the directory,
  // with the number of the process; kDataLoss for a damaged MANIFEST; kUnimplemented for one of a
  // newer version. Nothing was changed then.
  static absl::StatusOr<std::unique_ptr<Journal>> Open(std::string_view directory,
                                                       const JournalOptions& options = {});
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  // Brings `engine` to where the newest snapshot stood. Call it once, also in a new directory, when
  // the engine has all its collections, and before the first event.
  // Errors: those of Restore::Begin(), with the name of the file; those of storage.h. Nothing was
  // changed then, neither in the engine nor in the directory.
  absl::StatusOr<Recovered> Recover(Engine& engine);

  // The same with the help of other threads: `work(restore)` has them call restore.Work(), and
  // returns when none of them is in it any more.
  using Work = absl::FunctionRef<void(Restore& restore)>;
  absl::StatusOr<Recovered> Recover(Engine& engine, Work work);

  // What the newest snapshot says of itself; nothing if there is none. Before Recover(), for a
  // program that keeps something of its own in the note.
  // Errors: as Recover(), as far as the beginning of the file tells.
  absl::StatusOr<std::optional<SnapshotInfo>> Newest();

  // Takes a snapshot. Returns when it is on the disk, and was read again. `note` is kept with it,
  // for the caller; see SnapshotInfo::note.
  // Errors: those of pleat::TakeSnapshot() and of storage.h; kFailedPrecondition before Recover().
  // The snapshot before is as it was, folding goes on, and the next attempt may succeed.
  absl::Status TakeSnapshot(Engine& engine, std::string_view note = {});

  SnapshotState state() const;

 private:
  explicit Journal(std::unique_ptr<JournalCore> core);

  std::unique_ptr<JournalCore> core_;
};

}  // namespace pleat::inline v0_1
