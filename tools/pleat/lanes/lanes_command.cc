#include "tools/pleat/lanes/lanes_command.h"

#include <sys/stat.h>

#include <charconv>
#include <chrono>
#include <iterator>
#include <system_error>
#include <utility>

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <pleat/event_store_reader.h>
#include <pleat/metrics.h>
#include <pleat/store_log.h>

#include "tools/pleat/console.h"
#include "tools/pleat/errno_status.h"
#include "tools/pleat/json_text.h"
#include "tools/pleat/lanes/lanes_text.h"
#include "tools/pleat/lock_owner.h"
#include "tools/pleat/parked_lanes.h"

namespace pleat::cli {
namespace {

constexpr std::string_view kLanesExamples =
    R"(pleat lanes: how the consumers of an event store stand, and what waits for you

Usage: pleat lanes --store DIR [--json | --metrics]
       pleat lanes --store DIR --consumer NAME [--json | --metrics]
       pleat lanes --store DIR --consumer NAME --retry KEY [--partition N]
       pleat lanes --store DIR --consumer NAME --drop KEY --offset N
       pleat lanes --store DIR --consumer NAME --revive ID | --drop-message ID

Examples:
  Who reads the store, how far each is behind, and whether it runs:
    pleat lanes --store /var/lib/orders

  Each partition of one, and the keys and messages that wait for you:
    pleat lanes --store /var/lib/orders --consumer totals

  The service that refused a key is back; its run, which was stopped, begins
  with that key:
    pleat lanes --store /var/lib/orders --consumer totals --retry ann

  A record will never be handled; the key's later records go on without it:
    pleat lanes --store /var/lib/orders --consumer totals --drop ann --offset 17

  A message was set aside, and its receiver takes it now:
    pleat lanes --store /var/lib/orders --consumer totals \
        --revive totals/3/9f86d081884c7d65/baskets/17

  For Prometheus, once a minute, by the text files of its node exporter:
    pleat lanes --store /var/lib/orders --metrics > lanes.tmp &&
      mv lanes.tmp /var/lib/node_exporter/lanes.prom

)";

constexpr std::string_view kLanesNotes = R"(
What is shown is on the disk: it takes no lock, and may be asked beside a run,
  or after one has died. What a run did since its last commit is not there. A
  lane is one partition:
    next       where it has come by its last commit
    end        where the log ends
    unread     the records between
    behind     by how much time: from there to the newest record
    waiting    messages that were decided, and are not known as delivered
    held       keys whose first record was refused, and waits with those behind
    buried     messages that were set aside
    state      up to date; behind; parked by the last run of pleat run, with the
               reason below; cannot go on: its next run would park it
Held keys and buried messages are those of programs with a handler of their
  own; pleat run has neither.
--retry, --drop, --revive and --drop-message write what you decide; the next run
  does it. The run is stopped first; a program that runs can do the same itself,
  by Processor::Retry(), Drop() and Revive(). A key or message that has gone is
  an error, and nothing is changed.
ID has the consumer's name in front; a program that names its messages
  otherwise has that name there.
Exit codes: 0 done; 1 a lane cannot go on or is parked, a file is damaged, no
  such store, consumer, key or message, a run holds the consumer, could not be
  read or written; 2 wrong usage.
)";

FlagValue MaybeText(std::optional<std::string>& text) {
  const auto set = [&text](std::string_view, std::string_view given) {
    text = std::string(given);
    return absl::OkStatus();
  };
  return {set, [] { return std::string(); }};
}

FlagValue LanesOffset(std::optional<uint64_t>& offset) {
  const auto set = [&offset](std::string_view name, std::string_view text) {
    uint64_t number = 0;
    const char* const end = text.data() + text.size();
    if (std::from_chars(text.data(), end, number) != std::from_chars_result{end, std::errc()})
      return WrongFlag(name, "must be an offset, a number of 0 or more");
    offset = number;
    return absl::OkStatus();
  };
  return {set, [] { return std::string(); }};
}

