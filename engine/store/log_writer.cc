#include "engine/store/log_writer.h"

#include <utility>

#include "engine/base/check.h"
#include "engine/base/concat.h"

namespace pleat::inline v0_1 {

absl::Status CreateManifest(StorageDirectory& directory, const StoreManifest& manifest) {
  absl::Status status = PutFile(directory, kStoreManifest, manifest.Bytes());
  if (status.ok()) status = directory.SyncDirectory();
  return status;
}

absl::Status LogWriter::Begin(LogState& state, StoreCut durable, const CopiedBlocks& copies,
                              BlockTable& table) {
  if (absl::Status begun = BeginLife(durable); !begun.ok()) return GiveUp(std::move(begun));
  LogState behind = state;
  absl::Status status = CreateSegment(behind, durable, copies.bytes, SegmentNamed::kWhenPublished);
  if (status.ok()) status = Copy(behind, copies, table);
  if (status.ok()) status = file_->Publish();
  if (status.ok()) status = OpenReader();
  if (!status.ok()) return GiveUp(std::move(status));
  has_begun_ = true;
  for (; !begun_.empty() && begun_.back() > state.cut.segment; begun_.pop_back()) {
    useless_.push_back(NameOfSegment(begun_.back()));
  }
  begun_.push_back(head_.number);
  state = std::move(behind);
  return absl::OkStatus();
}

// They take space, and do no other harm.
void LogWriter::RemoveUseless() {
  for (const std::string& name : useless_) directory_.Remove(name).IgnoreError();
  useless_.clear();
}

absl::Status LogWriter::BeginUnsynced(LogState& state, StoreCut durable) {
  PLEAT_CHECK(has_begun_);
  LogState behind = state;
  absl::Status status = CreateSegment(behind, durable, /*copied=*/0, SegmentNamed::kAtOnce);
  if (status.ok()) status = OpenReader();
  if (!status.ok()) return GiveUp(std::move(status));
  begun_.push_back(head_.number);
  state = std::move(behind);
  return absl::OkStatus();
}

// Before anything of a life is written, MANIFEST has its number. Also one that was found may be there
// by a rename that was never synced.
absl::Status LogWriter::BeginLife(StoreCut durable) {
  if (life_is_certain_) return absl::OkStatus();
  if (absl::Status wrote = WriteManifest(durable); !wrote.ok()) return wrote;
  life_is_certain_ = true;
  return absl::OkStatus();
}

absl::Status LogWriter::CreateSegment(LogState& state, StoreCut durable, uint64_t copied,
                                      SegmentNamed named) {
  file_.reset();
  reader_.reset();
  head_ = {.identity = manifest_.identity,
           .number = next_number_++,
           .life = manifest_.life,
           .before = state,
           .durable = durable,
           .copied = copied,
           .head_bytes = 0};
  absl::StatusOr<std::unique_ptr<SegmentFile>> file =
      SegmentFile::Create(directory_, names_, head_.number, named);
  if (!file.ok()) return file.status();
  file_ = *std::move(file);
  const std::string bytes = head_.Bytes();
  head_.head_bytes = bytes.size();
  state = head_.Begin();
  return file_->Append(bytes);
}

absl::Status LogWriter::Copy(LogState& state, const CopiedBlocks& copies, BlockTable& table) {
  for (;;) {
    const absl::StatusOr<PendingBlock*> block = copies.next();
    if (!block.ok()) return block.status();
    if (*block == nullptr) return absl::OkStatus();
    const uint64_t place = state.cut.end;
    if (absl::Status wrote = WriteBlock(**block, state, head_.durable); !wrote.ok()) return wrote;
    table.Add((*block)->sections(), place);
  }
}

absl::Status LogWriter::OpenReader() {
  absl::StatusOr<std::unique_ptr<StorageReader>> reader = directory_.OpenFile(file_->name());
  if (!reader.ok()) return reader.status();
  reader_ = *std::move(reader);
  return absl::OkStatus();
}

// Of a segment that was not begun. It takes space, and else does no harm: nothing counts in it that is
// not elsewhere as well.
absl::Status LogWriter::GiveUp(absl::Status why) {
  if (file_ != nullptr && !file_->Remove().ok()) useless_.push_back(file_->name_in_directory());
  file_.reset();
  reader_.reset();
  return why;
}

absl::Status LogWriter::Append(PendingBlock& block, LogState& state, StoreCut durable) {
  PLEAT_CHECK(is_open() && state.cut.segment == head_.number);
  return WriteBlock(block, state, durable);
}

absl::Status LogWriter::WriteBlock(PendingBlock& block, LogState& state, StoreCut durable) {
  const uint64_t digest = block.Seal(
      At(state.cut),
      {.number = state.blocks, .before = state.digest, .durable = durable, .life = manifest_.life});
  if (absl::Status wrote = file_->Append(block.bytes()); !wrote.ok()) return wrote;
  state.Pass(block.sections(), digest, {state.cut.segment, state.cut.end + block.bytes().size()});
  return absl::OkStatus();
}

absl::Status LogWriter::Sync() {
  PLEAT_CHECK(is_open());
  return file_->Sync();
}

void LogWriter::End(std::string_view index) {
  PLEAT_CHECK(is_open());
  file_->Append(index).IgnoreError();
  file_.reset();
}

absl::Status LogWriter::WriteManifest(StoreCut durable) {
  manifest_.durable = durable;
  if (absl::Status put = PutFile(directory_, kStoreManifest, manifest_.Bytes()); !put.ok())
    return put;
  return names_.Sync();
}

absl::Status LogWriter::WriteManifest(StoreCut durable, uint64_t first_segment) {
  const uint64_t before = std::exchange(manifest_.first_segment, first_segment);
  absl::Status wrote = WriteManifest(durable);
  if (!wrote.ok()) manifest_.first_segment = before;
  return wrote;
}

void LogWriter::NoteInManifest(StoreCut durable) {
  manifest_.durable = durable;
  PutFile(directory_, kStoreManifest, manifest_.Bytes()).IgnoreError();
  std::erase_if(begun_, [durable](uint64_t number) { return number < durable.segment; });
}

}  // namespace pleat::inline v0_1
