#include "tools/pleat/fold_outputs.h"

#include <unistd.h>

#include <utility>

#include "tools/pleat/errno_status.h"

namespace pleat::inline v0 {
namespace {

// Opens `path` for lines as they come, unless it is empty or one of the inputs.
absl::Status OpenStream(const std::string& path, std::string_view option,
                        const std::vector<std::string>& inputs, std::unique_ptr<OutputFile>& out) {
  if (path.empty()) return absl::OkStatus();
  absl::StatusOr<std::unique_ptr<OutputFile>> file =
      OutputFile::Create(path, OutputFile::Mode::kStream);
  if (!file.ok()) return file.status();
  for (const std::string& input : inputs) {
    if (!(*file)->Is(input)) continue;
    return absl::InvalidArgumentError(std::string(option) + ": " + Printable(path) +
                                      " is an input as well");
  }
  out = *std::move(file);
  return out->StartOver();
}

// Opens `path` for one whole text; "-" is the descriptor `standard`.
absl::Status OpenWhole(const std::string& path, int standard, std::unique_ptr<OutputFile>& out) {
  if (path.empty()) return absl::OkStatus();
  if (path == "-") {
    out = OutputFile::Standard(standard);
    return absl::OkStatus();
  }
  absl::StatusOr<std::unique_ptr<OutputFile>> file =
      OutputFile::Create(path, OutputFile::Mode::kWhole);
  if (!file.ok()) return file.status();
  out = *std::move(file);
  return absl::OkStatus();
}

}  // namespace

absl::Status FoldOutputs::Open(const FoldOptions& options) {
  absl::Status status = OpenWhole(options.output_file, STDOUT_FILENO, emissions_);
  if (status.ok()) status = OpenWhole(options.open_file, STDOUT_FILENO, open_);
  if (status.ok()) status = OpenWhole(options.stats_file, STDERR_FILENO, stats_);
  if (status.ok()) status = OpenStream(options.late_file, "--late", options.inputs, late_);
  if (status.ok()) status = OpenStream(options.bad_file, "--bad", options.inputs, bad_);
  return status;
}

absl::Status FoldOutputs::AppendLine(OutputFile* file, std::string_view line) {
  if (file == nullptr) return absl::OkStatus();
  if (absl::Status status = file->Append(line); !status.ok()) return status;
  return file->Append("\n");
}

absl::Status FoldOutputs::AppendBadPiece(std::string_view piece) {
  return bad_ == nullptr ? absl::OkStatus() : bad_->Append(piece);
}

absl::Status FoldOutputs::Flush() {
  absl::Status status = emissions_->Flush();
  for (OutputFile* file : {late_.get(), bad_.get()}) {
    if (file != nullptr) status.Update(file->Flush());
  }
  return status;
}

absl::Status FoldOutputs::Commit() {
  absl::Status status = emissions_->Commit();
  if (open_ != nullptr) status.Update(open_->Commit());
  return status;
}

absl::Status FoldOutputs::WriteStats(std::string_view json) {
  if (stats_ == nullptr) return absl::OkStatus();
  if (absl::Status status = stats_->Append(json); !status.ok()) return status;
  return stats_->Commit();
}

}  // namespace pleat::inline v0
