#include "tests/model/plain_sum.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstdint>

namespace pleat::inline v0_1 {
namespace {

// What is no number is zero.
double PlainReal(double number) { return std::isnan(number) ? 0 : number; }

}  // namespace

bool SameDelta(const Delta& a, const Delta& b) {
  const auto wide = [](const Delta& x) -> long double {
    switch (x.kind()) {
      case Delta::Kind::kInteger: return static_cast<long double>(x.whole());
      case Delta::Kind::kReal:
        if (x.real() < -0x1p63) return -0x1.1p63L;
        return std::min<long double>(PlainReal(x.real()), 0x1p63L);
      case Delta::Kind::kAbove: return 0x1p63L;
      case Delta::Kind::kBelow: return -0x1.1p63L;
      case Delta::Kind::kNone: return 0;
    }
    return 0;
  };
  return wide(a) == wide(b);
}

void PlainSum::Add(const Delta& delta) {
  ++count_;
  switch (delta.kind()) {
    case Delta::Kind::kInteger: return AddWhole(delta.whole());
    case Delta::Kind::kAbove: return FillWholes(/*below=*/false);
    case Delta::Kind::kBelow: return FillWholes(/*below=*/true);
    case Delta::Kind::kReal: any_real_ = true; return reals_.Add(PlainReal(delta.real()));
    case Delta::Kind::kNone: return;
  }
}

void PlainSum::Add(const PlainSum& later) {
  count_ += later.count_;
  if (later.any_whole_) {
    later.whole_full_ ? FillWholes(later.whole_ < 0) : AddWhole(later.whole_);
  }
  if (later.any_real_) {
    any_real_ = true;
    if (later.reals_.full) {
      reals_.Fill(later.reals_.sum < 0);
    } else {
      reals_.Add(later.reals_.sum);
      reals_.Add(later.reals_.lost);
    }
  }
}

void PlainSum::AddWhole(int64_t x) {
  any_whole_ = true;
  if (whole_full_) return;
  const bool leaves = x > 0 ? whole_ > INT64_MAX - x : whole_ < INT64_MIN - x;
  if (leaves) return FillWholes(x < 0);
  whole_ += x;
}

void PlainSum::FillWholes(bool below) {
  any_whole_ = true;
  if (whole_full_) return;
  whole_full_ = true;
  whole_ = below ? INT64_MIN : INT64_MAX;
}

void PlainSum::Reals::Add(double x) {
  if (full) return;
  const double total = sum + x;
  if (std::isinf(total)) return Fill(total < 0);
  lost += std::abs(sum) >= std::abs(x) ? (sum - total) + x : (x - total) + sum;
  sum = total;
}

void PlainSum::Reals::Fill(bool below) {
  if (full) return;
  full = true;
  sum = below ? -DBL_MAX : DBL_MAX;
  lost = 0;
}

double PlainSum::Reals::Value() {
  if (std::isinf(sum + lost)) Fill(sum < 0);
  return sum + lost;
}

Amount PlainSum::amount() const {
  Amount out{.count = count_, .sum = whole_, .real = static_cast<double>(whole_)};
  out.saturated = whole_full_;
  out.none = count_ > 0 && !any_whole_ && !any_real_;
  if (!any_real_) return out;
  out.integer = false;
  Reals all = reals_;
  if (any_whole_) all.Add(static_cast<double>(whole_));
  out.real = all.Value();
  out.saturated = out.saturated || all.full;
  constexpr double kTwoTo63 = 9223372036854775808.0;
  if (out.real >= kTwoTo63 || out.real < -kTwoTo63) {
    out.sum = out.real < 0 ? INT64_MIN : INT64_MAX;
  } else {
    out.sum = std::llrint(out.real);
  }
  return out;
}

}  // namespace pleat::inline v0_1
