// Looking after a state directory, without an engine: what is in it, whether it is whole,
// and saving what can be saved. `pleat state show|check|salvage` are these functions.
//
//   absl::StatusOr<pleat::StateDirectoryReport> report =
//       pleat::InspectStateDirectory("/var/lib/orders", pleat::Depth::kWhole);
//   if (report.ok()) for (const pleat::Damage& each : report->damage) Print(each.file, each.why);
//
// The directory is only read, and no lock is taken: also one that is in use can be looked at. A
// snapshot that is replaced meanwhile may then be missing; look again.
//
// Thread safety: any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <pleat/export.h>
#include <pleat/snapshot.h>
#include <pleat/storage.h>

namespace pleat::inline v0_1 {

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

  // Whether the copy has all that the directory had.
  bool whole() const noexcept { return !file.empty() && lost.empty() && !manifest_rebuilt; }
};

// Copies what can be saved into the new directory `to`, so that a StateDirectory can open it: of
// the newest snapshot whose beginning is whole, the partitions of which every block is whole. One
// that is left out begins empty; positions of sources are as they were, so what it had taken is not
// folded again. The copy says which are left out (SnapshotInfo::lost). O(bytes).
// Errors: those of InspectStateDirectory(); kAlreadyExists if `to` has files. Nothing is written to
// `from`.
PLEAT_EXPORT absl::StatusOr<SalvageReport> SalvageStateDirectory(std::string_view from,
                                                                 std::string_view to,
                                                                 Storage& storage = PosixStorage());

}  // namespace pleat::inline v0_1
