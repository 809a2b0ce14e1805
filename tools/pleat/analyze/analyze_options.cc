#include "tools/pleat/analyze/analyze_options.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include <pleat/json_analysis.h>

namespace pleat::cli {
namespace {

constexpr std::string_view kAnalyzeExamples =
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
    pleat analyze --key page --time time --max-wait 10m --max-delay 10m \
        wiki.ndjson.gz
)";

constexpr std::string_view kAnalyzeNotes = R"(
Each row is exact: it is what pleat fold --quiet gives with that quiet period
  and the same key, time, --reorder and max wait. One pass computes all rows.
Memory: 4 MB, some 160 bytes a key, and 32 for each further group that a key is
  in; the summary says how much it was. It does not grow with the events.
Delay: from the event that opens a group to its emission; p50 is the delay of
  half of the emissions or less, p99 of 99 %. The last event of a group waits
  the quiet period.
Open: the most groups that were open at a time; with --max-wait, an upper bound.
Output: for each --key a table, or with --json a line
    {"key":"user","events":N,"keys":N,"span_s":S,"grid":[{"quiet_s":X,
     "folding_ratio":R,"emissions":N,"delay_p50_s":S,"delay_p99_s":S,
     "open_peak":N},...],"recommended":{"quiet_s":X,"why":"...","kind":K}}
  where K is knee, goal, out_of_reach, or none: the log does not fold, and
  quiet_s is null.
Exit codes: as pleat fold; 1 also if events were left out.
)";

// Each text is a key of its own.
FlagValue Keys(std::vector<std::string>& keys) {
  const auto add = [&keys](std::string_view name, std::string_view text) {
    EventSpec probe;
    keys.emplace_back(text);
    return SetOption(probe, name, text);
  };
  return {add, nullptr};
}

FlagValue QuietGrid(std::vector<Duration>& grid) {
  const auto set = [&grid](std::string_view name, std::string_view text) {
    absl::StatusOr<std::vector<Duration>> parsed = ParseQuietGrid(text);
    if (!parsed.ok()) return WrongFlag(name, std::string(parsed.status().message()));
    grid = *std::move(parsed);
    return absl::OkStatus();
  };
  return {set, nullptr};
}

FlagValue Ratio(double& ratio) {
  const auto set = [&ratio](std::string_view name, std::string_view text) {
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, ratio);
    if (error == std::errc() && stop == end && ratio > 0 && ratio < 1) return absl::OkStatus();
    return WrongFlag(name, "must be a number between 0 and 1, such as 0.95");
  };
  return {set, nullptr};
}

