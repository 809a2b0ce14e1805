// A block of the log: the records that were appended between two cuts, of all partitions.
//
//   0   4  "PSBL"
//   4   4  bytes of the head: these 56, the table, and the checksum
//   8   8  bytes of the sections
//   16  8  how many blocks of the store come before it
//   24  8  the digest of the block before it; of the first one 0
//   32  8  a cut that was durable for certain before this block was written: the number of the
//   40  8    segment, and the byte where it ends there
//   48  4  sections
//   52  4  the life of the store in which it was written (store_files.h)
//   56     the table: of each section, in the order of partitions, as numbers
//            partition, first offset, records, bytes, `appended` of the first (signed, less that of the
//            section before), how much later the last was appended; and 8 bytes, its checksum
//       8  checksum of the head, which is the block's digest
//          the sections
//
// So one checksum covers the whole block, by way of those of the sections, and names the block before
// it, and so all of them. A section can be read and checked alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include <pleat/stored.h>
#include <pleat/time.h>

#include "engine/store/binding.h"
#include "engine/store/section_buffer.h"
#include "engine/store/store_bytes.h"

namespace pleat::inline v0_1 {

inline constexpr std::string_view kBlockLetters = "PSBL";
inline constexpr size_t kBlockFixedBytes = 56;
inline constexpr uint64_t kBlockHeadBytesMax = uint64_t{1} << 20;
inline constexpr uint64_t kBlockBodyBytesMax = uint64_t{1} << 32;

struct SectionEntry {
  uint32_t partition = 0;
  uint32_t count = 0;
  uint64_t first_offset = 0;
  uint64_t bytes = 0;
  EngineTime first{};  // `appended`
  EngineTime last{};
  uint64_t checksum = 0;
  uint64_t at = 0;           // in the block
  uint64_t checksum_at = 0;  // in the block: where the table has it
};

struct BlockHead {
  uint64_t head_bytes = 0;
  uint64_t body_bytes = 0;
  uint64_t number = 0;
  uint64_t before = 0;
  StoreCut durable;
  uint32_t life = 0;
  uint64_t digest = 0;
  std::vector<SectionEntry> sections;

  uint64_t bytes() const noexcept { return head_bytes + body_bytes; }
};

// The sizes that the first kBlockFixedBytes of a block say; nothing if they are of none.
struct BlockSizes {
  uint64_t head = 0;
  uint64_t body = 0;
};
std::optional<BlockSizes> BlockSizesIn(std::string_view begin);
inline uint64_t BlockNumberIn(std::string_view begin) { return FixedAt<uint64_t>(&begin[16]); }
// No head of a store with so many partitions is longer.
inline constexpr uint64_t BlockHeadBytesMax(uint64_t partitions) {
  return kBlockFixedBytes + 8 + partitions * 64;
}

// Nothing: damaged, or not whole. `bytes` may go on behind the head.
std::optional<BlockHead> ReadBlockHead(std::string_view bytes, const Binding& binding);

// Whether a section of a block is what the table says. `bytes` are its own.
bool IsWhole(const SectionEntry& section, std::string_view bytes, const Binding& of_block) noexcept;

// The same of all sections of a block, whose bytes these are, as far as they go.
bool IsWholeBlock(const BlockHead& head, std::string_view bytes, const Binding& binding) noexcept;

// Entries of a table, for blocks and for the index of a segment.
void PutSection(FieldWriter& out, const SectionEntry& section, EngineTime& before);
// False: they say something impossible.
bool GetSection(FieldReader& in, SectionEntry& section, EngineTime& before);

// A block in memory, which may be written at any place.
class PendingBlock {
 public:
  // Takes over what is in the buffers, which are empty then. Buffer `i` is partition i's.
  // REQUIRES: one is not empty.
  void Fill(std::span<SectionBuffer* const> buffers, FieldWriter& scratch);
  // A block as it was read. REQUIRES: `head` is its head.
  void Copy(const BlockHead& head, std::string_view bytes);

  // Makes it one of that place: checksums, and what it says of others. Returns its digest.
  struct Link {
    uint64_t number = 0;
    uint64_t before = 0;
    StoreCut durable;
    uint32_t life = 0;
  };
  uint64_t Seal(const Binding& binding, const Link& link);

  std::string_view bytes() const noexcept { return image_.bytes(); }
  const std::vector<SectionEntry>& sections() const noexcept { return sections_; }
  uint64_t head_bytes() const noexcept { return head_bytes_; }

 private:
  StoreBytes image_;
  std::vector<SectionEntry> sections_;
  uint64_t head_bytes_ = 0;
};

}  // namespace pleat::inline v0_1
