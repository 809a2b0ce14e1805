// A Total is a sum of deltas that still grows: integers exactly in 64 bits, other numbers apart,
// with compensation. Readers get it as an Amount.
//
// A part that would leave its type stays at the end of the type for good. So a total depends on the
// order of the deltas only where it saturates or rounds.
#pragma once

#include <cmath>
#include <cstdint>

#include <pleat/rollup_values.h>
#include <pleat/stored.h>

#include "engine/base/compensated_sum.h"

namespace pleat::inline v0_1 {

struct Total {
  uint64_t count = 0;  // of events
  int64_t whole = 0;
  double real = 0;
  double lost = 0;          // of `real`, by rounding
  uint64_t wholes : 1 = 0;  // whether integers were added
  uint64_t reals : 1 = 0;
  uint64_t whole_stuck : 1 = 0;
  uint64_t real_stuck : 1 = 0;
  uint64_t arrival : 60 = 0;  // of a window: the position of its first event

  // Whether `count` and `whole` alone are the total.
  bool plain() const noexcept { return !reals && !whole_stuck && (wholes || count == 0); }

  // Adds the number of one event, and counts the event.
  void Add(const Delta& delta) noexcept {
    ++count;
    switch (delta.kind()) {
      case Delta::Kind::kInteger: return AddWhole(delta.whole());
      case Delta::Kind::kAbove: return StickWhole(/*above=*/true);
      case Delta::Kind::kBelow: return StickWhole(/*above=*/false);
      case Delta::Kind::kReal: return AddReal(std::isnan(delta.real()) ? 0.0 : delta.real());
      case Delta::Kind::kNone: return;
    }
  }

  // Adds all deltas of `other`.
  void Merge(const Total& other) noexcept {
    count += other.count;
    if (other.whole_stuck) {
      StickWhole(other.whole > 0);
    } else if (other.wholes) {
      AddWhole(other.whole);
    }
    if (!other.reals) return;
    AddReal(other.real);
    AddReal(other.lost);
    if (!other.real_stuck || real_stuck) return;
    real = other.real;
    lost = 0;
    real_stuck = 1;
  }

  Amount amount() const noexcept;
  // The total of a published amount. Of an amount that is not integer, only the rounded sum is
  // known.
  static Total Of(const Amount& amount) noexcept;

  // All but `arrival`.
  void Save(FieldWriter& out) const;
  void Load(FieldReader& in);

 private:
  void AddWhole(int64_t number) noexcept {
    wholes = 1;
    if (whole_stuck) return;
    int64_t sum;
    if (!__builtin_add_overflow(whole, number, &sum)) {
      whole = sum;
    } else {
      StickWhole(number > 0);
    }
  }
  void StickWhole(bool above) noexcept {
    wholes = 1;
    if (whole_stuck) return;
    whole_stuck = 1;
    whole = above ? INT64_MAX : INT64_MIN;
  }
  void AddReal(double number) noexcept {
    reals = 1;
    CompensatedSum compensated{real, lost, real_stuck != 0};
    compensated.Add(number);
    real = compensated.sum;
    lost = compensated.lost;
    real_stuck = compensated.stuck;
  }
};
static_assert(sizeof(Total) == 40);

inline Amount Total::amount() const noexcept {
  Amount amount{.count = count,
                .sum = whole,
                .real = static_cast<double>(whole),
                .integer = !reals,
                .saturated = whole_stuck != 0,
                .none = count > 0 && !wholes && !reals};
  if (!reals) return amount;
  CompensatedSum all{real, lost, real_stuck != 0};
  if (wholes) all.Add(static_cast<double>(whole));
  amount.real = all.Value();
  amount.saturated |= all.stuck;
  constexpr double kEnd = 9223372036854775808.0;  // 2^63
  if (amount.real >= kEnd || amount.real < -kEnd) {
    amount.sum = amount.real > 0 ? INT64_MAX : INT64_MIN;
  } else {
    amount.sum = static_cast<int64_t>(std::nearbyint(amount.real));
  }
  return amount;
}

inline Total Total::Of(const Amount& amount) noexcept {
  Total total;
  total.count = amount.count;
  if (amount.none) return total;
  if (amount.integer) {
    total.whole = amount.sum;
    total.wholes = 1;
    total.whole_stuck = amount.saturated;
  } else {
    // Stores are the users': an infinite number, or none, is no sum of ours.
    total.AddReal(std::isnan(amount.real) ? 0.0 : amount.real);
    if (amount.saturated) total.real_stuck = 1;
  }
  return total;
}

inline void Total::Save(FieldWriter& out) const {
  out.PutByte(static_cast<uint8_t>(wholes | reals << 1 | whole_stuck << 2 | real_stuck << 3));
  out(count, whole);
  if (reals) out(real, lost);
}

inline void Total::Load(FieldReader& in) {
  const uint8_t flags = in.Byte();
  wholes = flags & 1;
  reals = flags >> 1 & 1;
  whole_stuck = flags >> 2 & 1;
  real_stuck = flags >> 3 & 1;
  in(count, whole);
  if (reals) in(real, lost);
  in.Expect(flags < 16 && reals >= real_stuck && std::isfinite(real) && std::isfinite(lost));
}

}  // namespace pleat::inline v0_1
