// An intake: the bytes choose options, events, batches, restarts and a clock, as in tests/model; what
// comes out is that of single events, or of sorted ones. A difference is printed and ends the run.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>

#include "tests/model/intake_episode.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  pleat::Choices choices(std::span(data, size));
  const auto attempt =
      choices.OneOf({pleat::TryIntakeRestarts, pleat::TryIntakeDisorder, pleat::TryIntakeBatches});
  const std::optional<std::string> difference = attempt(choices);
  if (!difference) return 0;
  std::fprintf(stderr, "%s\n", difference->c_str());
  std::abort();
}
