#include "tools/pleat/analyze/analyze_command.h"

#include "tools/pleat/analyze/analyze_options.h"
#include "tools/pleat/analyze/analyze_run.h"
#include "tools/pleat/console.h"

namespace pleat::cli {

int AnalyzeMain(int argc, const char* const* argv) {
  absl::StatusOr<AnalyzeOptions> options = ParseAnalyzeOptions(argc, argv);
  if (!options.ok()) return Complain("analyze", options.status());
  if (options->help) return Print(AnalyzeHelp());
  return AnalyzeRun(*options).Run();
}

}  // namespace pleat::cli
