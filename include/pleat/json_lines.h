// From lines of JSON to events: what every collection that is fed by lines has in common. Also the
// texts in them that stand for durations, times and conditions, read and written.
//
// An EventSpec says which members of a line are the key and the event time, and a MarkSpec where an
// event says something about its group. JsonLines reads the lines of a text by it; a collection,
// such as JsonFolder (json.h) or JsonAnalyzer (json_analysis.h), takes what was read.
//
//   pleat::EventSpec spec;
//   spec.key = {{.name = "user", .path = "user"}};
//   spec.time = "time";
//   spec.where = *pleat::ParseCondition("status = failed");
//   ...                                               // opened with the spec, and fed
//   const pleat::LineCounts lines = folder->counts();
//   std::cout << lines.invalid << " of " << lines.lines << " lines are invalid";
//
// Every line is validated as a whole, not only the members that are read: exactly one RFC 8259
// object, valid UTF-8, no lone surrogates, at most 64 levels, 1,024 members an object, 1 MiB a
// line, a key of 64 KiB; no repeated name where a path leads, or if the whole line is kept. NaN and
// Infinity are nulls, and counted. A line that fails is an invalid line, and changes nothing.
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
#include <pleat/detail/export.h>
#include <pleat/engine.h>
#include <pleat/live_set_options.h>
#include <pleat/outcome.h>
#include <pleat/rollup_options.h>
#include <pleat/time.h>

namespace pleat::inline v0_1 {

// "250us", "5ms", "1.5s", "5m" or "5min", "1h", "1d", "1w", "0"; several units from the largest on:
// "1h30m", "1 min 30 s"; ISO 8601 without years and months: "PT5M", "P1DT2H". "inf" gives kForever.
// Cut to microseconds. Errors: kInvalidArgument.
PLEAT_EXPORT absl::StatusOr<Duration> ParseDuration(std::string_view text);

// The shortest text of one unit, up to days, that ParseDuration() reads as `d`.
PLEAT_EXPORT std::string FormatDuration(Duration d);

// Reads RFC 3339: date, T or t or space, time, optional fraction, Z, z or an offset. Digits past
// the microsecond are cut. Returns false for anything else, second 60 and impossible dates
// included.
PLEAT_EXPORT bool ParseTimestamp(std::string_view text, EngineTime& out) noexcept;

// RFC 3339 in UTC with six fractional digits, e.g. 2015-09-12T00:47:35.776000Z.
PLEAT_EXPORT std::string FormatTimestamp(EngineTime t);

// Appends `text` as a JSON string, quotes included, in which only ", \ and control characters are
// escaped. REQUIRES: `text` is valid UTF-8.
PLEAT_EXPORT void AppendJsonString(std::string_view text, std::string& out);

// A condition over the members of an event, or over merged values: one comparison, or several under
// all, any or not.
//
// A comparison compares the scalar at `path` with `value`. = and != compare any two scalars,
// numbers by their value. < <= > >= compare two numbers, or two strings byte by byte, and are false
// for anything else. != is the opposite of =. An absent member counts as null. An object or an
// array equals nothing.
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

// Reads a condition from `PATH OP VALUE`, such as `status = failed` or `total >= 100`, or from a
// JSON document of comparisons under all, any and not, such as
//
//   {"all":["total>=100",{"not":"status=open"}]}
//
// of at most 16 levels and 256 comparisons. OP is one of = != < <= > >=. VALUE is read as a JSON
// scalar if it is one, else as text. White space around PATH and VALUE is not part of them. A PATH
// that holds an operator or quotes goes in quotes, and so does a text that begins with an operator
// or a quote, or that holds && or ||. Errors: kInvalidArgument; the message says how to write what
// was likely meant.
PLEAT_EXPORT absl::StatusOr<Condition> ParseCondition(std::string_view text);

// The text that ParseCondition() reads as `condition`. REQUIRES: it is not kNone.
PLEAT_EXPORT std::string FormatCondition(const Condition& condition);

// lines = events + invalid + excluded + waiting. The ledger of a collection counts groups.
struct LineCounts {
  uint64_t lines = 0;   // blank ones not counted
  uint64_t events = 0;  // usable, late and refused ones included
  uint64_t invalid = 0;
  uint64_t excluded = 0;     // lines that EventSpec::where, from or to leave out
  uint64_t mismatched = 0;   // values that a reducer could not take
  uint64_t control = 0;      // events that flushed or cancelled
  uint64_t not_numbers = 0;  // values NaN and Infinity of this process, which are nulls
  uint64_t waiting = 0;      // usable lines whose turn has not come, because of EventSpec::reorder

