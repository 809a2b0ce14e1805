// One run of `pleat fold`: folds lines, moves time on, writes the groups that have closed.
//
// Emissions that wait to be popped do not count against --max-memory, so that the result of a run
// never depends on how the system cuts its input into reads.
#pragma once

#include <string>
#include <string_view>

#include <pleat/json.h>

#include "tools/pleat/collection_job.h"
#include "tools/pleat/fold/fold_options.h"

namespace pleat::cli {

class FoldRun : public CollectionJob<FoldOptions, JsonFolder> {
 public:
  explicit FoldRun(const FoldOptions& options, const MonotoneClock& clock = MonotoneClock())
      : CollectionJob("fold", options, clock) {}

 private:
  absl::Status Open() override;
  Tally tally() const override;

  void TakeLines(Readers& readers) override;
  LineResult TakeLongLine(std::string_view beginning) override;
  void OnEvent(const UnusualLine& line) override;
  std::string ReachedLimit() const;

  void TookWaiting() override { PopAll(); }
  void WriteUntil(EngineTime now) override { PopUntil(now); }
  void Finish() override { FinishPopping(); }
  std::string LedgerSoFar() const override;
  std::string Summary(std::string_view fate) const override;
};

}  // namespace pleat::cli
