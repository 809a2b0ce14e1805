// The lanes of a consumer of an event store while no processor of ours has them: how they stand by
// their last commits, and what a person decides about held keys and buried messages.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <absl/functional/function_ref.h>
#include <pleat/event_store_reader.h>
#include <pleat/store_log.h>

#include "engine/base/concat.h"
#include "engine/lanes/buried_messages.h"
#include "engine/lanes/held_keys.h"
#include "engine/lanes/lane_checkpoint.h"
#include "engine/lanes/lane_files.h"
#include "engine/lanes/store_commit.h"

namespace pleat::inline v0_1 {
namespace {

// Whoever has the consumer may replace a book while that is read; so often a lane is read anew.
constexpr int kLooksMax = 10;

// What the files say of a lane.
struct KeptLane {
  const ProcessorOptions options;
  bool has_begun = false;  // somebody has committed
  LogCommit commit;
  std::optional<LaneCheckpoint> checkpoint;  // nothing: no lane has committed, or it was moved
  HeldKeys held{options};
  BuriedMessages buried{options};
};

class ConsumerDirectory {
 public:
  static absl::StatusOr<ConsumerDirectory> Open(std::string_view store, std::string_view consumer,
                                                Storage* storage) {
    Storage& files_of = storage == nullptr ? PosixStorage() : *storage;
    std::string path = Concat(store, "/consumers/", consumer);
    absl::StatusOr<std::unique_ptr<StorageDirectory>> directory =
        files_of.OpenDirectory(path, IfMissing::kFail);
    if (!directory.ok()) return directory.status();
    absl::StatusOr<std::unique_ptr<LaneFiles>> files = LaneFiles::Open(*std::move(directory));
    if (!files.ok()) return files.status();
    return ConsumerDirectory(std::move(path), *std::move(files));
  }

  LaneFiles& files() { return *files_; }

  absl::Status Read(const StoreCheckpoint& kept, KeptLane& lane) {
    std::optional<LogCommit> commit = CommitIn(kept);
    lane.has_begun = commit.has_value();
    if (!commit) return absl::OkStatus();
    lane.commit = *std::move(commit);
    if (lane.commit.metadata.empty()) return absl::OkStatus();
    std::optional<LaneCheckpoint> checkpoint = CheckpointIn(lane.commit.metadata);
    if (!checkpoint || checkpoint->replayed_from() > lane.commit.offset) {
      return absl::DataLossError(Concat(path_, "/CHECKPOINT: partition ", kept.partition,
                                        ": the metadata of the last commit is damaged, or of "
                                        "another program or version"));
    }
    lane.checkpoint = *std::move(checkpoint);
    absl::Status read =
        ReadBook(kept.partition, lane.checkpoint->held, *lane.checkpoint, lane.held);
    if (read.ok()) {
      lane.held.HoldNamed();
      read = ReadBook(kept.partition, lane.checkpoint->buried, *lane.checkpoint, lane.buried);
    }
    return read;
  }

 private:
  ConsumerDirectory(std::string path, std::unique_ptr<LaneFiles> files)
      : path_(std::move(path)), files_(std::move(files)) {}

  template <class Books>
  absl::Status ReadBook(int partition, std::optional<uint64_t> number, const LaneCheckpoint& of,
                        Books& books) {
    if (!number) return absl::OkStatus();
    const absl::StatusOr<std::string> book = ReadLaneFile(*files_, partition, *number);
    // A next owner could not go on without it.
    if (absl::IsNotFound(book.status())) return absl::DataLossError(book.status().message());
    if (!book.ok()) return book.status();
    if (books.ReadBook(*book, of.life, *number)) return absl::OkStatus();
    return absl::DataLossError(
        Concat(path_, "/lane-", partition, "-", *number,
               ": this book of held keys, or of buried messages, is damaged, "
               "or one of another lane"));
  }

