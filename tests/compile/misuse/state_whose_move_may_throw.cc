// Groups move when a slab grows or an emission is popped; nothing could be done about an exception.
#include <pleat/folder.h>

#ifdef MISUSE
#define PROMISE
#else
#define PROMISE noexcept
#endif

struct State {
  State() = default;
  State(State&& other) PROMISE : n(other.n) {}
  int n = 0;
  void Fold(const int& by) noexcept { n += by; }
};

using Wanted = pleat::Folder<int, State>;
size_t Use(Wanted& folder) { return folder.sizes().open_groups; }
