// What one round of the stress is like: small limits and few keys, drawn at random.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <pleat/folder.h>

#include "tests/threads/tracked_events.h"

namespace pleat::inline v0_1 {

using TrackedFolder = Folder<TrackedEvent, TrackedEvents>;

class Choices {
 public:
  explicit Choices(uint64_t seed) : random_(seed) {}
  uint64_t Below(uint64_t n) { return random_() % n; }
  int Between(int low, int high) {
    return low + static_cast<int>(Below(static_cast<uint64_t>(high - low + 1)));
  }
  bool OneIn(uint64_t n) { return Below(n) == 0; }
  Duration Ticks(int low, int high) { return Duration{Between(low, high)}; }

 private:
  std::mt19937_64 random_;
};

struct StressConfig {
  EngineOptions engine;
  FolderOptions folder;
  TrackedFolder::Rules rules;
  std::vector<std::string> keys;
  bool stamps_ahead = false;
  bool engine_goes = false;
  bool remembers = false;
};

StressConfig DrawConfig(Choices& choices);

// What matters of it, for whoever has to find out what went wrong.
std::string Describe(const StressConfig& config);

}  // namespace pleat::inline v0_1
