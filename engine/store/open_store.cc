#include "engine/store/open_store.h"

#include <algorithm>
#include <utility>

#include "engine/base/concat.h"
#include "engine/base/hash.h"
#include "engine/store/frame.h"
#include "engine/store/log_writer.h"

namespace pleat::inline v0_1 {
namespace {

constexpr int kPartitionsUsual = 64;

bool IsOurs(std::string_view name) {
  if (SegmentNumberIn(name)) return true;
  if (name.ends_with(kUnfinishedStoreFile)) name.remove_suffix(kUnfinishedStoreFile.size());
  return name == kStoreManifest;
}

// Names that file systems and desktops put everywhere.
bool IsOfSystem(std::string_view name) { return name.starts_with('.') || name == "lost+found"; }

// Whether a file named END is one of ours, which a first start that was cut may leave alone.
bool IsOurEnd(StorageDirectory& directory) {
  const absl::StatusOr<std::unique_ptr<StorageReader>> reader = directory.OpenFile(kStoreEnd);
  std::string bytes;
  return reader.ok() && ReadInto(**reader, 0, kFrameHeadBytes, bytes).ok() &&
         (bytes.empty() || bytes.starts_with("PSEN"));
}

// Nobody's files get a LOCK beside them because a path was mistyped.
absl::Status CheckOurs(StorageDirectory& directory, const std::vector<std::string>& names) {
  const std::string& path = directory.path();
  const auto other = std::ranges::find_if(names, [&](std::string_view name) {
    if (name == kStoreEnd) return !std::ranges::any_of(names, IsOurs) && !IsOurEnd(directory);
    return !IsOurs(name) && !IsOfSystem(name);
  });
  const bool is_snapshot = other != names.end() && other->starts_with("snapshot-");
  if (other == names.end() || (std::ranges::any_of(names, IsOurs) && !is_snapshot)) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(Concat(path,
                                              " is no event store, and has other files, such as ",
                                              *other, ": name another directory"));
}

absl::Status CheckOptions(const EventStoreOptions& options) {
  const auto in_range = [](uint64_t value, uint64_t least, uint64_t most) {
    return least <= value && value <= most;
  };
  if (options.partitions &&
      (*options.partitions < 1 || *options.partitions > kStorePartitionsMax)) {
    return absl::InvalidArgumentError("partitions are 1 to 4096");
  }
  if (!in_range(options.block_bytes, 4096, uint64_t{16} << 20)) {
    return absl::InvalidArgumentError("block_bytes are 4 KiB to 16 MiB");
  }
  if (!in_range(options.segment_bytes, 4096, uint64_t{1} << 30)) {
    return absl::InvalidArgumentError("segment_bytes are 4 KiB to 1 GiB");
  }
  if (!in_range(options.unsynced_bytes_max, 1, uint64_t{1} << 30)) {
    return absl::InvalidArgumentError("unsynced_bytes_max is 1 byte to 1 GiB");
  }
  if (options.max_forward_jump < Duration::zero()) {
    return absl::InvalidArgumentError("max_forward_jump is not negative");
  }
  return absl::OkStatus();
}

absl::StatusOr<StoreManifest> MakeManifest(OpenedStore& store, const EventStoreOptions& options) {
  if (std::ranges::any_of(store.names, [](const std::string& name) {
        return SegmentNumberIn(name) && !name.ends_with(kUnfinishedStoreFile);
      })) {
    return absl::DataLossError(Concat(store.directory->path(), "/", kStoreManifest,
                                      ": it is missing: put it back from a backup"));
  }
  const StoreManifest manifest{
      .identity = options.identity ? *options.identity : RandomHashKey()[0],
      .partitions = static_cast<uint32_t>(options.partitions.value_or(kPartitionsUsual))};
  if (absl::Status made = CreateManifest(*store.directory, manifest); !made.ok()) return made;
  return manifest;
}

}  // namespace

absl::Status CheckFinished(std::string_view path, const std::vector<std::string>& names) {
  if (std::ranges::find(names, kUnfinishedStore) == names.end()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      Concat(path, " is a copy that was not finished: remove the directory, and copy again"));
}

absl::StatusOr<StoreManifest> ReadManifest(StorageDirectory& directory) {
  absl::StatusOr<std::unique_ptr<StorageReader>> reader = directory.OpenFile(kStoreManifest);
  if (!reader.ok()) return reader.status();
  const absl::StatusOr<uint64_t> size = (*reader)->Size();
  if (!size.ok()) return size.status();
  std::string bytes;
  // No MANIFEST is longer.
  absl::Status read = ReadInto(**reader, 0, std::min(*size, uint64_t{4096}), bytes);
  if (!read.ok()) return read;
  if (bytes.starts_with("PLB")) {
    return absl::FailedPreconditionError(
        Concat(directory.path(), " is a state directory, and no event store: name another one"));
  }
  absl::StatusOr<StoreManifest> manifest = StoreManifest::Read(directory.path(), bytes);
  if (!manifest.ok() && absl::IsUnimplemented(manifest.status())) {
    return absl::UnimplementedError(Concat(directory.path(), "/", kStoreManifest, ": ",
                                           std::string(manifest.status().message())));
  }
  return manifest;
}

namespace {

absl::Status CheckAsked(const std::string& path, const StoreManifest& manifest,
                        const EventStoreOptions& options) {
  if (options.partitions && static_cast<uint32_t>(*options.partitions) != manifest.partitions) {
    return absl::FailedPreconditionError(
        Concat(path, " has ", manifest.partitions, " partitions, not ", *options.partitions,
               ": open it with as many, or copy it into another one"));
  }
  if (options.identity && *options.identity != manifest.identity) {
    return absl::FailedPreconditionError(
        Concat(path, " has another identity: it is of another store"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<OpenedStore> OpenStoreToRead(std::string_view path, Storage* storage) {
  OpenedStore store;
  absl::StatusOr<std::unique_ptr<StorageDirectory>> directory =
      StorageOr(storage).OpenDirectory(path, IfMissing::kFail);
  if (!directory.ok()) return directory.status();
  store.directory = *std::move(directory);
  absl::StatusOr<std::vector<std::string>> names = store.directory->List();
  if (!names.ok()) return names.status();
  store.names = *std::move(names);
  if (absl::Status finished = CheckFinished(path, store.names); !finished.ok()) return finished;
  if (std::ranges::find(store.names, kStoreManifest) == store.names.end()) {
    return absl::NotFoundError(Concat(path, " is no event store: it has no MANIFEST"));
  }
  absl::StatusOr<StoreManifest> manifest = ReadManifest(*store.directory);
  if (!manifest.ok()) return manifest.status();
  store.manifest = *manifest;
  return store;
}

absl::StatusOr<OpenedStore> OpenStoreDirectory(std::string_view path,
                                               const EventStoreOptions& options) {
  if (absl::Status right = CheckOptions(options); !right.ok()) return right;
  OpenedStore store;
  absl::StatusOr<std::unique_ptr<StorageDirectory>> directory =
      StorageOr(options.storage).OpenDirectory(path, IfMissing::kCreate);
  if (!directory.ok()) return directory.status();
  store.directory = *std::move(directory);
  for (const bool locked : {false, true}) {
    if (locked) {
      if (absl::Status lock = store.directory->Lock(); !lock.ok()) return lock;
    }
    absl::StatusOr<std::vector<std::string>> names = store.directory->List();
    if (!names.ok()) return names.status();
    store.names = *std::move(names);
    if (absl::Status finished = CheckFinished(path, store.names); !finished.ok()) return finished;
    if (absl::Status ours = CheckOurs(*store.directory, store.names); !ours.ok()) return ours;
  }
  const bool is_there = std::ranges::find(store.names, kStoreManifest) != store.names.end();
  absl::StatusOr<StoreManifest> manifest =
      is_there ? ReadManifest(*store.directory) : MakeManifest(store, options);
  if (!manifest.ok()) return manifest.status();
  if (absl::Status asked = CheckAsked(store.directory->path(), *manifest, options); !asked.ok()) {
    return asked;
  }
  store.manifest = *manifest;
  return store;
}

}  // namespace pleat::inline v0_1
