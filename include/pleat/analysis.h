// An Analyzer answers, from one pass over a log, what every quiet period of a grid would have done with it.
//
//   pleat::Analyzer analyzer({.max_hold = 1h});
//   for (const Event& event : log) analyzer.Add(event.key, event.at);
//   for (const pleat::AnalysisRow& row : analyzer.Finish().rows)
//     std::printf("%lld us: %.3f\n", row.quiet_period.count(), row.folding_ratio);
//
// Everything is told by gaps: an event folds if the watermark, when it comes, is less than a quiet period
// past the latest stamp of its key. So one look at a key settles it for all quiet periods longer than the
// gap, and for all shorter ones the key starts over. What differs between quiet periods is kept per key as
// a few ranges of the grid, each with the opening of its group: after a gap the short ones are one range
// again. (This is how Mattson's stack gives the hit ratio of every cache size in one pass: "Evaluation
// techniques for storage hierarchies", IBM Systems Journal 9(2), 1970. The groups open at a time are
// Denning's working set.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <absl/status/status.h>
#include <pleat/export.h>
#include <pleat/histogram.h>
#include <pleat/time.h>
#include <pleat/what_if.h>

namespace pleat::inline v0_1 {

inline constexpr size_t kGridPointsMax = 128;
inline constexpr size_t kGridPointsUsual = 24;

struct AnalyzerOptions {
  // Quiet periods, above zero, ascending, at most kGridPointsMax. Empty: kGridPointsUsual round ones, about
  // evenly spaced on a log scale over the range of the data, chosen at the end.
  std::vector<Duration> grid;

  // As for a folder on event time. Above zero; zero or more.
  Duration max_hold = kForever;
  Duration lateness{0};

  // What keys may take. Events that would take more are then left out, and counted.
  size_t max_bytes = size_t{4} << 30;
};

// Whether the options are in range. Errors: kInvalidArgument, naming the option.
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
  uint64_t events = 0;    // those analyzed
  uint64_t left_out = 0;  // past max_bytes, or of a key longer than kKeyBytesMax
  uint64_t keys = 0;
  uint64_t out_of_order = 0;  // events with a stamp before one that came earlier
  EngineTime first{};         // the smallest stamp and the largest
  EngineTime last{};
  std::vector<AnalysisRow> rows;  // ascending by quiet period
  GapHistogram gaps;  // microseconds; of each event but the first of its key. Below 0 counts as 0
  size_t bytes = 0;   // what the keys took at most
  Duration max_hold = kForever;  // as in the options

  Duration span() const noexcept { return events == 0 ? Duration{0} : last - first; }
};

// At a grid point folding_ratio and emissions are exactly those of a folder on event time with that quiet
// period, max_hold and lateness, without limits, whose open groups are flushed at the end. The delays are
// those of groups that run out, also at the end of the log; they are known to within a tenth of what they
// exceed the quiet period by. open_peak is counted after each event, without regard to max_hold, so that with
// one it can only be too high; a stamp that comes behind more than 256 later ones may make it too low.
//
// Cost of an event: a hash lookup, and a few steps for each row that it opens a group in. Memory: some 160
// bytes a key, and 32 for each further range of the grid that it is in; see bytes().
// Thread safety: distinct objects are independent; one object is for one thread at a time.
// REQUIRES: the options are in range, see Validate(); an assertion checks it.
class PLEAT_EXPORT Analyzer {
 public:
  explicit Analyzer(AnalyzerOptions options);
  Analyzer(Analyzer&&) noexcept;
  Analyzer& operator=(Analyzer&&) noexcept;
  ~Analyzer();

  // The next event of the log. Keys are any bytes up to kKeyBytesMax. Returns false if it was left out.
  bool Add(std::string_view key, EngineTime at);

  // What all events so far come to, with every open group closed. Only once.
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