  // Those that were taken before their turn, as there was no room: EventSpec::max_waiting_bytes.
  uint64_t released_early = 0;

  friend bool operator==(const LineCounts&, const LineCounts&) = default;
};

// The first value that a reducer could not take since the collection was opened, of late and
// refused events as well: one of `type` at `path`, for the merge `name` by `reducer`.
struct MergeMismatch {
  std::string name;
  std::string reducer;  // "sum"
  std::string path;
  std::string type;  // "text", "numbers", "booleans", "arrays", "objects"

  // Whether all were of this merge and of this type.
  bool only = false;

  friend bool operator==(const MergeMismatch&, const MergeMismatch&) = default;
};

// The stamps of the events that LineCounts counts, in the order in which they came.
struct StampCounts {
  // The oldest and the newest of all. There are none if the newest is the earlier one.
  EngineTime oldest = kEndOfTime;
  EngineTime newest = kBeginningOfTime;

  // Events older than one before them, and the furthest distance between the two.
  uint64_t out_of_order = 0;
  Duration most_behind{0};

  // Those among them for which the newest one before was of an earlier input; see StartInput().
  uint64_t behind_input = 0;

  // Whether a time stated no zone, and the spec states none either, so that it was read as UTC.
  // Snapshots do not keep this.
  bool assumed_utc = false;

  friend bool operator==(const StampCounts&, const StampCounts&) = default;
};

// A path of a spec, and the option that it belongs to.
struct OptionPath {
  std::string option;
  std::string path;

  friend bool operator==(const OptionPath&, const OptionPath&) = default;
};

inline constexpr size_t kLineBytesMax = size_t{1} << 20;
inline constexpr int kJsonDepthMax = 64;
inline constexpr size_t kObjectMembersMax = 1024;

// Readable bytes that must follow a line or a text of lines. Their content does not matter.
inline constexpr size_t kLinePaddingBytes = 64;

// The unit of an event time that is a number. It must be stated; it is never guessed.
enum class TimeUnit : uint8_t { kNotStated, kSeconds, kMilliseconds, kMicroseconds, kNanoseconds };

// A path names a member: "a.b" is member b of the object a, and "a.0" the first element if a is an
// array; a path that starts with / is a JSON Pointer, such as "/a.b" for the member "a.b".
struct KeyField {
  std::string name;  // of the member in the output
  std::string path;
};

// Where the key and the time of an event are, and which lines are events: options of the same names
// in `pleat fold`.
struct EventSpec {
  // The members that form the key, each a scalar. At least one. KeyField() alone, whose name and
  // path are empty, makes all events those of one key, which has no member in the output.
  std::vector<KeyField> key;

  // The path of the event time, text or a number in `time_unit`, also in quotes; or of several, as
  // in "date,time", which blanks join (a path in quotes, or a JSON Pointer at the end, may have
  // commas). Empty: whoever folds the lines stamps them.
  std::string time;
  TimeUnit time_unit = TimeUnit::kNotStated;

  // The zone of a text that states none: UTC, an offset such as "+01:00", or a name such as
  // "Europe/Berlin", whose data are read from $TZDIR or else /usr/share/zoneinfo, once. Of a time
  // that its clock shows twice, that nearest to the newest stamp is meant, at first the earlier
  // one; one that it skips is read by the offset before. Empty: UTC; see StampCounts::assumed_utc.
  std::string time_zone;

  // How the text is written, by the letters of strptime(3), such as "%d.%m.%Y %H:%M:%S"; %E*f reads
  // the digits of a fraction. Names of months and days are those of the program's locale. Empty:
  // RFC 3339, the same without a zone, common log format or RFC 2822.
  std::string time_format;

  // The year of the first time, if the format says none; later ones are nearest to the newest stamp
  // so far. Range: 1 to 9999; 0: the first time is nearest to when its line came.
  int time_year = 0;

