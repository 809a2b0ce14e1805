// Leases run on a clock of their own; a caller that uses one clock for both says so.
#include <pleat/folder.h>

using namespace std::chrono_literals;

struct State {
  void Fold(const int&) noexcept {}
};

size_t Use(pleat::Folder<int, State>& folder, pleat::EngineTime now) {
#ifdef MISUSE
  return folder.Lease(1, 2s, now).size();
#else
  return folder.Lease(1, 2s, pleat::LeaseTime(now)).size();
#endif
}
