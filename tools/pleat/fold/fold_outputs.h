// All that a run of `pleat fold` writes: emissions, what is open at the end, late lines, bad lines, the
// ledger.
//
// Everything is opened before the first line is read, so that a run does not fail at its end for a
// mistyped path.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <absl/status/status.h>

#include "tools/pleat/fold/fold_options.h"
#include "tools/pleat/output_file.h"

namespace pleat::cli {

class FoldOutputs {
 public:
  // Errors: kUnavailable if a file cannot be written; kInvalidArgument if one of them would
  // overwrite another, or what is read. Nothing has then been touched.
  absl::Status Open(const FoldOptions& options);

  OutputFile& emissions() { return *emissions_; }
  const OutputFile& emissions() const { return *emissions_; }

  // For the groups that are open at the end; null if nobody asked for them.
  OutputFile* open_groups() { return open_.get(); }

  // Whole lines, given without their newline. Nothing happens if the file was not asked for.
  absl::Status AppendLate(std::string_view line) { return AppendLine(late_.get(), line); }
  absl::Status AppendBad(std::string_view line) { return AppendLine(bad_.get(), line); }
  // A piece of a bad line, as it is.
  absl::Status AppendBadPiece(std::string_view piece);

  // Hands out everything but the ledger and what is open: for whoever follows it while the input is silent.
  absl::Status Flush();

  // Gives the emissions, or what is open, the name they were asked for under.
  absl::Status CommitEmissions() { return emissions_->Commit(); }
  absl::Status CommitOpenGroups();

  absl::Status WriteStats(std::string_view json);

 private:
  static absl::Status AppendLine(OutputFile* file, std::string_view line);

  std::unique_ptr<OutputFile> emissions_;
  std::unique_ptr<OutputFile> open_;
  std::unique_ptr<OutputFile> late_;
  std::unique_ptr<OutputFile> bad_;
  std::unique_ptr<OutputFile> stats_;
};

}  // namespace pleat::cli
