// Newline-delimited JSON in, folded newline-delimited JSON out.
//
// A FoldSpec says in plain data what `pleat fold` says in flags: which members form the group key,
// where the event time is, when a group closes, what is merged. A JsonFolder is a collection in an
// Engine that folds lines of text by such a spec.
//
//   pleat::FoldSpec spec;
//   spec.key = {{.name = "account_id", .path = "account_id"}};
//   spec.quiet = 5min;
//   spec.merges = {{.name = "metrics", .reducer = pleat::Reducer::kKeys, .path = "metrics"}};
//   auto engine = *pleat::Engine::Open(pleat::EngineOptionsFor(spec));
//   auto folder = *pleat::JsonFolder::Open(*engine, "accounts", spec);
//   folder->FoldLines(text, at, [](const pleat::UnusualLine& line) { return Report(line); });
//   std::string out;
//   folder->Pop(100, out);                            // whole lines, each ended by '\n'
//
// The whole of every line is validated, not only the members that are read: exactly one RFC 8259
// object, valid UTF-8, no lone surrogates, no repeated member name in any object, at most 64 levels,
// 1,024 members an object, 1 MiB a line, a key of at most 64 KiB. What fails is a bad line: it is
// reported with one reason from a closed list and changes nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <pleat/any_folder.h>
#include <pleat/engine.h>
#include <pleat/export.h>
#include <pleat/outcome.h>
#include <pleat/time.h>

namespace pleat::inline v0_1 {

inline constexpr size_t kLineBytesMax = size_t{1} << 20;
inline constexpr int kJsonDepthMax = 64;
inline constexpr size_t kObjectMembersMax = 1024;

// Readable bytes that must follow a line or a text of lines; their content does not matter.
inline constexpr size_t kLinePaddingBytes = 64;

// The unit of an event time given as a number. It is stated, never guessed.
enum class TimeUnit : uint8_t { kNotStated, kSeconds, kMilliseconds, kMicroseconds, kNanoseconds };

// How the values of one path become one value of the emission. All ignore null like an absent field;
// a value of a type the reducer does not take is ignored and counted as mismatched.
enum class Reducer : uint8_t {
  kKeys,  // the member names of objects, each once, in order of first appearance
  kSet,   // the elements of arrays and any other values, each once, in order of first appearance
  kSum,  // of numbers: integers exactly, saturating at 64 bits; others with compensation, saturating
         // at the largest double
  kMin,       // the smallest number, as it was written; compared exactly, however long
  kMax,       // the largest number, likewise
  kMean,      // of numbers
  kCount,     // of events with a value at the path; without a path, of events
  kFirst,     // the value with the smallest stamp; of equal ones the earliest to arrive
  kLast,      // the value with the largest stamp; of equal ones the latest to arrive
  kDistinct,  // how many different values; as kSet counts them
  kArray,     // the elements of arrays and any other values, as they come
  kConcat,    // strings, and numbers and booleans as written, joined by a separator
};

// How many elements a bounded reducer keeps unless the merge says otherwise; kConcat: bytes.
inline constexpr uint64_t kArrayBound = 1'000;
inline constexpr uint64_t kDistinctBound = 1'000'000;
inline constexpr uint64_t kConcatBound = 64 * 1024;

struct KeyField {
  std::string name;  // the member's name in the output
  std::string path;  // "a.b" nests; a path that starts with / is a JSON Pointer
};

struct Merge {
  std::string name;
  Reducer reducer;
  std::string path;  // empty only for kCount: count()

  // kArray, kSet, kKeys, kDistinct: the first so many elements are kept. kConcat: so many bytes, and values
  // as long as they fit. 0: the default above; for kSet and kKeys none. What was cut is named under "cut" in
  // "_fold".
  uint64_t bound = 0;
  std::string separator;  // kConcat
};

// A condition over the members of an event, or over merged values: one comparison, or several under all,
// any or not.
//
// A comparison compares the scalar at `path` with `value`. = and != compare any two, numbers by their value;
// < <= > >= compare two numbers, or two strings byte by byte, and are false for anything else. != is
// the opposite of =. A member that is absent counts as null; an object or array equals nothing.
struct Condition {
  enum class Kind : uint8_t {
    kNone,
    kEqual,
    kNotEqual,
    kLess,
    kAtMost,
    kGreater,
    kAtLeast,
    kAll,
    kAny,
    kNot
  };
  Kind kind = Kind::kNone;
  std::string path;              // of a comparison; for merged values the name of the merge
  std::string value;             // of a comparison: a JSON scalar
  std::vector<Condition> parts;  // of kAll and kAny one or more, of kNot one

