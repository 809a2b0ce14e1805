// A state lies in the cache lines of its group, so none can be aligned to more than their size.
#include <pleat/folder.h>

#ifdef MISUSE
constexpr size_t kAlignment = 128;
#else
constexpr size_t kAlignment = 64;
#endif

struct alignas(kAlignment) State {
  void Fold(const int&) noexcept {}
};

pleat::Folder<int, State> Use(pleat::Engine& engine) {
  return {engine, "f", {.quiet_period = std::chrono::seconds(1), .max_wait = pleat::kForever}};
}
