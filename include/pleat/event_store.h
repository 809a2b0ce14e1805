// An EventStore keeps events in a directory, for good and in order, so that whatever was made of
// them can be made again. Its records lie in partitions; an offset counts those of a partition,
// from 0, without gaps.
//
//   auto store = *pleat::EventStore::Open("/var/lib/orders");
//   pleat::AppendAnswer placed = store->Append({.key = "order 17", .payload = bytes}, now);
//   if (placed.outcome != pleat::AppendOutcome::kAppended) ...         // nothing was taken
//   absl::Status committed = store->Commit();            // now and then, any thread
//   if (store->Durable(placed.partition) > placed.offset) Answer();    // it is kept from now on
//
//   pleat::StorePage page;                               // and to read, from `next` on
//   while (*store->Read(partition, next, 1 << 20, page) == pleat::ReadOutcome::kRecords) {
//     for (const pleat::StoredRecord& record : page.records()) Use(record);
//     next = page.next();
//   }
//
// Appending gives a record its place, and puts it into the *block* under way, in memory. A block is
// written when it is full, or by Commit(). Whether that is enough for a record to be *durable* is
// said by the mode:
//
//   mode        durable is   Commit()           a killed process   a power loss
//   kProcess    in the file  writes             loses nothing      may take what no Sync() has kept
//   kInterval   in the file  writes and syncs   loses nothing      takes what came since a Commit()
//   kGroup      on the disk  writes and syncs   loses nothing      takes nothing
//
// The last two columns speak of what is durable; what was appended and is not may go in each case.
// In kGroup an answer to the outside waits until Durable() is beyond the record; many records share
// a sync. In kInterval the answer waits for the write alone, and a Commit() every so often bounds
// the loss: at most `unsynced_bytes_max` are not on the disk. In kProcess files that are full are
// synced beside the work, and there is no bound.
//
// On Boost.Asio a StoreDriver (asio_store.h) commits, and awaits that a record is durable.
//
// Whatever is lost, what is left is a prefix: each partition has its first records without a gap,
// and a block is there whole or not at all, so a batch of up to 256 records is, too. Of two calls
// of one thread, also to different partitions, the later one is never kept without the earlier one.
// Readers see only what is durable: so commit before you read back.
//
// Who folds what is read takes snapshots (state_directory.h) in this order: hand out the emissions
// that were popped, Sync() the store, TakeSnapshot(). docs/howto-keep-events.md has the recipe, and
// examples/13_event_store.cc the program.
//
// A *note* is a name and a value, such as how far a source has been taken. It is in the block of
// the records that it is appended with: both are kept, or both are lost. Who starts again reads
// Notes(), and goes on with the source there, without a gap and without a double.
//
// Log time never goes back. The caller gives `appended`, and the store reads no clock: a time
// before the latest of the partition counts as that latest, and one that lies far ahead of it is
// refused, so that one wrong clock does not move the time of a partition for ever.
//
// One process appends: it holds the directory's LOCK. When the disk is full or fails, nothing is
// acknowledged, reading goes on, and appends answer kStoreFull or kStoreFailed until a Commit()
// succeeds: it copies into a new file what may not be on the disk. In kProcess that is read back
// from the old files; if the disk has dropped it, no Commit() succeeds, and a store that is opened
// again goes on with what comes before the hole. In kInterval records that were durable may not be
// readable until that Commit().
//
// An EventStore starts no thread. Files: LOCK, MANIFEST and segment-N, for the owner alone (mode
// 0600); docs/formats.md has their layout. A file lost-N has blocks behind a hole that a crash or
// damage has left: nothing reads it, and somebody has to look at it and remove it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <pleat/batch.h>
#include <pleat/detail/export.h>
#include <pleat/time.h>
#include <pleat/untyped/storage.h>

namespace pleat::inline v0_1 {

class EventStoreCore;
class PageReader;

enum class StoreDurability : uint8_t { kProcess, kInterval, kGroup };

struct EventStoreOptions {
  // Where the directory is. Default: the files of the system.
  // Ownership: outlives the store.
  Storage* storage = nullptr;

  // How many partitions a new store gets, 1 to 4,096; nothing: 64. For a store that is there it has
  // to be the number that it has, or nothing.
  std::optional<int> partitions = std::nullopt;

  StoreDurability durability = StoreDurability::kInterval;

