// For those who read an event store. An EventStoreReader sees what is durable beside the process
// that appends; a StoreConsumer keeps how far somebody has read, so that the next run reads on; a
// StoreReplay reads all partitions in one order, also into an engine.
//
//   auto store = *pleat::EventStoreReader::Open("/var/lib/orders");
//   auto mail = *pleat::StoreConsumer::Open("/var/lib/orders", "mail");
//   pleat::StorePosition from = mail->checkpoint(partition).position;
//   while (*store->Read(partition, from, 1 << 20, page) == pleat::ReadOutcome::kRecords) {
//     for (const pleat::StoredRecord& record : page.records()) Send(record);
//     from = page.position();
//     absl::Status kept = mail->Commit({.partition = partition, .position = from});
//   }
//   absl::Status refreshed = store->Refresh();       // now and then, and read on
//
// The process that appends may have consumers, too, and read by its EventStore.
//
// A *checkpoint* is a position and some metadata, for each partition. Whoever acts first and
// commits then sees records again after a crash; whoever needs each record once keeps the position
// beside what became of the records, and commits here only so that retention knows of it.
//
// A consumer is a directory, consumers/NAME/ in that of the store, with a LOCK of its own. So one
// process at a time has it, the appender or another one; and consumers know nothing of each other.
// docs/formats.md has the layout.
//
// A checkpoint is on the disk when Commit() returns OK, in every mode of the store. The records
// before it may be lost with the power in the modes kProcess and kInterval: then Read() answers
// kPositionLost, because the mark in the position is of a record that is gone.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <pleat/batch.h>
#include <pleat/detail/export.h>
#include <pleat/engine.h>
#include <pleat/event_store.h>
#include <pleat/time.h>
#include <pleat/untyped/storage.h>

namespace pleat::inline v0_1 {

class StoreConsumerCore;
class StoreView;

// Reads a store beside the process that appends to it, without a lock; any number of them may.
//
// What is durable for the appender is so for a reader, from the next Refresh() on, as the appender
// says so in the file END. Without it, and after a crash of the machine until somebody appends, a
// reader sees what a start of the appender would find.
// Thread safety: any thread may call any method at any time, but the destructor.
class PLEAT_EXPORT EventStoreReader {
 public:
  // `storage`: where the directory is, and outlives this; nothing: the files of the system.
  // Errors: kNotFound: there is no store; and those of EventStore::Open(), but for kUnavailable.
  static absl::StatusOr<std::unique_ptr<EventStoreReader>> Open(std::string_view directory,
                                                                Storage* storage = nullptr);
  ~EventStoreReader();
  EventStoreReader(const EventStoreReader&) = delete;
  EventStoreReader& operator=(const EventStoreReader&) = delete;

  // Looks how far the store is durable now. Complexity: a small file, and the heads of new blocks.
  // Errors: as Open(); what was seen before can be read on. The next call may succeed.
  absl::Status Refresh();

  int partitions() const noexcept;
  uint64_t identity() const noexcept;

  // As those of EventStore, at the last Refresh(); Read() refreshes by itself if a file was
  // replaced. In kProcess and kInterval Durable() may go back when the power was lost; who stands
  // behind it gets kPositionLost.
  uint64_t First(int partition) const noexcept;
  uint64_t Durable(int partition) const noexcept;
  absl::StatusOr<ReadOutcome> Read(int partition, const StorePosition& from, size_t bytes,
                                   StorePage& page) const;
  absl::StatusOr<StoreNotes> Notes() const;

 private:
  explicit EventStoreReader(std::unique_ptr<StoreView> view);

