#include "tests/model/intake_episode.h"

#include <algorithm>
#include <map>
#include <memory>
#include <sstream>
#include <tuple>
#include <utility>
#include <vector>

#include <pleat/folder.h>
#include <pleat/intake.h>
#include <pleat/live_set.h>
#include <pleat/rollup.h>
#include <pleat/snapshot.h>

#include "tests/support/bytes.h"
#include "tests/support/start.h"
#include "tests/support/visit.h"

namespace pleat::inline v0_1 {
namespace {

using std::chrono_literals::operator""s;

struct Seat {
  int64_t number = 0;

  bool operator==(const Seat&) const = default;
  template <class F>
  void Stored(F& f) {
    f(number);
  }
};

struct Arrival {
  std::string key;
  EngineTime at;
  Visit visit;
};

struct Setting {
  int partitions = 1;
  Axis axis = Axis::kEvent;
  Duration future_limit = kForever;
  FolderOptions folder = {.quiet_period = 10s, .max_wait = 60s};
  LiveSetOptions live_set = {.ttl = 15s};
  RollupOptions rollup = {.windows = {20s}, .allowed_lateness = Duration{0}};
  IntakeOptions intake;
};

using Keyed = KeyedEvent<Visit>;

// Every third visit counts for no counter; those that do, by user.
std::optional<KeyedEvent<CounterEvent>> CountOf(const Keyed& each) {
  if (each.event.number % 3 == 0) return std::nullopt;
  return KeyedEvent<CounterEvent>{each.event.user, {}, {each.event.number, {}}};
}
KeyedEvent<LiveSetEvent<Seat>> SeatOf(const Keyed& each) {
  return {each.key, {}, {.id = each.event.user, .payload = {each.event.number}}};
}

// An engine with a folder, a live set and a counter, and all that they have said.
class World {
 public:
  explicit World(const Setting& setting) : setting_(setting) { Open(); }

  // Changes are kept from now on.
  void Watch() {
    std::vector<SeriesCount> none;
    cursor_ = live_set_->Watch({.name = "", .is_prefix = true}, none);
  }

  // One event after the other into each, without an intake.
  void AddOneByOne(const std::vector<Arrival>& arrivals) {
    for (const Arrival& each : arrivals) {
      if (setting_.axis == Axis::kArrival) Advance(each.at);
      const Keyed keyed{each.key, each.at, each.visit};
      Note(0, each, folder_->Fold(each.key, each.visit, each.at));
      Note(1, each, live_set_->Add(each.key, SeatOf(keyed).event, each.at));
      if (const auto count = CountOf(keyed)) {
        Note(2, each, counter_->Add(count->key, count->event.delta, each.at));
      }
    }
  }

  void Feed() {
    intake_.emplace(*engine_, setting_.intake);
    intake_->Feed(*folder_, [this](const Keyed& each, FoldOutcome outcome) {
      answers_[0].push_back({each.event.number, static_cast<int>(outcome)});
    });
    intake_->Feed(*live_set_, SeatOf, [this](const Keyed& each, LiveSetOutcome outcome) {
      answers_[1].push_back({each.event.number, static_cast<int>(outcome)});
    });
    intake_->Feed(*counter_, CountOf, [this](const Keyed& each, AddOutcome outcome) {
      answers_[2].push_back({each.event.number, static_cast<int>(outcome)});
    });
  }
  void Advance(EngineTime now) { engine_->Advance(now); }
  Intake<Visit>& intake() { return *intake_; }
  Engine& engine() { return *engine_; }
  // What did not go as it must.
  const std::string& wrong() const { return wrong_; }

  // `arrivals` from `first` to `end`, as one batch.
  void Push(const std::vector<Arrival>& arrivals, size_t first, size_t end, bool has_position) {
    std::vector<Keyed> batch;
    for (size_t i = first; i < end; ++i) {
      batch.push_back({arrivals[i].key, arrivals[i].at, arrivals[i].visit});
    }
    std::optional<SourcePosition> position;
    if (has_position) position = SourcePosition{.source = 7, .offset = first};
    Require(intake_->Push(batch, position), "Push()");
  }

  // Goes on in another engine, from a snapshot.
  void Restart() {
    Note();
    StringSink snapshot;
    const absl::Status taken = TakeSnapshot(*engine_, snapshot);
    Require(taken.ok(), taken.ToString());
    Close();
    Open();
    Feed();
    StringSource source(snapshot.bytes);
    const absl::Status restored = RestoreSnapshot(*engine_, source, {.skip_numbers = 0});
    Require(restored.ok(), restored.ToString());
    Watch();
  }

  void End() {
    folder_->CloseAll();
    counter_->CloseAll();
    Note();
  }

