#include <pleat/store_log.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <pleat/event_store_reader.h>

#include "engine/base/check.h"
#include "engine/base/concat.h"
#include "engine/lanes/lane_files.h"
#include "engine/lanes/store_commit.h"

namespace pleat::inline v0_1 {
namespace {

constexpr size_t kPageBytes = size_t{64} << 10;
constexpr int kPagesAPoll = 64;

}  // namespace

class StoreLog::Core {
 public:
  Core(std::unique_ptr<EventStoreReader> store, std::shared_ptr<StoreConsumer> consumer,
       std::unique_ptr<LaneFiles> files, PartitionRange range)
      : store_(std::move(store)), consumer_(std::move(consumer)), files_(std::move(files)) {
    const int end = std::min(range.end, store_->partitions());
    for (int p = std::max(range.begin, 0); p < end; ++p) to_assign_.push_back(p);
  }

  static absl::StatusOr<std::unique_ptr<Core>> Open(std::string_view directory,
                                                    std::shared_ptr<StoreConsumer> consumer,
                                                    std::string_view name,
                                                    PartitionRange partitions, Storage* storage);

  int partitions() const { return store_->partitions(); }
  absl::StatusOr<bool> Poll(LogListener& listener);
  void Read(int partition, uint64_t offset) {
    Reading& reading = at(partition);
    const StorePosition kept = consumer_->checkpoint(partition).position;
    reading.from = kept.offset == offset ? kept : StorePosition(offset);
    reading.is_reading = true;
  }
  void Pause(int partition, bool paused) { at(partition).is_paused = paused; }
  void AskEnd(int partition) { at(partition).asks = true; }
  void Commit(const LogCommit& commit) { commits_.push_back(commit); }
  LaneFiles& files() { return *files_; }

 private:
  struct Reading {
    StorePosition from;
    bool is_reading = false;
    bool is_paused = false;
    bool asks = false;                  // for the end, which was not looked up yet
    std::optional<uint64_t> asked_end;  // to be told when it is reached
    StorePosition needed;               // of the last commit
  };

  Reading& at(int partition) {
    const auto found = readings_.find(partition);
    PLEAT_CHECK(found != readings_.end());
    return found->second;
  }
  void Assign(int partition, LogListener& listener);
  absl::Status TakeCommits(LogListener& listener);
  absl::StatusOr<StorePosition> PositionOf(int partition, uint64_t offset);
  absl::StatusOr<bool> HandOver(int partition, Reading& reading, LogListener& listener);
  void Lose(int partition, LogListener& listener) {
    at(partition).is_reading = false;
    listener.OnPositionLost(partition, store_->First(partition));
  }

