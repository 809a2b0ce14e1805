#include "engine/fold/quiet_learner.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace pleat::inline v0_1 {

QuietLearner::QuietLearner(Duration floor, Duration ceiling) : rows_(1) {
  const auto end = static_cast<uint64_t>(ceiling.count());
  for (auto octave = static_cast<uint64_t>(floor.count()); octave < end; octave *= 2) {
    for (uint64_t quarter = 0; quarter < 4; ++quarter) {
      const Duration step{static_cast<Duration::rep>(octave + octave * quarter / 4)};
      const bool further = steps_.empty() || step > steps_.back();
      if (further && step < ceiling) steps_.push_back(step);
    }
  }
  steps_.push_back(ceiling);
}

QuietLearner::Answer QuietLearner::Ask(uint32_t key_class, Duration gap, Memo memo) {
  const bool returned = memo.run != 0 && gap < steps_.back();
  if (returned) {
    const auto step = std::upper_bound(steps_.begin(), steps_.end(), gap) - steps_.begin();
    NoteReturn(CellOf(memo), static_cast<size_t>(step));
    if (memo.row != 0) NoteReturn(CellOf({memo.run, 0}), static_cast<size_t>(step));
    if (memo.run < std::numeric_limits<uint16_t>::max()) ++memo.run;
  } else {
    memo.run = 1;
  }
  memo.row = RowOf(key_class);
  Duration quiet = AskCell(CellOf({memo.run, 0}));
  if (memo.row != 0) {
    const Duration own = AskCell(CellOf(memo));
    if (own > Duration{0}) quiet = own;
  }
  return {.quiet = std::max(quiet, steps_.front()), .memo = memo};
}

uint16_t QuietLearner::RowOf(uint32_t key_class) {
  if (key_class == 0) return 0;
  const auto known = row_of_class_.find(key_class);
  if (known != row_of_class_.end()) return known->second;
  if (rows_.size() == kRows) return 0;
  const auto row = static_cast<uint16_t>(rows_.size());
  rows_.emplace_back();
  row_of_class_.emplace(key_class, row);
  return row;
}

QuietLearner::Cell& QuietLearner::CellOf(Memo memo) {
  const auto octave = static_cast<size_t>(std::bit_width(memo.run)) - 1;
  std::unique_ptr<Cell>& cell = rows_[memo.row][octave];
  if (cell == nullptr) {
    cell = std::make_unique<Cell>();
    cell->gaps.resize(steps_.size());
  }
  return *cell;
}

Duration QuietLearner::AskCell(Cell& cell) const {
  ++cell.asked;
  if (cell.asked % kAskedMin == 0) cell.quiet = BestFor(cell);
  if (cell.asked == kAskedMax) Halve(cell);
  return cell.quiet;
}

// More can return to a cell than asked there of late: keys that wait are not counted one by one.
void QuietLearner::NoteReturn(Cell& cell, size_t step) const {
  ++cell.gaps[step];
  if (++cell.returned == kAskedMax) Halve(cell);
}

void QuietLearner::Halve(Cell& cell) {
  cell.asked /= 2;
  cell.returned = 0;
  for (uint16_t& gaps : cell.gaps) {
    gaps /= 2;
    cell.returned += gaps;
  }
}

// All candidates wait for the floor, so that only the time behind the floor makes a difference.
// Those that return between two steps wait for about half of the time between.
Duration QuietLearner::BestFor(const Cell& cell) const {
  __extension__ using Wide = __int128;
  const Wide ceiling = steps_.back().count();
  Wide waiting = Wide{cell.asked} - cell.gaps[0];  // at the step
  Wide worth = 0;                                  // twice, and times the ceiling
  Wide best = 0;
  Duration quiet = steps_[0];
  for (size_t i = 1; i < steps_.size() && waiting > 0; ++i) {
    const Wide folded = cell.gaps[i];
    const Wide width = (steps_[i] - steps_[i - 1]).count();
    worth += 2 * folded * ceiling - std::max(2 * waiting - folded, Wide{0}) * width;
    waiting -= folded;
    if (worth > best) {
      best = worth;
      quiet = steps_[i];
    }
  }
  return quiet;
}

}  // namespace pleat::inline v0_1
