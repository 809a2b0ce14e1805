// What becomes of lines that are further behind than the bound of disorder, ahead of the future
// limit, or more than there is room for, and of time that moves by itself: what a plain model of
// the stage says, which takes lines one by one into a collection without a bound.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <queue>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <pleat/json_analysis.h>

#include "tests/lines/reorder_case.h"

namespace pleat::inline v0_1 {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

// The stage by itself, as plain as possible: what it does with lines, told to a collection without
// a bound.
template <class Kind>
class PlainStage {
 public:
  PlainStage(const Case& drawn, LinesRun<Kind>& run) : drawn_(drawn), run_(run) {}

  // An accepted line. Returns false if it is beyond the future limit.
  bool Add(const StampedLine& line) {
    if (newest_ != kBeginningOfTime && line.at - Ahead() > drawn_.future_limit) return false;
    newest_ = std::max(newest_, line.at);
    if (line.at < std::max(watermark(), taken_early_)) {
      run_.AddLine(line.text);
      return true;
    }
    waiting_.emplace(line.at, position_++, line.text);
    TakeDue();
    return true;
  }

  void Advance(EngineTime now) {
    advanced_ = std::max(advanced_, now);
    TakeDue();
  }

  void TakeEarly() {
    taken_early_ = std::get<EngineTime>(waiting_.top());
    TakeNext();
  }

  void TakeAll() {
    while (!waiting_.empty()) TakeNext();
    if (newest_ != kBeginningOfTime) run_.AdvanceEngine(newest_);
  }

  // Bytes of the lines that wait, with so many for each beside its own.
  size_t BytesWith(size_t more) const {
    size_t bytes = 0;
    for (auto waiting = waiting_; !waiting.empty(); waiting.pop()) {
      bytes += std::get<std::string>(waiting.top()).size() + more;
    }
    return bytes;
  }
  size_t waiting() const { return waiting_.size(); }
  EngineTime next() const { return std::get<EngineTime>(waiting_.top()); }

 private:
  using Waiting = std::tuple<EngineTime, uint64_t, std::string>;

  // The newest stamp; or what it is taken for, where time has moved by itself.
  EngineTime Ahead() const {
    if (advanced_ == kBeginningOfTime) return newest_;
    return std::max(newest_, SaturatingAdd(advanced_, drawn_.bound));
  }
  EngineTime watermark() const { return std::max(SaturatingSub(newest_, drawn_.bound), advanced_); }
  void TakeDue() {
    while (!waiting_.empty() && next() <= watermark()) TakeNext();
    run_.AdvanceEngine(watermark());
  }
  void TakeNext() {
    run_.AddLine(std::get<std::string>(waiting_.top()));
    waiting_.pop();
  }

