#include "tools/pleat/analyze/analyze_options.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include <pleat/json_analysis.h>

#include "tools/pleat/block_queue.h"
#include "tools/pleat/machine_memory.h"

namespace pleat::cli {
namespace {

constexpr Flag kFlags[] = {
    {"", "", FlagKind::kText, "Analyzing"},
    {"key", "[NAME=]PATH[,...]", FlagKind::kList,
     "the members that make up the group key, as for pleat fold (required); each\n"
     "further --key is analyzed by itself in the same pass, to compare"},
    {"time", "PATH", FlagKind::kText,
     "the member with the time of an event (required): RFC 3339, or a number with\n"
     "--time-unit"},
    {"time-unit", "s|ms|us|ns", FlagKind::kText, "the unit of a number at --time; never guessed"},
    {"lateness", "DURATION", FlagKind::kText, "as you would give it to pleat fold (default 0)"},
    {"max-hold", "DURATION", FlagKind::kText, "likewise (default inf)"},
    {"future-limit", "DURATION", FlagKind::kText,
     "likewise (default inf): one stamp far ahead would leave all others behind"},
    {"quiet-grid", "FROM..TO[/N]", FlagKind::kText,
     "the quiet periods to try: N of them (default 24) between two, evenly spaced on\n"
     "a log scale, at most 128; or a list such as 5s,30s,5m. Default: 24 round ones\n"
     "from the shortest gap of the data to past the longest"},
    {"", "", FlagKind::kText, "Recommending"},
    {"target-ratio", "RATIO", FlagKind::kText,
     "the shortest quiet period that folds this share of the events, such as 0.95"},
    {"max-delay", "DURATION", FlagKind::kText,
     "the quiet period that folds most with this delay or less for 99 % of emissions.\n"
     "With neither of them: the knee, past which waiting gains little"},
    {"", "", FlagKind::kText, "Output"},
    {"json", "", FlagKind::kSwitch, "one JSON object per --key instead of tables"},
    {"html", "FILE", FlagKind::kText,
     "also a page to look at: plots, tables, a slider; it stands by itself"},
    {"svg", "FILE", FlagKind::kText, "also the main plot alone"},
    {"output", "FILE", FlagKind::kText,
     "write there instead of stdout; the file appears whole or not at all"},
    {"quiet-summary", "", FlagKind::kSwitch, "no summary and no progress on stderr"},
    {"", "", FlagKind::kText, "Running"},
    {"threads", "N", FlagKind::kNumber,
     "1 to 256 (default 1); same output for every N. One thread analyzes, the others\n"
     "decompress files and read their lines"},
    {"max-memory", "BYTES", FlagKind::kNumber,
     "memory for what is known of keys, also as 512Mi or 2G (default half of the\n"
     "machine's, or of the control group's); events that would take more are left\n"
     "out, and counted"},
    {"strict", "", FlagKind::kSwitch, "go on, but exit with 1 if there was a bad line"},
    {"help", "", FlagKind::kSwitch, "this text"},
};

constexpr std::string_view kExamples =
    R"(pleat analyze: says what every quiet period would have done with a log

Usage: pleat analyze [OPTIONS] [FILE...]

Examples:
  How long to wait for a user to go quiet, by a day of edits:
    pleat analyze --key user --time time wiki.ndjson.gz

  Fold by user, by page or by channel? And a page to look at and to pass on:
    pleat analyze --key user --key page --key channel --time time \
        --html quiet.html wiki.ndjson.gz

  The cheapest quiet period that folds away 80 of 100 events, for a script:
    pleat analyze --key userB --time timestamp --time-unit s \
        --target-ratio 0.8 --json activity.ndjson | jq .recommended

  The most that folds while 99 % of the updates come out within ten minutes:
    pleat analyze --key page --time time --max-hold 10m --max-delay 10m wiki.ndjson.gz
)";

constexpr std::string_view kNotes = R"(
Each row is exact: it is what pleat fold --quiet gives with that quiet period and
  the same key, time, lateness and max hold. One pass computes all rows.
Memory: 4 MB, some 160 bytes a key, and 32 for each further group that a key is
  in; the summary says how much it was. It does not grow with the events.
Delay: from the event that opens a group to its emission; p50 is the delay of half
  of the emissions or less, p99 of 99 %. The last event of a group waits the quiet period.
Open: the most groups that were open at a time; with --max-hold, an upper bound.
Output: for each --key a table, or with --json a line
    {"key":"user","events":N,"keys":N,"span_s":S,"grid":[{"quiet_s":X,
     "folding_ratio":R,"emissions":N,"delay_p50_s":S,"delay_p99_s":S,
     "open_peak":N},...],"recommended":{"quiet_s":X,"why":"...","kind":K}}
  where K is knee, goal, out_of_reach, or none: the log does not fold, and
  quiet_s is null.
Exit codes: as pleat fold; 1 also if events were left out.
)";

absl::Status SetNumber(std::string_view name, std::string_view text, int low, int high, int& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error == std::errc() && end == text.data() + text.size() && out >= low && out <= high)
    return absl::OkStatus();
  return WrongFlag(
      name, "must be a whole number from " + std::to_string(low) + " to " + std::to_string(high));
}

absl::Status SetDuration(std::string_view name, std::string_view text, Duration& out) {
  absl::StatusOr<Duration> value = ParseDuration(text);
  if (!value.ok()) return WrongFlag(name, std::string(value.status().message()));
  if (*value <= Duration{0}) return WrongFlag(name, "must be above 0");
  out = *value;
  return absl::OkStatus();
}