  std::string path_;
  std::unique_ptr<LaneFiles> files_;
};

std::string StreamName(const BuriedMessages& buried, uint32_t hash) {
  const auto found = buried.streams().find(hash);
  return found == buried.streams().end() ? std::to_string(hash) : found->second;
}

// Which of the streams of a lane has this name; as many as there are: none.
size_t StreamIn(const LaneCheckpoint& checkpoint, uint32_t hash) {
  const auto found = std::ranges::find(checkpoint.streams, hash, &StreamCheckpoint::name);
  return static_cast<size_t>(found - checkpoint.streams.begin());
}

uint64_t WaitingIn(const StreamCheckpoint& stream) {
  uint64_t waiting = stream.decided - stream.confirmed;
  for (const NumberRange& each : stream.ranges) waiting -= each.end - each.begin;
  return waiting;
}

void AddTo(int partition, const KeptLane& lane, StoreLog::Lanes& out) {
  LaneStatus& status = out.lanes.back();
  const LaneCheckpoint& checkpoint = *lane.checkpoint;
  status.now = checkpoint.now;
  status.takeovers = checkpoint.takeovers;
  if (checkpoint.takeovers > 0) status.taken_over = checkpoint.taken_over;
  for (const StreamCheckpoint& each : checkpoint.streams) status.waiting += WaitingIn(each);
  status.held_keys = lane.held.keys();
  status.buried = lane.buried.all().size();
  const size_t before = out.held_keys.size();
  lane.held.AddTo(partition, out.held_keys);
  for (size_t i = before; i < out.held_keys.size(); ++i) out.held_keys[i].bytes = 0;
  for (const auto& [name, entry] : lane.buried.all()) {
    out.buried.push_back(
        {.message = {.id = {.partition = partition,
                            .stream = static_cast<uint32_t>(StreamIn(checkpoint, name.first)),
                            .life = checkpoint.life,
                            .number = name.second},
                     .stream = StreamName(lane.buried, name.first),
                     .key = entry.key,
                     .payload = entry.payload},
         .reason = entry.reason,
         .is_revived = entry.is_revived});
  }
}

absl::Status PositionLost(int partition, uint64_t offset, uint64_t first) {
  return absl::OutOfRangeError(Concat("partition ", partition, ": the records from offset ", offset,
                                      " on are not there; what is left begins at ", first));
}

// How far the log goes, and whether a next owner can read on. REQUIRES: the store was refreshed behind
// the commit.
absl::Status ReadLog(const EventStoreReader& store, const StoreCheckpoint& kept, bool has_begun,
                     LaneStatus& status) {
  const int partition = kept.partition;
  const uint64_t first = store.First(partition);
  const uint64_t end = store.Durable(partition);
  if (!has_begun) status.next = first;
  status.end = end;
  if (status.next > end) return PositionLost(partition, status.next, first);
  StorePage page;
  if (has_begun && (kept.position.offset < end || kept.position.mark != 0)) {
    const absl::StatusOr<ReadOutcome> read =
        store.Read(partition, kept.position, /*bytes=*/1, page);
    if (!read.ok()) return read.status();
    if (*read == ReadOutcome::kPositionLost)
      return PositionLost(partition, kept.position.offset, first);
  }
  if (end == first) return absl::OkStatus();
  const absl::StatusOr<ReadOutcome> read = store.Read(partition, end - 1, /*bytes=*/1, page);
  if (!read.ok()) return read.status();
  if (*read == ReadOutcome::kRecords) status.newest = page.records().front().appended;
  return absl::OkStatus();
}

// Reads a lane anew while there is trouble with it that a newer commit may end.
class LaneLook {
 public:
  LaneLook(std::string_view store, std::string_view consumer, Storage* storage)
      : store_(store), consumer_(consumer), storage_(storage) {}

  absl::StatusOr<StoreLog::Lanes> Look() {
    absl::StatusOr<std::vector<StoreCheckpoint>> kept =
        StoreConsumer::Look(store_, consumer_, storage_);
    if (!kept.ok()) return kept.status();
    absl::StatusOr<ConsumerDirectory> directory =
        ConsumerDirectory::Open(store_, consumer_, storage_);
    if (!directory.ok()) return directory.status();
    absl::StatusOr<std::unique_ptr<EventStoreReader>> reader =
        EventStoreReader::Open(store_, storage_);
    if (!reader.ok()) return reader.status();
    StoreLog::Lanes all;
    for (StoreCheckpoint& each : *kept) {
      absl::Status looked = LookAt(std::move(each), *directory, **reader, all);
      if (!looked.ok()) return looked;
    }
    return all;
  }

 private:
  static bool IsSame(const StoreCheckpoint& a, const StoreCheckpoint& b) {
    return a.position.offset == b.position.offset && a.position.mark == b.position.mark &&
           a.metadata == b.metadata;
  }

