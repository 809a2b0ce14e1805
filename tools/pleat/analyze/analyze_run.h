// One run of `pleat analyze`: lines go to a JsonAnalyzer for each --key; at the end come the
// tables.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <pleat/json_analysis.h>

#include "tools/pleat/analyze/analyze_options.h"
#include "tools/pleat/analyze/recommendation.h"
#include "tools/pleat/line_job.h"

namespace pleat::cli {

class AnalyzeRun final : public LineJob {
 public:
  explicit AnalyzeRun(const AnalyzeOptions& options)
      : LineJob("analyze", options, Result::kAtEnd), options_(options) {}

 private:
  absl::Status Open() override;
  std::vector<WantedOutput> Outputs() override;
  Tally tally() const override;

  Readers NewReaders() override;
  void TakeLines(Readers& readers) override;
  LineResult TakeLongLine(std::string_view beginning) override;
  void Conclude() override;

  std::vector<KeyAnalysis> Analyses();
  void Write(const std::vector<KeyAnalysis>& keys);
  void SayLeftOut(const std::vector<KeyAnalysis>& keys);
  std::string Summary(const std::vector<KeyAnalysis>& keys) const;
  std::string SourceName() const;

  const AnalyzeOptions& options_;
  std::vector<std::unique_ptr<JsonAnalyzer>> analyzers_;  // one for each key
  std::vector<bool> compound_;                            // whether the key has several fields
  std::unique_ptr<OutputFile> html_;
  std::unique_ptr<OutputFile> svg_;
};

// The command. `argv` begins with its name. Returns the exit code.
int AnalyzeMain(int argc, const char* const* argv);

}  // namespace pleat::cli
