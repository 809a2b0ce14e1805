// Cuts a stream of bytes at newlines, into blocks of whole lines.
//
// A block holds the lines that one read completed, so a line is handed on as soon as its newline
// has arrived. Memory is bounded: a line that outgrows the buffer, and so the limit of a line,
// comes in pieces, the first of which shows that the line is too long. Behind every block
// kLinePaddingBytes can be read, as FoldLine requires. A byte order mark at the beginning is
// skipped.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include <absl/status/statusor.h>
#include <pleat/json.h>

#include "tools/pleat/byte_source.h"
#include "tools/pleat/text_digest.h"

namespace pleat::cli {

// FoldLine is shown at most this much of a line: enough to see that the line is over the limit.
inline constexpr size_t kLineBytesShown = kLineBytesMax + 1;

struct LineBlock {
  enum class Kind {
    kEnd,        // nothing more comes
    kLines,      // lines, each with its newline, which only the last line of the input may lack
    kLongBegin,  // the first piece of a line over the limit, at least kLineBytesShown long
    kLongMore,   // a further piece of it
    kLongEnd,    // its last piece, newline included if there is one; may be empty
  };
  Kind kind = Kind::kEnd;
  std::string_view text;
  // Of kLines: only the end of the input has ended what these lines were made of. Of kEnd: there
  // was such an end, and it was left.
  bool unfinished = false;
};

class LineReader {
 public:
  // `end`: what becomes of a last line without a newline. A line over the limit is invalid in any case,
  // and never left.
  explicit LineReader(std::unique_ptr<ByteSource> source,
                      UnfinishedEnd end = UnfinishedEnd::kTaken);

  // The block is valid until the next call. Errors: those of the source. The beginning of an
  // unfinished line is then dropped, since half a line says nothing.
  absl::StatusOr<LineBlock> Next();

  // Reads past the next `bytes` bytes, less at the end of the input, and adds them to `digest`.
  // Returns how many. REQUIRES: Next() was not called. Errors: as Next().
  absl::StatusOr<uint64_t> Skip(uint64_t bytes, TextDigest& digest);

  // Reads past the next newline, and no further than `most` bytes, less at the end of the input.
  // Returns how many. `ends`: up to that newline. REQUIRES and errors: as Skip().
  absl::StatusOr<uint64_t> SkipLine(uint64_t most, bool& ends);

  // Whether nothing follows. Waits for a byte or the end. REQUIRES and errors: as Skip().
  absl::StatusOr<bool> AtEnd();

  // Whether a line ends here: its newline was skipped or follows, or nothing does. REQUIRES and
  // errors: as AtEnd().
  absl::StatusOr<bool> AtLineEnd();

  // Whether nothing follows, or a newline alone. REQUIRES and errors: as AtEnd().
  absl::StatusOr<bool> AtLastLineEnd();

  // Whether the source has left a record without an end. REQUIRES: all was read.
  bool has_rest() const { return unfinished_end_ == UnfinishedEnd::kLeft && source_->unfinished(); }

  // The next bytes belong to a line over the limit, whose beginning was read by an earlier run.
  // REQUIRES: as Skip().
  void GoOnInLongLine() { in_long_ = true; }

 private:
  absl::Status Begin();
  absl::Status SkipByteOrderMark();
  LineBlock Take(LineBlock::Kind kind, size_t end);
  LineBlock TakeEnd();
  absl::StatusOr<LineBlock> NextOfLong();
  absl::Status Fill();

  std::unique_ptr<ByteSource> source_;
  UnfinishedEnd unfinished_end_;
  std::vector<char> buffer_;
  size_t begin_ = 0;  // of the bytes not handed out yet
  size_t end_ = 0;
  bool at_beginning_ = true;
  bool in_long_ = false;
  bool ended_ = false;
};

}  // namespace pleat::cli
