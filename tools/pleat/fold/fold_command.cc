// The checks of the options of `pleat fold`. EngineCommand has the rest of the command.
#include "tools/pleat/fold/fold_command.h"

#include "tools/pleat/engine_command.h"
#include "tools/pleat/fold/fold_flags.h"
#include "tools/pleat/fold/fold_run.h"

namespace pleat::cli {
namespace {

absl::Status CheckFoldOptions(const FoldOptions& options) {
  if (absl::Status valid = Validate(options.spec); !valid.ok()) return valid;
  const FoldSpec& spec = options.spec;
  if (absl::Status effects = CheckEffects(options); !effects.ok()) return effects;
  if (!options.has_time() && spec.marks.id.empty() &&
      spec.folder.late.allowed_lateness != kForever) {
    return WrongFlag("allowed-lateness", "needs --time, without which no event is late (or --id)");
  }
  if (!options.late_file.empty() && spec.folder.late.allowed_lateness == kForever) {
    return WrongFlag("late", "needs --allowed-lateness, without which no event is late");
  }
  return absl::OkStatus();
}

constexpr EngineCommand<FoldOptions, FoldRun> kFoldCommand = {
    .name = "fold",
    .help = FoldHelp,
    .flags = FoldFlags,
    .check = CheckFoldOptions,
};

}  // namespace

absl::StatusOr<FoldOptions> ParseFoldOptions(int argc, const char* const* argv) {
  return kFoldCommand.Parse(argc, argv);
}

int FoldMain(int argc, const char* const* argv) { return kFoldCommand.Main(argc, argv); }

}  // namespace pleat::cli
