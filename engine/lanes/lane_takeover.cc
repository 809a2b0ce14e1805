// How a lane begins, and goes on from what its last owner has committed.
#include <algorithm>
#include <utility>

#include <pleat/metrics.h>
#include <pleat/snapshot.h>
#include <pleat/stored.h>

#include "engine/base/concat.h"
#include "engine/base/hash.h"
#include "engine/lanes/lane_core.h"
#include "engine/lanes/lane_files.h"

namespace pleat::inline v0_1 {

std::optional<uint64_t> LaneCore::Start(const LogCommit* committed, uint64_t first,
                                        LaneSnapshots& snapshots, EngineTime clock) {
  origin_.taken_over = clock;
  absl::Status status = CheckCollections();
  if (status.ok() && committed == nullptr) {
    status = BeginAt(first, snapshots);
  } else if (status.ok() && committed->metadata.empty()) {
    Begin(committed->offset);
  } else if (status.ok()) {
    status = GoOn(*committed, snapshots);
  }
  if (!status.ok()) {
    Park(std::move(status));
    return std::nullopt;
  }
  PopAll();  // there is nothing yet, but who watches a collection begins here
  if (phase_ == LanePhase::kReplaying && place_.next >= last_.offset) FinishReplay();
  if (phase_ == LanePhase::kParked) return std::nullopt;
  kept_.is_to_be_read = AwaitsSnapshot();
  if (kept_.is_to_be_read) return std::nullopt;
  return place_.next;
}

// What a store has was not made of the records that a lane reads, and would count twice when they are
// read again.
absl::Status LaneCore::CheckCollections() const {
  const std::pair<std::string, std::string> has_store("a store", "on");
  for (const ListedCollection& each : ListCollections(*engine_)) {
    if (std::ranges::find(each.options, has_store) == each.options.end()) continue;
    return absl::InvalidArgumentError(Concat(
        "partition ", partition_, ": the counter ", each.name,
        " has a CheckpointStore, and a lane cannot have one: leave RollupOptions::store out, "
        "as the lane's snapshots keep its counts"));
  }
  return absl::OkStatus();
}

// No file is kept before a first commit was taken.
absl::Status LaneCore::BeginAt(uint64_t first, LaneSnapshots& snapshots) {
  const absl::StatusOr<bool> has_files = snapshots.HasAny(partition_);
  if (!has_files.ok()) return has_files.status();
  if (*has_files) {
    return absl::FailedPreconditionError(
        Concat("partition ", partition_,
               ": the last commit is gone, as one that has expired, and files of the lane are "
               "there: so it had an owner, and what that has delivered is not known. Move the "
               "consumer to the offset where a new life is to begin, or remove the files to begin "
               "at the first record that is left, ",
               first));
  }
  Begin(first);
  return absl::OkStatus();
}

// A new life.
void LaneCore::Begin(uint64_t first) {
  origin_.life = options_.life.value_or(RandomHashKey().front());
  origin_.offset = place_.next = first;
  phase_ = LanePhase::kLive;
}

absl::Status LaneCore::GoOn(const LogCommit& committed, LaneSnapshots& snapshots) {
  std::optional<LaneCheckpoint> checkpoint = CheckpointIn(committed.metadata);
  if (!checkpoint || checkpoint->replayed_from() > committed.offset) {
    return absl::DataLossError(Concat("partition ", partition_,
                                      ": the metadata of the last commit is damaged, or of another "
                                      "program or version"));
  }
  last_ = {.offset = committed.offset, .checkpoint = *std::move(checkpoint)};
  LaneCheckpoint& last = last_.checkpoint;
  const bool is_same_version = IsSameVersion();
  if (absl::Status ordered = OrderStreams(); !ordered.ok()) return ordered;
  origin_.life = last.life;
  // No commit is made for that alone.
  origin_.takeovers = ++last.takeovers;
  last.taken_over = origin_.taken_over;
  ticks_ = last.ticks;
  if (absl::Status read = ReadBooks(snapshots); !read.ok()) return read;
  origin_.offset = place_.next = last.origin;
  kept_.snapshot = last.snapshot;
  if (kept_.snapshot) {
    if (absl::Status restored = Restore(*kept_.snapshot, snapshots); !restored.ok())
      return restored;
  } else {
    for (size_t i = 0; i < streams_.size(); ++i)
      streams_[i].messages.StartAt(0, 0, last.streams[i]);
  }
  for (const auto& [name, entry] : buried_.all()) {
    const auto of = std::ranges::find(last.streams, name.first, &StreamCheckpoint::name);
    if (of == last.streams.end() || name.second >= of->decided) {
      return absl::DataLossError(Concat("partition ", partition_,
                                        ": the book of buried messages has one that was not made"));
    }
    streams_[static_cast<size_t>(of - last.streams.begin())].messages.CountConfirmed(name.second);
  }
  // Another version makes other messages of the same records, and so do other options: so none may
  // have to be made again.
  if (!kept_.changed_option.empty() && !WasStoppedAt(committed.offset, last.now)) {
    return absl::FailedPreconditionError(
        Concat("partition ", partition_, ": ", kept_.changed_option,
               " in the snapshot, and the last owner was not stopped in order: let its options go "
               "on, and stop it"));
  }
  if (is_same_version || WasStoppedAt(committed.offset, last.now)) return absl::OkStatus();
  return absl::FailedPreconditionError(
      Concat("partition ", partition_, ": the last owner had version ", last.version,
             ", or other streams, and was not stopped in order; this one has version ",
             options_.version, ": let that version go on, and stop it"));
}

bool LaneCore::IsSameVersion() const {
  return last_.checkpoint.version == options_.version &&
         std::ranges::equal(last_.checkpoint.streams, streams_, {}, &StreamCheckpoint::name,
                            [](const Stream& each) { return each.messages.name_hash(); });
}

bool LaneCore::WasStoppedAt(uint64_t offset, EngineTime now) const {
  return kept_.snapshot && place_.next == offset && place_.now == now && !held_.has_handled() &&
         std::ranges::all_of(last_.checkpoint.streams, [](const StreamCheckpoint& each) {
           return each.confirmed == each.decided;
         });
}

absl::Status LaneCore::ReadBooks(LaneSnapshots& snapshots) {
  const auto read = [&](std::optional<uint64_t> number, auto& books) -> absl::Status {
    if (!number) return absl::OkStatus();
    const absl::StatusOr<std::string> book = ReadLaneFile(snapshots, partition_, *number);
    if (!book.ok()) return book.status();
    if (books.ReadBook(*book, origin_.life, *number)) return absl::OkStatus();
    return absl::DataLossError(Concat("partition ", partition_, ": the book ", *number,
                                      " is damaged, or one of another lane"));
  };
  if (absl::Status held = read(last_.checkpoint.held, held_); !held.ok()) return held;
  return read(last_.checkpoint.buried, buried_);
}

// The streams of the last commit in our order, and new ones with no message yet.
absl::Status LaneCore::OrderStreams() {
  std::vector<StreamCheckpoint> ordered;
  size_t found = 0;
  for (const Stream& each : streams_) {
    const uint32_t name = each.messages.name_hash();
    const auto last = std::ranges::find(last_.checkpoint.streams, name, &StreamCheckpoint::name);
    const bool is_new = last == last_.checkpoint.streams.end();
    ordered.push_back(is_new ? StreamCheckpoint{.name = name, .ranges = {}} : *last);
    found += is_new ? 0 : 1;
  }
  if (found < last_.checkpoint.streams.size()) {
    return absl::FailedPreconditionError(
        Concat("partition ", partition_, ": the last owner had ", last_.checkpoint.streams.size(),
               " streams of messages, and ", last_.checkpoint.streams.size() - found,
               " of them are not named here: a stream keeps its name, as the ids of its messages "
               "have it"));
  }
  last_.checkpoint.streams = std::move(ordered);
  return absl::OkStatus();
}

// What the note of a snapshot has.
std::string LaneCore::Note() const {
  FieldWriter out;
  out(place_.next, place_.now, place_.tick);
  out.PutNumber(streams_.size());
  for (const Stream& each : streams_) {
    out.PutNumber(each.messages.name_hash());
    out.PutNumber(each.messages.made());
    out.PutWord(each.messages.digest());
  }
  if (held_.keys() > 0) out(held_.Records());
  return std::string(out.bytes());
}

// A stream that is newer than the snapshot begins at its first message.
bool LaneCore::ReadNote(std::string_view note) {
  FieldReader in(note);
  in(place_.next, place_.now, place_.tick);
  std::vector<StreamCheckpoint> kept(in.Count());
  for (StreamCheckpoint& each : kept) {
    each.name = static_cast<uint32_t>(in.Number());
    each.decided = in.Number();
    each.digest = in.Word();
  }
  std::vector<HeldRecord> held;
  if (in.Has(1)) in(held);
  if (!in.done()) return false;
  for (const HeldRecord& each : held) {
    if (!held_.IsNamed(each.offset)) return false;
    held_.Hold(each.At(each.logged));
  }
  for (size_t i = 0; i < streams_.size(); ++i) {
    const StreamCheckpoint& last = last_.checkpoint.streams[i];
    const auto found = std::ranges::find(kept, last.name, &StreamCheckpoint::name);
    const StreamCheckpoint at = found == kept.end() ? StreamCheckpoint() : *found;
    if (at.decided > last.confirmed) return false;
    streams_[i].messages.StartAt(at.decided, at.digest, last);
  }
  return true;
}

absl::Status LaneCore::Restore(const LaneSnapshotPlace& place, LaneSnapshots& snapshots) {
  absl::StatusOr<std::unique_ptr<ByteSource>> source = snapshots.Get(partition_, place.number);
  if (!source.ok()) return source.status();
  // The log says all records since again, in their order: so numbers come to mean the same.
  absl::StatusOr<std::unique_ptr<pleat::Restore>> restore =
      pleat::Restore::Begin(*engine_, **source, {.skip_numbers = 0});
  if (!restore.ok()) return restore.status();
  if (!ReadNote((*restore)->info().note) || place_.next != place.offset) {
    return absl::DataLossError(
        Concat("partition ", partition_, ": snapshot ", place.number, " is one of another lane"));
  }
  for (const SnapshotInfo::Collection& each : (*restore)->info().collections) {
    for (const auto& [option, now_it_is] : each.changed) {
      const auto was =
          std::ranges::find(each.options, option, [](const auto& o) { return o.first; });
      kept_.changed_option = Concat("\"", each.name, "\": ", option, " is ", now_it_is, ", and ",
                                    was == each.options.end() ? "absent" : was->second);
    }
  }
  kept_.at = place_;
  return (*restore)->Finish();
}

// --- Replay

// What was done is not done now: that may pass, or the handler is another one.
void LaneCore::RefuseInReplay(const Handled& answer, uint64_t offset) {
  if (!answer.is_parked()) {
    replay_wait_ = ReplayWait{.wait = answer.wait(), .until = std::nullopt};
    why_ =
        absl::UnavailableError(Concat("partition ", partition_, ": the record at offset ", offset,
                                      " was handled, and now has to wait: ", answer.reason()));
    return;
  }
  Park(absl::FailedPreconditionError(
      Concat("partition ", partition_, " has diverged: the record at ", "offset ", offset,
             " was handled, and is refused now: ", answer.reason())));
}

// While replaying: the decisions before the record at `offset`. False: not all of them, for the moment
// or for good.
bool LaneCore::RepeatDecisions(uint64_t offset) {
  while (const HeldDecision* const decision = held_.NextToRepeat(offset)) {
    if (decision->at.tick) {
      Tick(*decision->at.tick);
      place_.tick = decision->at.tick;
    }
    if (decision->closes_all()) {
      CloseNow();
      held_.Repeat();
      continue;
    }
    const HeldRecord* const record = held_.RecordOf(*decision);
    if (record == nullptr) {
      Park(absl::DataLossError(Concat("partition ", partition_, ": the record at offset ",
                                      decision->record, " has waited, and is not there")));
      return false;
    }
    if (!decision->is_dropped) {
      const Handled answer = HandOver(record->At(place_.now));
      if (!answer.is_done()) return RefuseInReplay(answer, decision->record), false;
    }
    held_.Repeat();
  }
  return true;
}

// All records that the last owner had handled were handled again.
void LaneCore::FinishReplay() {
  if (replay_wait_ || !RepeatDecisions(last_.offset)) return;
  PassTicks(last_.offset);
  place_.next = std::max(place_.next, last_.offset);
  const LaneCheckpoint& last = last_.checkpoint;
  if (last.now > place_.now) {
    Tick(last.now);
    place_.tick = last.now;
  }
  for (size_t i = 0; i < last.streams.size(); ++i) {
    const MessageStream& made = streams_[i].messages;
    const StreamCheckpoint& decided = last.streams[i];
    if (made.made() == decided.decided && made.digest() == decided.digest) continue;
    return Park(absl::FailedPreconditionError(
        Concat("partition ", partition_, " has diverged: the records up to offset ", last_.offset,
               " came to ", decided.decided, " messages of the stream ", made.name(),
               ", and now to ", made.made(), made.made() == decided.decided ? " others" : "")));
  }
  if (!held_.EndReplay()) {
    return Park(absl::DataLossError(Concat("partition ", partition_, ": records of held keys are ",
                                           "not there, or not those that waited")));
  }
  phase_ = LanePhase::kLive;
}

std::optional<uint64_t> LaneCore::ReadsAgain(EngineTime clock) {
  if (phase_ == LanePhase::kLive && kept_.is_to_be_read && !AwaitsSnapshot()) {
    kept_.is_to_be_read = false;
    return place_.next;
  }
  if (!replay_wait_ || phase_ != LanePhase::kReplaying) return std::nullopt;
  const EngineTime until = SaturatingAdd(clock, replay_wait_->wait);
  replay_wait_->until = std::min(replay_wait_->until.value_or(until), until);
  if (clock < *replay_wait_->until) return std::nullopt;
  replay_wait_.reset();
  why_ = absl::OkStatus();
  return place_.next;
}

}  // namespace pleat::inline v0_1
