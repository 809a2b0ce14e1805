#include "engine/store/page_reader.h"

#include <utility>

#include "engine/base/check.h"
#include "engine/store/record_code.h"

namespace pleat::inline v0_1 {
namespace {

// Reads one section into `to`. Returns what is wrong with it; nothing: it is whole.
absl::StatusOr<std::string_view> ReadSection(StorageReader& reader, const SectionPlace& section,
                                             const Binding& place, int partition, char* to) {
  const absl::StatusOr<size_t> got = reader.ReadAt(section.at, {to, section.bytes});
  if (!got.ok()) return got.status();
  if (*got < section.bytes) return std::string_view("the end is missing");
  const uint64_t checksum = ChecksumOfSection(
      {to, section.bytes}, place, static_cast<uint32_t>(partition), section.first_offset);
  if (checksum != section.checksum) return std::string_view("the checksum of a section is wrong");
  return std::string_view();
}

// Adds the records that have the offset `from` or a later one. False: the bytes are none.
bool DecodeSection(const SectionPlace& section, std::string_view bytes, uint64_t from,
                   std::vector<StoredRecord>& records) {
  RecordReader reader(bytes);
  EngineTime appended = section.first;
  StoredRecord record;
  for (uint64_t offset = section.first_offset; offset < section.end(); ++offset) {
    if (!reader.Next(record, appended)) return false;
    record.offset = offset;
    if (offset >= from) records.push_back(record);
  }
  return reader.done();
}

bool WasRemoved(const absl::Status& read, const Segments& segments, int partition,
                uint64_t offset) {
  return absl::IsOutOfRange(read) && offset < segments.First(static_cast<size_t>(partition));
}

}  // namespace

std::string_view TakeSection(const SectionEntry& section, std::string_view block,
                             const Binding& of_block, std::vector<StoredRecord>& records) {
  if (block.size() < section.at + section.bytes) return "the end is missing";
  const std::string_view bytes = block.substr(section.at, section.bytes);
  if (!IsWhole(section, bytes, of_block)) return "the checksum of a section is wrong";
  const size_t before = records.size();
  if (DecodeSection(SectionPlace::Of(section, of_block.place), bytes, /*from=*/0, records)) {
    return {};
  }
  records.resize(before);
  return "a section says something impossible";
}

StorePosition StorePage::PositionAfter(size_t index) const noexcept {
  PLEAT_CHECK(index < records_.size());
  return {records_[index].offset + 1, MarkOf(records_[index])};
}

absl::Status PageReader::ReadSections(const Segments& segments, int partition, uint64_t from,
                                      StorePage& page) {
  const FoundSections& found = page.parts_->found;
  StoreBytes& buffer = page.parts_->buffer;
  uint64_t bytes = 0;
  for (const SectionPlace& section : found.sections) bytes += section.bytes;
  buffer.Clear();
  char* to = buffer.Reserve(bytes);
  for (const SectionPlace& section : found.sections) {
    const Binding place{segments.identity(), found.segment, section.at};
    absl::StatusOr<std::string_view> wrong =
        ReadSection(*found.reader, section, place, partition, to);
    if (!wrong.ok()) return wrong.status();
    if (wrong->empty() && !DecodeSection(section, {to, section.bytes}, from, page.records_)) {
      wrong = std::string_view("a section says something impossible");
    }
    if (!wrong->empty()) {
      return StoreDamage(segments.path(), NameOfSegment(found.segment), section.at, *wrong);
    }
    to += section.bytes;
  }
  return absl::OkStatus();
}

// Fills the page with records from that offset on. REQUIRES: it is durable.
absl::Status PageReader::Read(const Segments& segments, int partition, uint64_t from, size_t bytes,
                              StorePage& page) {
  page.records_.clear();
  FoundSections& found = page.parts_->found;
  absl::Status status = segments.Find(static_cast<size_t>(partition), from, bytes, found);
  if (status.ok()) status = ReadSections(segments, partition, from, page);
  found.reader.reset();  // a page holds no file
  if (!status.ok()) {
    page.records_.clear();
    page.parts_->partition = -1;
    return status;
  }
  const StoredRecord& last = page.records_.back();
  PLEAT_CHECK(page.records_.front().offset == from);
  page.position_ = {last.offset + 1, MarkOf(last)};
  page.parts_->partition = partition;
  page.parts_->opening = segments.opening();
  return absl::OkStatus();
}

// Whether the record before the position has its mark, or was removed. REQUIRES: it was durable.
absl::StatusOr<bool> PageReader::IsThere(const Segments& segments, int partition,
                                         const StorePosition& position, StorePage& page) {
  const StorePage::Parts& parts = *page.parts_;
  if (parts.partition != partition || parts.opening != segments.opening() ||
      page.position_ != position) {
    absl::Status read = Read(segments, partition, position.offset - 1, /*bytes=*/1, page);
    if (WasRemoved(read, segments, partition, position.offset - 1)) return true;
    if (!read.ok()) return read;
    page.position_ = {position.offset, MarkOf(page.records_.front())};
  }
  return page.position_ == position;
}

// An empty page, which ends where it was to begin.
ReadOutcome PageReader::Nothing(ReadOutcome why, const StorePosition& from, StorePage& page) {
  if (page.position_ != from || why == ReadOutcome::kPositionLost) page.parts_->partition = -1;
  page.position_ = from;
  page.records_.clear();
  return why;
}

absl::StatusOr<ReadOutcome> PageReader::Fill(const Segments& segments, int partition,
                                             const StorePosition& from, uint64_t durable,
                                             uint64_t next, size_t bytes, StorePage& page) {
  const auto lost = [&] { return Nothing(ReadOutcome::kPositionLost, from, page); };
  if (from.mark != 0 && 0 < from.offset && from.offset <= durable) {
    const absl::StatusOr<bool> is_there = IsThere(segments, partition, from, page);
    page.records_.clear();
    if (!is_there.ok()) return is_there.status();
    if (!*is_there) return lost();
  }
  if (from.offset < durable) {
    absl::Status read = Read(segments, partition, from.offset, bytes, page);
    if (WasRemoved(read, segments, partition, from.offset)) return lost();
    if (!read.ok()) return read;
    return ReadOutcome::kRecords;
  }
  return from.offset <= next ? Nothing(ReadOutcome::kEnd, from, page) : lost();
}

absl::StatusOr<NotesAt> PageReader::LatestNotes(FirstOf first, FillFrom fill) {
  NotesAt latest;
  StorePage page;
  for (uint64_t next = first();; next = page.next()) {
    absl::StatusOr<ReadOutcome> read = fill(next, page);
    while (read.ok() && *read == ReadOutcome::kPositionLost && first() > next) {
      latest.clear();
      next = first();
      read = fill(next, page);
    }
    if (!read.ok()) return read.status();
    if (*read != ReadOutcome::kRecords) return latest;
    for (const StoredRecord& note : page.records()) {
      latest[std::string(note.key)] = {std::string(note.payload), note.offset};
    }
  }
}

StoreNotes WithoutOffsets(NotesAt notes) {
  StoreNotes plain;
  for (auto& [name, note] : notes) plain.emplace(name, std::move(note.value));
  return plain;
}

}  // namespace pleat::inline v0_1