  // How far events may be out of order. Lines wait until the watermark, which is the newest event
  // time less this, has reached their own time, and are then taken in the order of time; of equal
  // times in the order of arrival. So events that are out of order by no more than this have the
  // same results as events in order. One that is older than the watermark is taken at once.
  // Range: zero or more; above zero only with `time`. An engine has one collection whose lines
  // wait, or an intake: Open() of another one is refused with kAlreadyExists. Several share a
  // JsonIntake (json_intake.h). REQUIRES, above zero, without a JsonIntake: no thread folds lines
  // while a snapshot begins.
  Duration reorder{0};

  // The most bytes of lines that wait. Each counts its own bytes, 48, and 4 for each path that the
  // options read. If there is no room, the oldest are taken before their turn, and counted:
  // LineCounts::released_early.
  size_t max_waiting_bytes = size_t{1} << 30;

  // A line whose event time is further ahead of the engine's time than this is invalid; with
  // `reorder`, further ahead of the newest event time so far.
  // Range: zero or more. Default: none is.
  Duration future_limit = kForever;

  // Whether the lines were made of a format that has no types, such as CSV: a condition that says
  // true, false or null holds for that text as well.
  bool untyped = false;

  // A line for which the condition does not hold, or whose event time is before `from`, or at `to`
  // or later, is excluded: counted, and otherwise as if it were not there. kNone holds for all.
  // A line that `where` excludes needs no key and no time. A range needs `time`.
  Condition where;
  EngineTime from = kBeginningOfTime;
  EngineTime to = kNever;
};

// What an event may say about its group, beside the values that are merged. All of it is optional,
// and all conditions are over the members of the event.
struct MarkSpec {
  // The event opens the next group of its key; the event is the last of its group.
  Condition start_when;
  Condition end_when;

  // The event closes the open group of its key, or drops the group, and is not folded itself. If
  // both hold, the group is dropped.
  Condition flush_when;
  Condition cancel_when;

  // The path of a quiet period of the event's own: a duration as text. If it is absent or null, the
  // folder's holds; anything else makes the line invalid.
  std::string quiet_path;

  // The path of the instant at which the group closes, if nothing closes it before: a time as that
  // of events is. If it is absent or null, the instant stated before holds. See EventMarks.
  std::string close_at;

  // The path of the class of the event's key, for a quiet period that is learned: a scalar. If it
  // is absent, the class is null. Empty: all keys are of one class.
  std::string key_class;

  // The path of the id that tells the event from the others of its key: a scalar, without which a
  // line is invalid. Empty: events have no ids, and duplicates are not found.
  std::string id;
};

// Whether a key is given, paths are well formed and options in range. Errors: kInvalidArgument,
// naming the option.
PLEAT_EXPORT absl::Status Validate(const EventSpec& spec);

// As SetOption() of a FoldSpec (json.h), of the options that every spec has: where the key and the
// time are, and which lines are events.
PLEAT_EXPORT absl::Status SetOption(EventSpec& spec, std::string_view name, std::string_view text);

// The engine that a spec asks for: event time if it has a path of the time, else arrival time; one
// partition, as one thread folds lines, so that limits are exact.
PLEAT_EXPORT EngineOptions EngineOptionsFor(const EventSpec& spec);

// What became of one line.
struct LineResult {
  enum class Kind : uint8_t {
    kBlank,    // only white space; not counted
    kEvent,    // a usable event; see `fold`
    kInvalid,  // not a usable event; `reason` says why; nothing changed
    // The line flushed or cancelled its key's group, or removed a member, if there was one, and was
    // no event itself. On arrival time a group closes at the engine's time, whatever `arrival`.
    kControl,
    // The event time is a number, and the spec states no unit: stop reading. `reason` says which
    // unit the number looks like.
    kNoUnit,
    kExcluded,  // by `where`, `from` or `to` of the spec
    kWaiting,   // a usable line whose turn has not come: see EventSpec::reorder
  };
  Kind kind = Kind::kBlank;
  FoldOutcome fold = FoldOutcome::kOpened;  // for kEvent: never kFuture, which is an invalid line
  std::string_view reason;  // also of a conflict; static, or valid until the next line is folded
  LiveSetOutcome live_set = LiveSetOutcome::kAdded;  // of a live set, in place of `fold`
  AddOutcome add = AddOutcome::kAdded;               // of a rollup counter, likewise
  // Of an invalid line that has no scalar at a path: that path, for HintFor(). Lives as the
  // collection.
  const OptionPath* about = nullptr;
};

// A line that is neither blank nor excluded, nor waits, nor is an event that was simply folded.
struct UnusualLine {
  // Among the lines of the text, blank ones included, from 0. Below zero, of lines that have
  // waited: -1 is the last line that was given before this text.
  int64_t index;
  std::string_view text;  // without its newline
  LineResult result;      // its views are valid during the call that hands it over
};

// Called for every unusual line in order: for one that has waited when it is taken. Returns whether
// to go on. Lines whose turn has come are taken even so, and not told of.
using OnUnusualLine = absl::FunctionRef<bool(const UnusualLine&)>;

// An OnUnusualLine for whom the counts are enough.
inline bool PassUnusualLine(const UnusualLine&) { return true; }

struct EventPlan;
class JsonIntake;
class ReadLines;

// Lines that were read but not folded yet. Reading is most of the work and needs no lock and no
// order. So several threads can read texts, each into a JsonLines of its own, while one thread
// folds them in the order of input. The result does not depend on how the input is cut into texts.
//
//   pleat::JsonLines lines(folder->plan());
//   lines.Read(text);                                        // any thread
//   folder->Fold(lines, SIZE_MAX, arrival, on_unusual);      // the thread that folds
//
// Thread safety: one thread at a time. Ownership: borrows the collection whose plan it reads by. It
// keeps its memory for the next text.
class PLEAT_EXPORT JsonLines {
 public:
  explicit JsonLines(const EventPlan& plan);
  ~JsonLines();
  JsonLines(const JsonLines&) = delete;
  JsonLines& operator=(const JsonLines&) = delete;