absl::Status CheckUsage(const GivenFlags& given, const LanesOptions& options) {
  if (!given.inputs.empty()) {
    return absl::InvalidArgumentError("takes no " + Printable(given.inputs.front()) +
                                      ": --store has the directory");
  }
  if (options.store.empty())
    return WrongFlag("store", "is required: the directory of an event store");
  std::string_view action;
  for (const std::string_view each : {"retry", "drop", "revive", "drop-message"}) {
    if (!given.Has(each)) continue;
    if (!action.empty()) return WrongFlag(each, "contradicts --" + std::string(action));
    action = each;
  }
  if (options.json && options.metrics) return WrongFlag("metrics", "contradicts --json");
  if (!options.acts()) {
    if (options.offset) return WrongFlag("offset", "needs --drop");
    if (options.partition) return WrongFlag("partition", "needs --retry or --drop");
    return absl::OkStatus();
  }
  if (options.consumer.empty()) return WrongFlag(action, "needs --consumer: whose key or message");
  if (options.json) return WrongFlag("json", "contradicts --" + std::string(action));
  if (options.metrics) return WrongFlag("metrics", "contradicts --" + std::string(action));
  if (options.drop && !options.offset) {
    return WrongFlag("drop",
                     "needs --offset: that of the key's first record, so that nothing "
                     "else is dropped");
  }
  if (options.offset && !options.drop) return WrongFlag("offset", "needs --drop");
  if (options.partition && !options.retry && !options.drop)
    return WrongFlag("partition", "an id has a partition");
  return absl::OkStatus();
}

// A name that is mistyped, and one that was meant.
absl::Status NoSuchConsumer(absl::Status found, const LanesOptions& options) {
  const absl::StatusOr<std::vector<std::string>> names = StoreConsumer::Names(options.store);
  if (!names.ok()) return names.status();
  const std::string nearest = NearestName(options.consumer, {names->begin(), names->end()});
  if (nearest.empty()) return found;
  return absl::NotFoundError(std::string(found.message()) + "; did you mean " + nearest + "?");
}

absl::StatusOr<ConsumerLanes> LookAt(const std::string& store, const std::string& name) {
  absl::StatusOr<StoreLog::Lanes> looked = StoreLog::Look(store, name);
  if (!looked.ok()) return looked.status();
  const std::string directory = store + "/consumers/" + name;
  ConsumerLanes consumer{.name = name,
                         .all = *std::move(looked),
                         .process = LockOwner(directory),
                         .committed = std::nullopt};
  for (const ParkedLane& each : ReadParked(store, name)) {
    if (each.partition < 0 || std::ssize(consumer.all.lanes) <= each.partition) continue;
    LaneStatus& lane = consumer.all.lanes[static_cast<size_t>(each.partition)];
    if (!lane.why.ok() || lane.next != each.next) continue;
    lane.phase = LanePhase::kParked;
    lane.why = absl::FailedPreconditionError("partition " + std::to_string(each.partition) + ": " +
                                             each.why);
  }
  struct stat file{};
  if (stat((directory + "/CHECKPOINT").c_str(), &file) == 0) {
    consumer.committed = FromUnix(std::chrono::seconds(file.st_mtim.tv_sec) +
                                  std::chrono::nanoseconds(file.st_mtim.tv_nsec));
  }
  return consumer;
}

std::string MetricsOf(const std::vector<ConsumerLanes>& consumers) {
  std::vector<ProcessorMetrics> processors;
  processors.reserve(consumers.size());
  for (const ConsumerLanes& each : consumers) processors.emplace_back(each.name, each.all.lanes);
  return WriteMetrics({}, MetricsFormat::kPrometheus, {}, {}, {}, {}, processors);
}

