// Where output goes: standard output, or a file that appears whole or not at all.
//
// A file is written without a name, in the directory of its final one (O_TMPFILE). On Commit() it is
// synced, gets a temporary name, and is renamed. So a process that is killed, however, leaves nothing
// behind, but between these last two steps: then a whole file of the temporary name. Where the file
// system knows no files without names, the temporary name is there from the beginning, and is
// removed without Commit() and by signals that can be handled. The file of the final name stays as
// it was meanwhile. A symbolic link stays: the file behind it is replaced. The new file takes the
// owner and the mode of the old one, as far as permissions allow.
//
// A device or a named pipe, such as /dev/stderr, is written to directly and never replaced.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include "tools/pleat/interrupt.h"
#include "tools/pleat/named_files.h"

namespace pleat::cli {

class OutputFile {
 public:
  enum class Mode {
    kWhole,   // not there before Commit()
    kStream,  // written as it comes, for lines that somebody may want to follow, or to go on with
  };

  // "-" and names such as /dev/stdout are descriptors of the process, written to from their present
  // position on. Errors: kUnavailable, with the name and the system's reason.
  static absl::StatusOr<std::unique_ptr<OutputFile>> Create(const NamedFile& file, Mode mode);

  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  // Has a kStream file go on behind its first `bytes` bytes. What comes after them stays until
  // something is written, or until Cut(), Sync() or Commit(): a run that comes to nothing then
  // loses nothing. Does nothing to a device or a pipe. Errors: kDataLoss if the file has fewer bytes; as
  // Create().
  absl::Status GoOnAt(uint64_t bytes);
  absl::Status Cut();

  // Buffers `text`, and writes the buffer when it is full. Errors: kAborted if standard output is
  // a pipe whose reader has gone; else as Create(). The first error stays.
  absl::Status Append(std::string_view text);

  // Writes the buffer.
  absl::Status Flush();

  // Flushes, and gives the file its name. Nothing can be appended after.
  absl::Status Commit();

  // Flushes, and waits until the bytes of a kStream file are on the disk.
  absl::Status Sync();

  int fd() const { return fd_; }
  // Whether it is a kStream file, and neither a device nor a pipe.
  bool is_cut_back() const { return regular_; }
  // Of such a file.
  uint64_t bytes_written() const { return bytes_written_; }

 private:
  OutputFile(std::string name, int fd) : name_(std::move(name)), fd_(fd) {}

  absl::Status OpenTemporary(const std::string& path);
  bool OpenNameless(const std::string& directory);
  bool NameTemporarily();
  void NoteTemporary(const std::string& name);

  std::string name_;       // for messages
  std::string path_;       // to rename to; empty if written directly, or once committed
  std::string temporary_;  // empty as long as the file has no name, and once committed
  std::unique_ptr<RemovedOnKill> removed_on_kill_;
  std::string buffer_;
  absl::Status status_;
  bool regular_ = false;
  bool is_to_cut_ = false;      // behind bytes_written_
  uint64_t bytes_written_ = 0;  // buffered bytes are not
  int fd_;
};

// An output that was asked for, unless the path is empty; OpenWanted() sets `file`.
struct WantedOutput {
  NamedFile named;
  OutputFile::Mode mode;
  std::unique_ptr<OutputFile>& file;
  absl::StatusOr<uint64_t> kept = 0;  // bytes of a kStream file that stay; or why all do
  std::string_view replaces = {};     // a file is replaced only if it begins so, or has no bytes
};

// Opens all outputs of a run before its first line is read, so that it does not fail at its end
// for a mistyped path. Errors: as OutputFile::Create(); kInvalidArgument if an output would
// overwrite another one, an input, or a file of another kind than it is. Nothing has then been touched.
absl::Status OpenWanted(std::span<const NamedFile> inputs, std::span<const WantedOutput> wanted);

}  // namespace pleat::cli
