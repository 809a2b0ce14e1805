// The first blocks of a snapshot: all that it says of the engine as a whole, at its cut.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <pleat/snapshot.h>

#include "engine/core/description.h"
#include "engine/core/engine_core.h"
#include "engine/state/blocks.h"

namespace pleat::inline v0_1 {

struct SnapshotHead {
  // Of the layout of bytes, and of the names of options and kinds. No other one can be read.
  static constexpr uint32_t kFormat = 3;
  // Of StablePartitionHash().
  static constexpr uint32_t kPartitionHash = 1;

  // The owner of the blocks that the intake has; those of collections are higher.
  static constexpr uint32_t kIntakeNumber = 0;

  struct Collection {
    std::string name;
    uint32_t number = 0;
    Description description;
    std::vector<uint64_t> entries = {};  // by partition
    std::string shared;                  // source positions, and the fields of its kind

    template <class F>
    void Stored(F& f) {
      f(name, number, description, entries, shared);
    }
  };

  uint64_t identity = 0;
  uint64_t tag = 0;
  uint32_t partition_hash = kPartitionHash;
  uint32_t partitions = 0;
  Axis axis = Axis::kArrival;
  Duration watermark_delay{0};
  EngineTime now{};
  LeaseTime lease_now{};
  uint64_t position = 0;
  EngineCore::Lasting lasting;
  std::vector<Collection> collections;
  std::string note;            // the caller's
  std::vector<uint32_t> lost;  // partitions that were damaged, and left out of this copy

  absl::Status Write(BlockWriter& writer);
  // Reads it and prepares `reader` for what follows.
  static absl::StatusOr<SnapshotHead> Read(BlockReader& reader);

  SnapshotInfo Info() const;

 private:
  bool InRange() const;
  template <class F>
  void Stored(F& f) {
    f(identity, tag, partition_hash, partitions, axis, watermark_delay, now, lease_now, position,
      lasting, collections, note);
  }
};

}  // namespace pleat::inline v0_1
