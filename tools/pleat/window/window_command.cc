// The checks of the options of `pleat window`. EngineCommand has the rest of the command.
#include "tools/pleat/window/window_command.h"

#include "tools/pleat/engine_command.h"
#include "tools/pleat/window/window_flags.h"
#include "tools/pleat/window/window_run.h"

namespace pleat::cli {
namespace {

absl::Status CheckCounts(const WindowRunOptions& options) {
  if (options.every == kForever) return WrongFlag("every", "must not be inf");
  if (options.changes) return WrongFlag("changes", "not with --every, which prints counts instead");
  if (options.refreshes) return WrongFlag("refreshes", "not with --every, which prints counts");
  for (const WithinSpan& span : options.within) {
    if (span.length <= options.window.window.ttl) continue;
    return WrongFlag("within", span.name + " is longer than --ttl " +
                                   FormatDuration(options.window.window.ttl) +
                                   ", after which members are gone");
  }
  return absl::OkStatus();
}

absl::Status CheckWindowOptions(const WindowRunOptions& options) {
  if (absl::Status valid = Validate(SpecOf(options)); !valid.ok()) return valid;
  if (absl::Status effects = CheckEffects(options); !effects.ok()) return effects;
  if (!options.late_file.empty() && !options.has_time()) {
    return WrongFlag("late", "needs --time, without which no event is late");
  }
  if (options.prints_counts()) return CheckCounts(options);
  if (!options.within.empty()) return WrongFlag("within", "needs --every, which prints counts");
  if (options.top > 0) return WrongFlag("top", "needs --every, which prints counts");
  return absl::OkStatus();
}

constexpr EngineCommand<WindowRunOptions, WindowRun> kWindowCommand = {
    .name = "window",
    .help = WindowHelp,
    .flags = WindowFlags,
    .check = CheckWindowOptions,
    .own_texts = [](const WindowRunOptions& options) { return OptionsOf(options.window); },
};

}  // namespace

absl::StatusOr<WindowRunOptions> ParseWindowOptions(int argc, const char* const* argv) {
  return kWindowCommand.Parse(argc, argv);
}

int WindowMain(int argc, const char* const* argv) { return kWindowCommand.Main(argc, argv); }

}  // namespace pleat::cli
