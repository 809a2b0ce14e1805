// JsonFolder: newline-delimited JSON in, folded newline-delimited JSON out.
//
// A JsonFolder is a collection in an Engine that folds lines of text as a FoldSpec says: plain data
// for what `pleat fold` says in flags.
//
//   pleat::FoldSpec spec;
//   spec.event.key = {{.name = "account_id", .path = "account_id"}};
//   spec.folder.quiet_period = 5min;
//   spec.merges = {{.name = "metrics", .reducer = pleat::Reducer::kKeys, .path = "metrics"}};
//   auto engine = *pleat::Engine::Open(pleat::EngineOptionsFor(spec.event));
//   auto folder = *pleat::JsonFolder::Open(*engine, "accounts", spec);
//   folder->FoldLines(text, at, [](const pleat::UnusualLine& line) { return Report(line); });
//   std::string out;
//   folder->Pop(100, out);                            // whole lines, each ended by '\n'
//
// The same spec as a document, for ParseFoldSpec():
//
//   {"key":"account_id","quiet":"5m","merge":"metrics=keys(metrics)"}
//
// What a valid line is, and how several threads read lines: json_lines.h.
//
// A JsonFolder is part of the engine's snapshots (snapshot.h) as it is: its groups, what it counts,
// and which paths no line has led to. It can be restored by a folder of the same spec; the limits,
// the future limit and what is printed around the merged values may differ.
// - Restore first and read lines then: `distinct` marks long values by a secret that is restored.
// - The counts of lines are those of the cut if no thread folds lines while the snapshot begins;
//   else those of the lines that this thread has under way, 256 at most, may be missing.
#pragma once

#include <cstddef>
#include <cstdint>
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
#include <pleat/options.h>
#include <pleat/time.h>
#include <pleat/untyped/any_folder.h>

namespace pleat::inline v0_1 {

// How the values at one path become one value of the emission. Every reducer ignores null like an
// absent member. A value of a type that a reducer does not take is ignored, and counted as
// mismatched.
enum class Reducer : uint8_t {
  kKeys,   // the member names of objects, each once, in order of first appearance
  kSet,    // the elements of arrays and any other values, each once, in order of first appearance
  kSum,    // of numbers: integers exactly in 128 bits; beyond these, and others, as doubles with
           // compensation, saturating at the largest one
  kMin,    // the smallest number, as it was written; compared exactly, however long
  kMax,    // the largest number, likewise
  kMean,   // of numbers
  kCount,  // of events with a value at the path; without a path, of events
  kFirst,  // the value with the smallest stamp; of equal ones the earliest to arrive
  kLast,   // the value with the largest stamp; of equal ones the latest to arrive
  kDistinct,  // how many different values; as kSet counts them
  kArray,     // the elements of arrays and any other values, as they come
  kConcat,    // strings, and numbers and booleans as written, joined by a separator
  kDuration,  // no path: the largest stamp less the smallest, in seconds
  // Percentiles of numbers: the smallest one that so many of all do not exceed, rounded to three
  // digits, so that it is off by at most 0.5 %.
  kP50,
  kP90,
  kP95,
  kP99,
  kP999,
  kTop,  // the most frequent of what kSet tells apart, with their counts
};

// How many elements a bounded reducer keeps unless the merge says otherwise; kConcat: bytes.
inline constexpr uint64_t kArrayBound = 1'000;
inline constexpr uint64_t kDistinctBound = 1'000'000;
inline constexpr uint64_t kConcatBound = 64 * 1024;
inline constexpr uint64_t kTopBound = 10;
inline constexpr uint64_t kTopBoundMax = 1'000;

// The path of the event itself, as it came.
inline constexpr std::string_view kWholeEvent = ".";

struct Merge {
  std::string name;
  Reducer reducer;
  std::string path;  // empty for kDuration and count(); kFirst and kLast also take kWholeEvent

