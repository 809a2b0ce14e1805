// EngineInternals: the random numbers of an engine, for callers that must have them repeat.
//
//   auto engine = *pleat::Engine::Open({.internals = {.hash_key = {{1, 2}}, .epoch = 3}});
//
// Programs leave both out: the engine then draws them from the operating system. Tests set them, so
// that two runs are alike to the last instruction and to the last lease token. A store that brings
// an engine back from a snapshot has to supply both: the hash key its tables were built with, and
// the epoch of the tokens that its consumers still hold.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include <pleat/export.h>

namespace pleat::inline v0_1 {

struct EngineInternals {
  // The key of the hash of the tables. Secret, so that no stranger can choose keys that collide; it
  // never shows in any output.
  std::optional<std::array<uint64_t, 2>> hash_key = std::nullopt;

  // Tells the lease tokens of this engine from those of others (LeaseToken::epoch).
  // REQUIRES: unique among the engines whose tokens can meet.
  std::optional<uint64_t> epoch = std::nullopt;
};

}  // namespace pleat::inline v0_1
