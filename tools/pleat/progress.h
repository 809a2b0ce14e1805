// One line on the terminal, redrawn in place, that says how far a long run has come.
//
// The line appears if standard error is a terminal that can redraw and the run takes half a
// second. It is wiped out before any other text. It has no colours, so NO_COLOR does not matter.
#pragma once

#include <algorithm>
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
    const char* found_what = "";  // "folded"; "": nothing is said of it
    const char* line_what = "line";
  };

  // `bytes_total` of all inputs as they lie on the disk; 0 if that is not known.
  explicit Progress(uint64_t bytes_total) : bytes_total_(bytes_total) {}
  ~Progress() { Clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Shows the line from now on, if standard error is a terminal that can redraw and `output` is
  // none: output would run over the line. -1 if output comes last.
  void ShowBeside(int output);

  // Whether it is time to draw, `elapsed` after the start.
  bool Due(Duration elapsed) const { return shown_ && elapsed >= next_draw_; }
  void Draw(const State& state, Duration elapsed);
  void Clear();

  // The same as text, whether the line is shown or not, and however long it is.
  std::string Whole(const State& state, Duration elapsed) const {
    return Text(state, std::max(elapsed, Duration{1}), bytes_total_, std::string::npos);
  }

  // The line, at most `width` columns. The less important parts give way.
  static std::string Text(const State& state, Duration elapsed, uint64_t bytes_total, size_t width);

 private:
  uint64_t bytes_total_;
  Duration next_draw_ =
      std::chrono::milliseconds(500);  // shorter runs are over before one reads it
  bool shown_ = false;
  bool drawn_ = false;
};

}  // namespace pleat::cli
