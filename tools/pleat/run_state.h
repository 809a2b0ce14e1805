// The state of a run: the directory of --state, the snapshots that are taken there on the way,
// and the RunNote that says where the next run goes on.
//
// Thread safety: none.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <pleat/engine.h>
#include <pleat/state_directory.h>
#include <pleat/time.h>

#include "tools/pleat/inputs_read.h"
#include "tools/pleat/line_job.h"
#include "tools/pleat/line_reader.h"
#include "tools/pleat/output_file.h"
#include "tools/pleat/run_note.h"

namespace pleat::cli {

// --snapshot-every: after so much time, or so many lines.
struct SnapshotEvery {
  Duration time = std::chrono::seconds(10);
  uint64_t lines = 0;  // 0: time counts
};

class RunState {
 public:
  using Options = std::vector<std::pair<std::string, std::string>>;

  // Opens the directory for the command, with the options that have to stay the same. `repeats`: as
  // StateDirectoryOptions. Errors: kInvalidArgument if the directory is of another command, or an
  // option differs, which the message names; those of StateDirectory.
  static absl::StatusOr<std::unique_ptr<RunState>> Open(const std::string& directory,
                                                        std::string_view command, Options options,
                                                        bool repeats);

  // Where the clock stood at the newest snapshot, of runs whose time follows it; kBeginningOfTime:
  // there was none. Recover() does not change it.
  EngineTime clock() const { return note_.clock; }
  // From here on the snapshots say that it stands at `now`.
  void SetClock(EngineTime now) { note_.clock = now; }

  // Brings the engine to where the newest snapshot stood, with so many threads.
  absl::Status Recover(Engine& engine, int threads);
  const RunNote& note() const { return note_; }

  // --- Inputs

  InputsRead& inputs() { return inputs_; }
  // As of InputsRead, of which nobody else calls that.
  void Took(const LineBlock& block, uint64_t lines);

  // --- Outputs

  using Outputs = std::span<const std::pair<std::string, OutputFile*>>;

  // How many bytes of the file earlier runs have written. What follows them may be cut away.
  // Errors: kFailedPrecondition if that would be something else than the directory knows of.
  absl::StatusOr<uint64_t> BytesOf(const std::string& path) const;
  // Before anything is written: a run that is killed leaves no file that the directory does not
  // know. Errors: those of a snapshot.
  absl::Status NoteNames(Engine& engine, Outputs outputs);

  // --- Snapshots

  // `now`: since the run began.
  bool Due(const SnapshotEvery& every, Duration now) const;
  // For how long none is due, unless lines come. While none do, it is a day at least: then only the
  // clock has changed.
  Duration UntilDue(const SnapshotEvery& every, Duration now) const;
  // Takes one, between two lines. `results`: lines of --output so far.
  absl::Status TakeSnapshot(Engine& engine, Duration now, uint64_t results, bool flushed,
                            Outputs outputs);

  // For people: "went on behind 5 lines; --quiet is 120s, and was 60s; 3 snapshots taken; the newest
  // has 4 KB".
  // `lines_before`: that earlier runs have read.
  std::string Sentence(uint64_t lines_before) const;

 private:
  RunState(std::unique_ptr<StateDirectory> state_directory, std::string directory, RunNote note)
      : state_directory_(std::move(state_directory)),
        directory_(std::move(directory)),
        note_(std::move(note)),
        inputs_(note_.inputs, directory_, "--state") {}

  Duration Interval(const SnapshotEvery& every) const;
  using Noted = std::map<std::string, RunNote::Output>::const_iterator;
  // The end: none, and there is nothing to cut. Errors: as BytesOf().
  absl::StatusOr<Noted> NotedOutput(const std::string& path) const;
  absl::Status UnknownOutput(const std::string& path) const;
  absl::Status NoteOutput(const std::string& path, const OutputFile& file);

  std::unique_ptr<StateDirectory> state_directory_;
  const std::string directory_;
  RunNote note_;
  InputsRead inputs_;         // of the note
  bool goes_on_ = false;      // there was a snapshot
  std::string changes_;       // of options, since that snapshot; for people
  uint64_t lines_since_ = 0;  // the last snapshot
  Duration last_taken_{0};
};

}  // namespace pleat::cli