  // In kInterval and kGroup: how many bytes wait for a sync at most, in memory as well. A larger
  // bound waits less often, and in kInterval loses more with the power. What other threads append
  // at the same moment may come on top, a batch each. 1 byte to 1 GiB.
  uint64_t unsynced_bytes_max = uint64_t{16} << 20;

  // What Append() does when so many wait: it writes, or syncs, by itself, which takes as long as
  // the disk does; or answers kOverloaded.
  bool wait_when_full = true;

  // How far `appended` may lie ahead of the latest time of its partition, 0 or more. kForever: any
  // distance.
  Duration max_forward_jump = std::chrono::hours(24);

  // A block is written when it has so many bytes, 4 KiB to 16 MiB.
  uint64_t block_bytes = uint64_t{1} << 20;

  // A file is full when it has so many bytes, 4 KiB to 1 GiB. It gets larger by a block or by what
  // waited for a sync; and by what a crash or trouble makes it begin with: what was not synced, in
  // kProcess up to nine files.
  uint64_t segment_bytes = uint64_t{64} << 20;

  // Tells this store's files from others. For tests; a program leaves it alone, and the store draws
  // it.
  std::optional<uint64_t> identity = std::nullopt;
};

// Ownership: views, of the caller's bytes to append, and of a page's when read.
struct StoreRecord {
  std::string_view key;
  EngineTime stamp{};   // the instant the event speaks of; whatever the caller means by it
  std::string_view id;  // may be empty
  std::string_view payload;
};

struct StoredRecord : StoreRecord {
  uint64_t offset = 0;
  EngineTime appended{};
};

// A record's key, id and payload together.
inline constexpr size_t kRecordBytesMax = size_t{1} << 20;
// The same for all records of a call of AppendBatch().
inline constexpr size_t kAppendBytesMax = size_t{16} << 20;
// Records of a batch that are in one block or in none.
inline constexpr size_t kWholeRecordsMax = 256;

// What an appender keeps with records, see above. The latest value of a name counts.
// Ownership: views of the caller's bytes.
struct StoreNote {
  std::string_view name;
  std::string_view value;
};

// Values by name.
using StoreNotes = std::map<std::string, std::string>;

// A note's name has 1 byte to so many, and its value 0 to so many.
inline constexpr size_t kNoteNameBytesMax = 255;
inline constexpr size_t kNoteValueBytesMax = size_t{64} << 10;

// These values are stored by programs; never renumber.
enum class AppendOutcome : uint8_t {
  kAppended = 0,
  // As many bytes wait as may, see wait_when_full. Try again after a Commit().
  kOverloaded = 3,
  // The partition does not stand at the expected offset. The answer has the one where it stands:
  // who lost an answer learns so whether the record was taken.
  kConflict = 5,
  // The disk has no space; state().last_error says more. Try again when a Commit() has succeeded.
  kStoreFull = 16,
  // The disk has failed, or the store is closed. As kStoreFull.
  kStoreFailed = 17,
  // More than kRecordBytesMax or kAppendBytesMax; a note over its bounds; or more than
  // kWholeRecordsMax records with a note or an expected offset, which one block has to take.
  kTooLarge = 18,
  // `appended` is more than max_forward_jump ahead of the partition. If it is right, append with
  // AppendWhere::confirm_time.
  kTooFarAhead = 19,
};

// Where to.
struct AppendWhere {
  // Default: the partition of the record's key, PartitionOf(key, partitions()).
  std::optional<int> partition = std::nullopt;
  // The offset that the first record has to get; for at most kWholeRecordsMax records.
  // REQUIRES: `partition`.
  std::optional<uint64_t> expected = std::nullopt;
  // Is taken whenever the records are, and in their block; without records it is taken alone. For
  // at most kWholeRecordsMax records. REQUIRES: its name is not empty.
  std::optional<StoreNote> note = std::nullopt;
  // `appended` was looked at and is right.
  bool confirm_time = false;
};

struct AppendPlace {
  int partition = 0;
  uint64_t offset = 0;
};

struct AppendAnswer {
  AppendOutcome outcome = AppendOutcome::kAppended;
  // Where the first record went; of kConflict and kTooFarAhead, where the partition stands.
  int partition = 0;
  uint64_t offset = 0;
  // How many records were taken, from the first on: all, or a multiple of kWholeRecordsMax.
  size_t taken = 0;
};

// These values are stored by programs; never renumber.
enum class ReadOutcome : uint8_t {
  kRecords = 0,  // the page has one at least
  kEnd = 1,      // the page is empty: nothing is durable from there on
  // Before First(), the records there were removed: there is a gap, and reading goes on at First().
  // Else the partition never came so far, or the record before has another mark: a position of
  // another store, or of records that the power has taken. Stop, and let a person choose between
  // First() and Durable().
  kPositionLost = 20,
};

// Where to read on: at the record of that offset. `mark` is drawn from the record before it. So a
// position that was kept is found out if it is one of another store, or of records that were lost
// before others came in their place. A plain offset is a position without a mark, and is not
// checked.
struct StorePosition {
  // NOLINTNEXTLINE(google-explicit-constructor)
  constexpr StorePosition(uint64_t to_read = 0, uint64_t drawn = 0) noexcept
      : offset(to_read), mark(drawn) {}

