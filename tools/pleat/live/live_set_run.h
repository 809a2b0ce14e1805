// One run of `pleat live`: adds lines to a live set, moves time on, and writes the changes, or
// at every multiple of --every the counts.
//
// Whenever time moves, the run stops at each instant that matters and looks: at a multiple of
// --every, or when members fall due. What a line does comes after that. A jump past very many
// multiples leaves out their counts, because one wrong stamp must not print lines without end.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <pleat/json_live_set.h>

#include "tools/pleat/collection_job.h"
#include "tools/pleat/live/live_set_options.h"

namespace pleat::cli {

class LiveSetRun final : public CollectionJob<LiveSetRunOptions, JsonLiveSet> {
 public:
  explicit LiveSetRun(const LiveSetRunOptions& options,
                      const MonotoneClock& clock = MonotoneClock())
      : CollectionJob("live", options, clock) {}

 private:
  absl::Status Open() override;
  Tally tally() const override;

  void StartBlock() override;
  void TakeLines(Readers& readers) override;
  LineResult TakeLongLine(std::string_view beginning) override;
  void OnEvent(const UnusualLine& line) override;
  void TookWaiting() override;
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
  void WriteCountsUpTo(EngineTime now, std::optional<int64_t> line = {});
  void SayLeftOut(EngineTime now, std::optional<int64_t> line);
  void Write(std::string_view lines);
  void WriteLive();
  void Finish() override;
  std::string LedgerSoFar() const override;
  std::string Summary(std::string_view fate) const override;

  Few left_out_;  // jumps whose counts are
};

}  // namespace pleat::cli