  // kArray, kSet, kKeys, kDistinct: how many elements are kept, the first ones. kConcat: how many
  // bytes; values are kept as long as they fit. kTop: how many values are told. 0: the default
  // above; for kSet and kKeys none. Values that lost something are named under "cut" in "_fold".
  uint64_t bound = 0;
  std::string separator;  // kConcat
};

// What becomes of the members of an event, at the top, that no key, time, id or merge takes.
enum class Rest : uint8_t {
  kDrop,
  // Each is added to the output, in order of first appearance, with the value of the smallest stamp
  // or of the largest one, as the reducers kFirst and kLast choose it.
  kFirst,
  kLast,
};
inline constexpr size_t kRestMembersMax = 1024;

struct FoldSpec {
  EventSpec event;
  MarkSpec marks;

  // When groups close, which events are late, limits. Required: quiet_period, unless closing.every
  // is given. With event.time_zone, closing.every and its phase go by the clock of that zone, days
  // on which it changes included. A group's weight for max_group_bytes is that of its lines as they
  // came, without newlines.
  FolderOptions folder{.max_wait = kForever, .limits = {.max_backlog = SIZE_MAX}};

  Condition close_when;       // over the merged values, after each fold: the group is complete
  std::vector<Merge> merges;  // in output order
  Rest rest = Rest::kDrop;
  uint64_t raw = 0;          // how many events to keep as they came, under "_raw": the first ones
  uint64_t raw_last = 0;     // the same under "_raw_last": those with the largest stamps
  bool meta = true;          // add "_fold" to every line, and not only to those with a wrong sum
  bool emission_id = false;  // with "id" in it
};

// Whether the spec is complete and consistent: key and quiet period given, paths well formed,
// output names distinct and none of them "_fold". Errors: kInvalidArgument, naming the option.
PLEAT_EXPORT absl::Status Validate(const FoldSpec& spec);

// Sets the option that `pleat fold` calls `--name` (without the dashes) from its text, as the flag
// and a member of a spec document do; "key" and "merge" add to the list. "from" and "to" are read
// by the "time-unit", "time-zone" and "time-format" that were set before. Errors: kNotFound if no
// such option belongs to a FoldSpec; kInvalidArgument says what is wrong with the text.
PLEAT_EXPORT absl::Status SetOption(FoldSpec& spec, std::string_view name, std::string_view text);

// Calls `set(name, text)` for every option in a spec document, one JSON object: strings, numbers
// and booleans are handed on as text, an array once per element, a condition that is an object as
// its JSON text. "from" and "to" come last, the others in their order. Stops at the first error of
// `set`. Errors: kInvalidArgument if the document is not valid JSON or nests further.
PLEAT_EXPORT absl::Status ForEachOption(
    std::string_view document,
    absl::FunctionRef<absl::Status(std::string_view name, std::string_view text)> set);

// The options of a spec that differ from an empty one, as name and text pairs in a fixed order.
// SetOption() with them makes an empty spec the same spec again.
PLEAT_EXPORT std::vector<std::pair<std::string, std::string>> OptionsOf(const FoldSpec& spec);

// A FoldSpec from a document. Errors: kInvalidArgument, as ForEachOption() and SetOption(), or for
// an unknown option.
PLEAT_EXPORT absl::StatusOr<FoldSpec> ParseFoldSpec(std::string_view document);

// Thread safety: the calls that fold from one thread at a time; Pop and the rest from any.
// Ownership: borrows the engine, which must outlive it and keeps what was not popped.
class PLEAT_EXPORT JsonFolder {
 public:
  // Creates the collection `name` in the engine, which must have been opened with
  // EngineOptionsFor(spec.event) or options that agree with it in axis, watermark delay and future
  // limit. Errors: as Validate(), and as AnyFolder::Open().
  static absl::StatusOr<std::unique_ptr<JsonFolder>> Open(Engine& engine, std::string_view name,
                                                          const FoldSpec& spec);
  // The same for a collection of the intake's engine that gets its lines by the intake
  // (json_intake.h). Errors: also kInvalidArgument, naming the option, where the spec does not
  // agree with that of the intake; kFailedPrecondition if the intake has had a line.
  static absl::StatusOr<std::unique_ptr<JsonFolder>> Open(JsonIntake& intake, std::string_view name,
                                                          const FoldSpec& spec);
  ~JsonFolder();
  JsonFolder(const JsonFolder&) = delete;
  JsonFolder& operator=(const JsonFolder&) = delete;

