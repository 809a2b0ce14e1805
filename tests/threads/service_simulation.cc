#include "tests/threads/service_simulation.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <queue>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include <pleat/folder.h>

#include "tests/support/start.h"
#include "tests/threads/tracked_events.h"

namespace pleat::inline v0_1 {
namespace {

using namespace std::chrono_literals;

constexpr uint32_t kEvents = 600;
constexpr size_t kWorkersMax = 5;
constexpr uint64_t kStepsMax = 50'000;

class Service {
 public:
  explicit Service(uint64_t seed)
      : random_(seed),
        options_(DrawOptions()),
        stamps_ahead_(OneIn(3)),
        keys_(1 + Below(12)),
        tracks_(keys_, kEvents,
                {.keys_in_order = !stamps_ahead_,
                 .max_deliveries = options_.leases.max_deliveries,
                 .tries_on = options_.leases.on_dead_limit == OnDeadLimit::kKeepTrying}),
        taken_(kEvents),
        engine_(*Engine::Open({.partitions = partitions_,
                               .huge_pages = HugePages::kOff,
                               .internals = {.hash_key = {{seed, 1}}, .epoch = seed}})),
        folder_(*engine_, "service", options_),
        any_(folder_.any()),
        driver_(*this) {
    for (size_t i = 0; i < kWorkersMax; ++i) workers_.push_back(std::make_unique<Worker>(*this));
  }

  ServiceOutcome Run(Tally& seen);

 private:
  struct Task {
    EngineTime at;
    uint64_t number;
    std::function<void()> run;
    bool operator<(const Task& other) const {
      return at != other.at ? at > other.at : number > other.number;
    }
  };

  // Sleeps until the engine's next deadline, or the earlier one that it is told of, and works through a few
  // groups at a time.
  class Driver final : public EngineAlarm {
   public:
    explicit Driver(Service& service) : service_(service) {}
    void DeadlineIsEarlier(EngineTime deadline) noexcept override { WakeAt(deadline); }
    void LeaseDeadlineIsEarlier(LeaseTime deadline) noexcept override {
      WakeAt(EngineTime(deadline));
    }
    void WakeAt(EngineTime at);

   private:
    void Turn();

    Service& service_;
    EngineTime wakes_at_ = kNever;
  };

  // Owns a range of partitions and does something with what comes out there, when it is told that there is something.
  class Worker final : public EmissionListener {
   public:
    explicit Worker(Service& service) : service_(service) {}
    void MayHaveEmissions() noexcept override { WakeIn(Duration{0}); }
    void Own(PartitionRange range);
    void Leave();

   private:
    void WakeIn(Duration delay);
    void Work();
    void Pop();
    void Lease();
    void WorkOn(const LeaseToken& token, const EmissionId& id, Duration ttl);
    void In(Duration delay, std::function<void()> run);
    void Ack(const LeaseToken& token, const EmissionId& id);
    void Nack(const LeaseToken& token);
    void Extend(const LeaseToken& token, const EmissionId& id, Duration ttl);
    void Die();

    Service& service_;
    PartitionRange range_{0, 0};
    uint64_t life_ = 0;
    bool pops_ = false;
    bool awake_ = false;  // it is on its way to look
  };

  uint64_t Below(uint64_t n) { return random_() % n; }
  bool OneIn(uint64_t n) { return Below(n) == 0; }
  Duration Between(Duration low, Duration high) {
    return low +
           Duration{static_cast<int64_t>(Below(static_cast<uint64_t>((high - low).count() + 1)))};
  }

  FolderOptions DrawOptions();
  void At(EngineTime at, std::function<void()> run) {
    tasks_.push({at, next_task_++, std::move(run)});
  }
  void In(Duration delay, std::function<void()> run) { At(now_ + delay, std::move(run)); }
  LeaseTime lease_now() const { return LeaseTime(now_); }

  void Produce();
  void Offer(const KeyedEvent<TrackedEvent>& event, int tries);
  void Interfere();
  void AssignRanges();
  void LookAtDeadLetters();
  void HandedOut(const ClosedGroup& group);
  void Finished(const EmissionId& id);
  bool Drained() const;
  void Compare();

  static std::pair<uint32_t, uint64_t> Name(const EmissionId& id) {
    return {id.partition, id.generation};
  }