absl::Status SetRatio(std::string_view text, double& ratio) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), ratio);
  if (error == std::errc() && end == text.data() + text.size() && ratio > 0 && ratio < 1)
    return absl::OkStatus();
  return WrongFlag("target-ratio", "must be a number between 0 and 1, such as 0.95");
}

absl::Status SetFile(std::string_view name, std::string_view text, std::string& file) {
  if (text.empty()) return WrongFlag(name, "needs a file name");
  if (text == "-" && name != "output") return WrongFlag(name, "needs a file of its own, not -");
  if (text.find('\0') != std::string_view::npos)
    return WrongFlag(name, "a file name cannot hold NUL");
  file = text;
  return absl::OkStatus();
}

absl::Status Set(AnalyzeOptions& o, std::string_view name, const std::string& text) {
  const auto switch_on = [&](bool& on) {
    if (text != "true" && text != "false") return WrongFlag(name, "must be true or false");
    on = text == "true";
    return absl::OkStatus();
  };
  if (name == "key") {
    FoldSpec probe;
    o.keys.push_back(text);
    return SetOption(probe, name, text);
  }
  if (name == "quiet-grid") {
    absl::StatusOr<std::vector<Duration>> grid = ParseQuietGrid(text);
    if (!grid.ok()) return WrongFlag(name, std::string(grid.status().message()));
    o.analyzer.grid = *std::move(grid);
    return absl::OkStatus();
  }
  if (name == "max-hold") return SetDuration(name, text, o.analyzer.max_hold);
  if (name == "max-delay") return SetDuration(name, text, o.goal.max_delay);
  if (name == "target-ratio") return SetRatio(text, o.goal.target_ratio);
  if (name == "threads") return SetNumber(name, text, 1, kThreadsMax, o.threads);
  if (name == "html") return SetFile(name, text, o.html_file);
  if (name == "svg") return SetFile(name, text, o.svg_file);
  if (name == "output") return SetFile(name, text, o.output_file);
  if (name == "json") return switch_on(o.json);
  if (name == "strict") return switch_on(o.strict);
  if (name == "quiet-summary") return switch_on(o.quiet_summary);
  if (name == "help") return absl::OkStatus();
  return SetOption(o.spec, name, text);  // time, time-unit, lateness, future-limit, max-memory
}

absl::Status Complete(AnalyzeOptions& o) {
  if (o.keys.empty()) return WrongFlag("key", "is required");
  if (o.inputs.empty()) o.inputs.emplace_back("-");
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<Duration>> ParseQuietGrid(std::string_view text) {
  std::vector<Duration> grid;
  const auto add = [&grid](std::string_view one) {
    absl::StatusOr<Duration> value = ParseDuration(one);
    if (value.ok()) grid.push_back(*value);
    return value.status();
  };
  const size_t dots = text.find("..");
  if (dots == std::string_view::npos) {
    for (size_t at = 0; at <= text.size();) {
      const size_t end = std::min(text.find(',', at), text.size());
      if (absl::Status added = add(text.substr(at, end - at)); !added.ok()) return added;
      at = end + 1;
    }
    std::ranges::sort(grid);
  } else {
    const size_t slash = std::min(text.find('/'), text.size());
    int points = kGridPointsUsual;
    if (slash < text.size()) {
      absl::Status set = SetNumber("quiet-grid", text.substr(slash + 1), 2, kGridPointsMax, points);
      if (!set.ok())
        return absl::InvalidArgumentError("the number of points must be from 2 to " +
                                          std::to_string(kGridPointsMax));
    }
    if (slash < dots) return absl::InvalidArgumentError("must be FROM..TO or FROM..TO/N");
    absl::Status ends = add(text.substr(0, dots));
    ends.Update(add(text.substr(dots + 2, slash - dots - 2)));
    if (!ends.ok()) return ends;
    const Duration from = grid[0];
    const Duration to = grid[1];
    if (from <= Duration{0}) return absl::InvalidArgumentError("must be above 0");
    if (to <= from) return absl::InvalidArgumentError("must go from the shorter to the longer");
    const double ratio = static_cast<double>(to.count()) / static_cast<double>(from.count());
    grid.clear();
    for (int i = 0; i < points; ++i) {
      const double exact =
          static_cast<double>(from.count()) * std::pow(ratio, double(i) / (points - 1));
      grid.push_back(i + 1 == points ? to : Duration{std::llround(exact)});
    }
  }
  const auto same = std::ranges::unique(grid);
  grid.erase(same.begin(), same.end());
  AnalyzerOptions options;
  options.grid = grid;
  if (absl::Status valid = Validate(options); !valid.ok()) {
    std::string message(valid.message());
    return absl::InvalidArgumentError(message.substr(message.find(' ') + 1));
  }
  return grid;
}

std::span<const Flag> AnalyzeFlags() { return kFlags; }

std::string AnalyzeHelp() {
  return std::string(kExamples) + FlagsHelp(kFlags) + std::string(kNotes);
}

absl::StatusOr<AnalyzeCall> ParseAnalyzeCall(int argc, const char* const* argv) {
  absl::StatusOr<GivenFlags> given = ParseFlags(kFlags, argc, argv);
  if (!given.ok()) return given.status();
  AnalyzeCall call;
  call.help = given->IsOn("help");
  if (call.help) return call;
  call.options.inputs = std::move(given->inputs);
  call.options.spec.max_bytes = HalfOfMemory();
  for (const auto& [name, texts] : given->texts) {
    for (const std::string& text : texts) {
      if (absl::Status set = Set(call.options, name, text); !set.ok()) return set;
    }
  }
  if (absl::Status complete = Complete(call.options); !complete.ok()) return complete;
  call.options.analyzer.max_bytes = call.options.spec.max_bytes / call.options.keys.size();
  return call;
}

}  // namespace pleat::cli
