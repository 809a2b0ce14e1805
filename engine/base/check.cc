#include "engine/base/check.h"

#include <cstdio>
#include <cstdlib>

namespace pleat::inline v0 {

void CheckFailed(const char* file, int line, const char* condition) noexcept {
  std::fprintf(stderr, "pleat: %s:%d: check failed: %s\n", file, line, condition);
  std::abort();
}

}  // namespace pleat::inline v0
