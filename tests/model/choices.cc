#include "tests/model/choices.h"

namespace pleat::inline v0_1 {

uint64_t Choices::Below(uint64_t end) {
  if (random_) return (*random_)() % end;
  // As many bytes as it takes, the highest first.
  uint64_t choice = 0;
  for (uint64_t rest = end - 1; rest > 0 && !bytes_.empty(); rest >>= 8) {
    choice = choice << 8 | bytes_.front();
    bytes_ = bytes_.subspan(1);
  }
  return choice % end;
}

uint64_t Choices::Any() { return random_ ? (*random_)() : Below(1 << 16); }

}  // namespace pleat::inline v0_1
