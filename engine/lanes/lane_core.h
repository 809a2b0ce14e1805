// LaneCore is a lane (processor.h): records, ticks, acks and answers of the log go in; messages and
// commits come out. It has no clock and no thread, and calls no log, so that its state is a function
// of the calls.
//
// The way of a lane:
//
//   Start()      restores the snapshot that the last commit names, if there is one
//   replaying    records up to the offset of that commit are handled again; messages that were
//                confirmed are dropped, and the rest have to be those that were decided
//   live         handles records, decides, lends, and takes a snapshot now and then; the records of
//                held keys (held_keys.h) wait
//   parked       something does not fit: nothing more is done
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <absl/status/status.h>
#include <pleat/processor.h>
#include <pleat/time.h>
#include <pleat/untyped/partitioned_log.h>

#include "engine/lanes/buried_messages.h"
#include "engine/lanes/held_keys.h"
#include "engine/lanes/lane_checkpoint.h"
#include "engine/lanes/message_stream.h"

namespace pleat::inline v0_1 {

class LaneCore {
 public:
  LaneCore(int partition, const ProcessorOptions& options, const MakeHandler& make_handler);
  LaneCore(const LaneCore&) = delete;
  LaneCore& operator=(const LaneCore&) = delete;

  LanePhase phase() const { return phase_; }
  LaneStatus Status() const;

  // --- The log

  // Returns where to read on. Nothing: the lane was parked, or ReadsAgain() will tell.
  std::optional<uint64_t> Start(const LogCommit* committed, uint64_t first,
                                LaneSnapshots& snapshots, EngineTime clock);
  void Take(std::span<const LogRecord> records, EngineTime clock);
  void Park(absl::Status why);
  // Closes all that is open, once the lane is live; again only behind further records.
  void CloseAll();
  bool has_closed_all() const { return phase_ == LanePhase::kParked || place_.is_all_closed; }
  // Where records are to come from again, now that the handler may take one that it has refused
  // while the lane replays; or for the first time, now that a snapshot under changed options counts.
  std::optional<uint64_t> ReadsAgain(EngineTime clock);

  // Whether the log is to be asked for its end, and that it was, at an instant of the clock; and
  // that all which it had then was taken.
  bool WantsEnd(EngineTime now) const;
  void AskedForEnd(EngineTime now) { asked_at_ = now; }
  void ReachEnd();

  // Whether the lane takes no more records for the moment.
  bool IsFull() const;

  // --- Held keys

  // Hands over the first records of those whose time has come, and what waits behind them.
  void RetryHeld(EngineTime clock);
  void AddHeldKeys(std::vector<HeldKey>& out) const;
  bool Retry(std::string_view key);
  bool Drop(std::string_view key, uint64_t offset);

  // --- Commits and snapshots

  // What is to be committed, if something is due; one that stops does not wait for commit_every. The
  // books of held keys and of buried messages are kept before.
  std::optional<LogCommit> Decide(EngineTime now, bool stopping, Duration interval_min,
                                  LaneSnapshots& snapshots);
  // The answer: not kFenced. Removes snapshots and books that are not needed any more.
  void Committed(CommitOutcome outcome, LaneSnapshots& snapshots);
  bool HasCommittedAll() const;

  // Takes a snapshot if one is due. One that fails is tried again behind as many records.
  void KeepSnapshot(LaneSnapshots& snapshots, bool stopping);

  // --- Messages

  // As those of Processor.
  size_t Lend(size_t max, EngineTime now, EngineTime until, LeaseKeys keys,
              std::vector<Message>& out);
  bool Ack(const MessageId& id);
  bool Nack(const MessageId& id, EngineTime at);
  bool Bury(const MessageId& id, std::string_view reason);
  bool Revive(const MessageId& id);
  bool DropBuried(const MessageId& id);
  void AddBuried(std::vector<BuriedMessage>& out) const;

 private:
  friend class Lane;

  // What a snapshot says beside the engine.
  struct Place {
    uint64_t next = 0;  // the offset that comes next
    EngineTime now = kBeginningOfTime;
    std::optional<EngineTime> tick;  // that has moved time to there, if no record has come since
    uint64_t handled = 0;            // records since the newest snapshot
    bool is_all_closed = false;      // by CloseAll(), and no record has come since
  };
  struct Stream {
    Stream(std::string_view name, Lane::PopAll pop) : messages(name), pop_all(std::move(pop)) {}

    MessageStream messages;
    Lane::PopAll pop_all;
  };
  struct Commit {
    uint64_t offset = 0;
    LaneCheckpoint checkpoint;

    friend bool operator==(const Commit&, const Commit&) = default;
  };
  // A snapshot that no commit names yet, as messages from before it are not confirmed.
  struct NewSnapshot {
    LaneSnapshotPlace place;
    std::vector<uint64_t> made;  // of each stream
  };

