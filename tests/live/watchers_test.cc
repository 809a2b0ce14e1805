// Simulated services: watchers of series, of prefixes and of everything, over a live set with
// random traffic, on a time of the test's own. They stall, come back, die and start over from a
// cursor that they stored with their copy, and watch again when changes are gone. Whoever is up to
// date has the members that List() has, after every step.
//
//   PLEAT_SEED=17       only the service of that seed
//   PLEAT_SERVICES=9000 so many, from seed 1 (or PLEAT_SEED) on
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <pleat/live_set.h>

#include "tests/live/member_copy.h"
#include "tests/support/sanitized.h"
#include "tests/support/start.h"
#include "tests/threads/environment.h"
#include "tests/threads/tally.h"

namespace pleat::inline v0_1 {
namespace {

using std::chrono_literals::operator""s;

constexpr uint64_t kWatchedServices = kSanitized ? 60 : 200;
constexpr int kSteps = 250;
constexpr uint64_t kSeries = 6;
constexpr uint64_t kIds = 12;

using Numbers = LiveSet<int>;

class WatchedService {
 public:
  WatchedService(uint64_t seed, Tally& seen)
      : random_(seed),
        seen_(seen),
        engine_(*Engine::Open(DrawEngine(seed))),
        live_set_(*engine_, "live_set", DrawLiveSet()) {
    const uint64_t clients = 1 + Below(6);
    for (uint64_t i = 0; i < clients; ++i) clients_.push_back(std::make_unique<Client>(*this));
  }

  // What went wrong, or nothing.
  std::string Run();

 private:
  // A watcher with its copy. It is told of changes, and reads some time later.
  class Client final : public ChangeListener {
   public:
    explicit Client(WatchedService& service) : service_(service) { Join(); }
    ~Client() { Leave(); }
    void MayHaveChanges() noexcept override { told_ = true; }

    // Lives on for one step.
    void Step();
    void ComeBack();
    // Reads all that there is, and compares its copy with the live set.
    void CatchUp();

   private:
    void Join();
    void Leave();
    void Watch();
    bool Read(size_t max);
    void Compare();
    WatchScope scope() const { return {.name = name_, .is_prefix = is_prefix_}; }

    WatchedService& service_;
    std::string name_;
    bool is_prefix_ = false;
    bool listens_ = false;
    bool told_ = true;
    int away_ = 0;  // so many steps it does not read
    MemberCopy copy_;
    ChangeCursor cursor_;
    // What it stored the last time, and takes up when it has died.
    MemberCopy stored_copy_;
    ChangeCursor stored_cursor_;
  };

  uint64_t Below(uint64_t n) { return random_() % n; }
  bool OneIn(uint64_t n) { return Below(n) == 0; }
  Duration Seconds(uint64_t below) { return 1s * static_cast<int64_t>(Below(below)); }
  std::string DrawSeries() { return (OneIn(3) ? "b" : "a") + std::to_string(Below(kSeries)); }
  std::string DrawId() { return "i" + std::to_string(Below(kIds)); }
  EngineTime DrawStamp() { return SaturatingSub(now_ + 3s, Seconds(8)); }

  EngineOptions DrawEngine(uint64_t seed);
  LiveSetOptions DrawLiveSet();
  void Change();
  void AddMany();
  void Fail(const std::string& why) {
    if (failure_.empty()) failure_ = why;
  }

