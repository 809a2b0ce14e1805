#include "tools/pleat/run/run_command.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <span>
#include <type_traits>
#include <utility>
#include <variant>

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <pleat/processor.h>

#include "tools/pleat/console.h"
#include "tools/pleat/errno_status.h"
#include "tools/pleat/fold/fold_command.h"
#include "tools/pleat/live/live_set_command.h"
#include "tools/pleat/named_files.h"
#include "tools/pleat/rollup/rollup_command.h"
#include "tools/pleat/run/check_run.h"
#include "tools/pleat/run/lane_run.h"
#include "tools/pleat/run/run_log.h"

namespace pleat::cli {
namespace {

constexpr std::string_view kRunExamples =
    R"(pleat run: folds or counts the records of an event store, whoever dies

Usage: pleat run --store DIR --consumer NAME [OPTIONS] fold|rollup|live
           [ITS OPTIONS]
       pleat run --store DIR --consumer NAME [OPTIONS] --fold FILE --rollup FILE
       pleat run --store DIR --consumer NAME [OPTIONS] --live FILE
       pleat run --brokers HOST:PORT --topic NAME --group NAME --snapshots DIR
           [OPTIONS] fold|rollup|live [ITS OPTIONS]

Examples:
  A line for each burst of orders, into a file, for ever; after a kill the same
  command goes on, and the file has each line once:
    pleat run --store /var/lib/orders --consumer bursts --output bursts.ndjson \
        fold --key user --quiet 5m --merge 'orders=count()'

  By the time that events state, and what came too late kept apart:
    pleat run --store /var/lib/plays --consumer hours --late late.ndjson \
        rollup --key title --time at --window 1h --allowed-lateness 5m

  Several at once, from the documents that --print-spec prints, into a store:
    pleat fold --key user --quiet 5m --print-spec > bursts.json
    pleat rollup --key user --window 1h --allowed-lateness 1m \
        --print-spec > hours.json
    pleat run --store /var/lib/orders --consumer both \
        --fold bursts.json --rollup hours.json --output-store /var/lib/results

  All that is there by now, from a nightly job; the next night it goes on. What
  is open stays open; --at-end flush closes it:
    pleat run --store /var/lib/orders --consumer bursts --at-end keep \
        --output bursts.ndjson fold --key user --quiet 5m

  Of a topic, as one of the processes of a group that share its partitions:
    pleat run --brokers kafka-1:9092 --topic orders --group bursts \
        --snapshots /mnt/bursts -X security.protocol=SASL_SSL \
        -X sasl.password=@/run/secrets/kafka --output bursts.ndjson \
        fold --key user --quiet 5m

  Who comes to each page and who is gone, from two threads:
    pleat run --store /var/lib/beats --consumer readers --threads 2 \
        --output readers.ndjson live --key page --member user --ttl 30s

  From a store into a topic, where each line is keyed by its user:
    pleat run --store /var/lib/orders --consumer bursts \
        --output-topic bursts --output-brokers kafka-1:9092 \
        fold --key user --quiet 5m

  What would be guaranteed, before anything is run:
    pleat run --store /var/lib/orders --consumer bursts --check \
        fold --key user --quiet 5m

)";

constexpr std::string_view kRunNotes = R"(
Records: the payload of each is a line of JSON, as pleat store append keeps
  them. pleat fold --help, pleat rollup --help and pleat live --help explain the
  options behind the command; of these only those that make groups, windows and
  members are for run.
Time: that of the log, so no record is late; with --time that of the events. The
  last group of a quiet partition closes without a further record.
Threads: each has a range of the partitions. With more of them lines of several
  partitions follow one another in another order; those of one do not.
Consumer: pleat keeps in the store how far it has read, and snapshots. Another
  NAME begins at the first record, and disturbs nobody. One process at a time
  has a consumer. After a kill it reads up to --replay-limit records again.
  pleat lanes shows how far it is, also while it runs.
Topic: --brokers and what follows are there if pleat was built with Kafka. The
  group deals out the partitions, and its brokers keep how far they are read.
  Each process has an output of its own: when a partition moves, lines that the
  one before has not confirmed are in both, with the ids that they had.
Live sets: the lines are their changes. A live set is alone in its run.
Output: a line as of fold, rollup or live that begins with the message's id:
    {"_id":"bursts/3/9f86d081884c7d65/fold/17","user":"ann","orders":4,...}
  A FILE gets each line once, also after a kill; it is of one run alone, and not
  rotated while that runs. A pipe, another store, and a topic get
  some lines again then, with the ids that they had: drop those you know.
  Invalid and late lines have the reason, and the payload as text.
Other options: limits, what is printed around the result, --invalid, --late, and
  a further collection may be given to a run that was ended by a signal, or by
  --at-end keep or flush. Behind a kill the run before has to go on first, and
  end. What makes other groups or windows needs another --consumer, or the
  partitions are parked: nothing is done with them, and nothing is lost.
Exit codes: 0 done; 1 could not read or write, a partition is parked, events
  over a limit, most records invalid; 2 wrong usage; 130, 143, 129 asked to end
  (SIGINT, SIGTERM, SIGHUP): all is written, and kept for the next run.
)";

