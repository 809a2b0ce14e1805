#include "engine/lines/feed/held_windows.h"

#include <utility>

#include <pleat/outcome.h>

namespace pleat::inline v0_1 {
namespace {

bool IsTime(EngineTime at) noexcept { return at >= kBeginningOfTime && at <= kNever; }

}  // namespace

void HeldWindows::Add(const ClosedGroup& emission) {
  Held held{.emission = emission,
            .key = std::string(emission.key),
            .window = *static_cast<const CountedWindow*>(emission.state)};
  LockGuard guard(lock_);
  windows_.push_back(std::move(held));
}

size_t HeldWindows::Take(size_t max, AnyCollection::Take take) {
  LockGuard guard(lock_);
  size_t taken = 0;
  for (; taken < max && !windows_.empty(); ++taken) {
    Held& held = windows_.front();
    held.emission.key = held.key;
    held.emission.state = &held.window;
    take({&held.emission, 1});
    windows_.pop_front();
  }
  return taken;
}

void HeldWindows::Save(FieldWriter& out) const {
  LockGuard guard(lock_);
  out(windows_);
}

void HeldWindows::Load(FieldReader& in) {
  std::deque<Held> windows;
  in(windows);
  for (const Held& held : windows) {
    const ClosedGroup& emission = held.emission;
    const bool times = IsTime(held.window.start) && IsTime(held.window.end) &&
                       IsTime(emission.first) && IsTime(emission.last) && IsTime(emission.closed);
    if (!in.Expect(times && emission.reason >= Reason::kQuiet &&
                   IndexOf(emission.reason) < kReasons)) {
      return;
    }
  }
  LockGuard guard(lock_);
  windows_ = std::move(windows);
}

}  // namespace pleat::inline v0_1
