// A JsonIntake gives lines of JSON to several collections of one engine, which agree.
//
//   auto engine = *pleat::Engine::Open(pleat::EngineOptionsFor(visits.event));
//   auto intake = *pleat::JsonIntake::Open(*engine, visits.event);
//   auto folder = *pleat::JsonFolder::Open(*intake, "visits", visits);      // a FoldSpec
//   auto counter = *pleat::JsonRollup::Open(*intake, "by the hour", hours);  // a RollupSpec
//   intake->Push(text, arrival, on_unusual);                                // whole lines
//   ...
//   intake->TakeWaiting(on_unusual);                                        // the end of the input
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
// Snapshots have the lines that wait. To restore one, open the intake and the collections, restore,
// and then push lines.
#pragma once

#include <functional>
#include <memory>
#include <optional>
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

// Thread safety: counts() on any thread, any time; all else by one thread at a time. The
// collections are for any thread, as ever, but for the calls that give them lines: those end the
// program, as the intake takes their place.
// Ownership: borrows the engine, which must outlive it. It keeps its collections going, also when
// their handles are gone. Its end drops the lines that wait: call TakeWaiting() before.
class PLEAT_EXPORT JsonIntake {
 public:
  // `spec` is that of one of the collections; the others agree with it as said above. Of this one
  // `max_waiting_bytes` holds.
  // REQUIRES: the engine was opened with EngineOptionsFor(spec), or with options that agree with it
  // in axis, watermark delay and future limit.
  // Errors: kInvalidArgument, naming the option, if the spec is not valid; kAlreadyExists if the
  // engine has an intake, or a collection whose lines wait.
  static absl::StatusOr<std::unique_ptr<JsonIntake>> Open(Engine& engine, const EventSpec& spec);
  ~JsonIntake();
  JsonIntake(const JsonIntake&) = delete;
  JsonIntake& operator=(const JsonIntake&) = delete;

  // Told of each unusual line (json_lines.h), and of the collection for which it is that: first in
  // the order of turns, then in that in which the collections were opened. It may call the engine
  // and the collections, and not the intake. Returns whether to go on.
  using OnUnusual = absl::FunctionRef<bool(const UnusualLine& line, std::string_view collection)>;

  // Takes the lines of `text`, as JsonFolder::FoldLines() does. If `on_unusual` returns false,
  // nothing behind a line that is invalid for a collection is taken; behind another unusual one a
  // few more lines may have been taken.
  // False from inside a function that the engine calls under a lock; then nothing has changed.
  // REQUIRES: kLinePaddingBytes readable bytes follow the text.
  bool Push(std::string_view text, EngineTime arrival, OnUnusual on_unusual);

  // No line older than `now` is waited for any more: those up to `now` are taken, and the engine's
  // time moves to `now`. For a source that may be idle: the clock less the bound.
  bool Advance(EngineTime now, OnUnusual on_unusual);

  // The end of the input: all lines that wait are taken, and time moves to the newest stamp.
  bool TakeWaiting(OnUnusual on_unusual);

  // The smallest stamp of a line that waits.
  std::optional<EngineTime> next_waiting() const;

  // `on_taken` is called during the calls above whenever a few lines were taken, at most 256: a
  // chance to pop what they have closed.
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
