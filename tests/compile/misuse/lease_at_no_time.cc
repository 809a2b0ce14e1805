// Empty braces are no instant.
#include <pleat/folder.h>

using namespace std::chrono_literals;

struct State {
  void Fold(const int&) noexcept {}
};

size_t Use(pleat::Folder<int, State>& folder, [[maybe_unused]] pleat::LeaseTime now) {
#ifdef MISUSE
  return folder.Lease(1, 2s, {}).size();
#else
  return folder.Lease(1, 2s, now).size();
#endif
}
