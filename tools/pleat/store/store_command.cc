#include "tools/pleat/store/store_command.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <iterator>
#include <memory>
#include <system_error>
#include <utility>

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <pleat/event_store_reader.h>
#include <pleat/json_lines.h>

#include "tools/pleat/console.h"
#include "tools/pleat/interrupt.h"
#include "tools/pleat/json_text.h"
#include "tools/pleat/lock_owner.h"
#include "tools/pleat/quantity_text.h"
#include "tools/pleat/store/store_append.h"
#include "tools/pleat/store/store_consumers.h"
#include "tools/pleat/store/store_copy.h"
#include "tools/pleat/store/store_read.h"
#include "tools/pleat/summary_text.h"

namespace pleat::cli {
namespace {

constexpr std::string_view kStoreExamples =
    R"(pleat store: looks into an event store, where events are kept, and appends to it

Usage: pleat store show DIR [--json]
       pleat store check DIR [--json]
       pleat store read DIR [OPTIONS]
       pleat store append DIR [OPTIONS] [FILE...]
       pleat store consumers DIR [--move NAME [--from PLACE] | --remove NAME]
       pleat store trim DIR [--keep DURATION] [--keep-bytes BYTES]
       pleat store copy DIR NEW [--partitions N]
       pleat store salvage DIR NEW

Examples:
  How much is in it, and who appends:
    pleat store show /var/lib/orders

  Whether every record is as it was written, from a nightly job:
    pleat store check /var/lib/orders || mail -s "store damaged" ops

  What came since noon, folded again:
    pleat store read /var/lib/orders --from 2026-11-28T12:00:00Z |
      pleat fold --key user --quiet 5m --merge 'orders=count()'

  All of one key, and what comes next:
    pleat store read /var/lib/orders --key 'order 17' --follow

  The lines of today's log, once each, however often this runs:
    pleat store append /var/lib/orders --key order --time at orders.ndjson

  Who reads it, and how much each has not read; and let one read a day again:
    pleat store consumers /var/lib/orders
    pleat store consumers /var/lib/orders --move mail --from 2026-11-28

  Remove files older than 30 days that every consumer has read:
    pleat store trim /var/lib/orders --keep 30d

  A backup, beside the program that appends; and a copy of 16 partitions:
    pleat store copy /var/lib/orders /backup/orders-2026-11-28
    pleat store copy /var/lib/orders /var/lib/orders.16 --partitions 16

  A disk has damaged it: save what can be saved, and go on with the copy:
    pleat store salvage /var/lib/orders /var/lib/orders.saved

)";

constexpr std::string_view kStoreNotes = R"(
show, check, read, copy and salvage only read DIR, without its lock: a program
  may append meanwhile. What is shown, or copied, is durable.
append makes a record of each line: the line, as JSON, its key, its stamp, and
  the time at which it was appended. It makes DIR if there is none, and is the
  only one that appends. How far each FILE was taken is kept in one block with
  its records: the same command goes on there after a kill, and takes each line
  once. A FILE that has grown goes on; one that was taken to its end is passed
  over. A FILE is known by how it begins, also under another name. A last line
  without a newline waits for the next run.
  A pipe cannot be read again: after a kill its sender sends again what it does
  not know to be in the store, so its lines come at least once.
read writes a line for each record, in the order of `appended`. A payload that
  is a JSON object gets one more member, and any other is the member `payload`,
  or `payload_base64` if it is no text:
    {"user":"ann","_store":{"partition":3,"offset":17,"key":"ann",...}}
consumers lists them by name. --move sets where one reads on, in every partition
  or in one; --remove forgets it. The consumer must not be open.
trim removes whole files, the oldest first, and never the newest; no program may
  have DIR open to append. Without --keep nothing goes because of its age.
copy makes another store, NEW, in the order in which blocks were written.
  Offsets and partitions stay, and consumers go along. With another number of
  partitions each record goes to the partition of its key, and offsets begin
  anew: consumers that have read all go along and stand at the end, and others
  stop the copy. One that was not finished has the file UNFINISHED-COPY, and is
  refused: remove it.
salvage copies what is whole of a damaged store, and says what is lost: files
  and bytes with the reason, and the offsets of records. Behind a hole offsets
  in NEW are smaller. Consumers do not go along: their places may be others now.
OFFSET counts the records of one partition, from 0; so it needs --partition or
  --key. TIME is an instant of `appended`, such as 2026-11-28T12:00:00Z; a date
  is its beginning in UTC.
Exit codes: 0 done; 1 damaged, something lost, no event store, could not be read
  or written, most lines invalid, --strict, --on-invalid fail; 2 wrong usage;
  130, 143, 129 asked to end (SIGINT, SIGTERM, SIGHUP).
)";

