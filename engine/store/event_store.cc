#include <pleat/event_store.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <utility>

#include <absl/base/thread_annotations.h>

#include "engine/base/check.h"
#include "engine/base/lock.h"
#include "engine/store/appender.h"
#include "engine/store/commit_rounds.h"
#include "engine/store/committer.h"
#include "engine/store/consumer_files.h"
#include "engine/store/open_store.h"
#include "engine/store/page_reader.h"
#include "engine/store/recovery.h"
#include "engine/store/segments.h"

namespace pleat::inline v0_1 {

StorePage::StorePage() : parts_(std::make_unique<Parts>()) {}
StorePage::~StorePage() = default;
StorePage::StorePage(StorePage&&) noexcept = default;
StorePage& StorePage::operator=(StorePage&&) noexcept = default;

// What of each partition a consumer does not need any more: up to that offset.
struct Consumed {
  std::string name;
  std::vector<uint64_t> offsets;
};

// Locks, in their order: `trim_lock_`; `old_files_lock_`; `commit_lock_`; the gate of the appender; a
// partition's, or those of segments and of the last error, which are held for moments. `rounds_` come
// before `commit_lock_`: who leads one takes that lock.
class EventStoreCore {
 public:
  EventStoreCore(OpenedStore opened, RecoveredLog log, const EventStoreOptions& options);

  // Without that of notes, which is the last one.
  int partitions() const noexcept { return static_cast<int>(partitions_.size()) - 1; }
  StoreDurability durability() const noexcept { return options_.durability; }
  // REQUIRES: there is a partition of that number, as for all that have one.
  const StorePartition& partition(int number) const noexcept {
    PLEAT_CHECK(0 <= number && number < partitions());
    return partitions_[static_cast<size_t>(number)];
  }

  void Start();
  AppendAnswer Append(std::span<const StoreRecord> records, EngineTime appended,
                      const AppendWhere& to, std::span<AppendPlace> places) noexcept;
  absl::Status Commit();
  absl::Status Sync();
  absl::Status Close();
  absl::StatusOr<ReadOutcome> Read(int partition, const StorePosition& from, size_t bytes,
                                   StorePage& page) const;
  absl::StatusOr<TrimAnswer> Trim(const RetentionOptions& keep);
  uint64_t First(int number) const {
    partition(number);
    return segments_.First(static_cast<size_t>(number));
  }
  absl::StatusOr<NotesAt> Notes() const;
  EventStoreState state() const;

 private:
  // How many blocks' worth of bytes may be under way in kProcess before appends wait.
  static constexpr uint64_t kBlocksUnderWayMax = 4;
  // And files that are full: as many bytes are written again after a kill.
  static constexpr size_t kOldFilesMax = 8;
  // How often others may take notes while some are taken again.
  static constexpr int kNotesAttempts = 16;

