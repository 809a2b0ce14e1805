// Which FILEs of a run were read by earlier runs, and how far.
//
// A FILE is known by how it begins, after decompression, and not by its name: the rotation of logs
// renames files, copies and empties them, and compresses them. Whole lines that were read of a file
// are what it begins with for good, unless somebody edits it. So the FILE that begins so is that
// file, and one that begins otherwise is another. The digest of the first 4 KiB tells most of them
// apart without reading on; the stamp of a file that has not changed saves all reading.
//
// What was read is of one FILE at most. If several begin so: of the one with its device and inode,
// then of the one with its name, then of any; the longer beginning counts, and a FILE that goes on
// there counts before one that ends there.
//
// A FILE is a copy if all of it is a beginning of another FILE of which something was read. The
// rotation of logs makes such copies, and empties or removes the original a moment later. To read both
// would count lines twice, so the copy is left out, and known by its content from then on: also when the
// original had more than the copy, and is gone.
//
// A copy that no run has seen beside its original cannot be compared with it. The note has digests of
// what was read, each up to the end of some line. Where the FILE is alike up to the last of these places
// that lies in it, and ends before the next one, it is left out as well. Once it has another line up to the
// next place, it is another file. A FILE that has the inode or the name of what was read is no copy of
// that: it was cut, or is a new file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include "tools/pleat/line_reader.h"
#include "tools/pleat/run_note.h"

namespace pleat::cli {

// All of a FILE. The line that a record without an end would become is no part of that.
struct FileContent {
  uint64_t bytes = 0;
  uint64_t digest = 0;
  uint64_t head = 0;      // the digest of the first 4 KiB
  bool has_rest = false;  // a record without an end follows
};

// A FILE of a run.
struct KnownFile {
  std::string path;                    // as it was given
  std::string name;                    // from the root on
  std::optional<FileStamp> stamp;      // none: no regular file, of which nothing is known
  std::optional<size_t> input;         // what was read of it, among the inputs of the note
  bool nothing_new = false;            // and that is all there is
  bool is_renamed = false;             // it had another name then
  bool is_successor = false;           // nothing was, and something was read of a file of its name
  std::string copy_of;                 // the FILE that it is a copy of; empty: none
  bool original_is_gone = false;       // that is no FILE of the run, but one of which more was read
  std::optional<FileContent> content;  // where copies were looked for
};

// Of the file with this name ("-": standard input) as it is now; none if it is no regular file.
absl::StatusOr<std::optional<FileStamp>> StampOf(const std::string& path);

class KnownFiles {
 public:
  // The lines of a FILE from its beginning. `end`: what becomes of a record without an end.
  using Open =
      absl::FunctionRef<absl::StatusOr<LineReader>(const std::string& path, UnfinishedEnd end)>;

  // Borrows `inputs`. For messages: what keeps them, and where.
  KnownFiles(std::span<const RunNote::Input> inputs, std::string_view directory,
             std::string_view keeper = "--state")
      : inputs_(inputs), directory_(directory), keeper_(keeper) {}

  // Errors: kInvalidArgument if a FILE is given twice, under whatever name, or is standard input
  // behind its beginning; kFailedPrecondition if
  // one was edited where it was read, or replaced while it was looked at; kCancelled at a signal;
  // those of the files.
  absl::StatusOr<std::vector<KnownFile>> Find(std::span<const std::string> paths, Open open);

 private:
  class Beginning;

  // How much of what was read of an input the FILE begins with.
  enum class Fit {
    kNone,
    kHead,       // the first 4 KiB, but not all
    kShorter,    // these, and it ends too early
    kLastLine,   // all but a last line, which had no end then
    kMoreLines,  // all, and more behind that line
    kAll,
    kWhole,  // all, and it ends there
  };
  struct Match {
    size_t file;
    size_t input;
    Fit fit;
    int distance;  // 0: the same device and inode; 1: the same name
  };

  absl::Status Add(const std::string& path);
  absl::Status Refused(std::string_view why) const;
  absl::Status Compare(size_t file, Open open);
  absl::Status CompareWithInputs(Beginning beginning, size_t file);
  void Note(size_t file, size_t input, Fit fit);
  absl::Status Assign();
  absl::Status CheckNotEdited() const;
  absl::Status FindCopies(Open open);
  absl::StatusOr<bool> EndsWithinHead(size_t file, Open open) const;
  absl::Status ReadContent(size_t file, Open open);
  absl::Status FindCopiesOf(size_t original, std::vector<size_t> files, Open open);
  absl::Status FindCopiesOfGone(Open open);
  // The input of which the file has an earlier beginning, by the ends of its lines. None: there is no such.
  absl::StatusOr<std::optional<size_t>> LongerInput(Beginning beginning,
                                                    const std::vector<size_t>& inputs) const;
  // `remedy`: what to do then.
  absl::Status Changed(size_t file, std::string_view what, std::string_view remedy) const;

  const std::span<const RunNote::Input> inputs_;
  const std::string directory_;
  const std::string keeper_;
  std::vector<KnownFile> files_;
  std::vector<Match> matches_;
  // The file that each of the inputs was read of.
  std::vector<std::optional<size_t>> owners_;
  std::vector<size_t> by_head_;  // the inputs, in the order of their heads' sizes
};

}  // namespace pleat::cli
