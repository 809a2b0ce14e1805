// A RunNote is kept with each snapshot of a run with --journal: how far the inputs had been read,
// and how long the outputs were. So the next run goes on there.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <absl/status/statusor.h>
#include <pleat/time.h>

namespace pleat::cli {

// Which file it is, and when it was changed last. Two that are equal are of one file, unchanged.
struct FileStamp {
  uint64_t device = 0;
  uint64_t inode = 0;
  uint64_t size = 0;
  int64_t changed_ns = 0;  // 0: so recently that another change might have the same time

  template <class F>
  void Stored(F& f) {
    f(device, inode, size, changed_ns);
  }
  bool Proves(const FileStamp& other) const { return changed_ns != 0 && *this == other; }
  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};

struct RunNote {
  // A regular file. What was read is counted after decompression, without a byte order mark.
  struct Input {
    FileStamp stamp;
    uint64_t bytes = 0;
    uint64_t lines = 0;
    uint64_t digest = 0;    // of these bytes
    bool ends_line = true;  // their last byte is a newline
    bool read_whole = false;

    template <class F>
    void Stored(F& f) {
      f(stamp, bytes, lines, digest, ends_line, read_whole);
    }
  };

  std::string command;
  // The options that have to stay the same, and their texts.
  std::vector<std::pair<std::string, std::string>> options;
  std::map<std::string, Input> inputs;      // by their names from the root on
  std::map<std::string, uint64_t> outputs;  // likewise: their bytes
  uint64_t results = 0;                     // lines of --output
  bool flushed = false;  // at the end of the inputs, all that was open was closed
  // The clock of the newest run whose time followed it; kBeginningOfTime: none has.
  EngineTime clock = kBeginningOfTime;
  uint64_t lost = 0;     // partitions, ever, that pleat journal salvage has left out

  std::string Text() const;
  // Errors: kDataLoss; kUnimplemented for a note of a newer version.
  static absl::StatusOr<RunNote> Parse(std::string_view text);

  template <class F>
  void Stored(F& f) {
    f(command, options, inputs, outputs, results, flushed);
    if (f.version() >= 2) f(clock, lost);
  }
};

}  // namespace pleat::cli
