#include "tests/model/plain_learner.h"

#include <algorithm>

namespace pleat::inline v0_1 {
namespace {

constexpr int kClassesMax = 1023;
constexpr int kRunMax = 65'535;

void Halve(int& asked, std::map<Duration, int>& gaps) {
  asked /= 2;
  for (auto& [step, count] : gaps) count /= 2;
}

}  // namespace

PlainLearner::PlainLearner(Duration floor, Duration ceiling) {
  steps_.insert(ceiling);
  for (Duration octave = floor; octave < ceiling; octave *= 2) {
    for (int quarter = 0; quarter < 4; ++quarter) {
      const Duration step = octave + octave / 4 * quarter + octave % 4 * quarter / 4;
      if (step < ceiling) steps_.insert(step);
      if (octave > ceiling / 2 && quarter == 3) return;
    }
  }
}

Duration PlainLearner::QuietAfter(const std::string& key, const std::string& key_class,
                                  EngineTime edge, EngineTime at, bool opens) {
  const Duration ceiling = *steps_.rbegin();
  Past& past = pasts_[key];
  // What lies that close to the end of time is not looked for any more once its group has closed.
  const bool known = past.run > 0 && !(opens && past.last > kEndOfTime - ceiling);
  if (known && edge - past.last < ceiling) {
    NoteGap(CellOf("", past.run), edge - past.last);
    if (!past.key_class.empty()) NoteGap(CellOf(past.key_class, past.run), edge - past.last);
    past.run = std::min(past.run + 1, kRunMax);
  } else {
    past.run = 1;
  }
  past.last = opens ? at : std::max(past.last, at);

  const bool has_class =
      !key_class.empty() && (classes_.contains(key_class) || classes_.size() < kClassesMax);
  past.key_class = has_class ? key_class : "";
  Duration quiet = AskCell(CellOf("", past.run));
  if (has_class) {
    classes_.insert(key_class);
    const Duration own = AskCell(CellOf(key_class, past.run));
    if (own != Duration{0}) quiet = own;
  }
  return quiet == Duration{0} ? *steps_.begin() : quiet;
}

PlainLearner::Cell& PlainLearner::CellOf(const std::string& key_class, int run) {
  int octave = 0;
  while (run >= 2 << octave) ++octave;
  return cells_[{key_class, octave}];
}

Duration PlainLearner::AskCell(Cell& cell) {
  ++cell.asked;
  if (cell.asked % 16 == 0) cell.learned = Best(cell);
  if (cell.asked == 4096) Halve(cell.asked, cell.gaps);
  return cell.learned;
}

void PlainLearner::NoteGap(Cell& cell, Duration gap) {
  ++cell.gaps[*steps_.upper_bound(gap)];
  int all = 0;
  for (const auto& [step, count] : cell.gaps) all += count;
  if (all == 4096) Halve(cell.asked, cell.gaps);
}

// The step at which events folded - time waited / ceiling is greatest, the shortest of several; all of it times twice
// the ceiling, to be whole. A step further costs the time between to those that do not fold in it, and half to those
// that do.
Duration PlainLearner::Best(const Cell& cell) const {
  __extension__ using Wide = __int128;
  const auto worth_of = [&](Duration quiet) {
    Wide worth = 0;
    Wide waiting = cell.asked;
    Duration before = *steps_.begin();
    for (const Duration step : steps_) {
      const auto found = cell.gaps.find(step);
      const Wide folds = found == cell.gaps.end() ? 0 : found->second;
      if (step > before && step <= quiet && waiting > 0) {
        const Wide cost = 2 * waiting - folds;
        worth += 2 * folds * steps_.rbegin()->count();
        if (cost > 0) worth -= cost * (step - before).count();
      }
      waiting -= folds;
      before = step;
    }
    return worth;
  };
  Duration best = *steps_.begin();
  for (const Duration step : steps_) {
    if (worth_of(step) > worth_of(best)) best = step;
  }
  return best;
}

}  // namespace pleat::inline v0_1
