#include "engine/lanes/lane_core.h"

#include <algorithm>
#include <utility>

#include <pleat/snapshot.h>

#include "engine/base/check.h"
#include "engine/base/concat.h"

namespace pleat::inline v0_1 {
namespace {

// Whoever stops waits for commits.
constexpr Duration kStopsWithin = std::chrono::milliseconds(100);
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
                    .phase = AwaitsSnapshot() && phase_ == LanePhase::kLive
                                 ? LanePhase::kReplaying  // it does nothing yet
                                 : phase_,
                    .why = why_,
                    .next = place_.next,
                    .now = place_.now,
                    .takeovers = origin_.takeovers,
                    .commits = kept_.commits,
                    .snapshots = kept_.snapshots};
  if (origin_.takeovers > 0) status.taken_over = origin_.taken_over;
  for (const Stream& each : streams_) status.waiting += each.messages.waiting();
  status.held_keys = held_.keys();
  status.buried = buried_.all().size();
  if (status.why.ok()) status.why = kept_.trouble;
  if (const std::string_view full = held_.WhyFull(); status.why.ok() && !full.empty()) {
    status.why = absl::ResourceExhaustedError(
        Concat("partition ", partition_, " is read no further: ", full));
  }
  if (status.why.ok() && ticks_.size() == kLaneTicksMax) {
    status.why = absl::ResourceExhaustedError(kTicksFull);
  }
  return status;
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

void LaneCore::CloseNow() {
  handler_->CloseAll(lane_);
  PopAll();
}

void LaneCore::CloseAll() {
  if (phase_ != LanePhase::kLive || AwaitsSnapshot() || has_closed_all()) return;
  CloseNow();
  held_.DecideToCloseAll(position());
  place_.is_all_closed = true;
}

// Whether the record that was just handled might have come to other messages without the tick
// before it: the record has not moved time past the tick by itself, or could not have, as it would have
// been too far ahead.
bool LaneCore::HasUndercut(EngineTime tick, EngineTime logged) const {
  if (!is_on_event_time()) return logged < tick;
  return options_.engine.future_limit.value_or(kForever) < kForever ||
         engine_->now() <= SaturatingSub(tick, options_.idle);
}

uint64_t LaneCore::Made() const {
  uint64_t made = 0;
  for (const Stream& each : streams_) made += each.messages.made();
  return made;
}

Handled LaneCore::HandOver(const LogRecord& record) {
  const uint64_t made = Made();
  Handled answer = handler_->Handle(record, lane_);
  is_on_event_time() ? MoveEngine(engine_->now()) : PopAll();
  PLEAT_CHECK(answer.is_done() || Made() == made);  // else the messages would come twice
  return answer;
}

void LaneCore::TakeOne(const LogRecord& record, EngineTime clock) {
  const bool is_replaying = phase_ == LanePhase::kReplaying;
  if (is_replaying) {
    if (!RepeatDecisions(record.offset)) return;
    PassTicks(record.offset);
  }
  const std::optional<EngineTime> tick = std::exchange(place_.tick, std::nullopt);
  place_.now = std::max(place_.now, record.logged);
  if (!is_on_event_time()) MoveEngine(place_.now);
  LogRecord handled = record;
  handled.logged = place_.now;
  // While replaying the book says which records wait: some are records whose key has no line yet.
  if (is_replaying ? held_.IsNamed(record.offset) : held_.Has(record.key)) {
    held_.Hold(record);
  } else if (const Handled answer = HandOver(handled); !answer.is_done()) {
    if (is_replaying) return RefuseInReplay(answer, record.offset);
    held_.Hold(record);
    held_.Refuse(record.key, answer, clock);
  }
  if (phase_ == LanePhase::kLive && tick && HasUndercut(*tick, record.logged)) {
    if (ticks_.size() == kLaneTicksMax) {
      return Park(absl::ResourceExhaustedError(
          Concat("partition ", partition_, ": more than ", kLaneTicksMax,
                 " records came behind silence and were older, and no snapshot counts since")));
    }
    ticks_.push_back({.offset = place_.next, .time = *tick});
  }
  PassRecords(record.offset, 1);
}

// The records that may be handed over at once: no tick and no decision lies between them, and none of
// them waits. One or none: the next record is handed over by itself.
std::span<const LogRecord> LaneCore::BatchAt(std::span<const LogRecord> records) const {
  constexpr size_t kMost = 256;
  const bool is_replaying = phase_ == LanePhase::kReplaying;
  if (place_.tick || !held_.is_unused()) return {};
  uint64_t end = UINT64_MAX;
  if (is_replaying) {
    if (held_.NextToRepeat(UINT64_MAX) != nullptr) return {};
    end = last_.offset;
    if (passed_ticks_ < ticks_.size()) end = std::min(end, ticks_[passed_ticks_].offset);
  }
  size_t size = 0;
  for (uint64_t next = place_.next; size < std::min(records.size(), kMost); ++size) {
    const LogRecord& each = records[size];
    if (each.offset < next || each.offset >= end) break;
    next = each.offset + 1;
  }
  return size < 2 ? std::span<const LogRecord>()
                  : records.first(std::min(size, handler_->BatchOf(records.first(size))));
}

void LaneCore::TakeBatch(std::span<const LogRecord> records) {
  if (!is_on_event_time()) MoveEngine(std::max(place_.now, records.front().logged));
  std::vector<LogRecord> handled(records.begin(), records.end());
  for (LogRecord& each : handled) each.logged = place_.now = std::max(place_.now, each.logged);
  handler_->HandleBatch(handled, lane_);
  MoveEngine(is_on_event_time() ? engine_->now() : place_.now);
  PassRecords(records.back().offset, records.size());
}

void LaneCore::PassRecords(uint64_t last, uint64_t count) {
  place_.next = last + 1;
  place_.handled += count;
  place_.is_all_closed = false;
}

void LaneCore::Take(std::span<const LogRecord> records, EngineTime clock) {
  while (!records.empty()) {
    const LogRecord& first = records.front();
    size_t taken = 1;
    if (first.offset >= place_.next) {  // else it was taken before
      if (phase_ == LanePhase::kReplaying && first.offset >= last_.offset) FinishReplay();
      if (phase_ == LanePhase::kParked || replay_wait_) return;
      const std::span<const LogRecord> batch = BatchAt(records);
      if (batch.size() > 1) {
        TakeBatch(batch);
        taken = batch.size();
      } else {
        TakeOne(first, clock);
      }
    }
    records = records.subspan(taken);
  }
  if (phase_ == LanePhase::kReplaying && place_.next >= last_.offset) FinishReplay();
}

bool LaneCore::WantsEnd(EngineTime now) const {
  if (asked_at_) return false;
  if (phase_ == LanePhase::kReplaying) return true;
  if (phase_ != LanePhase::kLive || AwaitsSnapshot() || ticks_.size() == kLaneTicksMax)
    return false;
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
  return HasManyMessages() || !held_.WhyFull().empty();
}

bool LaneCore::HasManyMessages() const {
  uint64_t bytes = 0;
  for (const Stream& each : streams_) bytes += each.messages.bytes();
  return bytes >= options_.messages_bytes_max;
}

// --- Held keys

// The time of the lane stays: what is handled now is handled as of the last record, or tick.
void LaneCore::RetryHeld(EngineTime clock) {
  if (phase_ != LanePhase::kLive || AwaitsSnapshot()) return;
  for (const std::string& key : held_.Due(clock)) {
    if (HasManyMessages()) return;
    while (held_.Has(key)) {
      const Handled answer = HandOver(held_.First(key).At(place_.now));
      if (!answer.is_done()) {
        held_.Refuse(key, answer, clock);
        break;
      }
      held_.Decide(key, position(), /*is_dropped=*/false);
    }
  }
}

void LaneCore::AddHeldKeys(std::vector<HeldKey>& out) const {
  if (phase_ == LanePhase::kLive) held_.AddTo(partition_, out);
}

bool LaneCore::Retry(std::string_view key) {
  if (phase_ != LanePhase::kLive || !held_.Has(key)) return false;
  held_.RetryNow(key);
  return true;
}

bool LaneCore::Drop(std::string_view key, uint64_t offset) {
  if (phase_ != LanePhase::kLive || !held_.Has(key)) return false;
  if (held_.First(key).offset != offset) return false;
  held_.Decide(key, position(), /*is_dropped=*/true);
  if (held_.Has(key)) held_.RetryNow(key);
  return true;
}

// --- Commits and snapshots

bool LaneCore::IsSnapshotConfirmed() const {
  for (size_t i = 0; i < streams_.size(); ++i) {
    if (streams_[i].messages.confirmed() < kept_.fresh->made[i]) return false;
  }
  return true;
}

// From the next commit on.
void LaneCore::AdoptSnapshot() {
  if (!kept_.fresh || !IsSnapshotConfirmed()) return;
  kept_.snapshot = kept_.fresh->place;
  kept_.fresh.reset();
  std::erase_if(ticks_, [this](const LaneTick& t) { return t.offset < kept_.snapshot->offset; });
  held_.ForgetKept();
  buried_.KeepAnew();
}

LaneCore::Commit LaneCore::MakeCommit() const {
  Commit commit{.offset = place_.next,
                .checkpoint = {.life = origin_.life,
                               .version = options_.version,
                               .origin = origin_.offset,
                               .now = place_.now,
                               .takeovers = origin_.takeovers,
                               .taken_over = origin_.taken_over,
                               .snapshot = kept_.snapshot,
                               .held = held_.number(),
                               .buried = buried_.number(),
                               .ticks = ticks_}};
  for (const Stream& each : streams_) {
    commit.checkpoint.streams.push_back(each.messages.Checkpoint());
  }
  return commit;
}

// Says that a life has begun, and nothing else.
LaneCore::Commit LaneCore::FirstCommit() const {
  Commit commit{.offset = origin_.offset,
                .checkpoint = {.life = origin_.life,
                               .version = options_.version,
                               .origin = origin_.offset,
                               .now = kBeginningOfTime}};
  for (const Stream& each : streams_) {
    commit.checkpoint.streams.push_back({.name = each.messages.name_hash(), .ranges = {}});
  }
  return commit;
}

// Those that have changed.
absl::Status LaneCore::KeepBooks(LaneSnapshots& snapshots) {
  absl::Status status = KeepBook(held_, snapshots);
  if (status.ok()) status = KeepBook(buried_, snapshots);
  return status;
}

template <class Books>
absl::Status LaneCore::KeepBook(Books& of, LaneSnapshots& snapshots) {
  if (!of.is_changed()) return absl::OkStatus();
  std::optional<uint64_t> number;
  if (of.has_book()) {
    const std::string book = of.Book(origin_.life);
    const absl::StatusOr<uint64_t> put =
        snapshots.Put(partition_, [&](ByteSink& sink) { return sink.Append(book); });
    if (!put.ok()) return put.status();
    number = *put;
  }
  if (of.number()) kept_.books.push_back(*of.number());
  of.SetNumber(number);
  return absl::OkStatus();
}

std::optional<LogCommit> LaneCore::Decide(EngineTime now, bool stopping, Duration interval_min,
                                          LaneSnapshots& snapshots) {
  if (phase_ != LanePhase::kLive || under_way_) return std::nullopt;
  const bool has_undecided = std::ranges::any_of(
      streams_, [](const Stream& each) { return each.messages.has_undecided(); });
  const bool is_urgent =
      has_undecided || stopping || AwaitsSnapshot() || options_.commit_every > kForever / kSeldom;
  Duration every = options_.commit_every * (is_urgent ? 1 : kSeldom);
  if (stopping) every = std::min(every, std::max(kStopsWithin, interval_min));
  decided_at_ = std::min(decided_at_, now);  // a clock may be set back
  if (now < SaturatingAdd(decided_at_, every)) return std::nullopt;
  if (!has_begun() && held_.is_changed()) {
    // The book follows with the next one.
    under_way_ = origin_.in_doubt ? *origin_.in_doubt : FirstCommit();
  } else {
    AdoptSnapshot();
    kept_.trouble = KeepBooks(snapshots);
    if (!kept_.trouble.ok()) {
      decided_at_ = now;
      return std::nullopt;
    }
    Commit commit = MakeCommit();
    if (commit == last_) return std::nullopt;
    decided_at_ = now;
    under_way_ = std::move(commit);
  }
  return LogCommit{.partition = partition_,
                   .offset = under_way_->offset,
                   .needed = under_way_->checkpoint.replayed_from(),
                   .metadata = BytesOf(under_way_->checkpoint)};
}

void LaneCore::Committed(CommitOutcome outcome, LaneSnapshots& snapshots) {
  PLEAT_CHECK(under_way_ && outcome != CommitOutcome::kFenced);
  const std::optional<Commit> answered = std::exchange(under_way_, std::nullopt);
  if (!has_begun()) origin_.in_doubt = answered;
  if (outcome != CommitOutcome::kCommitted) return;
  origin_.in_doubt.reset();
  last_ = *answered;
  if (kept_.changed_in && last_.checkpoint.snapshot &&
      last_.checkpoint.snapshot->number >= *kept_.changed_in) {
    kept_.changed_option.clear();
    kept_.changed_in.reset();
  }
  ++kept_.commits;
  for (size_t i = 0; i < streams_.size(); ++i) {
    streams_[i].messages.SetDecided(last_.checkpoint.streams[i].decided);
  }
  RemoveUnneeded(snapshots);
}

// Removes the snapshots and books that neither the last commit names nor a later one may name. Those
// that are left because of an error go with a later call.
void LaneCore::RemoveUnneeded(LaneSnapshots& snapshots) {
  for (const uint64_t book : std::exchange(kept_.books, {}))
    snapshots.Remove(partition_, book).IgnoreError();
  // A commit that names none may be followed by one of another owner, whose files are below those of ours
  // that came after it.
  const LaneCheckpoint& taken = last_.checkpoint;
  if (!taken.snapshot && !taken.held && !taken.buried) return;
  uint64_t needed = UINT64_MAX;
  const auto need = [&needed](const std::optional<LaneSnapshotPlace>& place) {
    if (place) needed = std::min(needed, place->number);
  };
  need(taken.snapshot);
  need(kept_.snapshot);
  if (kept_.fresh) need(kept_.fresh->place);
  for (const std::optional<uint64_t> book : {held_.number(), buried_.number()})
    needed = std::min(needed, book.value_or(needed));
  if (needed == UINT64_MAX || needed == std::exchange(kept_.needed, needed)) return;
  snapshots.RemoveBefore(partition_, needed).IgnoreError();
}

bool LaneCore::HasCommittedAll() const {
  if (phase_ == LanePhase::kParked) return true;
  if (phase_ == LanePhase::kReplaying || under_way_ || kept_.fresh || !IsKept()) return false;
  if (!has_begun()) return false;  // there would be nothing to go on from
  if (last_.checkpoint.snapshot != kept_.snapshot) return false;
  if (held_.is_changed() || last_.checkpoint.held != held_.number()) return false;
  if (buried_.is_changed() || last_.checkpoint.buried != buried_.number()) return false;
  if (last_.offset != place_.next || last_.checkpoint.now != place_.now) return false;
  for (size_t i = 0; i < streams_.size(); ++i) {
    if (streams_[i].messages.Checkpoint() != last_.checkpoint.streams[i]) return false;
  }
  return Status().waiting == 0;
}

// Whether the newest snapshot has all.
bool LaneCore::IsKept() const {
  return kept_.at && kept_.at->next == place_.next && kept_.at->now == place_.now &&
         !held_.has_decided_since_kept();
}

void LaneCore::KeepSnapshot(LaneSnapshots& snapshots, bool stopping) {
  const bool has_many = place_.handled >= options_.replay_limit ||
                        (ticks_.size() == kLaneTicksMax && place_.handled > 0) ||
                        held_.IsSnapshotDue();
  const bool has_changed = AwaitsSnapshot() && !kept_.changed_in;
  const bool is_due = has_many || has_changed || (stopping && !IsKept());
  if (!is_due || !has_begun() || kept_.fresh || phase_ != LanePhase::kLive) return;
  const std::string note = Note();
  const absl::StatusOr<uint64_t> number = snapshots.Put(
      partition_, [&](ByteSink& sink) { return TakeSnapshot(*engine_, sink, {.note = note}); });
  place_.handled = 0;
  held_.TrySnapshot();
  why_ = number.status();
  if (!number.ok()) return;
  if (has_changed) kept_.changed_in = *number;
  kept_.at = place_;
  ++kept_.snapshots;
  held_.SetKept();
  NewSnapshot& kept = kept_.fresh.emplace();
  kept.place = {.number = *number, .offset = place_.next};
  for (const Stream& each : streams_) kept.made.push_back(each.messages.made());
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
                          out.push_back(MessageOf(i, number, entry.key, entry.payload));
                        });
  }
  lent += buried_.Lend(
      max - lent, now, until,
      [&](const BuriedMessages::Name& name, const BuriedMessages::Entry& entry) {
        out.push_back(MessageOf(StreamNamed(name), name.second, entry.key, entry.payload));
      });
  return lent;
}

