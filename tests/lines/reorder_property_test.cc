// A bound of disorder keeps its promise: lines whose disorder is within it give what the same lines
// give without a bound, sorted stably by time. Options, lines, disorder, and how the lines are
// given are drawn. Bytes are compared, and all that is counted.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <pleat/json_analysis.h>

#include "tests/lines/reorder_case.h"

namespace pleat::inline v0_1 {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

// --- The promise

// The lines of groups that closed before their last event, of which there are none.
std::string ClosedTooEarly(const std::string& out) {
  std::string early;
  std::istringstream lines(out);
  for (std::string line; std::getline(lines, line);) {
    const size_t meta = line.find("\"_fold\":{\"count\":");
    if (meta == std::string::npos) continue;
    const auto time = [&](const std::string& name) {
      return line.substr(line.find("\"" + name + "\":\"", meta) + name.size() + 4, 27);
    };
    if (time("closed") < time("last")) early += "closed before its last event: " + line + "\n";
  }
  return early;
}

// Nothing, or what a run with the bound does otherwise than one without it on sorted lines.
template <class Kind>
std::string BrokenPromise(const Case& drawn, Seen* seen = nullptr) {
  auto plain = SpecFor<typename Kind::Spec>(drawn);
  Kind::Prepare(plain);
  const Scouted scouted = ScoutedBy<Kind>(drawn, plain);
  const std::vector<StampedLine> accepted = AcceptedLines(drawn, scouted);
  if (EnoughFuture(accepted) > drawn.future_limit) return "";  // nothing was promised
  plain.event.future_limit = drawn.future_limit;
  const Duration every = JobDraw(drawn.way).Pick({0s, 1s, 4s});

  LinesRun<Kind> sorted(plain, drawn.partitions, every);
  for (const StampedLine& line : Sorted(LinesOf(drawn.steps))) sorted.AddLine(line.text);
  const Left want = sorted.End();

  auto spec = plain;
  spec.event.reorder = drawn.bound;
  LinesRun<Kind> bounded(spec, drawn.partitions, every);
  uint64_t waited = 0;
  const Left got = Given<Kind>(
      drawn, bounded, [&](size_t) { waited = std::max(waited, bounded.lines().counts().waiting); });

  std::string broken = Differences(got, want) + Difference("counts", got.counts, want.counts) +
                       Difference("invalid", Joined(got.invalid), Joined(scouted.invalid));
  if constexpr (std::is_same_v<Kind, FoldKind>) broken += ClosedTooEarly(got.out);
  if (got.absent != scouted.absent) broken += "absent paths differ\n";
  if (bounded.lines().counts().released_early != 0) broken += "lines were released early\n";
  // Noted as they come, with a bound or without; but for this, which snapshots do not keep.
  StampCounts stamps = bounded.lines().stamps();
  if (drawn.restarts) stamps.assumed_utc = scouted.stamps.assumed_utc;
  if (!(stamps == scouted.stamps)) broken += "the counts of stamps are wrong\n";
  if (seen != nullptr && broken.empty()) {
    Look(got, *seen);
    (*seen)["waited"] += waited > 0;
    (*seen)["waited in numbers"] += waited > 10;
    (*seen)["out of order"] += stamps.out_of_order > 0;
    (*seen)["behind an input"] += stamps.behind_input > 0;
    (*seen)["at the bound"] += stamps.most_behind == drawn.bound;
  }
  return broken;
}

template <class Kind>
Case DrawnCase(uint64_t seed) {
  JobDraw draw(seed);
  Case drawn;
  drawn.options = Kind::Options(draw);
  drawn.bound = draw.Bound();
  drawn.partitions = PartitionsFor(drawn.options, draw);
  drawn.way = seed + 1;
  const std::vector<StampedLine> lines = Disordered(draw.Lines(), drawn.bound, draw);
  if (draw.Chance(25)) {
    drawn.future_limit = EnoughFuture(lines) + draw.Pick<Duration>({0s, 0s, 1s, 3600s});
  }
  drawn.steps = StepsOf(lines);
  if (draw.Chance(20)) Insert({.kind = Step::Kind::kStartInput}, draw, drawn.steps);
  return drawn;
}

template <class Kind>
void ExpectThePromise(uint64_t draws, bool restarts, const std::vector<std::string>& expected) {
  Seen seen;
  const bool all = ForEachSeed(1, draws, [&](uint64_t seed) {
    Case drawn = DrawnCase<Kind>(seed);
    drawn.restarts = restarts;
    ExpectUnbroken(drawn, [&](const Case& each) { return BrokenPromise<Kind>(each, &seen); });
  });
  if (all) ExpectSeen(seen, expected);
}

constexpr Shares kCases{.whole = 34'000, .usual = 1'000, .sanitized = 100};
constexpr Shares kFewerCases{.whole = 10'000, .usual = 500, .sanitized = 50};

const std::vector<std::string> kOfAll = {
    "open",         "unusual",         "invalid",     "waited", "waited in numbers",
    "out of order", "behind an input", "at the bound"};

std::vector<std::string> WithAll(std::vector<std::string> more) {
  more.insert(more.end(), kOfAll.begin(), kOfAll.end());
  return more;
}

const std::vector<std::string> kOfFolders =
    WithAll({"quiet", "max_wait", "max_events", "flush", "end", "max_bytes", "end_mark",
             "start_mark", "condition", "limit", "leading", "partial", "closing_time"});
const std::vector<std::string> kOfLiveSets =
    WithAll({"added", "expired", "unpublished", "updated", "replaced", "dropped"});
const std::vector<std::string> kOfCounters = WithAll({"final", "end"});

TEST(ReorderProperty, FoldsDisorderedLinesAsSortedOnes) {
  ExpectThePromise<FoldKind>(ShareOf(kCases), false, kOfFolders);
}

TEST(ReorderProperty, KeepsLiveSetsOfDisorderedLinesAsOfSortedOnes) {
  ExpectThePromise<LiveSetKind>(ShareOf(kCases), false, kOfLiveSets);
}

TEST(ReorderProperty, CountsDisorderedLinesAsSortedOnes) {
  ExpectThePromise<RollupKind>(ShareOf(kCases), false, kOfCounters);
}

// --- Analyses

std::string AnalysisText(const Analysis& analysis) {
  std::ostringstream out;
  out << "events " << analysis.events << ", left out " << analysis.left_out << ", keys "
      << analysis.keys << ", from " << FormatTimestamp(analysis.first) << " to "
      << FormatTimestamp(analysis.last) << ", bytes " << analysis.bytes << ", max wait "
      << FormatDuration(analysis.max_wait) << "\n";
  for (const AnalysisRow& row : analysis.rows) {
    out << FormatDuration(row.quiet_period) << ": " << row.folding_ratio << " " << row.emissions
        << " " << row.emissions_per_second << " " << row.delay_p50.count() << " "
        << row.delay_p99.count() << " " << row.open_peak << "\n";
    for (const auto* bursts : {&row.biggest, &row.longest}) {
      for (const Burst& burst : *bursts) {
        out << "  " << burst.key << " " << burst.events << " " << FormatTimestamp(burst.opened)
            << " " << burst.lasted.count() << "\n";
      }
    }
  }
  analysis.gaps.ForEachBucket(
      [&](const auto& bucket) { out << bucket.lowest << ": " << bucket.count << "\n"; });
  return out.str();
}

// What an analyzer has made of lines.
struct Analyzed {
  std::string text;
  uint64_t out_of_order = 0;  // as they came, and as they were analyzed
  uint64_t left_out_of_order = 0;
  std::vector<std::string> invalid;
  LineCounts counts;
  bool adds_up = true;  // the counts of lines, all the time
};

// The lines in texts, or one by one, as `way` says.
Analyzed AnalyzedBy(const EventSpec& spec, const std::vector<StampedLine>& lines, uint64_t seed) {
  JobDraw way(seed);
  AnalyzerOptions options;
  if (way.Chance(50)) options.grid = {500ms, 1s, 4s, 30s};
  if (way.Chance(40)) options.max_wait = way.Pick<Duration>({1s, 4s, 20s});
  const auto opened = JsonAnalyzer::Open(spec, options);
  EXPECT_TRUE(opened.ok()) << opened.status();
  JsonAnalyzer& analyzer = **opened;
  Analyzed analyzed;
  const auto tell = [&](std::string_view line, const LineResult& result) {
    analyzed.invalid.push_back(std::string(result.reason) + " <- " + std::string(line));
    return true;
  };
  for (size_t i = 0; i < lines.size();) {
    if (way.Chance(40)) {
      const PaddedLine line(lines[i++].text);
      const LineResult result = analyzer.AddLine(line.view());
      if (result.kind == LineResult::Kind::kInvalid) tell(line.view(), result);
    } else {
      std::string text;
      for (size_t left = 1 + way.Below(20); left > 0 && i < lines.size(); --left) {
        text += lines[i++].text + "\n";
      }
      const PaddedLine padded(text);
      JsonLines read(analyzer.plan());
      read.Read(padded.view());
      analyzer.Add(read, [&](const UnusualLine& line) { return tell(line.text, line.result); });
    }
    const LineCounts counts = analyzer.counts();
    analyzed.adds_up &=
        counts.lines == counts.events + counts.invalid + counts.excluded + counts.waiting;
  }
  analyzed.out_of_order = analyzer.out_of_order();
  const auto analysis = std::move(analyzer).Finish();
  analyzed.text = AnalysisText(*analysis);
  analyzed.left_out_of_order = analysis->out_of_order;
  analyzed.counts = analyzer.counts();
  return analyzed;
}

std::string BrokenAnalysis(const Case& drawn) {
  auto spec = SpecFor<EventSpec>(drawn);
  std::vector<StampedLine> lines = LinesOf(drawn.steps);
  // Which lines are accepted is for a folder of the same spec to say.
  FoldSpec fold{.event = spec};
  fold.folder.quiet_period = 1s;
  const Scouted scouted = ScoutedBy<FoldKind>(drawn, fold);
  const std::vector<StampedLine> accepted = AcceptedLines(drawn, scouted);
  if (EnoughFuture(accepted) > drawn.future_limit) return "";
  spec.future_limit = drawn.future_limit;
  const Analyzed want = AnalyzedBy(spec, Sorted(lines), drawn.way);
  const Analyzed unsorted = AnalyzedBy(spec, lines, drawn.way);
  spec.reorder = drawn.bound;
  const Analyzed got = AnalyzedBy(spec, lines, drawn.way);
  PlainStamps stamps;
  for (const StampedLine& line : accepted) stamps.Note(line.at);
  std::string broken = Difference("analysis", got.text, want.text) +
                       Difference("invalid", Joined(got.invalid), Joined(unsorted.invalid));
  if (got.out_of_order != stamps.counts().out_of_order) broken += "out_of_order is wrong\n";
  if (got.left_out_of_order != 0) broken += "events were analyzed out of order\n";
  if (!got.adds_up) broken += "lines do not add up\n";
  if (!(got.counts == want.counts)) broken += "the counts of lines differ\n";
  return broken;
}

TEST(ReorderProperty, AnalyzesDisorderedLinesAsSortedOnes) {
  ForEachSeed(1, ShareOf(kFewerCases),
              [&](uint64_t seed) { ExpectUnbroken(DrawnCase<AnalyzeKind>(seed), BrokenAnalysis); });
}

// --- From snapshots on the way

TEST(ReorderProperty, FoldersGoOnFromSnapshotsOnTheWay) {
  ExpectThePromise<FoldKind>(ShareOf(kFewerCases), true, kOfFolders);
}

TEST(ReorderProperty, LiveSetsGoOnFromSnapshotsOnTheWay) {
  ExpectThePromise<LiveSetKind>(ShareOf(kFewerCases), true, kOfLiveSets);
}

TEST(ReorderProperty, CountersGoOnFromSnapshotsOnTheWay) {
  ExpectThePromise<RollupKind>(ShareOf(kFewerCases), true, kOfCounters);
}

}  // namespace
}  // namespace pleat::inline v0_1
