// IntakeCore, and AnyIntake, the handle.
#include "engine/core/intake.h"

#include <algorithm>

#include "engine/base/concat.h"
#include "engine/core/opening.h"

namespace pleat::inline v0_1 {

IntakeCore::~IntakeCore() {
  if (waiting_ != nullptr) waiting_->FreeSlots(slots_);
  engine_->EndIntake();
}

// --- The collections

void IntakeCore::Feed(const std::shared_ptr<EngineCore>& engine,
                      std::shared_ptr<Collection> collection, TakePiece take,
                      std::unique_ptr<IntakeTarget> target) {
  if (engine != engine_) Fail("Feed(): a collection of another engine");
  if (events_.value() > 0) Fail("Feed(): after the first event");
  for (const auto& each : fed_) {
    if (each->collection == collection) {
      Fail(Concat("Feed(): \"", collection->name(), "\" is fed already"));
    }
  }
  fed_.push_back(std::make_unique<Fed>(
      Fed{.collection = std::move(collection), .take = take, .target = std::move(target)}));
}

// Collections that have had events of a source stand at one place of it: an event behind it would be lost
// to some, or come twice to others. Those that never had one begin there.
void IntakeCore::CheckPositions(uint64_t source) {
  if (std::ranges::find(sources_, source) != sources_.end()) return;
  sources_.push_back(source);
  std::optional<uint64_t> place;
  for (const auto& each : fed_) {
    const SourcePositions& positions = each->collection->source_positions();
    if (!positions.Knows(source)) continue;
    for (int i = 0; i < engine_->partition_count(); ++i) {
      const uint64_t own = positions.Of(source, static_cast<size_t>(i));
      if (own != place.value_or(own)) {
        Fail(Concat("Push(): \"", each->collection->name(), "\" stands at ", own, " of source ",
                    source, ", and others at ", *place,
                    ": bring them to one place by batches of their own"));
      }
      place = own;
    }
  }
}

// How many events at the front of `batch` the collections have had.
size_t IntakeCore::CountReplayed(const AnyBatch& batch, const SourcePosition& position) const {
  uint64_t taken = 0;
  for (const auto& each : fed_) {
    taken = std::max(taken, each->collection->source_positions().Of(position.source, 0));
  }
  if (taken <= position.offset) return 0;
  return static_cast<size_t>(std::min<uint64_t>(taken - position.offset, batch.size));
}

void IntakeCore::MovePositions(std::optional<SourcePosition>& position, size_t events) {
  if (!position) return;
  position->offset += events;
  const PartitionRange all{0, engine_->partition_count()};
  for (const auto& each : fed_) {
    each->collection->source_positions().Advance(position->source, all, position->offset);
  }
}

// --- Events in

bool IntakeCore::Push(const AnyBatch& batch, std::optional<SourcePosition> position) {
  return Calling([&] {
    AnyBatch rest = batch;
    events_.Add(rest.size);
    if (position) {
      CheckPositions(position->source);
      const size_t replayed = CountReplayed(rest, *position);
      replayed_.Add(replayed);
      position->offset += replayed;
      rest.RemovePrefix(replayed);
    }
    PushPieces(rest, /*is_control=*/false, position);
  });
}

bool IntakeCore::PushControl(const AnyBatch& event) {
  PLEAT_DCHECK(event.size == 1);
  return Calling([&] {
    events_.Add(1);
    std::optional<SourcePosition> nowhere;
    PushPieces(event, /*is_control=*/true, nowhere);
  });
}

void IntakeCore::PushPieces(AnyBatch batch, bool is_control,
                            std::optional<SourcePosition>& position) {
  while (batch.size > 0) {
    AnyBatch piece = batch;
    piece.size = std::min(batch.size, kEventsMax);
    if (waiting_ == nullptr) {
      PushInOrder(piece, is_control, position);
    } else {
      piece.size = PutSome(piece, is_control, position);
    }
    batch.RemovePrefix(piece.size);
  }
}

void IntakeCore::PushInOrder(const AnyBatch& piece, bool is_control,
                             std::optional<SourcePosition>& position) {
  InOnePieceWithActs([&] {
    Timeline::Carried time(engine_->timeline(), stamps_move_time_);
    for (size_t i = 0; i < piece.size; ++i) {
      EngineTime at = piece.AtOf(i);
      beyond_[i] = !time.Observe(at);
      times_[i] = time.now();
      futures_.Add(beyond_[i]);
    }
    Give(piece, time.now());
    if (!engine_->stopped()) MovePositions(position, piece.size);
    return is_control;
  });
  Answer(piece);
}

// Puts events into the stage, and takes what is due by then. Returns how many of `piece` were worked on:
// all, or those up to one that cannot wait.
size_t IntakeCore::PutSome(const AnyBatch& piece, bool is_control,
                           std::optional<SourcePosition>& position) {
  Stop stop = Stop::kNone;
  size_t put = 0;
  InOnePiece([&] {
    if (engine_->stopped()) {
      stop = Stop::kEngine;
      return;
    }
    waiting_->stage().NoteTime(engine_->timeline().now());
    while (put < piece.size) {
      stop = PutOne(piece.KeyOf(put), piece.EventOf(put), Clamp(piece.AtOf(put)), is_control);
      if (stop == Stop::kNone || stop == Stop::kOverLimit) ++put;
      if (stop != Stop::kNone) break;
    }
    MovePositions(position, put);
  });
  if (stop == Stop::kEngine) {
    PushInOrder(piece, is_control, position);  // the collections answer kStopped
    return piece.size;
  }
  TakeDue();
  if (stop == Stop::kOverLimit) TakeOverLimit();
  if (stop != Stop::kFuture && stop != Stop::kMissed) return put;
  AnyBatch one = piece;
  one.RemovePrefix(put);
  one.size = 1;
  GiveAlone(one, is_control, stop, position);
  return put + 1;
}

IntakeCore::Stop IntakeCore::PutOne(std::string_view key, const void* event, EngineTime at,
                                    bool is_control) {
  ReorderStage& stage = waiting_->stage();
  if (stage.IsTooFarAhead(at)) return Stop::kFuture;
  stage.NoteStamp(at);
  if (at < stage.passed()) return Stop::kMissed;
  if (!stage.HasPlaceFor(at)) return Stop::kNoPlace;
  waiting_->Put(key, event, at, is_control);
  return stage.is_over_limit() ? Stop::kOverLimit : Stop::kNone;
}

// An event that does not wait: it is beyond the future limit, or has missed its turn. Time has moved on
// to the watermark.
void IntakeCore::GiveAlone(const AnyBatch& one, bool is_control, Stop why,
                           std::optional<SourcePosition>& position) {
  InOnePieceWithActs([&] {
    const EngineTime now = engine_->timeline().now();
    beyond_[0] = why == Stop::kFuture;
    times_[0] = now;
    futures_.Add(beyond_[0]);
    waiting_->stage().CountArrived(1);
    Give(one, times_[0]);
    if (!engine_->stopped()) MovePositions(position, 1);
    return is_control;
  });
  Answer(one);
}

// --- Events out

// Time moves on to the watermark behind the events.
void IntakeCore::TakeDue() {
  ReorderStage& stage = waiting_->stage();
  while (GiveWaiting([&](Controls controls) { return stage.TakeDue(controls); }) > 0) {
  }
  InOnePiece([&] {
    if (!engine_->stopped()) engine_->timeline().Raise(stage.watermark());
  });
}

void IntakeCore::TakeOverLimit() {
  ReorderStage& stage = waiting_->stage();
  while (GiveWaiting([&](Controls controls) { return stage.TakeOverLimit(controls); }) > 0) {
  }
}

// Gives the collections up to kEventsMax events that `next` takes from the stage, or one control event.
// Returns how many.
template <class Next>
size_t IntakeCore::GiveWaiting(const Next& next) {
  AnyBatch piece = waiting_->layout();
  piece.first = slots_;
  piece.size = 0;
  bool is_control = false;
  InOnePieceWithActs([&] {
    if (engine_->stopped()) return false;  // they stay
    EngineTime now = engine_->timeline().now();
    while (piece.size < kEventsMax) {
      const WaitingEvent* const event = next(piece.size == 0 ? Controls::kTaken : Controls::kLeft);
      if (event == nullptr) break;
      waiting_->Read(*event, Slot(piece.size));
      now = std::max(now, event->at);
      times_[piece.size] = now;
      beyond_[piece.size] = false;
      ++piece.size;
      is_control = event->is_control;
      if (is_control) break;
    }
    if (piece.size > 0) Give(piece, now);
    return is_control;
  });
  if (piece.size == 0) return 0;
  Answer(piece);
  for (size_t i = 0; i < piece.size; ++i) waiting_->Destroy(Slot(i));
  InOnePiece([&] { waiting_->stage().FreeTaken(); });  // it may move events that a snapshot reads
  return piece.size;
}

// Gives all collections the piece, with times_ and beyond_; then the engine's time is `now`.
void IntakeCore::Give(const AnyBatch& piece, EngineTime now) {
  for (const auto& each : fed_) {
    const AnyBatch mapped = each->target->Map(piece, each->places);
    each->size = mapped.size;
    if (mapped.size == 0) continue;
    // Of a collection that takes them all, event i is the piece's.
    const bool takes_all = mapped.size == piece.size;
    for (size_t i = 0; i < mapped.size && !takes_all; ++i) {
      own_times_[i] = times_[each->places[i]];
      own_beyond_[i] = beyond_[each->places[i]];
    }
    each->take(*each->collection,
               {.events = mapped,
                .times = takes_all ? times_.data() : own_times_.data(),
                .futures = takes_all ? beyond_.data() : own_beyond_.data()},
               each->outcomes.data());
  }
  if (stamps_move_time_ && !engine_->stopped()) engine_->timeline().Raise(now);
}

void IntakeCore::Answer(const AnyBatch& piece) {
  for (const auto& each : fed_) {
    each->target->Answer(piece, std::span(each->places).first(each->size),
                         std::span(each->outcomes).first(each->size));
  }
}

// Once the engine was stopped, events that wait stay for a snapshot. So does time, which would be ahead of
// them after a restart.
bool IntakeCore::Advance(EngineTime now) {
  return Calling([&] {
    const EngineTime to = Clamp(now);
    if (waiting_ != nullptr) {
      if (engine_->stopped()) return;
      InOnePiece([&] { waiting_->stage().Advance(to); });
      TakeDue();
    }
    if (!engine_->MoveTime(to)) engine_->CloseDue(SIZE_MAX);
  });
}

bool IntakeCore::TakeWaiting() {
  return Calling([&] {
    if (waiting_ == nullptr || engine_->stopped()) return;
    InOnePiece([&] { waiting_->stage().ReachNewest(); });
    TakeDue();
  });
}

IntakeCounts IntakeCore::counts() const noexcept {
  IntakeCounts counts{
      .events = events_.value(), .replayed = replayed_.value(), .future = futures_.value()};
  if (waiting_ == nullptr) return counts;
  counts.waiting = waiting_->stage().waiting();
  counts.released_early = waiting_->stage().taken_early();
  return counts;
}

// --- The handle

namespace {

absl::Status Check(const IntakeOptions& options, const StateOps& ops, const Timeline& timeline) {
  if (options.reorder < Duration{0}) return OutOfRange("reorder", "zero or more");
  if (options.future_limit < Duration{0}) return OutOfRange("future_limit", "zero or more");
  if (options.reorder == Duration{0}) return absl::OkStatus();
  if (timeline.axis() == Axis::kArrival) return OutOfRange("reorder", "zero on arrival time");
  if (timeline.watermark_delay() > Duration{0}) {
    return OutOfRange("reorder", "zero with a watermark delay, which it makes needless");
  }
  if (ops.destroy == nullptr || ops.save == nullptr || ops.load == nullptr ||
      ops.shape == nullptr) {
    return OutOfRange("destroy, save, load and shape of events that wait", "given");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<AnyIntake> AnyIntake::Open(Engine& engine, const IntakeOptions& options,
                                          const AnyBatch& layout, const StateOps& ops,
                                          std::shared_ptr<void> context_owner) {
  if (Call::WouldBeNested()) {
    return absl::FailedPreconditionError("Open() from inside another call");
  }
  const std::shared_ptr<EngineCore>& core = EngineAccess::CoreOf(engine);
  const Timeline& timeline = core->timeline();
  if (absl::Status status = Check(options, ops, timeline); !status.ok()) return status;
  if (core->closed()) return absl::FailedPreconditionError("the engine is gone");
  std::shared_ptr<WaitingEvents> waiting;
  if (options.reorder > Duration{0}) {
    const Duration future_limit = std::min(options.future_limit, timeline.future_limit());
    waiting = std::make_shared<WaitingEvents>(options, future_limit, layout, ops,
                                              std::move(context_owner));
  }
  if (!core->BeginIntake(waiting)) return absl::AlreadyExistsError("the engine has an intake");
  return AnyIntake(
      std::make_unique<IntakeCore>(core, std::move(waiting), options.stamps_move_time));
}

void AnyIntake::OpenFailed(const absl::Status& why) noexcept {
  Fail(Concat("intake: ", std::string_view(why.message().data(), why.message().size())));
}

AnyIntake::AnyIntake(std::unique_ptr<IntakeCore> core) noexcept : core_(std::move(core)) {}
AnyIntake::AnyIntake(AnyIntake&& other) noexcept = default;
AnyIntake& AnyIntake::operator=(AnyIntake&& other) noexcept = default;
AnyIntake::~AnyIntake() = default;

bool AnyIntake::Push(const AnyBatch& batch, std::optional<SourcePosition> position) noexcept {
  return core_->Push(batch, position);
}
bool AnyIntake::WouldBeNested() noexcept { return Call::WouldBeNested(); }
bool AnyIntake::PushControl(const AnyBatch& event) noexcept { return core_->PushControl(event); }
bool AnyIntake::Advance(EngineTime now) noexcept { return core_->Advance(now); }
bool AnyIntake::TakeWaiting() noexcept { return core_->TakeWaiting(); }
std::optional<EngineTime> AnyIntake::next_waiting() const noexcept { return core_->next_waiting(); }
IntakeCounts AnyIntake::counts() const noexcept { return core_->counts(); }

}  // namespace pleat::inline v0_1
