// One run of `pleat fold`: folds lines, moves time on, writes what has closed. The lines come from a
// BlockQueue, which may have threads; all else is done by the thread that called Run().
//
// Time. With --time the events move it, through the watermark. Without, an event happens when it is
// read: the clock is read once per block of lines, and while a pipe is silent the run sleeps until
// the engine's next deadline, so that emissions appear as they fall due.
//
// Emissions are popped after every kBytesPerSettle of input, and whenever a live input is silent.
// What waits to be popped does not count against --max-memory, so that what a run comes to never
// depends on how the system cuts its input into reads.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <absl/status/status.h>
#include <pleat/engine.h>
#include <pleat/json.h>

#include "tools/pleat/block_queue.h"
#include "tools/pleat/clock.h"
#include "tools/pleat/fold/fold_options.h"
#include "tools/pleat/fold/fold_outputs.h"
#include "tools/pleat/input.h"
#include "tools/pleat/line_reader.h"
#include "tools/pleat/progress.h"
#include "tools/pleat/unusable_input.h"

namespace pleat::cli {

class FoldRun final : private InputWaiter {
 public:
  explicit FoldRun(const FoldOptions& options);

  // Returns the exit code. Everything there is to say has then been said on standard error.
  int Run();

 private:
  // Why reading ended. All but the first two leave the run incomplete: what is open stays so, and a
  // file given by --output does not appear.
  enum class Stop { kEndOfInput, kInterrupted, kBadLine, kNoUnit, kFailed, kReaderGone };

  absl::Status Open();
  void FoldInputs();
  void FoldInput(const std::string& path, BlockQueue& blocks);
  void FoldLines(JsonLines& lines);
  void FoldLongLine(LineBlock::Kind kind, std::string_view text);
  void OnUnusualLine(const LineResult& result);
  void OnBadLine(std::string_view reason);
  void OnConflict(std::string_view reason);
  void OnRefused();

  bool AwaitInput(int fd) override;
  EngineTime WallNow();
  Duration TimeToSleep(EngineTime now, EngineTime silent_since, bool woke_for_nothing) const;
  bool FollowsWall(EngineTime now, EngineTime silent_since) const;

  void Settle(EngineTime now);
  void SettleAndFlush(EngineTime now);
  void Emit();
  void WriteOpenGroups();
  void Finish();
  int Report();

  bool on_event_time() const { return !options_.spec.time.empty(); }
  bool no_line_usable() const {
    return folder_->counts().lines > 0 && folder_->counts().events == 0;
  }
  bool emits_to_stdout() const { return outputs_.emissions().fd() == STDOUT_FILENO; }
  bool stopped() const { return stop_ != Stop::kEndOfInput; }
  void StopFor(const absl::Status& status);  // nothing if it is OK
  void Say(const std::string& line);
  std::string Here() const;  // "file:line: "
  void ShowProgress();

  const FoldOptions& options_;
  MonotoneClock clock_;
  ReadCount read_;
  Progress progress_;
  FoldOutputs outputs_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<JsonFolder> folder_;

  Stop stop_ = Stop::kEndOfInput;
  bool all_written_ = false;  // every emission, and the file has its name
  std::string failure_;       // to read or to write; already said
  std::string input_name_;
  uint64_t line_number_ = 0;
  size_t bytes_since_settle_ = 0;
  EngineTime now_ = kBeginningOfTime;  // of the block under way, without --time
  uint64_t bad_lines_ = 0;
  UnusableInput unusable_;
  uint64_t conflicts_ = 0;
  bool refusal_said_ = false;
};

}  // namespace pleat::cli