FlagValue PlaceValue(StorePlace& place) {
  const auto set = [&place](std::string_view name, std::string_view text) {
    uint64_t offset = 0;
    EngineTime time{};
    place = {};
    const char* const end = text.data() + text.size();
    if (std::from_chars(text.data(), end, offset) == std::from_chars_result{end, std::errc()}) {
      place.offset = offset;
    } else if (ParseTimestamp(text, time) ||
               ParseTimestamp(std::string(text) + "T00:00:00Z", time)) {
      place.time = time;
    } else {
      return WrongFlag(name,
                       "must be an offset, or a time such as 2026-11-28 or "
                       "2026-11-28T12:00:00Z");
    }
    return absl::OkStatus();
  };
  return {set, [] { return std::string(); }};
}

FlagValue KeyValue(std::optional<std::string>& key) {
  const auto set = [&key](std::string_view, std::string_view text) {
    key = std::string(text);
    return absl::OkStatus();
  };
  return {set, [] { return std::string(); }};
}

FlagValue BytesValue(uint64_t& bytes) {
  const auto set = [&bytes](std::string_view name, std::string_view text) {
    FoldSpec read;
    if (!SetOption(read, "max-memory", text).ok()) {
      return WrongFlag(name, "must be a number of bytes above 0, such as 64Gi");
    }
    bytes = read.folder.limits.max_bytes;
    return absl::OkStatus();
  };
  return {set, [] { return std::string(); }};
}

// What `show` says.
struct StoreReport {
  uint64_t identity = 0;
  int partitions = 0;
  uint64_t records = 0;
  uint64_t segments = 0;
  uint64_t bytes = 0;
  uint64_t lost_files = 0;
  std::optional<EngineTime> first, last;  // `appended`
  std::vector<uint64_t> begin, next;      // of each partition
};

void CountFiles(const std::string& directory, StoreReport& report) {
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(directory, failed)) {
    const std::string name = entry.path().filename().string();
    report.lost_files += name.starts_with("lost-") ? 1 : 0;
    if (!name.starts_with("segment-")) continue;
    ++report.segments;
    report.bytes += entry.file_size(failed);
  }
}

absl::StatusOr<StoreReport> Inspect(const std::string& directory) {
  const absl::StatusOr<std::unique_ptr<EventStoreReader>> store = EventStoreReader::Open(directory);
  if (!store.ok()) return store.status();
  StoreReport report{.identity = (*store)->identity(), .partitions = (*store)->partitions()};
  CountFiles(directory, report);
  StorePage page;
  for (int p = 0; p < report.partitions; ++p) {
    const uint64_t begin = (*store)->First(p);
    const uint64_t next = (*store)->Durable(p);
    report.begin.push_back(begin);
    report.next.push_back(next);
    report.records += next - begin;
    if (next == begin) continue;
    for (const uint64_t offset : {begin, next - 1}) {
      const absl::StatusOr<ReadOutcome> read = (*store)->Read(p, offset, 1, page);
      if (!read.ok()) return read.status();
      if (*read != ReadOutcome::kRecords) continue;  // removed just now
      const EngineTime at = page.records().front().appended;
      report.first = std::min(report.first.value_or(at), at);
      report.last = std::max(report.last.value_or(at), at);
    }
  }
  return report;
}

