// News is counted under a mutex of its own, which threads that wait let go of. It is asked for under
// partitions' locks and under none besides, and no call is made while it is held.
#include <pleat/untyped/emission_waiter.h>

#include <atomic>
#include <condition_variable>
#include <mutex>

#include "engine/base/check.h"
#include "engine/base/inside.h"

namespace pleat::inline v0_1 {

// Who is told, and where threads wait. It is whole before it listens, and for as long as it does:
// classes that derive from the waiter are made behind it, and gone before it.
struct [[gnu::visibility("hidden")]] EmissionWaiter::Room final : EmissionListener, EngineAlarm {
  explicit Room(const AnyCollection& of) : collection(of) {}

  bool done() const noexcept { return stopped.load() || collection.closed(); }
  void Tell() noexcept {
    if (armed.exchange(false)) Wake();
  }
  void Wake() noexcept {
    {
      const std::lock_guard lock(mutex);
      ++news;
    }
    told.notify_all();
  }

  void MayHaveEmissions() noexcept override { Tell(); }
  void MayHaveDeadLetters() noexcept override { Tell(); }
  void DeadlineIsEarlier(EngineTime) noexcept override { Tell(); }
  void LeaseDeadlineIsEarlier(LeaseTime) noexcept override { Tell(); }

  AnyCollection collection;
  // Set by whoever is about to look and then wait: only then news takes a lock.
  std::atomic<bool> armed = false;
  std::atomic<bool> stopped = false;
  std::mutex mutex;
  std::condition_variable told;
  uint64_t news = 0;
};

EmissionWaiter::EmissionWaiter(const AnyCollection& collection, PartitionRange of)
    : room_(std::make_unique<Room>(collection)) {
  if (Call::WouldBeNested()) Fail("a waiter was made inside a call");
  room_->collection.AddListener(*room_, of);
}

EmissionWaiter::~EmissionWaiter() {
  if (Call::WouldBeNested()) Fail("a waiter was destroyed inside a call");
  room_->collection.RemoveListener(*room_);
}

// An exchange, as in Tell(): one of the two comes first. If Tell()'s does, whoever has called Mark()
// sees what that news is about. Else Tell() finds the flag set, and counts.
uint64_t EmissionWaiter::Mark() noexcept {
  const std::lock_guard lock(room_->mutex);
  room_->armed.exchange(true);
  return room_->news;
}

void EmissionWaiter::Wake() noexcept { room_->Wake(); }

bool EmissionWaiter::WaitSince(uint64_t mark, SteadyTime until) noexcept {
  if (Call::WouldBeNested()) return false;
  std::unique_lock lock(room_->mutex);
  const auto over = [&] { return room_->news != mark || room_->done(); };
  if (until == SteadyTime::max()) {
    room_->told.wait(lock, over);
    return true;
  }
  return room_->told.wait_until(lock, until, over);
}

void EmissionWaiter::Stop() noexcept {
  {
    const std::lock_guard lock(room_->mutex);
    room_->stopped.store(true);
  }
  room_->told.notify_all();
}

bool EmissionWaiter::done() const noexcept { return room_->done(); }

EngineAlarm& EmissionWaiter::alarm() noexcept { return *room_; }

}  // namespace pleat::inline v0_1
