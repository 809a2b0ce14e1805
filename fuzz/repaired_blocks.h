// Blocks whose sizes and checksums are right, made of bytes in which nothing need be: so that a
// fuzzer gets behind the checksums.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <pleat/stored.h>

#include "engine/state/blocks.h"
#include "tests/support/bytes.h"

namespace pleat_fuzz {

struct RawBlock {
  pleat::BlockKind kind;
  uint32_t owner;
  std::string_view payload;
};

// Each from its "PLB" to the next one, whatever size it says.
inline std::vector<RawBlock> BlocksIn(std::string_view bytes) {
  constexpr std::string_view kMark = "PLB";
  constexpr size_t kHeadBytes = 24;
  std::vector<RawBlock> blocks;
  bytes.remove_prefix(std::min(bytes.find(kMark), bytes.size()));
  while (bytes.size() >= kHeadBytes) {
    const std::string_view block = bytes.substr(0, bytes.find(kMark, kHeadBytes));
    uint32_t owner = 0;
    for (size_t i = 0; i < 4; ++i) {
      owner |= uint32_t{static_cast<unsigned char>(block[12 + i])} << 8 * i;
    }
    blocks.push_back({static_cast<pleat::BlockKind>(block[3]), owner, block.substr(kHeadBytes)});
    bytes.remove_prefix(block.size());
  }
  return blocks;
}

// The blocks of `bytes`, uncompressed, with the sizes and checksums of docs/formats.md. The
// identity is the number that the second block begins with, as in a snapshot.
inline std::string RepairedBlocks(std::string_view bytes) {
  const std::vector<RawBlock> blocks = BlocksIn(bytes);
  const uint64_t identity =
      blocks.size() > 1 ? pleat::FieldReader(blocks[1].payload).Number() : uint64_t{0};
  pleat::StringSink sink;
  pleat::BlockWriter writer(sink, identity, /*compresses=*/false);
  for (const RawBlock& block : blocks) {
    writer.Write(block.kind, block.owner, block.payload.substr(0, pleat::kBlockBytesMax))
        .IgnoreError();  // the sink has none
  }
  return sink.bytes;
}

}  // namespace pleat_fuzz
