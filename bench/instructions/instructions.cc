// How many instructions each verb of a folder takes, counted by callgrind, which simulates a processor.
// Times differ from machine to machine and from minute to minute; these counts differ by a few in a
// thousand, so a change of a few percent shows on any machine.
//
// Each scenario prepares its folder, then lets callgrind count from zero, and then dumps the count under
// the name "SCENARIO EVENTS". `./dev bench instructions` divides the two and prints the table;
// `./dev check instructions` holds it against instructions.txt. Outside of callgrind the program does the
// same work and counts nothing.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <pleat/engine.h>
#include <pleat/folder.h>
#include <valgrind/callgrind.h>

namespace pleat::bench {
namespace {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::seconds;

constexpr size_t kGroups = 16'384;
constexpr size_t kBatch = 256;
constexpr EngineTime kStart = FromUnix(seconds(1'700'000'000));

struct Tick {};
struct Ticks {
  uint64_t count = 0;
  void Fold(const Tick&) noexcept { ++count; }
};
using Event = KeyedEvent<Tick>;

// Keys of 20 bytes, in an order in which neighbours are strangers to the tables.
std::vector<std::string> MakeKeys() {
  std::vector<std::string> keys;
  for (size_t i = 0; i < kGroups; ++i) {
    char key[21];
    std::snprintf(key, sizeof(key), "key-%016zx", i * 0x9e3779b97f4a7c15);
    keys.emplace_back(key);
  }
  return keys;
}

std::vector<Event> EventsAt(const std::vector<std::string>& keys, EngineTime from) {
  std::vector<Event> events;
  for (size_t i = 0; i < keys.size(); ++i) {
    events.push_back({std::string_view(keys[i]), from + microseconds(i), {}});
  }
  return events;
}

// A folder, and a group for every key opened in it.
class Scene {
 public:
  Scene(std::span<const Event> opening, int partitions)
      : engine_(*Engine::Open({.partitions = partitions,
                               .huge_pages = HugePages::kOff,
                               .internals = {.hash_key = {{1, 2}}, .epoch = 3}})),
        folder(*engine_, "instructions", {.quiet_period = hours(1), .max_hold = kForever}) {
    Fold(opening);
  }

  void Fold(std::span<const Event> events) {
    for (; !events.empty(); events = events.subspan(kBatch)) folder.FoldBatch(events.first(kBatch));
  }
  void FoldOneByOne(std::span<const Event> events) {
    for (const Event& event : events) folder.Fold(event.key, event.event, event.at);
  }
  void Advance(EngineTime now) { engine_->Advance(now); }
  size_t PopAll() {
    size_t popped = 0;
    while (const size_t some = folder.Pop(kBatch).size()) popped += some;
    return popped;
  }

 private:
  std::unique_ptr<Engine> engine_;

 public:
  Folder<Tick, Ticks> folder;
};

// Counts what `verb` takes. Every scenario has kGroups events.
template <class Verb>
void Count(const std::string& scenario, const Verb& verb) {
  CALLGRIND_ZERO_STATS;
  verb();
  const std::string name = scenario + " " + std::to_string(kGroups);
  CALLGRIND_DUMP_STATS_AT(name.c_str());
}

void Expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "pleat_instructions: not so: %s\n", what);
  std::exit(1);
}

void CountAll(int partitions, const std::vector<std::string>& keys) {
  const std::string suffix = "/" + std::to_string(partitions);
  const std::vector<Event> first = EventsAt(keys, kStart);
  const std::vector<Event> second = EventsAt(keys, kStart + seconds(1));
  {
    Scene scene({}, partitions);
    Count("open_batch" + suffix, [&] { scene.Fold(first); });
    Count("fold_batch" + suffix, [&] { scene.Fold(second); });
    Expect(scene.folder.ledger().folded == kGroups, "each key has one group");
  }
  {
    Scene scene({}, partitions);
    Count("open_single" + suffix, [&] { scene.FoldOneByOne(first); });
    Count("fold_single" + suffix, [&] { scene.FoldOneByOne(second); });
    Count("close" + suffix, [&] { scene.Advance(kStart + hours(2)); });
    size_t popped = 0;
    Count("pop" + suffix, [&] { popped = scene.PopAll(); });
    Expect(popped == kGroups, "every group closes and is popped");
  }
  {
    Scene scene(first, partitions);
    const EngineTime now = kStart + hours(2);
    scene.Advance(now);
    std::vector<Leased<Ticks>> leased;
    Count("lease" + suffix, [&] {
      for (;;) {
        std::vector<Leased<Ticks>> some = scene.folder.Lease(kBatch, hours(1), LeaseTime(now));
        if (some.empty()) break;
        for (Leased<Ticks>& one : some) leased.push_back(std::move(one));
      }
    });
    Expect(leased.size() == kGroups, "every group closes and is leased");
    size_t acked = 0;
    Count("ack" + suffix, [&] {
      for (Leased<Ticks>& one : leased) acked += one.Ack() == LeaseOutcome::kDone;
    });
    Expect(acked == kGroups, "every lease is acked");
  }
}

}  // namespace
}  // namespace pleat::bench

int main() {
  const std::vector<std::string> keys = pleat::bench::MakeKeys();
  for (const int partitions : {1, 16}) pleat::bench::CountAll(partitions, keys);
}