  // Folds one line, without its newline; a final '\r' is white space. `arrival` stamps the event if
  // the spec has no time path, and is ignored otherwise.
  // Those that have waited (EventSpec::reorder) and are taken now are told to `on_unusual`.
  // REQUIRES: kLinePaddingBytes readable bytes follow the line.
  LineResult FoldLine(std::string_view line, EngineTime arrival,
                      OnUnusualLine on_unusual = PassUnusualLine);

  // Folds the lines of `text`, which is as for JsonLines::Read(). This is the fast path; the result
  // is that of FoldLine() on each line in order. If `on_unusual` returns false, nothing behind an
  // invalid line is folded; behind a late or refused event a few more events may have been folded.
  void FoldLines(std::string_view text, EngineTime arrival, OnUnusualLine on_unusual);

  // The same for up to `max` further lines that were read by plan(). Returns how many lines it
  // took.
  size_t Fold(JsonLines& lines, size_t max, EngineTime arrival, OnUnusualLine on_unusual);

  // For an input that has gone idle, on event time. Takes the lines that wait up to `now`, and
  // moves the engine's time there: lines older than that are not waited for any more.
  void Advance(EngineTime now, OnUnusualLine on_unusual);

  // At the end of the input: takes all lines that wait, and moves time to the newest stamp. Without
  // this they stay, and are part of snapshots.
  void TakeWaiting(OnUnusualLine on_unusual);

  // The smallest stamp of a line that waits.
  std::optional<EngineTime> next_waiting() const;

  // `on_taken` is called during the calls above whenever a few lines that had waited were taken, at
  // most 256: a chance to pop what they have closed, as there may be many of them at once.
  void SetOnTaken(std::function<void()> on_taken);

  // Tells the folder that later lines come from another input, for StampCounts::behind_input.
  void StartInput() noexcept;

  // Appends up to `max` emissions to `out`, a line each, in the order of Folder::Pop(). Returns
  // their number.
  size_t Pop(size_t max, std::string& out);

  // The same, but hands some lines at a time to `write`, so that the text of all is never held.
  size_t Pop(size_t max, absl::FunctionRef<void(std::string_view lines)> write);

  // The same, each by itself with the key of its group: without its newline, and valid during the
  // call. The key is the texts of the spec's keys as JSON, joined by commas, such as "ann",7.
  size_t PopEach(size_t max,
                 absl::FunctionRef<void(std::string_view key, std::string_view line)> each);

  // Hands a line for each open group to `write`, some lines at a time: the group as it is so far,
  // with the engine's time as `closed` and the reason "open", in the order of CloseAll(). Prints
  // them under the locks of all partitions, and takes memory as AnyFolder::ScanInOrder() does.
  void Scan(absl::FunctionRef<void(std::string_view lines)> write) const;

  // Closes every open group with reason "end".
  void CloseAll() noexcept;

  // The same, and Pop() of all there is, with few emissions waiting at a time: see drain.h.
  // `write` runs under the locks of all partitions. Returns how many emissions there were.
  size_t CloseAndPop(absl::FunctionRef<void(std::string_view lines)> write);

  // Ends the collection; see Folder::Close().
  void Close() noexcept;

  LineCounts counts() const noexcept;
  StampCounts stamps() const noexcept;
  Ledger ledger() const noexcept;
  Sizes sizes() const noexcept;
  std::unique_ptr<GapStats> gap_stats() const noexcept;  // as AnyFolder's

  // The paths of the spec that lead to no member in any line so far, usable or not. There are none
  // as long as no line was an object. REQUIRES: no call folds at the same time.
  std::vector<OptionPath> absent_paths() const;
  std::vector<OptionPath> asked_paths() const;  // all of them

  // Which values the reducers could not take, if there were any.
  std::optional<MergeMismatch> mismatch() const;

  // How many lines of Pop() so far have a sum that stays at the end of its range ("saturated").
  uint64_t saturated() const noexcept;

  // Reads lines for this folder: JsonLines lines(folder->plan()).
  const EventPlan& plan() const noexcept;

 private:
  class Impl;
  explicit JsonFolder(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

}  // namespace pleat::inline v0_1
