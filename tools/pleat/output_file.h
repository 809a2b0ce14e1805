// Where output goes: standard output, or a file that appears whole or not at all.
//
// A file is written under a temporary name beside its final one, synced, and renamed on Commit(). If
// that does not happen, for whatever reason, the temporary file is removed and what was under the
// name before is untouched. A symbolic link stays one: what it leads to is replaced. A file that
// replaces another takes its owner and mode, as far as that is allowed.
//
// A name that stands for something else than a regular file (a device, a named pipe, /dev/stderr) is
// written to directly: replacing it would be a disaster.
#pragma once

#include <cstddef>
#include <memory>
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
    kWhole,   // under a temporary name until Commit()
    kStream,  // written as it comes, for lines that somebody may want to follow
  };

  // "-" and names such as /dev/stdout are descriptors of the process: what is written goes on where
  // they stand. Errors: kUnavailable, with the name and what the system says.
  static absl::StatusOr<std::unique_ptr<OutputFile>> Create(const NamedFile& file, Mode mode);

  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  // Empties a kStream file that existed before. To be called once all that the run needs is open, so
  // that a run that cannot start loses nothing.
  absl::Status StartOver();

  // Buffers `text`, and writes once enough has come together.
  // Errors: kAborted if standard output is a pipe whose reader has gone; else as Create(). The first
  // error stays.
  absl::Status Append(std::string_view text);

  // Writes what is buffered.
  absl::Status Flush();

  // Flushes, and gives the file its name. Nothing can be appended after.
  absl::Status Commit();

  int fd() const { return fd_; }

 private:
  OutputFile(std::string name, int fd) : name_(std::move(name)), fd_(fd) {}

  absl::Status OpenTemporary(const std::string& path);

  std::string name_;       // for messages
  std::string path_;       // to rename to; empty if written directly
  std::string temporary_;  // empty once committed
  std::unique_ptr<RemovedOnKill> removed_on_kill_;
  std::string buffer_;
  absl::Status status_;
  bool truncate_ = false;
  int fd_;
};

}  // namespace pleat::cli
