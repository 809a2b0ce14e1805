#include "engine/lanes/lane_files.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <absl/types/span.h>

#include "engine/base/concat.h"
#include "engine/base/hash.h"

namespace pleat::inline v0_1 {
namespace {

constexpr std::string_view kLane = "lane-";
constexpr std::string_view kNew = "new-lane";

std::string NameOf(int partition, uint64_t number) { return Concat(kLane, partition, "-", number); }

struct LaneFile {
  int partition = 0;
  uint64_t number = 0;
};

std::optional<LaneFile> LaneFileNamed(std::string_view name) {
  if (!name.starts_with(kLane)) return std::nullopt;
  LaneFile file;
  const char* const end = name.data() + name.size();
  const auto dash = std::from_chars(name.data() + kLane.size(), end, file.partition);
  if (dash.ec != std::errc() || dash.ptr == end || *dash.ptr != '-') return std::nullopt;
  std::from_chars(dash.ptr + 1, end, file.number);
  if (name != NameOf(file.partition, file.number)) return std::nullopt;
  return file;
}

class WriterSink final : public ByteSink {
 public:
  explicit WriterSink(StorageWriter& writer) : writer_(writer) {}
  absl::Status Append(std::string_view bytes) override { return writer_.Append(bytes); }

 private:
  StorageWriter& writer_;
};

class ReaderSource final : public ByteSource {
 public:
  explicit ReaderSource(std::unique_ptr<StorageReader> reader) : reader_(std::move(reader)) {}
  absl::StatusOr<size_t> Read(std::span<char> room) override {
    absl::StatusOr<size_t> read = reader_->ReadAt(at_, absl::MakeSpan(room.data(), room.size()));
    if (read.ok()) at_ += *read;
    return read;
  }

 private:
  const std::unique_ptr<StorageReader> reader_;
  uint64_t at_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<LaneFiles>> LaneFiles::Open(
    std::unique_ptr<StorageDirectory> directory, Writers writers) {
  std::string new_name(kNew);
  if (writers == Writers::kSeveral) new_name = Concat(kNew, "-", RandomHashKey().front());
  auto files =
      std::unique_ptr<LaneFiles>(new LaneFiles(std::move(directory), std::move(new_name), writers));
  if (absl::Status found = files->FindLast(); !found.ok()) return found;
  return files;
}

absl::Status LaneFiles::FindLast() {
  const absl::StatusOr<std::vector<std::string>> names = directory_->List();
  if (!names.ok()) return names.status();
  for (const std::string& name : *names) {
    const std::optional<LaneFile> file = LaneFileNamed(name);
    if (!file) continue;
    uint64_t& last = last_[file->partition];
    last = std::max(last, file->number);
  }
  return absl::OkStatus();
}

absl::Status LaneFiles::WriteNew(const std::string& name, Write write) {
  // A start that was killed may have left one.
  if (absl::Status removed = directory_->Remove(name);
      !removed.ok() && !absl::IsNotFound(removed)) {
    return removed;
  }
  const absl::StatusOr<std::unique_ptr<StorageWriter>> writer = directory_->CreateFile(name);
  if (!writer.ok()) return writer.status();
  WriterSink sink(**writer);
  absl::Status status = write(sink);
  if (status.ok()) status = (*writer)->Sync();
  if (status.ok()) status = (*writer)->Close();
  return status;
}

absl::StatusOr<uint64_t> LaneFiles::Put(int partition, Write write) {
  // Each partition has a name of its own, as others of the process may be written meanwhile.
  const std::string new_name = Concat(new_name_, "-", partition);
  if (absl::Status wrote = WriteNew(new_name, write); !wrote.ok()) return wrote;
  // Another process may have had the partition meanwhile.
  if (absl::Status found = FindLast(); !found.ok()) return found;
  absl::StatusOr<uint64_t> number = NextNumber(partition);
  if (!number.ok()) return number;
  absl::Status status = directory_->Rename(new_name, NameOf(partition, *number));
  if (status.ok()) status = directory_->SyncDirectory();
  if (!status.ok()) return status;
  return number;
}

// No number is used twice, also if the directory cannot be synced. Of several writers one alone can make
// the empty file whose place the new one takes.
absl::StatusOr<uint64_t> LaneFiles::NextNumber(int partition) {
  uint64_t& last = last_[partition];
  for (;;) {
    ++last;
    if (writers_ == Writers::kOne) return last;
    const absl::StatusOr<std::unique_ptr<StorageWriter>> made =
        directory_->CreateFile(NameOf(partition, last));
    if (made.ok()) return last;
    if (!absl::IsAlreadyExists(made.status())) return made.status();
  }
}

absl::StatusOr<std::unique_ptr<ByteSource>> LaneFiles::Get(int partition, uint64_t number) {
  absl::StatusOr<std::unique_ptr<StorageReader>> reader =
      directory_->OpenFile(NameOf(partition, number));
  if (!reader.ok()) return reader.status();
  return std::make_unique<ReaderSource>(*std::move(reader));
}

absl::StatusOr<std::string> ReadLaneFile(LaneSnapshots& snapshots, int partition, uint64_t number) {
  const absl::StatusOr<std::unique_ptr<ByteSource>> source = snapshots.Get(partition, number);
  if (!source.ok()) return source.status();
  std::string all;
  for (;;) {
    char room[4096];
    const absl::StatusOr<size_t> read = (*source)->Read(room);
    if (!read.ok()) return read.status();
    if (*read == 0) return all;
    all.append(room, *read);
  }
}

absl::StatusOr<bool> LaneFiles::HasAny(int partition) {
  const absl::StatusOr<std::vector<std::string>> names = directory_->List();
  if (!names.ok()) return names.status();
  return std::ranges::any_of(*names, [partition](const std::string& name) {
    const std::optional<LaneFile> file = LaneFileNamed(name);
    return file && file->partition == partition;
  });
}

absl::Status LaneFiles::RemoveBefore(int partition, uint64_t number) {
  const absl::StatusOr<std::vector<std::string>> names = directory_->List();
  if (!names.ok()) return names.status();
  for (const std::string& name : *names) {
    const std::optional<LaneFile> file = LaneFileNamed(name);
    if (!file || file->partition != partition || file->number >= number) continue;
    if (absl::Status removed = directory_->Remove(name); !removed.ok()) return removed;
  }
  return absl::OkStatus();
}

absl::Status LaneFiles::Remove(int partition, uint64_t number) {
  absl::Status removed = directory_->Remove(NameOf(partition, number));
  return absl::IsNotFound(removed) ? absl::OkStatus() : removed;
}

}  // namespace pleat::inline v0_1
