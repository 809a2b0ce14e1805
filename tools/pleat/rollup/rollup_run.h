// One run of `pleat rollup`: adds lines to a rollup counter, moves time on, writes the windows that
// are final.
#pragma once

#include <string>
#include <string_view>

#include <pleat/json_rollup.h>

#include "tools/pleat/collection_job.h"
#include "tools/pleat/rollup/rollup_options.h"

namespace pleat::cli {

class RollupRun final : public CollectionJob<RollupRunOptions, JsonRollup> {
 public:
  explicit RollupRun(const RollupRunOptions& options, const MonotoneClock& clock = MonotoneClock())
      : CollectionJob("rollup", options, clock) {}

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
