// The parts that the plots share: log scales, their marks, and writing SVG.
#pragma once

#include <cmath>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include <pleat/time.h>

namespace pleat::cli {

// Maps values above zero to their share of the way from `low` to `high`.
class LogScale {
 public:
  // REQUIRES: 0 < low < high.
  LogScale(double low, double high) : low_(low), high_(high) {}

  double low() const { return low_; }
  double high() const { return high_; }

  double Share(double value) const {
    return std::log(std::max(value, low_ / 10) / low_) / std::log(high_ / low_);
  }
  double Share(Duration d) const { return Share(static_cast<double>(d.count())); }

 private:
  double low_;
  double high_;
};

// Marks for a scale that is drawn `length` pixels long, at least `spacing` pixels apart: durations
// that people know, or the ends of the scale if there are none.
std::vector<Duration> DurationMarks(const LogScale& scale, double length, double spacing);

// 1, 10, 100 ..., and 2 and 5 of them if there are few.
std::vector<double> CountMarks(const LogScale& scale, double length, double spacing);

// The next 1, 2 or 5 times a power of ten that is not above, or not below.
double RoundDown125(double value);
double RoundUp125(double value);

// REQUIRES: the result has less than 1,024 bytes, so no text of unknown length.
template <class... Values>
void Print(std::string& out, const char* format, Values... values) {
  char text[1024];
  std::snprintf(text, sizeof(text), format, values...);
  out += text;
}

}  // namespace pleat::cli
