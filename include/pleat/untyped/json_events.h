// JsonEvents reads events from lines of JSON for whoever keeps them by himself, such as in an
// EventStore: of each its line, and where that says so its key, its stamp and its id.
//
//   auto events = *pleat::JsonEvents::Open(spec);
//   pleat::JsonLines lines(events->plan());
//   lines.Read(text);
//   const auto keep = [&](const pleat::JsonEvent& event) { return Keep(event); };
//   events->Take(lines, now, keep, on_unusual);
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include <absl/functional/function_ref.h>
#include <absl/status/statusor.h>
#include <pleat/detail/export.h>
#include <pleat/json_lines.h>
#include <pleat/time.h>

namespace pleat::inline v0_1 {

// Ownership: views, valid until the JsonLines read the next text.
struct JsonEvent {
  int64_t index = 0;      // of the line, as UnusualLine::index
  std::string_view line;  // without white space around it
  // A string without its quotes and escapes, and any other scalar as the line has it. A key of
  // several fields: the canonical texts of all of them, joined by commas: "ann",42.
  std::string_view key;
  std::string_view id;  // likewise; empty if no path of it was given
  EngineTime at{};      // the event time; without a path of it, that of the call
};

// Thread safety: one thread at a time. Meanwhile other threads may read, each into a JsonLines of
// its own.
class PLEAT_EXPORT JsonEvents {
 public:
  // `id`: the path of the id, a scalar without which a line is invalid; empty: there is none.
  // REQUIRES: no bound of disorder and no future limit in `spec`.
  // Errors: kInvalidArgument, naming the option, if the spec or the path is not valid.
  static absl::StatusOr<std::unique_ptr<JsonEvents>> Open(const EventSpec& spec,
                                                          std::string_view id = {});
  ~JsonEvents();
  JsonEvents(const JsonEvents&) = delete;
  JsonEvents& operator=(const JsonEvents&) = delete;

  // Keeps an event. Returns why it can not be kept, which makes its line an invalid one; nothing if
  // it is kept. The text has to stay for the length of the call.
  using Keep = absl::FunctionRef<std::string_view(const JsonEvent& event)>;

  // Takes all lines that were read, in their order, until `on_unusual` says to stop.
  void Take(JsonLines& lines, EngineTime now, Keep keep, OnUnusualLine on_unusual);

  // The beginning of a line that is longer than a line may be.
  LineResult TakeLongLine(std::string_view beginning);

  // As those of a JsonFolder.
  void StartInput() noexcept;
  LineCounts counts() const noexcept;
  StampCounts stamps() const noexcept;
  std::vector<OptionPath> absent_paths() const;
  std::vector<OptionPath> asked_paths() const;
  const EventPlan& plan() const noexcept;

 private:
  class Impl;
  explicit JsonEvents(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace pleat::inline v0_1
