// The state of `sum` and, with a count, of `mean`.
//
// Integers and other numbers are summed apart: integers exactly in 128 bits, other numbers as
// doubles in order of arrival, with compensation. Integers that leave 128 bits go on as doubles. A
// sum that would leave the doubles stays at their end for good, and the result is marked.
#pragma once

#include <cmath>
#include <cstdint>
#include <string_view>

#include <pleat/stored.h>

#include "engine/base/compensated_sum.h"
#include "engine/lines/reduce/wide_integer.h"
#include "engine/lines/scan/number.h"

namespace pleat::inline v0_1 {

class Sum {
 public:
  struct Result {
    bool integer;       // only integers were summed: `whole` is exact, and `real` is not set
    WideInteger whole;  // not set if there were other numbers
    double real;
    bool saturated;
  };

  bool empty() const noexcept { return !wholes_ && !reals_; }

  // `text` is that of the number.
  void Add(const Number& number, std::string_view text) noexcept {
    if (number.fits) [[likely]]
      return AddWhole(number.whole);
    AddOther(number, text);
  }

  Result Total() const noexcept {
    if (!reals_) return {true, whole(), 0, false};
    CompensatedSum all{real_, lost_, stuck_};
    AddParts(whole(), all);
    const double value = all.Value();
    return {false, 0, value, all.stuck};
  }

  // Both parts to the last bit, so that later numbers are rounded as they would have been.
  void Save(FieldWriter& out) const {
    const bool narrow = high_ == low_ >> 63;
    out.PutByte(static_cast<uint8_t>((wholes_ ? kWholes : 0) | (reals_ ? kReals : 0) |
                                     (stuck_ ? kStuck : 0) | (narrow ? 0 : kWide)));
    if (wholes_) out(low_);
    if (!narrow) out(high_);
    if (reals_) out(real_, lost_);
  }
  // REQUIRES: all zeros.
  void Load(FieldReader& in) {
    const uint8_t flags = in.Byte();
    wholes_ = (flags & kWholes) != 0;
    reals_ = (flags & kReals) != 0;
    stuck_ = (flags & kStuck) != 0;
    const bool ended = (flags & kEndOf64Bits) != 0;
    const bool wide = (flags & kWide) != 0;
    in.Expect(flags <= kFlagsMax && (wholes_ || (!ended && !wide)) && (reals_ || !stuck_));
    if (wholes_) in(low_);
    high_ = low_ >> 63;
    if (wide) in(high_);
    in.Expect(!wide || high_ != low_ >> 63);
    if (reals_) in(real_, lost_);
    in.Expect(std::isfinite(real_) && std::isfinite(lost_));
    if (ended) StayAt(static_cast<double>(low_));
  }

 private:
  // Never renumber.
  static constexpr uint8_t kWholes = 1;
  static constexpr uint8_t kReals = 2;
  static constexpr uint8_t kEndOf64Bits = 4;  // of versions whose integers ended there; not written
  static constexpr uint8_t kStuck = 8;
  static constexpr uint8_t kWide = 16;  // the upper half is stored
  static constexpr uint8_t kFlagsMax = 31;

  WideInteger whole() const noexcept {
    return static_cast<WideInteger>(static_cast<WideMagnitude>(high_) << 64 |
                                    static_cast<uint64_t>(low_));
  }

  void AddWhole(WideInteger x) noexcept {
    wholes_ = true;
    WideInteger sum;
    if (__builtin_add_overflow(whole(), x, &sum)) [[unlikely]] {
      GoOnAsDouble();
      sum = x;
    }
    low_ = static_cast<int64_t>(sum);
    high_ = static_cast<int64_t>(sum >> 64);
  }

  [[gnu::noinline]] void AddOther(const Number& number, std::string_view text) noexcept {
    WideInteger wide = 0;
    const bool is_wide = number.integer && ReadWide(text, wide);
    is_wide ? AddWhole(wide) : AddReal(number.real);
  }

  void AddReal(double x) noexcept {
    reals_ = true;
    CompensatedSum real{real_, lost_, stuck_};
    real.Add(x);
    Set(real);
  }

  [[gnu::noinline]] void GoOnAsDouble() noexcept {
    reals_ = true;
    CompensatedSum real{real_, lost_, stuck_};
    AddParts(whole(), real);
    Set(real);
  }

  // Exactly: as the nearest double, then the nearest of what is left, and so on.
  static void AddParts(WideInteger x, CompensatedSum& sum) noexcept {
    for (auto left = static_cast<WideMagnitude>(x); left != 0;) {
      const auto part = static_cast<double>(static_cast<WideInteger>(left));
      sum.Add(part);
      const auto magnitude = static_cast<WideMagnitude>(std::fabs(part));
      left = part < 0 ? left + magnitude : left - magnitude;
    }
  }

  void StayAt(double end) noexcept {
    low_ = high_ = 0;
    wholes_ = false;
    reals_ = true;
    Set({.sum = end, .lost = 0, .stuck = true});
  }

  void Set(const CompensatedSum& real) noexcept {
    real_ = real.sum;
    lost_ = real.lost;
    stuck_ = real.stuck;
  }

  // Of the integers, in two halves because a state is aligned to 8 bytes.
  int64_t low_;
  int64_t high_;
  double real_;
  double lost_;  // of `real_`, by rounding
  bool wholes_;
  bool reals_;
  bool stuck_;  // `real_` is at the end of its type
};

}  // namespace pleat::inline v0_1
