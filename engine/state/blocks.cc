#include "engine/state/blocks.h"

#include <xxhash.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "engine/base/check.h"
#include "engine/base/concat.h"

namespace pleat::inline v0_1 {
namespace {

constexpr size_t kHeadBytes = 24;
constexpr size_t kCheckedBytes = 16;  // of the head
constexpr int kLevel = 1;

using Head = std::array<char, kHeadBytes>;

template <class Number>
void PutLittle(char* to, Number number) {
  for (size_t i = 0; i < sizeof(number); ++i) to[i] = static_cast<char>(number >> 8 * i);
}
template <class Number>
Number LittleAt(const char* from) {
  Number number = 0;
  for (size_t i = 0; i < sizeof(number); ++i) {
    number |= Number{static_cast<unsigned char>(from[i])} << 8 * i;
  }
  return number;
}

uint64_t ChecksumOf(const Head& head, std::string_view bytes, uint64_t identity, uint64_t offset) {
  const uint64_t of_head =
      XXH3_64bits_withSeed(head.data(), kCheckedBytes, identity ^ (offset * 0x9e3779b97f4a7c15));
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), of_head);
}

}  // namespace

absl::Status OtherFormat(uint32_t format, uint32_t ours) {
  if (format > ours) {
    return absl::UnimplementedError(
        Concat("format ", format, " is of a newer version of pleat; this one reads ", ours));
  }
  return absl::FailedPreconditionError(
      Concat("format ", format, " is of an older version of pleat: finish with that version"));
}

absl::Status DamageAt(uint64_t offset, std::string_view why) {
  return absl::DataLossError(Concat("at byte ", offset, ": ", why));
}

struct BlockWriter::Compressor {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  std::string room;  // as much as the largest block so far needs: most snapshots are small

  Compressor() = default;
  ~Compressor() { ZSTD_freeCCtx(context); }
  Compressor(const Compressor&) = delete;
  Compressor& operator=(const Compressor&) = delete;
};

BlockWriter::BlockWriter(ByteSink& sink, uint64_t identity, bool compresses)
    : sink_(sink),
      identity_(identity),
      compressor_(compresses ? std::make_unique<Compressor>() : nullptr) {}

BlockWriter::~BlockWriter() = default;

absl::Status BlockWriter::Write(BlockKind kind, uint32_t owner, std::string_view bytes) {
  PLEAT_CHECK(bytes.size() <= kBlockBytesMax);
  std::string_view stored = bytes;
  if (compressor_ != nullptr) {
    const size_t bound = ZSTD_compressBound(bytes.size());
    if (compressor_->room.size() < bound) compressor_->room.resize(bound);
    const size_t size =
        ZSTD_compressCCtx(compressor_->context, compressor_->room.data(), compressor_->room.size(),
                          bytes.data(), bytes.size(), kLevel);
    if (!ZSTD_isError(size) && size < bytes.size()) stored = {compressor_->room.data(), size};
  }
  Head head{'P', 'L', 'B', static_cast<char>(kind)};
  PutLittle(&head[4], static_cast<uint32_t>(stored.size()));
  PutLittle(&head[8], static_cast<uint32_t>(bytes.size()));
  PutLittle(&head[12], owner);
  // A reader learns the identity from the head.
  const uint64_t identity = kind == BlockKind::kHead ? 0 : identity_;
  PutLittle(&head[16], ChecksumOf(head, stored, identity, offset_));
  offset_ += head.size() + stored.size();
  absl::Status status = sink_.Append({head.data(), head.size()});
  if (status.ok()) status = sink_.Append(stored);
  return status;
}

// Fills as much as there is.
absl::StatusOr<size_t> BlockReader::Fill(char* to, size_t size) {
  size_t filled = 0;
  while (filled < size) {
    const absl::StatusOr<size_t> read = source_.Read(std::span(to + filled, size - filled));
    if (!read.ok()) return read.status();
    if (*read == 0) break;
    filled += *read;
  }
  return filled;
}

absl::StatusOr<Block> BlockReader::Next() {
  const uint64_t begin = offset_;
  Head head;
  const absl::StatusOr<size_t> got = Fill(head.data(), head.size());
  if (!got.ok()) return got.status();
  if (*got < head.size()) return DamageAt(begin, "the end is missing");
  const auto stored_size = LittleAt<uint32_t>(&head[4]);
  const auto size = LittleAt<uint32_t>(&head[8]);
  if (std::memcmp(head.data(), "PLB", 3) != 0 || size > kBlockBytesMax || stored_size > size) {
    return DamageAt(begin, "this is not a block");
  }
  std::string stored(stored_size, '\0');
  const absl::StatusOr<size_t> filled = Fill(stored.data(), stored.size());
  if (!filled.ok()) return filled.status();
  if (*filled < stored.size()) return DamageAt(begin, "the end of the block is missing");
  const auto kind = static_cast<BlockKind>(head[3]);
  const uint64_t identity = kind == BlockKind::kHead ? 0 : identity_;
  if (LittleAt<uint64_t>(&head[16]) != ChecksumOf(head, stored, identity, begin)) {
    return DamageAt(begin, "the checksum is wrong");
  }
  offset_ += head.size() + stored.size();
  Block block{.kind = kind,
              .owner = LittleAt<uint32_t>(&head[12]),
              .offset = begin,
              .end = offset_,
              .bytes = {}};
  if (stored_size == size) {
    block.bytes = std::move(stored);
    return block;
  }
  block.bytes.resize(size);
  const size_t whole =
      ZSTD_decompress(block.bytes.data(), block.bytes.size(), stored.data(), stored.size());
  if (ZSTD_isError(whole) || whole != size) return DamageAt(begin, "it does not decompress");
  return block;
}

absl::Status BlockReader::ExpectEnd() {
  char next = 0;
  const absl::StatusOr<size_t> got = Fill(&next, 1);
  if (!got.ok()) return got.status();
  return *got == 0 ? absl::OkStatus() : DamageAt(offset_, "there is something behind the end");
}

}  // namespace pleat::inline v0_1
