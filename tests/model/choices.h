// The source that random episodes are drawn from.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <random>
#include <span>

namespace pleat::inline v0_1 {

// Where an episode comes from: a random generator, or bytes that somebody else has chosen. When
// these have come to their end, every choice is the first one.
class Choices {
 public:
  explicit Choices(std::seed_seq& seed) : random_(seed) {}
  explicit Choices(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  uint64_t Below(uint64_t end);  // `end` > 0
  uint64_t Any();                // whatever: for what only has to differ
  bool OneIn(uint64_t n) { return Below(n) == n - 1; }
  bool exhausted() const { return !random_ && bytes_.empty(); }

  template <class T>
  T OneOf(std::initializer_list<T> choices) {
    return *(choices.begin() + Below(choices.size()));
  }

 private:
  std::optional<std::mt19937_64> random_;
  std::span<const uint8_t> bytes_;
};

}  // namespace pleat::inline v0_1