std::string TimeOr(const std::optional<EngineTime>& time, std::string_view none) {
  return time ? FormatTimestamp(*time) : std::string(none);
}

std::string ShowText(const StoreReport& report, std::optional<int> appender) {
  std::string out =
      SummaryText({{"partitions", Grouped(static_cast<uint64_t>(report.partitions)), ""},
                   {"records", Grouped(report.records), ""},
                   {"bytes", Grouped(report.bytes), "in " + Counted(report.segments, "file")},
                   {"first", TimeOr(report.first, "none"), ""},
                   {"last", TimeOr(report.last, "none"), ""},
                   {"appender", appender ? "process " + std::to_string(*appender) : "none", ""}});
  if (report.lost_files > 0) {
    out += Counted(report.lost_files, "file") +
           " lost-N: blocks behind a hole, which nothing reads; look at them, and remove them\n";
  }
  return out;
}

std::string ListText(const std::vector<uint64_t>& numbers) {
  std::string out = "[";
  for (const uint64_t number : numbers) out += (out.size() > 1 ? "," : "") + std::to_string(number);
  return out + "]";
}

std::string ShowJson(const StoreReport& report, std::optional<int> appender) {
  const auto time = [](const std::optional<EngineTime>& at) {
    return at ? JsonText(FormatTimestamp(*at)) : std::string("null");
  };
  std::string out = "{\"identity\":\"" + std::to_string(report.identity) + "\"," +
                    MembersText({{"partitions", static_cast<uint64_t>(report.partitions)},
                                 {"records", report.records},
                                 {"bytes", report.bytes},
                                 {"segments", report.segments},
                                 {"lost_files", report.lost_files}}) +
                    ",\"first\":" + time(report.first) + ",\"last\":" + time(report.last);
  if (appender) out += ",\"process\":" + std::to_string(*appender);
  return out + ",\"begin\":" + ListText(report.begin) + ",\"next\":" + ListText(report.next) +
         "}\n";
}

// The checkpoints of consumers. `damage` gets what is wrong.
absl::Status CheckConsumers(const std::string& directory, std::vector<std::string>& damage) {
  const absl::StatusOr<std::vector<std::string>> names = StoreConsumer::Names(directory);
  if (!names.ok()) return names.status();
  for (const std::string& name : *names) {
    const absl::Status looked = StoreConsumer::Look(directory, name).status();
    if (absl::IsDataLoss(looked) || absl::IsFailedPrecondition(looked)) {
      damage.emplace_back(looked.message());
    } else if (!looked.ok() && !absl::IsNotFound(looked)) {  // removed just now
      return looked;
    }
  }
  return absl::OkStatus();
}

// Reads every record and note. `damage` gets what is wrong, at most once for each partition.
absl::StatusOr<uint64_t> CheckAll(const EventStoreReader& store, std::vector<std::string>& damage) {
  uint64_t records = 0;
  StorePage page;
  for (int p = 0; p < store.partitions(); ++p) {
    for (uint64_t next = store.First(p); next < store.Durable(p) && !Interrupted();) {
      const absl::StatusOr<ReadOutcome> read = store.Read(p, next, 1 << 20, page);
      if (absl::IsDataLoss(read.status())) {
        damage.emplace_back(read.status().message());
        break;
      }
      if (!read.ok()) return read.status();
      if (*read == ReadOutcome::kRecords) {
        records += page.records().size();
        next = page.next();
      } else if (store.First(p) > next) {
        next = store.First(p);  // what is removed meanwhile need not be looked at
      } else {
        break;
      }
    }
  }
  const absl::StatusOr<StoreNotes> notes = store.Notes();
  if (absl::IsDataLoss(notes.status())) {
    damage.emplace_back(notes.status().message());
  } else if (!notes.ok()) {
    return notes.status();
  }
  std::ranges::sort(damage);
  damage.erase(std::unique(damage.begin(), damage.end()), damage.end());
  return records;
}

