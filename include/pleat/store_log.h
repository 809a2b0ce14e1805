// A StoreLog lets a Processor (processor.h) read an event store (event_store.h), beside the process
// that appends, or in it.
//
//   auto log = *pleat::StoreLog::Open("/var/lib/orders", "baskets");
//   pleat::Processor processor(*log, make_handler);
//
// The processor is a consumer of the store: its commits are checkpoints, and its snapshots are
// files lane-PARTITION-NUMBER in the directory of the consumer. Trim() keeps the records that a
// next owner would read again. One process at a time has the consumer, so nobody else owns its
// partitions.
//
// `logged` is `appended`, which never goes back in a partition. Records come when they are durable:
// so ProcessorOptions::margin has to be longer than the appender takes between two commits.
// In the modes kProcess and kInterval the power may take records that were handled, and messages
// with them that have left: then the lane is parked at the next start, as its position is lost.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <pleat/batch.h>
#include <pleat/detail/export.h>
#include <pleat/processor.h>
#include <pleat/untyped/partitioned_log.h>
#include <pleat/untyped/storage.h>

namespace pleat::inline v0_1 {

// The metadata of such a checkpoint begins so. Whoever moves the consumer by hand removes all
// behind it: then a lane begins a new life there.
inline constexpr std::string_view kLaneMetadata = "PL1";

class PLEAT_EXPORT StoreLog final : public PartitionedLog {
 public:
  // The partitions of the range are assigned at the first Poll(), and stay so. The others of the
  // consumer are left as they are. `storage`: where the store is, and outlives this; nothing: the
  // files of the system.
  // Errors: those of EventStoreReader::Open() and StoreConsumer::Open().
  static absl::StatusOr<std::unique_ptr<StoreLog>> Open(std::string_view directory,
                                                        std::string_view consumer,
                                                        PartitionRange partitions = {},
                                                        Storage* storage = nullptr);
  // Several that have the consumer together, and each a range of its partitions, as equal as can
  // be: for a processor each, on a thread of its own. At most as many as there are partitions.
  // REQUIRES: several >= 1.
  static absl::StatusOr<std::vector<std::unique_ptr<StoreLog>>> OpenSeveral(
      std::string_view directory, std::string_view consumer, int several,
      Storage* storage = nullptr);
  ~StoreLog() override;

  int partitions() const noexcept;

  // Some MiB of records at most. Commits are taken here, all those since the last call in one
  // write. Errors: those of EventStoreReader and of StoreConsumer. Where one partition cannot be
  // read, the others are.
  absl::StatusOr<bool> Poll(LogListener& listener) override;
  void Read(int partition, uint64_t offset) override;
  void Pause(int partition, bool paused) override;
  void AskEnd(int partition) override;
  void Commit(const LogCommit& commit) override;
  LaneSnapshots& snapshots() override;

  // --- From outside: without opening a log

  // As lanes(), held_keys() and buried() of a Processor.
  struct Lanes {
    std::vector<LaneStatus> lanes;   // one for each partition of the store, in their order
    std::vector<HeldKey> held_keys;  // `bytes` is 0
    // A stream is called by a number where an earlier version has buried its messages.
    std::vector<BuriedMessage> buried;
  };
  // How the lanes of a consumer stand by their last commits, whoever has it: it takes no lock and
  // writes nothing. `next` is where a lane has come by its commit, and `end` where the log ends.
  // What happened since is not there, also not that a processor has parked a lane. A lane is
  // kParked here if its next owner could not go on, for the reason `why`.
  // Complexity: two small files and a record for each partition, and the books of its lane.
  // Errors: those of EventStoreReader::Open() and StoreConsumer::Look().
  static absl::StatusOr<Lanes> Look(std::string_view directory, std::string_view consumer,
                                    Storage* storage = nullptr);

  // What a person decides while no processor has the consumer. Its next owner does as if its
  // Processor had been told: Retry(), Drop(), Revive() and Drop(). Each writes a book and a commit,
  // both synced.
  // Errors: kNotFound: there is no such consumer, or lane of it, key or message, and nothing was
  // changed; kUnavailable: a process has the consumer; kResourceExhausted of the last one: it has
  // to wait until messages before that one were acked; kDataLoss: a file of the lane is damaged
  // or gone; those of StoreConsumer: look whether it is done.
  static absl::Status Retry(std::string_view directory, std::string_view consumer, int partition,
                            std::string_view key, Storage* storage = nullptr);
  static absl::Status Drop(std::string_view directory, std::string_view consumer, int partition,
                           std::string_view key, uint64_t offset, Storage* storage = nullptr);
  static absl::Status Revive(std::string_view directory, std::string_view consumer,
                             const MessageId& id, Storage* storage = nullptr);
  static absl::Status Drop(std::string_view directory, std::string_view consumer,
                           const MessageId& id, Storage* storage = nullptr);

 private:
  class Core;
  explicit StoreLog(std::unique_ptr<Core> core);

  std::unique_ptr<Core> core_;
};

}  // namespace pleat::inline v0_1
