// Storage: the few operations on files that keeping an engine's state needs. Snapshots
// (state_directory.h) go to PosixStorage() unless told otherwise; derive from Storage to put them
// elsewhere, or to see what happens when a disk fails.
//
//   absl::StatusOr<std::unique_ptr<pleat::StorageDirectory>> directory =
//       pleat::PosixStorage().OpenDirectory("/var/lib/orders", pleat::IfMissing::kCreate);
//   if (!directory.ok()) return directory.status();
//   if (absl::Status locked = (*directory)->Lock(); !locked.ok()) return locked;
//
// A file is written once, from its beginning to its end, and never changed, but for small ones that
// are overwritten in place for others to read. To replace a file so
// that at any instant either the old one or the new one is there, whatever fails:
//
//   create "new", append, sync, close; rename "new" to "current"; sync the directory.
//
// What a crash of the machine may undo, and what not:
// - Bytes are kept for certain once Sync() of their writer has returned OK. Before, any part of
//   them may be kept, in any order, with zeros or older bytes in the gaps, and any length.
// - Creating, renaming and removing are kept for certain once SyncDirectory() has returned OK.
//   Before, each of them may be undone. None is ever seen half done.
// A process that is killed loses nothing that it has handed over.
//
// Errors, of every function. The message names the path and the reason that the system gave:
//   kNotFound             no such file or directory.
//   kAlreadyExists        there is one of that name.
//   kPermissionDenied     no right to do it, or a file system that is read-only.
//   kResourceExhausted    no space, quota, memory or descriptors left. Worth another try later,
//                         with a new file.
//   kFailedPrecondition   a symbolic link, or something that is no directory or no regular file;
//                         nothing was followed or opened. Also a writer that is closed.
//   kUnavailable          only from Lock(): another handle has the lock.
//   kInvalidArgument      a name that is not one of a file (see StorageDirectory).
//   kInternal             anything else: the device has failed, or the caller has.
// What to do about them is said at the functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/types/span.h>
#include <pleat/detail/export.h>

namespace pleat::inline v0_1 {

// Writes a new file. Destroying it closes the file and tells no error.
// Thread safety: one call at a time.
class PLEAT_EXPORT StorageWriter {
 public:
  virtual ~StorageWriter() = default;
  StorageWriter(const StorageWriter&) = delete;
  StorageWriter& operator=(const StorageWriter&) = delete;

  // Writes all of `bytes` behind what was written.
  // Errors: any part of the bytes may have been written. The file is of no use any more: every
  // later Append() and Sync() gives the same error. Close and remove it, and write another.
  virtual absl::Status Append(std::string_view bytes) = 0;

  // Writes `bytes` over the beginning of the file, which must be at least as long, or empty.
  // Somebody who reads it at the same time may see a part of them: so they need a checksum. After a
  // crash of the machine each byte is an old one or a new one, synced or not.
  // Errors: as Append().
  virtual absl::Status Overwrite(std::string_view bytes) = 0;

  // Waits until everything appended is on the disk.
  // Errors: as Append(). There is no second try, because the system may say OK to one although it
  // has dropped the bytes.
  virtual absl::Status Sync() = 0;

  // Closes the file. After that, only destroying it is left. Does not sync.
  // Errors: a file that was not synced may have lost bytes. The file is closed all the same.
  virtual absl::Status Close() = 0;

 protected:
  StorageWriter() = default;
};

// Reads a file as it was opened, also after it was renamed or removed.
// Thread safety: any thread, several calls at a time.
class PLEAT_EXPORT StorageReader {
 public:
  virtual ~StorageReader() = default;
  StorageReader(const StorageReader&) = delete;
  StorageReader& operator=(const StorageReader&) = delete;

  // Reads the bytes from `offset` on into `buffer`. Returns how many: fewer than it has room for
  // only at the end of the file, 0 behind it.
  // Errors: the buffer may have been written to. The next call may succeed.
  virtual absl::StatusOr<size_t> ReadAt(uint64_t offset, absl::Span<char> buffer) = 0;

