// Which random episodes a property test runs: some by itself, or those that its environment names.
//
//   PLEAT_SEED=17              run only the episode of that seed, for each axis and partition count
//   PLEAT_MODEL_OPS=50000000   run about so many operations in total, from seed 1 (or
//                              PLEAT_SEED) on
#pragma once

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <random>
#include <string>
#include <tuple>

#include <gtest/gtest.h>
#include <pleat/options.h>

#include "tests/model/choices.h"

namespace pleat::inline v0_1 {

using AxisAndPartitions = std::tuple<Axis, int>;

// An episode's seed and the instance that runs it, mixed.
inline std::seed_seq SeedOf(uint64_t seed, const AxisAndPartitions& instance) {
  const auto [axis, partitions] = instance;
  return {seed, static_cast<uint64_t>(axis == Axis::kEvent), static_cast<uint64_t>(partitions)};
}

struct ChosenEpisodes {
  uint64_t first_seed;
  uint64_t count;

  // `ops`: how many operations all instances together run by themselves.
  static ChosenEpisodes For(uint64_t ops, uint64_t instances, size_t ops_per_episode) {
    const std::optional<uint64_t> seed = FromEnvironment("PLEAT_SEED");
    const uint64_t ops_total = FromEnvironment("PLEAT_MODEL_OPS").value_or(seed ? 1 : ops);
    return {seed.value_or(1), 1 + ops_total / instances / ops_per_episode};
  }

  // Runs the episodes of `instance`, up to the first that fails: `run(choices)` draws one and gives
  // nothing, or what failed.
  template <class Run>
  void RunAll(const AxisAndPartitions& instance, const Run& run) const {
    std::signal(SIGABRT, [](int) {
      std::fprintf(stderr, "PLEAT_SEED=%ju\n", static_cast<uintmax_t>(current_seed));
    });
    for (uint64_t seed = first_seed; seed < first_seed + count; ++seed) {
      current_seed = seed;
      std::seed_seq mixed = SeedOf(seed, instance);
      Choices choices(mixed);
      const std::optional<std::string> failure = run(choices);
      ASSERT_FALSE(failure.has_value()) << "PLEAT_SEED=" << seed << "\n" << *failure;
    }
  }

 private:
  // A check of the engine that fails ends the program: then, too, the seed has to be known.
  static inline uint64_t current_seed = 0;

  static std::optional<uint64_t> FromEnvironment(const char* name) {
    const char* const text = std::getenv(name);
    if (text == nullptr) return std::nullopt;
    return std::strtoull(text, nullptr, 10);
  }
};

inline std::string InstanceName(const testing::TestParamInfo<AxisAndPartitions>& instance) {
  const auto [axis, partitions] = instance.param;
  return (axis == Axis::kArrival ? "Arrival" : "Event") + std::to_string(partitions);
}

}  // namespace pleat::inline v0_1
