#include "tools/pleat/fold/fold_outputs.h"

#include <unistd.h>

#include <utility>
#include <vector>

#include "tools/pleat/named_files.h"

namespace pleat::cli {
namespace {

// None for an option that was not given.
absl::Status OpenOne(const NamedFile& named, OutputFile::Mode mode,
                     std::unique_ptr<OutputFile>& out) {
  if (named.path.empty()) return absl::OkStatus();
  absl::StatusOr<std::unique_ptr<OutputFile>> file = OutputFile::Create(named, mode);
  if (!file.ok()) return file.status();
  out = *std::move(file);
  return absl::OkStatus();
}

}  // namespace

absl::Status FoldOutputs::Open(const FoldOptions& options) {
  std::vector<NamedFile> inputs;
  inputs.reserve(options.inputs.size() + 1);
  for (const std::string& input : options.inputs) inputs.push_back(NamedInput(input));
  inputs.push_back({"--spec", options.spec_file});
  const NamedFile outputs[] = {
      NamedOutput("--output", options.output_file), NamedOutput("--open", options.open_file),
      NamedOutput("--stats", options.stats_file, STDERR_FILENO),
      NamedOutput("--late", options.late_file), NamedOutput("--bad", options.bad_file)};
  absl::Status status = CheckNoneOverwritten(inputs, outputs);
  if (status.ok()) status = OpenOne(outputs[0], OutputFile::Mode::kWhole, emissions_);
  if (status.ok()) status = OpenOne(outputs[1], OutputFile::Mode::kWhole, open_);
  if (status.ok()) status = OpenOne(outputs[2], OutputFile::Mode::kWhole, stats_);
  if (status.ok()) status = OpenOne(outputs[3], OutputFile::Mode::kStream, late_);
  if (status.ok()) status = OpenOne(outputs[4], OutputFile::Mode::kStream, bad_);
  for (OutputFile* file : {late_.get(), bad_.get()}) {
    if (status.ok() && file != nullptr) status = file->StartOver();
  }
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

absl::Status FoldOutputs::CommitOpenGroups() {
  return open_ == nullptr ? absl::OkStatus() : open_->Commit();
}

absl::Status FoldOutputs::WriteStats(std::string_view json) {
  if (stats_ == nullptr) return absl::OkStatus();
  if (absl::Status status = stats_->Append(json); !status.ok()) return status;
  return stats_->Commit();
}

}  // namespace pleat::cli
