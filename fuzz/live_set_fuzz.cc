// Live sets: the bytes choose a configuration and some 200 operations, which then go to the
// engine and to the reference model, as in tests/model. A difference is printed, with the
// operations that are needed to see it, and ends the run.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>

#include "tests/model/live_set_episode.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace pleat;
  constexpr size_t kOps = 200;

  Choices choices(std::span(data, size));
  const Axis axis = choices.OneOf({Axis::kArrival, Axis::kEvent});
  const int partitions = choices.OneOf({1, 2, 7});
  LiveSetSeen seen;
  const std::optional<std::string> failure =
      TryLiveSetEpisode(choices, axis, partitions, kOps, seen);
  if (!failure) return 0;
  std::fprintf(stderr, "%s\n", failure->c_str());
  std::abort();
}
