#include "tools/pleat/state/state_command.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <string_view>

#include <absl/status/statusor.h>
#include <pleat/state_directory.h>

#include "tools/pleat/console.h"
#include "tools/pleat/lock_owner.h"
#include "tools/pleat/state/state_text.h"

namespace pleat::cli {
namespace {

constexpr std::string_view kStateExamples =
    R"(pleat state: looks after a state directory, in which snapshots are kept

Usage: pleat state show DIR [--json]
       pleat state check DIR [--json]
       pleat state salvage DIR --out NEW-DIR [--json]

Examples:
  What is in it, and where to go on:
    pleat state show /var/lib/orders

  Whether every byte is as it was written, from a nightly job:
    pleat state check /var/lib/orders || mail -s "state damaged" ops

  A disk has damaged it: save what can be saved, and start from the copy:
    pleat state salvage /var/lib/orders --out /var/lib/orders.saved

)";

constexpr std::string_view kStateNotes = R"(
show reads the beginning of each file, check all of it. state is new, ok,
  damaged, or locked: a process has the directory, which does not hinder reading
  it.
  groups are the open groups of folders, the members of live sets, the users of
  presences and the counters of rollups.
A directory whose snapshot is gone, or damaged at its beginning, has nothing to
  save: put snapshot-N back from a backup, or begin anew with another directory.
salvage copies the partitions that are whole; a damaged one is left out, and
  what was in it is lost. DIR is only read.
Exit codes: 0 whole, or nothing lost; 1 damaged, something lost, no state
  directory, or could not be read; 2 wrong usage.
)";

absl::Status Usage(const std::string& why) { return absl::InvalidArgumentError(why); }

int Say(const absl::StatusOr<StateDirectoryReport>& report, const std::string& directory, bool json,
        std::string (*as_text)(const StateDirectoryReport&, Owner),
        std::string (*as_json)(const StateDirectoryReport&, Owner)) {
  if (!report.ok()) return Complain("state", report.status());
  const Owner owner = LockOwner(directory);
  const int printed = Print(json ? as_json(*report, owner) : as_text(*report, owner));
  return printed == kExitDone && !report->damage.empty() ? kExitFailed : printed;
}

int Salvage(const std::string& directory, const StateOptionsGiven& options) {
  const absl::StatusOr<SalvageReport> report = SalvageStateDirectory(directory, options.out);
  if (!report.ok()) return Complain("state", report.status());
  const int printed =
      Print(options.json ? SalvageJson(*report) : SalvageText(*report, options.out));
  return printed == kExitDone && !report->whole() ? kExitFailed : printed;
}

// The action and the directory.
absl::Status CheckUsage(const GivenFlags& given, const StateOptionsGiven& options) {
  if (given.inputs.empty()) return Usage("say what to do: show, check or salvage");
  const std::string& action = given.inputs.front();
  if (std::ranges::find(kStateActions, action) == std::end(kStateActions)) {
    const std::string nearest =
        NearestName(action, {std::begin(kStateActions), std::end(kStateActions)});
    return Usage("unknown action \"" + action + "\"; " +
                 (nearest.empty() ? "there are show, check and salvage"
                                  : "did you mean \"" + nearest + "\"?"));
  }
  if (given.inputs.size() != 2) return Usage(action + ": takes one directory");
  if (action == "salvage" && options.out.empty()) {
    return WrongFlag("out", "required: the new directory for what is saved");
  }
  if (action != "salvage" && !options.out.empty()) return WrongFlag("out", "is for salvage only");
  return absl::OkStatus();
}

}  // namespace

std::vector<Flag> StateFlags(StateOptionsGiven& options) {
  return {
      Heading("Options"),
      {"out", "NEW-DIR", "of salvage: where the copy goes; it must be new, or empty",
       FileName(options.out, Dash::kRefused)},
      {"json", "", "one JSON object instead of text for people", Switch(options.json)},
      {"help", "", "this text", Switch(options.help), 'h'},
  };
}

std::string StateHelp() {
  StateOptionsGiven options;
  return std::string(kStateExamples) + FlagsHelp(StateFlags(options)) + std::string(kStateNotes);
}

int StateMain(int argc, const char* const* argv) {
  StateOptionsGiven options;
  const std::vector<Flag> table = StateFlags(options);
  const absl::StatusOr<GivenFlags> given = ParseFlags(table, argc, argv);
  if (!given.ok()) return Complain("state", given.status());
  if (absl::Status set = SetGiven(table, *given); !set.ok()) return Complain("state", set);
  if (options.help) return Print(StateHelp());
  if (absl::Status usage = CheckUsage(*given, options); !usage.ok()) {
    return Complain("state", usage);
  }
  const std::string& action = given->inputs[0];
  const std::string& directory = given->inputs[1];
  if (action == "salvage") return Salvage(directory, options);
  if (action == "show") {
    return Say(InspectStateDirectory(directory, Depth::kBeginning), directory, options.json,
               ShowText, ShowJson);
  }
  return Say(InspectStateDirectory(directory, Depth::kWhole), directory, options.json, CheckText,
             CheckJson);
}

}  // namespace pleat::cli
