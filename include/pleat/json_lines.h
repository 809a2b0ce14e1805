// From lines of JSON to events: what every collection that is fed by lines has in common.
//
// An EventSpec says which members of a line are the key and the event time, and a MarkSpec where an
// event says something about its group. JsonLines reads the lines of a text by it; a collection,
// such as JsonFolder (json.h) or JsonAnalyzer (json_analysis.h), takes what was read.
//
// Every line is validated as a whole, not only the members that are read: exactly one RFC 8259
// object, valid UTF-8, no lone surrogates, no repeated member name in any object, at most 64
// levels, 1,024 members an object, 1 MiB a line, a key of at most 64 KiB. A line that fails is an
// invalid line: it is reported with one reason from a closed list, and changes nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>
#include <pleat/engine.h>
#include <pleat/export.h>
#include <pleat/json_counts.h>
#include <pleat/json_hint.h>
#include <pleat/json_text.h>
#include <pleat/live_set_options.h>
#include <pleat/outcome.h>
#include <pleat/rollup_options.h>
#include <pleat/time.h>

namespace pleat::inline v0_1 {

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

  // The path of the event time: text, or a number in `time_unit`, also in quotes. Empty: events
  // have no time of their own, and whoever folds the lines stamps them.
  std::string time;
  TimeUnit time_unit = TimeUnit::kNotStated;

  // The zone of a text that states none: UTC, an offset such as "+01:00", or a name such as
  // "Europe/Berlin", whose data are read from $TZDIR or else /usr/share/zoneinfo, once for the
  // process. Of a time that a clock of the zone shows twice, the first is meant; one that it skips
  // is read by the offset before the change. Empty: UTC; see StampCounts::assumed_utc.
  std::string time_zone;

  // How the text is written, by the letters of strptime(3), such as "%d.%m.%Y %H:%M:%S"; %E*f reads
  // the digits of a fraction. Names of months and days are those of the program's locale. Empty:
  // RFC 3339, the same without a zone, common log format or RFC 2822.
  std::string time_format;

  // How far events may be out of order. Range: zero or more; above zero only with `time`.
  Duration reorder{0};

  // A line whose event time is further ahead of the engine's time than this is invalid.
  // Range: zero or more. Default: none is.
  Duration future_limit = kForever;

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

// A line that is neither blank nor excluded, nor an event that was simply folded.
struct UnusualLine {
  size_t index;           // among the lines of the text, blank ones included, from 0
  std::string_view text;  // without its newline
  LineResult result;      // its views are valid during the call that hands it over
};

// Called for every unusual line in order. Returns whether to go on.
using OnUnusualLine = absl::FunctionRef<bool(const UnusualLine&)>;

struct EventPlan;
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

}  // namespace pleat::inline v0_1
