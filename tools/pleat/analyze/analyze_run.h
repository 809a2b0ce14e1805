// One run of `pleat analyze`: lines from a BlockQueue to a JsonAnalyzer for each --key, then what they found.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <absl/status/status.h>
#include <pleat/json_analysis.h>

#include "tools/pleat/analyze/analyze_options.h"
#include "tools/pleat/analyze/recommendation.h"
#include "tools/pleat/block_queue.h"
#include "tools/pleat/clock.h"
#include "tools/pleat/input.h"
#include "tools/pleat/output_file.h"
#include "tools/pleat/progress.h"
#include "tools/pleat/unusable_input.h"

namespace pleat::cli {

class AnalyzeRun final : private InputWaiter {
 public:
  explicit AnalyzeRun(const AnalyzeOptions& options);

  // Returns the exit code. Everything there is to say has then been said on standard error.
  int Run();

 private:
  absl::Status Open();
  absl::Status OpenOutputs();
  absl::Status ReadInputs();
  absl::Status ReadInput(const std::string& path, BlockQueue& blocks);
  void AddLines(BlockQueue::Block& block);
  void AddLongLine(LineBlock::Kind kind, std::string_view text);
  void NoteUnusualLine(uint64_t line, const LineResult& result);
  void SayBadLines();
  bool AwaitInput(int fd) override;

  std::vector<KeyAnalysis> Finish();
  absl::Status Write(const std::vector<KeyAnalysis>& keys);
  void SayLeftOut(const std::vector<KeyAnalysis>& keys);
  std::string Summary(const std::vector<KeyAnalysis>& keys) const;
  std::string SourceName() const;
  bool NoLineUsable() const;
  bool HasBadLines() const;
  bool HasLeftOut() const;
  void Say(std::string line);
  void ShowProgress();

  const AnalyzeOptions& options_;
  MonotoneClock clock_;
  ReadCount read_;
  Progress progress_;
  std::vector<std::unique_ptr<JsonAnalyzer>> analyzers_;
  std::vector<bool> compound_;  // whether their keys have several fields
  std::unique_ptr<OutputFile> output_;
  std::unique_ptr<OutputFile> html_;
  std::unique_ptr<OutputFile> svg_;

  std::string input_name_;
  uint64_t line_number_ = 0;  // of the last line before the block under way
  std::vector<std::pair<uint64_t, std::string>> bad_;  // lines and reasons, of a block
  uint64_t bad_said_ = 0;
  UnusableInput unusable_;
  std::vector<NeededMember> needed_;
  bool no_unit_ = false;
};

}  // namespace pleat::cli
