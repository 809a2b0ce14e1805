#include "engine/store/store_view.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "engine/base/concat.h"
#include "engine/store/recovery.h"

namespace pleat::inline v0_1 {

StoreView::StoreView(OpenedStore opened)
    : directory_(std::move(opened.directory)),
      segments_(*directory_, opened.manifest.identity, opened.manifest.log_partitions()),
      durable_(opened.manifest.log_partitions()),
      manifest_(opened.manifest) {
  state_.partitions.resize(durable_.size());
}

// After the machine was started anew, END may be older than the last sync, or name blocks that a power
// loss has taken. Then the view ends where a start would end.
absl::Status StoreView::Begin() {
  LongLockGuard guard(lock_);
  absl::Status status;
  for (int attempt = 0; attempt <= kAttempts; ++attempt) {
    if (attempt > 0) {
      // Older files may have been removed.
      const absl::StatusOr<StoreManifest> manifest = ReadManifest(*directory_);
      if (!manifest.ok()) return manifest.status();
      manifest_ = *manifest;
    }
    const absl::StatusOr<std::optional<StoreEnd>> end =
        StoreEnd::Read(*directory_, manifest_.identity);
    if (!end.ok()) return end.status();
    const bool counts = *end && (*end)->machine_run == directory_->MachineRun();
    const absl::StatusOr<StoreCut> end_of_files = EndOfFiles();
    status = end_of_files.status();
    if (!status.ok()) continue;
    status = GoTo(counts ? std::min((*end)->cut, *end_of_files) : *end_of_files);
    // A file that END names may have been removed for a newer one.
    if (!status.ok() && counts) status = GoTo(*end_of_files);
    if (status.ok()) break;
  }
  return status;
}

// The appender may put a new file in place of others between two looks: then END is another one.
absl::Status StoreView::Refresh() {
  LongLockGuard guard(lock_);
  absl::StatusOr<std::optional<StoreEnd>> end = StoreEnd::Read(*directory_, manifest_.identity);
  for (int attempt = 0;; ++attempt) {
    if (!end.ok()) return end.status();
    // One of an earlier run of the machine may be older than what is known here.
    if (!*end || (*end)->machine_run != directory_->MachineRun()) return absl::OkStatus();
    manifest_.first_segment = std::max(manifest_.first_segment, (*end)->first_segment);
    absl::Status status = GoTo((*end)->cut);
    if (status.ok()) segments_.Drop(manifest_.first_segment);
    if (status.ok() || attempt == kAttempts) return status;
    absl::StatusOr<std::optional<StoreEnd>> again = StoreEnd::Read(*directory_, manifest_.identity);
    if (!again.ok() || *again == *end) return status;
    end = std::move(again);
  }
}

absl::StatusOr<StoreCut> StoreView::EndOfFiles() {
  const absl::StatusOr<std::vector<std::string>> names = directory_->List();
  if (!names.ok()) return names.status();
  const absl::StatusOr<RecoveredLog> log =
      LogRecovery(*directory_, manifest_, /*changes=*/false).Run(*names);
  if (!log.ok()) return log.status();
  return log->end.cut;
}

// Everything is found out first, and then shown in one step: an error leaves all as it was.
absl::Status StoreView::GoTo(StoreCut cut) {
  if (cut == state_.cut) return absl::OkStatus();
  const bool is_in_file = cut.segment == state_.cut.segment && cut > state_.cut;
  return is_in_file ? GoOnInFile(cut) : GoOnInFiles(cut);
}

absl::Status StoreView::GoOnInFile(StoreCut cut) {
  LogState state = state_;
  std::vector<Passed> passed;
  if (absl::Status walked = Walk(*reader_, cut, state, passed); !walked.ok()) return walked;
  for (const Passed& block : passed) segments_.Add(block.sections, block.place, block.bytes);
  SetState(std::move(state));
  return absl::OkStatus();
}

// Heads lead back to a segment that is there already. If the end has gone back, or all that were there
// may be removed, all is read anew.
absl::Status StoreView::GoOnInFiles(StoreCut cut) {
  bool anew = cut < state_.cut;
  std::vector<Segments::Newer> newer;
  uint64_t end = cut.end;
  for (uint64_t number = cut.segment; number != 0 && (anew || !segments_.Counts(number));) {
    absl::StatusOr<SegmentHead> head = HeadOf(number);
    if (!head.ok()) return head.status();
    const StoreCut before = head->before.cut;
    newer.push_back({*std::move(head), end});
    anew = anew || number == manifest_.first_segment;
    number = number == manifest_.first_segment ? 0 : before.segment;
    end = before.end;
  }
  std::ranges::reverse(newer);
  LogState state;
  state.partitions.resize(durable_.size());
  std::shared_ptr<StorageReader> reader;
  std::vector<Passed> passed;
  BlockTable table(durable_.size());
  if (!newer.empty()) {
    absl::StatusOr<std::unique_ptr<StorageReader>> opened =
        directory_->OpenFile(NameOfSegment(cut.segment));
    if (!opened.ok()) return opened.status();
    reader = *std::move(opened);
    state = newer.back().head.Begin();
    if (absl::Status walked = Walk(*reader, cut, state, passed); !walked.ok()) return walked;
  }
  for (const Passed& block : passed) table.Add(block.sections, block.place);
  segments_.GoOn(newer, reader, std::move(table), anew);
  reader_ = std::move(reader);
  SetState(std::move(state));
  return absl::OkStatus();
}

absl::Status StoreView::Walk(StorageReader& reader, StoreCut to, LogState& state,
                             std::vector<Passed>& passed) {
  while (state.cut < to) {
    const Binding place{manifest_.identity, to.segment, state.cut.end};
    absl::StatusOr<std::optional<BlockHead>> head = ReadBlockHeadAt(reader, place, buffer_);
    if (!head.ok()) return head.status();
    if (!*head || !state.Fits(**head) || (*head)->bytes() > to.end - state.cut.end) {
      return StoreDamage(directory_->path(), NameOfSegment(to.segment), state.cut.end,
                         "what was durable here is damaged");
    }
    const uint64_t bytes = (*head)->bytes();
    state.Pass((*head)->sections, (*head)->digest, {to.segment, state.cut.end + bytes});
    passed.push_back({std::move((*head)->sections), place.place, bytes});
  }
  return absl::OkStatus();
}

void StoreView::SetState(LogState state) {
  state_ = std::move(state);
  for (size_t i = 0; i < durable_.size(); ++i) {
    durable_[i].store(state_.partitions[i].next, std::memory_order_release);
  }
}

absl::StatusOr<SegmentHead> StoreView::HeadOf(uint64_t number) {
  const std::string name = NameOfSegment(number);
  absl::StatusOr<std::unique_ptr<StorageReader>> reader = directory_->OpenFile(name);
  if (absl::IsNotFound(reader.status())) {
    return absl::DataLossError(
        Concat(directory_->path(), "/", name, ": it is missing: put it back from a backup"));
  }
  if (!reader.ok()) return reader.status();
  absl::StatusOr<std::optional<SegmentHead>> head = SegmentHead::Read(**reader, number);
  if (!head.ok()) return head.status();
  if (!*head || (*head)->before.partitions.size() != durable_.size()) {
    return StoreDamage(directory_->path(), name, 0, "the checksum of its head is wrong");
  }
  return **std::move(head);
}

}  // namespace pleat::inline v0_1