  const std::unique_ptr<EventStoreReader> store_;
  const std::shared_ptr<StoreConsumer> consumer_;  // of several logs
  const std::unique_ptr<LaneFiles> files_;
  std::vector<int> to_assign_;
  std::map<int, Reading> readings_;
  int last_read_ = -1;  // a partition
  int pages_left_ = 0;  // of the call
  std::vector<LogCommit> commits_;
  StorePage page_;
  std::vector<LogRecord> records_;
};

void StoreLog::Core::Assign(int partition, LogListener& listener) {
  const StoreCheckpoint checkpoint = consumer_->checkpoint(partition);
  Reading& reading = readings_[partition];
  reading.needed = checkpoint.position;
  const std::optional<LogCommit> committed = CommitIn(checkpoint);
  listener.OnAssigned(partition, committed ? &*committed : nullptr, store_->First(partition));
  if (committed && committed->offset > store_->Durable(partition)) Lose(partition, listener);
}

// The position at an offset, with the mark of the record before it.
absl::StatusOr<StorePosition> StoreLog::Core::PositionOf(int partition, uint64_t offset) {
  if (offset <= store_->First(partition)) return StorePosition(offset);
  StorePage page;
  const absl::StatusOr<ReadOutcome> read = store_->Read(partition, offset - 1, /*bytes=*/1, page);
  if (!read.ok()) return read.status();
  if (*read != ReadOutcome::kRecords) return StorePosition(offset);
  return page.PositionAfter(0);
}

absl::Status StoreLog::Core::TakeCommits(LogListener& listener) {
  if (commits_.empty()) return absl::OkStatus();
  const std::vector<LogCommit> commits = std::exchange(commits_, {});
  std::vector<StoreCheckpoint> checkpoints;
  absl::Status status;
  for (const LogCommit& each : commits) {
    StorePosition& needed = at(each.partition).needed;
    if (needed.offset != each.needed && status.ok()) {
      const absl::StatusOr<StorePosition> position = PositionOf(each.partition, each.needed);
      if (position.ok()) needed = *position;
      status = position.status();
    }
    checkpoints.push_back({each.partition, needed, CheckpointMetadata(each)});
  }
  if (status.ok()) status = consumer_->Commit(checkpoints);
  const CommitOutcome outcome = status.ok() ? CommitOutcome::kCommitted : CommitOutcome::kInDoubt;
  for (const LogCommit& each : commits) listener.OnCommitted(each.partition, outcome);
  return status;
}

// Returns whether there is more.
absl::StatusOr<bool> StoreLog::Core::HandOver(int partition, Reading& reading,
                                              LogListener& listener) {
  const uint64_t durable = store_->Durable(partition);
  if (std::exchange(reading.asks, false)) reading.asked_end = durable;
  // What stands at the end is read once, so that a position of another store is found out.
  const bool has_records = reading.from.offset < durable || reading.from.mark != 0;
  if (!reading.is_paused && has_records && pages_left_ > 0) {
    --pages_left_;
    last_read_ = partition;
    const absl::StatusOr<ReadOutcome> read =
        store_->Read(partition, reading.from, kPageBytes, page_);
    if (!read.ok()) return read.status();
    if (*read == ReadOutcome::kPositionLost) return Lose(partition, listener), false;
    reading.from = *read == ReadOutcome::kRecords ? page_.next() : reading.from.offset;
    if (*read == ReadOutcome::kRecords) {
      records_.clear();
      for (const StoredRecord& each : page_.records()) {
        records_.push_back(
            {each.offset, each.appended, each.stamp, each.key, each.id, each.payload});
      }
      listener.OnRecords(partition, records_);
    }
  }
  if (reading.asked_end && *reading.asked_end <= reading.from.offset) {
    reading.asked_end.reset();
    listener.OnEnd(partition);
  }
  return !reading.is_paused && reading.is_reading && reading.from.offset < durable;
}

absl::StatusOr<bool> StoreLog::Core::Poll(LogListener& listener) {
  if (absl::Status taken = TakeCommits(listener); !taken.ok()) return taken;
  if (absl::Status refreshed = store_->Refresh(); !refreshed.ok()) return refreshed;
  for (const int partition : std::exchange(to_assign_, {})) Assign(partition, listener);
  // From the partition on behind the last one that was read, so that each has its turn.
  std::vector<int> turns;
  const auto begin = readings_.upper_bound(last_read_);
  for (auto it = begin; it != readings_.end(); ++it) turns.push_back(it->first);
  for (auto it = readings_.begin(); it != begin; ++it) turns.push_back(it->first);
  pages_left_ = kPagesAPoll;
  bool more = false;
  absl::Status trouble;
  for (const int partition : turns) {
    Reading& reading = at(partition);
    if (!reading.is_reading) continue;
    const absl::StatusOr<bool> handed_over = HandOver(partition, reading, listener);
    trouble.Update(handed_over.status());
    more |= handed_over.value_or(false);
  }
  if (!trouble.ok()) return trouble;
  return more;
}

StoreLog::StoreLog(std::unique_ptr<Core> core) : core_(std::move(core)) {}
StoreLog::~StoreLog() = default;

absl::StatusOr<std::unique_ptr<StoreLog::Core>> StoreLog::Core::Open(
    std::string_view directory, std::shared_ptr<StoreConsumer> consumer, std::string_view name,
    PartitionRange partitions, Storage* storage) {
  absl::StatusOr<std::unique_ptr<EventStoreReader>> store =
      EventStoreReader::Open(directory, storage);
  if (!store.ok()) return store.status();
  Storage& files_of = storage == nullptr ? PosixStorage() : *storage;
  absl::StatusOr<std::unique_ptr<StorageDirectory>> beside =
      files_of.OpenDirectory(Concat(directory, "/consumers/", name), IfMissing::kFail);
  if (!beside.ok()) return beside.status();
  absl::StatusOr<std::unique_ptr<LaneFiles>> files = LaneFiles::Open(*std::move(beside));
  if (!files.ok()) return files.status();
  return std::make_unique<Core>(*std::move(store), std::move(consumer), *std::move(files),
                                partitions);
}

absl::StatusOr<std::unique_ptr<StoreLog>> StoreLog::Open(std::string_view directory,
                                                         std::string_view consumer,
                                                         PartitionRange partitions,
                                                         Storage* storage) {
  absl::StatusOr<std::unique_ptr<StoreConsumer>> opened =
      StoreConsumer::Open(directory, consumer, storage);
  if (!opened.ok()) return opened.status();
  absl::StatusOr<std::unique_ptr<Core>> core =
      Core::Open(directory, *std::move(opened), consumer, partitions, storage);
  if (!core.ok()) return core.status();
  return std::unique_ptr<StoreLog>(new StoreLog(*std::move(core)));
}

absl::StatusOr<std::vector<std::unique_ptr<StoreLog>>> StoreLog::OpenSeveral(
    std::string_view directory, std::string_view consumer, int several, Storage* storage) {
  PLEAT_CHECK(several >= 1);
  absl::StatusOr<std::unique_ptr<StoreConsumer>> opened =
      StoreConsumer::Open(directory, consumer, storage);
  if (!opened.ok()) return opened.status();
  const std::shared_ptr<StoreConsumer> shared = *std::move(opened);
  const int partitions = shared->partitions();
  const int count = std::min(several, partitions);
  std::vector<std::unique_ptr<StoreLog>> logs;
  for (int i = 0; i < count; ++i) {
    const PartitionRange range = PartitionRange::ForWorker(i, count, partitions);
    absl::StatusOr<std::unique_ptr<Core>> core =
        Core::Open(directory, shared, consumer, range, storage);
    if (!core.ok()) return core.status();
    logs.push_back(std::unique_ptr<StoreLog>(new StoreLog(*std::move(core))));
  }
  return logs;
}

int StoreLog::partitions() const noexcept { return core_->partitions(); }
absl::StatusOr<bool> StoreLog::Poll(LogListener& listener) { return core_->Poll(listener); }
void StoreLog::Read(int partition, uint64_t offset) { core_->Read(partition, offset); }
void StoreLog::Pause(int partition, bool paused) { core_->Pause(partition, paused); }
void StoreLog::AskEnd(int partition) { core_->AskEnd(partition); }
void StoreLog::Commit(const LogCommit& commit) { core_->Commit(commit); }
LaneSnapshots& StoreLog::snapshots() { return core_->files(); }

}  // namespace pleat::inline v0_1
