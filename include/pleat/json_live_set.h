// JsonLiveSet: newline-delimited JSON in, the members of live sets out, as lines of JSON.
//
// A JsonLiveSet is a LiveSet (live_set.h) in an Engine whose events are lines of text, as a
// LiveSetSpec says.
//
//   pleat::LiveSetSpec spec;
//   spec.event.key = {{.name = "project", .path = "project"}};    // the series
//   spec.member.id = {{.name = "user", .path = "user"}};
//   spec.live_set.ttl = 24h;
//   auto engine = *pleat::Engine::Open(pleat::EngineOptionsFor(spec.event));
//   auto live = *pleat::JsonLiveSet::Open(*engine, "contributors", spec);
//   live->WatchChanges();
//   live->Add(lines, SIZE_MAX, now, [](const pleat::UnusualLine& line) { return Report(line); });
//   live->TakeChanges(/*refreshes=*/false, [](std::string_view lines) { Write(lines); });
//
// What a valid line is, and how several threads read lines: json_lines.h.
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
#include <pleat/live_set_options.h>
#include <pleat/time.h>

namespace pleat::inline v0_1 {

// Where an event says which member of its series it is about.
struct MemberSpec {
  // The members of the line that form the id, each a scalar. None: each event is a member by
  // itself, so that a series counts the events of the last TTL. Then nothing below may be given.
  std::vector<KeyField> id;

  // The path of a TTL of the member's own: a duration as text. If it is absent or null, the TTL of
  // the live set holds; anything else makes the line invalid.
  std::string ttl_path;

  // The path of the member's version, a whole number. Absent or null: it has none.
  std::string version;

  // The event ends the member, and is no event of the member itself.
  Condition remove_when;
};

// Plain data that says what `pleat live` says in flags.
struct LiveSetSpec {
  EventSpec event;  // its key is the series
  MemberSpec member;

  // The path of the payload, any value. Empty: members have none.
  std::string payload;

  // Required: ttl.
  LiveSetOptions live_set{.limits = {.max_per_series = SIZE_MAX}};
};

// Whether the spec is complete and consistent: key, member and TTL given, paths well formed, output
// names distinct and none of them one that every line has. Errors: kInvalidArgument, naming the
// option.
PLEAT_EXPORT absl::Status Validate(const LiveSetSpec& spec);

// As those of a FoldSpec (json.h).
PLEAT_EXPORT absl::Status SetOption(LiveSetSpec& spec, std::string_view name,
                                    std::string_view text);
PLEAT_EXPORT std::vector<std::pair<std::string, std::string>> OptionsOf(const LiveSetSpec& spec);

// A stretch of time that counts are asked for, and its name in the output: "5m".
struct WithinSpan {
  std::string name;
  Duration length{0};

  friend bool operator==(const WithinSpan&, const WithinSpan&) = default;
};

// Which series are counted, and how.
struct CountSpec {
  size_t top = SIZE_MAX;           // only so many series, those with the largest counts
  std::vector<WithinSpan> within;  // none longer than the TTL
};

// Thread safety: the calls that add, and those that take changes, from one thread at a time; the
// rest from any.
// Ownership: borrows the engine, which must outlive it.
class PLEAT_EXPORT JsonLiveSet {
 public:
  using WriteLines = absl::FunctionRef<void(std::string_view lines)>;

  // Creates the collection `name` in the engine, which must have been opened with
  // EngineOptionsFor(spec.event) or options that agree with it in axis, watermark delay and future
  // limit. Errors: as Validate(), and as AnyLiveSet::Open().
  static absl::StatusOr<std::unique_ptr<JsonLiveSet>> Open(Engine& engine, std::string_view name,
                                                           const LiveSetSpec& spec);
  // The same for a collection of the intake's engine that gets its lines by the intake
  // (json_intake.h). Errors: also kInvalidArgument, naming the option, where the spec does not
  // agree with that of the intake; kFailedPrecondition if the intake has had a line.
  static absl::StatusOr<std::unique_ptr<JsonLiveSet>> Open(JsonIntake& intake,
                                                           std::string_view name,
                                                           const LiveSetSpec& spec);
  ~JsonLiveSet();
  JsonLiveSet(const JsonLiveSet&) = delete;
  JsonLiveSet& operator=(const JsonLiveSet&) = delete;

  // Adds up to `max` further lines that were read by plan(), as JsonFolder::Fold(). Unusual are
  // lines that are invalid, lack a unit or remove a member, and events that are late, over limit or
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

  // On event time: `on_time` is called before a line moves the engine's time to `now`, unless that
  // is before the instant that the last call has returned. What the line does comes after the call:
  // so on_time may move the engine's time to `now` in steps, and look around at each of them.
  // `line` is its index, as that of an UnusualLine; 0 in AddLine().
  using OnTime = std::function<EngineTime(EngineTime now, int64_t line)>;
  void SetOnTime(OnTime on_time);

  // Tells the live set that later lines come from another input, for StampCounts::behind_input.
  void StartInput() noexcept;

  // From now on changes are kept for TakeChanges(), the latest live_set.max_changes of them.
  // Changes are in no snapshot: take them before one is taken, and watch after it was restored.
  void WatchChanges() noexcept;

  // Ends the members that are due by the engine's time, and hands a line for each change since the
  // last call to `write`, some at a time, in order; those of cause "refreshed" only if wanted.
  // Errors: kResourceExhausted if there were so many since that some are gone. Those that one
  // Advance(now, 0) makes due do not count, however many they are.
  absl::Status TakeChanges(bool refreshes, WriteLines write);

  // The same, each by itself with its series, as JsonFolder::PopEach().
  using EachLine = absl::FunctionRef<void(std::string_view key, std::string_view line)>;
  absl::Status TakeChanges(bool refreshes, EachLine each);

  // Hands a line for each series that is not empty at `at` to `write`: in the order in which they
  // became non-empty, or of the top ones the largest first. REQUIRES: `at` is not before the
  // engine's time.
  void WriteCounts(EngineTime at, const CountSpec& counts, WriteLines write) const;

  // Hands a line for each live member to `write`: by series, and then by stamp.
  void WriteLive(WriteLines write) const;

  LineCounts counts() const noexcept;
  StampCounts stamps() const noexcept;
  LiveSetLedger ledger() const noexcept;
  LiveSetSizes sizes() const noexcept;

  // As JsonFolder's.
  std::vector<OptionPath> absent_paths() const;
  std::vector<OptionPath> asked_paths() const;
  const EventPlan& plan() const noexcept;

 private:
  class Impl;
  explicit JsonLiveSet(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

}  // namespace pleat::inline v0_1
