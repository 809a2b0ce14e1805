#include "engine/store/committer.h"

#include <string>
#include <utility>

#include "engine/base/check.h"

namespace pleat::inline v0_1 {

LogCommitter::LogCommitter(StorageDirectory& directory, const StoreManifest& manifest,
                           RecoveredLog log, const EventStoreOptions& options, Segments& segments,
                           std::span<StorePartition> partitions)
    : durability_(options.durability),
      segment_bytes_(options.segment_bytes),
      directory_(directory),
      segments_(segments),
      partitions_(partitions),
      writer_(directory, manifest, log.next_number, std::move(log.useless)),
      end_mark_(directory, manifest, log.durable.cut),
      written_(log.durable),
      certain_(std::move(log.durable)),
      in_trouble_(!log.tail.empty()),
      tail_(std::move(log.tail)) {
  counts_.all_bytes = log.end.bytes;
  counts_.certain_bytes = certain_.bytes;
}

std::unique_ptr<PendingBlock> LogCommitter::FreeBlock() {
  if (free_.empty()) return std::make_unique<PendingBlock>();
  std::unique_ptr<PendingBlock> block = std::move(free_.back());
  free_.pop_back();
  return block;
}

void LogCommitter::PopWaiting() {
  if (free_.size() < kFreeMax) free_.push_back(std::move(waiting_.front().block));
  waiting_.pop_front();
}

absl::Status LogCommitter::Write(std::span<SectionBuffer* const> buffers) {
  std::unique_ptr<PendingBlock> block = FreeBlock();
  block->Fill(buffers, scratch_);
  counts_.all_bytes.fetch_add(block->bytes().size(), std::memory_order_relaxed);
  waiting_.push_back({.block = std::move(block)});
  absl::Status status = writer_.is_open() ? WriteWaiting() : Resume();
  if (status.ok()) EndSegmentIfFull();
  return status;
}

absl::Status LogCommitter::WriteWaiting() {
  while (written_count_ < waiting_.size()) {
    Waiting& next = waiting_[written_count_];
    next.place = written_.cut.end;
    absl::Status wrote = writer_.Append(*next.block, written_, certain_.cut);
    if (!wrote.ok()) return Trouble(std::move(wrote));
    counts_.blocks.fetch_add(1, std::memory_order_relaxed);
    if (!shows_when_synced()) {
      end_mark_.Set(written_);
      Show(*next.block, next.place);
    }
    if (keeps_blocks()) {
      ++written_count_;
    } else {
      PopWaiting();
    }
  }
  return absl::OkStatus();
}

absl::Status LogCommitter::Resume() {
  absl::Status begun = in_trouble_ || !writer_.has_begun() ? BeginWithCopies() : BeginUnsynced();
  return begun.ok() ? WriteWaiting() : Trouble(std::move(begun));
}

absl::Status LogCommitter::BeginUnsynced() {
  if (absl::Status begun = writer_.BeginUnsynced(written_, certain_.cut); !begun.ok()) return begun;
  segments_.Begin(writer_.head(), writer_.reader(), BlockTable(partitions_.size()),
                  written_.cut.end);
  return absl::OkStatus();
}

absl::Status LogCommitter::BeginWithCopies() {
  SpanReader tail(directory_, segments_.identity(), tail_);
  size_t next = 0;
  uint64_t copies = 0;
  const auto copied = [&]() -> absl::StatusOr<PendingBlock*> {
    ++copies;
    absl::StatusOr<PendingBlock*> block = tail.Next();
    if (!block.ok() || *block != nullptr || next == waiting_.size()) return block;
    return waiting_[next++].block.get();
  };
  uint64_t bytes = 0;
  for (const LogSpan& span : tail_) bytes += span.end - span.begin;
  for (const Waiting& waiting : waiting_) bytes += waiting.block->bytes().size();
  BlockTable table(partitions_.size());
  absl::Status begun =
      writer_.Begin(written_, certain_.cut, {.bytes = bytes, .next = copied}, table);
  if (!begun.ok()) return begun;
  counts_.blocks.fetch_add(copies - 1, std::memory_order_relaxed);
  end_mark_.Set(written_);
  ShowCopies(std::move(table));
  in_trouble_ = false;
  writer_.RemoveUseless();
  if (!old_files_.empty()) return absl::OkStatus();
  SetCertain(written_);
  writer_.NoteInManifest(certain_.cut);
  return absl::OkStatus();
}

// All that waited is in the new segment, and on the disk.
void LogCommitter::ShowCopies(BlockTable table) {
  segments_.Begin(writer_.head(), writer_.reader(), std::move(table), written_.cut.end);
  for (size_t i = 0; i < partitions_.size(); ++i) {
    partitions_[i].GrowDurable(written_.partitions[i].next);
  }
  tail_.clear();
  while (!waiting_.empty()) PopWaiting();
  written_count_ = 0;
}

void LogCommitter::Show(const PendingBlock& block, uint64_t place) {
  segments_.Add(block.sections(), place, block.bytes().size());
  for (const SectionEntry& section : block.sections()) {
    partitions_[section.partition].GrowDurable(section.first_offset + section.count);
  }
}

void LogCommitter::SetCertain(const LogState& state) {
  certain_ = state;
  counts_.certain_bytes.store(state.bytes, std::memory_order_relaxed);
}

absl::Status LogCommitter::Sync() {
  while (const std::shared_ptr<OldFile> old = TakeOldFile()) {
    if (absl::Status synced = GiveBack(old, old->Sync()); !synced.ok()) return synced;
  }
  if (all_is_certain()) return absl::OkStatus();
  if (absl::Status synced = writer_.Sync(); !synced.ok()) return Trouble(std::move(synced));
  SetCertain(written_);
  if (shows_when_synced()) end_mark_.Set(certain_);
  for (; !waiting_.empty(); PopWaiting()) {
    if (shows_when_synced()) Show(*waiting_.front().block, waiting_.front().place);
  }
  written_count_ = 0;
  EndSegmentIfFull();
  return absl::OkStatus();
}

absl::Status LogCommitter::OldFile::Sync() {
  if (absl::Status synced = file->Sync(); !synced.ok()) return synced;
  file->Append(index).IgnoreError();
  return absl::OkStatus();
}

std::shared_ptr<LogCommitter::OldFile> LogCommitter::TakeOldFile() {
  PLEAT_CHECK(!old_file_is_out_);
  if (old_files_.empty()) return nullptr;
  old_file_is_out_ = true;
  return old_files_.front();
}

absl::Status LogCommitter::GiveBack(const std::shared_ptr<OldFile>& old, absl::Status synced) {
  PLEAT_CHECK(old_file_is_out_ && old_files_.front() == old);
  old_file_is_out_ = false;
  if (!synced.ok()) {
    TakeBackFile();
    TakeBackOldFiles();
    return Trouble(std::move(synced));
  }
  SetCertain(old->end);
  old_files_.pop_front();
  CountOldFiles();
  writer_.NoteInManifest(certain_.cut);
  return absl::OkStatus();
}

// Where blocks are kept they are all on the disk first: so the next segment goes on behind a cut that
// is certain.
void LogCommitter::EndSegmentIfFull() {
  if (!writer_.is_open() || written_.cut.end < segment_bytes_) return;
  if (keeps_blocks() && !all_is_certain()) return;
  std::string index = segments_.IndexAt(written_.cut.end);
  if (all_is_certain()) {
    writer_.End(index);
    writer_.NoteInManifest(certain_.cut);
    return;
  }
  const LogSpan blocks = writer_.BlocksTo(written_);
  old_files_.push_back(std::shared_ptr<OldFile>(new OldFile{
      .file = writer_.Release(), .index = std::move(index), .blocks = blocks, .end = written_}));
  CountOldFiles();
}

absl::Status LogCommitter::Finish() {
  PLEAT_CHECK(all_is_certain() && waiting_.empty());
  if (writer_.is_open()) writer_.End(segments_.IndexAt(written_.cut.end));
  return writer_.WriteManifest(certain_.cut);
}

// MANIFEST says so first; then the files are of no use, whatever comes between.
absl::Status LogCommitter::Drop(const Segments::Oldest& oldest) {
  absl::Status wrote = writer_.WriteManifest(certain_.cut, oldest.first);
  if (!wrote.ok()) return wrote;
  segments_.Drop(oldest.first);
  end_mark_.SetFirst(oldest.first);
  for (const uint64_t number : oldest.numbers) {
    directory_.Remove(NameOfSegment(number)).IgnoreError();
  }
  return absl::OkStatus();
}

absl::Status LogCommitter::Trouble(absl::Status why) {
  if (keeps_blocks()) {
    written_ = certain_;
    written_count_ = 0;
  } else {
    TakeBackFile();
  }
  writer_.Release().reset();
  in_trouble_ = true;
  return why;
}

// In kProcess: what the file has and is not certain is to be copied.
void LogCommitter::TakeBackFile() {
  if (!writer_.is_open()) return;
  LogSpan blocks = writer_.BlocksTo(written_);
  LogState begin = writer_.head().before;
  if (certain_.cut.segment == blocks.segment) {
    blocks.begin = certain_.cut.end;
    blocks.before = certain_.digest;
    begin = certain_;
  }
  if (blocks.begin < blocks.end) tail_.push_back(blocks);
  written_ = std::move(begin);
  writer_.Release().reset();
}

// Files that are full, too, should one of them not come to the disk.
void LogCommitter::TakeBackOldFiles() {
  std::vector<LogSpan> spans;
  for (const std::shared_ptr<OldFile>& old : old_files_) {
    spans.push_back(old->blocks);
    if (certain_.cut.segment != old->blocks.segment) continue;
    spans.back().begin = certain_.cut.end;
    spans.back().before = certain_.digest;
  }
  tail_.insert(tail_.begin(), spans.begin(), spans.end());
  old_files_.clear();
  CountOldFiles();
  written_ = certain_;
}

}  // namespace pleat::inline v0_1
