#include "engine/base/check.h"

#include <cstdio>
#include <cstdlib>

namespace pleat::inline v0_1 {

void CheckFailed(const char* file, int line, const char* condition) noexcept {
  std::fprintf(stderr, "pleat: %s:%d: check failed: %s\n", file, line, condition);
  std::abort();
}

void Fail(std::string_view sentence) noexcept {
  std::fprintf(stderr, "pleat: %.*s\n", static_cast<int>(sentence.size()), sentence.data());
  std::abort();
}

}  // namespace pleat::inline v0_1