int Check(const std::string& directory, bool json) {
  const absl::StatusOr<std::unique_ptr<EventStoreReader>> store = EventStoreReader::Open(directory);
  std::vector<std::string> damage;
  absl::StatusOr<uint64_t> records = 0;
  if (absl::IsDataLoss(store.status())) {
    damage.emplace_back(store.status().message());
  } else if (!store.ok()) {
    return Complain("store", store.status());
  } else {
    records = CheckAll(**store, damage);
    const absl::Status consumers = CheckConsumers(directory, damage);
    if (records.ok() && !consumers.ok()) records = consumers;
  }
  if (!records.ok()) return Complain("store", records.status());
  if (Interrupted()) return kExitSignal + StopSignal();
  std::string out;
  if (json) {
    out = "{\"state\":\"" + std::string(damage.empty() ? "ok" : "damaged") +
          "\",\"records\":" + std::to_string(*records) + ",\"damage\":[";
    for (const std::string& each : damage) {
      out += (&each == damage.data() ? "" : ",") + JsonText(each);
    }
    out += "]}\n";
  } else {
    for (const std::string& each : damage) out += each + "\n";
    if (damage.empty()) out = "ok, " + Counted(*records, "record") + "\n";
  }
  const int printed = Print(out);
  return printed == kExitDone && !damage.empty() ? kExitFailed : printed;
}

int Show(const std::string& directory, bool json) {
  const absl::StatusOr<StoreReport> report = Inspect(directory);
  if (!report.ok()) return Complain("store", report.status());
  const std::optional<int> appender = LockOwner(directory);
  return Print(json ? ShowJson(*report, appender) : ShowText(*report, appender));
}

// What only some actions take.
struct ActionFlags {
  std::string_view flag;
  std::string_view actions;  // their names, for people
};
constexpr ActionFlags kFlagsOfActions[] = {
    {"partition", "read and consumers"},
    {"key", "read and append"},
    {"from", "read and consumers"},
    {"to", "read"},
    {"follow", "read"},
    {"output", "read"},
    {"time", "append"},
    {"time-unit", "append"},
    {"time-zone", "append"},
    {"time-format", "append"},
    {"time-year", "append"},
    {"id", "append"},
    {"partitions", "append and copy"},
    {"durability", "append"},
    {"max-forward-jump", "append"},
    {"input", "append"},
    {"separator", "append"},
    {"tsv-escapes", "append"},
    {"comment", "append"},
    {"header", "append"},
    {"on-invalid", "append"},
    {"invalid", "append"},
    {"strict", "append"},
    {"threads", "append"},
    {"quiet-summary", "append"},
    {"move", "consumers"},
    {"remove", "consumers"},
    {"keep", "trim"},
    {"keep-bytes", "trim"},
    {"ignore-consumers", "trim and copy"},
    {"json", "show, check, consumers, trim, copy and salvage"},
};

absl::Status CheckAction(const GivenFlags& given, const std::string& action) {
  for (const ActionFlags& each : kFlagsOfActions) {
    if (!given.Has(each.flag) || each.actions.find(action) != each.actions.npos) continue;
    if (each.flag == "json" && action == "read")
      return WrongFlag("json", "read writes JSON anyway");
    return WrongFlag(each.flag, "is for " + std::string(each.actions) + ", not for " + action);
  }
  return absl::OkStatus();
}

absl::Status CheckConsumersUsage(const StoreOptions& options) {
  if (!options.move.empty() && !options.remove.empty()) {
    return WrongFlag("remove", "contradicts --move");
  }
  if (!options.move.empty()) return absl::OkStatus();
  if (options.from.is_given()) return WrongFlag("from", "needs --move");
  if (options.partition) return WrongFlag("partition", "needs --move");
  return absl::OkStatus();
}

