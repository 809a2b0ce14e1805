// Choices for code that asks again and again "which of n?", such as what a power loss leaves: all
// ways through it, one after the other, or a drawn one.
//
//   EveryChoice choices;
//   do {
//     Run(choices.pick());
//   } while (choices.Next());
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include <absl/functional/function_ref.h>

namespace pleat::inline v0_1 {

// One of `n` ways, 0 to n - 1.
using Pick = absl::FunctionRef<uint32_t(uint32_t n)>;

// Each way once, whatever later questions depend on. The first one answers 0 everywhere, the last
// one n - 1.
class EveryChoice {
 public:
  // Borrows this object.
  auto pick() {
    return [this](uint32_t n) { return Choose(n); };
  }
  uint32_t Choose(uint32_t n) {
    if (asked_ == way_.size()) way_.push_back({0, n});
    return way_[asked_++].answer;
  }

  // Goes on to the next way; false if there is none.
  bool Next() {
    way_.resize(asked_);
    asked_ = 0;
    while (!way_.empty() && way_.back().answer + 1 == way_.back().of) way_.pop_back();
    if (way_.empty()) return false;
    ++way_.back().answer;
    return true;
  }

 private:
  struct Answer {
    uint32_t answer;
    uint32_t of;
  };
  std::vector<Answer> way_;
  size_t asked_ = 0;
};

// Drawn, the same of each seed.
class DrawnChoice {
 public:
  explicit DrawnChoice(uint64_t seed) : random_(seed) {}
  // Borrows this object.
  auto pick() {
    return [this](uint32_t n) { return static_cast<uint32_t>(random_() % n); };
  }

 private:
  std::mt19937_64 random_;
};

}  // namespace pleat::inline v0_1
