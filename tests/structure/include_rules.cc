// Three tables and the loop that applies them. A file is judged by the first rule whose folder its
// path starts with; code is matched after its comments and literals are blanked, so that text about
// a clock is not a reading of one.
#include "tests/structure/include_rules.h"

#include <algorithm>
#include <optional>
#include <span>

#include "tests/structure/code_of.h"

namespace pleat_structure {
namespace {

using Names = std::vector<std::string_view>;

bool StartsWithAny(std::string_view text, const Names& prefixes) {
  return std::ranges::any_of(prefixes, [&](std::string_view p) { return text.starts_with(p); });
}

// The public headers that declare plain types and interfaces, which the engine may see. The typed
// faces (folder.h, emission_source.h) and the adapters are not among them. (rollup.h is the face of
// a collection without types; only engine/core sees that one.)
const Names kPlainHeaders = {"pleat/detail/export.h",
                             "pleat/untyped/",
                             "pleat/analysis.h",
                             "pleat/batch.h",
                             "pleat/change.h",
                             "pleat/drain.h",
                             "pleat/emission.h",
                             "pleat/engine.h",
                             "pleat/live_set_options.h",
                             "pleat/metrics.h",
                             "pleat/options.h",
                             "pleat/outcome.h",
                             "pleat/presence_options.h",
                             "pleat/rollup_options.h",
                             "pleat/rollup_values.h",
                             "pleat/snapshot.h",
                             "pleat/stats.h",
                             "pleat/stored.h",
                             "pleat/time.h",
                             "pleat/trace.h"};

// What the files below `folder` may include of our own: prefixes of the path as written, but for
// those that begin with one of `refused`.
struct Edge {
  std::string_view folder;
  Names own;
  Names refused = {};
};

const std::vector<Edge>& Edges() {
  static constexpr std::string_view kStatisticList = "engine/metrics/statistic_list.h";
  static const std::vector<Edge> edges = [] {
    std::vector<Edge> all = {
        {"engine/outbox/", {"engine/outbox/", "engine/table/", "engine/base/", kStatisticList}},
        {"engine/fold/", {"engine/fold/", "engine/outbox/", "engine/table/", "engine/base/"}},
        {"engine/what_if/", {"engine/what_if/", "engine/table/", "engine/base/"}},
        {"engine/live/", {"engine/live/", "engine/table/", "engine/base/", kStatisticList}},
        {"engine/rollup/",
         {"engine/rollup/", "engine/outbox/", "engine/table/", "engine/base/", kStatisticList}},
        {"engine/metrics/", {"engine/metrics/", "engine/base/utf8.h"}},
        {"engine/state/", {"engine/state/", "engine/base/", "pleat/state_directory.h"}},
        {"engine/store/",
         {"engine/store/", "engine/base/", "pleat/detail/store_copy.h", "pleat/event_store.h",
          "pleat/event_store_reader.h"}},
        {"engine/core/",
         {"engine/core/", "engine/partition/", "engine/state/", "engine/fold/", "engine/outbox/",
          "engine/rollup/", "engine/live/", "engine/table/", "engine/base/", "pleat/rollup.h"}},
    };
    for (Edge& edge : all)
      edge.own.insert(edge.own.end(), kPlainHeaders.begin(), kPlainHeaders.end());
    // The lower floors see time, the partition hash and the alarm, and no face of the engine.
    all.push_back({"engine/base/",
                   {"engine/base/", "pleat/detail/export.h", "pleat/batch.h", "pleat/stored.h",
                    "pleat/time.h"}});
    all.push_back({"engine/table/",
                   {"engine/table/", "engine/base/", "pleat/detail/export.h", "pleat/batch.h",
                    "pleat/stored.h", "pleat/time.h"}});
    all.push_back({"engine/timer/", {"engine/timer/", "engine/base/", "pleat/time.h"}});
    all.push_back({"engine/partition/",
                   {"engine/partition/", "engine/timer/", "engine/base/", "pleat/untyped/alarm.h",
                    "pleat/time.h"}});
    all.push_back({"include/pleat/", {"pleat/"}});
    // Each folder of engine/lines sees those before it.
    Names lines = {"engine/base/check.h",
                   "engine/base/compensated_sum.h",
                   "engine/base/counter.h",
                   "engine/base/hash.h",
                   "engine/base/lock.h",
                   "engine/base/read_fields.h",
                   "engine/base/utf8.h",
                   "engine/table/reorder_stage.h",
                   "engine/table/spelled_key.h",
                   "engine/table/spelled_key.h",
                   "pleat/"};
    for (const std::string_view folder :
         {"engine/lines/scan/", "engine/lines/time/", "engine/lines/reduce/", "engine/lines/plan/",
          "engine/lines/spec/", "engine/lines/feed/"}) {
      lines.push_back(folder);
      all.push_back({folder, lines});
    }
    all.push_back({"engine/lines/", {}});  // a file of none of these folders
    all.push_back({"engine/lanes/", {"engine/lanes/", "engine/base/", "pleat/"}});
    all.push_back({"engine/kafka/",
                   {"engine/kafka/", "engine/lanes/lane_files.h", "engine/base/", "pleat/"}});
    all.push_back({"engine/asio/", {"engine/asio/", "engine/base/check.h", "pleat/"}});
    // Commands share tools/pleat and do not see each other; only main.cc sees them all.
    const Names commands = {"tools/pleat/fold/", "tools/pleat/analyze/", "tools/pleat/lanes/",
                            "tools/pleat/live/", "tools/pleat/rollup/",  "tools/pleat/state/",
                            "tools/pleat/store/"};
    for (const std::string_view command : commands) {
      Names others = commands;
      std::erase(others, command);
      all.push_back({command, {command, "tools/pleat/", "pleat/"}, others});
    }
    // But for a run, which makes collections as fold, rollup and live do.
    all.push_back({"tools/pleat/run/",
                   {"tools/pleat/run/", "tools/pleat/", "pleat/"},
                   {"tools/pleat/analyze/", "tools/pleat/lanes/", "tools/pleat/state/",
                    "tools/pleat/store/"}});
    all.push_back({"tools/pleat/main.cc", {"tools/pleat/", "pleat/"}});
    all.push_back({"tools/pleat/", {"tools/pleat/", "pleat/"}, commands});
    all.push_back({"examples/", {"pleat/"}});
    return all;
  }();
  return edges;
}

// A header that comes in by one door: `header` (a prefix) only below `allowed`, or, where `allowed`
// is empty, anywhere but below `refused`.
struct Door {
  std::string_view header;
  Names allowed;
  Names refused;
};

const std::vector<Door>& Doors() {
  static const Names kPure = {"engine/table/", "engine/timer/",     "engine/outbox/",
                              "engine/fold/",  "engine/partition/", "engine/rollup/",
                              "engine/live/",  "include/pleat/"};
  static const std::vector<Door> doors = {
      {"simdjson", {"engine/lines/scan/fast_tokenizer.cc"}, {}},
      {"boost/asio",
       {"engine/asio/", "include/pleat/asio", "include/pleat/detail/asio", "examples/"},
       {}},
      {"boost/", {"engine/", "include/pleat/asio", "include/pleat/detail/asio", "examples/"}, {}},
      {"librdkafka/", {"engine/kafka/", "tests/kafka/"}, {}},
      {"xxhash.h", {"engine/state/", "engine/store/", "tools/pleat/"}, {}},
      {"zlib.h", {"tools/pleat/"}, {}},
      {"zstd.h", {"engine/state/", "tools/pleat/"}, {}},
      {"absl/", {"engine/", "include/pleat/", "tools/pleat/", "examples/"}, {}},
      // The operating system, threads and files: not in what has to be a function of its input.
      {"sys/", {}, kPure},
      {"unistd.h", {}, kPure},
      {"fcntl.h", {}, kPure},
      {"poll.h", {}, kPure},
      {"pthread.h", {}, kPure},
      {"signal.h", {}, kPure},
      {"csignal", {}, kPure},
      {"time.h", {}, kPure},
      {"ctime", {}, kPure},
      {"thread", {}, kPure},
      {"future", {}, kPure},
      {"random", {}, kPure},
      {"fstream", {}, kPure},
      {"filesystem", {}, kPure},
      {"iostream", {}, kPure},
  };
  return doors;
}

// Calls that only files below `allowed` may make.
struct Call {
  std::string_view text;
  std::string_view reason;
  Names allowed;
};

const std::vector<Call>& Calls() {
  // A program reads the clock and tells pleat; one example is such a program. A real Redis needs real
  // time to start.
  static const Names kClockReaders = {"tools/", "bench/", "engine/asio/",
                                      "examples/11_plain_thread.cc",
                                      "tests/support/redis_server.cc"};
  static const std::vector<Call> calls = {
      {"_clock::now(", "reads a clock", kClockReaders},
      {"clock_gettime(", "reads a clock", kClockReaders},
      {"gettimeofday(", "reads a clock", kClockReaders},
      {"absl::Now(", "reads a clock", kClockReaders},
      {"sleep_for(", "sleeps", {}},
      {"sleep_until(", "sleeps", {}},
      {"usleep(", "sleeps", {}},
      {"std::thread",
       "starts a thread",
       {"tools/", "bench/", "tests/", "examples/", "engine/asio/driver.cc"}},
      {"std::jthread", "starts a thread", {"tools/", "bench/", "tests/", "examples/"}},
      {"std::exit(", "ends the process", {"tools/", "bench/", "tests/"}},
  };
  return calls;
}

struct Include {
  std::string_view header;
  bool quoted;
};

std::optional<Include> IncludeOf(std::string_view line) {
  if (!line.starts_with("#include ")) return std::nullopt;
  line.remove_prefix(line.find(' ') + 1);
  if (line.empty() || (line[0] != '"' && line[0] != '<')) return std::nullopt;
  const size_t end = line.find(line[0] == '"' ? '"' : '>', 1);
  if (end == std::string_view::npos) return std::nullopt;
  return Include{line.substr(1, end - 1), line[0] == '"'};
}

// Why `path` may not have this include; empty if it may.
std::string Refusal(std::string_view path, const Include& include) {
  const std::string header(include.header);
  for (const Door& door : Doors()) {
    // Of a plain name the whole has to match: <thread> is not <threads.h>.
    const bool is_prefix =
        door.header.ends_with('/') || door.header == "boost/asio" || door.header == "simdjson";
    if (is_prefix ? !header.starts_with(door.header) : header != door.header) continue;
    const bool open = door.allowed.empty() ? !StartsWithAny(path, door.refused)
                                           : StartsWithAny(path, door.allowed);
    if (!open) return header + " does not come in here";
  }

  const bool own = include.quoted || header.starts_with("pleat/");
  const auto edge =
      std::ranges::find_if(Edges(), [&](const Edge& e) { return path.starts_with(e.folder); });
  if (!own || edge == Edges().end()) return {};
  if (include.quoted && header.starts_with("pleat/")) return header + " goes in angle brackets";
  if (!StartsWithAny(header, edge->own) || StartsWithAny(header, edge->refused)) {
    return header + " is not left of this folder";
  }
  return {};
}

}  // namespace

Findings Examine(std::string_view path, std::string_view text) {
  Findings findings;
  const bool shipped = StartsWithAny(path, {"engine/", "include/", "tools/", "examples/"});
  const auto take_line = [](std::string_view& lines) {
    const std::string_view line = lines.substr(0, lines.find('\n'));
    lines.remove_prefix(std::min(line.size() + 1, lines.size()));
    return line;
  };
  const std::string all_code = CodeOf(text);
  std::string_view code_lines = all_code;
  for (size_t number = 1; !text.empty(); ++number) {
    const std::string_view line = take_line(text);
    const std::string_view code = take_line(code_lines);

    const auto report = [&](std::string_view reason) {
      findings.push_back(std::string(path) + ":" + std::to_string(number) + ": " +
                         std::string(reason));
    };
    if (const auto include = IncludeOf(line); include && shipped) {
      if (const std::string refusal = Refusal(path, *include); !refusal.empty()) report(refusal);
    }
    for (const Call& call : Calls()) {
      if (code.find(call.text) != code.npos && !StartsWithAny(path, call.allowed)) {
        report(call.reason);
      }
    }
  }
  return findings;
}

}  // namespace pleat_structure
