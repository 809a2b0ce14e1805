#include <pleat/kafka_log.h>

#include <utility>

#include "engine/kafka/kafka_config.h"
#include "engine/kafka/kafka_keys.h"
#include "engine/kafka/kafka_member.h"
#include "engine/lanes/lane_files.h"

namespace pleat::inline v0_1 {

class KafkaLog::Core {
 public:
  Core(std::unique_ptr<KafkaMember> member, std::unique_ptr<LaneFiles> files,
       Duration commit_interval_min)
      : commit_interval_min_(commit_interval_min),
        member_(std::move(member)),
        files_(std::move(files)) {}

  Duration commit_interval_min() const { return commit_interval_min_; }
  KafkaMember& member() { return *member_; }
  LaneFiles& files() { return *files_; }

 private:
  const Duration commit_interval_min_;
  const std::unique_ptr<KafkaMember> member_;
  const std::unique_ptr<LaneFiles> files_;
};

KafkaLog::KafkaLog(std::unique_ptr<Core> core) : core_(std::move(core)) {}
KafkaLog::~KafkaLog() = default;

absl::StatusOr<std::unique_ptr<KafkaLog>> KafkaLog::Open(const KafkaOptions& options) {
  Storage& storage = options.storage == nullptr ? PosixStorage() : *options.storage;
  absl::StatusOr<std::unique_ptr<StorageDirectory>> directory =
      storage.OpenDirectory(options.snapshots, IfMissing::kCreate);
  if (!directory.ok()) return directory.status();
  absl::StatusOr<std::unique_ptr<LaneFiles>> files =
      LaneFiles::Open(*std::move(directory), LaneFiles::Writers::kSeveral);
  if (!files.ok()) return files.status();
  absl::StatusOr<std::unique_ptr<KafkaMember>> member = KafkaMember::Join(options);
  if (!member.ok()) return member.status();
  return std::unique_ptr<KafkaLog>(new KafkaLog(
      std::make_unique<Core>(*std::move(member), *std::move(files), CommitIntervalMin(options))));
}

absl::StatusOr<bool> KafkaLog::Poll(LogListener& listener) {
  return core_->member().Poll(listener);
}
void KafkaLog::Read(int partition, uint64_t offset) { core_->member().Read(partition, offset); }
void KafkaLog::Pause(int partition, bool paused) { core_->member().Pause(partition, paused); }
void KafkaLog::AskEnd(int partition) { core_->member().AskEnd(partition); }
void KafkaLog::Commit(const LogCommit& commit) { core_->member().Commit(commit); }
LaneSnapshots& KafkaLog::snapshots() { return core_->files(); }
Duration KafkaLog::commit_interval_min() const { return core_->commit_interval_min(); }
int KafkaLog::partitions() const { return core_->member().partitions(); }
bool KafkaLog::MayHold(int partition, std::string_view key) const {
  const int count = partitions();
  return partition >= count || JavaPartition(key, count) == partition ||
         LibrdkafkaPartition(key, count) == partition;
}
void KafkaLog::Leave() { core_->member().Leave(); }
bool KafkaLog::left() const { return core_->member().left(); }

}  // namespace pleat::inline v0_1