absl::Status CheckUsage(const GivenFlags& given, const StoreOptions& options) {
  if (given.inputs.empty()) {
    return absl::InvalidArgumentError(
        "say what to do: show, check, read, append, consumers, trim, copy or salvage");
  }
  const std::string& action = given.inputs.front();
  if (std::ranges::find(kStoreActions, action) == std::end(kStoreActions)) {
    const std::string nearest =
        NearestName(action, {std::begin(kStoreActions), std::end(kStoreActions)});
    return absl::InvalidArgumentError(
        "unknown action \"" + action + "\"; " +
        (nearest.empty() ? "there are show, check, read, append, consumers, trim, copy and salvage"
                         : "did you mean \"" + nearest + "\"?"));
  }
  if (action == "copy" || action == "salvage") {
    if (given.inputs.size() != 3)
      return absl::InvalidArgumentError(action + ": takes two directories, DIR and NEW");
  } else if (given.inputs.size() < 2 || (given.inputs.size() > 2 && action != "append")) {
    return absl::InvalidArgumentError(action + ": takes one directory" +
                                      (action == "append" ? ", and FILEs" : ""));
  }
  if (absl::Status of_action = CheckAction(given, action); !of_action.ok()) return of_action;
  if (action == "append") return absl::OkStatus();
  if (options.partition && options.key) return WrongFlag("partition", "a key has a partition");
  const bool one = options.partition || options.key;
  if (options.from.offset && !one) return WrongFlag("from", "an offset needs --partition or --key");
  if (options.to.offset && !one) return WrongFlag("to", "an offset needs --partition or --key");
  if (action == "consumers") return CheckConsumersUsage(options);
  if (options.follow && options.to.is_given()) return WrongFlag("follow", "contradicts --to");
  return absl::OkStatus();
}

// Fills in what the LineJob of `append` needs.
absl::Status CompleteAppend(const GivenFlags& given, StoreOptions& options) {
  JobOptions& job = options.append;
  job.event.key = {KeyField()};
  if (options.key) {
    job.event.key.clear();
    if (absl::Status set = SetOption(job.event, "key", *options.key); !set.ok()) return set;
    if (job.event.key.size() != 1) return WrongFlag("key", "append takes one PATH");
  }
  if (job.event.time.empty()) {
    for (const std::string_view name : {"time-unit", "time-zone", "time-format", "time-year"}) {
      if (given.Has(name)) return WrongFlag(name, "needs --time");
    }
  }
  if (absl::Status wrong = CheckTable(job); !wrong.ok()) return wrong;
  job.inputs.assign(given.inputs.begin() + 2, given.inputs.end());
  Complete(job);
  return absl::OkStatus();
}

}  // namespace