std::string TextOf(const std::vector<ConsumerLanes>& consumers, const LanesOptions& options) {
  if (options.metrics) return MetricsOf(consumers);
  if (options.json) {
    std::string out;
    for (const ConsumerLanes& each : consumers) out += ConsumerJson(each);
    return out;
  }
  return options.consumer.empty() ? OverviewText(consumers) : ConsumerText(consumers.front());
}

// One that is damaged does not hide the others.
int Show(const LanesOptions& options) {
  std::vector<std::string> names = {options.consumer};
  if (options.consumer.empty()) {
    absl::StatusOr<std::vector<std::string>> all = StoreConsumer::Names(options.store);
    if (!all.ok()) return Complain("lanes", all.status());
    names = *std::move(all);
  }
  bool failed = false;
  std::vector<ConsumerLanes> consumers;
  for (const std::string& name : names) {
    absl::StatusOr<ConsumerLanes> looked = LookAt(options.store, name);
    if (!looked.ok() && !options.consumer.empty()) {
      const bool no_such = absl::IsNotFound(looked.status());
      return Complain("lanes",
                      no_such ? NoSuchConsumer(looked.status(), options) : looked.status());
    }
    if (absl::IsNotFound(looked.status())) continue;  // removed just now
    if (!looked.ok()) {
      Complain("lanes", looked.status());
      failed = true;
      continue;
    }
    for (const LaneStatus& each : looked->all.lanes) failed |= !each.why.ok();
    consumers.push_back(*std::move(looked));
  }
  const int printed = Print(TextOf(consumers, options));
  return printed == kExitDone && failed ? kExitFailed : printed;
}

// --- What a person decides

// What is looked for may be in a file that cannot be read.
absl::Status DamageIn(const ConsumerLanes& consumer) {
  for (const LaneStatus& each : consumer.all.lanes) {
    if (absl::IsDataLoss(each.why)) return each.why;
  }
  return absl::OkStatus();
}

absl::StatusOr<HeldKey> FindKey(const ConsumerLanes& consumer, const LanesOptions& options) {
  const std::string& key = options.retry ? *options.retry : *options.drop;
  std::vector<HeldKey> found;
  for (const HeldKey& each : consumer.all.held_keys) {
    if (each.key == key && each.partition == options.partition.value_or(each.partition))
      found.push_back(each);
  }
  if (found.size() > 1) {
    return WrongFlag("partition", "is required here: several partitions hold key " + JsonText(key) +
                                      ", such as " + std::to_string(found[0].partition) + " and " +
                                      std::to_string(found[1].partition));
  }
  if (found.size() == 1) return found.front();
  if (absl::Status damage = DamageIn(consumer); !damage.ok()) return damage;
  std::vector<std::string_view> held;
  held.reserve(consumer.all.held_keys.size());
  for (const HeldKey& each : consumer.all.held_keys) held.push_back(each.key);
  const std::string nearest = NearestName(key, held);
  return absl::NotFoundError("consumer " + consumer.name + " holds no key " + JsonText(key) +
                             (nearest.empty() ? "" : "; did you mean " + JsonText(nearest) + "?"));
}

absl::StatusOr<std::string> DecideKey(const ConsumerLanes& consumer, const LanesOptions& options) {
  const absl::StatusOr<HeldKey> found = FindKey(consumer, options);
  if (!found.ok()) return found.status();
  const std::string begin =
      "partition " + std::to_string(found->partition) + ": key " + JsonText(found->key);
  if (options.retry) {
    absl::Status done =
        StoreLog::Retry(options.store, options.consumer, found->partition, found->key);
    if (!done.ok()) return done;
    return begin + " is retried by the next run\n";
  }
  absl::Status done = StoreLog::Drop(options.store, options.consumer, found->partition, found->key,
                                     *options.offset);
  if (!done.ok()) return done;
  return begin + " goes on without the record at offset " + std::to_string(*options.offset) + "\n";
}

