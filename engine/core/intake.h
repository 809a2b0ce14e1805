// IntakeCore stands behind an intake: it gives pieces of up to 256 events to all of its collections,
// each with the same times.
//
// A piece goes through the engine's gate as one: a snapshot has it in all collections, or in none. Of
// events that wait, the coming is one piece and the taking another; between the two a snapshot finds
// them among those that wait. Answers are told when the gate is behind the piece, so that a caller may
// call the engine from there.
//
// Thread safety: that of AnyIntake.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include <pleat/batch.h>
#include <pleat/time.h>
#include <pleat/untyped/any_batch.h>
#include <pleat/untyped/any_intake.h>

#include "engine/base/check.h"
#include "engine/base/counter.h"
#include "engine/base/inside.h"
#include "engine/core/collection.h"
#include "engine/core/engine_core.h"
#include "engine/core/timed_piece.h"
#include "engine/core/waiting_events.h"

namespace pleat::inline v0_1 {

class IntakeCore {
 public:
  // `waiting` is null without a bound.
  IntakeCore(std::shared_ptr<EngineCore> engine, std::shared_ptr<WaitingEvents> waiting,
             bool stamps_move_time)
      : engine_(std::move(engine)),
        waiting_(std::move(waiting)),
        stamps_move_time_(stamps_move_time || engine_->timeline().axis() == Axis::kEvent) {
    if (waiting_ != nullptr) slots_ = waiting_->NewSlots(kEventsMax);
  }
  ~IntakeCore();
  IntakeCore(const IntakeCore&) = delete;
  IntakeCore& operator=(const IntakeCore&) = delete;

  // Gives a collection its events.
  using TakePiece = void (*)(Collection& collection, const TimedPiece& piece, uint8_t* outcomes);
  void Feed(const std::shared_ptr<EngineCore>& engine, std::shared_ptr<Collection> collection,
            TakePiece take, std::unique_ptr<IntakeTarget> target);
  bool Push(const AnyBatch& batch, std::optional<SourcePosition> position);
  bool PushControl(const AnyBatch& event);
  bool Advance(EngineTime now);
  bool TakeWaiting();
  std::optional<EngineTime> next_waiting() const {
    return waiting_ == nullptr ? std::nullopt : waiting_->stage().next();
  }
  IntakeCounts counts() const noexcept;

 private:
  static constexpr size_t kEventsMax = BatchPlan::kEventsMax;
  using Controls = ReorderStage::Controls;

  // A collection, and the events of the piece that it takes.
  struct Fed {
    std::shared_ptr<Collection> collection;
    TakePiece take;
    std::unique_ptr<IntakeTarget> target;
    size_t size = 0;
    std::array<uint16_t, kEventsMax> places;  // in the piece, of each event
    std::array<uint8_t, kEventsMax> outcomes;
  };
  // Why an event that comes cannot simply wait.
  enum class Stop : uint8_t { kNone, kEngine, kFuture, kMissed, kNoPlace, kOverLimit };

  // One call of the program's: not from inside another one, nor from an answer.
  template <class Act>
  bool Calling(const Act& act) {
    if (Call::WouldBeNested()) return false;
    if (std::exchange(busy_, true)) Fail("an intake was called from an answer of its own");
    act();
    busy_ = false;
    return true;
  }
  // A piece of work that a snapshot has as a whole, or not at all.
  template <class Work>
  void InOnePiece(const Work& work) {
    const Gate::Pass pass(engine_->gate());
    const Call call;
    work();
  }
  // The same for work that gives the collections a piece, and returns whether that is a control event,
  // which they act on unless the engine was stopped.
  template <class Work>
  void InOnePieceWithActs(const Work& work) {
    const Gate::Pass pass(engine_->gate());
    if (!MadeAsCall(work) || engine_->stopped()) return;
    for (const auto& each : fed_) each->target->Act(beyond_[0]);
  }
  template <class Work>
  static bool MadeAsCall(const Work& work) {
    const Call call;
    return work();
  }

  void CheckPositions(uint64_t source);
  size_t CountReplayed(const AnyBatch& batch, const SourcePosition& position) const;
  void PushPieces(AnyBatch batch, bool is_control, std::optional<SourcePosition>& position);
  void MovePositions(std::optional<SourcePosition>& position, size_t events);

  void PushInOrder(const AnyBatch& piece, bool is_control, std::optional<SourcePosition>& position);
  size_t PutSome(const AnyBatch& piece, bool is_control, std::optional<SourcePosition>& position);
  Stop PutOne(std::string_view key, const void* event, EngineTime at, bool is_control);
  void GiveAlone(const AnyBatch& one, bool is_control, Stop why,
                 std::optional<SourcePosition>& position);
  void TakeDue();
  void TakeOverLimit();
  template <class Next>
  size_t GiveWaiting(const Next& next);

  void Give(const AnyBatch& piece, EngineTime now);
  void Answer(const AnyBatch& piece);

  void* Slot(size_t i) noexcept {
    return static_cast<std::byte*>(slots_) + i * waiting_->layout().stride;
  }

  const std::shared_ptr<EngineCore> engine_;
  const std::shared_ptr<WaitingEvents> waiting_;
  const bool stamps_move_time_;
  std::vector<std::unique_ptr<Fed>> fed_;
  std::vector<uint64_t> sources_;  // whose positions were checked
  bool busy_ = false;
  Counter events_;
  Counter replayed_;
  Counter futures_;

  // Of the piece: the engine's time with each event, and whether it is beyond the future limit.
  std::array<EngineTime, kEventsMax> times_;
  std::array<bool, kEventsMax> beyond_;
  // The same for the events that one of the collections takes.
  std::array<EngineTime, kEventsMax> own_times_;
  std::array<bool, kEventsMax> own_beyond_;
  void* slots_ = nullptr;  // for events that have waited
};

}  // namespace pleat::inline v0_1
