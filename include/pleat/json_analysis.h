// A JsonAnalyzer feeds an Analyzer with lines of JSON: of each it takes the key and the event time.
//
//   pleat::FoldSpec spec;
//   spec.key = {{.name = "user", .path = "user"}};
//   spec.time = "time";
//   auto analyzer = *pleat::JsonAnalyzer::Open(spec, {.max_hold = 1h});
//   pleat::JsonLines lines(*analyzer);
//   while (NextText(text)) lines.Read(text), analyzer->Add(lines, on_unusual);
//   for (const auto& row : std::move(*analyzer).Finish()->rows) Print(row);
#pragma once

#include <memory>

#include <absl/status/statusor.h>
#include <pleat/analysis.h>
#include <pleat/export.h>
#include <pleat/json.h>

namespace pleat::inline v0_1 {

// A Burst's key is the texts of the key fields, as in the lines but canonical, joined by commas:
// "ann",42.
//
// Thread safety: one thread at a time; but any may read into a JsonLines of its own meanwhile.
class PLEAT_EXPORT JsonAnalyzer {
 public:
  // Of `spec` what counts is key, time, time_unit, future_limit, and lateness, which goes before
  // that of `options`.
  // Errors: kInvalidArgument if there is no key or no time, a path is not well formed, or an option
  // is out of range, naming it.
  static absl::StatusOr<std::unique_ptr<JsonAnalyzer>> Open(const FoldSpec& spec,
                                                            AnalyzerOptions options);
  ~JsonAnalyzer();
  JsonAnalyzer(const JsonAnalyzer&) = delete;
  JsonAnalyzer& operator=(const JsonAnalyzer&) = delete;

  // Analyzes all lines that were read. Lines that are bad or without a unit go to `on_unusual`,
  // first those beyond the future limit, as long as it returns true.
  void Add(JsonLines& lines, OnUnusualLine on_unusual);

  // A line by itself, for instance the beginning of one that is too long. As
  // JsonFolder::FoldLine().
  LineResult AddLine(std::string_view line);

  LineCounts counts() const noexcept;
  const Analyzer& analyzer() const noexcept;

  // As Analyzer::Finish(). Only once.
  std::unique_ptr<const Analysis> Finish() &&;

 private:
  friend class JsonLines;
  class Impl;
  explicit JsonAnalyzer(std::unique_ptr<Impl> impl);
  const FoldPlan& plan() const noexcept;
  std::unique_ptr<Impl> impl_;
};

}  // namespace pleat::inline v0_1
