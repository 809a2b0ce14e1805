#include "engine/lanes/lane_core.h"

#include <algorithm>
#include <utility>

#include <pleat/snapshot.h>
#include <pleat/stored.h>

#include "engine/base/check.h"
#include "engine/base/concat.h"
#include "engine/base/hash.h"

namespace pleat::inline v0_1 {
namespace {

constexpr int kSeldom = 10;  // times commit_every, when there is nothing to be decided

std::unique_ptr<Engine> OpenEngine(EngineOptions options) {
  options.partitions = 1;
  // The time between two records of a log has no limit.
  if (options.axis == Axis::kArrival) options.future_limit = kForever;
  auto engine = Engine::Open(options);
  PLEAT_CHECK(engine.ok());
  return *std::move(engine);
}

}  // namespace

LaneCore::LaneCore(int partition, const ProcessorOptions& options, const MakeHandler& make_handler)
    : partition_(partition), options_(options), engine_(OpenEngine(options.engine)) {
  AddStream("emitted", nullptr);
  handler_ = make_handler(lane_);
  PLEAT_CHECK(handler_ != nullptr);
}

// --- For the handler

Engine& Lane::engine() noexcept { return *core_.engine_; }
int Lane::partition() const noexcept { return core_.partition_; }
EngineTime Lane::now() const noexcept { return core_.place_.now; }
void Lane::Publish(std::string_view name, PopAll pop_all) {
  core_.AddStream(name, std::move(pop_all));
}
void Lane::Emit(std::string_view key, std::string_view payload) { core_.Emit(key, payload); }

void LaneCore::AddStream(std::string_view name, Lane::PopAll pop_all) {
  PLEAT_CHECK(handler_ == nullptr && streams_.size() < kLaneStreamsMax);
  PLEAT_CHECK(std::ranges::none_of(
      streams_, [name](const Stream& each) { return each.messages.name() == name; }));
  streams_.emplace_back(name, std::move(pop_all));
}

void LaneCore::Emit(std::string_view key, std::string_view payload) {
  PLEAT_CHECK(handler_ != nullptr);  // not in its constructor
  streams_.front().messages.Add(key, std::string(payload));
}

LaneStatus LaneCore::Status() const {
  constexpr const char* kTicksFull =
      "groups close with the next record only: older records came behind silence 16 times, and no "
      "snapshot counts since, as messages before it wait for acks, or it has failed";
  LaneStatus status{.partition = partition_,
                    .phase = phase_,
                    .why = why_,
                    .next = place_.next,
                    .now = place_.now};
  for (const Stream& each : streams_) status.waiting += each.messages.waiting();
  if (status.why.ok() && ticks_.size() == kLaneTicksMax) {
    status.why = absl::ResourceExhaustedError(kTicksFull);
  }
  return status;
}

// --- The beginning

std::optional<uint64_t> LaneCore::Start(const LogCommit* committed, uint64_t first,
                                        LaneSnapshots& snapshots) {
  if (committed == nullptr || committed->metadata.empty()) {
    Begin(committed == nullptr ? first : committed->offset);
  } else if (absl::Status on = GoOn(*committed, snapshots); !on.ok()) {
    Park(std::move(on));
    return std::nullopt;
  }
  if (phase_ == LanePhase::kReplaying && place_.next >= last_.offset) FinishReplay();
  if (phase_ == LanePhase::kParked) return std::nullopt;
  return place_.next;
}

// Nobody was here before.
void LaneCore::Begin(uint64_t first) {
  life_ = options_.life.value_or(RandomHashKey().front());
  origin_ = place_.next = first;
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
  life_ = last.life;
  ticks_ = last.ticks;
  origin_ = place_.next = last.origin;
  snapshot_ = last.snapshot;
  if (snapshot_) {
    if (absl::Status restored = Restore(*snapshot_, snapshots); !restored.ok()) return restored;
  } else {
    for (size_t i = 0; i < streams_.size(); ++i)
      streams_[i].messages.StartAt(0, 0, last.streams[i]);
  }
  // Another version makes other messages of the same records: so none may have to be made again.
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
  return snapshot_ && place_.next == offset && place_.now == now &&
         std::ranges::all_of(last_.checkpoint.streams, [](const StreamCheckpoint& each) {
           return each.confirmed == each.decided;
         });
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
  if (!in.done()) return false;
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
  kept_at_ = place_;
  return (*restore)->Finish();
}

void LaneCore::Park(absl::Status why) {
  phase_ = LanePhase::kParked;
  why_ = std::move(why);
}

// --- Records and time

void LaneCore::PopAll() {
  for (Stream& each : streams_) {
    if (!each.pop_all) continue;
    each.pop_all([&each](std::string_view key, std::string payload) {
      each.messages.Add(key, std::move(payload));
    });
  }
}

void LaneCore::MoveEngine(EngineTime now) {
  // Emissions are taken a few at a time, so that no limit on those that wait is met.
  constexpr size_t kBudget = 1024;
  while (!engine_->Advance(now, kBudget)) PopAll();
  PopAll();
}

// Time moves without a record.
void LaneCore::Tick(EngineTime now) {
  place_.now = std::max(place_.now, now);
  if (!is_on_event_time()) return MoveEngine(place_.now);
  const EngineTime silent_until = SaturatingSub(place_.now, options_.idle);
  if (silent_until <= engine_->now()) return;
  handler_->TakeUntil(silent_until, lane_);
  MoveEngine(silent_until);
}

// While replaying: those that came before the record at `offset`.
void LaneCore::PassTicks(uint64_t offset) {
  for (; passed_ticks_ < ticks_.size() && ticks_[passed_ticks_].offset <= offset; ++passed_ticks_) {
    Tick(ticks_[passed_ticks_].time);
  }
}

// Whether the record that was just handled might have come to other messages without the tick
// before it: the record has not moved time past the tick by itself.
bool LaneCore::HasUndercut(EngineTime tick, EngineTime logged) const {
  return is_on_event_time() ? engine_->now() <= SaturatingSub(tick, options_.idle) : logged < tick;
}

void LaneCore::TakeOne(const LogRecord& record) {
  if (phase_ == LanePhase::kReplaying) PassTicks(record.offset);
  const std::optional<EngineTime> tick = std::exchange(place_.tick, std::nullopt);
  place_.now = std::max(place_.now, record.logged);
  if (!is_on_event_time()) MoveEngine(place_.now);
  LogRecord handled = record;
  handled.logged = place_.now;
  handler_->Handle(handled, lane_);
  is_on_event_time() ? MoveEngine(engine_->now()) : PopAll();
  if (phase_ == LanePhase::kLive && tick && HasUndercut(*tick, record.logged)) {
    if (ticks_.size() == kLaneTicksMax) {
      return Park(absl::ResourceExhaustedError(
          Concat("partition ", partition_, ": more than ", kLaneTicksMax,
                 " records came behind silence and were older, and no snapshot counts since")));
    }
    ticks_.push_back({.offset = place_.next, .time = *tick});
  }
  place_.next = record.offset + 1;
  ++place_.handled;
}

void LaneCore::Take(std::span<const LogRecord> records) {
  for (const LogRecord& record : records) {
    if (record.offset < place_.next) continue;  // it was taken before
    if (phase_ == LanePhase::kReplaying && record.offset >= last_.offset) FinishReplay();
    if (phase_ == LanePhase::kParked) return;
    TakeOne(record);
  }
  if (phase_ == LanePhase::kReplaying && place_.next >= last_.offset) FinishReplay();
}

// All records that the last owner had handled were handled again.
void LaneCore::FinishReplay() {
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
  phase_ = LanePhase::kLive;
}

bool LaneCore::WantsEnd(EngineTime now) const {
  if (asked_at_) return false;
  if (phase_ == LanePhase::kReplaying) return true;
  if (phase_ != LanePhase::kLive || ticks_.size() == kLaneTicksMax) return false;
  std::optional<EngineTime> due = engine_->NextDeadline();
  if (is_on_event_time()) {
    if (const auto waiting = handler_->NextWaiting())
      due = std::min(due.value_or(kNever), *waiting);
    if (!due) return false;
    // Silence begins with the last record, and goes on behind a tick.
    due = SaturatingAdd(place_.tick ? *due : std::max(*due, place_.now), options_.idle);
  }
  return due && *due <= SaturatingSub(now, options_.margin);
}

void LaneCore::ReachEnd() {
  if (!asked_at_) return;
  const EngineTime now = SaturatingSub(*asked_at_, options_.margin);
  asked_at_.reset();
  if (phase_ == LanePhase::kReplaying) return FinishReplay();
  if (phase_ != LanePhase::kLive || now <= place_.now || ticks_.size() == kLaneTicksMax) return;
  // A record that came meanwhile has ended the silence.
  const bool is_silent = place_.tick || SaturatingSub(now, options_.idle) >= place_.now;
  if (is_on_event_time() && !is_silent) return;
  Tick(now);
  place_.tick = now;
}

bool LaneCore::IsFull() const {
  if (phase_ != LanePhase::kLive) return false;  // what is replayed has had room before
  uint64_t bytes = 0;
  for (const Stream& each : streams_) bytes += each.messages.bytes();
  return bytes >= options_.messages_bytes_max;
}

// --- Commits and snapshots

bool LaneCore::IsSnapshotConfirmed() const {
  for (size_t i = 0; i < streams_.size(); ++i) {
    if (streams_[i].messages.confirmed() < new_snapshot_->made[i]) return false;
  }
  return true;
}

LaneCore::Commit LaneCore::MakeCommit() {
  if (new_snapshot_ && IsSnapshotConfirmed()) {
    snapshot_ = new_snapshot_->place;
    new_snapshot_.reset();
    std::erase_if(ticks_, [this](const LaneTick& t) { return t.offset < snapshot_->offset; });
  }
  Commit commit{.offset = place_.next,
                .checkpoint = {.life = life_,
                               .version = options_.version,
                               .origin = origin_,
                               .now = place_.now,
                               .snapshot = snapshot_,
                               .ticks = ticks_}};
  for (const Stream& each : streams_) {
    commit.checkpoint.streams.push_back(each.messages.Checkpoint());
  }
  return commit;
}

std::optional<LogCommit> LaneCore::Decide(EngineTime now, bool stopping) {
  if (phase_ != LanePhase::kLive || under_way_) return std::nullopt;
  const bool has_undecided = std::ranges::any_of(
      streams_, [](const Stream& each) { return each.messages.has_undecided(); });
  const bool is_urgent = has_undecided || stopping || options_.commit_every > kForever / kSeldom;
  const Duration every = options_.commit_every * (is_urgent ? 1 : kSeldom);
  decided_at_ = std::min(decided_at_, now);  // a clock may be set back
  if (now < SaturatingAdd(decided_at_, every)) return std::nullopt;
  Commit commit = MakeCommit();
  if (commit == last_) return std::nullopt;
  decided_at_ = now;
  under_way_ = std::move(commit);
  return LogCommit{.partition = partition_,
                   .offset = under_way_->offset,
                   .needed = under_way_->checkpoint.replayed_from(),
                   .metadata = BytesOf(under_way_->checkpoint)};
}

void LaneCore::Committed(CommitOutcome outcome) {
  PLEAT_CHECK(under_way_ && outcome != CommitOutcome::kFenced);
  if (outcome == CommitOutcome::kCommitted) {
    last_ = *std::move(under_way_);
    for (size_t i = 0; i < streams_.size(); ++i) {
      streams_[i].messages.SetDecided(last_.checkpoint.streams[i].decided);
    }
  }
  under_way_.reset();
}

bool LaneCore::HasCommittedAll() const {
  if (phase_ == LanePhase::kParked) return true;
  if (phase_ == LanePhase::kReplaying || under_way_ || new_snapshot_ || !IsKept()) return false;
  // Without a commit there is nothing to go on from.
  if (last_.checkpoint.streams.size() != streams_.size()) return false;
  if (last_.checkpoint.snapshot != snapshot_) return false;
  if (last_.offset != place_.next || last_.checkpoint.now != place_.now) return false;
  for (size_t i = 0; i < streams_.size(); ++i) {
    if (streams_[i].messages.Checkpoint() != last_.checkpoint.streams[i]) return false;
  }
  return Status().waiting == 0;
}

// Whether the newest snapshot has all.
bool LaneCore::IsKept() const {
  return kept_at_ && kept_at_->next == place_.next && kept_at_->now == place_.now;
}

void LaneCore::KeepSnapshot(LaneSnapshots& snapshots, bool stopping) {
  const bool has_many = place_.handled >= options_.replay_limit ||
                        (ticks_.size() == kLaneTicksMax && place_.handled > 0);
  const bool is_due = has_many || (stopping && !IsKept());
  if (!is_due || new_snapshot_ || phase_ != LanePhase::kLive) return;
  const std::string note = Note();
  const absl::StatusOr<uint64_t> number = snapshots.Put(
      partition_, [&](ByteSink& sink) { return TakeSnapshot(*engine_, sink, {.note = note}); });
  place_.handled = 0;
  why_ = number.status();
  if (!number.ok()) return;
  kept_at_ = place_;
  NewSnapshot& kept = new_snapshot_.emplace();
  kept.place = {.number = *number, .offset = place_.next};
  for (const Stream& each : streams_) kept.made.push_back(each.messages.made());
}

std::optional<uint64_t> LaneCore::snapshot_committed() const {
  if (!last_.checkpoint.snapshot) return std::nullopt;
  return last_.checkpoint.snapshot->number;
}

// --- Messages

size_t LaneCore::Lend(size_t max, EngineTime now, EngineTime until, LeaseKeys keys,
                      std::vector<Message>& out) {
  if (phase_ != LanePhase::kLive) return 0;
  size_t lent = 0;
  for (size_t i = 0; i < streams_.size() && lent < max; ++i) {
    MessageStream& stream = streams_[i].messages;
    lent += stream.Lend(max - lent, now, until, keys,
                        [&](uint64_t number, const MessageStream::Entry& entry) {
                          out.push_back({.id = {.partition = partition_,
                                                .stream = static_cast<uint32_t>(i),
                                                .life = life_,
                                                .number = number},
                                         .stream = stream.name(),
                                         .key = entry.key,
                                         .payload = entry.payload});
                        });
  }
  return lent;
}

MessageStream* LaneCore::StreamOf(const MessageId& id) {
  const bool is_here = phase_ == LanePhase::kLive && id.partition == partition_ &&
                       id.life == life_ && id.stream < streams_.size();
  return is_here ? &streams_[id.stream].messages : nullptr;
}

}  // namespace pleat::inline v0_1
