#include "engine/store/segments_left.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "engine/base/concat.h"
#include "engine/store/block_search.h"
#include "engine/store/open_store.h"
#include "engine/store/recovery.h"

namespace pleat::inline v0_1 {

void SegmentsLeft::NoteDamage(std::string_view file, uint64_t offset, uint64_t bytes,
                              std::string_view why) {
  report_.damage.push_back({std::string(file), offset, bytes, std::string(why)});
}

absl::Status SegmentsLeft::Find() {
  const absl::StatusOr<std::vector<std::string>> names = directory_.List();
  if (!names.ok()) return names.status();
  if (absl::Status is = CheckFinished(directory_.path(), *names); !is.ok()) return is;
  for (const std::string& name : *names) {
    const std::optional<uint64_t> number = SegmentNumberIn(name);
    if (number && name == NameOfSegment(*number)) numbers_.insert(*number);
    if (number && name == NameOfLost(*number)) report_.lost_files.push_back(name);
  }
  if (absl::Status found = FindManifest(*names); !found.ok()) return found;
  if (absl::Status found = FindEnd(*names); !found.ok()) return found;
  for (const uint64_t number : numbers_) {
    if (number < manifest_.first_segment) continue;  // it was removed, or is about to be
    if (absl::Status found = FindSegment(number); !found.ok()) return found;
  }
  if (!is_known()) return absl::OkStatus();
  for (SegmentLeft& segment : segments_) {
    if (segment.head) continue;
    if (absl::Status found = FindFirstBlock(segment); !found.ok()) return found;
  }
  ChooseBlocks();
  NoteMissing();
  return absl::OkStatus();
}

absl::Status SegmentsLeft::FindManifest(const std::vector<std::string>& names) {
  if (std::ranges::find(names, kStoreManifest) == names.end()) {
    if (numbers_.empty()) {
      return absl::NotFoundError(Concat(directory_.path(), " is no event store"));
    }
    NoteDamage(kStoreManifest, 0, 0, "it is missing");
    report_.end_is_unknown = true;
    return absl::OkStatus();
  }
  const absl::StatusOr<StoreManifest> manifest = ReadManifest(directory_);
  if (manifest.ok()) {
    manifest_ = *manifest;
    has_manifest_ = true;
  } else if (absl::IsDataLoss(manifest.status())) {
    NoteDamage(kStoreManifest, 0, 0, "it is damaged");
    report_.end_is_unknown = true;
  } else {
    return manifest.status();
  }
  return absl::OkStatus();
}

absl::Status SegmentsLeft::FindEnd(const std::vector<std::string>& names) {
  if (!has_manifest_) return absl::OkStatus();
  const absl::StatusOr<RecoveredLog> log =
      LogRecovery(directory_, manifest_, /*changes=*/false).Run(names);
  if (absl::IsDataLoss(log.status()) || absl::IsFailedPrecondition(log.status())) {
    return absl::OkStatus();
  }
  if (!log.ok()) return log.status();
  has_end_ = true;
  end_ = log->end.cut;
  end_block_ = log->end.blocks;
  numbers_.clear();
  for (const Segment& segment : log->segments) numbers_.insert(segment.number);
  for (const LogSpan& span : log->tail) numbers_.insert(span.segment);
  return absl::OkStatus();
}

// Without MANIFEST the first head that is whole says whose files these are.
absl::Status SegmentsLeft::FindSegment(uint64_t number) {
  const std::string name = NameOfSegment(number);
  const absl::StatusOr<std::unique_ptr<StorageReader>> file = directory_.OpenFile(name);
  if (!file.ok()) return file.status();
  const absl::StatusOr<uint64_t> size = (*file)->Size();
  if (!size.ok()) return size.status();
  absl::StatusOr<std::optional<SegmentHead>> head = SegmentHead::Read(**file, number);
  if (!head.ok()) {
    if (!absl::IsUnimplemented(head.status())) return head.status();
    return absl::UnimplementedError(
        Concat(directory_.path(), "/", name, ": ", std::string(head.status().message())));
  }
  SegmentLeft segment{.number = number, .size = *size, .head = *std::move(head), .end = *size};
  if (segment.head) {
    const size_t partitions = segment.head->before.partitions.size();
    if (!is_known() && 2 <= partitions && partitions <= kStorePartitionsMax + 1) {
      manifest_.identity = segment.head->identity;
      manifest_.partitions = static_cast<uint32_t>(partitions - 1);
    }
    if (!IsOfThisStore(*segment.head)) {
      NoteDamage(name, 0, *size, "it is of another event store");
      return absl::OkStatus();
    }
    segment.life = segment.head->life;
    segment.begin = segment.head->head_bytes;
    segment.first_block = segment.head->before.blocks;
  }
  segments_.push_back(std::move(segment));
  return absl::OkStatus();
}

// One without a whole block has nothing that may count.
absl::Status SegmentsLeft::FindFirstBlock(SegmentLeft& segment) {
  const absl::StatusOr<std::unique_ptr<StorageReader>> file =
      directory_.OpenFile(NameOfSegment(segment.number));
  if (!file.ok()) return file.status();
  BlockSearch search(**file, {manifest_.identity, segment.number, 0}, manifest_.log_partitions(),
                     {});
  const absl::StatusOr<std::optional<BlockHead>> first = search.Next();
  if (!first.ok()) return first.status();
  segment.begin = *first ? search.place() : segment.size;
  segment.first_block = *first ? (*first)->number : UINT64_MAX;
  segment.life = *first ? (*first)->life : UINT32_MAX;
  return absl::OkStatus();
}

void SegmentsLeft::ChooseBlocks() {
  std::ranges::sort(segments_, {}, [](const SegmentLeft& segment) {
    return std::tuple(segment.life, segment.number);
  });
  uint64_t end = end_block_;
  for (auto segment = segments_.rbegin(); segment != segments_.rend(); ++segment) {
    segment->end_block = end;
    end = std::min(end, segment->first_block);
  }
  for (const SegmentLeft& segment : segments_) {
    if (segment.first_block != UINT64_MAX) continue;
    NoteDamage(NameOfSegment(segment.number), 0, segment.size, "nothing of it is whole");
    report_.end_is_unknown |= segment.number == *numbers_.rbegin();
  }
  std::erase_if(segments_, [](const SegmentLeft& segment) {
    return segment.first_block >= segment.end_block;
  });
  EndAt(end_);
  for (const SegmentLeft& segment : segments_) {
    if (segment.head) EndAt(segment.head->before.cut);
  }
}

void SegmentsLeft::EndAt(StoreCut cut) {
  const auto ends = std::ranges::find(segments_, cut.segment, &SegmentLeft::number);
  if (ends != segments_.end()) ends->end = std::min(ends->end, cut.end);
}

void SegmentsLeft::NoteMissing() {
  if (has_end_) return;
  for (const SegmentLeft& segment : segments_) {
    if (!segment.head) continue;
    const uint64_t before = segment.head->before.cut.segment;
    if (before < manifest_.first_segment || numbers_.contains(before)) continue;
    // Without MANIFEST it may have been removed.
    if (!has_manifest_ && &segment == segments_.data()) continue;
    NoteDamage(NameOfSegment(before), 0, 0, "it is missing");
  }
  if (!segments_.empty()) {
    const SegmentLeft& first = segments_.front();
    const bool is_first = has_manifest_ && first.number == manifest_.first_segment;
    report_.begin_is_unknown = first.first_block > 0 && !is_first;
  }
  const uint64_t last = manifest_.durable.segment;
  if (last == 0 || numbers_.contains(last)) return;
  NoteDamage(NameOfSegment(last), 0, 0, "it is missing");
  report_.end_is_unknown = true;
}

}  // namespace pleat::inline v0_1
