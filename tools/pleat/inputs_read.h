// What was read of the FILEs of a run, and where the next run goes on: of those of RunNote::Input, of
// which a state directory or an event store keeps a list.
//
// All FILEs are checked first, and then read one after the other.
//
// Thread safety: none.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include "tools/pleat/known_files.h"
#include "tools/pleat/line_job.h"
#include "tools/pleat/line_reader.h"
#include "tools/pleat/run_note.h"
#include "tools/pleat/text_digest.h"

namespace pleat::cli {

// "a, b, c and 2 more".
std::string NamesOf(const std::vector<std::string>& files);

class InputsRead {
 public:
  // `inputs` outlives this, and grows. For messages: what keeps them, such as "--state", and where.
  InputsRead(std::vector<RunNote::Input>& inputs, std::string directory, std::string keeper)
      : inputs_(inputs), directory_(std::move(directory)), keeper_(std::move(keeper)) {}

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

  // The inputs say how far they were read: call this before they are kept.
  void Seal();
  // The input that is being read; nothing: nothing of it was, or it is no regular file.
  std::optional<size_t> current() const;

  // For people: FILEs that are not as their names suggest, and those with an unfinished end:
  // "known by another name: a; ". Empty: there are none.
  std::string FilesText() const;
  uint64_t skipped() const { return skipped_; }  // FILEs that had nothing new

 private:
  absl::Status Replaced() const;
  void Enter(RunNote::Input& input);
  void TakeWhole(std::string_view text);
  void SealDigest();
  void NoteCopies();

  std::vector<RunNote::Input>& inputs_;
  const std::string directory_;
  const std::string keeper_;
  std::vector<KnownFile> files_;
  std::string path_;                     // of the one that is read,
  const KnownFile* file_ = nullptr;      // which this is if it is a regular file,
  RunNote::Input* input_ = nullptr;      // and what was read of it, if anything was
  TextDigest digest_;                    // of that
  std::vector<std::string> unfinished_;  // files
  uint64_t skipped_ = 0;
};

}  // namespace pleat::cli