  absl::Status LookAt(StoreCheckpoint kept, ConsumerDirectory& directory, EventStoreReader& reader,
                      StoreLog::Lanes& all) {
    all.lanes.emplace_back();
    for (int looks = 1;; ++looks) {
      KeptLane lane;
      absl::Status why = directory.Read(kept, lane);
      LaneStatus status{.partition = kept.partition,
                        .phase = LanePhase::kLive,
                        .next = lane.commit.offset,
                        .now = kBeginningOfTime};
      why.Update(ReadLog(reader, kept, lane.has_begun, status));
      if (why.ok() || looks == kLooksMax) return Finish(why, lane, std::move(status), all);
      absl::StatusOr<std::vector<StoreCheckpoint>> again =
          StoreConsumer::Look(store_, consumer_, storage_);
      if (!again.ok()) return again.status();
      StoreCheckpoint& newer = (*again)[static_cast<size_t>(kept.partition)];
      if (IsSame(kept, newer)) return Finish(why, lane, std::move(status), all);
      kept = std::move(newer);
      if (absl::Status refreshed = reader.Refresh(); !refreshed.ok()) return refreshed;
    }
  }

  static absl::Status Finish(const absl::Status& why, const KeptLane& lane, LaneStatus status,
                             StoreLog::Lanes& all) {
    const int partition = status.partition;
    if (!why.ok()) status.phase = LanePhase::kParked;
    status.why = why;
    all.lanes.back() = std::move(status);
    if (lane.checkpoint) AddTo(partition, lane, all);
    return absl::OkStatus();
  }

  const std::string_view store_;
  const std::string_view consumer_;
  Storage* const storage_;
};

}  // namespace

absl::StatusOr<StoreLog::Lanes> StoreLog::Look(std::string_view directory,
                                               std::string_view consumer, Storage* storage) {
  return LaneLook(directory, consumer, storage).Look();
}

// --- What a person decides

namespace {

// Decides about one lane: its book is kept, then a commit names that.
class LaneDecision {
 public:
  LaneDecision(std::string_view store, std::string_view consumer, Storage* storage)
      : store_(store), consumer_(consumer), storage_(storage) {}

  absl::Status Open(int partition) {
    // Opening makes a consumer that is not there.
    absl::Status status = StoreConsumer::Look(store_, consumer_, storage_).status();
    if (!status.ok()) return status;
    absl::StatusOr<std::unique_ptr<StoreConsumer>> opened =
        StoreConsumer::Open(store_, consumer_, storage_);
    if (!opened.ok()) return opened.status();
    opened_ = *std::move(opened);
    absl::StatusOr<ConsumerDirectory> directory =
        ConsumerDirectory::Open(store_, consumer_, storage_);
    if (!directory.ok()) return directory.status();
    directory_.emplace(*std::move(directory));
    if (partition < 0 || partition >= opened_->partitions()) return NoLane(partition);
    kept_ = opened_->checkpoint(partition);
    status = directory_->Read(kept_, lane_);
    if (status.ok() && !lane_.checkpoint) status = NoLane(partition);
    return status;
  }

  KeptLane& lane() { return lane_; }

  // Whether the commit has room for all that the next owner needs; else nothing is committed.
  using Check = absl::FunctionRef<absl::Status(const LaneCheckpoint& committed)>;
  absl::Status Keep(HeldKeys& book) { return Keep(book, lane_.checkpoint->held, Unchecked); }
  absl::Status Keep(BuriedMessages& book, Check check = Unchecked) {
    return Keep(book, lane_.checkpoint->buried, check);
  }

 private:
  static absl::Status Unchecked(const LaneCheckpoint& /*committed*/) { return absl::OkStatus(); }
  absl::Status NoLane(int partition) const {
    return absl::NotFoundError(
        Concat("consumer ", consumer_, " has no lane of partition ", partition));
  }

  template <class Books>
  absl::Status Keep(const Books& book, std::optional<uint64_t>& number, Check check) {
    const int partition = kept_.partition;
    const std::optional<uint64_t> before = number;
    number.reset();
    if (book.has_book()) {
      const std::string bytes = book.Book(lane_.checkpoint->life);
      const absl::StatusOr<uint64_t> put =
          directory_->files().Put(partition, [&](ByteSink& sink) { return sink.Append(bytes); });
      if (!put.ok()) return put.status();
      number = *put;
    }
    lane_.commit.metadata = BytesOf(*lane_.checkpoint);
    if (absl::Status right = check(*CheckpointIn(lane_.commit.metadata)); !right.ok()) {
      if (number) directory_->files().Remove(partition, *number).IgnoreError();
      return right;
    }
    kept_.metadata = CheckpointMetadata(lane_.commit);
    if (absl::Status committed = opened_->Commit(kept_); !committed.ok()) return committed;
    // One that is left goes with a snapshot of the next owner.
    if (before) directory_->files().Remove(partition, *before).IgnoreError();
    return absl::OkStatus();
  }