  // Pops emissions, and reads changes; those of several partitions have no order that batches keep.
  void Note() {
    for (const auto& e : folder_->Pop(SIZE_MAX)) {
      emissions_.push_back(TextOf(e.key, " ", e.state.text, Count(e.first), Count(e.last),
                                  Count(e.closed), " ", ReasonName(e.reason), " ", e.count));
    }
    for (const auto& e : counter_->Pop(SIZE_MAX)) {
      windows_.push_back(
          TextOf(e.key, Count(e.first), Count(e.closed), " ", e.state.amount.sum, " of ", e.count));
    }
    std::vector<Change<Seat>> changes;
    live_set_->Read({.name = "", .is_prefix = true}, cursor_, SIZE_MAX, changes);
    for (const auto& c : changes) {
      changes_.push_back(
          TextOf(c.series, " ", c.id, " ", static_cast<int>(c.cause), " ", c.count, Count(c.at)));
    }
  }

  std::string Said() {
    std::ostringstream out;
    for (auto* texts : {&emissions_, &windows_, &changes_}) {
      if (setting_.partitions > 1) std::ranges::sort(*texts);
      for (const std::string& text : *texts) out << text << '\n';
      out << "--\n";
    }
    const Ledger ledger = folder_->ledger();
    out << ledger.events << ' ' << ledger.late << ' ' << ledger.future << ' ' << ledger.closed;
    const LiveSetLedger live = live_set_->ledger();
    out << " / " << live.events << ' ' << live.late << ' ' << live.future;
    const RollupLedger counted = counter_->ledger();
    out << " / " << counted.events << ' ' << counted.late << ' ' << counted.future;
    out << " /" << Count(engine_->now());
    for (const auto& answers : answers_) {
      out << "\n";
      for (const auto& [number, outcome] : answers) out << ' ' << number << ':' << outcome;
    }
    return out.str();
  }

 private:
  void Note(size_t collection, const Arrival& arrival, auto outcome) {
    answers_[collection].emplace_back(arrival.visit.number, static_cast<int>(outcome));
  }
  void Require(bool holds, const std::string& what) {
    if (!holds && wrong_.empty()) wrong_ = what;
  }
  void Open() {
    engine_ = Engine::Open({.partitions = setting_.partitions,
                            .axis = setting_.axis,
                            .future_limit = setting_.future_limit,
                            .internals = {.hash_key = {{1, 2}}, .epoch = 3}})
                  .value();
    folder_.emplace(*engine_, "visits", setting_.folder);
    live_set_.emplace(*engine_, "seats", setting_.live_set);
    counter_.emplace(*engine_, "numbers", setting_.rollup);
  }
  void Close() {
    intake_.reset();
    engine_.reset();
  }

  template <class... Parts>
  static std::string TextOf(const Parts&... parts) {
    std::ostringstream out;
    (out << ... << parts);
    return out.str();
  }
  static std::string Count(EngineTime at) { return TextOf(" ", (at - kT0).count()); }

