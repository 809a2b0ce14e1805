// The pleat program: a table of subcommands, with help and version.
#include <fcntl.h>
#include <unistd.h>

#include <string>
#include <string_view>
#include <vector>

#include "tools/pleat/analyze/analyze_command.h"
#include "tools/pleat/console.h"
#include "tools/pleat/flags.h"
#include "tools/pleat/fold/fold_command.h"
#include "tools/pleat/interrupt.h"
#include "tools/pleat/journal/journal_command.h"
#include "tools/pleat/rollup/rollup_command.h"
#include "tools/pleat/window/window_command.h"

namespace pleat::cli {
namespace {

struct Subcommand {
  std::string_view name;
  std::string_view what;
  int (*main)(int argc, const char* const* argv);
};

constexpr Subcommand kSubcommands[] = {
    {"fold", "folds a stream of JSON events into one line per group", FoldMain},
    {"window", "says who is live in each series, and when that ends", WindowMain},
    {"rollup", "counts by key and by window of time, once and for all", RollupMain},
    {"analyze", "says what every quiet period would have done with a log", AnalyzeMain},
    {"journal", "says what a directory of snapshots holds, and saves what is left", JournalMain},
};

constexpr std::string_view kVersion =
    "pleat " PLEAT_VERSION
    "\n"
    "reads   newline-delimited JSON, plain, gzip or zstd\n"
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
    const std::string gap(10 - command.name.size(), ' ');
    out += "  " + std::string(command.name) + gap + std::string(command.what) + "\n";
  }
  return out +
         "\n"
         "pleat COMMAND --help teaches a command; pleat --version says what this is.\n";
}

const Subcommand* Find(std::string_view name) {
  for (const Subcommand& command : kSubcommands) {
    if (command.name == name) return &command;
  }
  return nullptr;
}

int UnknownCommand(std::string_view name) {
  std::vector<std::string_view> known = {"--help", "--version"};
  for (const Subcommand& command : kSubcommands) known.push_back(command.name);
  const std::string nearest = NearestName(name, known);
  const std::string hint =
      nearest.empty() ? "see pleat --help" : "did you mean \"" + nearest + "\"?";
  WriteLine("pleat: unknown command \"" + std::string(name) + "\"; " + hint);
  return kExitUsage;
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
  InstallSignalHandlers();
  return command->main(argc - 1, argv + 1);
}

}  // namespace
}  // namespace pleat::cli

int main(int argc, char** argv) { return pleat::cli::Main(argc, argv); }