  const Case& drawn_;
  LinesRun<Kind>& run_;
  std::priority_queue<Waiting, std::vector<Waiting>, std::greater<>> waiting_;
  uint64_t position_ = 0;
  EngineTime newest_ = kBeginningOfTime;
  EngineTime advanced_ = kBeginningOfTime;
  EngineTime taken_early_ = kBeginningOfTime;
};

// A waiting line counts its own bytes, these, and four for each path that the options read.
constexpr size_t kBesideALine = 48;
constexpr size_t kPathsAtMost = 60;

template <class Kind>
std::string Deviation(const Case& drawn, Seen* seen = nullptr) {
  auto plain = SpecFor<typename Kind::Spec>(drawn);
  Kind::Prepare(plain);
  const Scouted scouted = ScoutedBy<Kind>(drawn, plain);
  const Duration every = JobDraw(drawn.way).Pick({0s, 1s, 4s});
  auto spec = plain;
  spec.event.reorder = drawn.bound;
  spec.event.future_limit = drawn.future_limit;
  if (drawn.max_waiting_bytes != SIZE_MAX) spec.event.max_waiting_bytes = drawn.max_waiting_bytes;
  LinesRun<Kind> bounded(spec, drawn.partitions, every);
  LinesRun<Kind> model(plain, drawn.partitions, every);
  PlainStage<Kind> stage(drawn, model);
  PlainStamps stamps;
  std::string deviation;
  uint64_t future = 0;
  uint64_t early = 0;
  size_t done = 0;
  const auto do_as_the_model = [&](size_t step) {
    for (; done <= step; ++done) {
      const Step& each = drawn.steps[done];
      if (each.kind == Step::Kind::kAdvance) {
        stage.Advance(each.now);
      } else if (!IsAccepted(scouted.kinds[done])) {
        model.AddLine(each.line.text);
      } else if (stage.Add(each.line)) {
        stamps.Note(each.line.at);
      } else {
        ++future;
      }
    }
    for (const uint64_t now = bounded.lines().counts().released_early; early < now; ++early) {
      if (stage.waiting() == 0) return;
      if (stage.BytesWith(kBesideALine + 4 * kPathsAtMost) <= drawn.max_waiting_bytes) {
        deviation += "a line is released early while there is room\n";
      }
      stage.TakeEarly();
    }
    if (stage.BytesWith(kBesideALine) > drawn.max_waiting_bytes) {
      deviation += "more lines wait than there is room for\n";
    }
    if (bounded.lines().counts().waiting != stage.waiting()) {
      deviation += "behind step " + std::to_string(step + 1) + " " +
                   std::to_string(bounded.lines().counts().waiting) + " lines wait, and should " +
                   std::to_string(stage.waiting()) + "\n";
    } else if (stage.waiting() > 0 && bounded.lines().next_waiting() != stage.next()) {
      deviation += "the next that waits is wrong\n";
    }
  };
  const Left got = Given<Kind>(drawn, bounded, do_as_the_model);
  stage.TakeAll();
  const Left want = model.End();
  deviation += Differences(got, want);
  if (got.absent != scouted.absent) deviation += "absent paths differ\n";
  // Lines ahead of the limit are those of the bounded run alone.
  const auto without_counts_of_lines = [](const std::string& counts) {
    return counts.substr(counts.find(", mismatched"));
  };
  deviation += Difference("counts", without_counts_of_lines(got.counts),
                          without_counts_of_lines(want.counts));
  const LineCounts counts = bounded.lines().counts();
  const LineCounts modelled = model.lines().counts();
  if (counts.invalid != modelled.invalid + future || counts.events != modelled.events) {
    deviation += "the counts of lines are wrong\n";
  }
  StampCounts noted = bounded.lines().stamps();
  noted.assumed_utc = false;
  if (!(noted == stamps.counts())) deviation += "the counts of stamps are wrong\n";
  if (seen != nullptr && deviation.empty()) {
    Look(got, *seen);
    (*seen)["beyond the future limit"] += future;
    (*seen)["early"] += early;
    (*seen)["further behind"] += stamps.counts().most_behind > drawn.bound;
  }
  return deviation;
}

// Lines further behind than the bound, further ahead than the future limit, more than there is room
// for; and time that moves by itself, behind the first event.
template <class Kind>
Case DrawnTrouble(uint64_t seed) {
  JobDraw draw(seed);
  Case drawn;
  drawn.options = Kind::Options(draw);
  drawn.bound = draw.Bound();
  drawn.partitions = PartitionsFor(drawn.options, draw);
  drawn.way = seed + 1;
  if (draw.Chance(30)) drawn.future_limit = draw.Pick<Duration>({0s, 1s, 2500ms, 5s, 20s});
  if (draw.Chance(30)) drawn.max_waiting_bytes = draw.Pick<size_t>({0, 300, 700, 1500, 5000});
  const Duration disorder =
      draw.Chance(50) ? Duration(20s) : std::min<Duration>(drawn.bound, 90s) + 1s;
  drawn.steps = StepsOf(Disordered(draw.Lines(), disorder, draw));
  if (draw.Chance(60)) return drawn;
  const EngineTime from = FromUnix(600s);
  for (size_t left = 1 + draw.Below(3); left > 0; --left) {
    const EngineTime now = from + 250ms * static_cast<int>(draw.Below(120));
    Insert({.kind = Step::Kind::kAdvance, .line = {}, .now = now}, draw, drawn.steps);
  }
  return drawn;
}

// As long as no line was accepted the future limit has nothing to go by, whatever moves time.
template <class Kind>
bool MovesTimeFirst(const Case& drawn) {
  const Scouted scouted = ScoutedBy<Kind>(drawn, SpecFor<typename Kind::Spec>(drawn));
  for (size_t i = 0; i < drawn.steps.size(); ++i) {
    if (IsAccepted(scouted.kinds[i])) return false;
    if (drawn.steps[i].kind == Step::Kind::kAdvance) return true;
  }
  return false;
}

template <class Kind>
void ExpectNoDeviation(uint64_t draws, bool restarts, const std::vector<std::string>& expected) {
  Seen seen;
  const bool all = ForEachSeed(1, draws, [&](uint64_t seed) {
    Case drawn = DrawnTrouble<Kind>(seed);
    drawn.restarts = restarts;
    ExpectUnbroken(drawn, [&](const Case& each) {
      return MovesTimeFirst<Kind>(each) ? "" : Deviation<Kind>(each, &seen);
    });
  });
  if (all) ExpectSeen(seen, expected);
}

constexpr Shares kTroubles{.whole = 10'000, .usual = 500, .sanitized = 50};

const std::vector<std::string> kOfTrouble = {"beyond the future limit", "early", "further behind"};

TEST(ReorderBounds, FoldsWhatIsBeyondThemAsThePlainStage) {
  ExpectNoDeviation<FoldKind>(ShareOf(kTroubles), false, kOfTrouble);
}

TEST(ReorderBounds, KeepsLiveSetsOfWhatIsBeyondThemAsThePlainStage) {
  ExpectNoDeviation<LiveSetKind>(ShareOf(kTroubles), false, kOfTrouble);
}

TEST(ReorderBounds, CountsWhatIsBeyondThemAsThePlainStage) {
  ExpectNoDeviation<RollupKind>(ShareOf(kTroubles), false, kOfTrouble);
}

// Nothing, or which row of an analysis is not what a folder comes to.
std::string DeviantRow(const Case& drawn) {
  auto spec = SpecFor<EventSpec>(drawn);
  spec.reorder = drawn.bound;
  spec.future_limit = drawn.future_limit;
  const Duration max_wait = JobDraw(drawn.way).Pick<Duration>({2s, 9s, kForever, kForever});
  auto analyzer = *JsonAnalyzer::Open(spec, {.grid = {500ms, 1s, 4s, 30s}, .max_wait = max_wait});
  for (const Step& step : drawn.steps) analyzer->AddLine(PaddedLine(step.line.text).view());
  const auto analysis = std::move(*analyzer).Finish();
  for (const AnalysisRow& row : analysis->rows) {
    FoldSpec fold{.event = spec};
    fold.folder.quiet_period = row.quiet_period;
    fold.folder.max_wait = max_wait;
    LinesRun<FoldKind> run(fold, 1, 0s);
    for (const Step& step : drawn.steps) run.AddLine(step.line.text);
    run.End();
    const Ledger ledger = run.lines().ledger();
    if (row.emissions != ledger.opened || row.folding_ratio != ledger.FoldingRatio()) {
      return "of quiet " + FormatDuration(row.quiet_period) + ", max wait " +
             FormatDuration(max_wait) + " the analysis has " + std::to_string(row.emissions) +
             " emissions, and a folder " + std::to_string(ledger.opened) + "\n";
    }
  }
  return "";
}

TEST(ReorderBounds, AnalyzesWhatIsBeyondThemAsAFolderFoldsIt) {
  ForEachSeed(1, ShareOf(kTroubles), [&](uint64_t seed) {
    Case drawn = DrawnTrouble<AnalyzeKind>(seed);
    drawn.max_waiting_bytes = SIZE_MAX;  // of an analysis keys alone wait
    drawn.steps = StepsOf(LinesOf(drawn.steps));
    ExpectUnbroken(drawn, DeviantRow);
  });
}

// Some megabytes of long lines go through one short stretch of time, as the bound is long; few of
// them wait at a time.
TEST(ReorderBounds, TakesManyLongLinesOfOneStretchOfTimeAsThePlainStage) {
  ForEachSeed(1, ShareOf({.whole = 20, .usual = 2, .sanitized = 1}), [](uint64_t seed) {
    JobDraw draw(seed);
    Case drawn;
    drawn.options =
        "--time t --time-unit us --key k --quiet 300us --allowed-lateness 1ms --merge "
        "'all=array(i)'";
    drawn.bound = 1'000'000'000s;
    drawn.max_waiting_bytes = draw.Pick<size_t>({50'000, 300'000});
    drawn.way = seed;
    std::vector<StampedLine> lines;
    for (int i = 0; i < 2'500; ++i) {
      const auto at = Duration(i - static_cast<int>(draw.Below(400)));
      std::string text = "{\"k\":" + std::to_string(draw.Below(3)) +
                         ",\"t\":" + std::to_string(at.count()) + ",\"i\":" + std::to_string(i) +
                         ",\"x\":\"" + std::string(2'000, 'x') + "\"}";
      lines.push_back({std::move(text), FromUnix(at)});
    }
    drawn.steps = StepsOf(lines);
    const std::string deviation = Deviation<FoldKind>(drawn);
    EXPECT_EQ(deviation.substr(0, 2'000), "");
  });
}

// --- From snapshots on the way

TEST(ReorderBounds, FoldersGoOnFromSnapshotsOnTheWay) {
  ExpectNoDeviation<FoldKind>(ShareOf(kTroubles), true, kOfTrouble);
}

TEST(ReorderBounds, LiveSetsGoOnFromSnapshotsOnTheWay) {
  ExpectNoDeviation<LiveSetKind>(ShareOf(kTroubles), true, kOfTrouble);
}

TEST(ReorderBounds, CountersGoOnFromSnapshotsOnTheWay) {
  ExpectNoDeviation<RollupKind>(ShareOf(kTroubles), true, kOfTrouble);
}

}  // namespace
}  // namespace pleat::inline v0_1