std::vector<Flag> StoreFlags(StoreOptions& options) {
  JobOptions& o = options.append;
  std::vector<Flag> flags = {
      Heading("Of read and append"),
      {"key", "KEY|PATH",
       "read: only records of this key. append: the member that is the key, as text;\n"
       "without it all keys are empty",
       KeyValue(options.key), 'k'},
      Heading("Of append and copy"),
      {"partitions", "N",
       "how many partitions a new store gets, 1 to 4096 (default: of append 64, of copy as\n"
       "many as DIR has); one that is there has to have as many",
       MaybeNumber(options.partitions, 1, 4096)},
      Heading("Of read"),
      {"partition", "N", "only this partition", MaybeNumber(options.partition, 0, 4095)},
      {"from", "PLACE", "begin at this OFFSET or TIME; else at the beginning",
       PlaceValue(options.from)},
      {"to", "PLACE", "end before this OFFSET or TIME; else at the end", PlaceValue(options.to)},
      {"follow", "", "go on with records as they become durable", Switch(options.follow), 'f'},
      {"output", "FILE", "where the lines go; - is standard output",
       FileName(options.output, Dash::kStandardStream), 'o'},
      Heading("Of append"),
      CommonFlag(o, "time",
                 "the member that is the stamp of the record (default: when it is appended)"),
      CommonFlag(o, "time-unit"),
      CommonFlag(o, "time-zone"),
      CommonFlag(o, "time-format"),
      CommonFlag(o, "time-year"),
      {"id", "PATH", "the member that is the id of the record, as text", Text(options.id)},
      {"durability", "process|interval|group",
       "how records are kept on the way: when they are in a file; also synced at least\n"
       "every second (default); also shown to readers only then. At the end all are synced",
       OneOf(options.durability, {"process", "interval", "group"})},
      {"max-forward-jump", "DURATION",
       "by how much the clock may be ahead of the last record of a partition (default\n"
       "24h); more is rather a wrong clock, and ends the run. inf: by any time",
       AboveZero(options.max_forward_jump)},
      CommonFlag(o, "input"),
      CommonFlag(o, "separator"),
      CommonFlag(o, "tsv-escapes"),
      CommonFlag(o, "comment"),
      CommonFlag(o, "header"),
      CommonFlag(o, "on-invalid"),
      CommonFlag(o, "invalid"),
      CommonFlag(o, "strict"),
      CommonFlag(o, "threads"),
      CommonFlag(o, "quiet-summary"),
      Heading("Of consumers"),
      {"move", "NAME", "let this consumer read on at --from; else from the beginning",
       Text(options.move)},
      {"remove", "NAME", "forget this consumer", Text(options.remove)},
      Heading("Of trim"),
      {"keep", "DURATION", "records appended so long ago, or later, stay", AboveZero(options.keep)},
      {"keep-bytes", "BYTES", "above that older files go, whoever needs them, also as 64Gi",
       BytesValue(options.keep_bytes)},
      Heading("Of trim and copy"),
      {"ignore-consumers", "",
       "trim: what a consumer has not read may go as well. copy: no consumer goes along",
       Switch(options.ignore_consumers)},
      Heading("Of show, check, consumers, trim, copy and salvage"),
      {"json", "", "one JSON object instead of text for people", Switch(options.json)},
      Heading("Of all"),
      {"help", "", "this text", Switch(options.help), 'h'},
  };
  return flags;
}

std::string StoreHelp() {
  StoreOptions options;
  return std::string(kStoreExamples) + FlagsHelp(StoreFlags(options)) + std::string(kStoreNotes);
}

int StoreMain(int argc, const char* const* argv) {
  StoreOptions options;
  const std::vector<Flag> table = StoreFlags(options);
  const absl::StatusOr<GivenFlags> given = ParseFlags(table, argc, argv);
  if (!given.ok()) return Complain("store", given.status());
  if (absl::Status set = SetGiven(table, *given); !set.ok()) return Complain("store", set);
  if (options.help) return Print(StoreHelp());
  if (absl::Status usage = CheckUsage(*given, options); !usage.ok()) {
    return Complain("store", usage);
  }
  const std::string& action = given->inputs[0];
  const std::string& directory = given->inputs[1];
  if (action == "show") return Show(directory, options.json);
  if (action == "check") return Check(directory, options.json);
  if (action == "append") {
    if (absl::Status complete = CompleteAppend(*given, options); !complete.ok()) {
      return Complain("store", complete);
    }
    return AppendToStore(directory, options);
  }
  if (action == "consumers") return ShowConsumers(directory, options);
  if (action == "trim") return TrimStore(directory, options);
  if (action == "copy") return CopyStore(directory, given->inputs[2], options);
  if (action == "salvage") return SalvageStore(directory, given->inputs[2], options);
  return ReadStore(directory, options);
}

}  // namespace pleat::cli
