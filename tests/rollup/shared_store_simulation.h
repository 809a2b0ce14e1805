// Hosts that count the same events and share one checkpoint store, in one thread and by a drawn
// schedule. A step moves the true time, or has one host read its clock, take events, publish, die
// or start. Every call of a host on the store is cut into steps: before the store has done
// anything, and after that but before the host gets the answer, others have their turn for as long
// as the schedule says, or the host dies, or the call fails.
//
// Each host has a clock of its own, and gets every event at a time and in an order of its own. A
// host that starts is given all events from the store's checkpoints on once more, and moves its
// engine's time no further than these allow, until it has caught up.
//
// What has to hold is checked at every step, and what does not is kept as a text that names the
// step.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <pleat/rollup.h>

namespace pleat::inline v0_1 {

struct SharedStoreSetting {
  Duration window{10'000'000};
  Duration allowed_lateness{12'000'000};
  Duration margin{3'000'000};

  // No two clocks differ by more.
  Duration clocks_apart{3'000'000};

  // Until when a host is given an event: while its own clock is within the allowed lateness of the
  // stamp; or else until the allowed lateness less the margin has passed since the stamp in true time,
  // which is what users can see to.
  bool while_acceptable_there = true;

  bool clears = false;
  Duration forget_after = kForever;
};

class SharedStoreSimulation {
 public:
  SharedStoreSimulation(uint64_t seed, const SharedStoreSetting& setting);
  ~SharedStoreSimulation();

  // Until every host that lives has every event, and has published.
  void Run();

  // The steps after which something did not hold:
  std::vector<std::string> added_behind;  // an event was added to a window that was published
  std::vector<std::string> refused;       // an event was not added where it came in time
  std::vector<std::string> wrong_values;  // a value was not the sum of all events before its end
  std::vector<std::string> stepped_back;  // a checkpoint was smaller than one before

  // What the schedule had in it.
  struct Seen {
    uint64_t kept = 0;           // checkpoints
    uint64_t overtaken = 0;      // checkpoints of hosts whose store had a larger one by then
    uint64_t stalls = 0;         // calls on the store during which others had their turn
    uint64_t failures = 0;       // calls on the store that failed
    uint64_t deaths = 0;         // of hosts
    uint64_t deaths_inside = 0;  // during a call on the store
    uint64_t overlaps = 0;       // hosts that started while their predecessor went on
    uint64_t replayed = 0;       // events that a host was given again
    uint64_t retries = 0;
    uint64_t forgotten = 0;  // counters
  };
  const Seen& seen() const { return seen_; }

 private:
  struct Event {
    std::string key;
    EngineTime at;
    int64_t delta = 0;
    bool clears = false;
    std::string id;
  };
  struct Host;
  class HostStore;

  uint64_t Below(uint64_t end) { return random_() % end; }
  Duration BelowTime(Duration end) { return Duration{Below(static_cast<uint64_t>(end.count()))}; }

  void DrawEvents();
  Amount SumBefore(const std::string& key, EngineTime until) const;
  EngineTime Published(const std::string& key);

  void Step();
  void Stall();
  void MoveTime();
  EngineTime Deadline(const Host& host, const Event& event) const;
  EngineTime ClockOf(const Host& host) const;

  std::shared_ptr<Host> Start();
  void Die(Host& host);
  void BuryTheDead();
  void ReadClock(Host& host);
  void Give(Host& host);
  void GiveOne(Host& host, const Event& event);
  void Retry(Host& host);
  void Publish(const std::shared_ptr<Host>& host);
  EventualCount ReadByReference(Host& host, const std::string& key);
  void Check(Host& host);
  void CheckCheckpoint(const Host& host, const std::string& key, const Checkpoint& checkpoint);
  void Finish();
  static std::string Name(const Host& host);
  std::string Say(const Host& host, const std::string& key, const std::string& what) const;

  const SharedStoreSetting setting_;
  std::mt19937_64 random_;
  std::vector<Event> events_;
  std::vector<std::string> keys_;
  EngineTime time_;  // the true one
  MemoryCheckpointStore store_;
  std::map<std::string, std::string> publishers_;  // of the latest checkpoint of each key
  std::vector<std::shared_ptr<Host>> hosts_;       // that live
  std::vector<std::shared_ptr<Host>> dead_;
  int started_ = 0;
  int depth_ = 0;  // calls on the store that wait
  bool faults_ = true;
  Seen seen_;
};

}  // namespace pleat::inline v0_1
