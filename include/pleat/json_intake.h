// A JsonIntake gives lines of JSON to several collections of one engine, which agree.
//
//   auto engine = *pleat::Engine::Open(pleat::EngineOptionsFor(visits.event));
//   auto intake = *pleat::JsonIntake::Open(*engine, visits.event);
//   auto folder = *pleat::JsonFolder::Open(*intake, "visits", visits);      // a FoldSpec
//   auto counter = *pleat::JsonRollup::Open(*intake, "by the hour", hours);  // a RollupSpec
//   const auto tell = [](const pleat::UnusualLine& line, std::string_view collection) {
//     return Report(collection, line.result.reason);
//   };
//   intake->Push(text, arrival, tell);  // whole lines, with kLinePaddingBytes behind them
//   ...
//   intake->TakeWaiting(tell);          // the end of the input
//   folder->Pop(100, out);
//
// On event time an engine has one watermark. Lines that were folded into one collection have moved
// it past them, and a second collection that gets the same lines finds them late. An intake gives
// the lines to all collections, a few at a time, and then moves time. So the result is that of
// giving each line to one collection after the other, however the lines are cut into texts. With
// EventSpec::reorder lines wait in the intake until their turn has come, for all collections.
//
// Each collection reads a line by its own spec: the line may be an event for one, excluded by
// another and invalid for a third. Where the specs say how time is read and how far lines may be
// out of order, they agree: `time`, `time_unit`, `time_zone`, `time_format`, `reorder` and
// `future_limit`.
//
// Snapshots have the lines that wait. Take them between two calls of Push(): one that is taken
// meanwhile has each line in all collections or in none, but nobody knows which. To restore one,
// open the intake and the collections, restore, and then push lines. When the engine is stopped,
// what waits stays as it is, for a snapshot.
//
// What is otherwise with a collection that an intake feeds:
// - Calls that give it lines, Advance() and TakeWaiting() end the program, and so does
//   JsonLiveSet::SetOnTime(). Its SetOnTaken(), next_waiting() and counts().waiting know of no
//   line: those of the intake do.
// - Events come up to 256 at a time. A rollup counter may refuse other events than alone if so many
//   can fill half of its `max_bytes`: windows that wait count until the next look.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include <absl/functional/function_ref.h>
#include <absl/status/statusor.h>
#include <pleat/detail/export.h>
#include <pleat/engine.h>
#include <pleat/json_lines.h>
#include <pleat/time.h>
#include <pleat/untyped/any_intake.h>

namespace pleat::inline v0_1 {

class LineIntake;

// Thread safety: counts() on any thread, any time; all else by one thread at a time. Collections
// are used as ever meanwhile; what is said there of the thread that adds lines goes for this one.
// Ownership: borrows the engine, which must outlive it. It keeps its collections going, also when
// their handles are gone. Its end drops the lines that wait: call TakeWaiting() before. Nobody can
// give lines to its collections afterwards.
// REQUIRES: nobody moves the engine's time past the lines that wait: Advance() takes the place of
// the engine's.
class PLEAT_EXPORT JsonIntake {
 public:
  // `spec` is that of one of the collections; the others agree with it as said above. Of this one
  // `max_waiting_bytes` holds.
  // REQUIRES: the engine was opened with EngineOptionsFor(spec), or with options that agree with it
  // in axis, watermark delay and future limit.
  // Errors: kInvalidArgument, naming the option, if the spec is not valid; kAlreadyExists if the
  // engine has an intake, or a collection whose lines wait; kFailedPrecondition if the engine is
  // gone, or from inside a function that it calls.
  static absl::StatusOr<std::unique_ptr<JsonIntake>> Open(Engine& engine, const EventSpec& spec);
  ~JsonIntake();
  JsonIntake(const JsonIntake&) = delete;
  JsonIntake& operator=(const JsonIntake&) = delete;

  // Told of each unusual line (json_lines.h), and of the collection for which it is that. A line
  // that is invalid as it stands is told when it comes, others when they are taken; of one line
  // that goes by the order in which the collections were opened. UnusualLine::index is of the text;
  // of a line that has waited below zero, and after a restore -1 is the last one that waited. The
  // function may call the engine and the collections, and not the intake; it does not throw.
  // Returns whether to go on.
  using OnUnusual = absl::FunctionRef<bool(const UnusualLine& line, std::string_view collection)>;

  // Takes the lines of `text`, as JsonFolder::FoldLines() does. If `on_unusual` returns false,
  // nothing behind a line that is invalid for a collection is taken; behind another unusual one a
  // few more lines may have been taken.
  // On arrival time the engine's time moves to `arrival`, as it does to stamps on event time.
  // False from inside a function that the engine calls under a lock; then nothing has changed.
  // REQUIRES: kLinePaddingBytes readable bytes follow the text; there is a collection.
  bool Push(std::string_view text, EngineTime arrival, OnUnusual on_unusual) noexcept;

  // The same of lines that came one after the other, as those of a log: line i at arrivals[i].
  // REQUIRES: also a time for each line, none before the one of the line before.
  bool Push(std::string_view text, std::span<const EngineTime> arrivals,
            OnUnusual on_unusual) noexcept;

  // No line older than `now` is waited for any more: those up to `now` are taken, and the engine's
  // time moves to `now`. For a source that may be idle: the clock less the bound.
  bool Advance(EngineTime now, OnUnusual on_unusual) noexcept;

  // The end of the input: all lines that wait are taken, and time moves to the newest stamp.
  bool TakeWaiting(OnUnusual on_unusual) noexcept;

  // The smallest stamp of a line that waits.
  std::optional<EngineTime> next_waiting() const;

  // `on_taken` is called during the calls above whenever a few lines were taken, at most 256: a
  // chance to pop what they have closed. It may do what `on_unusual` may.
  void SetOnTaken(std::function<void()> on_taken);

  // Counts lines that are an event or a control line for some collection. A line that waits is part
  // of the counts of the collections when it is taken.
  IntakeCounts counts() const noexcept;

  // For the collections.
  LineIntake& core() noexcept { return *core_; }

 private:
  explicit JsonIntake(std::unique_ptr<LineIntake> core);
  std::unique_ptr<LineIntake> core_;
};

}  // namespace pleat::inline v0_1
