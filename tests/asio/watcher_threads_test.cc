// Watchers while several threads run the io_context, others change the live set, and time passes.
// For ThreadSanitizer, and for what every watcher has to know in the end.
#include <atomic>
#include <future>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/executor_work_guard.hpp>
#include <pleat/asio_watcher.h>
#include <pleat/live_set.h>

#include "tests/asio/fixtures.h"
#include "tests/live/member_copy.h"

namespace pleat {
namespace {

using WatchedNumbers = LiveSet<int>;

constexpr int kCallsEach = 3000;
constexpr const char* kLast = "z, the last series that changes";

// Takes changes again and again, a few at a time, and watches again when it has to.
class Follower {
 public:
  Follower(Service& service, const WatchedNumbers& live_set, std::string name, bool is_prefix,
           const WatcherOptions& options)
      : name_(std::move(name)),
        is_prefix_(is_prefix),
        live_set_(live_set),
        watcher_(*service.driver, live_set, scope(), options) {}

  void Follow() {
    is_prefix_ ? WatchCounts() : WatchMembers();
    Take();
  }
  void WaitForTheEnd() { done_.get_future().wait(); }

  // Once nobody changes anything any more.
  void Compare() {
    for (const auto& [series, count] : counts_) EXPECT_EQ(count, live_set_.Count(series)) << series;
    if (is_prefix_) return;
    MemberCopy::Members live;
    for (const auto& member : live_set_.List(name_)) {
      live[member.id] = {member.stamp, member.payload};
    }
    EXPECT_EQ(copy_.members(name_), live);
  }
  uint64_t resyncs() const { return watcher_.stats().resyncs; }

 private:
  WatchScope scope() const { return {.name = name_, .is_prefix = is_prefix_}; }

  void WatchCounts() {
    std::vector<SeriesCount> counts;
    watcher_.Watch(counts);
    for (auto& [series, count] : counts_) count = 0;
    for (const SeriesCount& each : counts) Know(each.series, each.count);
  }
  void WatchMembers() {
    std::vector<LiveMember<int>> members;
    watcher_.Watch(members);
    copy_.Begin(watcher_.cursor());
    counts_[name_] = members.size();
    for (const auto& member : members) copy_.AddLive(name_, member);
    for (const auto& member : members) KnowMember(member.id);
  }
  void Take() {
    watcher_.async_next_many(16, [this](error_code error, const auto& changes) {
      if (error == AsioError::kResync) return Follow();
      if (error) return;
      for (const auto& change : changes) {
        if (!is_prefix_) {
          EXPECT_EQ(copy_.Apply(scope(), change), "");
          KnowMember(change.id);
        }
        Know(change.series, change.count);
      }
      Take();
    });
  }
  void Know(const std::string& series, size_t count) {
    counts_[series] = count;
    if (is_prefix_ && series == kLast) End();
  }
  void KnowMember(const std::string& id) {
    if (id == kLast) End();
  }
  void End() {
    if (!std::exchange(ended_, true)) done_.set_value();
  }

  const std::string name_;
  const bool is_prefix_;
  const WatchedNumbers live_set_;
  Watcher<WatchedNumbers> watcher_;
  MemberCopy copy_;
  std::map<std::string, size_t> counts_;
  std::promise<void> done_;
  bool ended_ = false;
};

TEST(WatcherThreads, InTheEndEachKnowsWhatIsLive) {
  Service service;
  WatchedNumbers live_set(*service.engine, "live_set", {.ttl = 24h, .max_changes = 4 * 500});
  std::vector<std::unique_ptr<Follower>> followers;
  const auto follow = [&](const char* name, bool is_prefix, const WatcherOptions& options = {}) {
    followers.push_back(std::make_unique<Follower>(service, live_set, name, is_prefix, options));
  };
  follow("s0", false);
  follow("s1", false);
  follow("", true);
  follow("", true, {.max_changes = 20, .interval = 10ms});
  for (const auto& follower : followers) follower->Follow();

  const auto work = boost::asio::make_work_guard(*service.io);
  service.io->restart();
  std::vector<std::thread> runners;
  for (int i = 0; i < 2; ++i) runners.emplace_back([&] { service.io->run(); });
  const auto produce = [&](uint32_t seed) {
    std::mt19937 random(seed);
    for (int i = 0; i < kCallsEach; ++i) {
      const std::string series = "s" + std::to_string(random() % 5);
      const std::string id = std::to_string(random() % 20);
      const Duration ttl = random() % 2 == 0 ? Duration{0} : 1ms * (1 + random() % 20);
      if (random() % 10 == 0) {
        live_set.Remove(series, id);
      } else {
        live_set.Add(series, {.id = id, .ttl = ttl, .payload = i}, service.driver->now());
      }
      if (random() % 10 == 0) {
        service.clock.Pass(1ms);
        service.driver->Wake();
      }
    }
  };
  std::vector<std::thread> producers;
  for (uint32_t i = 0; i < 2; ++i) producers.emplace_back(produce, i + 1);
  for (std::thread& producer : producers) producer.join();

  // All that has a TTL of its own ends, whoever is first to move time; and then the last series of
  // each watcher changes.
  service.clock.Pass(1s);
  service.driver->Wake();
  service.engine->Advance(service.driver->now());
  for (const char* series : {"s0", "s1", kLast}) {
    live_set.Add(series, {.id = kLast}, service.driver->now() + 1s);
  }
  service.clock.Pass(1s);
  service.driver->Wake();
  for (const auto& follower : followers) follower->WaitForTheEnd();
  service.io->stop();
  for (std::thread& runner : runners) runner.join();
  for (const auto& follower : followers) follower->Compare();
}

}  // namespace
}  // namespace pleat