  std::unique_ptr<StoreView> view_;
};

inline constexpr size_t kConsumerNameBytesMax = 64;
inline constexpr size_t kCheckpointMetadataBytesMax = 1024;

struct StoreCheckpoint {
  int partition = 0;
  StorePosition position;  // where to read on; 0 is before First() if records were removed
  std::string metadata;    // whatever the consumer wants to know again
};

// Thread safety: any thread may call any method at any time, but the destructor.
class PLEAT_EXPORT StoreConsumer {
 public:
  // Opens the consumer of that name, or makes it, and locks it. A new one begins at 0 in every
  // partition: to begin elsewhere, such as at First() or Durable(), Commit() that first.
  // A name has 1 to kConsumerNameBytesMax letters, digits, '-', '_' or '.', and begins with a
  // letter or a digit. `storage`: where the store is, and outlives this; nothing: the files of the
  // system.
  // Errors, each with the path. Nothing was changed then.
  // - kInvalidArgument: no such name can be.
  // - kNotFound: there is no event store in the directory.
  // - kUnavailable: another process or StoreConsumer has it; the message has its number.
  // - kFailedPrecondition: its checkpoints are of another store, as if that directory had been
  //   replaced. Remove the consumer, and begin anew.
  // - kDataLoss: its file is damaged. As before.
  // - kUnimplemented: written by a newer version.
  // - Those of storage.h.
  static absl::StatusOr<std::unique_ptr<StoreConsumer>> Open(std::string_view store,
                                                             std::string_view name,
                                                             Storage* storage = nullptr);
  // Frees the consumer: then it can be opened again.
  ~StoreConsumer();
  StoreConsumer(const StoreConsumer&) = delete;
  StoreConsumer& operator=(const StoreConsumer&) = delete;

  int partitions() const noexcept;

  // As it was committed last. REQUIRES: 0 <= partition < partitions().
  StoreCheckpoint checkpoint(int partition) const;

  // Sets the checkpoints of some partitions, all of them or none, on the disk. A position may go
  // back. Complexity: writes one small file and syncs it and its directory, so do it every so many
  // records. REQUIRES: no partition twice; metadata of at most kCheckpointMetadataBytesMax bytes.
  // Errors: those of storage.h. checkpoint() says the old ones; after a crash the disk may have the
  // new ones. Try again, or stop.
  absl::Status Commit(std::span<const StoreCheckpoint> checkpoints);
  absl::Status Commit(const StoreCheckpoint& checkpoint);

  // The names of all consumers of a store, sorted. Errors: kNotFound: there is
  // no event store; those of storage.h.
  static absl::StatusOr<std::vector<std::string>> Names(std::string_view store,
                                                        Storage* storage = nullptr);
  // The checkpoints of one, in the order of partitions, also while another process has it.
  // Errors: as Open(), but for kUnavailable; kNotFound also if there is no consumer of the name.
  static absl::StatusOr<std::vector<StoreCheckpoint>> Look(std::string_view store,
                                                           std::string_view name,
                                                           Storage* storage = nullptr);
  // Removes its checkpoints; an empty directory may be left. Errors: as Look(), and kUnavailable.
  // A damaged one, and one of another store, is removed as well.
  static absl::Status Remove(std::string_view store, std::string_view name,
                             Storage* storage = nullptr);

 private:
  explicit StoreConsumer(std::unique_ptr<StoreConsumerCore> core);

  std::unique_ptr<StoreConsumerCore> core_;
};

// Reads the records of all partitions in one order: that of `appended`, then of partitions, then of
// offsets. So results are made again, with other options or other code, in an engine of their own:
//
//   auto engine = *pleat::Engine::Open({.partitions = store->partitions()});
//   pleat::Folder<Order, Basket> baskets(*engine, "baskets", other_options);
//   pleat::StoreReplay replay(*store, noon);               // what was appended until then
//   auto replayed = replay.Into(*engine, kTheStore, [&](int, const StoredRecord& record) {
//     baskets.Fold(record.key, Parse(record.payload), record.appended);
//     closed += baskets.Pop(SIZE_MAX).size();              // what closes on the way acts no more
//   });
//   if (replayed.ok()) ...                                 // `baskets` is as it was at noon
//
// Without an engine: while (*replay.Next() == ReadOutcome::kRecords) Use(replay.record());
//
// A replay goes in runs. A run has what was durable when it began, in order, and ends with kEnd;
// the next call begins another one, with what came since. The order is not the one of commits: of
// records that were appended at one time, those of the lower partition come first.
// Memory: pages of 4 MiB together, several times as much if records are tiny, and at least one
// section of a block of each partition.
// Thread safety: one call at a time.
class PLEAT_EXPORT StoreReplay {
 public:
  // Of records that were appended at `until` or before, in these partitions. Ownership: `store`
  // outlives this.
  explicit StoreReplay(const EventStore& store, EngineTime until = kEndOfTime,
                       PartitionRange partitions = {});
  explicit StoreReplay(const EventStoreReader& store, EngineTime until = kEndOfTime,
                       PartitionRange partitions = {});
  ~StoreReplay();
  StoreReplay(StoreReplay&&) noexcept;
  StoreReplay& operator=(StoreReplay&&) noexcept;

