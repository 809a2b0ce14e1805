// News is counted under a mutex of its own, which threads that wait let go of. It is asked for under
// partitions' locks and under none besides, and no call is made while it is held.
#include <pleat/emission_waiter.h>

#include <condition_variable>
#include <mutex>

#include "engine/base/check.h"
#include "engine/base/inside.h"

namespace pleat::inline v0_1 {

struct [[gnu::visibility("hidden")]] EmissionWaiter::Room {
  std::mutex mutex;
  std::condition_variable told;
  uint64_t news = 0;
};

EmissionWaiter::EmissionWaiter(const AnyCollection& collection, PartitionRange of)
    : collection_(collection), room_(std::make_unique<Room>()) {
  if (Call::WouldBeNested()) Fail("a waiter was made inside a call");
  collection_.AddListener(*this, of);
}

EmissionWaiter::~EmissionWaiter() {
  if (Call::WouldBeNested()) Fail("a waiter was destroyed inside a call");
  collection_.RemoveListener(*this);
}

// An exchange, as in Tell(): one of the two comes first. If Tell()'s does, whoever has called Mark()
// sees what that news is about. Else Tell() finds the flag set, and counts.
uint64_t EmissionWaiter::Mark() noexcept {
  const std::lock_guard lock(room_->mutex);
  armed_.exchange(true);
  return room_->news;
}

void EmissionWaiter::Tell() noexcept {
  if (armed_.exchange(false)) Wake();
}

void EmissionWaiter::Wake() noexcept {
  {
    const std::lock_guard lock(room_->mutex);
    ++room_->news;
  }
  room_->told.notify_all();
}

bool EmissionWaiter::WaitSince(uint64_t mark, SteadyTime until) noexcept {
  if (Call::WouldBeNested()) return false;
  std::unique_lock lock(room_->mutex);
  const auto over = [&] { return room_->news != mark || done(); };
  if (until == SteadyTime::max()) {
    room_->told.wait(lock, over);
    return true;
  }
  return room_->told.wait_until(lock, until, over);
}

void EmissionWaiter::Stop() noexcept {
  {
    const std::lock_guard lock(room_->mutex);
    stopped_.store(true);
  }
  room_->told.notify_all();
}

bool EmissionWaiter::done() const noexcept { return stopped_.load() || collection_.closed(); }

void EmissionWaiter::MayHaveEmissions() noexcept { Tell(); }

void EmissionWaiter::DeadlineIsEarlier(EngineTime) noexcept { Tell(); }
void EmissionWaiter::LeaseDeadlineIsEarlier(LeaseTime) noexcept { Tell(); }

}  // namespace pleat::inline v0_1
