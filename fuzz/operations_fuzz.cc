// Operations: the bytes choose a configuration and some 200 operations, which then go to the engine and
// to the reference model, as in tests/model. A difference is printed, with the operations that are needed
// to see it, and ends the run.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>

#include "tests/model/episode.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace pleat;
  constexpr size_t kKeysMax = 30;  // so that operations meet
  constexpr size_t kOps = 200;

  Choices choices(std::span(data, size));
  const Axis axis = choices.OneOf({Axis::kArrival, Axis::kEvent});
  const int partitions = choices.OneOf({1, 2, 7});
  Seen seen;
  const std::optional<std::string> failure =
      TryEpisode(choices, axis, partitions, kOps, seen, kKeysMax);
  if (!failure) return 0;
  std::fprintf(stderr, "%s\n", failure->c_str());
  std::abort();
}
