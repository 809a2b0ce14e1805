// The knee is found as Kneedle does (Satopää et al., "Finding a 'Kneedle' in a Haystack", 2011):
// where the curve is furthest above the straight line between its ends. The curve is the folding
// ratio over the logarithm of the quiet period. Quiet periods beyond a quarter of the log are no
// candidates: the log hardly shows their effect.
#include "tools/pleat/analyze/recommendation.h"

#include <algorithm>
#include <cmath>

#include "tools/pleat/quantity_text.h"

namespace pleat::cli {
namespace {

// Below this ratio a log does not fold.
constexpr double kHardlyAny = 0.10;

// How far above the line a knee is, as a share of the whole climb. A lower one is a slope without a
// knee. Then a quiet period twice as long has to fold so much more.
constexpr double kClearKnee = 0.10;
constexpr double kGainOfTwice = 0.05;

// A ratio that is higher by less than this is not worth a longer delay.
constexpr double kNoMore = 0.0005;

// A key that does not go quiet for so many quiet periods needs a max wait.
constexpr int kNeverQuietPeriods = 100;

double LogOf(const WhatIfRow& row) {
  return std::log2(static_cast<double>(row.quiet_period.count()));
}

// How many rows the log is long enough for; at least 1 if there is one.
size_t Candidates(const Analysis& analysis) {
  const auto fits = [&](const AnalysisRow& row) { return row.quiet_period <= analysis.span() / 4; };
  const auto count = static_cast<size_t>(std::ranges::count_if(analysis.rows, fits));
  return std::max<size_t>(count, std::min<size_t>(1, analysis.rows.size()));
}

// The ratio at any quiet period, straight lines between the rows, level beyond them.
double RatioAt(const Analysis& analysis, double log_quiet) {
  const auto& rows = analysis.rows;
  if (log_quiet <= LogOf(rows.front())) return rows.front().folding_ratio;
  for (size_t i = 1; i < rows.size(); ++i) {
    if (LogOf(rows[i]) < log_quiet) continue;
    const double share = (log_quiet - LogOf(rows[i - 1])) / (LogOf(rows[i]) - LogOf(rows[i - 1]));
    return std::lerp(rows[i - 1].folding_ratio, rows[i].folding_ratio, share);
  }
  return rows.back().folding_ratio;
}

struct Knee {
  size_t row;
  double height;  // above the line, as a share of the climb
  bool clear() const { return height >= kClearKnee; }
};

Knee FindKnee(const Analysis& analysis, size_t candidates) {
  const AnalysisRow& first = analysis.rows.front();
  const AnalysisRow& last = analysis.rows[candidates - 1];
  const double length = LogOf(last) - LogOf(first);
  const double climb = last.folding_ratio - first.folding_ratio;
  Knee knee{0, 0};
  for (size_t i = 0; i < candidates && length > 0 && climb > 0; ++i) {
    const AnalysisRow& row = analysis.rows[i];
    const double height =
        (row.folding_ratio - first.folding_ratio) / climb - (LogOf(row) - LogOf(first)) / length;
    if (height > knee.height) knee = {i, height};
  }
  if (knee.clear()) return knee;
  knee.row = 0;
  for (size_t i = 1; i < candidates; ++i) {
    const AnalysisRow& row = analysis.rows[i];
    if (row.folding_ratio - RatioAt(analysis, LogOf(row) - 1) >= kGainOfTwice) knee.row = i;
  }
  return knee;
}

std::string Cost(const AnalysisRow& row) {
  return DurationText(row.quiet_period) + " folds " + PercentText(row.folding_ratio) +
         " of the events, into " + Counted(row.emissions, "emission") + "; 99 % come out within " +
         RoundedDuration(row.delay_p99) + " of their first event";
}

// How much more a quiet period twice as long as that of `row` folds. With a max wait the gaps do
// not tell; the rows then do, up to the last of them.
std::optional<double> GainOfTwice(const Analysis& analysis, const AnalysisRow& row) {
  if (analysis.max_wait == kForever) {
    const auto quiet = static_cast<uint64_t>(row.quiet_period.count());
    return (analysis.gaps.CountBelow(2 * quiet) - analysis.gaps.CountBelow(quiet)) /
           static_cast<double>(analysis.events);
  }
  if (2 * row.quiet_period > analysis.rows.back().quiet_period) return std::nullopt;
  return RatioAt(analysis, LogOf(row) + 1) - row.folding_ratio;
}

std::string WhyKnee(const Analysis& analysis, const Knee& knee) {
  const AnalysisRow& row = analysis.rows[knee.row];
  const std::optional<double> more = GainOfTwice(analysis, row);
  if (more && *more <= kNoMore) return Cost(row) + ". Doubling the wait folds no more.";
  const std::string gain =
      more ? "doubling the wait still folds another " + PercentText(*more) : "";
  if (knee.clear()) return Cost(row) + (more ? ". Past it, " + gain : "") + ".";
  return Cost(row) + ". There is no clear knee" + (more ? "; " + gain : "") +
         "; choose by the delay that you can afford (--max-delay).";
}

std::string JoinedGoal(const Goal& goal) {
  std::string text;
  if (goal.target_ratio > 0) text = "folds " + PercentText(goal.target_ratio);
  if (goal.max_delay == kForever) return text;
  return text + (text.empty() ? "" : " and ") + "keeps 99 % of the emissions within " +
         DurationText(goal.max_delay);
}

void FindGoal(const Analysis& analysis, const Goal& goal, Recommendation& recommended) {
  const auto& rows = analysis.rows;
  const auto folds = [&](const AnalysisRow& row) { return row.folding_ratio >= goal.target_ratio; };
  const auto in_time = [&](const AnalysisRow& row) { return row.delay_p99 <= goal.max_delay; };
  const auto meets = [&](const AnalysisRow& row) { return folds(row) && in_time(row); };

  // With a ratio to reach, no longer than needed; without, as long as it folds more.
  std::optional<size_t> best;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (!meets(rows[i])) continue;
    if (goal.target_ratio > 0 ? best.has_value()
                              : best && rows[i].folding_ratio < rows[*best].folding_ratio + kNoMore)
      continue;
    best = i;
  }
  if (best) {
    recommended.kind = Recommendation::Kind::kGoal;
    recommended.row = best;
    recommended.why = Cost(rows[*best]) +
                      (goal.target_ratio > 0 ? ". It is the shortest quiet period tried that "
                                             : ". Of those tried it folds most and ") +
                      JoinedGoal(goal) + ".";
    return;
  }
  // The nearest: the shortest that folds enough, or the longest in time, or the end that is closer.
  recommended.kind = Recommendation::Kind::kOutOfReach;
  recommended.row = rows.size() - 1;
  if (goal.max_delay != kForever) {
    recommended.row = 0;
    for (size_t i = 0; i < rows.size(); ++i) {
      if (in_time(rows[i])) recommended.row = i;
    }
  }
  recommended.why = "No quiet period tried " + JoinedGoal(goal) + ". The nearest, " +
                    Cost(rows[*recommended.row]) + ".";
}

std::vector<Burst> NeverQuiet(const Analysis& analysis, const AnalysisRow& row) {
  std::vector<Burst> never_quiet;
  for (const Burst& burst : row.longest) {
    if (burst.lasted >= std::min(analysis.span() / 2, kNeverQuietPeriods * row.quiet_period) &&
        burst.lasted > row.quiet_period)
      never_quiet.push_back(burst);
  }
  return never_quiet;
}

std::string Disorder(const Analysis& analysis) {
  if (2 * analysis.out_of_order <= analysis.events) return "";
  return " Most events come behind a later stamp; if that one is wrong, see --future-limit.";
}

std::string FewFold(double ratio) {
  return ratio <= 0 ? "no event folds." : "only " + PercentText(ratio) + " of the events fold.";
}

}  // namespace

