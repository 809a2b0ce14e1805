// PartitionedLog: what a Processor (processor.h) needs of a log. There are three: an event store
// (store_log.h), a script in memory for tests (scripted_log.h), and whatever you derive.
// A processor does not know which one it has.
//
// A log has partitions. A partition has records in order, each with an offset, and keeps them for a
// while, so that they can be read again. A log says which partitions the processor owns, takes
// commits for them, and refuses those of an owner that it has replaced.
//
// The log tells everything from inside Poll(), by a LogListener, and does nothing between the
// calls. So a test, or a program, decides when something happens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <pleat/detail/export.h>
#include <pleat/snapshot.h>
#include <pleat/time.h>

namespace pleat::inline v0_1 {

// Ownership: views, valid during the call that has them.
struct LogRecord {
  // Counts the records of the partition. Some may be missing, as where a log compacts.
  uint64_t offset = 0;
  EngineTime logged{};  // when the log took the record; may go back by a little
  EngineTime stamp{};   // the instant that the record speaks of, as its sender says
  std::string_view key;
  std::string_view id;  // may be empty
  std::string_view payload;
};

// Metadata has so many bytes at most: so that a commit to any broker has 1,000 at most, as text.
inline constexpr size_t kCommitMetadataBytesMax = 732;

// How far a partition was read, for its next owner.
struct LogCommit {
  int partition = 0;
  uint64_t offset = 0;   // where to read on
  uint64_t needed = 0;   // <= offset: records from here on may be read again, so the log keeps them
  std::string metadata;  // any bytes
};

// These values are stored by programs; never renumber.
enum class CommitOutcome : uint8_t {
  kCommitted = 0,
  // The partition has another owner, and nothing was taken. As OnRevoked(): nothing more of the
  // partition comes.
  kFenced = 21,
  // It may have been taken or not, such as after a timeout.
  kInDoubt = 22,
};

// What a log tells. Functions are called from inside PartitionedLog::Poll(), and may call the log.
class LogListener {
 public:
  // The partition is yours. `committed` is what its last owner has committed; null: nobody has.
  // `first` is the offset of the first record that is left. Records come from Read() on. If the log
  // does not reach as far as the commit, OnPositionLost() follows.
  virtual void OnAssigned(int partition, const LogCommit* committed, uint64_t first) = 0;
  // The partition is not yours any more, and commits of it are fenced.
  virtual void OnRevoked(int partition) = 0;
  // In the order of offsets. A log may hand a record over again.
  virtual void OnRecords(int partition, std::span<const LogRecord> records) = 0;
  // Records where reading stands were removed, or never were: what is left begins at `first`. None
  // come any more.
  virtual void OnPositionLost(int partition, uint64_t first) = 0;
  // The answer of AskEnd(): all that the log had when it was asked was handed over.
  virtual void OnEnd(int partition) = 0;
  // The answer of Commit().
  virtual void OnCommitted(int partition, CommitOutcome outcome) = 0;

 protected:
  ~LogListener() = default;
};

// Where the snapshots of lanes are kept, and the books of their held keys. Each has a number; later
// ones of a partition have greater numbers.
// Thread safety: one call at a time.
class LaneSnapshots {
 public:
  virtual ~LaneSnapshots() = default;

  // Keeps what `write` appends, and returns its number when it is on the disk. Errors: nothing was
  // kept, as far as can be told.
  using Write = absl::FunctionRef<absl::Status(ByteSink&)>;
  virtual absl::StatusOr<uint64_t> Put(int partition, Write write) = 0;
  // Errors: kNotFound: there is none of that number.
  virtual absl::StatusOr<std::unique_ptr<ByteSource>> Get(int partition, uint64_t number) = 0;
  // Whether there is any of the partition: then somebody has committed, so a log without a commit
  // has lost it.
  virtual absl::StatusOr<bool> HasAny(int partition) = 0;
  // Removes those of lower numbers. Errors: some may be left; a later call removes them.
  virtual absl::Status RemoveBefore(int partition, uint64_t number) = 0;
  // Removes one, if it is there; it may also be left to RemoveBefore().
  virtual absl::Status Remove(int /*partition*/, uint64_t /*number*/) { return absl::OkStatus(); }
};

// Thread safety: one call at a time. Ownership: outlives the processor that reads it.
class PartitionedLog {
 public:
  virtual ~PartitionedLog() = default;

  // Tells what has come, some 1 MiB of records at most, and never waits. Returns whether there may
  // be more at once. Errors: the log cannot be reached, or read. The next call tries again.
  virtual absl::StatusOr<bool> Poll(LogListener& listener) = 0;

  // Records from `offset` on come, in place of those from elsewhere.
  // REQUIRES here and below: the partition was assigned and is not revoked.
  virtual void Read(int partition, uint64_t offset) = 0;
  // Whether records are held back. Everything else goes on.
  virtual void Pause(int partition, bool paused) = 0;
  // To be answered by OnEnd(), once, whenever the log can tell; never while it cannot be reached.
  virtual void AskEnd(int partition) = 0;
  // To be answered by OnCommitted(). REQUIRES: the one before of this partition was answered.
  virtual void Commit(const LogCommit& commit) = 0;
  // How long commits of a partition have to be apart at least.
  virtual Duration commit_interval_min() const { return Duration{0}; }

  virtual LaneSnapshots& snapshots() = 0;
};

}  // namespace pleat::inline v0_1
