// A QuietLearner says how long to wait for a key's next event, from the results of earlier waits.
//
// The idea: waiting costs time and may fold an event. Waiting pays as long as it folds more than
// one event per ceiling of waiting, and so the quiet period to ask for is the one at which
//
//     events folded - time waited / ceiling
//
// is greatest. That is optimal stopping: the same price everywhere, so that no second of waiting
// could fold more if spent on another key. The learner needs the distribution of gaps, which is
// counted apart for each *class* of keys and, in it, for each *octave of the run*: a run is the
// events of a key without a pause of the ceiling, and the 2nd and 3rd, the 4th to 7th and so on of
// a run are alike. The best sign that another event follows is the number of events so far.
//
// Each such cell has a histogram of gaps between floor and ceiling, four steps to the octave. An
// event is counted as *asked* when it comes, and as *returned* when the next one of its key has
// come within the ceiling. Asked and not returned are those that never come back. Every 4,096
// events all counts are halved, to follow changes. A cell with fewer than 16 events asks for the
// answer of all classes together, and these for the floor.
//
// Whole numbers only: the same events give the same quiet periods everywhere.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include <pleat/stored.h>
#include <pleat/time.h>

namespace pleat::inline v0_1 {

class QuietLearner {
 public:
  static constexpr size_t kRows = 1024;  // of classes; row 0 is all of them together

  // The note about a key until its next event. 26 bits.
  struct Memo {
    uint16_t run = 0;  // events of its run, as far as 16 bits count; 0: none
    uint16_t row = 0;  // of its last event
  };
  struct Answer {
    Duration quiet;  // floor to ceiling
    Memo memo;
  };

  // REQUIRES: 0 < floor < ceiling, which is no longer than time itself.
  QuietLearner(Duration floor, Duration ceiling);

  // An event of a key has come, `gap` after the one that left `memo`; with an empty memo the gap
  // does not matter. Class 0 is that of events without one; classes past the first kRows - 1 others
  // count as class 0. Cost: a few steps; every 16th time of a cell, one for each of its steps.
  Answer Ask(uint32_t key_class, Duration gap, Memo memo);

  // Of how many classes there are rows; a memo's row is one of them.
  size_t rows() const noexcept { return rows_.size(); }
  // See Book. REQUIRES for Load(): nothing was asked yet.
  void Save(FieldWriter& out) const;
  void Load(FieldReader& in);

  // The lengths there are to choose from: the floor, and steps of a quarter octave up to the
  // ceiling.
  const std::vector<Duration>& steps() const noexcept { return steps_; }

 private:
  static constexpr size_t kOctaves = 16;
  static constexpr uint32_t kAskedMax = 4096;
  static constexpr uint32_t kAskedMin =
      16;  // before a cell has learned anything, and between two times

  struct Cell {
    uint32_t asked = 0;
    uint32_t returned = 0;
    Duration quiet{0};  // 0: none learned
    std::vector<uint16_t>
        gaps;  // shorter than the step of the same index, and not than the one before
  };
  using Row = std::array<std::unique_ptr<Cell>, kOctaves>;

  uint16_t RowOf(uint32_t key_class);
  Cell& CellOf(Memo memo);
  Duration AskCell(Cell& cell) const;
  void NoteReturn(Cell& cell, size_t step) const;
  static void Halve(Cell& cell);
  Duration BestFor(const Cell& cell) const;
  std::unique_ptr<Cell> LoadCell(FieldReader& in) const;

  std::vector<Duration> steps_;
  std::vector<Row> rows_;
  std::unordered_map<uint32_t, uint16_t> row_of_class_;
};

}  // namespace pleat::inline v0_1