  // Begins a partition there, and not at the first record that is left.
  // REQUIRES: before Next() and Into(); or these have just told that this partition is lost.
  void StartAt(int partition, const StorePosition& from);
  // Begins each at its first record that was appended at that instant or later, also if it is still
  // to come. REQUIRES: before Next() and Into(). Complexity: O(log(records)) reads of a section.
  // Errors: those of EventStore::Read().
  absl::Status StartAt(EngineTime appended);

  // Goes to the next record. kEnd: the run has ended; of an EventStoreReader, Refresh() before the
  // next one. kPositionLost: partition() is the one, and position() of it is lost, see ReadOutcome.
  // Errors: those of EventStore::Read(). The next call tries again.
  absl::StatusOr<ReadOutcome> Next();

  // Valid until the next call. REQUIRES: Next() has answered kRecords.
  const StoredRecord& record() const noexcept;
  int partition() const noexcept;

  // Where a partition goes on: behind its last record that came. REQUIRES: it is one of those that
  // are read, as in StartAt().
  StorePosition position(int partition) const noexcept;

  // Feeds an engine that is new, or was just recovered, with one run, and returns how many records
  // that were. Each partition begins where StartAt() said, else behind SourcePositionOf(source, p).
  // Called again, it goes on with the next run.
  //
  // On arrival time the engine's time moves to `appended` of each record before `fold` has it, and
  // to `until` in the end, if that is not kEndOfTime. On event time stamps move it. Emissions wait
  // in their collections as ever: `fold` pops them, and drops them where nothing is to act twice.
  // Those of the end wait when the call returns.
  //
  // The engine is then as one was at `until` that folded with the stamp `appended`, on arrival
  // time, and met no limit; on event time as one that read by a replay as well. Ids of emissions,
  // and the order of those of one instant, may be others than in an engine that was fed in another
  // order.
  //
  // REQUIRES: what was appended up to `until` is durable, and of an EventStoreReader, Refresh() has
  // seen it: else records are missing. Nothing else feeds the engine meanwhile, or moves its time.
  // The collections have read equally far; one that has begun empty (Recovered) needs an engine of
  // its own. To go on from a snapshot of the engine, `fold` says a SourcePosition; then the engine
  // has as many partitions as the store, and records lie in the partitions of their keys.
  // Errors. If `fold` was not called yet, the engine is as it was.
  // - kOutOfRange: the engine is at an instant after `until`; the message has the earliest one to
  //   which it can be brought.
  // - kFailedPrecondition: the engine does not fit. It needs records that were removed: take a
  //   snapshot that has read more. Or it has read further than the store goes, or positions of
  //   another number of partitions. Or it has no position, and its time is past the first record
  //   (on event time, has moved): it may have folded that record without a SourcePosition. If it
  //   has not, StartAt() every partition.
  // - Those of Next(). Called again, it goes on.
  using FoldRecord = absl::FunctionRef<void(int partition, const StoredRecord& record)>;
  absl::StatusOr<uint64_t> Into(Engine& engine, uint64_t source, FoldRecord fold);

 private:
  class Core;

  std::unique_ptr<Core> core_;
};

}  // namespace pleat::inline v0_1
