// One line on the terminal, redrawn in place, that says how far a long run has come.
//
// It appears only when standard error is a terminal that can redraw and the run takes a while; it is
// wiped out before anything else is printed there. It has no colour, so that NO_COLOR is no matter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <pleat/time.h>

namespace pleat::cli {

class Progress {
 public:
  struct State {
    uint64_t bytes = 0;
    uint64_t lines = 0;
    uint64_t found = 0;
    const char* found_what = "";  // "folded"
  };

  // `bytes_total` of all inputs as they lie on the disk; 0 if that is not known.
  explicit Progress(uint64_t bytes_total) : bytes_total_(bytes_total) {}
  ~Progress() { Clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Shows it from now on, if the terminal behind standard error can redraw a line and nothing else
  // runs over it meanwhile: not if `output` is a terminal too; -1 if output comes last.
  void ShowBeside(int output);

  // Whether it is time to draw, `elapsed` after the start.
  bool Due(Duration elapsed) const { return shown_ && elapsed >= next_draw_; }
  void Draw(const State& state, Duration elapsed);
  void Clear();

  // The line, at most `width` columns. What is less wanted gives way.
  static std::string Text(const State& state, Duration elapsed, uint64_t bytes_total, size_t width);

 private:
  uint64_t bytes_total_;
  Duration next_draw_ =
      std::chrono::milliseconds(500);  // shorter runs are over before one reads it
  bool shown_ = false;
  bool drawn_ = false;
};

}  // namespace pleat::cli
