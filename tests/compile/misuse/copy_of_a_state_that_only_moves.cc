// Calls that hand out copies name the one that shows a state where it is.
#include <memory>
#include <vector>

#include <pleat/folder.h>
#include <pleat/wait_pop.h>

#ifdef MISUSE
using Held = std::unique_ptr<int>;
#else
using Held = std::shared_ptr<int>;
#define MISUSE 0
#endif

using namespace std::chrono_literals;

struct State {
  Held held;
  void Fold(const int&) noexcept {}
};
using Folder = pleat::Folder<int, State>;

#if MISUSE <= 1
size_t Lease(Folder& folder, pleat::LeaseTime now) { return folder.Lease(10, 30s, now).size(); }
#endif
#if MISUSE == 0 || MISUSE == 2
size_t Lease(Folder& folder, pleat::LeaseTime now, pleat::LeaseBuffer<State>& buffer) {
  return folder.Lease(10, 30s, now, buffer).size();
}
#endif
#if MISUSE == 0 || MISUSE == 3
bool Peek(Folder& folder) { return folder.Peek("key").has_value(); }
#endif
#if MISUSE == 0 || MISUSE == 4
bool Scan(Folder& folder, std::vector<pleat::OpenGroup<State>>& out) {
  pleat::ScanCursor cursor;
  return folder.Scan(cursor, 10, out);
}
#endif
#if MISUSE == 0 || MISUSE == 5
bool Scan(Folder& folder, std::vector<pleat::DeadLetter<State>>& out) {
  pleat::ScanCursor cursor;
  return folder.ScanDeadLetters(cursor, 10, out);
}
#endif
#if MISUSE == 0 || MISUSE == 6
size_t Wait(pleat::PopWaiter<State>& waiter, pleat::LeaseTime now) {
  return waiter.WaitLease(10, 30s, [now] { return now; }, {}).size();
}
#endif

// What the errors name does compile.
size_t Show(Folder& folder, pleat::LeaseTime now) {
  size_t held = 0;
  folder.LeaseEach(10, 30s, now, [&](const pleat::LeasedRef<State>& lease) {
    held += lease.state.held != nullptr ? 1 : 0;
  });
  const auto look = [&](const auto&, const void* state) {
    held += static_cast<const State*>(state)->held != nullptr ? 1 : 0;
  };
  folder.any().Peek("key", look);
  pleat::ScanCursor cursor;
  folder.any().Scan(cursor, 10, [&](auto, const auto& info, const void* s) { look(info, s); });
  folder.any().ScanDeadLetters(cursor, 10,
                               [&](const auto& group, const auto&) { look(0, group.state); });
  return held;
}
