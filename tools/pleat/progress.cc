#include "tools/pleat/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>
#include <string_view>

#include "tools/pleat/summary.h"

namespace pleat::inline v0 {
namespace {

using std::chrono::duration;

// Ten times a second is as often as an eye can follow.
constexpr Duration kBetweenDraws = std::chrono::milliseconds(100);

constexpr std::string_view kEraseLine = "\r\x1b[K";

void Write(std::string_view text) {
  [[maybe_unused]] const ssize_t ignored = write(STDERR_FILENO, text.data(), text.size());
}

}  // namespace

bool Progress::TerminalTakesIt(bool output_comes_last) {
  const char* const term = std::getenv("TERM");
  const char* const no_color = std::getenv("NO_COLOR");
  const bool plain = term == nullptr || std::string_view(term) == "dumb" ||
                     (no_color != nullptr && *no_color != '\0');
  // With both on one screen the line would run through the output.
  return !plain && isatty(STDERR_FILENO) != 0 && (output_comes_last || isatty(STDOUT_FILENO) == 0);
}

void Progress::Draw(const State& state, Duration elapsed) {
  next_draw_ = elapsed + kBetweenDraws;
  drawn_ = true;
  const double seconds = duration<double>(elapsed).count();
  const auto bytes = static_cast<double>(state.bytes);
  const auto rate = static_cast<uint64_t>(static_cast<double>(state.lines) / seconds);
  std::string text(kEraseLine);
  text += ByteText(bytes) + "  " + Grouped(state.lines) + " lines  " + Grouped(rate) +
          " lines/s  " + Grouped(state.found) + " " + state.found_what;
  if (bytes_total_ > 0 && state.bytes > 0) {
    const double share = std::min(1.0, bytes / static_cast<double>(bytes_total_));
    const auto left = static_cast<uint64_t>(std::ceil(seconds / share - seconds));
    text += "  " + std::to_string(static_cast<int>(share * 100)) + " %  " + std::to_string(left) +
            " s left";
  }
  Write(text);
}

void Progress::Clear() {
  if (drawn_) Write(kEraseLine);
  drawn_ = false;
}

}  // namespace pleat::inline v0