  const std::string_view store_;
  const std::string_view consumer_;
  Storage* const storage_;
  std::unique_ptr<StoreConsumer> opened_;
  std::optional<ConsumerDirectory> directory_;
  StoreCheckpoint kept_;
  KeptLane lane_;
};

absl::Status NotHeld(int partition, std::string_view key) {
  return absl::NotFoundError(Concat("partition ", partition, " holds no key ", key));
}

absl::Status NotBuried(const MessageId& id) {
  return absl::NotFoundError(
      Concat("partition ", id.partition, " has not buried message ", id.number));
}

// Nothing: no message of this id can be there.
std::optional<BuriedMessages::Name> NameIn(const LaneCheckpoint& checkpoint, const MessageId& id) {
  if (id.life != checkpoint.life || id.stream >= checkpoint.streams.size()) return std::nullopt;
  return BuriedMessages::Name(checkpoint.streams[id.stream].name, id.number);
}

bool IsConfirmed(const StreamCheckpoint& stream, uint64_t number) {
  return number < stream.confirmed || std::ranges::any_of(
                                          stream.ranges,
                                          [number](const NumberRange& each) {
                                            return each.begin <= number && number < each.end;
                                          });
}

}  // namespace

absl::Status StoreLog::Retry(std::string_view directory, std::string_view consumer, int partition,
                             std::string_view key, Storage* storage) {
  LaneDecision decision(directory, consumer, storage);
  if (absl::Status opened = decision.Open(partition); !opened.ok()) return opened;
  HeldKeys& held = decision.lane().held;
  if (!held.Has(key)) return NotHeld(partition, key);
  held.RetryNow(key);
  return decision.Keep(held);
}

absl::Status StoreLog::Drop(std::string_view directory, std::string_view consumer, int partition,
                            std::string_view key, uint64_t offset, Storage* storage) {
  LaneDecision decision(directory, consumer, storage);
  if (absl::Status opened = decision.Open(partition); !opened.ok()) return opened;
  HeldKeys& held = decision.lane().held;
  if (!held.Has(key)) return NotHeld(partition, key);
  if (const uint64_t first = held.First(key).offset; first != offset) {
    return absl::NotFoundError(Concat("the first record of key ", key, " that waits is at offset ",
                                      first, ", not at ", offset));
  }
  // A drop makes nothing, so it does not matter whether silence had moved time behind the records.
  held.Decide(key, {.next = decision.lane().commit.offset, .tick = std::nullopt},
              /*is_dropped=*/true);
  if (held.Has(key)) held.RetryNow(key);
  return decision.Keep(held);
}

absl::Status StoreLog::Revive(std::string_view directory, std::string_view consumer,
                              const MessageId& id, Storage* storage) {
  LaneDecision decision(directory, consumer, storage);
  if (absl::Status opened = decision.Open(id.partition); !opened.ok()) return opened;
  const std::optional<BuriedMessages::Name> name = NameIn(*decision.lane().checkpoint, id);
  BuriedMessages& buried = decision.lane().buried;
  if (!name || !buried.Has(*name)) return NotBuried(id);
  // One that was revived before is so still.
  if (!buried.Revive(*name)) return absl::OkStatus();
  return decision.Keep(buried);
}

absl::Status StoreLog::Drop(std::string_view directory, std::string_view consumer,
                            const MessageId& id, Storage* storage) {
  LaneDecision decision(directory, consumer, storage);
  if (absl::Status opened = decision.Open(id.partition); !opened.ok()) return opened;
  const std::optional<BuriedMessages::Name> name = NameIn(*decision.lane().checkpoint, id);
  BuriedMessages& buried = decision.lane().buried;
  if (!name || !buried.Drop(*name)) return NotBuried(id);
  // Without the book only the commit says that nobody waits for it.
  return decision.Keep(buried, [&id](const LaneCheckpoint& committed) {
    if (IsConfirmed(committed.streams[id.stream], id.number)) return absl::OkStatus();
    return absl::ResourceExhaustedError(
        Concat("partition ", id.partition, ": the commit has no room to say that message ",
               id.number, " is done: let messages before it be acked first"));
  });
}

}  // namespace pleat::inline v0_1
