// What one thread of `pleat run` does: a processor over a share of the partitions reads, folds and
// commits; messages are written, and acked when they stay.
#pragma once

#include <memory>
#include <vector>

#include <absl/status/statusor.h>
#include <pleat/processor.h>

#include "tools/pleat/clock.h"
#include "tools/pleat/run/run_handler.h"
#include "tools/pleat/run/run_log.h"
#include "tools/pleat/run/run_options.h"
#include "tools/pleat/run/shared_run.h"

namespace pleat::cli {

class RunShare {
 public:
  // The share of that number, from 0. Borrows all but `log`.
  RunShare(int number, const RunOptions& options, RunLog log, SharedRun& shared,
           const MonotoneClock& clock);

  // Works until the run ends, or all is done that it is to do: then the partitions are left.
  // `beside` is called between two rounds.
  void Work(const std::function<void()>& beside);

  // By any thread.
  std::vector<LaneStatus> lanes() const { return processor_.lanes(); }

 private:
  bool Round();
  absl::StatusOr<bool> Deliver();
  bool IsIdle(const std::vector<LaneStatus>& lanes) const;
  void CommitAcks();
  void Leave();

  const int number_;
  const RunOptions& options_;
  SharedRun& shared_;
  const MonotoneClock& clock_;
  RunCounts counts_;
  RunLog log_;
  Processor processor_;
  int idle_ = 0;  // rounds in a row
};

}  // namespace pleat::cli
