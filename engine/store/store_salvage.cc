// Walks over the segments that are left, from block to block. Where no block is, the next one is
// searched. Heads say which offsets a partition has: so what is missing between two blocks is known by
// the next head, of a block or of a segment, and is told as lost.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <pleat/detail/store_copy.h>

#include "engine/store/block_walk.h"
#include "engine/store/consumer_files.h"
#include "engine/store/new_store.h"
#include "engine/store/open_store.h"
#include "engine/store/page_reader.h"
#include "engine/store/segments_left.h"

namespace pleat::inline v0_1 {
namespace {

class StoreSalvage {
 public:
  StoreSalvage(StorageDirectory& directory, SegmentsLeft& left, StoreSalvageReport& report,
               const StoreCopyTold& told)
      : directory_(directory),
        left_(left),
        report_(report),
        told_(told),
        known_(left.manifest().durable),
        lost_(left.manifest().log_partitions()) {}

  absl::Status Run(std::string_view to, Storage* storage);

 private:
  using Reader = std::unique_ptr<StorageReader>;

  absl::StatusOr<Reader> OpenSegment(uint64_t number) const {
    return directory_.OpenFile(NameOfSegment(number));
  }
  Binding PlaceIn(const SegmentLeft& segment, uint64_t at) const noexcept {
    return {left_.manifest().identity, segment.number, at};
  }
  absl::StatusOr<std::vector<PartitionState>> Begin() const;
  absl::Status FindOffsets(const SegmentLeft& segment, std::vector<PartitionState>& begin,
                           std::vector<bool>& is_found) const;
  void Enter(const SegmentLeft& segment);
  absl::Status CopySegment(const SegmentLeft& segment);
  absl::Status CopyBlock(StorageReader& file, const BlockWalk& walk);
  std::string_view Take(const SectionEntry& section, const Binding& place);
  void PassTo(size_t partition, uint64_t offset);
  absl::Status Tell();
  void Conclude();

