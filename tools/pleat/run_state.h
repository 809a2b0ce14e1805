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

#include "tools/pleat/known_files.h"
#include "tools/pleat/line_job.h"
#include "tools/pleat/line_reader.h"
#include "tools/pleat/output_file.h"
#include "tools/pleat/run_note.h"
#include "tools/pleat/text_digest.h"

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

  // --- Inputs: all of them first, and then one after the other

  // Finds out what was read of each before. Errors: as KnownFiles.
  absl::Status Check(const std::vector<std::string>& paths, KnownFiles::Open open);
  // The FILEs that are left out as copies: "app.log.1 (of app.log)". Empty: there are none.
  std::string CopiesText() const;
  // Where to begin with an input. REQUIRES: it was checked. Errors: those of the file.
  absl::StatusOr<InputStart> Begin(const std::string& path);
  // Whether the file that was opened is the one that Check() has looked at. Hours may lie between:
  // the run reads other FILEs, and waits for pipes. Errors: kFailedPrecondition if it is not.
  absl::Status CheckOpened(const struct stat& info) const;
  // Reads past what was read before. Errors: kFailedPrecondition if that has changed; kCancelled at
  // a signal; those of the input.
  absl::Status ReadPast(LineReader& reader);
  // These bytes were taken, which are so many lines.
  void Took(const LineBlock& block, uint64_t lines);
  // `unfinished`: a last line or record was left.
  void End(bool unfinished);

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

  // For people: "went on behind 5 lines; 3 snapshots taken; the newest has 4 KB".
  // `lines_before`: that earlier runs have read.
  std::string Sentence(uint64_t lines_before) const;

 private:
  RunState(std::unique_ptr<StateDirectory> state_directory, std::string directory, RunNote note)
      : state_directory_(std::move(state_directory)),
        directory_(std::move(directory)),
        note_(std::move(note)) {}

  Duration Interval(const SnapshotEvery& every) const;
  absl::Status Replaced() const;
  void Enter(RunNote::Input& input);
  void TakeWhole(std::string_view text);
  void SealDigest();
  void NoteCopies();
  using Noted = std::map<std::string, RunNote::Output>::const_iterator;
  // The end: none, and there is nothing to cut. Errors: as BytesOf().
  absl::StatusOr<Noted> NotedOutput(const std::string& path) const;
  absl::Status UnknownOutput(const std::string& path) const;
  absl::Status NoteOutput(const std::string& path, const OutputFile& file);
  std::string FilesText() const;

  std::unique_ptr<StateDirectory> state_directory_;
  const std::string directory_;
  RunNote note_;
  bool goes_on_ = false;  // there was a snapshot
  std::vector<KnownFile> files_;
  std::string path_;                     // of the one that is read,
  const KnownFile* file_ = nullptr;      // which this is if it is a regular file,
  RunNote::Input* input_ = nullptr;      // and what was read of it, if anything was
  TextDigest digest_;                    // of that
  std::vector<std::string> unfinished_;  // files
  uint64_t inputs_skipped_ = 0;
  uint64_t lines_since_ = 0;  // the last snapshot
  Duration last_taken_{0};
};

}  // namespace pleat::cli
