#include "engine/store/segments.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "engine/base/check.h"
#include "engine/base/concat.h"

namespace pleat::inline v0_1 {
namespace {

// What lies behind `end` does not count.
void Take(std::span<const SectionPlace> sections, uint64_t bytes, uint64_t end,
          std::vector<SectionPlace>& found) {
  uint64_t taken = 0;
  for (const SectionPlace& section : sections) {
    if (taken > 0 && taken + section.bytes > bytes) return;
    if (section.bytes > end || section.at > end - section.bytes) return;
    found.push_back(section);
    taken += section.bytes;
  }
}

}  // namespace

Segment Segment::Of(const SegmentHead& head, uint64_t end) {
  EngineTime latest = kBeginningOfTime;
  // The last partition is that of notes, for which no age counts.
  for (size_t i = 0; i + 1 < head.before.partitions.size(); ++i) {
    latest = std::max(latest, head.before.partitions[i].latest);
  }
  return {.number = head.number,
          .begin = head.head_bytes,
          .end = end,
          .first_offsets = NextOffsets(head.before),
          .latest_before = latest};
}

void Segments::AddOld(Segment segment) {
  LockGuard guard(lock_);
  segments_.push_back(std::move(segment));
}

void Segments::Put(const SegmentHead& head, uint64_t end) {
  GoOnBehind(head.before.cut);
  segments_.push_back(Segment::Of(head, end));
}

void Segments::GoOn(std::span<const Newer> newer, std::shared_ptr<StorageReader> reader,
                    BlockTable table, bool anew) {
  LockGuard guard(lock_);
  if (anew) {
    opening_.store(RandomHashKey()[0], std::memory_order_release);
    segments_.clear();
    open_.clear();
    reader_.reset();
    table_.reset();
  }
  for (const Newer& each : newer) Put(each.head, each.end);
  reader_ = std::move(reader);
  table_ = std::make_shared<BlockTable>(std::move(table));
}

// The table of the segment under way is kept if it has all of its blocks.
void Segments::GoOnBehind(StoreCut cut) {
  if (table_ != nullptr && StoreCut{segments_.back().number, segments_.back().end} == cut) {
    Keep({cut.segment, std::move(reader_), std::move(table_)});
  }
  reader_.reset();
  table_.reset();
  if (!segments_.empty() && StoreCut{segments_.back().number, segments_.back().end} > cut) {
    opening_.store(RandomHashKey()[0], std::memory_order_release);
  }
  while (!segments_.empty() && segments_.back().number > cut.segment) segments_.pop_back();
  if (!segments_.empty()) segments_.back().end = cut.end;
}

void Segments::Begin(const SegmentHead& head, std::shared_ptr<StorageReader> reader,
                     BlockTable table, uint64_t end) {
  LockGuard guard(lock_);
  Put(head, end);
  reader_ = std::move(reader);
  table_ = std::make_shared<BlockTable>(std::move(table));
}

void Segments::Add(const std::vector<SectionEntry>& sections, uint64_t place, uint64_t bytes) {
  LockGuard guard(lock_);
  PLEAT_CHECK(table_ != nullptr && segments_.back().end == place);
  table_->Add(sections, place);
  segments_.back().end = place + bytes;
}

std::string Segments::IndexAt(uint64_t end) const {
  LockGuard guard(lock_);
  PLEAT_CHECK(table_ != nullptr && segments_.back().end == end);
  return table_->Index({identity_, segments_.back().number, end});
}

const Segment* Segments::Holding(size_t partition, uint64_t offset) const {
  const auto behind = std::ranges::upper_bound(
      segments_, offset, {},
      [partition](const Segment& segment) { return segment.first_offsets[partition]; });
  return behind == segments_.begin() ? nullptr : &*std::prev(behind);
}

Segments::Open Segments::Opened(uint64_t segment) const {
  const auto found = std::ranges::find(open_, segment, &Open::segment);
  if (found == open_.end()) return {};
  std::rotate(found, found + 1, open_.end());
  return open_.back();
}

void Segments::Keep(Open open) const {
  if (open_.size() == kOpenMax) open_.erase(open_.begin());
  open_.push_back(std::move(open));
}

absl::Status Segments::Find(size_t partition, uint64_t offset, uint64_t bytes,
                            FoundSections& found) const {
  found.sections.clear();
  Segment segment;
  {
    LockGuard guard(lock_);
    const Segment* const holding = Holding(partition, offset);
    if (holding == nullptr) return absl::OutOfRangeError("the offset is gone");
    found.segment = holding->number;
    if (holding == &segments_.back() && table_ != nullptr) {
      found.reader = reader_;
      Take(table_->From(partition, offset), bytes, holding->end, found.sections);
      if (found.sections.empty()) return absl::OutOfRangeError("the offset is gone");
      return absl::OkStatus();
    }
    if (const Open open = Opened(holding->number); open.table != nullptr) {
      found.reader = open.reader;
      Take(open.table->From(partition, offset), bytes, holding->end, found.sections);
      if (!found.sections.empty()) return absl::OkStatus();
    }
    segment = *holding;
  }
  const absl::StatusOr<Open> open = Load(segment);
  if (!open.ok()) {
    // Its blocks may have been copied into another one meanwhile.
    return Counts(segment.number) ? open.status() : Find(partition, offset, bytes, found);
  }
  found.reader = open->reader;
  Take(open->table->From(partition, offset), bytes, segment.end, found.sections);
  // What the head of the next segment says and the blocks do not.
  if (found.sections.empty()) {
    return StoreDamage(path(), NameOfSegment(segment.number), segment.end,
                       Concat("offset ", offset, " of partition ", partition, " is missing"));
  }
  LockGuard guard(lock_);
  const bool counts =
      std::ranges::find(segments_, segment.number, &Segment::number) != segments_.end();
  if (counts && Opened(segment.number).table == nullptr) Keep(*open);
  return absl::OkStatus();
}

absl::StatusOr<Segments::Open> Segments::Load(const Segment& segment) const {
  const std::string name = NameOfSegment(segment.number);
  absl::StatusOr<std::unique_ptr<StorageReader>> reader = directory_.OpenFile(name);
  if (!reader.ok()) return reader.status();
  Open open{.segment = segment.number, .reader = *std::move(reader), .table = nullptr};
  absl::StatusOr<std::optional<BlockTable>> index =
      BlockTable::ReadIndex(*open.reader, partitions_, {identity_, segment.number, segment.end});
  if (!index.ok()) return index.status();
  if (*index) {
    open.table = std::make_shared<const BlockTable>(**std::move(index));
    return open;
  }
  absl::StatusOr<BlockTable> heads = BlockTable::ReadHeads(
      *open.reader, partitions_, {identity_, segment.number, segment.begin}, segment.end);
  if (!heads.ok()) {
    if (!absl::IsDataLoss(heads.status())) return heads.status();
    return absl::DataLossError(
        Concat(path(), "/", name, ": ", std::string(heads.status().message())));
  }
  open.table = std::make_shared<const BlockTable>(*std::move(heads));
  return open;
}

uint64_t Segments::First(size_t partition) const {
  LockGuard guard(lock_);
  return segments_.empty() ? 0 : segments_.front().first_offsets[partition];
}

Segments::Oldest Segments::OldestToGo(const RetentionOptions& keep,
                                      std::span<const uint64_t> needed, uint64_t certain) const {
  LockGuard guard(lock_);
  Oldest oldest;
  uint64_t left = BytesLocked();
  for (size_t i = 0; i + 1 < segments_.size() && segments_[i].number < certain; ++i) {
    const Segment& next = segments_[i + 1];
    const bool nobody_needs = std::ranges::equal(next.first_offsets, needed, std::less_equal());
    const bool may_go = next.latest_before < keep.appended_since && nobody_needs;
    if (next.first_offsets.back() > needed.back()) break;  // a note that is needed
    if (!may_go && left <= keep.bytes_max) break;
    oldest.numbers.push_back(segments_[i].number);
    oldest.bytes += segments_[i].end;
    oldest.first = next.number;
    oldest.first_offsets = next.first_offsets;
    left -= segments_[i].end;
  }
  return oldest;
}

void Segments::Drop(uint64_t before) {
  LockGuard guard(lock_);
  PLEAT_CHECK(segments_.empty() || before <= segments_.back().number);
  std::erase_if(segments_, [&](const Segment& segment) { return segment.number < before; });
  std::erase_if(open_, [&](const Open& open) { return open.segment < before; });
}

bool Segments::Counts(uint64_t segment) const {
  LockGuard guard(lock_);
  return std::ranges::find(segments_, segment, &Segment::number) != segments_.end();
}

std::vector<Segment> Segments::List() const {
  LockGuard guard(lock_);
  return segments_;
}

uint64_t Segments::BytesLocked() const {
  uint64_t bytes = 0;
  for (const Segment& segment : segments_) bytes += segment.end;
  return bytes;
}

uint64_t Segments::bytes() const {
  LockGuard guard(lock_);
  return BytesLocked();
}

size_t Segments::size() const {
  LockGuard guard(lock_);
  return segments_.size();
}

}  // namespace pleat::inline v0_1