  friend bool operator==(const Condition&, const Condition&) = default;
};

// What becomes of the members of an event, at the top, that no key, time, id or merge takes.
enum class Rest : uint8_t {
  kDrop,
  kFirst,  // each is added to the output with the value of the smallest stamp,
  kLast,   // or of the largest, as the reducers do; in order of first appearance
};
inline constexpr size_t kRestMembersMax = 1024;

struct FoldSpec {
  std::vector<KeyField> key;  // at least one
  Duration quiet{0};          // above zero; required
  // Above zero and below `quiet`: the quiet period is learned, from here to `quiet`, by each class of keys.
  // 0: it is `quiet`.
  Duration quiet_floor{0};
  // Where an event says the class of its key: a scalar; absent counts as null. Empty: all keys are of one class.
  std::string key_class;
  Duration max_hold = kForever;
  uint64_t max_events = kNoEventCap;
  size_t max_group_bytes = kNoByteCap;  // of the lines folded, as they came, without their newlines
  Condition start_when;                 // on the event: it opens the next group
  Condition end_when;                   // on the event: it is the last of its group
  Condition close_when;                 // on the merged values, after each fold
  Condition flush_when;   // on the event: it closes the open group of its key, and is not folded,
  Condition cancel_when;  // or drops it. If both hold, it is dropped
  // Where an event may say its own quiet period: a duration as text. Absent or null: `quiet`; anything
  // else makes the line bad.
  std::string quiet_path;
  Edge edge = Edge::kTrailing;
  Duration partial_every = kForever;

  std::string time;  // path of the event time; empty: the caller of FoldLine stamps the events
  TimeUnit time_unit = TimeUnit::kNotStated;
  Duration lateness{0};
  Duration accept_limit = kForever;
  OnLate on_late = OnLate::kReject;
  Duration future_limit = kForever;
  std::string id;  // path of what names an event among those of its key: a scalar, without which a
                   // line is bad. Empty: events have no ids

  std::vector<Merge> merges;  // in output order
  Rest rest = Rest::kDrop;
  uint64_t raw = 0;          // how many events to keep as they came, under "_raw"
  bool meta = true;          // add "_fold" to every line
  bool emission_id = false;  // with "id" in it

