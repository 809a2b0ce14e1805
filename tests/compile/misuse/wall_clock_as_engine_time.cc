// A reading of a clock is not engine time until somebody says how to convert it.
#include <chrono>

#include <pleat/folder.h>

struct State {
  void Fold(const int&) noexcept {}
};

pleat::FoldOutcome Use(pleat::Folder<int, State>& folder,
                       std::chrono::system_clock::time_point reading) {
#ifdef MISUSE
  return folder.Fold("key", 1, reading);
#else
  return folder.Fold(
      "key", 1,
      pleat::FromUnix(std::chrono::duration_cast<pleat::Duration>(reading.time_since_epoch())));
#endif
}
