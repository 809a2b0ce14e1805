// A LineJob whose events go into an engine: it moves the engine's time, and writes results as they
// fall due. A command derives from it and says what there is to write.
//
// Time. With --time the events move it, through the watermark. Without, an event happens when it is
// read: the clock is read once per block of lines, and while a pipe is silent the run sleeps until
// something falls due. With --time and --idle the watermark follows the clock while a pipe is
// silent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <pleat/engine.h>
#include <pleat/time.h>

#include "tools/pleat/job_options.h"
#include "tools/pleat/line_job.h"

namespace pleat::cli {

// The options that such commands have besides those of all.
struct EngineJobOptions : JobOptions {
  Duration idle = kForever;
  std::string late_file;  // these files: empty means none
  std::string open_file;
  std::string stats_file;  // "-" is stderr

  bool print_spec = false;  // belongs to one call

  bool has_time() const { return !spec.event.time.empty(); }
};

// Refuses options about time that would have no effect.
absl::Status CheckTimeEffects(const EngineJobOptions& options);

class EngineJob : public LineJob {
 protected:
  EngineJob(std::string_view command, const EngineJobOptions& options)
      : LineJob(command, options, Result::kStreams), options_(options) {}

  // Opens the engine that the options ask for.
  absl::Status OpenEngine();
  Engine& engine() const { return *engine_; }
  bool on_event_time() const { return options_.has_time(); }

  // Moves time to `now`, or leaves it if it is later already, and writes what is final by then.
  virtual void WriteUntil(EngineTime now) = 0;
  // How many results there have been.
  virtual uint64_t results() const = 0;
  // When WriteUntil() may find the next one.
  virtual std::optional<EngineTime> NextDue() const { return engine_->NextDeadline(); }

  // --open, --stats and --late.
  std::vector<WantedOutput> Outputs() override;
  void HandOut() override { WriteUntil(on_event_time() ? engine_->now() : arrival()); }
  Duration OnSilence(Duration silent) override;
  void OnInputAgain(Duration silent) override;

  // The engine's time while the input has been silent for so long.
  EngineTime Present(Duration silent) const;

  // Files that were not asked for are null.
  OutputFile* open_file() const { return open_file_.get(); }
  OutputFile* late_file() const { return late_file_.get(); }
  void WriteStats(std::string_view stats);

  // Gives the files of --output and --open their names, unless no line was usable. REQUIRES: all was
  // read.
  void CommitFiles();
  bool all_written() const { return all_written_; }

  // Says that the event of the line was refused because `limit` was reached, if it is the first.
  void SayRefused(size_t line_index, std::string_view limit);

 private:
  bool FollowsWall(Duration silent) const;
  Duration UntilDue(Duration silent) const;

  const EngineJobOptions& options_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<OutputFile> open_file_;
  std::unique_ptr<OutputFile> stats_file_;
  std::unique_ptr<OutputFile> late_file_;
  bool all_written_ = false;  // every result, and the file has its name
  bool refusal_said_ = false;
};

}  // namespace pleat::cli