  // Reads the lines of `text`, each ended by '\n', which the last may lack; a '\r' before it is
  // white space. They replace the lines read before. The text has to stay until they are folded.
  // REQUIRES: kLinePaddingBytes readable bytes follow the text, which is below 4 GiB.
  void Read(std::string_view text);

  // Lines that have not been folded yet, blank ones included.
  size_t left() const noexcept;

  // Whether one of the lines is of use, as far as reading tells: an event, an excluded line, or
  // one that flushes, cancels or removes.
  bool any_usable() const noexcept;

  // For the collection that takes the lines.
  ReadLines& read() noexcept { return *read_; }

 private:
  std::unique_ptr<ReadLines> read_;
};

// What to say of a path that leads to no member of a line: the path that is likely meant, and what
// there is in its place; and of a condition that no line meets.
//
//   {"Actor":{"login":"ann"},"at":5}  and the path actor.login:
//   meant  Actor.login
//   has    has "Actor", "at"          of the line itself, so that `place` is empty
//
// A hint takes the line apart anew, which costs far more than reading it: it is for a line that was
// refused, once for each path.
struct PathHint {
  // A path of the line that differs from the one asked for in the case of letters, in _ and -, or
  // in a letter or two; that goes into an array; that was written for jq or as JSONPath, as .a,
  // $.a or a[0]; that is a JSON Pointer, as a name has dots; or that leads to the same name
  // elsewhere. Empty if there is none, or if `in_list`.
  std::string meant;

  // The place up to which the path leads, or that list: its own path in quotes, or empty for the
  // whole line.
  std::string place;

  // What is there, for people: `has "user", "time" and 3 more`, `is an array of 2`, `is a number`.
  // If `in_list`, also how to make lines of the list's elements. All three are empty if the path
  // leads to a scalar, or the line is no JSON object.
  std::string has;

  // Whether the suggested path goes into a list of objects, which is at `place`. With an index in
  // the path, only one of the objects would count.
  bool in_list = false;
};

// REQUIRES: `path` is well formed.
PLEAT_EXPORT PathHint HintFor(std::string_view line, std::string_view path);

// What keeps `condition` from holding, for people: comparisons of a member of the line with a value
// of another type, which never hold, such as `"status" is a number, "5xx" is text`. Empty if there
// is no such comparison, or the line is no JSON object. Comparisons under `not` are left out.
PLEAT_EXPORT std::string TypeHintFor(std::string_view line, const Condition& condition);

}  // namespace pleat::inline v0_1