  // Where a life begins, and how often another owner has gone on with it.
  struct Origin {
    uint64_t life = 0;
    uint64_t offset = 0;
    uint64_t takeovers = 0;
    EngineTime taken_over{};  // the last time, if there was one
    // The last commit that may have been taken, until one is known to be. A later one does not go back
    // behind its offset: a member that still takes the partition for its own may have gone on from there.
    std::optional<Commit> in_doubt;
  };
  // What was put into LaneSnapshots, and counts of this owner.
  struct Kept {
    uint64_t commits = 0;
    uint64_t snapshots = 0;
    std::optional<LaneSnapshotPlace> snapshot;  // that commits name
    // Of it, that the handler's collection has another value of. Nothing is read until a commit names a
    // snapshot under the new value: nobody could go on from the old one, not even under the old value.
    std::string changed_option;
    std::optional<uint64_t> changed_in;  // that snapshot
    bool is_to_be_read = false;          // then
    std::optional<NewSnapshot> fresh;
    std::optional<Place> at;      // the place of the newest one
    std::vector<uint64_t> books;  // that are there, but for the newest one
    uint64_t needed = 0;          // what is below was removed
    absl::Status trouble;         // of the last book
  };
  // The handler asks for time while the lane replays.
  struct ReplayWait {
    Duration wait{};
    std::optional<EngineTime> until;
  };

  MessageStream* StreamOf(const MessageId& id);
  BuriedMessages::Name NameOf(const MessageId& id) const;
  size_t StreamNamed(const BuriedMessages::Name& name) const;
  Message MessageOf(size_t stream, uint64_t number, const std::string& key,
                    const std::string& payload) const;

  // Of Lane.
  void AddStream(std::string_view name, Lane::PopAll pop_all);
  void Emit(std::string_view key, std::string_view payload);

  LanePosition position() const { return {.next = place_.next, .tick = place_.tick}; }
  uint64_t Made() const;
  bool HasManyMessages() const;
  bool AwaitsSnapshot() const { return !kept_.changed_option.empty(); }
  bool IsKept() const;
  absl::Status CheckCollections() const;
  absl::Status BeginAt(uint64_t first, LaneSnapshots& snapshots);
  void Begin(uint64_t first);
  bool has_begun() const { return last_.checkpoint.streams.size() == streams_.size(); }
  absl::Status OrderStreams();
  absl::Status GoOn(const LogCommit& committed, LaneSnapshots& snapshots);
  bool IsSameVersion() const;
  bool WasStoppedAt(uint64_t offset, EngineTime now) const;
  absl::Status Restore(const LaneSnapshotPlace& place, LaneSnapshots& snapshots);
  bool ReadNote(std::string_view note);
  absl::Status ReadBooks(LaneSnapshots& snapshots);
  absl::Status KeepBooks(LaneSnapshots& snapshots);
  template <class Books>
  absl::Status KeepBook(Books& of, LaneSnapshots& snapshots);
  void RemoveUnneeded(LaneSnapshots& snapshots);
  std::string Note() const;
  void FinishReplay();
  bool is_on_event_time() const { return options_.engine.axis == Axis::kEvent; }
  void PassTicks(uint64_t offset);
  void CloseNow();
  void Tick(EngineTime now);
  void MoveEngine(EngineTime now);
  bool HasUndercut(EngineTime tick, EngineTime logged) const;
  std::span<const LogRecord> BatchAt(std::span<const LogRecord> records) const;
  void TakeBatch(std::span<const LogRecord> records);
  void PassRecords(uint64_t last, uint64_t count);
  void TakeOne(const LogRecord& record, EngineTime clock);
  Handled HandOver(const LogRecord& record);
  bool RepeatDecisions(uint64_t offset);
  void RefuseInReplay(const Handled& answer, uint64_t offset);
  void PopAll();
  void AdoptSnapshot();
  Commit MakeCommit() const;
  Commit FirstCommit() const;
  bool IsSnapshotConfirmed() const;

  const int partition_;
  const ProcessorOptions& options_;
  const std::unique_ptr<Engine> engine_;
  Lane lane_{*this};
  std::deque<Stream> streams_;
  std::unique_ptr<Handler> handler_;
  LanePhase phase_ = LanePhase::kReplaying;
  absl::Status why_;
  Place place_;
  Commit last_;                      // that was taken; while replaying, what is to be reached
  std::optional<Commit> under_way_;  // that was not answered
  EngineTime decided_at_ = kBeginningOfTime;
  std::vector<LaneTick> ticks_;  // kept, in the order of offsets
  size_t passed_ticks_ = 0;      // of these, while replaying
  Origin origin_;
  Kept kept_;
  std::optional<EngineTime> asked_at_;
  HeldKeys held_{options_};
  BuriedMessages buried_{options_};
  std::optional<ReplayWait> replay_wait_;
};

}  // namespace pleat::inline v0_1
