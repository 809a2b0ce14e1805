#include "tests/rollup/shared_store_simulation.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <optional>
#include <utility>

#include <absl/status/status.h>

#include "tests/support/start.h"

namespace pleat::inline v0_1 {

using namespace std::chrono_literals;

namespace {

constexpr int kEvents = 150;
constexpr int kKeys = 3;
constexpr size_t kHosts = 4;
constexpr Duration kSpan = 100s;
constexpr int kDepth = 3;

std::string Seconds(EngineTime t) {
  return t == kBeginningOfTime ? "never" : std::to_string((t - kT0) / 1.0s) + " s";
}

}  // namespace

struct SharedStoreSimulation::Host {
  int number = 0;
  Duration ahead{0};  // of the true time
  bool catching_up = false;
  bool dead = false;
  std::vector<const Event*> waiting;  // that it was not given yet
  std::vector<const Event*> given;
  std::map<std::string, CounterRef> refs;
  std::map<std::string, EngineTime> as_of;  // the latest that was read
  std::unique_ptr<Engine> engine;
  std::optional<RollupCounter> counter;
};

// The store as one host has it.
class SharedStoreSimulation::HostStore final : public CheckpointStore {
 public:
  HostStore(SharedStoreSimulation& simulation, Host& host) : all_(simulation), host_(host) {}

  absl::StatusOr<Checkpoint> Load(std::string_view key) override {
    if (Fails()) return Failure();
    auto answer = all_.store_.Load(key);
    if (Fails()) return Failure();
    return answer;
  }

  absl::StatusOr<Checkpoint> Publish(std::string_view key, const Checkpoint& checkpoint) override {
    if (Fails()) return Failure();
    const EngineTime before = all_.Published(std::string(key));
    all_.CheckCheckpoint(host_, std::string(key), checkpoint);
    auto kept = all_.store_.Publish(key, checkpoint);
    const EngineTime after = all_.Published(std::string(key));
    if (after < before || kept->until != after) {
      all_.stepped_back.push_back(all_.Say(host_, std::string(key), "moved the store back"));
    }
    if (after > before) all_.publishers_[std::string(key)] = all_.Name(host_);
    ++(after > before ? all_.seen_.kept : all_.seen_.overtaken);
    if (Fails()) return Failure();
    return kept;
  }

 private:
  // Others have their turn. Whether the call comes to an end without its answer.
  bool Fails() {
    all_.Stall();
    if (!all_.faults_) return host_.dead;
    if (!host_.dead && all_.Below(60) == 0 && all_.hosts_.size() > 1) {
      ++all_.seen_.deaths_inside;
      all_.Die(host_);
    }
    if (!host_.dead && all_.Below(12) != 0) return false;
    ++all_.seen_.failures;
    return true;
  }
  static absl::Status Failure() { return absl::UnavailableError("the store is away"); }