absl::Status WrongRunUsage(const std::string& why) { return absl::InvalidArgumentError(why); }

// Memory of a lane's collection that has no limit of its own. It does not depend on the machine, as a
// lane's groups do not.
constexpr size_t kLaneMemory = size_t{1} << 30;

// Options of a command that say something about a run, and have their place before it.
template <class Options>
absl::Status CheckOfSpec(const EngineCommand<Options>& command, const Options& options, int argc,
                         const char* const* argv) {
  if (!options.no_file_given) {
    return WrongRunUsage(std::string(command.name) +
                         ": takes no FILE here: --store has the records");
  }
  if constexpr (std::is_same_v<Options, LiveSetRunOptions>) {
    if (options.prints_counts()) {
      return WrongFlag("every",
                       "prints counts, and a run prints changes: pleat live counts what "
                       "pleat store read hands on");
    }
  }
  Options unused;
  const std::vector<Flag> flags = command.flags(unused);
  const absl::StatusOr<GivenFlags> given = ParseFlags(flags, argc, argv);
  if (!given.ok()) return given.status();
  RunOptions run;
  const std::vector<Flag> of_run = RunFlags(run);
  for (const Flag& flag : flags) {
    const bool is_of_spec = flag.name == "max-memory" || flag.name == "spec" ||
                            flag.name == "changes" || flag.name == "refreshes" || !flag.value.text;
    if (is_of_spec || !given->Has(flag.name)) continue;
    const bool is_of_run = std::ranges::count(of_run, flag.name, &Flag::name) > 0;
    return WrongFlag(
        flag.name,
        is_of_run ? "stands before " + std::string(command.name) + ", as an option of pleat run"
                  : "is no option that makes groups, windows or members: not for a run");
  }
  return absl::OkStatus();
}

template <class Options>
absl::StatusOr<RunCollection> ReadCollection(const EngineCommand<Options>& command,
                                             const std::string& name, int argc,
                                             const char* const* argv) {
  absl::StatusOr<Options> options = command.Parse(argc, argv);
  if (!options.ok()) return options.status();
  if (absl::Status checked = CheckOfSpec(command, *options, argc, argv); !checked.ok())
    return checked;
  if (!options->max_memory_given) options->max_memory = kLaneMemory;
  options->event.max_waiting_bytes = options->max_memory - options->collection_memory();
  RunCollection collection{.name = name, .spec = SpecOf(*options)};
  if constexpr (std::is_same_v<Options, LiveSetRunOptions>) {
    collection.refreshes = options->refreshes;
  }
  return collection;
}

absl::StatusOr<RunCollection> ReadCollection(std::string_view kind, const std::string& name,
                                             int argc, const char* const* argv) {
  if (kind == "fold") return ReadCollection(kFoldCommand, name, argc, argv);
  if (kind == "live") return ReadCollection(kLiveSetCommand, name, argc, argv);
  return ReadCollection(kRollupCommand, name, argc, argv);
}