// Says of an option that other commands have which one to use here.
absl::Status WithInstead(const absl::Status& unknown) {
  const std::string message(unknown.message());
  constexpr std::string_view kSpec =
      "a spec is for fold, rollup and live; here --key, --time and the like are given one by one";
  constexpr std::pair<std::string_view, std::string_view> kInstead[] = {
      {"stats", "the figures are the output, and with --json one object"},
      {"spec", kSpec},
      {"print-spec", kSpec},
      {"quiet", "--quiet-grid says which quiet periods are tried"},
      {"merge", "an analysis merges no values"}};
  for (const auto& [name, instead] : kInstead) {
    const std::string begins = "unknown option --" + std::string(name);
    if (message != begins && !message.starts_with(begins + ";")) continue;
    return absl::InvalidArgumentError(begins + "; " + std::string(instead));
  }
  return unknown;
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
      absl::Status set =
          Number(points, 2, kGridPointsMax).set("quiet-grid", text.substr(slash + 1));
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

std::vector<Flag> AnalyzeFlags(AnalyzeOptions& o) {
  return {
      Heading("Analyzing"),
      {"key", "[NAME=]PATH[,...]",
       "the members that make up the group key, as for pleat fold (required); each\n"
       "further --key is analyzed by itself in the same pass, to compare",
       Keys(o.keys), 'k'},
      CommonFlag(o, "input"),
      CommonFlag(o, "separator"),
      CommonFlag(o, "tsv-escapes"),
      CommonFlag(o, "comment"),
      CommonFlag(o, "header"),
      CommonFlag(o, "time", "the member with the time of an event (required): as for pleat fold"),
      CommonFlag(o, "time-unit"),
      CommonFlag(o, "time-zone"),
      CommonFlag(o, "time-format"),
      CommonFlag(o, "time-year"),
      CommonFlag(o, "reorder", "as you would give it to pleat fold (default 0)"),
      {"max-wait", "DURATION", "likewise (default inf)", AboveZero(o.analyzer.max_wait)},
      CommonFlag(o, "future-limit",
                 "likewise (default inf): one stamp far ahead would leave all others behind"),
      CommonFlag(o, "where"),
      CommonFlag(o, "from"),
      CommonFlag(o, "to"),
      {"quiet-grid", "FROM..TO[/N]",
       "the quiet periods to try: N of them (default 24) between two, evenly spaced on\n"
       "a log scale, at most 128; or a list such as 5s,30s,5m. Default: 24 round ones\n"
       "from the shortest gap of the data to past the longest",
       QuietGrid(o.analyzer.grid)},
      Heading("Recommending"),
      {"target-ratio", "RATIO",
       "the shortest quiet period that folds this share of the events, such as 0.95",
       Ratio(o.goal.target_ratio)},
      {"max-delay", "DURATION",
       "the quiet period that folds most with this delay or less for 99 % of emissions.\n"
       "With neither of them: the knee, past which waiting gains little",
       AboveZero(o.goal.max_delay)},
      Heading("Output"),
      {"json", "", "one JSON object per --key instead of tables", Switch(o.json)},
      {"html", "FILE", "also a page to look at: plots, tables, a slider; it stands by itself",
       FileName(o.html_file, Dash::kRefused)},
      {"svg", "FILE", "also the main plot alone", FileName(o.svg_file, Dash::kRefused)},
      CommonFlag(o, "output"),
      CommonFlag(o, "quiet-summary"),
      Heading("Running"),
      CommonFlag(o, "threads",
                 "1 to 256; same output for every N. One thread analyzes, the others decompress\n"
                 "files and read their lines. Default: as for pleat fold"),
      CommonFlag(o, "max-memory",
                 "memory for what is known of keys, also as 512Mi or 2G (default half of the\n"
                 "machine's, or of the control group's); events that would take more are left\n"
                 "out, and counted"),
      CommonFlag(o, "on-invalid"),
      CommonFlag(o, "invalid"),
      CommonFlag(o, "strict"),
      CommonFlag(o, "help"),
  };
}

std::string AnalyzeHelp() {
  AnalyzeOptions options;
  return std::string(kAnalyzeExamples) + FlagsHelp(AnalyzeFlags(options)) +
         std::string(kAnalyzeNotes);
}

absl::StatusOr<AnalyzeOptions> ParseAnalyzeOptions(int argc, const char* const* argv) {
  AnalyzeOptions options;
  const std::vector<Flag> flags = AnalyzeFlags(options);
  absl::StatusOr<GivenFlags> given = ParseFlags(flags, argc, argv);
  if (!given.ok()) return WithInstead(given.status());
  options.help = given->IsOn("help");
  if (options.help) return options;
  if (absl::Status set = SetGiven(flags, *given); !set.ok()) return set;
  if (absl::Status set = SetRange(options); !set.ok()) return set;
  if (absl::Status wrong = CheckTable(options); !wrong.ok()) return wrong;
  options.inputs = std::move(given->inputs);
  Complete(options);
  if (options.keys.empty()) return WrongFlag("key", "is required");
  options.analyzer.max_bytes = options.collection_memory() / options.keys.size();
  options.event.max_waiting_bytes /= options.keys.size();
  return options;
}

}  // namespace pleat::cli
