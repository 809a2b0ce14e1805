#include "engine/store/block_table.h"

#include <algorithm>
#include <utility>

#include <pleat/stored.h>

#include "engine/base/concat.h"
#include "engine/store/frame.h"
#include "engine/store/record_code.h"
#include "engine/store/store_files.h"

namespace pleat::inline v0_1 {
namespace {

constexpr std::string_view kIndexLetters = "IX";
constexpr std::string_view kEndLetters = "PSEN";
constexpr size_t kEndBytes = 24;
// What is read first of a block: its whole head, if there are not very many sections.
constexpr size_t kFirstBytes = 4096;

std::string EndOf(const Binding& place, const Binding& end) {
  std::string bytes(kEndBytes, '\0');
  bytes.replace(0, kEndLetters.size(), kEndLetters);
  PutFixed(&bytes[8], place.place);
  PutFixed(&bytes[16], ChecksumOf({bytes.data(), 16}, end));
  return bytes;
}

}  // namespace

void BlockTable::Add(const std::vector<SectionEntry>& sections, uint64_t place) {
  for (const SectionEntry& section : sections) {
    sections_[section.partition].push_back({.first_offset = section.first_offset,
                                            .at = place + section.at,
                                            .bytes = section.bytes,
                                            .checksum = section.checksum,
                                            .first = section.first,
                                            .count = section.count});
  }
}

std::span<const SectionPlace> BlockTable::From(size_t partition, uint64_t offset) const {
  const std::vector<SectionPlace>& sections = sections_[partition];
  const auto behind = std::ranges::upper_bound(sections, offset, {}, &SectionPlace::first_offset);
  if (behind == sections.begin() || offset >= std::prev(behind)->end()) return {};
  return {std::prev(behind), sections.end()};
}

std::string BlockTable::Index(const Binding& place) const {
  FieldWriter out;
  for (const std::vector<SectionPlace>& sections : sections_) {
    out.PutNumber(sections.size());
    if (sections.empty()) continue;
    out.PutNumber(sections.front().first_offset);
    uint64_t at = 0;
    EngineTime before{};
    for (const SectionPlace& section : sections) {
      out.PutNumber(section.count);
      out.PutNumber(section.bytes);
      out.PutNumber(section.at - at);
      out.PutNumber(detail::ZigZag((section.first - before).count()));
      out.PutWord(section.checksum);
      at = section.at + section.bytes;
      before = section.first;
    }
  }
  std::string index = FrameOf(kIndexLetters, out.bytes(), place);
  index += EndOf(place, place.Behind(index.size()));
  return index;
}

bool BlockTable::GetPartition(FieldReader& in, std::vector<SectionPlace>& sections) {
  sections.resize(in.Count());
  uint64_t offset = sections.empty() ? 0 : in.Number();
  uint64_t at = 0;
  int64_t before = 0;
  for (SectionPlace& section : sections) {
    section.first_offset = offset;
    section.count = static_cast<uint32_t>(in.Number());
    section.bytes = in.Number();
    section.at = at + in.Number();
    before += detail::UnZigZag(in.Number());
    section.first = Clamp(EngineTime(Duration(before)));
    before = section.first.time_since_epoch().count();
    section.checksum = in.Word();
    if (!in.Expect(section.bytes <= kBlockBodyBytesMax)) return false;
    offset += section.count;
    at = section.at + section.bytes;
  }
  return in.ok();
}

absl::StatusOr<std::optional<BlockTable>> BlockTable::ReadIndex(StorageReader& reader,
                                                                size_t partitions,
                                                                const Binding& place) {
  const absl::StatusOr<uint64_t> size = reader.Size();
  if (!size.ok()) return size.status();
  if (*size < place.place + kFrameBytes + kEndBytes) return std::optional<BlockTable>();
  const uint64_t frame_bytes = *size - place.place - kEndBytes;
  std::string bytes;
  absl::Status read = ReadInto(reader, *size - kEndBytes, kEndBytes, bytes);
  if (!read.ok()) return read;
  if (frame_bytes > kFrameFieldsMax || bytes != EndOf(place, place.Behind(frame_bytes))) {
    return std::optional<BlockTable>();
  }
  read = ReadInto(reader, place.place, frame_bytes, bytes);
  if (!read.ok()) return read;
  const std::optional<std::string_view> fields = FieldsIn(kIndexLetters, bytes, place);
  if (!fields) return std::optional<BlockTable>();
  FieldReader in(*fields);
  BlockTable table(partitions);
  for (std::vector<SectionPlace>& sections : table.sections_) {
    if (!GetPartition(in, sections)) return std::optional<BlockTable>();
  }
  if (!in.done()) return std::optional<BlockTable>();
  return std::optional<BlockTable>(std::move(table));
}

absl::StatusOr<BlockTable> BlockTable::ReadHeads(StorageReader& reader, size_t partitions,
                                                 const Binding& begin, uint64_t end) {
  BlockTable table(partitions);
  std::string buffer;
  for (Binding place = begin; place.place < end;) {
    const absl::StatusOr<std::optional<BlockHead>> head = ReadBlockHeadAt(reader, place, buffer);
    if (!head.ok()) return head.status();
    if (!*head || (*head)->bytes() > end - place.place) {
      return absl::DataLossError(
          Concat("at byte ", place.place, ": the checksum of a block's head is wrong"));
    }
    for (const SectionEntry& section : (*head)->sections) {
      if (section.partition >= partitions) {
        return absl::DataLossError(
            Concat("at byte ", place.place, ": it says something impossible"));
      }
    }
    table.Add((*head)->sections, place.place);
    place.place += (*head)->bytes();
  }
  return table;
}

absl::StatusOr<std::optional<BlockHead>> ReadBlockHeadAt(StorageReader& reader,
                                                         const Binding& place,
                                                         std::string& buffer) {
  if (absl::Status read = ReadInto(reader, place.place, kFirstBytes, buffer); !read.ok()) {
    return read;
  }
  const std::optional<BlockSizes> sizes = BlockSizesIn(buffer);
  if (!sizes) return std::optional<BlockHead>();
  if (sizes->head > buffer.size()) {
    if (absl::Status read = ReadInto(reader, place.place, sizes->head, buffer); !read.ok()) {
      return read;
    }
  }
  return ReadBlockHead(buffer, place);
}

}  // namespace pleat::inline v0_1
