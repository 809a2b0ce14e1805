// FaultyStorage: a Storage in memory that fails where a test wants it to, and whose power can be
// cut. faulty_disk.h tells what a power loss may leave.
//
//   FaultyStorage storage;
//   storage.Record();
//   TakeSnapshot(storage);
//   for (size_t call = 0; call <= storage.calls(); ++call) {
//     ForEachPowerLoss(storage.At(call), 1024, seed, [](FaultyStorage left) { Recover(left); });
//   }
//
// Calls are numbered from 0 in the order in which they come; opening a directory that is missing is
// three of them. As they are one for each call of Storage, and not of the system, a short write or
// EINTR, which a Storage has to hide, cannot be seen here either.
//
// A copy is the machine after the process was killed: the disk with all that was written to it,
// synced or not, and no locks, faults or calls. What the original has opened goes on by itself.
// Thread safety: as Storage; the functions of its own one at a time, and not beside calls.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <absl/functional/function_ref.h>
#include <pleat/untyped/storage.h>

#include "tests/support/choices.h"
#include "tests/support/faulty_disk.h"

namespace pleat::inline v0_1 {

struct StorageCall {
  enum class Kind : uint8_t {
    kOpenDirectory,
    kMakeDirectory,
    kSyncParent,
    kLock,
    kCreate,
    kOpen,
    kRename,
    kRemove,
    kList,
    kSyncDirectory,
    kAppend,
    kOverwrite,
    kSync,
    kClose,
    kReadAt,
    kSize,
  };
  Kind kind;
  std::string path;
  uint64_t bytes = 0;  // of kAppend, kOverwrite and kReadAt

  // Whether the disk is another one after it.
  bool changes() const;
  // "write to /d/a, 12 bytes"
  std::string ToString() const;
};

// One that fails, or more.
struct StorageFault {
  size_t call = 0;
  int error = EIO;        // of errno. EINTR and 0, a short write or read: nothing fails
  bool for_good = false;  // and so do later calls that such an error can come of
  bool done = false;      // it fails, but has done it
  uint64_t bytes = 0;     // of Append(), how many it has written
  FailedSync sync = FailedSync::kKeepsNew;
};

class FaultyStorage final : public Storage {
 public:
  FaultyStorage();
  FaultyStorage(const FaultyStorage& other);
  FaultyStorage& operator=(const FaultyStorage& other);
  ~FaultyStorage() override;

  absl::StatusOr<std::unique_ptr<StorageDirectory>> OpenDirectory(std::string_view path,
                                                                  IfMissing if_missing) override;

  // The calls up to now.
  const std::vector<StorageCall>& log() const;
  size_t calls() const { return log().size(); }

  void Fail(StorageFault fault);
  // No call fails any more; what has gone wrong stays so.
  void Heal();
  // No space behind so many bytes in all files: an Append() writes what has room, and fails.
  void SetCapacity(uint64_t bytes);
  void set_lost(Lost lost);

  // Cuts the power when call number `call` begins; of an Append(), after `bytes` of it. That call and
  // all later ones fail and do nothing.
  void CrashAt(size_t call, uint64_t bytes = 0);

  // Keeps for every call from now on what the disk was before it. REQUIRES: no calls yet.
  void Record();
  // A machine whose disk is as it was when call number `call` began; of an Append(), with `bytes` of
  // it done. For calls() that is the disk now. REQUIRES: Record().
  FaultyStorage At(size_t call, uint64_t bytes = 0) const;

  // The machine after its power was cut and came back.
  FaultyStorage Reboot(Pick pick) const;
  // How many ways there are for that; FaultyDisk::kTooMany if that many or more.
  uint64_t PowerLosses() const;

  // All files, as "<directory>/<name>", sorted.
  std::vector<std::string> Paths() const;
  // Of a file that there is.
  std::string Content(const std::string& path) const;
  // Damages a file, or makes one. It is durable at once.
  void SetContent(const std::string& path, std::string_view bytes);

 private:
  class Machine;
  class Directory;
  class Writer;
  class Reader;

  explicit FaultyStorage(FaultyDisk disk);

  std::shared_ptr<Machine> machine_;
};

// Calls `visit` with the machine after every power loss that there is; if they are more than `most`,
// with that many that are drawn, all lost and all kept among them. Returns how many there are.
uint64_t ForEachPowerLoss(const FaultyStorage& storage, uint64_t most, uint64_t seed,
                          absl::FunctionRef<void(FaultyStorage)> visit);

}  // namespace pleat::inline v0_1
