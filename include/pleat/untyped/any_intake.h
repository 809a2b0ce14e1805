// AnyIntake is an Intake without the type of its events. Intake<Event> wraps it. Adapters whose
// events are laid out at run time use it directly. If you have a struct, you want intake.h.
//
//   pleat::AnyIntake intake = *pleat::AnyIntake::Open(*engine, {.reorder = 1min}, layout, ops);
//   folder.Join(intake, std::move(hits));  // an IntakeTarget
//   counter.Join(intake, std::move(plays));
//   intake.Push(batch, {});
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include <absl/status/statusor.h>
#include <pleat/batch.h>
#include <pleat/detail/export.h>
#include <pleat/engine.h>
#include <pleat/time.h>
#include <pleat/untyped/any_batch.h>
#include <pleat/untyped/state_ops.h>

namespace pleat::inline v0_1 {

class IntakeCore;

struct IntakeOptions {
  // The bound of disorder: how much older than the newest event so far an event may be that comes.
  // Events wait until no older one can come, and then go on in the order of their stamps.
  // Range: zero or more; above zero takes an engine on event time without a watermark delay.
  // Default: zero: events go on as they come.
  Duration reorder{0};

  // The memory for events that wait. An event takes the bytes of its key and of its fields, and 50.
  // Beyond this the oldest go on before their turn (IntakeCounts::released_early), and none is
  // lost. Range: any. Default: 1 GiB.
  size_t max_waiting_bytes = size_t{1} << 30;

  // With a bound: how much further ahead than the newest event so far an event may be; others are
  // answered kFuture. Range: zero or more. Default: as far as EngineOptions::future_limit allows,
  // which holds as well.
  Duration future_limit = kForever;

  // Whether on arrival time a stamp moves the engine's time, as Engine::Advance() before its event
  // would; on event time every stamp does. For a source that hands over events of several instants
  // at once, in their order. Groups that are due then close with the next Advance().
  bool stamps_move_time = false;
};

struct IntakeCounts {
  uint64_t events = 0;          // that were pushed, since the intake was made
  uint64_t replayed = 0;        // of these, by their positions: taken before
  uint64_t future = 0;          // of these, further ahead than EngineOptions::future_limit
  uint64_t waiting = 0;         // now
  uint64_t released_early = 0;  // that went on before their turn; a snapshot keeps this one
};

// What a collection makes of the events of an intake.
class IntakeTarget {
 public:
  virtual ~IntakeTarget() = default;

  // The events of `piece`, at most 256, as the collection takes them, in their order and with their
  // stamps; valid until the next call. Event i of the answer comes from event places[i] of the
  // piece: events may be left out. REQUIRES: does not throw, nor call an engine.
  virtual AnyBatch Map(const AnyBatch& piece, std::span<uint16_t> places) = 0;

  // Called for a control event behind Map(), when all collections have what they made of it and
  // time has moved: does what is no event, such as the flush of a group. A snapshot has all of
  // that, or nothing. If the event is beyond the future limit, there is nothing to do. Not called
  // once the engine was stopped.
  // REQUIRES: does not throw. It may flush, cancel or remove in its collection, and call no engine
  // else.
  virtual void Act(bool /*is_beyond_future*/) {}

  // The outcome of each event of the answer of Map(), when all of the above is done.
  // REQUIRES: does not throw, nor push events. It may call engines.
  virtual void Answer(const AnyBatch& piece, std::span<const uint16_t> places,
                      std::span<const uint8_t> outcomes) = 0;
};

// Thread safety: counts() on any thread, any time; all else by one thread at a time.
// Ownership: keeps the engine's memory alive, and the collections'; not the engine.
class PLEAT_EXPORT AnyIntake {
 public:
  // With a bound, `layout` says where the parts of a KeyedEvent lie, and how far apart two of them
  // are; its `first` and `size` say nothing. `ops` say how an event in it is stored while it waits:
  // size, align, save, load, destroy and shape, with a context that `context_owner` keeps; and with
  // `condition`, if given, whether an event of a snapshot is a control event now. An event takes at
  // most 2 GiB. Without a bound neither is used.
  // Errors: kInvalidArgument for an option out of range, which the message names; kAlreadyExists if
  // the engine has an intake; kFailedPrecondition if the engine is gone.
  static absl::StatusOr<AnyIntake> Open(Engine& engine, const IntakeOptions& options,
                                        const AnyBatch& layout = {}, const StateOps& ops = {},
                                        std::shared_ptr<void> context_owner = nullptr);
  // Prints why there is no intake, and ends the program: for constructors.
  [[noreturn]] static void OpenFailed(const absl::Status& why) noexcept;

  AnyIntake(AnyIntake&& other) noexcept;
  AnyIntake& operator=(AnyIntake&& other) noexcept;
  ~AnyIntake();

  // See Intake for the meaning of all of these. Feed() is the Join() of a collection.
  bool Push(const AnyBatch& batch, std::optional<SourcePosition> position) noexcept;
  // Takes one control event: a piece of its own, as it has an Act().
  bool PushControl(const AnyBatch& event) noexcept;
  bool Advance(EngineTime now) noexcept;
  bool TakeWaiting() noexcept;
  std::optional<EngineTime> next_waiting() const noexcept;
  IntakeCounts counts() const noexcept;

  // Whether this thread is inside a call on an engine, so that the calls above would do nothing.
  static bool WouldBeNested() noexcept;

  IntakeCore& core() noexcept { return *core_; }  // for Join()

 private:
  explicit AnyIntake(std::unique_ptr<IntakeCore> core) noexcept;

  std::unique_ptr<IntakeCore> core_;
};

}  // namespace pleat::inline v0_1
