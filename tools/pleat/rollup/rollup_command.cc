// The checks of the options of `pleat rollup`. EngineCommand has the rest of the command.
#include "tools/pleat/rollup/rollup_command.h"

#include "tools/pleat/engine_command.h"
#include "tools/pleat/rollup/rollup_flags.h"
#include "tools/pleat/rollup/rollup_run.h"

namespace pleat::cli {
namespace {

absl::Status CheckRollupOptions(const RollupRunOptions& options) {
  if (absl::Status valid = Validate(SpecOf(options)); !valid.ok()) return valid;
  absl::Status effects = CheckEffects(options);
  if (!effects.ok() || options.has_time()) return effects;
  constexpr const char* kWhy = "needs --time, without which no event is late";
  if (!options.late_file.empty()) return WrongFlag("late", kWhy);
  if (options.rollup.rollup.on_late != OnLateAdd::kReject) return WrongFlag("on-late", kWhy);
  return absl::OkStatus();
}

constexpr EngineCommand<RollupRunOptions, RollupRun> kRollupCommand = {
    .name = "rollup",
    .help = RollupHelp,
    .flags = RollupFlags,
    .check = CheckRollupOptions,
    .own_texts = [](const RollupRunOptions& options) { return OptionsOf(options.rollup); },
};

}  // namespace

absl::StatusOr<RollupRunOptions> ParseRollupOptions(int argc, const char* const* argv) {
  return kRollupCommand.Parse(argc, argv);
}

int RollupMain(int argc, const char* const* argv) { return kRollupCommand.Main(argc, argv); }

}  // namespace pleat::cli
