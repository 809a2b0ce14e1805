// Copies the blocks of a store one by one, each into a block that waits in memory. Blocks are in the
// order of commits, and that is all that is known of the order between partitions; within a block
// `appended` may tell more.
#include <pleat/detail/store_copy.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <pleat/batch.h>
#include <pleat/event_store_reader.h>

#include "engine/base/concat.h"
#include "engine/store/block_walk.h"
#include "engine/store/new_store.h"
#include "engine/store/open_store.h"
#include "engine/store/page_reader.h"
#include "engine/store/store_view.h"

namespace pleat::inline v0_1 {
namespace {

absl::Status GoneMeanwhile(std::string_view path) {
  return absl::UnavailableError(
      Concat(path, ": files of it were removed while it was copied: copy it again"));
}

// The snapshots of its lanes (store_log.h), which its checkpoints speak of.
absl::StatusOr<std::vector<std::string>> LaneFilesOf(std::string_view store, std::string_view name,
                                                     Storage* storage) {
  const absl::StatusOr<std::unique_ptr<StorageDirectory>> directory =
      OpenConsumer(store, name, storage, IfMissing::kFail);
  if (!directory.ok()) return directory.status();
  absl::StatusOr<std::vector<std::string>> names = (*directory)->List();
  if (names.ok()) {
    std::erase_if(*names, [](const std::string& each) { return !each.starts_with("lane-"); });
  }
  return names;
}

absl::StatusOr<std::vector<ReadSoFar>> LookAtConsumers(std::string_view store,
                                                       const std::vector<std::string>& names,
                                                       Storage* storage) {
  std::vector<ReadSoFar> consumers;
  for (const std::string& name : names) {
    absl::StatusOr<std::vector<StoreCheckpoint>> checkpoints =
        StoreConsumer::Look(store, name, storage);
    if (absl::IsNotFound(checkpoints.status())) continue;  // removed just now
    if (!checkpoints.ok()) return checkpoints.status();
    absl::StatusOr<std::vector<std::string>> lanes = LaneFilesOf(store, name, storage);
    if (!lanes.ok()) return lanes.status();
    consumers.push_back({name, *std::move(checkpoints), *std::move(lanes)});
  }
  return consumers;
}

class StoreCopy {
 public:
  StoreCopy(StoreView& view, const StoreCopyOptions& options)
      : view_(view),
        segments_(view.segments().List()),
        options_(options),
        partitions_(options.partitions ? static_cast<size_t>(*options.partitions)
                                       : view.partitions()) {}

  // The report gets those that go along, and the others.
  absl::Status SortOut(std::vector<ReadSoFar> consumers);
  absl::Status Run(std::string_view to);
  const StoreCopyReport& report() const noexcept { return report_; }

 private:
  bool keeps_offsets() const noexcept { return partitions_ == view_.partitions(); }
  absl::StatusOr<bool> HasReadAll(const ReadSoFar& consumer) const;
  absl::StatusOr<std::vector<PartitionState>> Begin() const;
  absl::StatusOr<std::unique_ptr<StorageReader>> OpenSegment(uint64_t number) const;
  absl::Status CopySegment(const Segment& segment);
  absl::Status CopyBlock(const BlockHead& head, const Binding& place);
  absl::Status Damage(const Binding& place, std::string_view why) const {
    return StoreDamage(view_.directory().path(), NameOfSegment(place.segment), place.place, why);
  }
  absl::Status Tell();
  void PutAtEnd(ReadSoFar& consumer) const;