// The documents of --fold, --rollup and --live, each a collection that is called as its file.
absl::Status ReadDocuments(const GivenFlags& given, RunOptions& options) {
  for (const std::string_view kind : kRunActions) {
    if (!given.Has(kind)) continue;
    for (const std::string& file : given.texts.at(kind)) {
      const std::string name = std::filesystem::path(file).stem().string();
      const char* const argv[] = {kind.data(), "--spec", file.c_str()};
      absl::StatusOr<RunCollection> read = ReadCollection(kind, name, 3, argv);
      if (!read.ok()) return read.status();
      options.collections.push_back(*std::move(read));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckUsage(const RunOptions& options) {
  if (absl::Status checked = CheckBrokers(options); !checked.ok()) return checked;
  const bool has_topic = !options.brokers.empty();
  if (options.store.empty() && !has_topic)
    return WrongFlag("store", "is required: the directory of an event store");
  if (options.consumer.empty() && !has_topic) {
    return WrongFlag("consumer", "is required: the name under which this run goes on");
  }
  if (options.collections.empty()) {
    return WrongRunUsage(
        "say what to make of the records: fold, rollup or live with its options, or --fold, "
        "--rollup or --live with a FILE");
  }
  if (options.collections.size() >= kLaneStreamsMax) {
    return WrongRunUsage("at most " + std::to_string(kLaneStreamsMax - 1) + " collections");
  }
  for (size_t i = 0; i < options.collections.size(); ++i) {
    for (size_t k = 0; k < i; ++k) {
      if (options.collections[i].name != options.collections[k].name) continue;
      return WrongRunUsage("two collections are called " + Printable(options.collections[i].name));
    }
    const bool is_live = std::holds_alternative<LiveSetSpec>(options.collections[i].spec);
    if (is_live && options.collections.size() > 1) {
      return WrongRunUsage("a live set is alone in its run: give " +
                           Printable(options.collections[i].name) +
                           " another run, with a --consumer of its own");
    }
    if (options.collections[i].name == "emitted") {
      return WrongRunUsage("a collection cannot be called emitted");
    }
  }
  if (!options.output_store.empty() && options.output_file != "-") {
    return WrongFlag("output-store", "contradicts --output");
  }
  if (!options.output_store.empty() &&
      WholeName(options.output_store) == WholeName(options.store)) {
    return WrongFlag("output-store", "is the store that is read: results would be events again");
  }
  return absl::OkStatus();
}

// Where the command begins that stands behind the options: an argument that is no option, and no
// value of one.
int FindCommand(const std::vector<Flag>& flags, int argc, const char* const* argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (!argument.starts_with("-") || argument == "-") return i;
    if (argument.find('=') != argument.npos) continue;
    const std::string_view name = argument.substr(argument.starts_with("--") ? 2 : 1);
    const auto is_named = [name](const Flag& each) {
      return each.name == name || (name.size() == 1 && each.letter == name[0]);
    };
    const auto flag = std::ranges::find_if(flags, is_named);
    if (flag != flags.end() && !flag->is_switch()) ++i;
  }
  return argc;
}

// The name of an argument that is an option: "--key=user" has "key", and "-k" has "k".
std::string_view NameOf(std::string_view argument) {
  if (!argument.starts_with("-") || argument == "-" || argument == "--") return {};
  argument.remove_prefix(argument.starts_with("--") ? 2 : 1);
  return argument.substr(0, argument.find('='));
}

// An option that `here` does not know, and `there` does. Null: there is none.
const Flag* Misplaced(const std::vector<Flag>& here, const std::vector<Flag>& there,
                      std::span<const char* const> arguments) {
  for (const std::string_view argument : arguments) {
    const std::string_view name = NameOf(argument);
    if (name.empty()) continue;
    const bool is_letter = name.size() == 1 && !argument.starts_with("--");
    const auto find = [&](const std::vector<Flag>& flags) -> const Flag* {
      if (!is_letter) return FindFlag(flags, name);
      const auto found = std::ranges::find(flags, name[0], &Flag::letter);
      return found == flags.end() ? nullptr : &*found;
    };
    const Flag* const found = find(there);
    if (found != nullptr && find(here) == nullptr) return found;
  }
  return nullptr;
}

// What is unknown to pleat run may be an option of the command behind it.
absl::Status CheckPlaces(const std::vector<Flag>& of_run, int command, int argc,
                         const char* const* argv) {
  const std::vector<Flag> of_fold = kFoldCommand.Flags();
  const std::vector<Flag> of_rollup = kRollupCommand.Flags();
  const std::vector<Flag> of_live = kLiveSetCommand.Flags();
  const std::span<const char* const> before(argv + 1, argv + std::max(command, 1));
  const std::pair<const std::vector<Flag>&, std::string_view> kinds[] = {
      {of_fold, "fold"}, {of_rollup, "rollup"}, {of_live, "live"}};
  for (const auto& [flags, name] : kinds) {
    const Flag* const found = Misplaced(of_run, flags, before);
    if (found == nullptr) continue;
    return WrongFlag(found->name, "stands behind " + std::string(name) +
                                      ", as its option: pleat run ... " + std::string(name) +
                                      " --" + std::string(found->name));
  }
  if (command >= argc) return absl::OkStatus();
  const std::string_view given = argv[command];
  for (const auto& [flags, name] : kinds) {
    if (given != name) continue;
    const Flag* const found = Misplaced(flags, of_run, {argv + command + 1, argv + argc});
    if (found == nullptr) continue;
    return WrongFlag(found->name,
                     "stands before " + std::string(name) + ", as an option of pleat run");
  }
  return absl::OkStatus();
}

bool AsksForHelp(std::string_view argument) { return argument == "--help" || argument == "-h"; }

// I/N: the I-th of N.
FlagValue WorkerOf(RunWorker& worker) {
  const auto set = [&worker](std::string_view name, std::string_view text) {
    const size_t slash = text.find('/');
    if (slash == text.npos) return WrongFlag(name, "is written I/N: the I-th of N processes");
    RunWorker read;
    absl::Status status =
        Number(read.count, 1, 100'000).set(name, std::string(text.substr(slash + 1)));
    if (status.ok()) {
      status = Number(read.number, 1, read.count).set(name, std::string(text.substr(0, slash)));
    }
    if (status.ok()) worker = read;
    return status;
  };
  const auto text = [&worker] {
    return worker.number == 0 ? std::string()
                              : std::to_string(worker.number) + "/" + std::to_string(worker.count);
  };
  return {set, text};
}

// A list of texts, which may be secrets: none is told.
FlagValue Secrets(std::vector<std::string>& list) {
  const auto add = [&list](std::string_view, std::string_view text) {
    list.emplace_back(text);
    return absl::OkStatus();
  };
  return {add, [] { return std::string(); }, [&list] { list.clear(); }};
}

// A list of files that are read later.
FlagValue Documents() {
  return {[](std::string_view, std::string_view) { return absl::OkStatus(); },
          [] { return std::string(); }, [] {}};
}

}  // namespace

std::vector<Flag> RunFlags(RunOptions& o) {
  return {
      Heading("Which records"),
      {"store", "DIR", "the event store (required, or --brokers)", Text(o.store)},
      {"consumer", "NAME", "under which the store keeps how far this run is (required with it)",
       Text(o.consumer)},
      {"brokers", "HOST:PORT[,...]", "or the brokers that have a topic", Text(o.brokers)},
      {"topic", "NAME", "the topic (required with --brokers)", Text(o.topic)},
      {"group", "NAME", "the group whose processes share its partitions (required with it)",
       Text(o.group)},
      {"snapshots", "DIR",
       "a directory of this group alone that all its processes see (required with it)",
       Text(o.snapshots)},
      {"worker", "I/N",
       "the I-th of N processes: it has its partitions back when it starts again in time",
       WorkerOf(o.worker)},
      {"profile", "kafka|event-hubs|redpanda|warpstream",
       "what kind of brokers these are (default kafka): sets what they need",
       OneOf(o.profile, {"kafka", "event-hubs", "redpanda", "warpstream"})},
      {"property", "NAME=VALUE",
       "a setting of librdkafka; of NAME=@FILE the value is the first line of the file. May\n"
       "be repeated",
       Secrets(o.properties), 'X'},
      Heading("What is made of them"),
      {"fold", "FILE",
       "a document of pleat fold --print-spec; may be repeated. Its lines have the file's\n"
       "name, without its end, in their ids",
       Documents()},
      {"rollup", "FILE", "the same of pleat rollup", Documents()},
      {"live", "FILE", "the same of pleat live, whose changes are the lines; alone in its run",
       Documents()},
      {"idle", "DURATION",
       "with --time of the fold or rollup, while a run waits for more: when nothing was appended\n"
       "for so long, time follows that of the log, so far behind it (default 30s), and the last\n"
       "groups close. For events that are stamped near the present: of an import of older ones\n"
       "what is appended later would be late. inf: only events move time",
       AboveZero(o.idle)},
      Heading("Where it goes"),
      {"output", "FILE", "lines go to the end of this file; - is standard output (default)",
       FileName(o.output_file, Dash::kStandardStream), 'o'},
      {"output-store", "DIR", "or into this event store, which is made if it is not there",
       Text(o.output_store)},
      {"output-topic", "NAME",
       "or into this topic, keyed by their groups, with their ids as header pleat-id",
       Text(o.output_topic)},
      {"output-brokers", "HOST:PORT[,...]",
       "the brokers of topics that are written (default those of --brokers)",
       Text(o.output_brokers)},
      {"on-invalid", "skip|most",
       "lines that are no events: skip them; or skip them, but exit with 1 at the end if\n"
       "they were more than the others (default). A run that follows a log has no end,\n"
       "and is judged by pleat_run_invalid of --metrics",
       OneOf(o.skips_invalid, {"most", "skip"})},
      {"invalid", "FILE", "lines that are no events go there",
       FileName(o.invalid_file, Dash::kRefused)},
      {"invalid-topic", "NAME", "or into this topic", Text(o.invalid_topic)},
      {"late", "FILE", "late ones go there", FileName(o.late_file, Dash::kRefused)},
      {"late-topic", "NAME", "or into this topic", Text(o.late_topic)},
      {"quiet-summary", "", "no summary on stderr", Switch(o.quiet_summary)},
      Heading("How it runs"),
      {"at-end", "follow|keep|flush",
       "when all records were read, wait for more (default); or end, and keep what is open\n"
       "for the next run, or flush it: it closes and comes out",
       OneOf(o.at_end, {"follow", "keep", "flush"})},
      {"commit-every", "DURATION",
       "how often it is kept how far the run is, and lines come out (default 100ms)",
       AboveZero(o.commit_every)},
      {"replay-limit", "N",
       "a snapshot of a partition is taken after so many records (default 1000000); after a\n"
       "kill no more are read again",
       Number(o.replay_limit, 1, 2'000'000'000)},
      {"threads", "N",
       "1 to 256 (default 1), each with a range of the partitions; no more than these. The\n"
       "lines of a partition are the same and in the same order for every N; of several\n"
       "partitions they come in any order",
       Number(o.threads, 1, 256), 'j'},
      {"metrics", "FILE",
       "how the run and its lanes stand, for Prometheus: a file that is replaced as a whole,\n"
       "every 10 seconds and at the end",
       FileName(o.metrics_file, Dash::kRefused)},
      {"check", "", "say what the run would meet and what would be guaranteed, and change nothing",
       Switch(o.check)},
      {"help", "", "this text", Switch(o.help), 'h'},
  };
}

std::string RunHelp() {
  RunOptions options;
  return std::string(kRunExamples) + FlagsHelp(RunFlags(options)) + std::string(kRunNotes);
}

int RunMain(int argc, const char* const* argv) {
  RunOptions options;
  const std::vector<Flag> table = RunFlags(options);
  const int command = FindCommand(table, argc, argv);
  if (absl::Status placed = CheckPlaces(table, command, argc, argv); !placed.ok()) {
    return Complain("run", placed);
  }
  const absl::StatusOr<GivenFlags> given = ParseFlags(table, command, argv);
  if (!given.ok()) return Complain("run", given.status());
  if (absl::Status set = SetGiven(table, *given); !set.ok()) return Complain("run", set);
  if (options.help) return Print(RunHelp());
  if (absl::Status read = ReadDocuments(*given, options); !read.ok()) return Complain("run", read);
  if (command < argc) {
    const std::string_view name = argv[command];
    if (std::ranges::find(kRunActions, name) == std::end(kRunActions)) {
      return Complain("run", WrongRunUsage("cannot run \"" + Printable(name) + "\": there are " +
                                           Alternatives(kRunActions)));
    }
    if (std::any_of(argv + command, argv + argc, AsksForHelp)) {
      return Print(name == "fold"     ? kFoldCommand.Help()
                   : name == "rollup" ? kRollupCommand.Help()
                                      : kLiveSetCommand.Help());
    }
    absl::StatusOr<RunCollection> read =
        ReadCollection(name, std::string(name), argc - command, argv + command);
    if (!read.ok()) return Complain("run", read.status());
    options.collections.push_back(*std::move(read));
  }
  if (absl::Status usage = CheckUsage(options); !usage.ok()) return Complain("run", usage);
  if (!options.brokers.empty()) options.consumer = options.group;
  return options.check ? CheckRun(options) : RunLanes(options);
}

}  // namespace pleat::cli
