// An Intake feeds the same events to several collections of an engine, so that they agree; and puts
// events in order that come out of order, within a bound.
//
//   struct Play {
//     std::string user;
//     int64_t seconds = 0;
//     template <class F> void Stored(F& f) { f(user, seconds); }   // for a bound; see stored.h
//   };
//   pleat::Intake<Play> intake(*engine, {.reorder = 10s});
//   intake.Feed(sessions);                                         // a Folder<Play, ...>
//   intake.Feed(plays, [](const pleat::KeyedEvent<Play>& each) {   // a RollupCounter
//     return pleat::KeyedEvent<pleat::CounterEvent>{each.key, each.at, {1}};
//   });
//   intake.Push(batch);
//   ...
//   intake.TakeWaiting();                                          // the end of the input
//
// Why: on event time an engine has one watermark. A batch that was folded into one collection has
// moved it past the events, and a second collection that is handed the same batch finds them late.
// An intake gives each piece of up to 256 events to all of its collections, with the times that the
// events carry, and moves the engine's time when the last one has the piece. So the result is that
// of pushing one event after the other, whatever the size of a batch; and other threads that call
// Pop(), or read, see the time before the piece until all collections have it.
//
// With a bound (IntakeOptions::reorder) an event waits until the newest stamp less the bound has
// reached its own, and goes on in the order of (stamp, arrival): if the input is out of order by no
// more than the bound, all collections are as if it had been sorted. An event that is older than
// that goes on at once, and the collections' rules for late events hold. docs/semantics.md has the
// rules.
//
// Snapshots have the events that wait. They are written some at a time, while others are pushed;
// until that is done, the memory of those that waited at the cut is kept. To restore one, make the
// intake with the same bound, Feed() it, restore, and then push events. When the engine is stopped,
// what waits stays as it is, for a snapshot. The end of the intake drops what waits: call
// TakeWaiting() before.
//
// Thread safety: counts() on any thread, any time; all else by one thread at a time. The
// collections are for any thread, as ever.
// REQUIRES: nobody else feeds the collections, nor moves the engine's time past the watermark:
// Advance() of the intake takes the place of the engine's.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include <absl/status/statusor.h>
#include <pleat/batch.h>
#include <pleat/detail/intake_target.h>
#include <pleat/engine.h>
#include <pleat/time.h>
#include <pleat/untyped/any_batch.h>
#include <pleat/untyped/any_intake.h>

namespace pleat::inline v0_1 {

template <class Event>
class Intake {
 public:
  // Without a bound. Errors: kAlreadyExists if the engine has an intake; kFailedPrecondition if the
  // engine is gone.
  static absl::StatusOr<Intake> Open(Engine& engine) { return Made(AnyIntake::Open(engine, {})); }
  // With a bound. Events have to be stored while they wait: integers, std::string and the like, and
  // types with Stored() (stored.h). Errors: also kInvalidArgument for an option out of range.
  static absl::StatusOr<Intake> Open(Engine& engine, const IntakeOptions& options) {
    return Made(AnyIntake::Open(engine, options, AnyBatch::Of(std::span<const KeyedEvent<Event>>()),
                                detail::WaitingOpsFor<Event>()));
  }
  // The same for options known to be right: an error ends the program, and prints why.
  explicit Intake(Engine& engine) noexcept : Intake(OrEnd(Open(engine))) {}
  Intake(Engine& engine, const IntakeOptions& options) noexcept
      : Intake(OrEnd(Open(engine, options))) {}

  // From now on `collection`, a Folder, a LiveSet or a RollupCounter, gets the events; it comes
  // behind those that were fed before. `on_outcome(keyed_event, outcome)`, if given, is called for
  // each event with the collection's answer, when all collections have the piece; it may call
  // engines, and not the intake.
  // REQUIRES: a collection of the same engine, once; no event was pushed yet.
  template <class Collection>
    requires std::same_as<typename Collection::IntakeEvent, Event>
  void Feed(const Collection& collection,
            detail::OnOutcome<Event, Collection> on_outcome = nullptr) {
    Feed(collection, std::identity(), std::move(on_outcome));
  }
  // The same for a collection whose events are others, or have other keys. `map(keyed_event)` gives
  // that event, as a KeyedEvent or an optional one, whose stamp is ignored. Its views refer to the
  // intake's event, or to what lasts until the call of the intake returns.
  // REQUIRES: `map` does not throw, nor calls an engine.
  template <class Collection, class Map>
    requires std::invocable<Map&, const KeyedEvent<Event>&>
  void Feed(const Collection& collection, Map map,
            detail::OnOutcome<Event, Collection> on_outcome = nullptr) {
    detail::Join(collection, intake_,
                 std::make_unique<detail::MappedTarget<Event, Collection, Map>>(
                     std::move(map), std::move(on_outcome)));
  }

  // Takes events, in pieces of up to 256. Each moves the engine's time to its stamp when it goes
  // on, also one that no collection takes, unless it is further ahead than the engine's future
  // limit.
  // With `position`, see batch.h, the batch has a place in a source that can be read again: events
  // that the collections have had are left out, and the positions of all move on, as
  // Engine::SourcePositionOf() tells. A collection that is new begins where the others stand.
  // REQUIRES: the others stand at one place of the source, in all partitions.
  // False from inside a fold function or a map; then nothing has changed.
  bool Push(std::span<const KeyedEvent<Event>> events,
            std::optional<SourcePosition> position = {}) noexcept {
    return intake_.Push(AnyBatch::Of(events), position);
  }
  bool Push(std::string_view key, const Event& event, EngineTime at) noexcept
    requires std::copy_constructible<Event>
  {
    const KeyedEvent<Event> one{key, at, event};
    return Push(std::span(&one, 1));
  }

  // No event older than `now` is waited for any more: those up to `now` go on, and the engine's
  // time moves to `now`, as by Engine::Advance(). For a source that may be idle: the clock less the
  // bound.
  bool Advance(EngineTime now) noexcept { return intake_.Advance(now); }

  // The end of the input: all events that wait go on, and time moves to the newest stamp.
  bool TakeWaiting() noexcept { return intake_.TakeWaiting(); }

  // The stamp of the oldest event that waits. O(events that wait, in one piece of a thousand).
  std::optional<EngineTime> next_waiting() const noexcept { return intake_.next_waiting(); }
  IntakeCounts counts() const noexcept { return intake_.counts(); }

 private:
  explicit Intake(AnyIntake intake) noexcept : intake_(std::move(intake)) {}

  static absl::StatusOr<Intake> Made(absl::StatusOr<AnyIntake> intake) {
    if (!intake.ok()) return intake.status();
    return Intake(*std::move(intake));
  }
  static AnyIntake OrEnd(absl::StatusOr<Intake> intake) noexcept {
    if (!intake.ok()) AnyIntake::OpenFailed(intake.status());
    return std::move(intake->intake_);
  }

  AnyIntake intake_;
};

}  // namespace pleat::inline v0_1
