// The conclusion of an analysis: a quiet period, its cost, and the reason for it.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <pleat/analysis.h>
#include <pleat/time.h>

namespace pleat::cli {

// The goal that was asked for. Without one the knee is recommended.
struct Goal {
  double target_ratio = 0;        // at least this folding ratio
  Duration max_delay = kForever;  // at the 99th percentile
};

struct Recommendation {
  enum class Kind {
    kKnee,  // beyond it a longer delay folds little more
    kGoal,  // the shortest quiet period that meets the target, or that folds most within max_delay
    kOutOfReach,   // no row meets the goal; `row` comes nearest
    kDoesNotFold,  // hardly anything folds, whatever the quiet period
  };
  Kind kind = Kind::kDoesNotFold;
  std::optional<size_t> row;  // of Analysis::rows; not of kDoesNotFold
  std::string why;            // for people: its cost, and the reason for it
  // Keys without a pause for 100 quiet periods, or for half of the log: they need a max wait. The
  // longest first.
  std::vector<Burst> never_quiet;
};

Recommendation Recommend(const Analysis& analysis, const Goal& goal);

// The result for one --key.
struct KeyAnalysis {
  std::string key;  // as it was given, e.g. "user" or "/id.orig_h,proto"; empty: all is one group
  std::unique_ptr<const Analysis> analysis;
  Recommendation recommended;
  bool compound = false;      // the key has several fields, or none
  uint64_t out_of_order = 0;  // events, as they came

  std::string shown() const { return key.empty() ? "all events" : key; }
};

}  // namespace pleat::cli