Message LaneCore::MessageOf(size_t stream, uint64_t number, const std::string& key,
                            const std::string& payload) const {
  return {.id = {.partition = partition_,
                 .stream = static_cast<uint32_t>(stream),
                 .life = origin_.life,
                 .number = number},
          .stream = streams_[stream].messages.name(),
          .key = key,
          .payload = payload};
}

size_t LaneCore::StreamNamed(const BuriedMessages::Name& name) const {
  const auto found = std::ranges::find(
      streams_, name.first, [](const Stream& each) { return each.messages.name_hash(); });
  PLEAT_CHECK(found != streams_.end());
  return static_cast<size_t>(found - streams_.begin());
}

bool LaneCore::Ack(const MessageId& id) {
  MessageStream* const stream = StreamOf(id);
  return stream != nullptr && (stream->Confirm(id.number) || buried_.Confirm(NameOf(id)));
}

bool LaneCore::Nack(const MessageId& id, EngineTime at) {
  MessageStream* const stream = StreamOf(id);
  return stream != nullptr &&
         (stream->LendAgain(id.number, at) || buried_.LendAgain(NameOf(id), at));
}

bool LaneCore::Bury(const MessageId& id, std::string_view reason) {
  MessageStream* const stream = StreamOf(id);
  if (stream == nullptr) return false;
  const MessageStream::Entry* const entry = stream->FindDecided(id.number);
  if (entry == nullptr) return buried_.BuryAgain(NameOf(id), reason);
  return buried_.Bury(NameOf(id), stream->name(), entry->key, entry->payload, reason) &&
         stream->Confirm(id.number);
}

bool LaneCore::Revive(const MessageId& id) {
  return StreamOf(id) != nullptr && buried_.Revive(NameOf(id));
}

bool LaneCore::DropBuried(const MessageId& id) {
  return StreamOf(id) != nullptr && buried_.Drop(NameOf(id));
}

void LaneCore::AddBuried(std::vector<BuriedMessage>& out) const {
  if (phase_ != LanePhase::kLive) return;
  for (const auto& [name, entry] : buried_.all()) {
    out.push_back({.message = MessageOf(StreamNamed(name), name.second, entry.key, entry.payload),
                   .reason = entry.reason,
                   .is_revived = entry.is_revived});
  }
}

BuriedMessages::Name LaneCore::NameOf(const MessageId& id) const {
  return {streams_[id.stream].messages.name_hash(), id.number};
}

MessageStream* LaneCore::StreamOf(const MessageId& id) {
  const bool is_here = phase_ == LanePhase::kLive && id.partition == partition_ &&
                       id.life == origin_.life && id.stream < streams_.size();
  return is_here ? &streams_[id.stream].messages : nullptr;
}

}  // namespace pleat::inline v0_1
