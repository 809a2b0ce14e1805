// CheckpointStore: keeps the sums of the final windows of counters, so that another instance can
// continue from them.
//
//   pleat::RollupOptions options{.windows = {1min}, .allowed_lateness = 10s,
//                                .store = std::make_shared<pleat::MemoryCheckpointStore>()};
//
// Derive from it to keep checkpoints in a database. Several engines, also in several processes, may
// share one store: docs/counters.md has the conditions for that.
#pragma once

#include <memory>
#include <string_view>

#include <absl/status/statusor.h>
#include <pleat/delta.h>
#include <pleat/export.h>
#include <pleat/time.h>

namespace pleat::inline v0_1 {

// The sum of the events of a counter with stamps before `until`, after its newest clear. A window
// of `windows[0]` ends at `until`.
struct Checkpoint {
  EngineTime until = kBeginningOfTime;  // kBeginningOfTime: there is none yet
  Amount amount;

  friend bool operator==(const Checkpoint&, const Checkpoint&) = default;
};

// Thread safety: engines call from any thread, several at a time. No lock of an engine is held
// meanwhile, so a store may block, and may call engines.
// REQUIRES: no function throws.
class PLEAT_EXPORT CheckpointStore {
 public:
  virtual ~CheckpointStore() = default;

  // The checkpoint of `key`; a default one if there is none.
  // Errors: any. The counter stays as it is, and the next Publish() asks again.
  virtual absl::StatusOr<Checkpoint> Load(std::string_view key) = 0;

  // Keeps `checkpoint` if its `until` is later than that of the kept one, in one atomic step.
  // Returns the checkpoint that the store keeps then.
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
