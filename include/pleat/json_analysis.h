// A JsonAnalyzer feeds an Analyzer with lines of JSON: of each it takes the key and the event time.
//
//   pleat::EventSpec spec;
//   spec.key = {{.name = "user", .path = "user"}};
//   spec.time = "time";
//   auto analyzer = *pleat::JsonAnalyzer::Open(spec, {.max_wait = 1h});
//   pleat::JsonLines lines(analyzer->plan());
//   while (NextText(text)) lines.Read(text), analyzer->Add(lines, on_unusual);
//   for (const auto& row : std::move(*analyzer).Finish()->rows) Print(row);
#pragma once

#include <memory>

#include <absl/status/statusor.h>
#include <pleat/analysis.h>
#include <pleat/detail/export.h>
#include <pleat/json_lines.h>

namespace pleat::inline v0_1 {

// The key of a Burst is the canonical texts of the key fields, joined by commas: "ann",42.
//
// Thread safety: one thread at a time. Meanwhile other threads may read, each into a JsonLines of
// its own.
class PLEAT_EXPORT JsonAnalyzer {
 public:
  // Lines that are out of order are brought in order, as far as EventSpec::reorder says; the
  // watermark delay of `options` does not count. Errors: kInvalidArgument, naming the option, if
  // the spec is not valid or has no time, or an option is out of range.
  static absl::StatusOr<std::unique_ptr<JsonAnalyzer>> Open(const EventSpec& spec,
                                                            AnalyzerOptions options);
  ~JsonAnalyzer();
  JsonAnalyzer(const JsonAnalyzer&) = delete;
  JsonAnalyzer& operator=(const JsonAnalyzer&) = delete;

  // Analyzes all lines that were read. Calls `on_unusual` for each line that is invalid or lacks a
  // unit, as long as it returns true: first for the lines beyond the future limit, then for the
  // others.
  void Add(JsonLines& lines, OnUnusualLine on_unusual);

  // A line by itself, for instance the beginning of one that is too long. As
  // JsonFolder::FoldLine().
  LineResult AddLine(std::string_view line);

  LineCounts counts() const noexcept;
  // Events that came behind one with a later stamp. Analysis::out_of_order counts only those that
  // EventSpec::reorder did not bring in order.
  uint64_t out_of_order() const noexcept;
  const Analyzer& analyzer() const noexcept;
  bool assumed_utc() const noexcept;  // as StampCounts::assumed_utc

  // As Analyzer::Finish(), of all lines, also those that wait for their turn. Only once.
  std::unique_ptr<const Analysis> Finish() &&;

  // Reads lines for this analyzer: JsonLines lines(analyzer->plan()).
  const EventPlan& plan() const noexcept;

 private:
  class Impl;
  explicit JsonAnalyzer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace pleat::inline v0_1