  SharedStoreSimulation& all_;
  Host& host_;
};

SharedStoreSimulation::SharedStoreSimulation(uint64_t seed, const SharedStoreSetting& setting)
    : setting_(setting), random_(seed), time_(kT0) {
  DrawEvents();
  for (size_t i = 0; i < kHosts; ++i) hosts_.push_back(Start());
}

SharedStoreSimulation::~SharedStoreSimulation() = default;

// No two have one stamp: a clear counts by stamps then, whatever the order.
void SharedStoreSimulation::DrawEvents() {
  for (int i = 0; i < kKeys; ++i) keys_.push_back("key " + std::to_string(i));
  std::vector<EngineTime> stamps;
  while (stamps.size() < kEvents) {
    EngineTime at = kT0 + BelowTime(kSpan);
    // The edges of windows are where mistakes are.
    if (Below(4) == 0) at = kT0 + Below(10) * setting_.window - Duration{Below(2)};
    if (at >= kT0 && std::ranges::find(stamps, at) == stamps.end()) stamps.push_back(at);
  }
  for (const EngineTime at : stamps) {
    events_.push_back({.key = keys_[Below(kKeys)],
                       .at = at,
                       .delta = static_cast<int64_t>(Below(1000)) - 300,
                       .clears = setting_.clears && Below(12) == 0,
                       .id = Below(2) == 0 ? "" : std::to_string(events_.size())});
  }
}

Amount SharedStoreSimulation::SumBefore(const std::string& key, EngineTime until) const {
  EngineTime cleared = kBeginningOfTime;
  for (const Event& event : events_) {
    if (event.clears && event.key == key && event.at < until) cleared = std::max(cleared, event.at);
  }
  Amount amount;
  for (const Event& event : events_) {
    if (event.clears || event.key != key || event.at >= until || event.at < cleared) continue;
    ++amount.count;
    amount.sum += event.delta;
  }
  amount.real = static_cast<double>(amount.sum);
  return amount;
}

EngineTime SharedStoreSimulation::Published(const std::string& key) {
  return store_.Load(key)->until;
}

std::string SharedStoreSimulation::Name(const Host& host) {
  return "host " + std::to_string(host.number) + ", whose clock is " +
         std::to_string(host.ahead / 1.0s) + " s ahead";
}

std::string SharedStoreSimulation::Say(const Host& host, const std::string& key,
                                       const std::string& what) const {
  return Name(host) + ", at " + Seconds(host.engine->now()) + " of it: " + key + " " + what;
}

// Time.

EngineTime SharedStoreSimulation::Deadline(const Host& host, const Event& event) const {
  return event.at + setting_.allowed_lateness -
         (setting_.while_acceptable_there ? host.ahead : setting_.margin);
}

// The true time waits for the events that a host is to be given, but not for one that catches up.
void SharedStoreSimulation::MoveTime() {
  EngineTime to = time_ + BelowTime(Below(4) == 0 ? 8s : 1s);
  for (const auto& host : hosts_) {
    if (host->catching_up) continue;
    for (const Event* event : host->waiting) to = std::min(to, Deadline(*host, *event));
  }
  time_ = std::max(time_, to);
}

EngineTime SharedStoreSimulation::ClockOf(const Host& host) const {
  EngineTime now = time_ + host.ahead;
  if (!host.catching_up) return now;
  for (const Event* event : host.waiting)
    now = std::min(now, event->at + setting_.allowed_lateness);
  return now;
}

void SharedStoreSimulation::ReadClock(Host& host) {
  const EngineTime now = ClockOf(host);
  if (now == time_ + host.ahead) host.catching_up = false;
  if (Below(4) == 0) {
    (void)host.engine->Advance(now, 0);
  } else {
    host.engine->Advance(now);
  }
}

// Hosts.

std::shared_ptr<SharedStoreSimulation::Host> SharedStoreSimulation::Start() {
  auto host = std::make_shared<Host>();
  host->number = started_++;
  host->ahead = Below(3) == 0 ? setting_.clocks_apart * static_cast<int>(Below(2))
                              : BelowTime(setting_.clocks_apart + 1us);
  host->engine =
      Engine::Open({.partitions = 1 + static_cast<int>(Below(3)), .huge_pages = HugePages::kOff})
          .value();
  host->counter = RollupCounter::Open(*host->engine, "shared",
                                      {.windows = {setting_.window},
                                       .allowed_lateness = setting_.allowed_lateness,
                                       .margin = setting_.margin,
                                       .forget_after = setting_.forget_after,
                                       .clears = setting_.clears,
                                       .store = std::make_shared<HostStore>(*this, *host)})
                      .value();
  // More than it needs does no harm: what is before a checkpoint does not count again.
  const Duration more = Below(2) == 0 ? Duration{0} : BelowTime(25s);
  for (const std::string& key : keys_) {
    const EngineTime from = SaturatingSub(Published(key), more);
    for (const Event& event : events_) {
      if (event.key != key || event.at < from) continue;
      host->waiting.push_back(&event);
      if (event.at <= time_) ++seen_.replayed;
    }
  }
  host->catching_up = true;
  return host;
}

void SharedStoreSimulation::Die(Host& host) {
  ++seen_.deaths;
  host.dead = true;
  const auto it = std::ranges::find(hosts_, &host, [](const auto& h) { return h.get(); });
  dead_.push_back(*it);
  hosts_.erase(it);
}

// Their calls on the store have come to an end.
void SharedStoreSimulation::BuryTheDead() {
  if (depth_ == 0) dead_.clear();
}

// Events.

// In an order of its own.
void SharedStoreSimulation::Give(Host& host) {
  std::vector<const Event*> there;
  std::ranges::copy_if(host.waiting, std::back_inserter(there),
                       [&](const Event* event) { return event->at <= time_ + 1s; });
  std::ranges::shuffle(there, random_);
  there.resize(std::min<size_t>(there.size(), 1 + Below(6)));
  for (const Event* event : there) {
    ReadClock(host);
    GiveOne(host, *event);
    host.given.push_back(event);
    std::erase(host.waiting, event);
  }
}

void SharedStoreSimulation::GiveOne(Host& host, const Event& event) {
  const EngineTime published = Published(event.key);
  const bool again = host.catching_up;
  const AddOutcome outcome = event.clears
                                 ? host.counter->Clear(event.key, event.at, event.id)
                                 : host.counter->Add(event.key, event.delta, event.at, event.id);
  if (outcome != AddOutcome::kAdded) {
    refused.push_back(Say(host, event.key, "has refused " + Seconds(event.at)));
  } else if (published > event.at && !again) {
    added_behind.push_back(Say(host, event.key,
                               "has an event of " + Seconds(event.at) +
                                   " added, and was published until " + Seconds(published) +
                                   " by " + publishers_.at(event.key)));
  }
}

// Of an event that it has.
void SharedStoreSimulation::Retry(Host& host) {
  if (host.given.empty()) return;
  const Event& event = *host.given[Below(host.given.size())];
  if (event.id.empty()) return;
  ReadClock(host);
  const AddOutcome outcome = event.clears
                                 ? host.counter->Clear(event.key, event.at, event.id)
                                 : host.counter->Add(event.key, event.delta, event.at, event.id);
  ++seen_.retries;
  if (outcome != AddOutcome::kDuplicate && outcome != AddOutcome::kLateUnknown &&
      outcome != AddOutcome::kLate) {
    wrong_values.push_back(Say(host, event.key, "has counted a retry of " + Seconds(event.at)));
  }
}

// The store.

void SharedStoreSimulation::Publish(const std::shared_ptr<Host>& host) {
  (void)host->counter->Publish(Below(2) == 0 ? SIZE_MAX : 1 + Below(3));
}

void SharedStoreSimulation::Stall() {
  if (depth_ == kDepth || !faults_) return;
  const uint64_t steps = Below(3) == 0 ? Below(40) : Below(3);
  if (steps > 0) ++seen_.stalls;
  ++depth_;
  for (uint64_t i = 0; i < steps; ++i) Step();
  --depth_;
}

void SharedStoreSimulation::CheckCheckpoint(const Host& host, const std::string& key,
                                            const Checkpoint& checkpoint) {
  const Amount expected = SumBefore(key, checkpoint.until);
  if (checkpoint.amount == expected) return;
  wrong_values.push_back(Say(host, key,
                             "is published as " + std::to_string(checkpoint.amount.sum) +
                                 " until " + Seconds(checkpoint.until) + ", and is " +
                                 std::to_string(expected.sum)));
}

// By a reference that is kept, or by one that keeps nothing. A counter that is not there, or not any
// more, begins anew with that.
EventualCount SharedStoreSimulation::ReadByReference(Host& host, const std::string& key) {
  if (Below(2) == 0) host.refs.erase(key);
  if (Below(2) == 0) return host.counter->Ref(key).Eventual();
  if (!host.refs.contains(key)) host.refs[key] = host.counter->Ref(key);
  return host.refs[key].Eventual();
}

// What a host that has loaded its checkpoint reads.
void SharedStoreSimulation::Check(Host& host) {
  const std::string& key = keys_[Below(kKeys)];
  const EventualCount shared = ReadByReference(host, key);
  const auto eventual = host.counter->Eventual(key);
  if (!eventual) return;
  const AccurateCount accurate = host.counter->Accurate(key);
  // A counter that was forgotten knows no checkpoint until it has loaded one.
  if (!accurate.loaded) {
    host.as_of.erase(key);
    return;
  }
  EngineTime& last = host.as_of.try_emplace(key, kBeginningOfTime).first->second;
  for (const EngineTime as_of : {eventual->as_of, accurate.checkpoint}) {
    if (as_of < last) {
      stepped_back.push_back(
          Say(host, key, "is read as of " + Seconds(as_of) + " after " + Seconds(last)));
    }
    last = std::max(last, as_of);
  }
  const Amount final_amount = SumBefore(key, eventual->as_of);
  if (eventual->amount != final_amount || shared.amount != SumBefore(key, shared.as_of)) {
    wrong_values.push_back(Say(host, key,
                               "is read as " + std::to_string(eventual->amount.sum) + " as of " +
                                   Seconds(eventual->as_of) + ", and is " +
                                   std::to_string(final_amount.sum)));
  }
  if (setting_.clears) return;
  Amount sum = SumBefore(key, accurate.checkpoint);
  for (const Event* event : host.given) {
    if (event->key != key || event->at < accurate.checkpoint) continue;
    ++sum.count;
    sum.sum += event->delta;
  }
  sum.real = static_cast<double>(sum.sum);
  if (accurate.amount == sum || host.catching_up) return;
  wrong_values.push_back(Say(host, key,
                             "is read as " + std::to_string(accurate.amount.sum) +
                                 ", and is with what is open " + std::to_string(sum.sum)));
}

// The schedule.

void SharedStoreSimulation::Step() {
  if (hosts_.size() < kHosts && Below(5) == 0) hosts_.push_back(Start());
  if (Below(4) == 0) MoveTime();
  const std::shared_ptr<Host> host = hosts_[Below(hosts_.size())];
  switch (Below(10)) {
    case 0: ReadClock(*host); break;
    case 1: Publish(host); break;
    case 2: Check(*host); break;
    case 3: Retry(*host); break;
    case 4:
      // A host is replaced: the new one starts before the old one ends.
      if (Below(15) == 0 && hosts_.size() <= kHosts) {
        ++seen_.overlaps;
        hosts_.push_back(Start());
      } else if (Below(15) == 0 && hosts_.size() > 1) {
        Die(*host);
      }
      break;
    default: Give(*host);
  }
  BuryTheDead();
}

void SharedStoreSimulation::Run() {
  const auto waits = [](const auto& host) { return !host->waiting.empty(); };
  for (int i = 0; i < 100'000 && std::ranges::any_of(hosts_, waits); ++i) Step();
  if (std::ranges::any_of(hosts_, waits)) refused.emplace_back("the schedule has no end");
  Finish();
}

void SharedStoreSimulation::Finish() {
  faults_ = false;
  time_ += kSpan;
  for (const auto& host : hosts_) {
    host->catching_up = false;
    host->engine->Advance(time_ + host->ahead);
    for (int i = 0; i < 100 && host->counter->Publish().more; ++i) {
    }
    if (host->counter->Publish().more) refused.push_back(Say(*host, "", "is never published"));
    for (int i = 0; i < 10; ++i) Check(*host);
    seen_.forgotten += host->counter->ledger().forgotten;
  }
  for (const std::string& key : keys_) {
    const Checkpoint last = *store_.Load(key);
    if (last.amount != SumBefore(key, kNever)) {
      wrong_values.push_back(key + " is " + std::to_string(last.amount.sum) + " at the end");
    }
  }
}

}  // namespace pleat::inline v0_1
