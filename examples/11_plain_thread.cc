// A service without an event loop. One thread moves time by the clock, publishes what is due, and
// sleeps until the next deadline; other threads fold. It is woken when there is an emission, or a
// deadline that is earlier than it knew.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <optional>
#include <thread>

#include <pleat/drain.h>
#include <pleat/engine.h>
#include <pleat/folder.h>
#include <pleat/wait_pop.h>

using namespace std::chrono_literals;
using std::chrono::steady_clock;

struct Played {
  int seconds;
};

struct Listening {
  int seconds = 0;
  void Fold(const Played& event) noexcept { seconds += event.seconds; }
};

using Songs = pleat::Folder<Played, Listening>;

// One clock for stamps, deadlines and leases: the date at the start, and what has passed since. So
// it never goes back. (Driver in asio.h does more, such as noticing that the machine was suspended.)
pleat::EngineTime Now() {
  static const steady_clock::time_point start = steady_clock::now();
  static const pleat::EngineTime date =
      pleat::FromUnix(std::chrono::system_clock::now().time_since_epoch());
  return date + std::chrono::duration_cast<pleat::Duration>(steady_clock::now() - start);
}

std::atomic<bool> stopping = false;
std::atomic<int> published = 0;

// Only the first delivery of song_1 fails.
bool Publish(const pleat::Leased<Listening>& song) {
  const bool works = song.key != "song_1" || song.delivery.deliveries > 1;
  std::cout << song.key << ": " << song.state.seconds << " s" << (works ? "\n" : " failed\n");
  if (works) ++published, published.notify_all();
  return works;
}

// The next deadline of a group or a lease; five seconds at most, so that a mistake costs no more.
steady_clock::time_point NextDeadline(const pleat::Engine& engine) {
  pleat::EngineTime next = engine.NextDeadline().value_or(pleat::kNever);
  if (const auto lease = engine.NextLeaseDeadline())
    next = std::min(next, pleat::EngineTime(*lease));
  return steady_clock::now() + std::clamp<pleat::Duration>(next - Now(), 0s, 5s);
}

// The loop of the service. Returns when all is drained, or what is left after 30 seconds.
pleat::Drained Serve(pleat::Engine& engine, Songs& songs, pleat::PopWaiter<Listening>& waiter) {
  std::optional<pleat::Drain> drain;
  for (;;) {
    const uint64_t mark = waiter.Mark();  // news from here on ends the wait below
    const pleat::LeaseTime now(Now());
    if (stopping && !drain) drain.emplace(engine, now, pleat::DrainOptions{.timeout = 30s});
    engine.Advance(pleat::EngineTime(now));  // closes the groups that are due
    for (auto& song : songs.Lease(100, 30s, now)) {
      if (Publish(song))
        song.Ack();
      else
        song.Nack(10ms, pleat::LeaseTime(Now()));  // lent again in ten milliseconds
    }
    if (drain && drain->Look(now) != pleat::DrainState::kWaiting) return drain->left();
    waiter.WaitSince(mark, NextDeadline(engine));
  }
}

int main() {
  auto engine = *pleat::Engine::Open({.partitions = 4});
  Songs songs(*engine, "songs", {.quiet_period = 50ms, .max_wait = 1s});
  pleat::PopWaiter waiter(songs);
  engine->SetAlarm(waiter.alarm());  // wakes for deadlines, too
  pleat::Drained drained;
  std::thread service([&] { drained = Serve(*engine, songs, waiter); });

  // Stands in for the world: songs are played, and when two are published, the service has to end.
  const pleat::EngineTime now = Now();
  songs.Fold("song_1", {200}, now);
  songs.Fold("song_2", {180}, now + 1ms);
  songs.Fold("song_1", {200}, now + 2ms);
  for (int n = 0; n < 2; n = published) published.wait(n);
  songs.Fold("song_3", {60}, Now());
  stopping = true;
  waiter.Wake();
  service.join();
  engine->RemoveAlarm(waiter.alarm());

  const pleat::Ledger ledger = songs.ledger();
  std::cout << ledger.events << " plays became " << ledger.acked << " emissions, in "
            << ledger.deliveries << " deliveries; " << drained.collections.size()
            << " collections have something left\n";
}