  uint64_t offset;
  uint64_t mark;  // 0: none

  friend bool operator==(const StorePosition&, const StorePosition&) = default;
};

// What Read() fills. Its memory is used again by the next Read().
// Thread safety: one call at a time.
class PLEAT_EXPORT StorePage {
 public:
  StorePage();
  ~StorePage();
  StorePage(StorePage&&) noexcept;
  StorePage& operator=(StorePage&&) noexcept;

  // In the order of offsets. Valid until the next Read() with this page, also when the store is
  // gone.
  std::span<const StoredRecord> records() const noexcept { return records_; }
  // The offset behind the last record, where to read on.
  uint64_t next() const noexcept { return position_.offset; }
  // The same with a mark, to be kept; and behind one of the records. REQUIRES: there is that one.
  StorePosition position() const noexcept { return position_; }
  StorePosition PositionAfter(size_t index) const noexcept;

 private:
  friend PageReader;
  struct Parts;

  std::vector<StoredRecord> records_;
  StorePosition position_;
  std::unique_ptr<Parts> parts_;
};

// What has to stay when a store removes its oldest files. A file may go if both allow that.
struct RetentionOptions {
  // Records that were appended at this instant or later. Default: all of them.
  EngineTime appended_since = kBeginningOfTime;
  // Records that a consumer (event_store_reader.h) has not read, from its first Open() on. So
  // {.appended_since = now} lets go what all of them have read.
  bool unread = true;
  // Above so many bytes of files the oldest go all the same, and those lose who need them.
  uint64_t bytes_max = UINT64_MAX;
};

struct TrimAnswer {
  uint64_t files = 0;  // that are gone
  uint64_t bytes = 0;
  std::vector<std::string> lost_by;  // consumers that had not read all of that
};

// How a store stands.
struct EventStoreState {
  uint64_t identity = 0;
  uint64_t segments = 0;         // files that count
  uint64_t bytes = 0;            // in them, without their indexes
  uint64_t unsynced_bytes = 0;   // taken, and not on the disk for certain
  uint64_t blocks = 0;           // written since Open()
  uint64_t times_held_back = 0;  // records whose `appended` came before the latest
  // At Open(): what lay behind the end, such as a part of a block that was just being written; and
  // how many blocks were there with all their bytes. A power loss may leave some; after a kill
  // alone there is none, or the disk is damaged.
  uint64_t bytes_passed_over = 0;
  uint64_t blocks_passed_over = 0;
  AppendOutcome answers = AppendOutcome::kAppended;  // what appends are refused with, if they are
  absl::Status last_error;                           // why
};

// Thread safety: any thread may call any method at any time, but the destructor. Memory that runs
// out ends the process.
// REQUIRES, where a partition is given: 0 <= partition < partitions().
class PLEAT_EXPORT EventStore {
 public:
  // Opens the directory, or makes it (not those above it), and locks it. Records that were written
  // and may not be on the disk are written again into a new file, and are durable then: if that
  // fails, the store is open all the same, see state().
  // Errors, each with the path. Nothing was changed then.
  // - kUnavailable: another process or EventStore has the directory; the message has its number.
  // - kFailedPrecondition: the directory has files and is no event store; it has another number of
  //   partitions, or another identity than options ask for.
  // - kInvalidArgument: an option out of its range.
  // - kDataLoss: something that was durable is damaged or missing; the message has the file and
  //   the byte. Put the file back from a backup. Nothing vouches for what was written last: if the
  //   newest file is missing, or its end is, that is taken for the end of the store.
  // - kUnimplemented: written by a newer version, or with another hash of keys.
  // - Those of storage.h.
  static absl::StatusOr<std::unique_ptr<EventStore>> Open(std::string_view directory,
                                                          const EventStoreOptions& options = {});
  // Writes and syncs nothing: what was not durable may be lost. Call Close() before. Frees the
  // directory's LOCK: then it can be opened again.
  ~EventStore();
  EventStore(const EventStore&) = delete;
  EventStore& operator=(const EventStore&) = delete;

