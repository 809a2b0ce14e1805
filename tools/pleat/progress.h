// One line on the terminal, redrawn in place, that says how far a long run has come.
//
// It appears only when standard error is a terminal that can redraw and the run takes a while; it is
// wiped out before anything else is printed there.
#pragma once

#include <cstdint>

#include <pleat/time.h>

namespace pleat::inline v0 {

class Progress {
 public:
  struct State {
    uint64_t bytes = 0;
    uint64_t lines = 0;
    uint64_t found = 0;
    const char* found_what = "";  // "folded"
  };

  // `bytes_total` of all inputs as they lie on the disk; 0 if that is not known.
  Progress(bool enabled, uint64_t bytes_total) : enabled_(enabled), bytes_total_(bytes_total) {}
  ~Progress() { Clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Whether it is time to draw, `elapsed` after the start.
  bool Due(Duration elapsed) const { return enabled_ && elapsed >= next_draw_; }
  void Draw(const State& state, Duration elapsed);
  void Clear();

  // Whether the terminal behind standard error wants a redrawn line: not if output runs over it meanwhile.
  static bool TerminalTakesIt(bool output_comes_last = false);

 private:
  bool enabled_;
  uint64_t bytes_total_;
  Duration next_draw_ =
      std::chrono::milliseconds(500);  // shorter runs are over before one reads it
  bool drawn_ = false;
};

}  // namespace pleat::inline v0
