// Opens the directory of an event store: to append, which takes the lock, and finds or makes MANIFEST;
// or to read.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <absl/status/statusor.h>
#include <pleat/event_store.h>

#include "engine/store/store_files.h"

namespace pleat::inline v0_1 {

// The one that was given, or the files of the system.
inline Storage& StorageOr(Storage* storage) {
  return storage != nullptr ? *storage : PosixStorage();
}

struct OpenedStore {
  std::unique_ptr<StorageDirectory> directory;
  StoreManifest manifest;
  std::vector<std::string> names;  // of the files
};

absl::StatusOr<StoreManifest> ReadManifest(StorageDirectory& directory);

// kFailedPrecondition: these are the files of a copy that was not finished.
absl::Status CheckFinished(std::string_view path, const std::vector<std::string>& names);

// For reading, beside whoever appends: there has to be a store.
absl::StatusOr<OpenedStore> OpenStoreToRead(std::string_view path, Storage* storage);

absl::StatusOr<OpenedStore> OpenStoreDirectory(std::string_view path,
                                               const EventStoreOptions& options);

}  // namespace pleat::inline v0_1