  size_t max_groups = 50'000'000;
  size_t max_bytes = size_t{4} << 30;
  bool count_ready = true;  // as LimitOptions::count_ready
  bool gap_stats = false;   // as MeasureOptions::gap_stats
  OnLimit on_limit = OnLimit::kRefuse;
};

// Sets the option that `pleat fold` calls `--name` (without the dashes) from its text, as the flag
// and a member of a spec document do; "key" and "merge" add to the list. kNotFound if no such option
// belongs to a FoldSpec; kInvalidArgument says what is wrong with the text.
PLEAT_EXPORT absl::Status SetOption(FoldSpec& spec, std::string_view name, std::string_view text);

// Calls `set(name, text)` for every option in a spec document, one JSON object such as
// {"key":["user"],"quiet":"5m","merge":["n=count()"]}: strings, numbers and booleans are handed on as
// text, an array once per element, a condition that is an object as its JSON text. Stops at the first
// error of `set`. kInvalidArgument if the document is not valid JSON or nests further.
PLEAT_EXPORT absl::Status ForEachOption(
    std::string_view document,
    absl::FunctionRef<absl::Status(std::string_view name, std::string_view text)> set);

// The options of a spec that differ from an empty one, as name and text pairs in a fixed order, such
// that SetOption() on an empty spec gives the same spec again.
PLEAT_EXPORT std::vector<std::pair<std::string, std::string>> OptionsOf(const FoldSpec& spec);

// A FoldSpec from a document. Errors: kInvalidArgument, as above, or for an unknown option.
PLEAT_EXPORT absl::StatusOr<FoldSpec> ParseFoldSpec(std::string_view document);

// A Condition from `PATH OP VALUE`, where OP is one of = != < <= > >= and VALUE is read as a JSON scalar if
// it is one, else as text; or from a JSON document of comparisons under all, any and not, such as
// {"all":["total>=100",{"not":"status=open"}]}, of at most 16 levels and 256 comparisons. White space
// around PATH and VALUE is not part of them. A PATH with an operator or quotes in it goes in quotes, and
// so does a text that begins with an operator or a quote, or has && or || in it.
PLEAT_EXPORT absl::StatusOr<Condition> ParseCondition(std::string_view text);

// The text that ParseCondition() reads as `condition`, which is not kNone.
PLEAT_EXPORT std::string FormatCondition(const Condition& condition);

// Whether the spec is complete and consistent: key and quiet given, paths well formed, output names
// distinct and none of them "_fold". Errors: kInvalidArgument, naming the option.
PLEAT_EXPORT absl::Status Validate(const FoldSpec& spec);

// The engine a spec asks for: event time if it names a time path, else arrival time; one partition,
// as one thread folds lines, so the limits are exact.
PLEAT_EXPORT EngineOptions EngineOptionsFor(const FoldSpec& spec);

// "250us", "5ms", "1.5s", "5m", "1h", "1d", "0"; "inf" gives kForever. Cut to microseconds.
PLEAT_EXPORT absl::StatusOr<Duration> ParseDuration(std::string_view text);

// The shortest text that ParseDuration reads as `d`.
PLEAT_EXPORT std::string FormatDuration(Duration d);

// RFC 3339: date, T or t or space, time, optional fraction, Z, z or an offset. Digits past the
// microsecond are cut. Returns false for anything else, second 60 and impossible dates included.
PLEAT_EXPORT bool ParseTimestamp(std::string_view text, EngineTime& out) noexcept;

// RFC 3339 in UTC with six fractional digits, e.g. 2015-09-12T00:47:35.776000Z.
PLEAT_EXPORT std::string FormatTimestamp(EngineTime t);

// Appends `text` as a JSON string, quotes included: ", \ and control characters escaped, all else as
// it is. `text` must be valid UTF-8.
PLEAT_EXPORT void AppendJsonString(std::string_view text, std::string& out);

// What became of one line.
struct LineResult {
  enum class Kind : uint8_t {
    kBlank,    // only white space; not counted
    kEvent,    // a usable event; see `fold`
    kBad,      // not a usable event; `reason` says why; nothing changed
    kControl,  // it flushed or cancelled its key's group, if one was open, and was not folded; on
               // arrival time by the engine's time, whatever `arrival`
    kNoUnit,   // the event time is a number and the spec states no unit: stop; `reason` says which
               // unit it looks like
  };
  Kind kind = Kind::kBlank;
  FoldOutcome fold = FoldOutcome::kOpened;  // for kEvent: never kFuture, which is a bad line
  std::string_view reason;  // also of a kConflict; static text, or valid until the next FoldLine
};

// Counts of lines; of groups the collection's own ledger tells. lines = events + bad.
struct LineCounts {
  uint64_t lines = 0;   // blank ones not counted
  uint64_t events = 0;  // usable, late and refused ones included
  uint64_t bad = 0;
  uint64_t mismatched = 0;  // values that a reducer could not take
  uint64_t control = 0;     // events that flushed or cancelled

  friend bool operator==(const LineCounts&, const LineCounts&) = default;
};

// The stamps of the events that LineCounts counts, as they came.
struct StampCounts {
  EngineTime oldest = kEndOfTime;        // of all of them,
  EngineTime newest = kBeginningOfTime;  // which are none if this is the earlier one
  uint64_t out_of_order = 0;             // events older than one before them,
  Duration most_behind{0};               // at most by so much,
  uint64_t behind_input = 0;  // and of those the ones whose newest was of an earlier input

  friend bool operator==(const StampCounts&, const StampCounts&) = default;
};

// A path of a spec, and the option that it belongs to.
struct OptionPath {
  std::string option;
  std::string path;

