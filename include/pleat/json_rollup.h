// JsonRollup: newline-delimited JSON in, final windows out, as lines of JSON.
//
// A JsonRollup is a RollupCounter (rollup.h) in an Engine whose events are lines of text, as a
// RollupSpec says.
//
//   pleat::RollupSpec spec;
//   spec.event.key = {{.name = "page", .path = "page"}};
//   spec.event.time = "at";
//   spec.value = "bytes";
//   spec.rollup.windows = {1min};
//   spec.rollup.allowed_lateness = 10s;
//   auto engine = *pleat::Engine::Open(pleat::EngineOptionsFor(spec.event));
//   auto rollup = *pleat::JsonRollup::Open(*engine, "bytes", spec);
//   rollup->Add(lines, SIZE_MAX, now, [](const pleat::UnusualLine& line) { return Report(line); });
//   rollup->Pop(SIZE_MAX, [](std::string_view lines) { Write(lines); });
//
// A line that comes out:
//
//   {"page":"Main","start":T,"end":T,"count":9,"sum":120,"reason":"final"}
//
// json_lines.h says which lines are valid, and how several threads read lines.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <pleat/detail/export.h>
#include <pleat/engine.h>
#include <pleat/json_lines.h>
#include <pleat/rollup_options.h>
#include <pleat/time.h>

namespace pleat::inline v0_1 {

// Among RollupSpec::rollup.windows: windows that are the months of the calendar. It is no length,
// but the mean of theirs.
inline constexpr Duration kMonth = std::chrono::seconds(2'629'746);

// The flags of `pleat rollup` as plain data.
struct RollupSpec {
  EventSpec event;

  // The path of the number that an event adds, also in quotes. A value that is absent, null or no
  // number adds nothing, and the event counts; a window without a number has the sum null. Empty:
  // events are counted, and lines have no sum.
  std::string value;

  // The path of the id that tells the event from the others of its key: a scalar, without which a
  // line is invalid. Empty: events have no ids, and a retry counts again.
  std::string id;

  // Required: windows and allowed_lateness. Windows of whole days are those of the calendar of
  // event.time_zone, or of UTC, whole weeks beginning on Monday; shorter ones are counted from
  // midnight, the last of a day perhaps cut there. `calendar` is set by Open().
  RollupOptions rollup{.forget_after = Duration{0}, .limits = {.max_backlog = SIZE_MAX}};

  // By how much later than at midnight days begin, and later than on Monday or the first, weeks and
  // months. Range: zero or more, below each length of a day or longer, and below 28 days.
  Duration window_offset{0};

  bool emission_id = false;  // add "id" to every line
};

// Whether the spec is complete and consistent: key, windows and allowed lateness given, paths well
// formed, output names distinct and none of them one that every line has. Errors: kInvalidArgument,
// naming the option.
PLEAT_EXPORT absl::Status Validate(const RollupSpec& spec);

// As those of a FoldSpec (json.h). "window" adds to the list, as "key" does.
PLEAT_EXPORT absl::Status SetOption(RollupSpec& spec, std::string_view name, std::string_view text);
PLEAT_EXPORT std::vector<std::pair<std::string, std::string>> OptionsOf(const RollupSpec& spec);

// Thread safety: the calls that add, and Pop(), from one thread at a time; the rest from any.
// Ownership: borrows the engine, which must outlive the JsonRollup and keeps the emissions that
// were not popped.
class PLEAT_EXPORT JsonRollup {
 public:
  using WriteLines = absl::FunctionRef<void(std::string_view lines)>;

  // Creates the collection `name` in the engine, which must have been opened with
  // EngineOptionsFor(spec.event) or options that agree with it in axis, watermark delay and future
  // limit. Errors: as Validate(), and as RollupCounter::Open().
  static absl::StatusOr<std::unique_ptr<JsonRollup>> Open(Engine& engine, std::string_view name,
                                                          const RollupSpec& spec);
  // The same for a collection of the intake's engine that gets its lines by the intake
  // (json_intake.h). Errors: also kInvalidArgument, naming the option, where the spec does not
  // agree with that of the intake; kFailedPrecondition if the intake has had a line.
  static absl::StatusOr<std::unique_ptr<JsonRollup>> Open(JsonIntake& intake, std::string_view name,
                                                          const RollupSpec& spec);
  ~JsonRollup();
  JsonRollup(const JsonRollup&) = delete;
  JsonRollup& operator=(const JsonRollup&) = delete;

  // Adds up to `max` further lines that were read by plan(), as JsonFolder::Fold(). Unusual are
  // lines that are invalid or lack a unit, and events that are late and not counted, over limit or
  // in conflict.
  size_t Add(JsonLines& lines, size_t max, EngineTime arrival, OnUnusualLine on_unusual);

  // Adds one line, as JsonFolder::FoldLine().
  LineResult AddLine(std::string_view line, EngineTime arrival,
                     OnUnusualLine on_unusual = PassUnusualLine);

  // Lines that wait, as those of JsonFolder.
  void Advance(EngineTime now, OnUnusualLine on_unusual);
  void TakeWaiting(OnUnusualLine on_unusual);
  std::optional<EngineTime> next_waiting() const;
  void SetOnTaken(std::function<void()> on_taken);

  // Tells the rollup that later lines come from another input, for StampCounts::behind_input.
  void StartInput() noexcept;

  // Windows that wait count against max_bytes, and the times of Pop() must not decide which events
  // are refused. So before an event that might meet the limit all that waits is set aside, where it
  // does not count, until Pop() comes for it. A function here is called instead, to pop it all.
  // (Of events that come by a JsonIntake: some 256 at a time, if half of max_bytes is in use.)
  void SetOnFull(std::function<void()> on_full);

  // Hands up to `max` emissions to `write`, a line each, some at a time, in the order of
  // RollupCounter::Pop(). Returns their number.
  size_t Pop(size_t max, WriteLines write);

  // The same, each by itself with its key, as JsonFolder::PopEach() does.
  size_t PopEach(size_t max,
                 absl::FunctionRef<void(std::string_view key, std::string_view line)> each);

  // Hands `write` a line with the reason "open" for each open window, in the order in which
  // CloseAll() would close the windows. `write` runs under a partition's lock.
  void Scan(WriteLines write) const;

  // Closes every open window with reason "end".
  void CloseAll() noexcept;

  // The same, and Pop() of all there is, with few emissions waiting at a time: see drain.h.
  // `write` runs under the locks of all partitions. Returns how many emissions there were.
  size_t CloseAndPop(WriteLines write);

  LineCounts counts() const noexcept;
  StampCounts stamps() const noexcept;
  RollupLedger ledger() const noexcept;
  RollupSizes sizes() const noexcept;

  // As JsonFolder's.
  std::vector<OptionPath> absent_paths() const;
  std::vector<OptionPath> asked_paths() const;
  uint64_t saturated() const noexcept;
  const EventPlan& plan() const noexcept;

 private:
  class Impl;
  explicit JsonRollup(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

}  // namespace pleat::inline v0_1