absl::StatusOr<std::string> DecideMessage(const ConsumerLanes& consumer,
                                          const LanesOptions& options) {
  const bool revives = !options.revive.empty();
  const std::string& id = revives ? options.revive : options.drop_message;
  for (const BuriedMessage& each : consumer.all.buried) {
    if (IdOf(consumer, each) != id) continue;
    absl::Status done = revives ? StoreLog::Revive(options.store, options.consumer, each.message.id)
                                : StoreLog::Drop(options.store, options.consumer, each.message.id);
    if (!done.ok()) return done;
    return Printable(id) + (revives ? " is delivered by the next run\n" : " is never delivered\n");
  }
  if (absl::Status damage = DamageIn(consumer); !damage.ok()) return damage;
  return absl::NotFoundError("consumer " + consumer.name + " has not buried " + Printable(id));
}

int Act(const LanesOptions& options) {
  absl::StatusOr<ConsumerLanes> consumer = LookAt(options.store, options.consumer);
  if (absl::IsNotFound(consumer.status()))
    return Complain("lanes", NoSuchConsumer(consumer.status(), options));
  if (!consumer.ok()) return Complain("lanes", consumer.status());
  const bool about_key = options.retry || options.drop;
  const absl::StatusOr<std::string> done =
      about_key ? DecideKey(*consumer, options) : DecideMessage(*consumer, options);
  if (absl::IsUnavailable(done.status())) {
    const std::string_view call = options.retry             ? "Retry()"
                                  : !options.revive.empty() ? "Revive()"
                                                            : "Drop()";
    return Complain("lanes", absl::UnavailableError("a run holds consumer " + options.consumer +
                                                    ": stop that first, "
                                                    "or let the program call Processor::" +
                                                    std::string(call) + " (" +
                                                    std::string(done.status().message()) + ")"));
  }
  if (!done.ok()) return Complain("lanes", done.status());
  return Print(*done);
}

}  // namespace

std::vector<Flag> LanesFlags(LanesOptions& o) {
  return {
      Heading("Which lanes"),
      {"store", "DIR", "the event store (required)", Text(o.store)},
      {"consumer", "NAME", "only this one, with each of its partitions", Text(o.consumer)},
      Heading("What you decide; no run holds the consumer meanwhile"),
      {"retry", "KEY", "the next run hands the first record of this held key over again",
       MaybeText(o.retry)},
      {"drop", "KEY", "the first record of this held key is never handled", MaybeText(o.drop)},
      {"offset", "N", "of --drop: the offset of that record, as it is shown",
       LanesOffset(o.offset)},
      {"partition", "N",
       "of --retry and --drop: where the key is held, if several partitions hold it",
       MaybeNumber(o.partition, 0, 4095)},
      {"revive", "ID", "the next run delivers this buried message", Text(o.revive)},
      {"drop-message", "ID", "this buried message is never delivered", Text(o.drop_message)},
      Heading("Options"),
      {"json", "", "a JSON object for each consumer instead of text for people", Switch(o.json)},
      {"metrics", "", "text for Prometheus", Switch(o.metrics)},
      {"help", "", "this text", Switch(o.help), 'h'},
  };
}

std::string LanesHelp() {
  LanesOptions options;
  return std::string(kLanesExamples) + FlagsHelp(LanesFlags(options)) + std::string(kLanesNotes);
}

int LanesMain(int argc, const char* const* argv) {
  LanesOptions options;
  const std::vector<Flag> table = LanesFlags(options);
  const absl::StatusOr<GivenFlags> given = ParseFlags(table, argc, argv);
  if (!given.ok()) return Complain("lanes", given.status());
  if (absl::Status set = SetGiven(table, *given); !set.ok()) return Complain("lanes", set);
  if (options.help) return Print(LanesHelp());
  if (absl::Status usage = CheckUsage(*given, options); !usage.ok())
    return Complain("lanes", usage);
  return options.acts() ? Act(options) : Show(options);
}

}  // namespace pleat::cli
