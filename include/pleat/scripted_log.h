// A ScriptedLog is a partitioned log in memory, for tests of programs with a Processor: the test
// appends records, says who owns which partition, and what goes wrong.
//
//   pleat::ScriptedLog log(/*partitions=*/4);
//   log.Append(0, {.key = "ann", .payload = "1200"}, at);
//   const std::unique_ptr<pleat::PartitionedLog> member = log.Join();
//   log.Assign(0, *member);
//   pleat::Processor processor(*member, make_handler);
//   while (*processor.Run(at + 10min)) {}
//   EXPECT_THAT(processor.Lease(10, 30s, at + 10min), ElementsAre(...));
//
// A crash is the end of the processor and of its member; then Assign() to another one. What was
// committed stays, and so do snapshots.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <pleat/detail/export.h>
#include <pleat/event_store.h>
#include <pleat/time.h>
#include <pleat/untyped/partitioned_log.h>

namespace pleat::inline v0_1 {

// What becomes of a commit.
enum class CommitFate : uint8_t {
  kTaken,
  kTakenInDoubt,  // taken, and answered with kInDoubt
  kLost,          // not taken, and answered with kInDoubt
};

// Thread safety: one call at a time, members included. Ownership: outlives its members.
class PLEAT_EXPORT ScriptedLog {
 public:
  explicit ScriptedLog(int partitions);
  ~ScriptedLog();
  ScriptedLog(const ScriptedLog&) = delete;
  ScriptedLog& operator=(const ScriptedLog&) = delete;

  // Returns the offset.
  uint64_t Append(int partition, const StoreRecord& record, EngineTime logged);
  // The offset behind the last record.
  uint64_t End(int partition) const;
  // Removes one record, as a log that compacts does; all before an offset, as retention does; all
  // from one on, as the loss of a broker can.
  void Remove(int partition, uint64_t offset);
  void RemoveBefore(int partition, uint64_t offset);
  void Truncate(int partition, uint64_t offset);

  // A new member of the group, which has no partition yet.
  std::unique_ptr<PartitionedLog> Join();
  // Gives the partition to a member. The member that had it is told at its next Poll(), and its
  // commits are fenced from now on.
  void Assign(int partition, PartitionedLog& member);
  // The same, but the member that had it is not told: it learns that from its next commit.
  void AssignSilently(int partition, PartitionedLog& member);

  // What was committed last; null: nothing.
  const LogCommit* Committed(int partition) const;
  // Takes back what was committed, as if that had expired.
  void ForgetCommit(int partition);

  // Asked for each commit that is not fenced. Default: kTaken.
  void SetCommitFate(std::function<CommitFate(const LogCommit&)> fate);
  // While it cannot be reached nothing comes, not even answers; commits are lost.
  void SetReachable(bool reachable);
  // Records from there on are handed over once more to whoever reads the partition.
  void Repeat(int partition, uint64_t offset);
  // How many records a Poll() hands over at most. Default: 256.
  void SetPollRecords(size_t records);
  // Asked for each snapshot that is put, and each book of held keys: the error with which that
  // fails.
  void SetSnapshotFate(std::function<absl::Status(int partition)> fate);
  // How many of both there are.
  size_t Snapshots(int partition) const;

 private:
  friend class ScriptedMember;
  struct State;

  std::unique_ptr<State> state_;
};

}  // namespace pleat::inline v0_1