  std::mt19937_64 random_;
  int partitions_ = 1;
  const FolderOptions options_;
  const bool stamps_ahead_;
  const size_t keys_;
  Tracks tracks_;
  std::vector<bool> taken_;
  std::unique_ptr<Engine> engine_;
  Folder<TrackedEvent, TrackedEvents> folder_;
  AnyFolder any_;
  Driver driver_;
  std::vector<std::unique_ptr<Worker>> workers_;
  EngineTime now_ = kT0;
  std::priority_queue<Task> tasks_;
  uint64_t next_task_ = 0;
  uint32_t next_event_ = 0;
  uint64_t waiting_ = 0;  // events that were refused and will be offered again
  bool calm_ = false;     // no more events, deaths and other trouble
  std::set<std::pair<uint32_t, uint64_t>> finished_;
  uint64_t digest_ = 14'695'981'039'346'656'037u;
  Tally seen_;
};

FolderOptions Service::DrawOptions() {
  partitions_ = static_cast<int>(1 + Below(8));
  const auto limit = [this](uint64_t above) {
    return static_cast<size_t>(partitions_) + Below(above);
  };
  FolderOptions options;
  options.quiet_period = Between(1s, 60s);
  options.max_wait = OneIn(3) ? kForever : Between(10s, 300s);
  if (OneIn(2)) options.max_events = 1 + Below(10);
  if (OneIn(2)) options.limits.max_backlog = limit(20);
  if (OneIn(3)) options.limits.on_backlog = OnBacklog::kDropOldest;
  if (OneIn(2)) options.leases.max_leased = limit(8);
  if (OneIn(2)) options.leases.max_dead_letters = limit(4);
  if (OneIn(2)) options.leases.on_dead_limit = OnDeadLimit::kDropOldest;
  options.leases.max_deliveries = static_cast<uint32_t>(1 + Below(4));
  options.leases.max_age = 60s;
  options.leases.max_nack_delay = 30s;
  options.leases.wait_behind_dead = OneIn(2);
  return options;
}

// --- The driver

void Service::Driver::WakeAt(EngineTime at) {
  if (at >= wakes_at_) return;
  wakes_at_ = at;
  // A timer is a little late.
  service_.At(std::max(at, service_.now_) +
                  Duration{static_cast<int64_t>(at.time_since_epoch().count() % 3000)},
              [this, at] {
                if (wakes_at_ == at) Turn();
              });
}

void Service::Driver::Turn() {
  wakes_at_ = kNever;
  Engine& engine = *service_.engine_;
  const bool all = engine.AdvanceLeases(service_.lease_now(), 1 + service_.Below(16));
  if (!engine.Advance(service_.now_, 1 + service_.Below(16)) || !all) {
    ++service_.seen_["turns cut short"];
    return WakeAt(service_.now_);
  }
  if (const auto next = engine.NextDeadline()) WakeAt(*next);
  if (const auto next = engine.NextLeaseDeadline()) WakeAt(EngineTime(*next));
}

// --- Producers

void Service::Produce() {
  if (next_event_ == kEvents) return;
  if (!stamps_ahead_) static_cast<void>(engine_->Advance(now_, Below(4)));
  const uint32_t burst = static_cast<uint32_t>(1 + Below(OneIn(5) ? 40 : 8));
  std::vector<KeyedEvent<TrackedEvent>> events;
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names;
    for (int i = 0; i < 12; ++i) names.push_back("key" + std::to_string(i));
    return names;
  }();
  for (uint32_t i = 0; i < burst && next_event_ < kEvents; ++i) {
    const auto key = static_cast<uint32_t>(Below(keys_));
    events.push_back({.key = kNames[key],
                      .at = now_,
                      .event = {.tracks = &tracks_, .key = key, .number = next_event_++}});
  }
  if (OneIn(2)) {
    for (const auto& event : events) Offer(event, 0);
  } else {
    std::vector<FoldOutcome> outcomes(events.size());
    static_cast<void>(folder_.FoldBatch(events, outcomes));
    for (size_t i = 0; i < events.size(); ++i) {
      if (outcomes[i] == FoldOutcome::kOverloaded) {
        Offer(events[i], 0);
      } else {
        taken_[events[i].event.number] = true;
      }
    }
  }
  In(Between(0s, OneIn(10) ? 120s : 5s), [this] { Produce(); });
}

// An event that is refused is offered again in a while.
void Service::Offer(const KeyedEvent<TrackedEvent>& event, int tries) {
  if (!stamps_ahead_) static_cast<void>(engine_->Advance(now_, 0));
  const FoldOutcome outcome = folder_.Fold(event.key, event.event, now_);
  if (outcome != FoldOutcome::kOverloaded) {
    if (outcome != FoldOutcome::kOpened && outcome != FoldOutcome::kFolded) {
      tracks_.Fail("an event was refused for no reason");
    }
    taken_[event.event.number] = true;
    return;
  }
  ++seen_["overloaded"];
  if (tries == 20) return;
  ++waiting_;
  In(Between(100ms, 10s), [this, event, tries] {
    --waiting_;
    Offer(event, tries + 1);
  });
}

// --- Workers

void Service::Worker::Own(PartitionRange range) {
  Leave();
  range_ = range;
  pops_ = service_.OneIn(6);
  service_.any_.AddListener(*this, range);
  WakeIn(Duration{0});  // for what was there before
}

void Service::Worker::Leave() {
  service_.any_.RemoveListener(*this);
  range_ = {0, 0};
  ++life_;  // what it was at is forgotten
  awake_ = false;
}

void Service::Worker::In(Duration delay, std::function<void()> run) {
  service_.In(delay, [this, life = life_, run = std::move(run)] {
    if (life == life_) run();
  });
}

void Service::Worker::WakeIn(Duration delay) {
  if (awake_) return;
  awake_ = true;
  In(delay, [this] { Work(); });
}

void Service::Worker::Work() {
  awake_ = false;
  if (!service_.calm_ && service_.OneIn(40)) return Die();
  pops_ ? Pop() : Lease();
}

void Service::Worker::Pop() {
  const size_t max = 1 + service_.Below(4);
  const size_t count = service_.any_.Pop(max, range_, [this](std::span<const ClosedGroup> groups) {
    for (const ClosedGroup& group : groups) {
      service_.HandedOut(group);
      service_.Finished(group.id);
      static_cast<void>(service_.tracks_.Popped(group));
    }
  });
  service_.seen_["popped"] += count;
  if (count > 0) WakeIn(service_.Between(0s, 1s));
}

void Service::Worker::Lease() {
  const size_t max = 1 + service_.Below(4);
  const Duration ttl = service_.Between(1s, 20s);
  std::vector<std::pair<LeaseToken, EmissionId>> leases;
  const LeaseTime now = service_.lease_now();
  service_.any_.Lease(max, ttl, now, range_,
                      [&](const ClosedGroup& group, const Delivery& delivery) {
                        if (delivery.until != SaturatingAdd(now, ttl))
                          service_.tracks_.Fail("lent for another time");
                        service_.HandedOut(group);
                        service_.tracks_.Lent(group, delivery);
                        leases.emplace_back(delivery.token, group.id);
                      });
  for (const auto& [token, id] : leases) WorkOn(token, id, ttl);
  if (!leases.empty()) WakeIn(service_.Between(0s, 1s));
}

void Service::Worker::WorkOn(const LeaseToken& token, const EmissionId& id, Duration ttl) {
  if (service_.calm_) return In(ttl / 4, [this, token, id] { Ack(token, id); });
  const uint64_t fate = service_.Below(20);
  if (fate < 11) {
    In(service_.Between(0s, ttl * 5 / 4), [this, token, id] { Ack(token, id); });
  } else if (fate < 15) {
    In(service_.Between(0s, ttl), [this, token] { Nack(token); });
  } else if (fate < 18) {
    In(ttl / 2, [this, token, id, ttl] { Extend(token, id, ttl); });
  } else if (fate < 19) {
    In(service_.Between(0s, ttl), [this] { Die(); });
  }  // else: forgotten
}

void Service::Worker::Ack(const LeaseToken& token, const EmissionId& id) {
  const LeaseOutcome outcome = service_.folder_.Ack(token);
  if (outcome == LeaseOutcome::kStale) {
    ++service_.seen_["stale acks"];
    return;
  }
  if (outcome != LeaseOutcome::kDone) service_.tracks_.Fail("an ack was answered strangely");
  ++service_.seen_["acked"];
  service_.Finished(id);
  if (service_.folder_.Ack(token) != LeaseOutcome::kDone) {
    service_.tracks_.Fail("an ack could not be repeated");
  }
}

void Service::Worker::Nack(const LeaseToken& token) {
  const Duration delay = service_.OneIn(3) ? 0s : service_.Between(0s, 40s);
  const LeaseOutcome outcome = service_.folder_.Nack(token, delay, service_.lease_now());
  if (outcome == LeaseOutcome::kStale) return;
  if (delay > Duration{0}) ++service_.seen_["delayed nacks"];
  if (outcome == LeaseOutcome::kClamped) ++service_.seen_["clamped"];
  if ((outcome == LeaseOutcome::kClamped) != (delay > service_.options_.leases.max_nack_delay)) {
    service_.tracks_.Fail("a delay was cut, or not, and not told so");
  }
}

void Service::Worker::Extend(const LeaseToken& token, const EmissionId& id, Duration ttl) {
  const auto [outcome, until] = service_.folder_.Extend(token, ttl, service_.lease_now());
  if (outcome == LeaseOutcome::kStale) return;
  if (until < service_.lease_now()) service_.tracks_.Fail("extended into the past");
  ++service_.seen_["extended"];
  if (outcome == LeaseOutcome::kClamped) ++service_.seen_["clamped"];
  if (service_.OneIn(3)) {
    In(ttl / 2, [this, token, id] { Ack(token, id); });
  } else {
    In(ttl / 2, [this, token, id, ttl] { Extend(token, id, ttl); });
  }
}

// All that it holds is for others now; it comes up again with the same range.
void Service::Worker::Die() {
  ++service_.seen_["deaths"];
  const PartitionRange range = range_;
  Leave();
  In(service_.Between(1s, 60s), [this, range] { Own(range); });
}

// --- What else happens

void Service::AssignRanges() {
  const auto n = static_cast<int>(1 + Below(kWorkersMax));
  for (int i = 0; i < static_cast<int>(kWorkersMax); ++i) {
    Worker& worker = *workers_[static_cast<size_t>(i)];
    i < n ? worker.Own(PartitionRange::ForWorker(i, n, partitions_)) : worker.Leave();
  }
  ++seen_["ranges moved"];
  if (!calm_)
    In(Between(10s, 300s), [this] {
      if (!calm_) AssignRanges();
    });
}

void Service::Interfere() {
  if (calm_) return;
  const std::string key = "key" + std::to_string(Below(keys_));
  switch (Below(8)) {
    case 0:
    case 1: static_cast<void>(folder_.Flush(key)); break;
    case 2: seen_["cancelled"] += folder_.Cancel(key) ? 1 : 0; break;
    case 3:
      now_ += Between(10s, 8h);  // the machine was asleep, or the clock was set
      ++seen_["jumps"];
      break;
    default:
      if (!folder_.ledger().Balances()) tracks_.Fail("the ledger does not balance");
      break;
  }
  In(Between(1s, 60s), [this] { Interfere(); });
}

void Service::LookAtDeadLetters() {
  // Without copies, because a scan may also cut partials, which are copies too.
  struct Letter {
    EmissionId id;
    Death death;
  };
  ScanCursor cursor;
  std::vector<Letter> letters;
  const auto see = [&](const ClosedGroup& group, const Death& death) {
    letters.push_back({group.id, death});
  };
  while (folder_.any().ScanDeadLetters(cursor, 2, see)) {
  }
  for (const Letter& letter : letters) {
    if (letter.death.died > lease_now() || letter.death.first_leased > letter.death.died) {
      tracks_.Fail("a death at a wrong time");
    }
    LeaseOutcome outcome = LeaseOutcome::kDone;
    if (calm_ || OneIn(2)) {
      outcome = folder_.RetryDeadLetter(letter.death.token);
      ++seen_["letters retried"];
    } else if (OneIn(2)) {
      outcome = folder_.DropDeadLetter(letter.death.token);
      Finished(letter.id);
      ++seen_["letters dropped"];
    }
    if (outcome != LeaseOutcome::kDone) tracks_.Fail("a dead letter that was there was not");
  }
  In(Between(20s, 120s), [this] { LookAtDeadLetters(); });
}

void Service::HandedOut(const ClosedGroup& group) {
  if (finished_.contains(Name(group.id))) tracks_.Fail("handed out after its end");
  if (group.closed > any_.now() || any_.now() > now_) tracks_.Fail("closed early");
  const EngineTime quiet = group.last + options_.quiet_period;
  if (group.reason == Reason::kQuiet && group.closed != quiet) {
    tracks_.Fail("closed is not the deadline");
  }
  if (group.reason == Reason::kMaxWait && group.closed != group.first + options_.max_wait) {
    tracks_.Fail("closed is not the deadline");
  }
  for (const uint64_t part : {group.id.generation, group.count, uint64_t{group.id.partition},
                              static_cast<uint64_t>(group.closed.time_since_epoch().count())}) {
    digest_ = (digest_ ^ part) * 1'099'511'628'211u;
  }
}

void Service::Finished(const EmissionId& id) {
  if (!finished_.insert(Name(id)).second) tracks_.Fail("finished twice");
}

bool Service::Drained() const {
  const Sizes sizes = folder_.sizes();
  return sizes.open_groups + sizes.ready_emissions + sizes.unacked_emissions + sizes.dead_letters ==
         0;
}

ServiceOutcome Service::Run(Tally& seen) {
  engine_->SetAlarm(driver_);
  engine_->Advance(kT0);
  AssignRanges();
  At(kT0, [this] { Produce(); });
  At(kT0, [this] { Interfere(); });
  In(30s, [this] { LookAtDeadLetters(); });
  uint64_t steps = 0;
  while (tracks_.failure() == nullptr) {
    const bool done = next_event_ == kEvents && waiting_ == 0;
    if (done && !calm_) {
      calm_ = true;
      AssignRanges();
    }
    if (done && Drained()) break;
    if (tasks_.empty() || ++steps > kStepsMax) {
      tracks_.Fail("not everything came out in the end");
      break;
    }
    const Task task = tasks_.top();
    tasks_.pop();
    now_ = std::max(now_, task.at);
    task.run();
  }
  for (const auto& worker : workers_) worker->Leave();
  engine_->RemoveAlarm(driver_);
  if (tracks_.failure() == nullptr) Compare();
  ServiceOutcome outcome{.digest = digest_};
  if (tracks_.failure() != nullptr) outcome.failure = tracks_.failure();

  seen += seen_;
  return outcome;
}

void Service::Compare() {
  const Ledger ledger = folder_.ledger();
  if (!ledger.Balances()) tracks_.Fail("the ledger does not balance");
  const auto same = [this](uint64_t counted, uint64_t seen, const char* what) {
    if (counted != seen) tracks_.Fail(what);
  };
  same(ledger.opened + ledger.folded, static_cast<uint64_t>(std::ranges::count(taken_, true)),
       "ledger: taken");
  same(ledger.acked, seen_["acked"], "ledger: acked");
  same(ledger.popped, seen_["popped"], "ledger: popped");
  same(ledger.cancelled, seen_["cancelled"], "ledger: cancelled");
  same(ledger.deliveries, ledger.acked + ledger.nacked + ledger.ran_out, "ledger: deliveries");
  same(ledger.acked + ledger.cancelled + ledger.dropped, tracks_.destroyed(),
       "states destroyed that were not over, or not destroyed that were");
  const bool drops = options_.limits.on_backlog == OnBacklog::kDropOldest ||
                     options_.leases.on_dead_limit == OnDeadLimit::kDropOldest;
  if (!drops) same(ledger.dropped, seen_["letters dropped"], "ledger: dropped");
  same(folder_.sizes().bytes, 0, "bytes are held by nothing");
  for (uint32_t i = 0; i < kEvents; ++i) tracks_.Expect(i, taken_[i]);
  seen_["events"] = ledger.events;
  seen_["dropped"] = ledger.dropped;
  seen_["ran out"] = ledger.ran_out;
}

}  // namespace

ServiceOutcome RunService(uint64_t seed, Tally& seen) { return Service(seed).Run(seen); }

}  // namespace pleat::inline v0_1
