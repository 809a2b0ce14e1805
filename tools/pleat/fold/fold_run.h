// One run of `pleat fold`: folds lines, moves time on, writes the groups that have closed.
//
// Time. With --time the events move it, through the watermark. Without, an event happens when it is
// read: the clock is read once per block of lines, and while a pipe is silent the run sleeps until
// the engine's next deadline, so that emissions appear as they fall due.
//
// Emissions that wait to be popped do not count against --max-memory, so that the result of a run
// never depends on how the system cuts its input into reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include <pleat/engine.h>
#include <pleat/json.h>

#include "tools/pleat/fold/fold_options.h"
#include "tools/pleat/line_job.h"

namespace pleat::cli {

class FoldRun final : public LineJob {
 public:
  explicit FoldRun(const FoldOptions& options)
      : LineJob("fold", options, Result::kStreams), options_(options) {}

 private:
  absl::Status Open() override;
  std::vector<WantedOutput> Outputs() override;
  std::vector<NeededMember> Needed() const override { return NeededBy(options_.spec); }
  Tally tally() const override;

  void StartInput() override { folder_->StartInput(); }
  void StartBlock() override;
  Readers NewReaders() override;
  void TakeLines(Readers& readers) override;
  LineResult TakeLongLine(std::string_view beginning) override;
  void OnEvent(const UnusualLine& line);
  void OnRefused(size_t line_index);

  void HandOut() override { EmitUntil(on_event_time() ? engine_->now() : arrival()); }
  Duration OnSilence(Duration silent) override;
  void OnInputAgain(Duration silent) override;
  bool FollowsWall(Duration silent) const;
  EngineTime Present(Duration silent) const;
  Duration UntilDue(Duration silent) const;

  void EmitUntil(EngineTime now);
  void Emit();
  void WriteOpenGroups();
  void Finish() override;
  void Conclude() override;

  bool on_event_time() const { return !options_.spec.event.time.empty(); }

  const FoldOptions& options_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<JsonFolder> folder_;
  std::unique_ptr<OutputFile> open_groups_;
  std::unique_ptr<OutputFile> stats_;
  std::unique_ptr<OutputFile> late_;

  bool all_written_ = false;  // every emission, and the file has its name
  bool refusal_said_ = false;
  Few conflicts_;
};

}  // namespace pleat::cli
