// The checks of the options of `pleat live`. EngineCommand has the rest of the command.
#include "tools/pleat/live/live_set_command.h"

#include "tools/pleat/engine_command.h"
#include "tools/pleat/live/live_set_flags.h"
#include "tools/pleat/live/live_set_run.h"

namespace pleat::cli {
namespace {

absl::Status CheckCounts(const LiveSetRunOptions& options) {
  if (options.every == kForever) return WrongFlag("every", "must not be inf");
  if (options.changes) return WrongFlag("changes", "not with --every, which prints counts instead");
  if (options.refreshes) return WrongFlag("refreshes", "not with --every, which prints counts");
  for (const WithinSpan& span : options.within) {
    if (span.length <= options.live_set.live_set.ttl) continue;
    return WrongFlag("within", span.name + " is longer than --ttl " +
                                   FormatDuration(options.live_set.live_set.ttl) +
                                   ", after which members are gone");
  }
  return absl::OkStatus();
}

absl::Status CheckLiveSetOptions(const LiveSetRunOptions& options) {
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

constexpr EngineCommand<LiveSetRunOptions, LiveSetRun> kLiveSetCommand = {
    .name = "live",
    .help = LiveSetHelp,
    .flags = LiveSetFlags,
    .check = CheckLiveSetOptions,
    .own_texts = [](const LiveSetRunOptions& options) { return OptionsOf(options.live_set); },
};

}  // namespace

absl::StatusOr<LiveSetRunOptions> ParseLiveSetOptions(int argc, const char* const* argv) {
  return kLiveSetCommand.Parse(argc, argv);
}

int LiveSetMain(int argc, const char* const* argv) { return kLiveSetCommand.Main(argc, argv); }

}  // namespace pleat::cli
