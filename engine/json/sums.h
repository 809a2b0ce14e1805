// The state of `sum` and, with a count, of `mean`.
//
// Integers and other numbers are summed apart: integers exactly in 64 bits, other numbers as
// doubles in order of arrival with the compensation of A. Neumaier ("Rundungsfehleranalyse einiger
// Verfahren zur Summation endlicher Summen", 1974), so that one input gives the same bytes
// everywhere. A part that would leave its type stays at that end for good, and the result is
// marked.
#pragma once

#include <cfloat>
#include <cmath>
#include <cstdint>

#include "engine/json/number.h"

namespace pleat::inline v0_1 {

class Sum {
 public:
  struct Result {
    bool integer;  // only integers were summed: `whole` is exact
    int64_t whole;
    double real;  // always set
    bool saturated;
  };

  bool empty() const noexcept { return !wholes_ && !reals_; }

  void Add(const Number& number) noexcept {
    number.integer ? AddWhole(number) : AddReal(number.real);
  }

  Result Total() const noexcept {
    Result result{!reals_, whole_, static_cast<double>(whole_), whole_saturated_};
    if (reals_) {
      Compensated real = real_;
      if (wholes_ && !real.stuck) real.Add(static_cast<double>(whole_));
      result.real = real.Value();
      result.saturated |= real.stuck;
    }
    return result;
  }

 private:
  struct Compensated {
    double sum;
    double lost;  // lost by rounding
    bool stuck;   // at +-DBL_MAX

    void Add(double x) noexcept {
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

    void Stick(double infinity) noexcept {
      sum = std::copysign(DBL_MAX, infinity);
      lost = 0;
      stuck = true;
    }
  };

  void AddWhole(const Number& number) noexcept {
    wholes_ = true;
    if (whole_saturated_) return;
    const bool negative = number.fits ? number.whole < 0 : number.real < 0;
    if (number.fits && !__builtin_add_overflow(whole_, number.whole, &whole_)) return;
    whole_saturated_ = true;
    whole_ = negative ? INT64_MIN : INT64_MAX;
  }

  void AddReal(double x) noexcept {
    reals_ = true;
    if (!real_.stuck) real_.Add(x);
  }

  int64_t whole_;
  Compensated real_;
  bool wholes_;
  bool reals_;
  bool whole_saturated_;
};

}  // namespace pleat::inline v0_1
