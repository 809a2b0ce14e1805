// How many instructions each verb of a folder, of a live set and of a rollup counter takes, a line of a
// log on its way from text to text, and a row of a table on its way to a line of JSON; counted by callgrind, which
// simulates a processor.
// Times differ from machine to machine and from minute to minute; these counts differ by a few in a
// thousand, so a change of a few percent shows on any machine.
//
// Each scenario prepares its folder, then lets callgrind count from zero, and then dumps the count under
// the name "SCENARIO EVENTS". `./dev bench instructions` divides the two and prints the table;
// `./dev check instructions` holds it against instructions.txt. Outside of callgrind the program does the
// same work and counts nothing.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <pleat/engine.h>
#include <pleat/folder.h>
#include <pleat/intake.h>
#include <pleat/json.h>
#include <pleat/live_set.h>
#include <pleat/rollup.h>
#include <pleat/state_directory.h>
#include <valgrind/callgrind.h>

#include "bench/table_text.h"

namespace pleat::bench {
namespace {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr size_t kGroups = 16'384;
constexpr size_t kBatch = 256;
constexpr EngineTime kStart = FromUnix(seconds(1'700'000'000));

struct Tick {};
struct Ticks {
  uint64_t count = 0;
  void Fold(const Tick&) noexcept { ++count; }
  template <class F>
  void Stored(F& f) {
    f(count);
  }
};
using Event = KeyedEvent<Tick>;

constexpr size_t kKeyBytes = 20;

// Keys of `bytes` bytes, in an order in which neighbours are strangers to the tables.
std::vector<std::string> MakeKeys(size_t bytes) {
  std::vector<std::string> keys;
  for (size_t i = 0; i < kGroups; ++i) {
    char digits[17];
    std::snprintf(digits, sizeof(digits), "%016zx", i * 0x9e3779b97f4a7c15);
    std::string key = std::string("key-") + digits;
    if (bytes < key.size()) key.resize(bytes);  // the first digits tell all of them apart
    key.resize(bytes, '.');
    keys.push_back(std::move(key));
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
        folder(*engine_, "instructions", {.quiet_period = hours(1), .max_wait = kForever}) {
    Fold(opening);
  }

  void Fold(std::span<const Event> events) {
    for (; !events.empty(); events = events.subspan(kBatch)) folder.FoldBatch(events.first(kBatch));
  }
  void FoldOneByOne(std::span<const Event> events) {
    for (const Event& event : events) folder.Fold(event.key, event.event, event.at);
  }
  void Advance(EngineTime now) { engine_->Advance(now); }
  Engine& engine() { return *engine_; }
  size_t PopAll() {
    size_t popped = 0;
    while (const size_t some = folder.Pop(kBatch).size()) popped += some;
    return popped;
  }
  size_t PopAll(std::vector<Emission<Ticks>>& emissions) {
    size_t popped = 0;
    while (const size_t some = folder.Pop(kBatch, emissions)) popped += some;
    return popped;
  }
  size_t PopAll(EmissionBuffer<Ticks>& buffer) {
    size_t popped = 0;
    while (const size_t some = folder.Pop(kBatch, buffer).size()) popped += some;
    return popped;
  }

 private:
  std::unique_ptr<Engine> engine_;

 public:
  Folder<Tick, Ticks> folder;
};

// An event that can wait.
struct Sample {
  int64_t value = 1;
  template <class F>
  void Stored(F& f) {
    f(value);
  }
};
struct Sum {
  int64_t sum = 0;
  void Fold(const Sample& sample) noexcept { sum += sample.value; }
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

// One folder behind an intake: events in order, and those that wait for a second, in the order of their
// stamps and as far out of it as they may be.
void CountIntake(int partitions, const std::vector<std::string>& keys) {
  const std::string suffix = "/" + std::to_string(partitions);
  std::vector<KeyedEvent<Sample>> events;
  for (size_t i = 0; i < kGroups; ++i) {
    events.push_back({std::string_view(keys[i]), kStart + microseconds(100 * i), {}});
  }
  std::vector<KeyedEvent<Sample>> shuffled;
  for (size_t i = 0; i < kGroups; ++i) {
    const size_t block = i & ~size_t{8191};  // 0.8 seconds long
    shuffled.push_back(events[block + (i * 4099 & 8191)]);
  }
  const auto count = [&](const char* name, Duration reorder, const auto& pushed) {
    const auto engine = *Engine::Open({.partitions = partitions,
                                       .axis = Axis::kEvent,
                                       .huge_pages = HugePages::kOff,
                                       .internals = {.hash_key = {{1, 2}}, .epoch = 3}});
    Folder<Sample, Sum> folder(*engine, "instructions",
                               {.quiet_period = hours(1), .max_wait = kForever});
    for (const auto& each : events) folder.Fold(each.key, {}, kStart);
    Intake<Sample> intake(*engine, {.reorder = reorder});
    intake.Feed(folder);
    Count(name + suffix, [&] {
      for (size_t i = 0; i < kGroups; i += kBatch) {
        intake.Push(std::span<const KeyedEvent<Sample>>(pushed).subspan(i, kBatch));
      }
      intake.TakeWaiting();
    });
    Expect(folder.ledger().folded == kGroups, "each event is folded");
  };
  count("intake", Duration{0}, events);
  count("intake_sorted", seconds(1), events);
  count("intake_shuffled", seconds(1), shuffled);
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
    scene.Advance(kStart + hours(2));
    std::vector<Emission<Ticks>> emissions;
    size_t popped = 0;
    Count("pop_kept" + suffix, [&] { popped = scene.PopAll(emissions); });
    Expect(popped == kGroups, "every group closes and is popped");
  }
  {
    // Groups of one event: their deadlines have never moved.
    Scene scene(first, partitions);
    Count("close_unmoved" + suffix, [&] { scene.Advance(kStart + hours(2)); });
    EmissionBuffer<Ticks> buffer;
    size_t popped = 0;
    Count("pop_views" + suffix, [&] { popped = scene.PopAll(buffer); });
    Expect(popped == kGroups, "every group closes and is popped");
  }
  {
    // A loop that polls: time moves, nothing is due, nothing waits.
    Scene scene(first, partitions);
    EmissionBuffer<Ticks> buffer;
    size_t popped = 0;
    Count("poll_idle" + suffix, [&] {
      for (size_t i = 0; i < kGroups; ++i) {
        scene.Advance(kStart + seconds(1) + microseconds(i));
        popped += scene.folder.Pop(kBatch, buffer).size();
      }
    });
    Expect(popped == 0, "nothing is due");
  }
  {
    // The same, with five groups due each time. Counted for a group.
    Scene scene(first, partitions);
    EmissionBuffer<Ticks> buffer;
    const EngineTime due = kStart + hours(1);
    size_t popped = 0;
    Count("poll_five" + suffix, [&] {
      for (size_t i = 0; i <= kGroups / 5; ++i) {
        scene.Advance(due + microseconds(5 * i + 4));
        popped += scene.folder.Pop(kBatch, buffer).size();
      }
    });
    Expect(popped == kGroups, "each group is popped soon after its deadline");
  }
  {
    // A directory is open, and no snapshot is being taken.
    char path[] = "/tmp/pleat-instructions-XXXXXX";
    Expect(mkdtemp(path) != nullptr, "there is room for a directory");
    {
      Scene scene({}, partitions);
      auto directory = StateDirectory::Open(path);
      Expect(directory.ok() && (*directory)->Recover(scene.engine()).ok(), "the directory is open");
      scene.Fold(first);
      Count("fold_batch_state" + suffix, [&] { scene.Fold(second); });
    }
    std::filesystem::remove_all(path);
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
  {
    // The same with views.
    Scene scene(first, partitions);
    const EngineTime now = kStart + hours(2);
    scene.Advance(now);
    LeaseBuffer<Ticks> buffer;
    std::vector<LeaseToken> tokens;
    tokens.reserve(kGroups);
    Count("lease_views" + suffix, [&] {
      while (true) {
        const auto leases = scene.folder.Lease(kBatch, hours(1), LeaseTime(now), buffer);
        if (leases.empty()) break;
        for (const LeasedView<Ticks>& lease : leases) tokens.push_back(lease.delivery.token);
      }
    });
    Expect(tokens.size() == kGroups, "every group closes and is leased");
  }
}

// The same verbs with shorter and longer keys than those of CountAll().
void CountKeySize(size_t bytes) {
  const std::string suffix = "_key" + std::to_string(bytes) + "/16";
  const std::vector<std::string> keys = MakeKeys(bytes);
  Scene scene({}, 16);
  const std::vector<Event> first = EventsAt(keys, kStart);
  const std::vector<Event> second = EventsAt(keys, kStart + seconds(1));
  Count("open_batch" + suffix, [&] { scene.Fold(first); });
  Count("fold_batch" + suffix, [&] { scene.Fold(second); });
  Expect(scene.folder.ledger().folded == kGroups, "each key has one group");
  Count("close" + suffix, [&] { scene.Advance(kStart + hours(2)); });
  EmissionBuffer<Ticks> buffer;
  size_t popped = 0;
  Count("pop_views" + suffix, [&] { popped = scene.PopAll(buffer); });
  Expect(popped == kGroups, "every group closes and is popped");
}

// --- Lines

// A log of kGroups lines, and what is asked of it.
struct Log {
  std::string text;  // with padding behind the last line
  FoldSpec spec;
};

FoldSpec SpecOf(const char* key, const char* time, TimeUnit unit, Merge merge) {
  FoldSpec spec;
  spec.event.key = {{.name = key, .path = key}};
  spec.event.time = time;
  spec.event.time_unit = unit;
  spec.folder.quiet_period = minutes(5);
  spec.merges = {std::move(merge)};
  return spec;
}

// 64 users at a time, with three lines each: a third of the lines open a group, which closes five
// minutes later, while others do.
Log OpeningLog() {
  Log log{.spec = SpecOf("userB", "timestamp", TimeUnit::kSeconds,
                         {.name = "merged", .reducer = Reducer::kSet, .path = "interaction"})};
  static constexpr const char* kKinds[] = {"RT", "MT", "RE"};
  for (size_t i = 0; i < kGroups; ++i) {
    const size_t user = i % 64 + 64 * (i / 192);
    char line[128];
    std::snprintf(line, sizeof(line),
                  R"({"userA":%zu,"userB":%zu,"timestamp":%zu,"interaction":"%s"})"
                  "\n",
                  i * 0x9e3779b97f4a7c15 % 456'626, user * 0x9e3779b97f4a7c15 % 456'626,
                  1'341'100'972 + i, kKinds[i * i % 3]);
    log.text += line;
  }
  log.text.append(kLinePaddingBytes, ' ');
  return log;
}

// 800 keys, of which each comes every 800 ms: one line in 20 opens a group, all others fold.
Log FoldingLog(const std::vector<std::string>& keys) {
  Log log{.spec = SpecOf("id", "ts", TimeUnit::kMilliseconds,
                         {.name = "merged", .reducer = Reducer::kSum, .path = "n"})};
  for (size_t i = 0; i < kGroups; ++i) {
    char line[128];
    std::snprintf(line, sizeof(line),
                  R"({"id":"%s","ts":%zu,"n":%zu})"
                  "\n",
                  keys[i * 7 % 800].c_str(), 1'700'000'000'000 + i, 10 + i * 31 % 90);
    log.text += line;
  }
  log.text.append(kLinePaddingBytes, ' ');
  return log;
}

// From the text of the lines to that of the emissions, as `pleat fold` goes.
void CountLines(const std::string& scenario, const Log& log, size_t groups) {
  EngineOptions options = EngineOptionsFor(log.spec.event);
  options.huge_pages = HugePages::kOff;
  options.internals = {.hash_key = {{1, 2}}, .epoch = 3};
  const auto engine = *Engine::Open(options);
  const auto folder = *JsonFolder::Open(*engine, "instructions", log.spec);
  constexpr size_t kBlockBytes = 64 * 1024;
  std::string out;
  size_t printed = 0;
  const auto drain = [&] {
    out.clear();
    printed += folder->Pop(SIZE_MAX, out);
  };
  Count(scenario, [&] {
    std::string_view text(log.text.data(), log.text.size() - kLinePaddingBytes);
    while (!text.empty()) {
      const size_t cut =
          text.size() <= kBlockBytes ? text.size() : text.rfind('\n', kBlockBytes) + 1;
      folder->FoldLines(text.substr(0, cut), kStart, [](const UnusualLine&) { return false; });
      text.remove_prefix(cut);
      drain();
    }
    folder->CloseAll();
    drain();
  });
  Expect(folder->counts().events == kGroups, "every line is folded");
  Expect(printed == groups, "every group is printed");
}

// --- Tables

// From the text of the rows to that of the lines of JSON.
void CountTable(const std::string& scenario, const std::string& table) {
  const auto lines = LinesOfTable(table);
  std::string out(4 * table.size(), '\0');
  Count(scenario, [&] { ReadAll(*lines, out); });
  Expect(std::ranges::count(out, '\n') == ptrdiff_t{kGroups}, "every row becomes a line");
}

// --- Live sets

using Sighting = KeyedEvent<LiveSetEvent<NoPayload>>;

constexpr size_t kSmall = 10;  // members of a small series

// A live set whose members are the keys, in series of `size`.
class LiveSetScene {
 public:
  LiveSetScene(const std::vector<std::string>& keys, size_t size) : keys_(keys), size_(size) {
    for (size_t i = 0; i <= keys.size() / size; ++i) {
      series_.push_back("series-" + std::to_string(i));
    }
  }

  // In an order that no series knows: neighbours are 4,099 members apart.
  std::vector<Sighting> Sightings(EngineTime from) const {
    std::vector<Sighting> events;
    for (size_t i = 0; i < keys_.size(); ++i) {
      const size_t member = i * 4099 % keys_.size();
      events.push_back({series_[member / size_], from + microseconds(i), {.id = keys_[member]}});
    }
    return events;
  }
  void Add(std::span<const Sighting> events) {
    for (; !events.empty(); events = events.subspan(kBatch))
      live_set.AddBatch(events.first(kBatch));
  }
  void AddOneByOne(std::span<const Sighting> events) {
    for (const Sighting& event : events) live_set.Add(event.key, event.event, event.at);
  }
  size_t CountSince(std::span<const Sighting> events) const {
    size_t sum = 0;
    for (const Sighting& event : events) sum += live_set.CountSince(event.key, event.at);
    return sum;
  }
  void Advance(EngineTime now) { engine_->Advance(now); }

 private:
  const std::vector<std::string>& keys_;
  const size_t size_;
  std::vector<std::string> series_;
  std::unique_ptr<Engine> engine_ =
      *Engine::Open({.partitions = 16,
                     .huge_pages = HugePages::kOff,
                     .internals = {.hash_key = {{1, 2}}, .epoch = 3}});

 public:
  LiveSet<> live_set{*engine_, "instructions", {.ttl = hours(1)}};
};

void CountLiveSet(const std::string& prefix, const std::vector<std::string>& keys, size_t size) {
  LiveSetScene scene(keys, size);
  const std::vector<Sighting> first = scene.Sightings(kStart);
  Count(prefix + "_add_batch/16", [&] { scene.Add(first); });
  scene.Add(scene.Sightings(kStart + seconds(1)));
  const std::vector<Sighting> second = scene.Sightings(kStart + seconds(2));
  Count(prefix + "_refresh_batch/16", [&] { scene.Add(second); });
  const std::vector<Sighting> third = scene.Sightings(kStart + seconds(3));
  Count(prefix + "_refresh_single/16", [&] { scene.AddOneByOne(third); });
  Expect(scene.live_set.ledger().refreshed == 3 * kGroups, "each event but the first is a refresh");
  size_t sum = 0;
  Count(prefix + "_count_since/16", [&] { sum = scene.CountSince(third); });
  Expect(sum > 0, "members are newer than others");
  Count(prefix + "_expire/16", [&] { scene.Advance(kStart + hours(2)); });
  Expect(scene.live_set.ledger().expired == kGroups, "every member expires");
}

// --- Rollup counters

using Addition = KeyedEvent<CounterEvent>;

std::vector<Addition> AdditionsAt(const std::vector<std::string>& keys, EngineTime from) {
  std::vector<Addition> events;
  for (size_t i = 0; i < keys.size(); ++i) {
    events.push_back({std::string_view(keys[i]), from + microseconds(i), {}});
  }
  return events;
}

// Counters in windows of an hour, and nothing in them.
class RollupScene {
 public:
  explicit RollupScene(int partitions)
      : engine_(*Engine::Open({.partitions = partitions,
                               .huge_pages = HugePages::kOff,
                               .internals = {.hash_key = {{1, 2}}, .epoch = 3}})),
        counter(*engine_, "instructions", {.windows = {hours(1)}, .allowed_lateness = seconds(1)}) {
  }

  void Add(std::span<const Addition> events) {
    for (; !events.empty(); events = events.subspan(kBatch)) {
      counter.AddBatch(events.first(kBatch));
    }
  }
  void AddOneByOne(std::span<const Addition> events) {
    for (const Addition& e : events) counter.Add(e.key, e.event.delta, e.at, e.event.id);
  }
  void Advance(EngineTime now) { engine_->Advance(now); }
  size_t PopAll() {
    size_t popped = 0;
    while (const size_t some = counter.Pop(kBatch).size()) popped += some;
    return popped;
  }

 private:
  std::unique_ptr<Engine> engine_;

 public:
  RollupCounter counter;
};

void CountRollup(int partitions, const std::vector<std::string>& keys) {
  const std::string suffix = "/" + std::to_string(partitions);
  const std::vector<Addition> first = AdditionsAt(keys, kStart);
  const std::vector<Addition> second = AdditionsAt(keys, kStart + seconds(1));
  const std::vector<Addition> next = AdditionsAt(keys, kStart + hours(1));
  {
    RollupScene scene(partitions);
    Count("rollup_open_batch" + suffix, [&] { scene.Add(first); });
    Count("rollup_add_batch" + suffix, [&] { scene.Add(second); });
    Count("rollup_next_batch" + suffix, [&] { scene.Add(next); });
    Expect(scene.counter.sizes().keys == kGroups && scene.counter.sizes().open == 2 * kGroups,
           "each key has one counter, with two windows");
  }
  {
    RollupScene scene(partitions);
    scene.AddOneByOne(first);
    Count("rollup_add_single" + suffix, [&] { scene.AddOneByOne(second); });
    Count("rollup_close" + suffix, [&] { scene.Advance(kStart + hours(2)); });
    size_t popped = 0;
    Count("rollup_pop" + suffix, [&] { popped = scene.PopAll(); });
    Expect(popped == kGroups, "every window is final and is popped");
  }
}

}  // namespace
}  // namespace pleat::bench

int main() {
  const std::vector<std::string> keys = pleat::bench::MakeKeys(pleat::bench::kKeyBytes);
  for (const int partitions : {1, 16}) pleat::bench::CountAll(partitions, keys);
  for (const int partitions : {1, 16}) pleat::bench::CountIntake(partitions, keys);
  pleat::bench::CountLiveSet("large", keys, keys.size());
  pleat::bench::CountLiveSet("small", keys, pleat::bench::kSmall);
  for (const int partitions : {1, 16}) pleat::bench::CountRollup(partitions, keys);
  for (const size_t bytes : {8, 60}) pleat::bench::CountKeySize(bytes);
  pleat::bench::CountLines("ndjson_open/1", pleat::bench::OpeningLog(), 5'504);
  pleat::bench::CountLines("ndjson_fold/1", pleat::bench::FoldingLog(keys), 800);
  pleat::bench::CountTable("csv_row/1", pleat::bench::TableText(pleat::bench::kGroups, ""));
  pleat::bench::CountTable("csv_quoted_row/1",
                           pleat::bench::TableText(pleat::bench::kGroups, "\""));
}
