// Decides between helping, printing a spec, and running; the run itself is a WindowRun.
#include "tools/pleat/window/window_command.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "tools/pleat/console.h"
#include "tools/pleat/spec_document.h"
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

// Refuses options that would have no effect, or contradict each other.
absl::Status CheckEffects(const WindowRunOptions& options) {
  if (absl::Status time = CheckTimeEffects(options); !time.ok()) return time;
  if (!options.late_file.empty() && !options.has_time()) {
    return WrongFlag("late", "needs --time, without which no event is late");
  }
  if (options.prints_counts()) return CheckCounts(options);
  if (!options.within.empty()) return WrongFlag("within", "needs --every, which prints counts");
  if (options.top > 0) return WrongFlag("top", "needs --every, which prints counts");
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> WindowDocument(WindowRunOptions options) {
  WindowRunOptions defaults;
  WindowRunOptions again;
  std::vector<OptionText> texts = OptionsOf(options.spec);
  std::ranges::move(OptionsOf(options.window), std::back_inserter(texts));
  return PrintDocument(std::move(texts), WindowFlags(options), WindowFlags(defaults),
                       WindowFlags(again));
}

absl::StatusOr<WindowRunOptions> ParseWindowOptions(int argc, const char* const* argv) {
  WindowRunOptions options;
  const std::vector<Flag> flags = WindowFlags(options);
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
  if (given->Has("member")) options.window.member.id.clear();
  if (absl::Status set = SetGiven(flags, *given); !set.ok()) return set;
  options.inputs = std::move(given->inputs);
  Complete(options);
  if (absl::Status valid = Validate(SpecOf(options)); !valid.ok()) return valid;
  if (absl::Status effects = CheckEffects(options); !effects.ok()) return effects;
  return options;
}

int WindowMain(int argc, const char* const* argv) {
  absl::StatusOr<WindowRunOptions> options = ParseWindowOptions(argc, argv);
  if (!options.ok()) return Complain("window", options.status());
  if (options->help) return Print(WindowHelp());
  if (!options->print_spec) return WindowRun(*options).Run();
  absl::StatusOr<std::string> document = WindowDocument(*options);
  return document.ok() ? Print(*document) : Complain("window", document.status());
}

}  // namespace pleat::cli