  // In bytes.
  virtual absl::StatusOr<uint64_t> Size() = 0;

 protected:
  StorageReader() = default;
};

// An open directory. Everything goes by the directory that was opened: should another one take its
// path, that one is neither read nor written.
//
// A name is that of a file right inside. It is not empty, ".", ".." or "LOCK", and has no '/' and
// no zero byte; other names get kInvalidArgument. Symbolic links are never followed.
//
// Thread safety: any thread, several calls at a time; Lock() at most one at a time.
// Ownership: writers and readers may outlive it.
class PLEAT_EXPORT StorageDirectory {
 public:
  virtual ~StorageDirectory() = default;
  StorageDirectory(const StorageDirectory&) = delete;
  StorageDirectory& operator=(const StorageDirectory&) = delete;

  // As it was given to OpenDirectory(); for messages.
  virtual const std::string& path() const = 0;

  // Takes the directory for this handle alone, until the handle is destroyed or the process ends,
  // however it ends. It holds against other handles of this process too; but a child made by fork()
  // shares it until the child ends or calls exec. The file LOCK inside, made if needed, has the
  // number of the process as text. Nothing but Lock() heeds it. Once more is OK.
  // Errors: kUnavailable "<path> is locked by process <number>" while another handle has it;
  // kFailedPrecondition if LOCK has anything else than a number: it is not ours to overwrite.
  virtual absl::Status Lock() = 0;

  // Makes a file, for its owner alone (mode 0600), to be written.
  // Errors: kAlreadyExists also if there is a symbolic link of the name, wherever it points.
  virtual absl::StatusOr<std::unique_ptr<StorageWriter>> CreateFile(std::string_view name) = 0;

  // Opens a regular file for reading.
  // Errors: kFailedPrecondition for anything else than a regular file.
  virtual absl::StatusOr<std::unique_ptr<StorageReader>> OpenFile(std::string_view name) = 0;

  // Gives a file another name, in one step. A file that had the name `to` goes.
  // Errors: nothing was renamed, as far as can be told: a device that fails may have done it.
  virtual absl::Status Rename(std::string_view from, std::string_view to) = 0;

  // Removes a file, or a symbolic link itself.
  // Errors: as Rename(). For kNotFound there is nothing to do.
  virtual absl::Status Remove(std::string_view name) = 0;

  // The names inside, sorted, of whatever kind; all but "LOCK". O(entries).
  virtual absl::StatusOr<std::vector<std::string>> List() = 0;

  // Tells this run of the machine from the runs before: the same number for every process until the
  // machine starts anew. 0: nobody knows.
  virtual uint64_t MachineRun() = 0;

  // Waits until everything created, renamed and removed is on the disk.
  // Errors: all of it since the last success may be undone by a crash, for ever, whatever later
  // calls return. Do the steps again, under other names.
  virtual absl::Status SyncDirectory() = 0;

 protected:
  StorageDirectory() = default;
};

enum class IfMissing : uint8_t {
  kFail,    // kNotFound
  kCreate,  // for its owner alone (mode 0700); directories above it have to be there
};

// Thread safety: any thread, several calls at a time.
// REQUIRES: no function of it and of what it opens throws.
class PLEAT_EXPORT Storage {
 public:
  virtual ~Storage() = default;

  // Opens the directory at `path`. One that was created is there after a crash of the machine, too,
  // once this has returned OK.
  // Ownership: the storage outlives the directory and all that it has opened.
  // Errors: kFailedPrecondition if `path` is a symbolic link or no directory. (Directories above it
  // may be links.) After any error a new directory may be left, empty.
  virtual absl::StatusOr<std::unique_ptr<StorageDirectory>> OpenDirectory(std::string_view path,
                                                                          IfMissing if_missing) = 0;
};

// The files of the system. Never destroyed.
PLEAT_EXPORT Storage& PosixStorage();

}  // namespace pleat::inline v0_1
