

#include "engine/core/snapshot_head.h"

#include <algorithm>
#include <utility>

#include "engine/base/concat.h"
#include "engine/core/option_table.h"
#include "engine/core/parts_reader.h"
#include "engine/core/source_positions.h"

namespace pleat::inline v0_1 {
namespace {

// No engine counts as far as that: what it counts from here on does not wrap.
constexpr uint64_t kCountedMax = uint64_t{1} << 60;
constexpr uint32_t kCollectionsMax = uint32_t{1} << 31;

}  // namespace

// The number of bytes, and as many blocks as they take: source positions may be many.
absl::Status SnapshotHead::Write(BlockWriter& writer) {
  FieldWriter out(kBlockBytesMax);
  Stored(out);
  const std::vector<FieldWriter::Piece> pieces = out.TakePieces();
  FieldWriter first;
  first(kFormat, pieces.size());
  absl::Status status = writer.Write(BlockKind::kHead, 0, first.bytes());
  for (const FieldWriter::Piece& piece : pieces) {
    if (status.ok()) status = writer.Write(BlockKind::kHead, 0, piece.bytes());
  }
  return status;
}

bool SnapshotHead::InRange() const {
  const auto fits = [&](const Collection& each) { return each.entries.size() <= partitions; };
  return axis <= Axis::kEvent && watermark_delay >= Duration{0} && now >= kBeginningOfTime &&
         now <= kEndOfTime && lease_now >= LeaseTime(kBeginningOfTime) &&
         lease_now <= LeaseTime(kEndOfTime) && position < kCountedMax &&
         lasting.first_number < kCountedMax && lasting.ever_added < kCollectionsMax &&
         std::ranges::all_of(collections, fits) &&
         std::ranges::all_of(lost, [&](uint32_t each) { return each < partitions; });
}

// A copy that was salvaged has one more list behind the rest, of what was lost; and a copy of a
// copy one more.
absl::StatusOr<SnapshotHead> SnapshotHead::Read(BlockReader& reader) {
  const absl::StatusOr<Block> first = reader.Next();
  if (!first.ok()) return first.status();
  FieldReader beginning(first->bytes);
  uint32_t format = 0;
  size_t pieces = 0;
  beginning(format, pieces);
  if (first->kind != BlockKind::kHead || !beginning.ok() || format == 0) {
    return DamageAt(first->offset, "this is not the beginning of a snapshot");
  }
  if (format != kFormat) return OtherFormat(format, kFormat);
  std::string bytes;
  for (; pieces > 0; --pieces) {
    const absl::StatusOr<Block> block = reader.Next();
    if (!block.ok()) return block.status();
    if (block->kind != BlockKind::kHead) return DamageAt(block->offset, "the head has no end");
    bytes += block->bytes;
  }
  FieldReader in(bytes);
  SnapshotHead head;
  head.Stored(in);
  while (in.Has(1)) {
    std::vector<uint32_t> more;
    in(more);
    head.lost.insert(head.lost.end(), more.begin(), more.end());
  }
  std::ranges::sort(head.lost);
  head.lost.erase(std::ranges::unique(head.lost).begin(), head.lost.end());
  if (!in.done() || !head.InRange())
    return DamageAt(first->offset, "the head says something impossible");
  reader.set_identity(head.identity);
  return head;
}

SnapshotInfo SnapshotHead::Info() const {
  SnapshotInfo info{.identity = identity,
                    .tag = tag,
                    .now = now,
                    .lease_now = lease_now,
                    .partitions = static_cast<int>(partitions),
                    .axis = axis,
                    .collections = {},
                    .note = note};
  info.lost.assign(lost.begin(), lost.end());
  for (const Collection& each : collections) {
    SnapshotInfo::Collection& collection = info.collections.emplace_back();
    collection.name = each.name;
    collection.number = each.number;
    collection.kind = each.description.kind;
    for (size_t i = 0; i < each.entries.size(); ++i) {
      const bool is_lost = std::ranges::find(lost, i) != lost.end();
      if (!is_lost) collection.entries += each.entries[i];
    }
    for (const auto& [option, value] : each.description.options) {
      collection.options.emplace_back(option, ValueInWords(collection.kind, option, value));
    }
    SourcePositions positions(info.partitions);
    FieldReader in(each.shared);
    positions.Load(in);
    positions.ForEach([&](uint64_t source, uint64_t lowest, uint64_t highest) {
      collection.sources.push_back({.source = source, .lowest = lowest, .highest = highest});
    });
  }
  return info;
}

absl::StatusOr<SnapshotInfo> ReadSnapshotInfo(ByteSource& source) {
  BlockReader reader(source);
  const absl::StatusOr<SnapshotHead> head = SnapshotHead::Read(reader);
  if (!head.ok()) return head.status();
  return head->Info();
}

absl::StatusOr<SnapshotInfo> CheckSnapshot(ByteSource& source) {
  PartsReader parts(source);
  const absl::StatusOr<SnapshotHead> head = SnapshotHead::Read(parts.blocks());
  if (!head.ok()) return head.status();
  parts.set_partitions(head->partitions);
  for (bool of_parts = true;;) {
    absl::StatusOr<std::optional<Block>> block = of_parts ? parts.NextPart() : parts.NextRest();
    if (block.ok() && !*block && !std::exchange(of_parts, false)) return head->Info();
    while (block.ok() && *block) block = parts.NextOfPart();
    if (!block.ok()) return block.status();
  }
}

}  // namespace pleat::inline v0_1