  StorageDirectory& directory_;
  SegmentsLeft& left_;
  StoreSalvageReport& report_;
  const StoreCopyTold& told_;
  std::unique_ptr<NewStore> copy_;
  std::vector<uint64_t> next_;  // offset of each partition
  StoreCut known_;              // the latest durable cut that is named
  StoreCut reached_;
  bool ends_in_damage_ = false;  // the segment that was copied last
  StoreCopyProgress progress_;
  std::vector<std::vector<LostRecords>> lost_;  // of each partition
  std::string block_;
  std::vector<StoredRecord> records_;
};

absl::Status StoreSalvage::Run(std::string_view to, Storage* storage) {
  absl::StatusOr<std::vector<PartitionState>> begin = Begin();
  if (!begin.ok()) return begin.status();
  for (const PartitionState& partition : *begin) next_.push_back(partition.next);
  absl::StatusOr<std::unique_ptr<NewStore>> copy = NewStore::Create(to, storage, *std::move(begin));
  if (!copy.ok()) return copy.status();
  copy_ = *std::move(copy);
  for (const SegmentLeft& segment : left_.segments()) progress_.bytes_all += segment.size;
  absl::Status status = Tell();
  for (const SegmentLeft& segment : left_.segments()) {
    if (status.ok()) status = CopySegment(segment);
  }
  if (status.ok()) status = copy_->Finish({}, {});
  if (status.ok()) Conclude();
  return status;
}

// Where each partition begins: as the first head says that knows of it.
absl::StatusOr<std::vector<PartitionState>> StoreSalvage::Begin() const {
  std::vector<PartitionState> begin(left_.manifest().log_partitions());
  std::vector<bool> is_found(begin.size());
  for (const SegmentLeft& segment : left_.segments()) {
    if (segment.head) {
      for (size_t i = 0; i < begin.size(); ++i) {
        if (!is_found[i]) begin[i] = segment.head->before.partitions[i];
      }
      break;
    }
    if (segment.first_block == 0) break;
    if (absl::Status found = FindOffsets(segment, begin, is_found); !found.ok()) return found;
  }
  return begin;
}

// Of a segment whose head is damaged: by its blocks.
absl::Status StoreSalvage::FindOffsets(const SegmentLeft& segment,
                                       std::vector<PartitionState>& begin,
                                       std::vector<bool>& is_found) const {
  const absl::StatusOr<Reader> file = OpenSegment(segment.number);
  if (!file.ok()) return file.status();
  BlockWalk walk(**file, PlaceIn(segment, segment.begin), segment.end, begin.size());
  for (;;) {
    const absl::StatusOr<bool> next = walk.Next();
    if (!next.ok()) return next.status();
    if (!*next || walk.head().number >= segment.end_block) return absl::OkStatus();
    for (const SectionEntry& section : walk.head().sections) {
      if (is_found[section.partition]) continue;
      begin[section.partition].next = section.first_offset;
      is_found[section.partition] = true;
    }
  }
}

void StoreSalvage::Enter(const SegmentLeft& segment) {
  if (!segment.head) {
    left_.NoteDamage(NameOfSegment(segment.number), 0, segment.begin,
                     "the checksum of its head is wrong");
    return;
  }
  known_ = std::max(known_, segment.head->durable);
  for (size_t i = 0; i < next_.size(); ++i) PassTo(i, segment.head->before.partitions[i].next);
}

absl::Status StoreSalvage::CopySegment(const SegmentLeft& segment) {
  const absl::StatusOr<Reader> file = OpenSegment(segment.number);
  if (!file.ok()) return file.status();
  Enter(segment);
  ends_in_damage_ = false;
  uint64_t next_block = segment.first_block;
  BlockWalk walk(**file, PlaceIn(segment, segment.begin), segment.end, next_.size());
  while (next_block < segment.end_block) {
    const absl::StatusOr<bool> next = walk.Next();
    if (!next.ok()) return next.status();
    if (!*next) break;
    const bool is_block = walk.kind() == BlockWalk::Kind::kBlock;
    if (is_block && walk.head().number >= segment.end_block) break;
    const uint64_t behind = walk.place().place + walk.bytes();
    ends_in_damage_ = walk.kind() == BlockWalk::Kind::kUnknown;
    if (!is_block) {
      left_.NoteDamage(NameOfSegment(segment.number), walk.place().place, walk.bytes(),
                       ends_in_damage_ ? "no block is whole here"
                                       : "a head is damaged, and the index knows the sections");
    }
    if (ends_in_damage_) continue;
    if (absl::Status copied = CopyBlock(**file, walk); !copied.ok()) return copied;
    if (is_block) next_block = walk.head().number + 1;
    // The index has all blocks of the file.
    if (!is_block && behind >= segment.end) next_block = segment.end_block;
    reached_ = {segment.number, behind};
  }
  const bool is_last = segment.end_block == UINT64_MAX;
  if (ends_in_damage_ || (is_last ? known_ <= reached_ : next_block == segment.end_block)) {
    return absl::OkStatus();
  }
  left_.NoteDamage(NameOfSegment(segment.number), walk.place().place, 0, "the end is missing");
  ends_in_damage_ = true;
  return absl::OkStatus();
}

absl::Status StoreSalvage::CopyBlock(StorageReader& file, const BlockWalk& walk) {
  const BlockHead& head = walk.head();
  const Binding& place = walk.place();
  known_ = std::max(known_, head.durable);
  if (absl::Status read = ReadInto(file, place.place, walk.bytes(), block_); !read.ok()) {
    return read;
  }
  for (const SectionEntry& section : head.sections) {
    records_.clear();
    const std::string_view wrong = Take(section, place);
    if (!wrong.empty()) {
      left_.NoteDamage(NameOfSegment(place.segment), place.place + section.at, section.bytes,
                       wrong);
      continue;
    }
    for (const StoredRecord& record : records_) {
      if (absl::Status added = copy_->Add(section.partition, record); !added.ok()) return added;
    }
    (section.partition == copy_->partitions() ? report_.notes : report_.records) += records_.size();
  }
  progress_.records = report_.records;
  progress_.bytes += walk.bytes();
  return Tell();
}

// Reads the records of a section. Returns what is wrong with it.
std::string_view StoreSalvage::Take(const SectionEntry& section, const Binding& place) {
  const size_t partition = section.partition;
  if (section.first_offset < next_[partition]) return "it has offsets that were there before";
  PassTo(partition, section.first_offset);
  const std::string_view wrong = TakeSection(section, block_, place, records_);
  const uint64_t end = section.first_offset + section.count;
  if (wrong.empty()) {
    next_[partition] = end;
  } else {
    PassTo(partition, end);
  }
  return wrong;
}

// What lies between is lost.
void StoreSalvage::PassTo(size_t partition, uint64_t offset) {
  const uint64_t next = next_[partition];
  if (offset <= next) return;
  next_[partition] = offset;
  std::vector<LostRecords>& lost = lost_[partition];
  if (!lost.empty() && lost.back().end == next) {
    lost.back().end = offset;
  } else {
    lost.push_back({static_cast<int>(partition), next, offset});
  }
}

absl::Status StoreSalvage::Tell() { return told_ ? told_(progress_) : absl::OkStatus(); }

void StoreSalvage::Conclude() {
  report_.partitions = static_cast<int>(copy_->partitions());
  for (const LostRecords& lost : lost_.back()) report_.notes_lost += lost.end - lost.begin;
  lost_.pop_back();
  for (const std::vector<LostRecords>& lost : lost_) {
    report_.lost.insert(report_.lost.end(), lost.begin(), lost.end());
  }
  report_.end_is_unknown |= ends_in_damage_ || (!left_.has_end() && known_ > reached_);
}

}  // namespace

absl::StatusOr<StoreSalvageReport> SalvageEventStore(std::string_view from, std::string_view to,
                                                     Storage* storage,
                                                     const StoreCopyTold& progress) {
  const absl::StatusOr<std::unique_ptr<StorageDirectory>> directory =
      StorageOr(storage).OpenDirectory(from, IfMissing::kFail);
  if (!directory.ok()) return directory.status();
  StoreSalvageReport report;
  SegmentsLeft left(**directory, report);
  if (absl::Status found = left.Find(); !found.ok()) return found;
  absl::StatusOr<std::vector<std::string>> consumers = NamesOfConsumers(from, storage);
  if (consumers.ok()) report.left_behind = *std::move(consumers);
  if (!left.is_known()) return report;
  StoreSalvage salvage(**directory, left, report, progress);
  if (absl::Status saved = salvage.Run(to, storage); !saved.ok()) return saved;
  return report;
}

}  // namespace pleat::inline v0_1