  const Setting setting_;
  std::unique_ptr<Engine> engine_;
  std::optional<Folder<Visit, Visits>> folder_;
  std::optional<LiveSet<Seat>> live_set_;
  std::optional<RollupCounter> counter_;
  std::optional<Intake<Visit>> intake_;
  ChangeCursor cursor_;
  std::vector<std::string> emissions_;
  std::vector<std::string> windows_;
  std::vector<std::string> changes_;
  std::vector<std::pair<int64_t, int>> answers_[3];  // the numbers of events, and outcomes
  std::string wrong_;
};

// Visits in order, some with one stamp, some behind a gap.
std::vector<Arrival> DrawSorted(Choices& choices, size_t count) {
  std::vector<Arrival> arrivals;
  EngineTime at = kT0;
  for (size_t i = 0; i < count; ++i) {
    switch (choices.Below(8)) {
      case 0: at += Duration(choices.Below(40'000'000)); break;
      case 1: break;
      default: at += Duration(choices.Below(2'000'000)); break;
    }
    arrivals.push_back({.key = "key " + std::to_string(choices.Below(5)),
                        .at = at,
                        .visit = {.user = "user " + std::to_string(choices.Below(4)),
                                  .number = static_cast<int64_t>(i)}});
  }
  return arrivals;
}

// `arrivals` in the order of `times`, those of one time as they came.
std::vector<Arrival> InOrderOf(const std::vector<EngineTime>& times,
                               const std::vector<Arrival>& arrivals) {
  std::multimap<EngineTime, const Arrival*> by_time;
  for (size_t i = 0; i < arrivals.size(); ++i) by_time.emplace(times[i], &arrivals[i]);
  std::vector<Arrival> ordered;
  for (const auto& [time, arrival] : by_time) ordered.push_back(*arrival);
  return ordered;
}

// The same out of order by no more than `bound`.
std::vector<Arrival> Shuffled(const std::vector<Arrival>& sorted, Duration bound,
                              Choices& choices) {
  std::vector<EngineTime> times;
  for (const Arrival& each : sorted) {
    const auto range = static_cast<uint64_t>(bound.count()) + 1;
    times.push_back(each.at + Duration(choices.Below(range)));
  }
  return InOrderOf(times, sorted);
}

std::vector<Arrival> StablySorted(const std::vector<Arrival>& arrivals) {
  std::vector<EngineTime> times;
  for (const Arrival& each : arrivals) times.push_back(each.at);
  return InOrderOf(times, arrivals);
}

Setting DrawSetting(Choices& choices) {
  Setting setting;
  setting.partitions = 1 + static_cast<int>(choices.Below(3));
  if (choices.OneIn(2)) setting.folder.edge = Edge::kBoth;
  if (choices.OneIn(2)) setting.folder.partial_every = 3s;
  if (choices.OneIn(2)) setting.folder.late.allowed_lateness = 5s;
  if (choices.OneIn(2)) setting.rollup.allowed_lateness = 5s;
  if (choices.OneIn(4)) setting.live_set.refresh = Refresh::kFirst;
  return setting;
}

void PushInBatches(World& world, const std::vector<Arrival>& arrivals, Choices& choices) {
  for (size_t first = 0; first < arrivals.size();) {
    const size_t most = choices.OneIn(3) ? 600 : 1 + choices.Below(20);
    const size_t end = std::min(arrivals.size(), first + 1 + choices.Below(most));
    world.Push(arrivals, first, end, /*has_position=*/false);
    if (choices.OneIn(3) && world.engine().partitions() == 1) world.Note();
    first = end;
  }
}

std::optional<std::string> Difference(World& world, World& expected) {
  for (World* each : {&world, &expected}) {
    if (!each->wrong().empty()) return each->wrong();
    each->End();
  }
  const std::string said = world.Said();
  const std::string wanted = expected.Said();
  if (said == wanted) return std::nullopt;
  return "expected:\n" + wanted + "\ngot:\n" + said;
}

}  // namespace

std::optional<std::string> TryIntakeBatches(Choices& choices) {
  Setting setting = DrawSetting(choices);
  std::vector<Arrival> arrivals = DrawSorted(choices, 1 + choices.Below(400));
  const bool on_arrival = choices.OneIn(3);
  if (on_arrival) {
    setting.axis = Axis::kArrival;
    setting.intake.stamps_move_time = true;
  } else {
    if (choices.OneIn(3)) setting.future_limit = 30s;
    if (choices.OneIn(2)) arrivals = Shuffled(arrivals, 20s, choices);  // some are late
  }
  World expected(setting);
  expected.Watch();
  expected.AddOneByOne(arrivals);
  World world(setting);
  world.Watch();
  world.Feed();
  PushInBatches(world, arrivals, choices);
  if (on_arrival) world.Advance(arrivals.back().at);
  return Difference(world, expected);
}

std::optional<std::string> TryIntakeDisorder(Choices& choices) {
  Setting setting = DrawSetting(choices);
  setting.intake.reorder = Duration(1 + choices.Below(30'000'000));
  const std::vector<Arrival> arrivals =
      Shuffled(DrawSorted(choices, 1 + choices.Below(400)), setting.intake.reorder, choices);
  World expected(setting);
  expected.Watch();
  expected.AddOneByOne(StablySorted(arrivals));
  World world(setting);
  world.Watch();
  world.Feed();
  PushInBatches(world, arrivals, choices);
  world.intake().TakeWaiting();
  const IntakeCounts counts = world.intake().counts();
  if (counts.waiting != 0 || counts.released_early != 0) return "some wait, or went early";
  return Difference(world, expected);
}

std::optional<std::string> TryIntakeRestarts(Choices& choices) {
  Setting setting = DrawSetting(choices);
  setting.intake.reorder = Duration(1 + choices.Below(20'000'000));
  if (choices.OneIn(2)) setting.intake.max_waiting_bytes = choices.Below(1500);
  if (choices.OneIn(2)) setting.future_limit = 60s;
  const std::vector<Arrival> arrivals =
      Shuffled(DrawSorted(choices, 1 + choices.Below(300)), 40s, choices);
  World one(setting);
  World world(setting);
  for (World* each : {&one, &world}) {
    each->Watch();
    each->Feed();
  }
  const auto counted = [](World& of) {
    const IntakeCounts counts = of.intake().counts();
    return std::tuple(counts.waiting, counts.released_early, of.intake().next_waiting(),
                      of.engine().now());
  };
  for (size_t first = 0; first < arrivals.size();) {
    const size_t end = std::min<size_t>(arrivals.size(), first + 1 + choices.Below(80));
    for (size_t i = first; i < end; ++i) one.Push(arrivals, i, i + 1, true);
    world.Push(arrivals, first, end, true);
    if (choices.OneIn(4)) {
      world.Restart();
      if (world.engine().SourcePositionOf(7, 0) != end) return "another position after a restart";
      // What was pushed before is not taken twice.
      world.Push(arrivals, first, end, true);
      if (world.intake().counts().replayed != end - first) return "a replay was taken";
    }
    if (choices.OneIn(4)) {
      const EngineTime now = arrivals[end - 1].at + Duration(choices.Below(30'000'000)) - 10s;
      one.intake().Advance(now);
      world.intake().Advance(now);
    }
    if (counted(one) != counted(world)) return "other counts or times of those that wait";
    first = end;
  }
  one.intake().TakeWaiting();
  world.intake().TakeWaiting();
  return Difference(world, one);
}

}  // namespace pleat::inline v0_1
