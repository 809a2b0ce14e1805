#include "engine/store/block_table.h"

#include <algorithm>
#include <utility>

#include "engine/base/concat.h"
#include "engine/store/frame.h"
#include "engine/store/record_code.h"
#include "engine/store/store_files.h"

namespace pleat::inline v0_1 {
namespace {

constexpr std::string_view kIndexLetters = "IX";
constexpr std::string_view kEndLetters = "PSEN";
constexpr size_t kEndBytes = 24;
constexpr size_t kListBytes = 16;   // of a partition, before its entries
constexpr size_t kEntryBytes = 30;  // of a section
constexpr uint64_t kPlaceMax = (uint64_t{1} << 48) - 1;
// What is read first of a block: its whole head, if there are not very many sections.
constexpr size_t kFirstBytes = 4096;

// The place in the file has 6 bytes. It is put as 8, and the next field comes over the last two.
void PutEntry(char* to, const SectionPlace& section) {
  PutFixed(to, section.at);
  PutFixed(to + 6, section.count);
  PutFixed(to + 10, static_cast<uint32_t>(section.bytes));
  PutFixed(to + 14, static_cast<uint64_t>(section.first.time_since_epoch().count()));
  PutFixed(to + 22, section.checksum);
}
SectionPlace EntryAt(const char* from, uint64_t first_offset) {
  const auto first = static_cast<int64_t>(FixedAt<uint64_t>(from + 14));
  return {.first_offset = first_offset,
          .at = FixedAt<uint64_t>(from) & kPlaceMax,
          .bytes = FixedAt<uint32_t>(from + 10),
          .checksum = FixedAt<uint64_t>(from + 22),
          .first = EngineTime(Duration(first)),
          .count = FixedAt<uint32_t>(from + 6)};
}

// Where the bytes begin that are added.
char* Grow(std::string& bytes, size_t added) {
  bytes.resize(bytes.size() + added);
  return bytes.data() + (bytes.size() - added);
}

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
    sections_[section.partition].push_back(SectionPlace::Of(section, place));
  }
}

std::span<const SectionPlace> BlockTable::From(size_t partition, uint64_t offset) const {
  const std::vector<SectionPlace>& sections = sections_[partition];
  const auto behind = std::ranges::upper_bound(sections, offset, {}, &SectionPlace::first_offset);
  if (behind == sections.begin() || offset >= std::prev(behind)->end()) return {};
  return {std::prev(behind), sections.end()};
}

std::vector<SectionEntry> BlockTable::Between(uint64_t begin, uint64_t end) const {
  std::vector<SectionEntry> found;
  for (size_t i = 0; i < sections_.size(); ++i) {
    for (const SectionPlace& section : sections_[i]) {
      if (section.at < begin || section.at >= end) continue;
      found.push_back({.partition = static_cast<uint32_t>(i),
                       .count = section.count,
                       .first_offset = section.first_offset,
                       .bytes = section.bytes,
                       .first = section.first,
                       .checksum = section.checksum,
                       .at = section.at - begin});
    }
  }
  std::ranges::sort(found, {}, &SectionEntry::at);
  return found;
}

std::string BlockTable::Index(const Binding& place) const {
  std::string fields;
  for (const std::vector<SectionPlace>& sections : sections_) {
    char* to = Grow(fields, kListBytes + sections.size() * kEntryBytes);
    PutFixed(to, uint64_t{sections.size()});
    PutFixed(to + 8, sections.empty() ? 0 : sections.front().first_offset);
    to += kListBytes;
    for (const SectionPlace& section : sections) {
      if (section.at > kPlaceMax || section.bytes > UINT32_MAX) return {};
      PutEntry(to, section);
      to += kEntryBytes;
    }
  }
  if (fields.size() > kFrameFieldsMax) return {};
  std::string index = FrameOf(kIndexLetters, fields, place);
  index += EndOf(place, place.Behind(index.size()));
  return index;
}

// Takes the list of a partition off the fields.
bool BlockTable::TakePartition(std::string_view& fields, std::vector<SectionPlace>& sections) {
  if (fields.size() < kListBytes) return false;
  const auto size = FixedAt<uint64_t>(fields.data());
  auto offset = FixedAt<uint64_t>(fields.data() + 8);
  fields.remove_prefix(kListBytes);
  if (size > fields.size() / kEntryBytes) return false;
  sections.resize(size);
  const char* from = fields.data();
  for (SectionPlace& section : sections) {
    section = EntryAt(from, offset);
    if (section.first != Clamp(section.first)) return false;
    offset += section.count;
    from += kEntryBytes;
  }
  fields.remove_prefix(size * kEntryBytes);
  return true;
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
  std::optional<std::string_view> fields = FieldsIn(kIndexLetters, bytes, place);
  if (!fields) return std::optional<BlockTable>();
  BlockTable table(partitions);
  for (std::vector<SectionPlace>& sections : table.sections_) {
    if (!TakePartition(*fields, sections)) return std::optional<BlockTable>();
  }
  if (!fields->empty()) return std::optional<BlockTable>();
  return std::optional<BlockTable>(std::move(table));
}

absl::StatusOr<std::optional<uint64_t>> BlockTable::FindIndex(StorageReader& reader) {
  const absl::StatusOr<uint64_t> size = reader.Size();
  if (!size.ok()) return size.status();
  if (*size < kEndBytes) return std::optional<uint64_t>();
  std::string bytes;
  absl::Status read = ReadInto(reader, *size - kEndBytes, kEndBytes, bytes);
  if (!read.ok()) return read;
  if (bytes.size() < kEndBytes || !bytes.starts_with(kEndLetters)) return std::optional<uint64_t>();
  const auto place = FixedAt<uint64_t>(&bytes[8]);
  return place < *size ? std::optional(place) : std::nullopt;
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
