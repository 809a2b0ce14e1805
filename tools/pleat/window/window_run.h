// One run of `pleat window`: adds lines to a live window, moves time on, and writes the changes, or
// at every multiple of --every the counts.
//
// Whenever time moves, the run stops at each instant that matters and looks: at a multiple of
// --every, or when members fall due. What a line does comes after that. A jump past very many
// multiples leaves out their counts, because one wrong stamp must not print lines without end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <pleat/json_window.h>

#include "tools/pleat/engine_job.h"
#include "tools/pleat/window/window_options.h"
#include "tools/pleat/window/window_summary.h"

namespace pleat::cli {

class WindowRun final : public EngineJob {
 public:
  explicit WindowRun(const WindowRunOptions& options, const MonotoneClock& clock = MonotoneClock())
      : EngineJob("window", options, clock), options_(options) {}

 private:
  absl::Status Open() override;
  Tally tally() const override;

  void StartInput() override { window_->StartInput(); }
  void StartBlock() override;
  Readers NewReaders() override;
  void TakeLines(Readers& readers) override;
  LineResult TakeLongLine(std::string_view beginning) override;
  void OnEvent(const UnusualLine& line);
  std::string ReachedLimit() const;

  void WriteUntil(EngineTime now) override;
  std::optional<EngineTime> NextDue() const override;
  // What is live stays so for the next run, as at a signal.
  UnfinishedEnd EndOfFile(bool /*interrupted*/) const override {
    return EngineJob::EndOfFile(/*interrupted=*/true);
  }
  EngineTime NextHalt() const;

  void WriteChanges();
  bool IsTooFar(EngineTime now) const;
  void WriteCountsUpTo(EngineTime now, std::optional<size_t> line = {});
  void SayLeftOut(EngineTime now, std::optional<size_t> line);
  void Write(std::string_view lines);
  void WriteLive();
  WindowTotals Totals() const;
  std::string LedgerSoFar() const override { return StatsJson(Totals()); }
  void Finish() override;
  std::string Summary(std::string_view fate) const override {
    return HumanSummary(Totals(), effort(), fate);
  }
  void Advise() override { SayAdvice(window_->absent_paths(), window_->stamps()); }

  const WindowRunOptions& options_;
  std::unique_ptr<JsonWindow> window_;
  Few left_out_;  // jumps whose counts are
};

}  // namespace pleat::cli
