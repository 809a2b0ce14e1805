// A delay runs from the instant at which an emission is given back, which nobody but the caller knows.
#include <pleat/folder.h>

using namespace std::chrono_literals;

struct State {
  void Fold(const int&) noexcept {}
};

pleat::LeaseOutcome Use(pleat::Leased<State>& lease, [[maybe_unused]] pleat::LeaseTime now) {
#ifdef MISUSE
  return lease.Nack(500ms);
#else
  return lease.Nack(500ms, now);
#endif
}
