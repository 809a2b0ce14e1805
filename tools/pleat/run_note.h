// A RunNote is kept with each snapshot of a run with --state: how far the inputs had been read,
// and how long the outputs were. So the next run goes on there.
#pragma once

#include <algorithm>
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
  int64_t born_ns =
      0;  // time of birth, as a new file may have the inode of one that is gone; 0: unknown
  uint64_t size = 0;
  int64_t changed_ns = 0;  // 0: so recently that another change might have the same time

  template <class F>
  void Stored(F& f) {
    f(device, inode, born_ns, size, changed_ns);
  }
  bool Proves(const FileStamp& other) const { return changed_ns != 0 && *this == other; }
  bool IsSameFile(const FileStamp& other) const {
    const bool both_known = born_ns != 0 && other.born_ns != 0;
    return device == other.device && inode == other.inode &&
           (!both_known || born_ns == other.born_ns);
  }
  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};

// The digest of a file up to the end of a line.
struct LineEnd {
  uint64_t bytes = 0;
  uint64_t digest = 0;

  template <class F>
  void Stored(F& f) {
    f(bytes, digest);
  }
};

struct RunNote {
  // A regular file, of which something was read: lines, as they are after decompression and after
  // conversion to JSON, without a byte order mark.
  struct Input {
    static constexpr uint64_t kHeadBytes = 4096;

    std::string name;  // from the root on
    FileStamp stamp;
    uint64_t bytes = 0;  // of whole lines: the file still begins so when it has grown
    uint64_t lines = 0;
    uint64_t digest = 0;  // of these bytes,
    uint64_t head = 0;    // and of the first kHeadBytes of them
    // Behind these, lines that only the end of the file had ended: how many bytes, and the digest of
    // all together.
    uint64_t last_bytes = 0;
    uint64_t last_digest = 0;
    bool in_long_line = false;  // the bytes end within a line over the limit
    bool read_whole = false;    // nothing was left
    // A copy of another input, of which so many bytes at least were read. Counts only for a file that
    // is still the same: one that has grown is compared with the other.
    bool is_copy = false;
    // From each place to the next the file is longer by a sixteenth at least, and by one line at least.
    // So a beginning that somebody has kept is known by nearly all of its lines, and a short one by all.
    std::vector<LineEnd> line_ends;

    uint64_t head_bytes() const { return std::min(bytes, kHeadBytes); }
    // The next place is the end of the first line that ends behind so many bytes.
    uint64_t next_line_end() const {
      return line_ends.empty() ? 0 : line_ends.back().bytes + line_ends.back().bytes / 16;
    }

    template <class F>
    void Stored(F& f) {
      f(name, stamp, bytes, lines, digest, head, last_bytes, last_digest, in_long_line, read_whole,
        is_copy, line_ends);
    }
  };

  // A file of --output, --late or --invalid.
  struct Output {
    uint64_t device = 0;
    uint64_t inode = 0;
    uint64_t bytes = 0;  // that were written; what follows them is of a run that was killed

    template <class F>
    void Stored(F& f) {
      f(device, inode, bytes);
    }
  };

  std::string command;
  // The options that have to stay the same, and their texts.
  std::vector<std::pair<std::string, std::string>> options;
  std::vector<Input> inputs;
  std::map<std::string, Output> outputs;  // by their names from the root on
  uint64_t results = 0;                   // lines of --output
  bool flushed = false;                   // at the end of the inputs, all that was open was closed
  // The clock of the newest run whose time followed it; kBeginningOfTime: none has.
  EngineTime clock = kBeginningOfTime;
  uint64_t lost = 0;  // partitions, ever, that pleat state salvage has left out

  std::string Text() const;
  // Errors: kDataLoss; kUnimplemented for a note of another version.
  static absl::StatusOr<RunNote> Parse(std::string_view text);

  template <class F>
  void Stored(F& f) {
    f(command, options, inputs, outputs, results, flushed, clock, lost);
  }
};

}  // namespace pleat::cli