  StoreView& view_;
  const std::vector<Segment> segments_;
  const StoreCopyOptions& options_;
  const size_t partitions_;
  std::vector<ReadSoFar> consumers_;  // that go along
  std::unique_ptr<NewStore> copy_;
  StoreCopyProgress progress_;
  StoreCopyReport report_;
  std::string block_;
  struct Placed {
    StoredRecord record;
    size_t partition = 0;
    size_t order = 0;  // in the block
  };
  std::vector<Placed> placed_;  // of the block
  std::vector<StoredRecord> records_;
};

absl::StatusOr<bool> StoreCopy::HasReadAll(const ReadSoFar& consumer) const {
  // The snapshots of lanes have groups that are open, of records that were read.
  if (!consumer.lane_files.empty()) return false;
  StorePage page;
  for (const StoreCheckpoint& each : consumer.checkpoints) {
    const uint64_t end = view_.durable(static_cast<size_t>(each.partition));
    const absl::StatusOr<ReadOutcome> read = PageReader::Fill(
        view_.segments(), each.partition, each.position, end, end, /*bytes=*/1, page);
    if (!read.ok()) return read.status();
    if (*read != ReadOutcome::kEnd) return false;
  }
  return true;
}

absl::Status StoreCopy::SortOut(std::vector<ReadSoFar> consumers) {
  std::string unread;
  for (ReadSoFar& consumer : consumers) {
    if (!keeps_offsets()) {
      const absl::StatusOr<bool> has_read_all = HasReadAll(consumer);
      if (!has_read_all.ok()) return has_read_all.status();
      if (!*has_read_all) unread += (unread.empty() ? "" : ", ") + consumer.name;
    }
    report_.consumers.push_back(consumer.name);
    consumers_.push_back(std::move(consumer));
  }
  if (unread.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(Concat(
      view_.directory().path(), " has consumers that have not read all of it, or keep lanes: ",
      unread, ". Offsets of other partitions begin anew: let them read on, or ignore them"));
}

absl::StatusOr<std::unique_ptr<StorageReader>> StoreCopy::OpenSegment(uint64_t number) const {
  absl::StatusOr<std::unique_ptr<StorageReader>> file =
      view_.directory().OpenFile(NameOfSegment(number));
  if (absl::IsNotFound(file.status())) return GoneMeanwhile(view_.directory().path());
  return file;
}

// Where the partitions of the copy begin.
absl::StatusOr<std::vector<PartitionState>> StoreCopy::Begin() const {
  std::vector<PartitionState> begin(partitions_ + 1);
  if (!keeps_offsets() || segments_.empty()) return begin;
  const uint64_t number = segments_.front().number;
  const absl::StatusOr<std::unique_ptr<StorageReader>> file = OpenSegment(number);
  if (!file.ok()) return file.status();
  absl::StatusOr<std::optional<SegmentHead>> head = SegmentHead::Read(**file, number);
  if (!head.ok()) return head.status();
  if (!*head || (*head)->before.partitions.size() != begin.size()) {
    return Damage({.segment = number}, "the checksum of its head is wrong");
  }
  return std::move((*head)->before.partitions);
}

absl::Status StoreCopy::Run(std::string_view to) {
  absl::StatusOr<std::vector<PartitionState>> begin = Begin();
  if (!begin.ok()) return begin.status();
  absl::StatusOr<std::unique_ptr<NewStore>> copy =
      NewStore::Create(to, options_.storage, *std::move(begin));
  if (!copy.ok()) return copy.status();
  copy_ = *std::move(copy);
  for (const Segment& each : segments_) progress_.bytes_all += each.end - each.begin;
  absl::Status status = Tell();
  for (size_t i = 0; i < segments_.size() && status.ok(); ++i) status = CopySegment(segments_[i]);
  if (!status.ok()) return status;
  if (!keeps_offsets()) {
    for (ReadSoFar& consumer : consumers_) PutAtEnd(consumer);  // without snapshots of lanes
  }
  report_.partitions = static_cast<int>(partitions_);
  report_.records = progress_.records;
  report_.times_held_back = copy_->times_held_back();
  return copy_->Finish(consumers_, view_.directory().path());
}

absl::Status StoreCopy::CopySegment(const Segment& segment) {
  const absl::StatusOr<std::unique_ptr<StorageReader>> file = OpenSegment(segment.number);
  if (!file.ok()) return file.status();
  const Binding begin{view_.segments().identity(), segment.number, segment.begin};
  BlockWalk walk(**file, begin, segment.end, view_.partitions() + 1);
  for (;;) {
    const absl::StatusOr<bool> next = walk.Next();
    if (!next.ok()) return next.status();
    if (!*next) break;
    if (walk.kind() == BlockWalk::Kind::kUnknown) {
      return Damage(walk.place(), "the checksum of a block's head is wrong");
    }
    absl::Status status = ReadInto(**file, walk.place().place, walk.bytes(), block_);
    if (status.ok()) status = CopyBlock(walk.head(), walk.place());
    progress_.bytes += walk.bytes();
    if (status.ok()) status = Tell();
    if (!status.ok()) return status;
  }
  if (walk.place().place == segment.end) return absl::OkStatus();
  return Damage(walk.place(), "the end is missing");
}

absl::Status StoreCopy::CopyBlock(const BlockHead& head, const Binding& place) {
  placed_.clear();
  for (const SectionEntry& section : head.sections) {
    const bool is_of_notes = section.partition == view_.partitions();
    records_.clear();
    const std::string_view wrong = TakeSection(section, block_, place, records_);
    if (!wrong.empty()) return Damage(place.Behind(section.at), wrong);
    for (const StoredRecord& record : records_) {
      size_t partition = section.partition;
      if (is_of_notes) {
        partition = partitions_;
      } else if (!keeps_offsets()) {
        partition = static_cast<size_t>(PartitionOf(record.key, static_cast<int>(partitions_)));
      }
      placed_.push_back({record, partition, placed_.size()});
    }
    (is_of_notes ? report_.notes : progress_.records) += records_.size();
  }
  if (!keeps_offsets()) {
    std::ranges::sort(placed_, {}, [](const Placed& each) {
      return std::pair(each.record.appended, each.order);
    });
  }
  for (const Placed& each : placed_) {
    if (absl::Status added = copy_->Add(each.partition, each.record); !added.ok()) return added;
  }
  return absl::OkStatus();
}

absl::Status StoreCopy::Tell() {
  return options_.progress ? options_.progress(progress_) : absl::OkStatus();
}

void StoreCopy::PutAtEnd(ReadSoFar& consumer) const {
  consumer.checkpoints.clear();
  consumer.lane_files.clear();
  for (size_t i = 0; i < partitions_; ++i) {
    consumer.checkpoints.push_back(
        {.partition = static_cast<int>(i), .position = copy_->next(i), .metadata = {}});
  }
}

}  // namespace

// Checkpoints are looked at before the end of the store: so none is beyond that.
absl::StatusOr<StoreCopyReport> CopyEventStore(std::string_view from, std::string_view to,
                                               const StoreCopyOptions& options) {
  if (options.partitions &&
      (*options.partitions < 1 || *options.partitions > kStorePartitionsMax)) {
    return absl::InvalidArgumentError("partitions are 1 to 4096");
  }
  absl::StatusOr<std::vector<std::string>> names = StoreConsumer::Names(from, options.storage);
  if (!names.ok()) return names.status();
  absl::StatusOr<std::vector<ReadSoFar>> consumers = std::vector<ReadSoFar>();
  if (!options.ignore_consumers) consumers = LookAtConsumers(from, *names, options.storage);
  if (!consumers.ok()) return consumers.status();
  absl::StatusOr<OpenedStore> opened = OpenStoreToRead(from, options.storage);
  if (!opened.ok()) return opened.status();
  StoreView view(*std::move(opened));
  if (absl::Status begun = view.Begin(); !begun.ok()) return begun;
  StoreCopy copy(view, options);
  absl::Status status = copy.SortOut(*std::move(consumers));
  if (status.ok()) status = copy.Run(to);
  if (!status.ok()) return status;
  StoreCopyReport report = copy.report();
  if (options.ignore_consumers) report.left_behind = *std::move(names);
  return report;
}

}  // namespace pleat::inline v0_1
