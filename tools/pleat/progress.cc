#include "tools/pleat/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "tools/pleat/quantity_text.h"

namespace pleat::cli {
namespace {

using std::chrono::duration;

// Ten times a second is as often as an eye can follow.
constexpr Duration kBetweenDraws = std::chrono::milliseconds(100);

constexpr std::string_view kEraseLine = "\r\x1b[K";
constexpr std::string_view kGap = "  ";

void Write(std::string_view text) {
  [[maybe_unused]] const ssize_t ignored = write(STDERR_FILENO, text.data(), text.size());
}

// Less the last column, behind which some terminals begin a new line.
size_t TerminalWidth() {
  constexpr size_t kUsual = 80;
  winsize size{};
  const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return (known ? size.ws_col : kUsual) - 1;
}

std::string Joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) {
    if (!text.empty()) text += kGap;
    text += part;
  }
  return text;
}

}  // namespace

void Progress::ShowBeside(int output) {
  const char* const term = std::getenv("TERM");
  const bool redraws = term != nullptr && std::string_view(term) != "dumb";
  shown_ = redraws && isatty(STDERR_FILENO) != 0 && isatty(output) == 0;
}

std::string Progress::Text(const State& state, Duration elapsed, uint64_t bytes_total,
                           size_t width) {
  const double seconds = duration<double>(elapsed).count();
  const auto bytes = static_cast<double>(state.bytes);
  const auto rate = static_cast<uint64_t>(static_cast<double>(state.lines) / seconds);
  std::vector<std::string> parts = {ByteText(bytes), Counted(state.lines, state.line_what),
                                    Grouped(rate) + " " + state.line_what + "s/s"};
  const std::string_view found_what = state.found_what;
  if (!found_what.empty()) parts.push_back(Grouped(state.found) + " " + state.found_what);
  if (bytes_total > 0 && state.bytes > 0) {
    const double share = std::min(1.0, bytes / static_cast<double>(bytes_total));
    const auto left = static_cast<uint64_t>(std::ceil(seconds / share - seconds));
    parts.push_back(std::to_string(static_cast<int>(share * 100)) + " %");
    parts.push_back(std::to_string(left) + " s left");
  }
  // The bytes stay, and the time left. The parts between them go.
  while (parts.size() > 1 && Joined(parts).size() > width) parts.erase(parts.begin() + 1);
  return Joined(parts).substr(0, width);
}

void Progress::Draw(const State& state, Duration elapsed) {
  next_draw_ = elapsed + kBetweenDraws;
  drawn_ = true;
  Write(std::string(kEraseLine) + Text(state, elapsed, bytes_total_, TerminalWidth()));
}

void Progress::Clear() {
  if (drawn_) Write(kEraseLine);
  drawn_ = false;
}

}  // namespace pleat::cli
