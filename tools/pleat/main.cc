// The pleat program: a table of subcommands, with help and version.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <absl/status/statusor.h>

#include "tools/pleat/analyze/analyze_options.h"
#include "tools/pleat/analyze/analyze_run.h"
#include "tools/pleat/completions.h"
#include "tools/pleat/console.h"
#include "tools/pleat/errno_status.h"
#include "tools/pleat/flags.h"
#include "tools/pleat/fold/fold_command.h"
#include "tools/pleat/interrupt.h"
#include "tools/pleat/lanes/lanes_command.h"
#include "tools/pleat/live/live_set_command.h"
#include "tools/pleat/old_names.h"
#include "tools/pleat/rollup/rollup_command.h"
#include "tools/pleat/run/run_command.h"
#include "tools/pleat/state/state_command.h"
#include "tools/pleat/store/store_command.h"

namespace pleat::cli {
namespace {

struct Subcommand {
  std::string_view name;
  std::string_view what;
  int (*main)(int argc, const char* const* argv);
  std::vector<Flag> (*flags)();
  Arguments arguments;
};

int CompletionsMain(int argc, const char* const* argv);

struct CompletionsOptions {
  bool help = false;
};

std::vector<Flag> CompletionsFlags(CompletionsOptions& options) {
  return {Heading("Options"), {"help", "", "this text", Switch(options.help), 'h'}};
}

template <const auto& kCommand>
int MainOf(int argc, const char* const* argv) {
  return kCommand.Main(argc, argv);
}

template <const auto& kCommand>
std::vector<Flag> FlagsOf() {
  return kCommand.Flags();
}

constexpr Subcommand kSubcommands[] = {
    {"fold",
     "folds a stream of events into one line per group",
     MainOf<kFoldCommand>,
     FlagsOf<kFoldCommand>,
     {}},
    {"live",
     "says who is live in each series, and when that ends",
     MainOf<kLiveSetCommand>,
     FlagsOf<kLiveSetCommand>,
     {}},
    {"rollup",
     "counts by key and by window of time, once and for all",
     MainOf<kRollupCommand>,
     FlagsOf<kRollupCommand>,
     {}},
    {"analyze",
     "says what every quiet period would have done with a log",
     AnalyzeMain,
     [] { return FlagsToRead(AnalyzeFlags); },
     {}},
    {"state",
     "says what a state directory holds, and saves what is left",
     StateMain,
     [] { return FlagsToRead(StateFlags); },
     {kStateActions, "DIR"}},
    {"store",
     "shows, checks and reads an event store, and appends to it",
     StoreMain,
     [] { return FlagsToRead(StoreFlags); },
     {kStoreActions, "FILE"}},
    {"run",
     "folds or counts the records of an event store, each once",
     RunMain,
     [] { return FlagsToRead(RunFlags); },
     {kRunActions, ""}},
    {"lanes",
     "says how the runs of an event store stand, and what waits",
     LanesMain,
     [] { return FlagsToRead(LanesFlags); },
     {{}, ""}},
    {"completions",
     "prints what a shell needs to complete all this",
     CompletionsMain,
     [] { return FlagsToRead(CompletionsFlags); },
     {kShells, ""}},
};

constexpr std::string_view kVersion =
    "pleat " PLEAT_VERSION
    "\n"
    "reads   newline-delimited JSON, CSV, TSV, logfmt, JSON documents, access logs,\n"
    "        logs of Zeek and by the W3C, server-sent events; plain, gzip or zstd\n"
    "writes  newline-delimited JSON, times in RFC 3339 UTC\n"
    "limits  1 MiB a line, 64 KiB a key, 64 levels, 1,024 members an "
    "object\n";

std::string ShortHelp() {
  std::string out =
      "pleat folds bursts of events into one event per group.\n"
      "\n"
      "  pleat fold --key user --quiet 5m --merge 'edits=count()' events.ndjson\n"
      "\n"
      "Commands:\n";
  for (const Subcommand& command : kSubcommands) {
    const std::string gap(13 - command.name.size(), ' ');
    out += "  " + std::string(command.name) + gap + std::string(command.what) + "\n";
  }
  return out +
         "\n"
         "pleat COMMAND --help explains a command; pleat --version says what this is.\n";
}

const Subcommand* Find(std::string_view name) {
  for (const Subcommand& command : kSubcommands) {
    if (command.name == name) return &command;
  }
  return nullptr;
}

int UnknownCommand(std::string_view name) {
  for (const OldName& each : kOldCommands) {
    if (each.name != name) continue;
    WriteLine("pleat: unknown command \"" + Printable(name) + "\"" +
              CalledNow("\"" + std::string(each.now) + "\""));
    return kExitUsage;
  }
  std::vector<std::string_view> known = {"--help", "--version"};
  for (const Subcommand& command : kSubcommands) known.push_back(command.name);
  const std::string nearest = NearestName(name, known);
  const std::string hint =
      nearest.empty() ? "see pleat --help" : "did you mean \"" + nearest + "\"?";
  WriteLine("pleat: unknown command \"" + Printable(name) + "\"; " + hint);
  return kExitUsage;
}

constexpr std::string_view kCompletionsHelp =
    R"(pleat completions: prints what a shell needs to complete commands and options

Usage: pleat completions bash|zsh|fish

Examples:
  For yourself, where no package has done it for all; bash and fish look there:
    pleat completions bash > ~/.local/share/bash-completion/completions/pleat
    pleat completions fish > ~/.config/fish/completions/pleat.fish

