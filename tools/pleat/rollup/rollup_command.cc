// Decides between helping, printing a spec, and running; the run itself is a RollupRun.
#include "tools/pleat/rollup/rollup_command.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "tools/pleat/console.h"
#include "tools/pleat/rollup/rollup_flags.h"
#include "tools/pleat/rollup/rollup_run.h"
#include "tools/pleat/spec_document.h"

namespace pleat::cli {
namespace {

// Refuses options that would have no effect.
absl::Status CheckEffects(const RollupRunOptions& options) {
  if (absl::Status time = CheckTimeEffects(options); !time.ok() || options.has_time()) return time;
  constexpr const char* kWhy = "needs --time, without which no event is late";
  if (!options.late_file.empty()) return WrongFlag("late", kWhy);
  if (options.rollup.rollup.on_late != OnLateAdd::kReject) return WrongFlag("on-late", kWhy);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> RollupDocument(RollupRunOptions options) {
  RollupRunOptions defaults;
  RollupRunOptions again;
  std::vector<OptionText> texts = OptionsOf(options.spec);
  std::ranges::move(OptionsOf(options.rollup), std::back_inserter(texts));
  return PrintDocument(std::move(texts), RollupFlags(options), RollupFlags(defaults),
                       RollupFlags(again));
}

absl::StatusOr<RollupRunOptions> ParseRollupOptions(int argc, const char* const* argv) {
  RollupRunOptions options;
  const std::vector<Flag> flags = RollupFlags(options);
  absl::StatusOr<GivenFlags> given = ParseFlags(flags, argc, argv);
  if (!given.ok()) return given.status();
  options.help = given->IsOn("help");
  if (options.help) return options;

  if (given->Has("spec")) {
    absl::Status read = ReadDocument(given->texts["spec"].back(), flags);
    if (!read.ok()) return read;
  }
  // A list given by flags replaces the document's.
  if (given->Has("key")) options.spec.event.key.clear();
  if (given->Has("window")) options.rollup.rollup.windows.clear();
  if (absl::Status set = SetGiven(flags, *given); !set.ok()) return set;
  options.inputs = std::move(given->inputs);
  Complete(options);
  if (absl::Status valid = Validate(SpecOf(options)); !valid.ok()) return valid;
  if (absl::Status effects = CheckEffects(options); !effects.ok()) return effects;
  return options;
}

int RollupMain(int argc, const char* const* argv) {
  absl::StatusOr<RollupRunOptions> options = ParseRollupOptions(argc, argv);
  if (!options.ok()) return Complain("rollup", options.status());
  if (options->help) return Print(RollupHelp());
  if (!options->print_spec) return RollupRun(*options).Run();
  absl::StatusOr<std::string> document = RollupDocument(*options);
  return document.ok() ? Print(*document) : Complain("rollup", document.status());
}

}  // namespace pleat::cli
