// FoldSpec: plain data that says what `pleat fold` says in flags, as a struct or as a JSON
// document.
//
//   pleat::FoldSpec spec;
//   spec.event.key = {{.name = "account_id", .path = "account_id"}};
//   spec.folder.quiet_period = 5min;
//   spec.merges = {{.name = "metrics", .reducer = pleat::Reducer::kKeys, .path = "metrics"}};
//
// The same as a document, for ParseFoldSpec():
//
//   {"key":"account_id","quiet":"5m","merge":"metrics=keys(metrics)"}
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <pleat/export.h>
#include <pleat/json_lines.h>
#include <pleat/json_text.h>
#include <pleat/options.h>
#include <pleat/time.h>

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

}  // namespace pleat::inline v0_1
