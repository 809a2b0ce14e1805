// Blocks: a sequence of bytes in pieces of up to 1 MiB, each with a checksum. A snapshot is a
// sequence of blocks; docs/formats.md has the layout.
//
//   0   4  "PLB" and the kind
//   4   4  bytes that follow the head
//   8   4  bytes when decompressed; the same number: they are not compressed
//   12  4  the owner's: of a part the partition
//   16  8  checksum
//
// All numbers have the lowest byte first. The checksum is XXH3-64 of the first 16 bytes and of those
// that follow the head. Its seed is made of the sequence's identity and the block's place in it, so
// that a block from elsewhere, or from an older life of the file, is damage.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <pleat/snapshot.h>

namespace pleat::inline v0_1 {

// A part, which is what a snapshot has of one partition, begins with a block kPart, and its first
// book with it. Each other book begins with a block kBook; blocks kMore go on with a book.
//
// Behind the parts come the rests: the events and lines that wait for their turn, of a collection or of the
// intake. A rest begins with a block kRest, and blocks kMoreRest go on with it. Their owner is the number
// of the collection, or 0 for the intake.
enum class BlockKind : uint8_t {
  kHead = 'H',
  kPart = 'P',
  kBook = 'B',
  kMore = 'M',
  kRest = 'R',
  kMoreRest = 'S',
  kEnd = 'E'
};
constexpr bool IsOfPart(BlockKind kind) {
  return kind == BlockKind::kPart || kind == BlockKind::kBook || kind == BlockKind::kMore;
}
// What a rest begins with.
inline constexpr uint64_t kRestLayout = 1;
constexpr bool IsOfRest(BlockKind kind) {
  return kind == BlockKind::kRest || kind == BlockKind::kMoreRest;
}
// Whether it goes on with what the block before it has begun.
constexpr bool GoesOn(BlockKind kind) {
  return kind == BlockKind::kMore || kind == BlockKind::kMoreRest;
}

inline constexpr size_t kBlockBytesMax = size_t{1} << 20;

class BlockWriter {
 public:
  // `sink` outlives the writer.
  BlockWriter(ByteSink& sink, uint64_t identity, bool compresses);
  ~BlockWriter();

  // REQUIRES: `bytes` are no more than kBlockBytesMax.
  absl::Status Write(BlockKind kind, uint32_t owner, std::string_view bytes);

 private:
  struct Compressor;

  ByteSink& sink_;
  const uint64_t identity_;
  const std::unique_ptr<Compressor> compressor_;  // null: nothing is compressed
  uint64_t offset_ = 0;
};

struct Block {
  BlockKind kind;
  uint32_t owner;
  uint64_t offset;  // where it begins,
  uint64_t end;     // and where the next one does
  std::string bytes;
};

class BlockReader {
 public:
  // `source` outlives the reader, and begins at `offset` of the sequence.
  explicit BlockReader(ByteSource& source, uint64_t offset = 0)
      : source_(source), offset_(offset) {}

  // The next block. Errors: kDataLoss, with the offset and what is wrong; those of the source.
  absl::StatusOr<Block> Next();
  // Whether the source is at its end. Reads a byte that is there, which is then damage.
  absl::Status ExpectEnd();

  // The head has told. REQUIRED before the block behind it is read.
  void set_identity(uint64_t identity) noexcept { identity_ = identity; }

 private:
  absl::StatusOr<size_t> Fill(char* to, size_t size);

  ByteSource& source_;
  uint64_t identity_ = 0;
  uint64_t offset_;
};

// "at byte 120: why".
absl::Status DamageAt(uint64_t offset, std::string_view why);
// What bytes of a format are that is not `ours`: kUnimplemented if it is newer, else
// kFailedPrecondition.
absl::Status OtherFormat(uint32_t format, uint32_t ours);

}  // namespace pleat::inline v0_1
