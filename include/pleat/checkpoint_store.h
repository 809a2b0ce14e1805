// CheckpointStore: where counters keep what is frozen, so that another instance can go on from it.
//
//   pleat::RollupOptions options{.windows = {1min}, .accept_limit = 10s,
//                                .store = std::make_shared<pleat::MemoryCheckpointStore>()};
//
// Derive from it to keep checkpoints in a database. Several engines, also in several processes, may
// share one store: docs/counters.md says what they have to agree on.
#pragma once

#include <memory>
#include <string_view>

#include <absl/status/statusor.h>
#include <pleat/delta.h>
#include <pleat/export.h>
#include <pleat/time.h>

namespace pleat::inline v0_1 {

// What a counter came to by the events with stamps before `until`, after its newest clear.
struct Checkpoint {
  EngineTime until = kBeginningOfTime;  // kBeginningOfTime: there is none yet
  Amount amount;

  friend bool operator==(const Checkpoint&, const Checkpoint&) = default;
};

// Thread safety: engines call from any thread, several at a time.
// No lock of an engine is held meanwhile; so a store may take its time, and may call engines.
// REQUIRES: no function throws.
class PLEAT_EXPORT CheckpointStore {
 public:
  virtual ~CheckpointStore() = default;

  // The checkpoint of `key`; a default one if there is none.
  // Errors: any. The counter stays where it is, and asks again at the next Publish().
  virtual absl::StatusOr<Checkpoint> Load(std::string_view key) = 0;

  // Keeps `checkpoint` if its `until` is larger than that of the kept one, as one atomic step, and
  // answers the kept one.
  // Errors: as Load(). After an error the checkpoint may be kept or not.
  virtual absl::StatusOr<Checkpoint> Publish(std::string_view key,
                                             const Checkpoint& checkpoint) = 0;
};

// Keeps checkpoints in memory, as long as it lives: for tests, and for instances of one process.
class PLEAT_EXPORT MemoryCheckpointStore final : public CheckpointStore {
 public:
  MemoryCheckpointStore();
  ~MemoryCheckpointStore() override;

  absl::StatusOr<Checkpoint> Load(std::string_view key) override;
  absl::StatusOr<Checkpoint> Publish(std::string_view key, const Checkpoint& checkpoint) override;

  // How many keys have a checkpoint.
  size_t size() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace pleat::inline v0_1
