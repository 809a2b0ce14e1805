// A LineJob whose events go into an engine: it moves the engine's time, and writes results as they
// fall due. A command derives from it and says what there is to write.
//
// Time. With --time the events move it, through the watermark. Without, an event happens when it is
// read: the clock is read once per block of lines, and while a pipe is silent the run sleeps until
// something falls due. With --time and --idle the watermark follows the clock while a pipe is
// silent.
//
// With --state the clock of the directory never goes back. A clock that is behind it goes on from
// there; one that is too far ahead ends the run before anything is changed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <pleat/engine.h>
#include <pleat/time.h>

#include "tools/pleat/job_options.h"
#include "tools/pleat/line_job.h"
#include "tools/pleat/run_state.h"
#include "tools/pleat/spec_document.h"
#include "tools/pleat/summary_text.h"

namespace pleat::cli {

// What becomes of the open groups, windows and members at the end of the input.
enum class AtEnd : uint8_t { kFlush, kDrop, kKeep };

// By how much the clock may be ahead of that of a directory. As a Driver's.
inline constexpr Duration kMaxForwardJump = std::chrono::days(7);

// The options that such commands have besides those of all.
struct EngineJobOptions : JobOptions {
  Duration idle = kForever;
  AtEnd at_end = AtEnd::kFlush;
  std::string state_directory;  // empty: none
  std::optional<SnapshotEvery> snapshot_every;
  Duration max_forward_jump = kMaxForwardJump;
  std::string late_file;  // these files: empty means none
  std::string open_file;
  std::string stats_file;  // "-" is stderr

  bool print_spec = false;  // belongs to one call

  // All options of the specs, and their texts.
  std::vector<OptionText> spec_texts;

  bool has_time() const { return !event.time.empty(); }
};

// As CommonFlag() of JobOptions. Such commands also share late, open, idle, at-end, state,
// snapshot-every, max-forward-jump, stats and print-spec.
Flag CommonFlag(EngineJobOptions& options, std::string_view name, std::string_view help = {});

// What else than --time may make use of a zone, a unit and a format.
struct TimeUse {
  bool states_times = false;  // events say when something happens, but for themselves
  bool asks_clock = false;    // something happens by the clock of the zone
};

// Refuses options about time and about the state directory that would have no effect.
absl::Status CheckEffects(const EngineJobOptions& options, TimeUse use = {});

class EngineJob : public LineJob {
 protected:
  EngineJob(std::string_view command, const EngineJobOptions& options, const MonotoneClock& clock)
      : LineJob(command, options, Result::kStreams, clock), command_(command), options_(options) {}

  // Opens the engine that the options ask for.
  absl::Status OpenEngine();
  // Goes on where the state directory stands, if there is one. Once, when the engine has its
  // collections.
  absl::Status Recover();
  // By how much the clock was behind that of the directory. Nothing if time follows no clock, or
  // there is no directory.
  std::optional<Duration> clock_behind() const { return clock_behind_; }
  std::string_view command() const { return command_; }
  Engine& engine() const { return *engine_; }
  bool on_event_time() const { return options_.has_time(); }

  // Moves time to `now`, or leaves it if it is later already, and writes what is final by then.
  virtual void WriteUntil(EngineTime now) = 0;
  // Before that, when the watermark follows the clock: takes the lines that have waited until `now`.
  virtual void TakeUntil(EngineTime now) = 0;
  // Appends results to --output, and so has the run go on.
  absl::Status AppendResults(std::string_view lines);
  // How many lines of results have been written, also by the runs that this one goes on with.
  uint64_t results() const { return results_; }
  void AddResults(uint64_t lines) { results_ += lines; }
  // When WriteUntil() may find the next one.
  virtual std::optional<EngineTime> NextDue() const { return engine_->NextDeadline(); }
  // The smallest stamp of a line that waits for its turn.
  virtual std::optional<EngineTime> NextWaiting() const = 0;

  // What becomes of that which is open when the input has ended.
  AtEnd at_end() const { return Keeps(interrupted()) ? AtEnd::kKeep : options_.at_end; }

