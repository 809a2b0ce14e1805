// How the quiet period is learned, for the models: as docs/semantics.md says it, with maps of everything and nothing
// bounded or forgotten. Written apart from engine/fold/quiet_learner, of which it shares nothing.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <pleat/time.h>

namespace pleat::inline v0_1 {

// Of one partition.
class PlainLearner {
 public:
  PlainLearner(Duration floor, Duration ceiling);

  // What the quiet period is after an event of `key`, stamped `at`, that comes when engine time (on arrival time: or
  // the stamp, if later) is `edge`. `key_class`: empty if the event has none. `opens`: it opens a group.
  Duration QuietAfter(const std::string& key, const std::string& key_class, EngineTime edge,
                      EngineTime at, bool opens);

 private:
  struct Past {
    EngineTime last;  // largest stamp in its latest group
    int run = 0;      // events since a pause of the ceiling, the one before included; 0: none came
    std::string key_class;  // of its latest event
  };
  struct Cell {
    int asked = 0;
    std::map<Duration, int>
        gaps;  // how many were shorter than this step, and not than the one before
    Duration learned{0};
  };

  Cell& CellOf(const std::string& key_class, int run);
  Duration AskCell(Cell& cell);
  void NoteGap(Cell& cell, Duration gap);
  Duration Best(const Cell& cell) const;

  std::set<Duration> steps_;
  std::map<std::string, Past> pasts_;  // by key
  std::map<std::pair<std::string, int>, Cell>
      cells_;  // by class ("": all events) and octave of the run
  std::set<std::string> classes_;
};

}  // namespace pleat::inline v0_1
