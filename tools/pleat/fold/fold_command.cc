// Decides between helping, printing a spec, and running; the run itself is a FoldRun.
#include "tools/pleat/fold/fold_command.h"

#include <string>
#include <utility>
#include <vector>

#include "tools/pleat/console.h"
#include "tools/pleat/fold/fold_flags.h"
#include "tools/pleat/fold/fold_run.h"
#include "tools/pleat/spec_document.h"

namespace pleat::cli {
namespace {

// Refuses options that would have no effect.
absl::Status CheckEffects(const FoldOptions& options) {
  const FoldSpec& spec = options.spec;
  if (absl::Status time = CheckTimeEffects(options); !time.ok()) return time;
  if (!options.has_time() && spec.marks.id.empty() && spec.folder.late.accept_limit != kForever) {
    return WrongFlag("accept-limit", "needs --time, without which no event is late (or --id)");
  }
  if (!options.late_file.empty() && spec.folder.late.accept_limit == kForever) {
    return WrongFlag("late", "needs --accept-limit, without which no event is late");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> FoldDocument(FoldOptions options) {
  FoldOptions defaults;
  FoldOptions again;
  return PrintDocument(OptionsOf(options.spec), FoldFlags(options), FoldFlags(defaults),
                       FoldFlags(again));
}

absl::StatusOr<FoldOptions> ParseFoldOptions(int argc, const char* const* argv) {
  FoldOptions options;
  const std::vector<Flag> flags = FoldFlags(options);
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
  if (given->Has("merge")) options.spec.merges.clear();
  if (absl::Status set = SetGiven(flags, *given); !set.ok()) return set;
  options.inputs = std::move(given->inputs);
  Complete(options);
  if (absl::Status valid = Validate(options.spec); !valid.ok()) return valid;
  if (absl::Status effects = CheckEffects(options); !effects.ok()) return effects;
  return options;
}

int FoldMain(int argc, const char* const* argv) {
  absl::StatusOr<FoldOptions> options = ParseFoldOptions(argc, argv);
  if (!options.ok()) return Complain("fold", options.status());
  if (options->help) return Print(FoldHelp());
  if (!options->print_spec) return FoldRun(*options).Run();
  absl::StatusOr<std::string> document = FoldDocument(*options);
  return document.ok() ? Print(*document) : Complain("fold", document.status());
}

}  // namespace pleat::cli
