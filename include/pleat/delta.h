// Delta: a number to add to a counter; and Amount: a sum of deltas.
//
// Integers are summed exactly in 64 bits, other numbers as doubles with Neumaier's compensation, in
// the order in which they come, as the reducer `sum` of `pleat fold` does. A part that would leave
// its type stays at the end of the type for good, and the amount is `saturated`.
#pragma once

#include <concepts>
#include <cstdint>
#include <string_view>

#include <pleat/export.h>
#include <pleat/time.h>

namespace pleat::inline v0_1 {

class Delta {
 public:
  enum class Kind : uint8_t { kInteger, kReal, kAbove, kBelow };

  constexpr Delta() noexcept = default;  // 1
  template <std::integral Integer>
  constexpr Delta(Integer number) noexcept  // NOLINT(*-explicit-constructor)
      : whole_(static_cast<int64_t>(number)) {
    if constexpr (std::unsigned_integral<Integer> && sizeof(Integer) == sizeof(int64_t)) {
      if (whole_ < 0) *this = Above();
    }
  }
  // An infinite number saturates the sum; NaN counts as zero.
  constexpr Delta(double number) noexcept  // NOLINT(*-explicit-constructor)
      : real_(number), kind_(Kind::kReal) {}

  // An integer above or below the range of 64 bits, which saturates the sum.
  static constexpr Delta Above() noexcept { return Delta(Kind::kAbove); }
  static constexpr Delta Below() noexcept { return Delta(Kind::kBelow); }

  constexpr Kind kind() const noexcept { return kind_; }
  // REQUIRES: kind() is kInteger for whole(), and kReal for real().
  constexpr int64_t whole() const noexcept { return whole_; }
  constexpr double real() const noexcept { return real_; }

 private:
  explicit constexpr Delta(Kind kind) noexcept : whole_(0), kind_(kind) {}

  union {
    int64_t whole_ = 1;
    double real_;
  };
  Kind kind_ = Kind::kInteger;
};

// A sum of deltas, and how many there were.
struct Amount {
  // How many events were added.
  uint64_t count = 0;

  // Their sum: exact if `integer`; else the nearest integer within 64 bits.
  int64_t sum = 0;

  // Their sum as a double, always set.
  double real = 0;

  // Whether only integers were added.
  bool integer = true;

  // Whether the sum would have left 64 bits, or the range of doubles; the sum is then the end of
  // that range.
  bool saturated = false;

  friend bool operator==(const Amount&, const Amount&) = default;
};

// An event of a counter.
// Ownership: borrows the bytes of `id` until the call returns.
struct CounterEvent {
  Delta delta = 1;

  // Names the event among those of its key, any bytes up to 64 KiB; empty: the event has no id, and
  // a retry counts again.
  std::string_view id = {};
};

// A window of one key, as it was handed out or kept.
struct CountedWindow {
  EngineTime start;
  EngineTime end;
  Amount amount;

  friend bool operator==(const CountedWindow&, const CountedWindow&) = default;
};

}  // namespace pleat::inline v0_1