  For zsh, with fpath+=(~/.zfunc) before compinit in ~/.zshrc:
    pleat completions zsh > ~/.zfunc/_pleat

)";

int CompletionsMain(int argc, const char* const* argv) {
  CompletionsOptions options;
  const std::vector<Flag> table = CompletionsFlags(options);
  const absl::StatusOr<GivenFlags> given = ParseFlags(table, argc, argv);
  if (!given.ok()) return Complain("completions", given.status());
  if (given->IsOn("help")) return Print(std::string(kCompletionsHelp) + FlagsHelp(table));
  if (given->inputs.size() != 1 ||
      std::ranges::find(kShells, given->inputs[0]) == std::end(kShells)) {
    return Complain("completions",
                    absl::InvalidArgumentError("say for which shell: " + Alternatives(kShells)));
  }
  std::vector<CompletedCommand> commands;
  for (const Subcommand& command : kSubcommands) {
    commands.push_back({command.name, command.what, command.arguments, command.flags()});
  }
  return Print(CompletionScript(given->inputs[0], commands));
}

// A file opened later must not become standard output by accident. Writing to the descriptor that
// stands in for a closed one fails, as writing to the closed one would.
void OccupyStandardDescriptors() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (fcntl(fd, F_GETFD) == -1) {
      [[maybe_unused]] const int ignored =
          open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    }
  }
}

// --version alone, or anywhere if the command has no option of that name: to `pleat live` it is the
// path of a member's version.
bool AsksForVersion(const Subcommand& command, std::span<const char* const> arguments) {
  constexpr std::string_view kVersionFlag = "--version";
  const std::vector<Flag> flags = command.flags();
  const auto end = std::ranges::find(arguments, std::string_view("--"));
  const bool asked = std::find(arguments.begin(), end, kVersionFlag) != end;
  return asked && (arguments.size() == 1 || FindFlag(flags, "version") == nullptr);
}

int Main(int argc, const char* const* argv) {
  OccupyStandardDescriptors();
  if (argc < 2) {
    WriteLine(ShortHelp());
    return kExitUsage;
  }
  const std::string_view name = argv[1];
  if (name == "--version") return Print(kVersion);
  if (name == "--help" || name == "-h") return Print(ShortHelp());
  if (name == "help") {
    const std::string_view about = argc == 2 ? "" : argv[2];
    if (about.empty() || about == "--help" || about == "-h") return Print(ShortHelp());
    const Subcommand* const command = Find(argv[2]);
    if (command == nullptr) return UnknownCommand(argv[2]);
    const char* const help[] = {argv[2], "--help"};
    return command->main(2, help);
  }
  const Subcommand* const command = Find(name);
  if (command == nullptr) return UnknownCommand(name);
  if (AsksForVersion(*command, {argv + 2, argv + argc})) return Print(kVersion);
  InstallSignalHandlers();
  return command->main(argc - 1, argv + 1);
}

}  // namespace
}  // namespace pleat::cli

int main(int argc, char** argv) { return pleat::cli::Main(argc, argv); }