  friend bool operator==(const OptionPath&, const OptionPath&) = default;
};

// A line that is neither blank nor an event that was simply folded.
struct UnusualLine {
  size_t index;           // among the lines of the text, blank ones included, from 0
  std::string_view text;  // without its newline
  LineResult result;      // its views are valid during the call that hands it over
};

// Told of every unusual line in order; returns whether to go on.
using OnUnusualLine = absl::FunctionRef<bool(const UnusualLine&)>;

class JsonAnalyzer;
class JsonFolder;
struct FoldPlan;

// Lines that were read but not folded yet. Reading is most of the work and needs no lock and no order,
// so that several threads can read texts, each into a JsonLines of its own, while one thread folds
// them in the order of input. What comes out does not depend on how the input is cut into texts.
//
//   pleat::JsonLines lines(*folder);
//   lines.Read(text);                                        // any thread
//   folder->Fold(lines, SIZE_MAX, arrival, on_unusual);      // the thread that folds
//
// Thread safety: one thread at a time. Borrows the folder, or the analyzer (json_analysis.h). Keeps its
// memory for the next text.
class PLEAT_EXPORT JsonLines {
 public:
  explicit JsonLines(const JsonFolder& folder);
  explicit JsonLines(const JsonAnalyzer& analyzer);
  ~JsonLines();
  JsonLines(const JsonLines&) = delete;
  JsonLines& operator=(const JsonLines&) = delete;

  // Reads the lines of `text`, each ended by '\n', which the last may lack; a '\r' before it is white
  // space. They replace what was read before. The text has to stay until they are folded.
  // REQUIRES: kLinePaddingBytes readable bytes follow the text, which is below 4 GiB.
  void Read(std::string_view text);

  // Lines that have not been folded yet, blank ones included.
  size_t left() const noexcept;

 private:
  friend class JsonAnalyzer;
  friend class JsonFolder;
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// Thread safety: the calls that fold from one thread at a time; Pop and the rest from any.
// Ownership: borrows the engine, which must outlive it and keeps what was not popped.
class PLEAT_EXPORT JsonFolder {
 public:
  // Creates the collection `name` in the engine, which must have been opened with
  // EngineOptionsFor(spec) or options that agree with it in axis, lateness and future limit.
  // Errors: as Validate(), and as AnyFolder::Open().
  static absl::StatusOr<std::unique_ptr<JsonFolder>> Open(Engine& engine, std::string_view name,
                                                          const FoldSpec& spec);
  ~JsonFolder();
  JsonFolder(const JsonFolder&) = delete;
  JsonFolder& operator=(const JsonFolder&) = delete;

  // Folds one line, without its newline; a final '\r' is white space. `arrival` stamps the event if
  // the spec has no time path, and is ignored otherwise.
  // REQUIRES: kLinePaddingBytes readable bytes follow the line.
  LineResult FoldLine(std::string_view line, EngineTime arrival);

  // Folds the lines of `text`, which is as for JsonLines::Read(); the fast path. The result is that of
  // FoldLine() on each in order. Where `on_unusual` says to stop, nothing behind a bad line is
  // folded; behind a late or refused event a few more may have been.
  void FoldLines(std::string_view text, EngineTime arrival, OnUnusualLine on_unusual);

  // The same for up to `max` further lines of those read. Returns how many it went through.
  size_t Fold(JsonLines& lines, size_t max, EngineTime arrival, OnUnusualLine on_unusual);

  // Says that what is folded from here on comes from another input, for StampCounts::behind_input.
  void StartInput() noexcept;

  // Appends up to `max` emissions to `out`, a line each, in the order of Folder::Pop. Returns how
  // many.
  size_t Pop(size_t max, std::string& out);

  // The same, handed to `write` some lines at a time, so that they are never all held as text.
  size_t Pop(size_t max, absl::FunctionRef<void(std::string_view lines)> write);

  // Appends a line for each of up to `max` open groups, as it is so far, with the engine's time as `closed`
  // and the reason "open"; see Folder::Scan(). Prints them under the partition's lock.
  bool Scan(ScanCursor& cursor, size_t max, std::string& out) const;

  // Closes every open group with reason "end".
  void CloseAll() noexcept;

  // Ends the collection; see Folder::Close().
  void Close() noexcept;

  LineCounts counts() const noexcept;
  StampCounts stamps() const noexcept;
  Ledger ledger() const noexcept;
  Sizes sizes() const noexcept;
  std::unique_ptr<GapStats> gap_stats() const noexcept;  // as AnyFolder's

  // The paths of the spec that lead to no member in any line so far, usable or not; none as long as no line
  // was an object. Not while a call folds.
  std::vector<OptionPath> absent_paths() const;

 private:
  friend class JsonLines;
  class Impl;
  explicit JsonFolder(std::unique_ptr<Impl> impl);
  const FoldPlan& plan() const noexcept;
  std::unique_ptr<Impl> impl_;
};

}  // namespace pleat::inline v0_1
