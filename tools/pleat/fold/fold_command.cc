// Decides between helping, printing a spec, and running; the run itself is a FoldRun.
#include "tools/pleat/fold/fold_command.h"

#include <string>
#include <utility>
#include <vector>

#include "tools/pleat/console.h"
#include "tools/pleat/errno_status.h"
#include "tools/pleat/fold/fold_flags.h"
#include "tools/pleat/fold/fold_run.h"
#include "tools/pleat/fold/spec_document.h"
#include "tools/pleat/input.h"

namespace pleat::cli {
namespace {

absl::Status ReadDocument(const std::string& file, FoldOptions& options) {
  absl::StatusOr<std::string> document = ReadWholeFile(file);
  if (!document.ok()) return document.status();
  return ApplyDocument(*document, Printable(file), options);
}

// Refuses options that would have no effect.
absl::Status CheckEffects(const FoldOptions& options) {
  const FoldSpec& spec = options.spec;
  const bool on_arrival = spec.event.time.empty();
  if (on_arrival && spec.event.time_unit != TimeUnit::kNotStated) {
    return WrongFlag("time-unit", "needs --time, whose unit it is");
  }
  if (on_arrival && options.idle != kForever) {
    return WrongFlag("idle", "needs --time; without it the wall clock counts in any case");
  }
  if (on_arrival && spec.marks.id.empty() && spec.folder.late.accept_limit != kForever) {
    return WrongFlag("accept-limit", "needs --time, without which no event is late (or --id)");
  }
  if (!options.late_file.empty() && spec.folder.late.accept_limit == kForever) {
    return WrongFlag("late", "needs --accept-limit, without which no event is late");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<FoldOptions> ParseFoldOptions(int argc, const char* const* argv) {
  FoldOptions options;
  const std::vector<Flag> flags = FoldFlags(options);
  absl::StatusOr<GivenFlags> given = ParseFlags(flags, argc, argv);
  if (!given.ok()) return given.status();
  options.help = given->IsOn("help");
  if (options.help) return options;

  if (given->Has("spec")) {
    absl::Status read = ReadDocument(given->texts["spec"].back(), options);
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
  absl::StatusOr<std::string> document = PrintDocument(*options);
  return document.ok() ? Print(*document) : Complain("fold", document.status());
}

}  // namespace pleat::cli
