// A sum of doubles in the order in which they come, with the compensation of A. Neumaier
// ("Rundungsfehleranalyse einiger Verfahren zur Summation endlicher Summen", 1974), so that one
// input gives the same bytes everywhere. A sum that would leave the range of doubles stays at the
// end of that range for good.
#pragma once

#include <cfloat>
#include <cmath>

namespace pleat::inline v0_1 {

struct CompensatedSum {
  double sum;
  double lost;  // lost by rounding
  bool stuck;   // at +-DBL_MAX

  // Nothing is added to a sum that is stuck. REQUIRES: `x` is a number.
  void Add(double x) noexcept {
    if (stuck) return;
    const double total = sum + x;
    if (std::isinf(total)) return Stick(total);
    lost += std::fabs(sum) >= std::fabs(x) ? (sum - total) + x : (x - total) + sum;
    sum = total;
  }

  double Value() noexcept {
    const double value = sum + lost;
    if (std::isinf(value)) Stick(value);
    return sum + lost;
  }

 private:
  void Stick(double infinity) noexcept {
    sum = std::copysign(DBL_MAX, infinity);
    lost = 0;
    stuck = true;
  }
};

}  // namespace pleat::inline v0_1
