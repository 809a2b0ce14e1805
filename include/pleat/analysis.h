// What other quiet periods would do: an Analyzer tells it of a log, GapStats (stats.h) of a running
// collection.
//
//   pleat::Analyzer analyzer({.max_wait = 1h});
//   for (const Event& event : log) analyzer.Add(event.key, event.at);
//   const auto analysis = std::move(analyzer).Finish();
//   for (const pleat::AnalysisRow& row : analysis->rows)
//     std::cout << row.quiet_period.count() << " us: " << row.folding_ratio << "\n";
//
//   pleat::Folder<Edit, Edits> edits(
//       *engine, "edits", {.quiet_period = 5min, .max_wait = 1h, .measure = {.gap_stats = true}});
//   ...
//   const auto stats = edits.gap_stats();
//   for (const auto quiet : {30s, 1min, 5min, 20min}) Print(stats->WhatIf(quiet));
//
// An event folds if its gap, from the latest stamp of its key to the watermark when it comes, is
// shorter than the quiet period. So one look at a key decides for all quiet periods at once: the
// longer ones fold the event, and for the shorter ones the key begins a new group. An Analyzer
// needs no more for a key than a few ranges of its grid of quiet periods, each with the opening of
// its group; after a gap the short quiet periods are one range again. Mattson's stack gives the hit
// ratio of every cache size in one pass in the same way ("Evaluation techniques for storage
// hierarchies", IBM Systems Journal 9(2), 1970); the groups open at a time are Denning's working
// set. For GapStats the histogram of gaps tells the folding ratio of every quiet period, to within
// a tenth of a percentage point.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <absl/status/status.h>
#include <pleat/detail/export.h>
#include <pleat/stats.h>
#include <pleat/time.h>

namespace pleat::inline v0_1 {

inline constexpr size_t kGridPointsMax = 128;
inline constexpr size_t kGridPointsUsual = 24;

struct AnalyzerOptions {
  // Quiet periods in ascending order, above zero, at most kGridPointsMax. Empty: kGridPointsUsual
  // round ones, chosen at the end, evenly spaced on a log scale over the range of the data.
  std::vector<Duration> grid = {};

  // As for a folder on event time.
  // Range: max_wait above zero, watermark delay zero or more.
  Duration max_wait = kForever;
  Duration watermark_delay{0};

  // The most bytes that keys may take. Events that would take more are left out, and counted.
  size_t max_bytes = size_t{4} << 30;
};

// Whether the options are in range.
// Errors: kInvalidArgument for an option out of range, which the message names.
PLEAT_EXPORT absl::Status Validate(const AnalyzerOptions& options);

// One group that stands out.
struct Burst {
  std::string key;
  uint64_t events = 0;
  EngineTime opened;
  Duration lasted{0};  // until its last event

  friend bool operator==(const Burst&, const Burst&) = default;
};
inline constexpr size_t kBurstsKept = 10;

struct AnalysisRow : WhatIfRow {
  std::vector<Burst> biggest;  // the biggest burst of each of kBurstsKept keys, biggest first
  std::vector<Burst> longest;  // likewise, longest first
};

struct Analysis {
  // The events that were analyzed; and those left out, past max_bytes or with a key longer than
  // kKeyBytesMax.
  uint64_t events = 0;
  uint64_t left_out = 0;

  uint64_t keys = 0;

  // Events with a stamp before that of an event that came earlier.
  uint64_t out_of_order = 0;

  // The smallest stamp and the largest.
  EngineTime first{};
  EngineTime last{};

  // Ascending by quiet period.
  std::vector<AnalysisRow> rows;

  // In microseconds, of each event but the first of its key. A gap below zero counts as zero.
  GapHistogram gaps;

  // The most bytes that keys took.
  size_t bytes = 0;

  // As in the options.
  Duration max_wait = kForever;

  Duration span() const noexcept { return events == 0 ? Duration{0} : last - first; }
};

// The folding ratio and the emissions of a grid point are exactly those of a folder on event time
// with that quiet period, max_wait and watermark delay, without limits, whose open groups are
// flushed at the end. Delays are those of groups that run out, also past the end of the log, to
// within a tenth of the part that exceeds the quiet period. open_peak is counted after each event
// as if there were no max_wait, so with one it can be too high; stamps that come behind more than
// 256 later ones may make it too low.
//
// Cost of an event: a hash lookup, and a few steps for each row that it opens a group in.
// Memory: some 160 bytes a key, and 32 for each further range of the grid that it is in; see
// bytes().
// Thread safety: distinct objects are independent. One object is for one thread at a time.
// REQUIRES: the options are in range, see Validate(); an assertion checks that.
class PLEAT_EXPORT Analyzer {
 public:
  explicit Analyzer(AnalyzerOptions options);
  Analyzer(Analyzer&&) noexcept;
  Analyzer& operator=(Analyzer&&) noexcept;
  ~Analyzer();

  // Adds the next event of the log. A key is any bytes, up to kKeyBytesMax. Returns false if the
  // event was left out.
  bool Add(std::string_view key, EngineTime at);

  // Moves the watermark to `now`, or leaves it if it is later already: what Engine::Advance() is to
  // a folder.
  void Advance(EngineTime now) noexcept;

  // The analysis of all events, with every open group closed. REQUIRES: called once.
  std::unique_ptr<const Analysis> Finish() &&;

  EngineTime now() const noexcept;  // the watermark; kBeginningOfTime before the first event
  uint64_t events() const noexcept;
  uint64_t left_out() const noexcept;
  uint64_t keys() const noexcept;
  size_t bytes() const noexcept;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace pleat::inline v0_1
