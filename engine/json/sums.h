// The state of `sum` and, with a count, of `mean`.
//
// Integers and other numbers are summed apart: integers exactly in 64 bits, other numbers as
// doubles in order of arrival, with compensation. A part that would leave its type stays at that
// end for good, and the result is marked.
#pragma once

#include <cmath>
#include <cstdint>

#include <pleat/stored.h>

#include "engine/base/compensated_sum.h"
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
      CompensatedSum real = real_;
      if (wholes_) real.Add(static_cast<double>(whole_));
      result.real = real.Value();
      result.saturated |= real.stuck;
    }
    return result;
  }

  // Both parts to the last bit, so that later numbers are rounded as they would have been.
  void Save(FieldWriter& out) const {
    out.PutByte(static_cast<uint8_t>((wholes_ ? kWholes : 0) | (reals_ ? kReals : 0) |
                                     (whole_saturated_ ? kWholeSaturated : 0) |
                                     (real_.stuck ? kRealStuck : 0)));
    if (wholes_) out(whole_);
    if (reals_) out(real_.sum, real_.lost);
  }
  // REQUIRES: all zeros.
  void Load(FieldReader& in) {
    const uint8_t flags = in.Byte();
    wholes_ = (flags & kWholes) != 0;
    reals_ = (flags & kReals) != 0;
    whole_saturated_ = (flags & kWholeSaturated) != 0;
    real_.stuck = (flags & kRealStuck) != 0;
    in.Expect(flags <= kFlagsMax && (wholes_ || !whole_saturated_) && (reals_ || !real_.stuck));
    if (wholes_) in(whole_);
    if (reals_) in(real_.sum, real_.lost);
    in.Expect(std::isfinite(real_.sum) && std::isfinite(real_.lost));
  }

 private:
  // Never renumber.
  static constexpr uint8_t kWholes = 1;
  static constexpr uint8_t kReals = 2;
  static constexpr uint8_t kWholeSaturated = 4;
  static constexpr uint8_t kRealStuck = 8;
  static constexpr uint8_t kFlagsMax = 15;

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
    real_.Add(x);
  }

  int64_t whole_;
  CompensatedSum real_;
  bool wholes_;
  bool reals_;
  bool whole_saturated_;
};

}  // namespace pleat::inline v0_1
