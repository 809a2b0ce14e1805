// Inputs named on the command line: files and standard input, compressed or not.
//
// A regular file is simply read. Anything else (a pipe, a terminal, a socket) is *live*: its writer
// may be silent for hours, so before a read that could block, the InputWaiter is asked to wait.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include "tools/pleat/byte_source.h"

namespace pleat::cli {

// The bytes that the sources have read so far, compressed if the files are. Written by the thread
// that reads, read by the thread that shows progress.
struct ReadCount {
  std::atomic<uint64_t> bytes = 0;
};

// How an input is called in diagnostics: its path, or "<stdin>" for "-".
std::string InputName(const std::string& path);

// Whether `path` can be opened for reading, and is no directory, without disturbing it: a named
// pipe is not opened, since that would wait for its writer.
absl::Status CheckReadable(const std::string& path);

// Whether it is anything else than a regular file.
bool IsLive(const std::string& path);

// The size of a regular file; 0 for anything else.
uint64_t InputSize(const std::string& path);

// Of all of them together; 0 if that cannot be known, as with a pipe among them.
uint64_t InputSizes(const std::vector<std::string>& paths);

struct OpenedInput {
  std::unique_ptr<ByteSource> source;
  bool live = false;
  struct stat info{};  // of the file that is read, which need not have the name any more
};

// Opens `path` ("-": standard input). `waiter` and `count` must outlive the source.
// Errors: those of the source, since its first bytes are read to tell its compression.
absl::StatusOr<OpenedInput> OpenInput(const std::string& path, InputWaiter& waiter,
                                      ReadCount& count);

// All of a small file, such as a spec.
absl::StatusOr<std::string> ReadWholeFile(const std::string& path);

}  // namespace pleat::cli