  std::mt19937_64 random_;
  Tally& seen_;
  size_t partitions_ = 1;
  bool imports_ = false;
  std::unique_ptr<Engine> engine_;
  Numbers live_set_;
  EngineTime now_ = kT0;
  std::vector<std::unique_ptr<Client>> clients_;
  std::string failure_;
};

EngineOptions WatchedService::DrawEngine(uint64_t seed) {
  partitions_ = 1 + Below(8);
  EngineOptions options{.partitions = static_cast<int>(partitions_),
                        .axis = OneIn(3) ? Axis::kEvent : Axis::kArrival,
                        .huge_pages = HugePages::kOff};
  options.internals.hash_key = {{seed, 1}};
  return options;
}

LiveSetOptions WatchedService::DrawLiveSet() {
  LiveSetOptions options{.ttl = 1s + Seconds(30)};
  if (OneIn(2)) options.retention = Seconds(90);
  if (OneIn(3)) options.refresh = OneIn(2) ? Refresh::kReplace : Refresh::kFirst;
  options.max_changes = partitions_ * (1 + Below(OneIn(2) ? 8 : 200));
  // Members that an import adds are told with it, at its end; those that it drops are told at once.
  imports_ = OneIn(2);
  if (!imports_ && OneIn(2)) options.limits.max_per_series = 1 + Below(8);
  if (!imports_ && OneIn(2)) options.limits.max_members = partitions_ * (1 + Below(8));
  options.limits.on_limit = OnLiveSetLimit::kDropOldest;
  return options;
}

// --- A client

void WatchedService::Client::Join() {
  const uint64_t kind = service_.Below(4);
  name_ = kind < 2 ? service_.DrawSeries() : kind == 2 ? "a" : "";
  is_prefix_ = kind >= 2;
  AnyLiveSet any = service_.live_set_.any();
  any.AddListener(*this, scope());
  listens_ = true;
  Watch();
}

void WatchedService::Client::Leave() {
  AnyLiveSet any = service_.live_set_.any();
  if (std::exchange(listens_, false)) any.RemoveListener(*this);
}

void WatchedService::Client::Watch() {
  ++service_.seen_["watched"];
  if (is_prefix_) {
    std::vector<SeriesCount> counts;
    cursor_ = service_.live_set_.Watch(scope(), counts);
    copy_.Begin(cursor_);
    for (const SeriesCount& each : counts) {
      const auto members = service_.live_set_.List(each.series, {.limit = SIZE_MAX});
      if (members.size() != each.count) service_.Fail("a snapshot has a wrong count");
      for (const auto& member : members) copy_.AddLive(each.series, member);
    }
  } else {
    std::vector<LiveMember<int>> members;
    cursor_ = service_.live_set_.Watch(name_, members);
    copy_.Begin(cursor_);
    for (const auto& member : members) copy_.AddLive(name_, member);
  }
  stored_copy_ = copy_;
  stored_cursor_ = cursor_;
  told_ = false;
  Compare();
}

// Returns whether that was all.
bool WatchedService::Client::Read(size_t max) {
  std::vector<pleat::Change<int>> changes;
  const ReadChanges read = service_.live_set_.Read(scope(), cursor_, max, changes);
  if (read == ReadChanges::kResync) {
    ++service_.seen_["resyncs"];
    Watch();
    return true;
  }
  if (changes.size() > max) service_.Fail("more changes than asked for");
  for (const auto& change : changes) {
    ++service_.seen_[CauseName(change.cause)];
    if (change.cause == Cause::kImported) {  // of the series as a whole: who needs members, watches
      Watch();
      return true;
    }
    const std::string wrong = copy_.Apply(scope(), change);
    if (!wrong.empty()) service_.Fail(wrong);
  }
  return read == ReadChanges::kAll;
}

void WatchedService::Client::CatchUp() {
  const size_t max = 1 + service_.Below(service_.OneIn(2) ? 3 : 100);
  told_ = false;
  while (service_.failure_.empty() && !Read(max)) {
  }
  Compare();
}

void WatchedService::Client::Compare() {
  for (const char* prefix : {"a", "b"}) {
    for (uint64_t i = 0; i < kSeries; ++i) {
      const std::string series = prefix + std::to_string(i);
      if (!scope().Covers(series)) continue;
      MemberCopy::Members live;
      for (const auto& member : service_.live_set_.List(series, {.limit = SIZE_MAX})) {
        live[member.id] = {member.stamp, member.payload};
      }
      if (copy_.members(series) != live) service_.Fail("the copy of " + series + " is wrong");
      if (service_.live_set_.Count(series) != live.size()) service_.Fail("Count() is wrong");
    }
  }
}

void WatchedService::Client::Step() {
  if (away_ > 0) {
    if (--away_ == 0) ComeBack();
    return;
  }
  if (service_.OneIn(20)) {
    away_ = static_cast<int>(1 + service_.Below(40));
    if (service_.OneIn(2)) Leave();
    ++service_.seen_[listens_ ? "stalls" : "deaths"];
    return;
  }
  if (service_.OneIn(100)) {
    Leave();
    Join();
  }
  // As a service does that waits until it is told. What is due and was not ended yet is told with
  // the next event or by the driver.
  if (!told_ && service_.OneIn(2)) return Compare();
  CatchUp();
  if (service_.OneIn(3)) {
    stored_copy_ = copy_;
    stored_cursor_ = cursor_;
  }
}

// One that has died knows no more than it stored.
void WatchedService::Client::ComeBack() {
  away_ = 0;
  if (!listens_) {
    AnyLiveSet any = service_.live_set_.any();
    any.AddListener(*this, scope());
    listens_ = true;
    copy_ = stored_copy_;
    cursor_ = stored_cursor_;
    const uint64_t resyncs = service_.seen_["resyncs"];
    CatchUp();
    if (service_.seen_["resyncs"] == resyncs) ++service_.seen_["went on"];
  }
  CatchUp();
}

// --- The traffic

void WatchedService::AddMany() {
  std::vector<std::string> names(2 * Below(20));
  std::vector<KeyedEvent<Numbers::Event>> events;
  for (size_t i = 0; i + 1 < names.size(); i += 2) {
    names[i] = DrawSeries();
    names[i + 1] = DrawId();
    events.push_back({names[i], DrawStamp(), {.id = names[i + 1]}});
  }
  imports_&& OneIn(2) ? live_set_.Import(DrawSeries(), events) : live_set_.AddBatch(events);
}

void WatchedService::Change() {
  const std::string series = DrawSeries();
  const std::string id = DrawId();
  switch (Below(24)) {
    case 0: AddMany(); return;
    case 1: live_set_.Clear(series); return;
    case 2: live_set_.Remove(series, DrawStamp(), DrawStamp()); return;
    case 3: live_set_.SetTtl(series, 1s + Seconds(60)); return;
    case 4:
    case 5:
      live_set_.Remove(series, id, {.at = std::nullopt, .only_if_not_newer = OneIn(2)});
      return;
    case 6: live_set_.Touch(series, id, DrawStamp()); return;
    case 7:
    case 8:
    case 9:
    case 10: now_ += OneIn(10) ? Seconds(60) : Seconds(3); break;
    default: {
      const Duration ttl = OneIn(4) ? 1s + Seconds(10) : Duration{0};
      const int payload = static_cast<int>(Below(3));
      live_set_.Add(series, {.id = id, .ttl = ttl, .payload = payload}, DrawStamp());
      return;
    }
  }
  engine_->Advance(now_);
}

std::string WatchedService::Run() {
  engine_->Advance(kT0);
  for (int step = 0; step < kSteps && failure_.empty(); ++step) {
    Change();
    engine_->Advance(kBeginningOfTime);  // as a driver does when a deadline has come
    for (const auto& client : clients_) {
      if (failure_.empty()) client->Step();
    }
  }
  for (const auto& client : clients_) client->ComeBack();
  engine_->Advance(now_ + 3600s);
  for (const auto& client : clients_) client->CatchUp();
  const LiveSetLedger ledger = live_set_.ledger();
  if (ledger.live != 0 || !ledger.Balances()) Fail("not every member has ended");
  clients_.clear();
  return failure_;
}

TEST(WatchedServices, EveryCopyIsThatOfTheLiveSetAndNothingIsMissedOrToldTwice) {
  const uint64_t first = FromEnvironment("PLEAT_SEED", 1);
  const bool one = std::getenv("PLEAT_SEED") != nullptr;
  const uint64_t services = FromEnvironment("PLEAT_SERVICES", one ? 1 : kWatchedServices);
  Tally seen;
  for (uint64_t seed = first; seed < first + services; ++seed) {
    const std::string failure = WatchedService(seed, seen).Run();
    ASSERT_EQ(failure, "") << "again with PLEAT_SEED=" << seed;
  }
  std::cout << services << " services from seed " << first << ": " << seen << "\n";
  if (services < 50) return;  // too few to see everything
  for (const char* name : {"added", "refreshed", "updated", "restored", "imported", "expired",
                           "unpublished", "replaced", "cap", "ttl_changed", "cleared", "dropped",
                           "stalls", "deaths", "went on", "resyncs", "watched"}) {
    EXPECT_GT(seen[name], services / 10) << name;
  }
}

}  // namespace
}  // namespace pleat::inline v0_1