Recommendation Recommend(const Analysis& analysis, const Goal& goal) {
  Recommendation recommended;
  if (analysis.events == 0) {
    recommended.why = analysis.left_out == 0 ? "There is nothing to fold: there was no event."
                                             : "There was no room for any event.";
    return recommended;
  }
  const size_t candidates = Candidates(analysis);
  const AnalysisRow& longest = analysis.rows[candidates - 1];
  if (longest.folding_ratio < kHardlyAny && goal.target_ratio == 0) {
    recommended.why = "This log does not fold by this key: with quiet periods up to " +
                      DurationText(longest.quiet_period) + " " + FewFold(longest.folding_ratio) +
                      Disorder(analysis);
    return recommended;
  }
  if (goal.target_ratio > 0 || goal.max_delay != kForever) {
    FindGoal(analysis, goal, recommended);
  } else {
    const Knee knee = FindKnee(analysis, candidates);
    recommended.kind = Recommendation::Kind::kKnee;
    recommended.row = knee.row;
    recommended.why = WhyKnee(analysis, knee);
  }
  const AnalysisRow& row = analysis.rows[*recommended.row];
  recommended.why += Disorder(analysis);
  if (analysis.max_wait == kForever) recommended.never_quiet = NeverQuiet(analysis, row);
  if (const size_t count = recommended.never_quiet.size(); count > 0) {
    const std::string keys =
        count == kBurstsKept ? "At least " + Counted(count, "key") : Counted(count, "key");
    recommended.why +=
        " " + keys + (count == 1 ? " stays busy for " : " stay busy for up to ") +
        RoundedDuration(recommended.never_quiet.front().lasted) +
        (count == 1 ? "; bound it with --max-wait." : "; bound them with --max-wait.");
  }
  if (row.quiet_period > analysis.span() / 4) {
    recommended.why +=
        " It is longer than a quarter of the log, so that the log hardly shows what it does.";
  }
  return recommended;
}

}  // namespace pleat::cli
