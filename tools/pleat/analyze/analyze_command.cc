#include "tools/pleat/analyze/analyze_command.h"

#include <cstdio>
#include <string>
#include <string_view>

#include "tools/pleat/analyze/analyze_options.h"
#include "tools/pleat/analyze/analyze_run.h"

namespace pleat::cli {
namespace {

constexpr int kExitDone = 0;
constexpr int kExitFailed = 1;
constexpr int kExitUsage = 2;

}  // namespace

int AnalyzeMain(int argc, const char* const* argv) {
  absl::StatusOr<AnalyzeCall> call = ParseAnalyzeCall(argc, argv);
  if (!call.ok()) {
    const std::string message(call.status().message());
    const bool hinted = message.find("did you mean") != std::string::npos;
    std::fprintf(stderr, "pleat analyze: %s%s\n", message.c_str(),
                 hinted ? "" : " (see pleat analyze --help)");
    return kExitUsage;
  }
  if (call->help) {
    const std::string help = AnalyzeHelp();
    std::fwrite(help.data(), 1, help.size(), stdout);
    return std::fflush(stdout) == 0 ? kExitDone : kExitFailed;
  }
  return AnalyzeRun(call->options).Run();
}

}  // namespace pleat::cli
