// Decides between helping, printing a spec, and running; the run itself is a FoldRun.
#include "tools/pleat/fold/fold_command.h"

#include <cstdio>
#include <string>
#include <string_view>

#include "tools/pleat/fold/fold_flags.h"
#include "tools/pleat/fold/fold_run.h"

namespace pleat::cli {
namespace {

constexpr int kExitDone = 0;
constexpr int kExitFailed = 1;
constexpr int kExitUsage = 2;

int Print(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  return std::fflush(stdout) == 0 ? kExitDone : kExitFailed;
}

int Complain(const absl::Status& status) {
  const bool usage = absl::IsInvalidArgument(status);
  const std::string message(status.message());
  const bool hinted = message.find("did you mean") != std::string::npos;
  std::fprintf(stderr, "pleat fold: %s%s\n", message.c_str(),
               usage && !hinted ? " (see pleat fold --help)" : "");
  return usage ? kExitUsage : kExitFailed;
}

}  // namespace

int FoldMain(int argc, const char* const* argv) {
  absl::StatusOr<FoldCall> call = ParseFoldCall(argc, argv);
  if (!call.ok()) return Complain(call.status());
  if (call->help) return Print(FoldHelp());
  if (call->options.print_spec) {
    absl::StatusOr<std::string> document = PrintDocument(call->options);
    return document.ok() ? Print(*document) : Complain(document.status());
  }
  return FoldRun(call->options).Run();
}

}  // namespace pleat::cli