  RecoveredLog BeginAt(RecoveredLog log);
  bool commit_syncs() const noexcept { return options_.durability != StoreDurability::kProcess; }
  uint64_t unsynced_bytes() const noexcept {
    return appender_.bytes() + committer_.unsynced_bytes();
  }
  bool HasManyOldFiles() const noexcept { return committer_.old_files() > kOldFilesMax; }
  bool IsFull() const noexcept {
    return commit_syncs() ? unsynced_bytes() >= options_.unsynced_bytes_max
                          : appender_.bytes() >= kBlocksUnderWayMax * options_.block_bytes;
  }
  absl::StatusOr<std::vector<Consumed>> Consumers() const;
  std::vector<uint64_t> Needed(std::span<const Consumed> consumers, bool by_all) const;
  absl::StatusOr<uint64_t> KeepNotes(uint64_t offset);
  AppendOutcome Admit() noexcept;
  void WriteIfFull() noexcept;
  absl::Status WriteBlock() ABSL_EXCLUSIVE_LOCKS_REQUIRED(commit_lock_);
  absl::Status SyncOldFiles(size_t count) ABSL_EXCLUSIVE_LOCKS_REQUIRED(old_files_lock_);
  absl::Status CommitLocked(bool syncs) ABSL_EXCLUSIVE_LOCKS_REQUIRED(commit_lock_);
  absl::Status Note(absl::Status status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(commit_lock_);

  const EventStoreOptions options_;
  const std::unique_ptr<StorageDirectory> directory_;
  const StoreManifest manifest_;  // as it was found
  const uint64_t bytes_passed_over_;
  const uint64_t blocks_passed_over_;
  std::vector<StorePartition> partitions_;
  Appender appender_;
  Segments segments_;
  Lock trim_lock_;
  Lock old_files_lock_;  // of whoever syncs files that are full, in kProcess
  CommitRounds rounds_;  // of Commit()
  Lock commit_lock_;
  LogCommitter committer_;  // but for its counts guarded by commit_lock_
  bool closed_ ABSL_GUARDED_BY(commit_lock_) = false;
  std::atomic<AppendOutcome> answers_{AppendOutcome::kAppended};
  mutable Lock error_lock_;
  absl::Status last_error_ ABSL_GUARDED_BY(error_lock_);
};

namespace {

std::vector<std::string> WhoHasNotRead(std::span<const Consumed> consumers,
                                       const std::vector<uint64_t>& offsets) {
  std::vector<std::string> names;
  for (const Consumed& consumer : consumers) {
    const std::span<const uint64_t> left(offsets.data(), consumer.offsets.size());
    if (!std::ranges::equal(left, consumer.offsets, std::less_equal())) {
      names.push_back(consumer.name);
    }
  }
  return names;
}

absl::Status ClosedStore() { return absl::FailedPreconditionError("the store is closed"); }

// Refused: what a call can not take, whatever the store.
bool IsTooLarge(std::span<const StoreRecord> records) {
  uint64_t all = 0;
  for (const StoreRecord& record : records) {
    const size_t bytes = BytesOf(record);
    if (bytes > kRecordBytesMax) return true;
    all += bytes;
  }
  return all > kAppendBytesMax;
}
bool IsTooLarge(const StoreNote& note) {
  return note.name.size() > kNoteNameBytesMax || note.value.size() > kNoteValueBytesMax;
}

}  // namespace

EventStoreCore::EventStoreCore(OpenedStore opened, RecoveredLog log,
                               const EventStoreOptions& options)
    : options_(options),
      directory_(std::move(opened.directory)),
      manifest_(opened.manifest),
      bytes_passed_over_(log.bytes_passed_over),
      blocks_passed_over_(log.blocks_passed_over),
      partitions_(opened.manifest.log_partitions()),
      appender_(partitions_, options.max_forward_jump),
      segments_(*directory_, opened.manifest.identity, opened.manifest.log_partitions()),
      rounds_(commit_syncs() ? CommitRounds::kLooks : 0),
      committer_(*directory_, opened.manifest, BeginAt(std::move(log)), options_, segments_,
                 partitions_) {}

RecoveredLog EventStoreCore::BeginAt(RecoveredLog log) {
  for (size_t i = 0; i < partitions_.size(); ++i) {
    partitions_[i].Begin(log.end.partitions[i], log.durable.partitions[i].next);
  }
  for (Segment& segment : log.segments) segments_.AddOld(std::move(segment));
  return log;
}

// What was found and may not be on the disk is written again. If that fails, it is tried again by
// each Commit().
void EventStoreCore::Start() {
  LongLockGuard guard(commit_lock_);
  if (committer_.in_trouble()) {
    Note(committer_.Resume()).IgnoreError();
  } else {
    committer_.Start();
  }
}

AppendAnswer EventStoreCore::Append(std::span<const StoreRecord> records, EngineTime appended,
                                    const AppendWhere& to, std::span<AppendPlace> places) noexcept {
  PLEAT_CHECK(places.empty() || places.size() >= records.size());
  PLEAT_CHECK(!to.expected || to.partition);
  PLEAT_CHECK(!to.note || !to.note->name.empty());
  if (to.partition) partition(*to.partition);
  AppendAnswer answer;
  const bool has_to_be_whole = to.expected || to.note;
  if (IsTooLarge(records) || (to.note && IsTooLarge(*to.note)) ||
      (has_to_be_whole && records.size() > kWholeRecordsMax)) {
    answer.outcome = AppendOutcome::kTooLarge;
  }
  appended = Clamp(appended);
  // A note without records is a piece as well.
  bool more = answer.outcome == AppendOutcome::kAppended && (!records.empty() || to.note);
  while (more) {
    answer.outcome = Admit();
    if (answer.outcome != AppendOutcome::kAppended) break;
    const size_t size = std::min(kWholeRecordsMax, records.size() - answer.taken);
    AppendPlace place;
    answer.outcome =
        appender_.Append(records.subspan(answer.taken, size), appended, to,
                         places.empty() ? places : places.subspan(answer.taken, size), place);
    const bool appended_all = answer.outcome == AppendOutcome::kAppended;
    if (answer.taken == 0 || !appended_all) {
      answer.partition = place.partition;
      answer.offset = place.offset;
    }
    if (appended_all) answer.taken += size;
    more = appended_all && answer.taken < records.size();
    WriteIfFull();
  }
  return answer;
}

// Waits, if that is wanted, until there is room for more.
AppendOutcome EventStoreCore::Admit() noexcept {
  for (;;) {
    const AppendOutcome answers = answers_.load(std::memory_order_acquire);
    if (answers != AppendOutcome::kAppended || (!IsFull() && !HasManyOldFiles())) return answers;
    if (!options_.wait_when_full) return AppendOutcome::kOverloaded;
    if (HasManyOldFiles()) {
      LongLockGuard guard(old_files_lock_);
      if (HasManyOldFiles()) SyncOldFiles(/*count=*/1).IgnoreError();
      continue;
    }
    LongLockGuard guard(commit_lock_);
    // Others may have waited for the same, and done it.
    if (IsFull() && !closed_) CommitLocked(commit_syncs()).IgnoreError();
  }
}

// The block under way, should nobody else be at it.
void EventStoreCore::WriteIfFull() noexcept {
  if (appender_.bytes() < options_.block_bytes || !commit_lock_.try_lock()) return;
  if (appender_.bytes() >= options_.block_bytes && !closed_) Note(WriteBlock()).IgnoreError();
  commit_lock_.unlock();
}

absl::Status EventStoreCore::WriteBlock() {
  if (committer_.in_trouble()) {
    if (absl::Status resumed = committer_.Resume(); !resumed.ok()) return resumed;
  }
  const std::span<SectionBuffer* const> buffers = appender_.Cut();
  if (std::ranges::all_of(buffers, &SectionBuffer::empty)) return absl::OkStatus();
  return committer_.Write(buffers);
}

absl::Status EventStoreCore::CommitLocked(bool syncs) {
  absl::Status status = WriteBlock();
  if (syncs && !committer_.in_trouble()) {
    absl::Status synced = committer_.Sync();
    if (status.ok()) status = std::move(synced);
  }
  committer_.TellReaders();
  return Note(std::move(status));
}

// Keeps an error for state(), and says to appenders what they are to answer.
absl::Status EventStoreCore::Note(absl::Status status) {
  if (closed_) return status;
  AppendOutcome answers = AppendOutcome::kAppended;
  if (committer_.in_trouble()) {
    answers =
        absl::IsResourceExhausted(status) ? AppendOutcome::kStoreFull : AppendOutcome::kStoreFailed;
  }
  {
    LockGuard guard(error_lock_);
    const bool was_in_trouble = answers_.load() != AppendOutcome::kAppended;
    if (!status.ok() || (was_in_trouble && answers == AppendOutcome::kAppended)) {
      last_error_ = status;
    }
  }
  answers_.store(answers, std::memory_order_release);
  return status;
}

// Beside appending: the lock of commits is not held while the disk works.
absl::Status EventStoreCore::SyncOldFiles(size_t count) {
  for (; count > 0; --count) {
    std::shared_ptr<LogCommitter::OldFile> old;
    {
      LongLockGuard guard(commit_lock_);
      old = committer_.TakeOldFile();
    }
    if (old == nullptr) return absl::OkStatus();
    absl::Status synced = old->Sync();
    LongLockGuard guard(commit_lock_);
    synced = committer_.GiveBack(old, std::move(synced));
    if (!synced.ok()) return Note(std::move(synced));
  }
  return absl::OkStatus();
}

absl::Status EventStoreCore::Commit() {
  absl::Status committed = rounds_.Join([this] {
    // In line: Trim(), should somebody call it again and again, owes all of the round a turn.
    LockGuard guard(commit_lock_);
    return closed_ ? ClosedStore() : CommitLocked(commit_syncs());
  });
  if (!committed.ok() || commit_syncs()) return committed;
  // One thread is enough for them.
  if (!old_files_lock_.try_lock()) return absl::OkStatus();
  absl::Status status = SyncOldFiles(committer_.old_files());
  old_files_lock_.unlock();
  return status;
}

absl::Status EventStoreCore::Sync() {
  if (commit_syncs()) return Commit();
  LongLockGuard old_files_guard(old_files_lock_);
  LongLockGuard guard(commit_lock_);
  if (closed_) return ClosedStore();
  return CommitLocked(/*syncs=*/true);
}

// Nothing is taken any more before the last cut: so whatever was taken is in it.
absl::Status EventStoreCore::Close() {
  LongLockGuard old_files_guard(old_files_lock_);
  LongLockGuard guard(commit_lock_);
  if (closed_) return absl::OkStatus();
  appender_.SetTaking(false);
  absl::Status status = CommitLocked(/*syncs=*/true);
  if (status.ok()) status = Note(committer_.Finish());
  if (!status.ok()) {
    appender_.SetTaking(true);
    return status;
  }
  closed_ = true;
  answers_.store(AppendOutcome::kStoreFailed, std::memory_order_release);
  return absl::OkStatus();
}

absl::StatusOr<ReadOutcome> EventStoreCore::Read(int number, const StorePosition& from,
                                                 size_t bytes, StorePage& page) const {
  const StorePartition& end = partition(number);
  return PageReader::Fill(segments_, number, from, end.durable(), end.next(), bytes, page);
}

absl::StatusOr<TrimAnswer> EventStoreCore::Trim(const RetentionOptions& keep) {
  LongLockGuard trim_guard(trim_lock_);
  Segments::Oldest oldest;
  {
    LongLockGuard guard(commit_lock_);
    if (closed_) return ClosedStore();
    const absl::StatusOr<std::vector<Consumed>> consumers = Consumers();
    if (!consumers.ok()) return consumers.status();
    oldest =
        segments_.OldestToGo(keep, Needed(*consumers, keep.unread), committer_.certain_segment());
  }
  if (oldest.numbers.empty()) return TrimAnswer{};
  const absl::StatusOr<uint64_t> first_note = KeepNotes(oldest.first_offsets.back());
  if (!first_note.ok()) return first_note.status();
  LongLockGuard guard(commit_lock_);
  if (closed_) return ClosedStore();
  // One may have gone back meanwhile.
  const absl::StatusOr<std::vector<Consumed>> consumers = Consumers();
  if (!consumers.ok()) return consumers.status();
  std::vector<uint64_t> needed = Needed(*consumers, keep.unread);
  needed.back() = *first_note;
  oldest = segments_.OldestToGo(keep, needed, oldest.first);
  if (oldest.numbers.empty()) return TrimAnswer{};
  if (absl::Status dropped = committer_.Drop(oldest); !dropped.ok()) return dropped;
  return TrimAnswer{.files = oldest.numbers.size(),
                    .bytes = oldest.bytes,
                    .lost_by = WhoHasNotRead(*consumers, oldest.first_offsets)};
}

// Who has a position that is lost has read nothing of what is there.
absl::StatusOr<std::vector<Consumed>> EventStoreCore::Consumers() const {
  const absl::StatusOr<std::vector<ReadSoFar>> consumers =
      ReadByConsumers(directory_->path(), options_.storage, manifest_);
  if (!consumers.ok()) return consumers.status();
  std::vector<Consumed> consumed;
  StorePage page;
  for (const ReadSoFar& consumer : *consumers) {
    consumed.push_back({consumer.name, {}});
    for (const StoreCheckpoint& each : consumer.checkpoints) {
      const absl::StatusOr<ReadOutcome> read = Read(each.partition, each.position, 1, page);
      const bool is_lost = read.ok() && *read == ReadOutcome::kPositionLost;
      consumed.back().offsets.push_back(is_lost ? 0 : each.position.offset);
    }
  }
  return consumed;
}

// The first offset of each partition that somebody has not read. Nobody waits for notes.
std::vector<uint64_t> EventStoreCore::Needed(std::span<const Consumed> consumers,
                                             bool by_all) const {
  std::vector<uint64_t> needed(partitions_.size(), UINT64_MAX);
  for (const Consumed& consumer : consumers) {
    for (size_t i = 0; i < consumer.offsets.size() && by_all; ++i) {
      needed[i] = std::min(needed[i], consumer.offsets[i]);
    }
  }
  return needed;
}

// Takes the latest note of each name again that lies before an offset, unless a later one comes
// between. Returns the offset before which there is none now: where nothing can be written, that of the
// first of them.
absl::StatusOr<uint64_t> EventStoreCore::KeepNotes(uint64_t offset) {
  const auto number = static_cast<size_t>(partitions());
  for (int attempt = 0; attempt < kNotesAttempts; ++attempt) {
    if (offset <= segments_.First(number)) return offset;
    bool writes = Sync().ok();
    const uint64_t end = partitions_.back().durable();
    absl::StatusOr<NotesAt> notes = Notes();
    if (!notes.ok()) return notes.status();
    uint64_t first = offset;
    for (const auto& [name, note] : *notes) first = std::min(first, note.offset);
    if (first == offset || !writes) return first;
    std::erase_if(*notes, [offset](const auto& note) { return note.second.offset >= offset; });
    if (!appender_.AddNotes(WithoutOffsets(*std::move(notes)), end)) continue;
    writes = Sync().ok();
    return writes ? offset : first;
  }
  return absl::UnavailableError("notes are taken all the time: trim the store again");
}

absl::StatusOr<NotesAt> EventStoreCore::Notes() const {
  const StorePartition& end = partitions_.back();
  return PageReader::LatestNotes([&] { return segments_.First(static_cast<size_t>(partitions())); },
                                 [&](uint64_t from, StorePage& page) {
                                   return PageReader::Fill(segments_, partitions(), from,
                                                           end.durable(), end.next(),
                                                           kNotesPageBytes, page);
                                 });
}

EventStoreState EventStoreCore::state() const {
  EventStoreState state{.identity = segments_.identity(),
                        .segments = segments_.size(),
                        .bytes = segments_.bytes(),
                        .unsynced_bytes = unsynced_bytes(),
                        .blocks = committer_.blocks(),
                        .bytes_passed_over = bytes_passed_over_,
                        .blocks_passed_over = blocks_passed_over_,
                        .answers = answers_.load(std::memory_order_acquire)};
  for (int p = 0; p < partitions(); ++p) state.times_held_back += partition(p).held_back();
  LockGuard guard(error_lock_);
  state.last_error = last_error_;
  return state;
}

EventStore::EventStore(std::unique_ptr<EventStoreCore> core) : core_(std::move(core)) {}
EventStore::~EventStore() = default;

absl::StatusOr<std::unique_ptr<EventStore>> EventStore::Open(std::string_view directory,
                                                             const EventStoreOptions& options) {
  absl::StatusOr<OpenedStore> opened = OpenStoreDirectory(directory, options);
  if (!opened.ok()) return opened.status();
  absl::StatusOr<RecoveredLog> log =
      LogRecovery(*opened->directory, opened->manifest, /*changes=*/true).Run(opened->names);
  if (!log.ok()) return log.status();
  auto core = std::make_unique<EventStoreCore>(*std::move(opened), *std::move(log), options);
  core->Start();
  return std::unique_ptr<EventStore>(new EventStore(std::move(core)));
}

int EventStore::partitions() const noexcept { return core_->partitions(); }
StoreDurability EventStore::durability() const noexcept { return core_->durability(); }

AppendAnswer EventStore::Append(const StoreRecord& record, EngineTime appended,
                                const AppendWhere& to) noexcept {
  return core_->Append({&record, 1}, appended, to, {});
}

AppendAnswer EventStore::AppendBatch(std::span<const StoreRecord> records, EngineTime appended,
                                     const AppendWhere& to,
                                     std::span<AppendPlace> places) noexcept {
  return core_->Append(records, appended, to, places);
}

absl::Status EventStore::Commit() { return core_->Commit(); }
absl::Status EventStore::Sync() { return core_->Sync(); }
absl::Status EventStore::Close() { return core_->Close(); }

absl::StatusOr<TrimAnswer> EventStore::Trim(const RetentionOptions& keep) {
  return core_->Trim(keep);
}

uint64_t EventStore::First(int partition) const noexcept { return core_->First(partition); }
uint64_t EventStore::Durable(int partition) const noexcept {
  return core_->partition(partition).durable();
}
uint64_t EventStore::Next(int partition) const noexcept {
  return core_->partition(partition).next();
}

absl::StatusOr<ReadOutcome> EventStore::Read(int partition, const StorePosition& from, size_t bytes,
                                             StorePage& page) const {
  return core_->Read(partition, from, bytes, page);
}

absl::StatusOr<StoreNotes> EventStore::Notes() const {
  absl::StatusOr<NotesAt> notes = core_->Notes();
  if (!notes.ok()) return notes.status();
  return WithoutOffsets(*std::move(notes));
}

EventStoreState EventStore::state() const { return core_->state(); }

}  // namespace pleat::inline v0_1
