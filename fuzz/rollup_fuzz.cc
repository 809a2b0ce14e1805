// Rollup counters: the bytes choose a configuration and some 150 operations, which then go to the
// engine and to the reference model, as in tests/model; or to two engines, with visits at other
// moments, in other batches and partitions. A difference is printed, with the operations that are
// needed to see it, and ends the run.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>

#include "tests/model/rollup_episode.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace pleat;
  constexpr size_t kOps = 150;

  Choices choices(std::span(data, size));
  const Axis axis = choices.OneOf({Axis::kArrival, Axis::kEvent});
  const int partitions = choices.OneOf({1, 2, 3});
  RollupSeen seen;
  const std::optional<std::string> failure =
      choices.OneIn(4) ? TryRollupReplay(choices, axis, partitions, kOps)
                       : TryRollupEpisode(choices, axis, partitions, kOps, seen);
  if (!failure) return 0;
  std::fprintf(stderr, "%s\n", failure->c_str());
  std::abort();
}
