// One run of `pleat fold`: folds lines, moves time on, writes the groups that have closed.
//
// Emissions that wait to be popped do not count against --max-memory, so that the result of a run
// never depends on how the system cuts its input into reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <pleat/json.h>

#include "tools/pleat/engine_job.h"
#include "tools/pleat/fold/fold_options.h"
#include "tools/pleat/fold/summary.h"

namespace pleat::cli {

class FoldRun : public EngineJob {
 public:
  explicit FoldRun(const FoldOptions& options, const MonotoneClock& clock = MonotoneClock())
      : EngineJob("fold", options, clock), options_(options) {}

 private:
  absl::Status Open() override;
  Tally tally() const override;

  void StartInput() override { folder_->StartInput(); }
  void StartBlock() override;
  Readers NewReaders() override;
  void TakeLines(Readers& readers) override;
  LineResult TakeLongLine(std::string_view beginning) override;
  void OnEvent(const UnusualLine& line);
  std::string ReachedLimit() const;

  void WriteUntil(EngineTime now) override;
  void Emit();
  void CloseOpenGroups();
  void WriteOpenGroups();
  RunTotals Totals() const;
  std::string LedgerSoFar() const override { return StatsJson(Totals()); }
  void Finish() override;
  std::string Summary(std::string_view fate) const override {
    return HumanSummary(Totals(), effort(), fate);
  }
  void Advise() override { SayAdvice(folder_->absent_paths(), folder_->stamps()); }

  const FoldOptions& options_;
  std::unique_ptr<JsonFolder> folder_;
};

}  // namespace pleat::cli
