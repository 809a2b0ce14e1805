#include "engine/store/consumer_files.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <absl/strings/ascii.h>
#include <pleat/stored.h>

#include "engine/base/concat.h"
#include "engine/store/frame.h"
#include "engine/store/open_store.h"

namespace pleat::inline v0_1 {
namespace {

constexpr std::string_view kCheckpointLetters = "CP";
constexpr uint64_t kCheckpointFormat = 1;
// Of a partition: a number, a mark and metadata.
constexpr uint64_t kCheckpointBytesMax =
    kFrameBytes + 64 + uint64_t{kStorePartitionsMax} * (32 + kCheckpointMetadataBytesMax);

absl::Status Impossible(const StorageDirectory& directory) {
  return StoreDamage(directory.path(), kCheckpointFile, 0,
                     "it is damaged: remove the consumer, and let it begin anew");
}

bool GetCheckpoint(FieldReader& in, StoreCheckpoint& checkpoint) {
  checkpoint.position.offset = in.Number();
  checkpoint.position.mark = in.Word();
  checkpoint.metadata = std::string(in.Bytes());
  return in.ok() && checkpoint.metadata.size() <= kCheckpointMetadataBytesMax;
}

}  // namespace

absl::Status CheckConsumerName(std::string_view name) {
  const auto may_be = [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '.';
  };
  if (!name.empty() && name.size() <= kConsumerNameBytesMax &&
      absl::ascii_isalnum(static_cast<unsigned char>(name[0])) &&
      std::ranges::all_of(name, may_be)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      Concat("the name of a consumer has 1 to ", kConsumerNameBytesMax,
             " letters, digits, '-', '_' or '.', and begins with a letter or a digit"));
}

absl::StatusOr<std::unique_ptr<StorageDirectory>> OpenConsumer(std::string_view store,
                                                               std::string_view name,
                                                               Storage* storage,
                                                               IfMissing if_missing) {
  const std::string all = Concat(store, "/", kConsumersDirectory);
  absl::StatusOr<std::unique_ptr<StorageDirectory>> consumers =
      StorageOr(storage).OpenDirectory(all, if_missing);
  if (!consumers.ok() || name.empty()) return consumers;
  return StorageOr(storage).OpenDirectory(Concat(all, "/", name), if_missing);
}

absl::StatusOr<std::vector<std::string>> NamesOfConsumers(std::string_view store,
                                                          Storage* storage) {
  const absl::StatusOr<std::unique_ptr<StorageDirectory>> consumers =
      OpenConsumer(store, /*name=*/{}, storage, IfMissing::kFail);
  if (absl::IsNotFound(consumers.status())) return std::vector<std::string>();
  if (!consumers.ok()) return consumers.status();
  absl::StatusOr<std::vector<std::string>> names = (*consumers)->List();
  if (!names.ok()) return names.status();
  std::vector<std::string> found;
  for (std::string& name : *names) {
    if (!CheckConsumerName(name).ok()) continue;
    const absl::StatusOr<std::unique_ptr<StorageDirectory>> directory =
        OpenConsumer(store, name, storage, IfMissing::kFail);
    if (!directory.ok()) return directory.status();
    const absl::StatusOr<std::vector<std::string>> files = (*directory)->List();
    if (!files.ok()) return files.status();
    if (std::ranges::find(*files, kCheckpointFile) != files->end()) {
      found.push_back(std::move(name));
    }
  }
  return found;
}

ConsumerFile::ConsumerFile(const StoreManifest& store)
    : identity(store.identity), checkpoints(store.partitions) {
  for (size_t i = 0; i < checkpoints.size(); ++i) checkpoints[i].partition = static_cast<int>(i);
}

std::string ConsumerFile::Bytes() const {
  FieldWriter out;
  out.PutNumber(kCheckpointFormat);
  out.PutWord(identity);
  out.PutNumber(checkpoints.size());
  for (const StoreCheckpoint& checkpoint : checkpoints) {
    out.PutNumber(checkpoint.position.offset);
    out.PutWord(checkpoint.position.mark);
    out.PutBytes(checkpoint.metadata);
  }
  return FrameOf(kCheckpointLetters, out.bytes(), {});
}

absl::Status ConsumerFile::Put(StorageDirectory& directory) const {
  absl::Status status = PutFile(directory, kCheckpointFile, Bytes());
  if (status.ok()) status = directory.SyncDirectory();
  return status;
}

absl::StatusOr<ConsumerFile> ConsumerFile::Read(StorageDirectory& directory,
                                                const StoreManifest& store) {
  const absl::StatusOr<std::unique_ptr<StorageReader>> reader = directory.OpenFile(kCheckpointFile);
  if (!reader.ok()) return reader.status();
  std::string bytes;
  absl::Status read = ReadInto(**reader, 0, kCheckpointBytesMax, bytes);
  if (!read.ok()) return read;
  const std::optional<std::string_view> fields = FieldsIn(kCheckpointLetters, bytes, {});
  if (!fields) return Impossible(directory);
  FieldReader in(*fields);
  const uint64_t format = in.Number();
  if (in.ok() && format > kCheckpointFormat) {
    return absl::UnimplementedError(Concat(directory.path(), "/", kCheckpointFile, ": format ",
                                           format,
                                           " is of a newer version of pleat: use that version"));
  }
  const uint64_t identity = in.Word();
  const uint64_t partitions = in.Number();
  if (!in.ok() || format == 0) return Impossible(directory);
  if (identity != store.identity || partitions != store.partitions) {
    return absl::FailedPreconditionError(
        Concat(directory.path(), " has checkpoints of another store: remove the consumer, and let ",
               "it begin anew"));
  }
  ConsumerFile file(store);
  const bool right = std::ranges::all_of(
      file.checkpoints, [&](StoreCheckpoint& checkpoint) { return GetCheckpoint(in, checkpoint); });
  if (!right || !in.done()) return Impossible(directory);
  return file;
}

absl::StatusOr<std::vector<ReadSoFar>> ReadByConsumers(std::string_view store, Storage* storage,
                                                       const StoreManifest& manifest) {
  const absl::StatusOr<OpenedStore> opened = OpenStoreToRead(store, storage);
  if (absl::IsNotFound(opened.status()) ||
      (opened.ok() && opened->manifest.identity != manifest.identity)) {
    return absl::FailedPreconditionError(
        Concat(store, " is not the directory that was opened: the path leads elsewhere now"));
  }
  if (!opened.ok()) return opened.status();
  absl::StatusOr<std::vector<std::string>> names = NamesOfConsumers(store, storage);
  if (!names.ok()) return names.status();
  std::vector<ReadSoFar> consumers;
  for (std::string& name : *names) {
    const absl::StatusOr<std::unique_ptr<StorageDirectory>> directory =
        OpenConsumer(store, name, storage, IfMissing::kFail);
    if (!directory.ok()) return directory.status();
    // One that is found may have been put there by a commit that has failed.
    if (absl::Status synced = (*directory)->SyncDirectory(); !synced.ok()) return synced;
    absl::StatusOr<ConsumerFile> file = ConsumerFile::Read(**directory, manifest);
    if (absl::IsNotFound(file.status())) continue;  // removed just now
    if (!file.ok()) return file.status();
    consumers.push_back({std::move(name), std::move(file->checkpoints)});
  }
  return consumers;
}

}  // namespace pleat::inline v0_1
