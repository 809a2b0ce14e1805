// One run of `pleat rollup`: adds lines to a rollup counter, moves time on, writes the windows that
// are final.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <pleat/json_rollup.h>

#include "tools/pleat/engine_job.h"
#include "tools/pleat/rollup/rollup_options.h"
#include "tools/pleat/rollup/rollup_summary.h"

namespace pleat::cli {

class RollupRun final : public EngineJob {
 public:
  explicit RollupRun(const RollupRunOptions& options, const MonotoneClock& clock = MonotoneClock())
      : EngineJob("rollup", options, clock), options_(options) {}

 private:
  absl::Status Open() override;
  Tally tally() const override;

  void StartInput() override { rollup_->StartInput(); }
  void StartBlock() override;
  Readers NewReaders() override;
  void TakeLines(Readers& readers) override;
  LineResult TakeLongLine(std::string_view beginning) override;
  void OnEvent(const UnusualLine& line);
  std::string ReachedLimit() const;

  void WriteUntil(EngineTime now) override;
  void Emit();
  void CloseOpenWindows();
  void WriteOpenWindows();
  RollupTotals Totals() const;
  std::string LedgerSoFar() const override { return StatsJson(Totals()); }
  void Finish() override;
  std::string Summary(std::string_view fate) const override {
    return HumanSummary(Totals(), effort(), fate);
  }
  void Advise() override { SayAdvice(rollup_->absent_paths(), rollup_->stamps()); }

  const RollupRunOptions& options_;
  std::unique_ptr<JsonRollup> rollup_;
};

}  // namespace pleat::cli
