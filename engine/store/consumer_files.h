// The files of consumers: consumers/NAME/CHECKPOINT in the directory of a store, and a LOCK beside it.
// CHECKPOINT is replaced as a whole, as MANIFEST is.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <pleat/event_store_reader.h>
#include <pleat/untyped/storage.h>

#include "engine/store/store_files.h"

namespace pleat::inline v0_1 {

inline constexpr std::string_view kConsumersDirectory = "consumers";
inline constexpr std::string_view kCheckpointFile = "CHECKPOINT";

absl::Status CheckConsumerName(std::string_view name);

// The directory of a consumer. REQUIRES: the name is one. Nothing: that of all of them.
absl::StatusOr<std::unique_ptr<StorageDirectory>> OpenConsumer(std::string_view store,
                                                               std::string_view name,
                                                               Storage* storage,
                                                               IfMissing if_missing);

// Of those that have a CHECKPOINT.
absl::StatusOr<std::vector<std::string>> NamesOfConsumers(std::string_view store, Storage* storage);

// How far all of these have read, on the disk for certain. `store` has to lead to the store still.
struct ReadSoFar {
  std::string name;
  std::vector<StoreCheckpoint> checkpoints;
  std::vector<std::string> lane_files = {};  // for a copy of the store
};
absl::StatusOr<std::vector<ReadSoFar>> ReadByConsumers(std::string_view store, Storage* storage,
                                                       const StoreManifest& manifest);

struct ConsumerFile {
  uint64_t identity;                         // of the store
  std::vector<StoreCheckpoint> checkpoints;  // one for each partition, in their order

  // All at the beginning.
  explicit ConsumerFile(const StoreManifest& store);
  // kNotFound: there is none.
  static absl::StatusOr<ConsumerFile> Read(StorageDirectory& directory, const StoreManifest& store);
  // On the disk when it returns OK.
  absl::Status Put(StorageDirectory& directory) const;

 private:
  std::string Bytes() const;
};

}  // namespace pleat::inline v0_1