  // --open, --stats and --late.
  std::vector<WantedOutput> Outputs() override;
  // With a state directory, outputs are written in place and go on where the directory stands.
  OutputFile::Mode OutputMode() const override;
  absl::StatusOr<uint64_t> KeptBytes(const std::string& path) const override;
  absl::Status OutputsOpened() override;
  absl::Status CheckInputs() override;
  absl::StatusOr<InputStart> BeginInput(const std::string& path) override;
  absl::Status CheckOpened(const struct stat& info) override;
  bool KeepsWhatWasRead() const override { return run_state_ != nullptr; }
  absl::Status ReadPast(LineReader& reader) override {
    return run_state_->inputs().ReadPast(reader);
  }
  void Took(const LineBlock& block, uint64_t lines) override;
  void BetweenLines() override;
  void EndInput(bool unfinished) override;
  UnfinishedEnd EndOfFile(bool interrupted) const override {
    return Keeps(interrupted) ? UnfinishedEnd::kLeft : UnfinishedEnd::kTaken;
  }
  void HandOut() override { WriteUntil(on_event_time() ? engine_->now() : arrival()); }
  Duration OnSilence(Duration silent) override;
  void OnInputAgain(Duration silent) override;

  // The engine's time while the input has been silent for so long.
  EngineTime Present(Duration silent) const;
  void WriteInSilence(Duration silent);

  // Files that were not asked for are null.
  OutputFile* open_file() const { return keeps_open_file() ? nullptr : open_file_.get(); }
  OutputFile* late_file() const { return late_file_.get(); }

  // Gives the files of --output and --open their names, and takes the last snapshot.
  // `flushed`: all that was open was closed. REQUIRES: all was read.
  void CommitFiles(bool flushed);
  // That of this run.
  RunEffort effort() const {
    return {tally().lines.lines - lines_before_, bytes_read(), elapsed()};
  }

  // Says that the event of the line was refused because `limit` was reached, if it is the first; or
  // that it conflicts with an earlier one of its id, if it is one of the first that do.
  void SayRefused(int64_t line_index, std::string_view limit);
  void SayConflict(const UnusualLine& line);

  // The ledger of the command as one JSON object, a line.
  virtual std::string LedgerSoFar() const = 0;
  std::string StatsSoFar() const final;

  // The summary for people; `fate`: of the output, such as "written". Behind it comes SayAdvice().
  virtual std::string Summary(std::string_view fate) const = 0;
  virtual void Advise() = 0;
  void Conclude() override;

 private:
  // No file of the state directory is overwritten by an output.
  absl::Status CheckOutputsApart();
  // Whether that which is open stays for the next run.
  bool Keeps(bool interrupted) const {
    return run_state_ != nullptr && (interrupted || options_.at_end == AtEnd::kKeep);
  }
  void WriteStats(std::string_view stats);
  void SayRunState();
  bool follows_clock() const;
  absl::Status GoOnWithClock();
  bool moves_clock_alone() const;
  bool FollowsWall(Duration silent) const;
  Duration UntilDue(Duration silent) const;
  SnapshotEvery every() const { return options_.snapshot_every.value_or(SnapshotEvery{}); }
  // Whether an earlier run has closed all that was open, and this one has read nothing: then the
  // file of --open is that run's.
  bool keeps_open_file() const { return run_state_ != nullptr && run_state_->note().flushed; }
  // Those whose length is kept, by their paths; null if they were not asked for.
  std::array<std::pair<std::string, OutputFile*>, 3> KeptOutputs();
  void TakeSnapshot(bool flushed);

  const std::string_view command_;
  const EngineJobOptions& options_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<RunState> run_state_;  // null: none
  std::optional<Duration> clock_behind_;
  uint64_t lines_before_ = 0;  // read by earlier runs
  uint64_t results_ = 0;
  bool snapshot_failed_ = false;  // the last one
  bool failure_said_ = false;     // of a snapshot
  std::unique_ptr<OutputFile> open_file_;
  std::unique_ptr<OutputFile> stats_file_;
  std::unique_ptr<OutputFile> late_file_;
  bool all_written_ = false;  // every result, and the file has its name
  bool refusal_said_ = false;
  Few conflicts_;
};

}  // namespace pleat::cli
