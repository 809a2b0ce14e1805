// BlockTable: where the sections of a segment's blocks lie, by partition, so that reading finds an
// offset by two steps. It is held in memory for the segment under way and for a few others, and is
// written at the end of a segment that is full, as its *index*:
//
//   a frame "IX": for each partition 16 bytes, how many sections and the first offset of the first
//   one, and for each of its sections 30: byte in the file (6), records (4), bytes (4), `appended` of
//   the first record, checksum. Of fixed size, as who reads one partition after the other reads the
//   index again and again; and at the end of the file 24 bytes: "PSEN", 4 bytes 0, 8 the byte at which
//   the frame begins, and a checksum of those
//
// The index is a help and no more: where it is missing or damaged, the heads of the blocks say the
// same.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <absl/status/statusor.h>
#include <pleat/untyped/storage.h>

#include "engine/store/block.h"

namespace pleat::inline v0_1 {

// What an index begins with.
inline constexpr std::string_view kIndexBegin = "PSIX";

struct SectionPlace {
  uint64_t first_offset = 0;
  uint64_t at = 0;  // in the file
  uint64_t bytes = 0;
  uint64_t checksum = 0;
  EngineTime first{};  // `appended`
  uint32_t count = 0;

  uint64_t end() const noexcept { return first_offset + count; }

  // That of a block at a place in the file.
  static SectionPlace Of(const SectionEntry& section, uint64_t place) {
    return {.first_offset = section.first_offset,
            .at = place + section.at,
            .bytes = section.bytes,
            .checksum = section.checksum,
            .first = section.first,
            .count = section.count};
  }
};

class BlockTable {
 public:
  explicit BlockTable(size_t partitions) : sections_(partitions) {}

  // Those of the block at `place`. REQUIRES: it is behind those that are there.
  void Add(const std::vector<SectionEntry>& sections, uint64_t place);

  // The sections from the one on that has the offset; empty if there is none.
  std::span<const SectionPlace> From(size_t partition, uint64_t offset) const;

  // Those between two bytes of the file, in their order, as of one block that begins at `begin`.
  std::vector<SectionEntry> Between(uint64_t begin, uint64_t end) const;

  // What is written behind the last block, at `place`; nothing if it were too large.
  std::string Index(const Binding& place) const;
  // Nothing: the file has no whole index that begins at `place`.
  static absl::StatusOr<std::optional<BlockTable>> ReadIndex(StorageReader& reader,
                                                             size_t partitions,
                                                             const Binding& place);
  // Where the end of the file says that it has an index.
  static absl::StatusOr<std::optional<uint64_t>> FindIndex(StorageReader& reader);
  // From the heads of the blocks between two places. Errors: kDataLoss "<offset>" of the storage.
  static absl::StatusOr<BlockTable> ReadHeads(StorageReader& reader, size_t partitions,
                                              const Binding& begin, uint64_t end);

 private:
  static bool TakePartition(std::string_view& fields, std::vector<SectionPlace>& sections);

  std::vector<std::vector<SectionPlace>> sections_;
};

// The head of the block at a place; nothing if there is none. `buffer` is for reading.
absl::StatusOr<std::optional<BlockHead>> ReadBlockHeadAt(StorageReader& reader,
                                                         const Binding& place, std::string& buffer);

}  // namespace pleat::inline v0_1
