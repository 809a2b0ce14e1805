// The file of `pleat run --metrics`: how a run and its lanes stand, for Prometheus.
#pragma once

#include <string>
#include <vector>

#include <absl/status/status.h>
#include <pleat/processor.h>
#include <pleat/time.h>

#include "tools/pleat/run/run_handler.h"
#include "tools/pleat/run/run_options.h"

namespace pleat::cli {

class RunMetrics {
 public:
  explicit RunMetrics(const RunOptions& options) : options_(options) {}

  // Whether the file is to be written anew, so long after the start of the run.
  bool Due(Duration elapsed) const { return !options_.metrics_file.empty() && elapsed >= next_; }
  // Replaces the file as a whole. Errors: it stays as it was.
  absl::Status Write(const RunCounts& counts, uint64_t written, std::vector<LaneStatus> lanes,
                     Duration elapsed);

 private:
  void AddEnds(std::vector<LaneStatus>& lanes) const;

  const RunOptions& options_;
  Duration next_{0};
};

}  // namespace pleat::cli
