#include "tools/pleat/job_options.h"

#include <sys/resource.h>

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <optional>
#include <thread>
#include <utility>

#include <pleat/json.h>

#include "tools/pleat/block_queue.h"
#include "tools/pleat/errno_status.h"
#include "tools/pleat/input.h"
#include "tools/pleat/machine_memory.h"

namespace pleat::cli {
namespace {

// Its default depends on the machine, so that a document does not hold it unless it was given.
FlagValue MaxMemory(JobOptions& o) {
  const auto set = [&o](std::string_view name, std::string_view text) {
    FoldSpec read;
    absl::Status status = SetOption(read, name, text);
    if (!status.ok()) return status;
    o.max_memory = read.folder.limits.max_bytes;
    o.max_memory_given = true;
    return status;
  };
  const auto text = [&o] {
    return o.max_memory_given ? std::to_string(o.max_memory) : std::string();
  };
  return {set, text};
}

// The same holds of their number.
FlagValue Threads(JobOptions& o) {
  const FlagValue number = Number(o.threads, 1, kThreadsMax);
  const auto set = [&o, number](std::string_view name, std::string_view text) {
    absl::Status status = number.set(name, text);
    o.threads_given |= status.ok();
    return status;
  };
  return {set, [&o, number] { return o.threads_given ? number.text() : ""; }};
}

// The spec says its text.
FlagValue Bound(std::optional<std::string>& bound) {
  const auto set = [&bound](std::string_view, std::string_view text) {
    bound = text;
    return absl::OkStatus();
  };
  return {set, nullptr};
}

// What writes a format, or another name of it, which is no text of --input.
constexpr std::pair<std::string_view, std::string_view> kWriters[] = {
    {"nginx", "access"},     {"apache", "access"},   {"combined", "access"}, {"cloudfront", "w3c"},
    {"iis", "w3c"},          {"journald", "ndjson"}, {"journal", "ndjson"},  {"jsonl", "ndjson"},
    {"jsonlines", "ndjson"}, {"json-seq", "json"},   {"eventsource", "sse"},
};

// `--input log.csv` is a slip that other programs suggest.
FlagValue Format(InputFormat& format) {
  FlagValue value = OneOf(format, {kInputFormats.begin(), kInputFormats.end()});
  value.set = [set = value.set](std::string_view name, std::string_view text) -> absl::Status {
    absl::Status status = set(name, text);
    if (status.ok()) return status;
    for (const auto& [program, input] : kWriters) {
      if (text == program) return WrongFlag(name, "for that it is " + std::string(input));
    }
    if (text.find_first_of("./-") == std::string_view::npos) return status;
    return absl::InvalidArgumentError(std::string(status.message()) +
                                      "; a FILE is named without an option");
  };
  return value;
}

// A character that is neither a quote nor the end of a line; a tab also as `\t`.
FlagValue Character(char& character, std::string_view such_as) {
  const auto set = [&character, such_as](std::string_view name, std::string_view text) {
    const std::string_view read = text == "\\t" ? "\t" : text;
    if (read.size() != 1 || std::string_view("\"\r\n").find(read[0]) != read.npos)
      return WrongFlag(name, "must be one character, such as " + std::string(such_as));
    character = read[0];
    return absl::OkStatus();
  };
  const auto text = [&character] {
    if (character == '\t') return std::string("\\t");
    return std::string(character == 0 ? 0 : 1, character);
  };
  return {set, text};
}

// Names with commas between.
FlagValue Names(std::vector<std::string>& names) {
  const auto set = [&names](std::string_view name, std::string_view text) {
    std::vector<std::string> read;
    for (size_t begin = 0; begin <= text.size(); begin += read.back().size() + 1)
      read.emplace_back(text.substr(begin, text.find(',', begin) - begin));
    if (read.size() > kObjectMembersMax) return WrongFlag(name, "at most 1,024 names");
    names = std::move(read);
    return absl::OkStatus();
  };
  const auto text = [&names] {
    std::string joined;
    for (const std::string& each : names) joined += (joined.empty() ? "" : ",") + each;
    return joined;
  };
  return {set, text};
}

FlagValue OnOrOff(bool& on) {
  const auto set = [&on](std::string_view name, std::string_view text) {
    if (text != "on" && text != "off") return WrongFlag(name, "must be on or off");
    on = text == "on";
    return absl::OkStatus();
  };
  return {set, [&on] { return std::string(on ? "on" : "off"); }};
}

// A thread takes some 70 MiB of addresses, most of which it never touches.
bool AddressesAreLimited() {
  rlimit limit{};
  return getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

// Flags without a help text have one of their own in every command.
std::vector<Flag> CommonFlags(JobOptions& o) {
  std::vector<Flag> flags = {
      {"key", "[NAME=]PATH[,...]", "", ListOf(o.event, o.event.key), 'k'},
      {"input", "ndjson|csv|tsv|logfmt|json|access|zeek|w3c|sse",
       "what the FILEs are: JSON objects a line each (default); CSV or TSV with a header;\n"
       "lines of name=value; JSON objects on any lines, also in arrays; an access log of\n"
       "Apache or nginx, with host, user, time, method, path, url, status, bytes,\n"
       "referer and agent; of Zeek; by the W3C, as of IIS and CloudFront, with the time\n"
       "in date,time; or server-sent events, of JSON. A field such as -12.5 is a number,\n"
       "an empty one null, all else text",
       Format(o.input)},
      {"separator", "CHARACTER",
       "what is between the fields of CSV (default a comma), such as ';' or \\t",
       Character(o.table.separator, "';' or \\t")},
      {"tsv-escapes", "on|off",
       "whether \\t, \\n, \\r and \\\\ in TSV are a tab, a newline, a return and a backslash,\n"
       "and a field that is \\N is null (default yes); off for paths of Windows",
       OnOrOff(o.table.tsv_escapes)},
      {"comment", "CHARACTER", "skip lines of CSV and TSV that begin with this, such as '#'",
       Character(o.table.comment, "'#'")},
      {"header", "NAME[,...]", "the names of the columns of CSV and TSV, if no line has them",
       Names(o.table.header)},
      {"time", "PATH", "", OptionOf(o.event), 't'},
      {"time-unit", "s|ms|us|ns", "the unit of a number at --time; never guessed"},
      {"time-zone", "ZONE",
       "the zone of times that state none, a name such as Europe/Berlin, or an offset\n"
       "such as +01:00 (default UTC)"},
      {"time-format", "FORMAT",
       "how times are written, by the letters of strptime, such as\n"
       "'%d.%m.%Y %H:%M:%S'; %E*f reads the digits of a fraction, %Z letters of the zone"},
      {"time-year", "YEAR",
       "the year of the first time, if the format says none; later ones are those nearest\n"
       "to the newest so far. A FILE needs it; a pipe takes the one nearest to the clock"},
      {"reorder", "DURATION",
       "how far out of order events may come (default 0). An event waits until none can\n"
       "come that is older by then, and is taken in the order of time: the results are\n"
       "those of a sorted input, and on a pipe come out later by this much"},
      {"future-limit", "DURATION",
       "events ahead of the newest one so far by more than this are invalid (default inf)"},
      {"where", "COND",
       "only lines for which this holds are events; the others are counted as excluded,\n"
       "and otherwise as if they were not there"},
      {"from", "TIME",
       "likewise: only events at this time or later: a date, 2015-09-12, or a time in any\n"
       "form that --time takes, by --time-zone, --time-unit and --time-format; needs --time",
       Bound(o.from)},
      {"to", "TIME", "likewise: only events before this time", Bound(o.to)},
      {"max-memory", "BYTES", "", MaxMemory(o)},
      {"on-invalid", "skip|most|fail",
       "lines that are not usable events: skip them; skip them, but exit with 1 if they\n"
       "were more than the others (default); or stop at the first. PATH? takes null where\n"
       "a member is absent, and A|B the first that is there",
       OneOf(o.on_invalid, {"skip", "most", "fail"})},
      {"invalid", "FILE", "write invalid lines there, as they came",
       FileName(o.invalid_file, Dash::kRefused)},
      {"strict", "", "go on, but exit with 1 if there was an invalid line", Switch(o.strict)},
      {"output", "FILE", "write there instead of stdout; the file appears whole or not at all",
       FileName(o.output_file, Dash::kStandardStream), 'o'},
      {"quiet-summary", "", "no summary and no progress on stderr", Switch(o.quiet_summary), 0,
       "no-summary"},
      {"threads", "N",
       "1 to 256; same output for every N. One thread adds, the others decompress files\n"
       "and check their lines. Default: up to 3, as there are processors, if a file has\n"
       "1 MiB or more, else 1; a live input has one thread",
       Threads(o), 'j'},
      {"spec", "FILE", "", FileName(o.spec_file, Dash::kRefused)},
      {"help", "", "this text", Switch(o.help), 'h'},
  };
  return InSpec(o.event, std::move(flags));
}

}  // namespace

bool JobOptions::selects() const {
  return event.where.kind != Condition::Kind::kNone || event.from != kBeginningOfTime ||
         event.to != kNever;
}

Flag WithHelp(Flag flag, std::string_view help) {
  if (!help.empty()) flag.help = help;
  assert(!flag.help.empty());
  return flag;
}

Flag CommonFlag(JobOptions& options, std::string_view name, std::string_view help) {
  const std::vector<Flag> flags = CommonFlags(options);
  const Flag* const found = FindFlag(flags, name);
  assert(found != nullptr);
  return WithHelp(*found, help);
}

int ThreadsFor(const std::vector<std::string>& inputs, unsigned processors) {
  // One thread folds, and two are enough to keep it busy.
  constexpr unsigned kThreadsUsual = 3;
  // What is smaller is done before a second thread has gained anything; a live input has one thread.
  constexpr uint64_t kLargeBytes = uint64_t{1} << 20;
  const bool large = std::ranges::any_of(
      inputs, [](const std::string& input) { return InputSize(input) >= kLargeBytes; });
  return large ? static_cast<int>(std::clamp(processors, 1U, kThreadsUsual)) : 1;
}

absl::Status SetRange(JobOptions& options) {
  absl::Status status;
  if (options.from) status.Update(SetOption(options.event, "from", *options.from));
  if (options.to) status.Update(SetOption(options.event, "to", *options.to));
  return status;
}

absl::Status CheckTable(const JobOptions& options) {
  const TableOptions& table = options.table;
  const bool is_csv = options.input == InputFormat::kCsv;
  const bool is_tsv = options.input == InputFormat::kTsv;
  if (table.separator != ',' && !is_csv) {
    return WrongFlag("separator", is_tsv ? "tsv has tabs; with others between it is --input csv"
                                         : "needs --input csv");
  }
  if (!table.tsv_escapes && !is_tsv) return WrongFlag("tsv-escapes", "needs --input tsv");
  if (is_csv || is_tsv) return absl::OkStatus();
  if (table.comment != 0) return WrongFlag("comment", "needs --input csv or tsv");
  if (!table.header.empty()) return WrongFlag("header", "needs --input csv or tsv");
  return absl::OkStatus();
}

std::vector<std::pair<std::string, std::string>> TableTexts(const JobOptions& options) {
  JobOptions given = options, usual;
  std::vector<std::pair<std::string, std::string>> texts;
  for (const std::string_view name : {"separator", "tsv-escapes", "comment", "header"}) {
    const std::string text = CommonFlag(given, name).value.text();
    if (text != CommonFlag(usual, name).value.text()) texts.emplace_back(name, text);
  }
  return texts;
}

// Lines of a pipe are of today, and those of a file of any year.
absl::Status CheckYearIsStated(const JobOptions& options) {
  if (options.event.time_format.empty() || options.event.time_year != 0) return absl::OkStatus();
  EventSpec with_year = options.event;  // which only a format that says none may have
  with_year.time_year = 2000;
  with_year.key = {KeyField()};  // an analysis has keys of its own
  const auto file = std::ranges::find_if_not(options.inputs, IsLive);
  if (file == options.inputs.end() || !Validate(with_year).ok()) return absl::OkStatus();
  return WrongFlag("time-year", "needed, as the format says no year: that of the first line of " +
                                    Printable(InputName(*file)) + ", such as --time-year 2024");
}

void Complete(JobOptions& options) {
  options.no_file_given = options.inputs.empty();
  if (options.no_file_given) options.inputs.emplace_back("-");
  if (!options.max_memory_given) options.max_memory = HalfOfMemory();
  options.event.untyped =
      options.input != InputFormat::kNdjson && options.input != InputFormat::kJson;
  options.event.max_waiting_bytes = options.max_memory - options.collection_memory();
  if (!options.threads_given && !AddressesAreLimited()) {
    options.threads = ThreadsFor(options.inputs, std::thread::hardware_concurrency());
  }
}

}  // namespace pleat::cli