  int partitions() const noexcept;
  StoreDurability durability() const noexcept;

  // Appends one record. The caller may reuse its bytes on return.
  // Complexity: O(bytes); a partition's lock. The call that fills a block writes it. In a store
  // that is warm nothing is allocated, but for what is noted of a block.
  [[nodiscard]] AppendAnswer Append(const StoreRecord& record, EngineTime appended,
                                    const AppendWhere& to = {}) noexcept;

  // Appends records in their order. Each kWholeRecordsMax from the first on are in one block or in
  // none, and the first of these that is refused ends the call. `places`, if not empty, has room
  // for all of them, and gets where those went that were taken.
  [[nodiscard]] AppendAnswer AppendBatch(std::span<const StoreRecord> records, EngineTime appended,
                                         const AppendWhere& to = {},
                                         std::span<AppendPlace> places = {}) noexcept;

  // Writes the block under way, and syncs in the modes kInterval and kGroup: what was appended
  // before the call is durable when it returns OK, and where it syncs it is on the disk. In
  // kProcess it syncs files that are full. Without anything to do it leaves the disk alone. Of many
  // threads that append and commit one syncs for all, and they are told the same. Appending goes on
  // meanwhile.
  // Errors: those of storage.h. Nothing is lost in memory; a later call may succeed. In kProcess
  // kDataLoss: what was written cannot be read back (see above); open the store again.
  absl::Status Commit();

  // Commits, and in every mode all of it is on the disk when it returns OK.
  absl::Status Sync();

  // Syncs, notes in MANIFEST that the store has come so far, and takes no more appends: beside it
  // an append is either refused or kept. What is durable can be read on. Errors: those of Sync();
  // the store is not closed then.
  absl::Status Close();

  // Removes the oldest files, as far as `keep` allows. Only whole files go, of those that are full
  // and on the disk; so what may go stays for a while, and the newest file always does. Call this
  // now and then. Complexity: O(files and checkpoints), a read each; commits wait meanwhile.
  // Consumers are looked up by the path that was opened. One that moves back just when files go may
  // lose what it moves back to.
  // Errors: nothing was removed; but files may have been given up for the next Open(). Those of
  // storage.h; kFailedPrecondition if the path leads elsewhere now; kDataLoss,
  // kFailedPrecondition and kUnimplemented if a consumer cannot be read: see there; kUnavailable
  // if others take notes all the time: call it again.
  absl::StatusOr<TrimAnswer> Trim(const RetentionOptions& keep);

  // The offset of the first record that was not removed; behind the last record that is durable;
  // and behind the last that was appended.
  uint64_t First(int partition) const noexcept;
  uint64_t Durable(int partition) const noexcept;
  uint64_t Next(int partition) const noexcept;

  // Reads durable records of a partition, from the one at `from` on, without gaps. The page gets as
  // many as whole sections of blocks have, until these have `bytes`, and one at least. A mark is
  // compared with the record before, which is read for that; but not if the page ends there.
  // Errors: kDataLoss with file and byte if what is there is damaged; those of storage.h.
  absl::StatusOr<ReadOutcome> Read(int partition, const StorePosition& from, size_t bytes,
                                   StorePage& page) const;

  // The latest durable value of each name. The records that a note was appended with are durable,
  // too. Complexity: it reads every note that is there, so call it at a start; Trim() takes those
  // that are not the latest along with their files. Errors: those of Read().
  absl::StatusOr<StoreNotes> Notes() const;

  EventStoreState state() const;

 private:
  explicit EventStore(std::unique_ptr<EventStoreCore> core);

  std::unique_ptr<EventStoreCore> core_;
};

}  // namespace pleat::inline v0_1
