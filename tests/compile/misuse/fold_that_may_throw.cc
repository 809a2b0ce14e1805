// A fold function runs under a partition's lock, so it has to promise not to throw.
#include <pleat/folder.h>

#ifdef MISUSE
#define PROMISE
#else
#define PROMISE noexcept
#endif

struct State {
  int n = 0;
  void Fold(const int& by) PROMISE { n += by; }
};

using Wanted = pleat::Folder<int, State>;
size_t Use(Wanted& folder) { return folder.sizes().open_groups; }
