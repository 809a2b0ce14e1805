// Several threads on one rollup counter: they add, alone and in batches, while others move time,
// take windows, publish and read. Nothing is lost or counted twice, on any of the ways out: values,
// windows and checkpoints.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pleat/rollup.h>

#include "tests/support/check_whole.h"
#include "tests/support/sanitized.h"
#include "tests/support/start.h"

namespace pleat::inline v0_1 {
namespace {

using namespace std::chrono_literals;

constexpr int kWriters = 3;
constexpr int kCallsOfWriter = kSanitized ? 20'000 : 60'000;
constexpr size_t kKeys = 12;
constexpr std::string_view kHot = "hot";  // a key that is only asked what it has come to

class RollupThreads : public testing::Test {
 protected:
  RollupThreads() {
    for (size_t i = 0; i < kKeys; ++i) keys_.push_back("key " + std::to_string(i));
    engine_->Advance(kT0);
  }

  // Writers: half of all events have an id, and are offered twice.

  void Write(int writer) {
    std::mt19937_64 random(static_cast<uint64_t>(writer));
    for (int i = 0; i < kCallsOfWriter; ++i) {
      const EngineTime at = engine_->now() + Duration{random() % 40'000} - 25ms;
      const size_t key = random() % kKeys;
      const auto delta = static_cast<int64_t>(1 + random() % 9);
      const std::string id = std::to_string(writer) + "/" + std::to_string(i);
      switch (random() % 8) {
        case 0: AddMany(random, at, id); break;
        case 1: CountUp(); break;
        case 2:
        case 3:
        case 4:
          AddOne(key, delta, at, id);
          AddOne(key, delta, at, id);
          break;
        default: AddOne(key, delta, at, "");
      }
      ++calls_;
    }
    --writing_;
  }
  // What is offered is known before it is added, so that no read can be ahead of that.
  void AddOne(size_t key, int64_t delta, EngineTime at, std::string_view id) {
    offered_[key] += delta;
    if (plays_.Add(keys_[key], delta, at, id) == AddOutcome::kAdded) added_[key] += delta;
  }
  void AddMany(std::mt19937_64& random, EngineTime at, const std::string& id) {
    std::vector<KeyedEvent<CounterEvent>> batch;
    std::vector<size_t> keys;
    for (size_t i = 0; i < 20; ++i) {
      keys.push_back(random() % kKeys);
      offered_[keys[i]] += static_cast<int64_t>(i);
      batch.push_back({keys_[keys[i]],
                       at + Duration{random() % 5'000},
                       {.delta = i, .id = i % 2 == 0 ? std::string_view(id) : ""}});
    }
    std::vector<AddOutcome> outcomes(batch.size());
    plays_.AddBatch(batch, outcomes);
    for (size_t i = 0; i < batch.size(); ++i) {
      if (outcomes[i] == AddOutcome::kAdded) added_[keys[i]] += static_cast<int64_t>(i);
    }
  }
  void CountUp() {
    const AddedCount count = plays_.AddAndGet(kHot, 1, engine_->now() + 1h);
    ASSERT_EQ(count.outcome, AddOutcome::kAdded);
    const std::lock_guard lock(mutex_);
    counted_up_.push_back(count.value.amount.sum);
  }

  // The others, until the writers are done.

  template <class Work>
  std::thread Repeat(Work work) {
    return std::thread([this, work]() mutable {
      ++repeating_;
      while (writing_ > 0) {
        work();
        std::this_thread::yield();
      }
    });
  }
  // By a millisecond for every 20 calls, so that nearly all events come in time.
  void MoveTime() { engine_->Advance(kT0 + calls_ / 20 * 1ms); }
  void Take() {
    for (const auto& e : plays_.Pop(100)) Count(e);
    for (auto& lease : plays_.Lease(10, 1h, kLease0)) {
      if (lease.id.generation % 3 == 0 && lease.delivery.deliveries == 1) {
        lease.Nack();
      } else if (lease.Ack() == LeaseOutcome::kDone) {
        Count(lease);
      }
    }
  }
  void Count(const Emission<CountedWindow>& e) {
    EXPECT_EQ(e.reason, Reason::kFinal);
    if (e.state.end - e.state.start == 10ms) taken_[e.key] += e.state.amount.sum;
  }

  // What one reader has seen: no value steps back, and none is more than was offered.
  struct Seen {
    std::vector<CounterRef> refs = std::vector<CounterRef>(kKeys);
    std::vector<EventualCount> eventual = std::vector<EventualCount>(kKeys);
    std::vector<int64_t> accurate = std::vector<int64_t>(kKeys);
    int64_t hot = 0;
    size_t turn = 0;
  };
  void ReadByReference(Seen& seen) {
    for (size_t i = 0; i < kKeys; ++i) {
      if (seen.refs[i].empty()) seen.refs[i] = plays_.Ref(keys_[i]);
      ASSERT_FALSE(seen.refs[i].empty());
      CheckGrows(i, seen.eventual[i], seen.refs[i].Eventual());
    }
    // Others come and go while counters are read.
    seen.refs[seen.turn++ % kKeys] = {};
  }
  void CheckGrows(size_t key, EventualCount& last, const EventualCount& now) {
    EXPECT_GE(now.as_of, last.as_of);
    EXPECT_GE(now.amount.count, last.amount.count);
    EXPECT_GE(now.amount.sum, last.amount.sum);
    EXPECT_TRUE(now.as_of != last.as_of || now.amount == last.amount);
    EXPECT_LE(now.amount.sum, offered_[key]);
    last = now;
  }
  void ReadByName(Seen& seen) {
    for (size_t i = 0; i < kKeys; ++i) {
      if (const auto now = plays_.Eventual(keys_[i])) CheckGrows(i, seen.eventual[i], *now);
      const int64_t sum = plays_.Accurate(keys_[i]).amount.sum;
      EXPECT_GE(sum, seen.accurate[i]);
      EXPECT_GE(sum, seen.eventual[i].amount.sum);
      EXPECT_LE(sum, offered_[i]);
      seen.accurate[i] = sum;
      CheckHistory(keys_[i]);
    }
    const int64_t hot = plays_.Accurate(kHot).amount.sum;
    EXPECT_GE(hot, seen.hot);
    seen.hot = hot;
    EXPECT_LE(plays_.Top(3, engine_->now()).size(), 3u);
  }
  void CheckHistory(const std::string& key) {
    const auto windows = plays_.History(key, kT0, kEndOfTime, 10ms);
    EXPECT_TRUE(std::ranges::is_sorted(windows, {}, &CountedWindow::start));
    for (const CountedWindow& w : windows) EXPECT_EQ(w.end - w.start, 10ms);
  }

  void CheckTheEnd() {
    for (size_t i = 0; i < kKeys; ++i) {
      const int64_t added = added_[i];
      EXPECT_EQ(plays_.Accurate(keys_[i]).amount.sum, added);
      EXPECT_EQ(plays_.Eventual(keys_[i])->amount.sum, added);
      EXPECT_EQ(taken_[keys_[i]], added);
      EXPECT_EQ(store_->Load(keys_[i])->amount.sum, added);
    }
    std::ranges::sort(counted_up_);
    for (size_t i = 0; i < counted_up_.size(); ++i) {
      ASSERT_EQ(counted_up_[i], static_cast<int64_t>(i + 1));
    }
    const RollupLedger ledger = plays_.ledger();
    EXPECT_TRUE(ledger.Balances());
    EXPECT_GT(ledger.late, 0u);
    EXPECT_GT(ledger.duplicate, 0u);
    EXPECT_EQ(ledger.open, 0u);
    EXPECT_EQ(ledger.store_conflicts, 0u);
    EXPECT_EQ(ledger.store_behind, 0u);
    CheckWhole(plays_.any());
  }

  std::unique_ptr<Engine> engine_ = *Engine::Open({.partitions = 4});
  std::shared_ptr<MemoryCheckpointStore> store_ = std::make_shared<MemoryCheckpointStore>();
  RollupCounter plays_{*engine_,
                       "plays",
                       {.windows = {10ms, 50ms},
                        .allowed_lateness = 20ms,
                        .margin = 3ms,
                        .retention = 100ms,
                        .store = store_}};
  std::vector<std::string> keys_;
  std::array<std::atomic<int64_t>, kKeys> offered_{};
  std::array<std::atomic<int64_t>, kKeys> added_{};
  std::map<std::string, int64_t> taken_;  // by the thread that takes
  std::mutex mutex_;
  std::vector<int64_t> counted_up_;
  std::atomic<int> calls_ = 0;
  std::atomic<int> repeating_ = 0;  // threads
  std::atomic<int> writing_ = kWriters;
};

TEST_F(RollupThreads, NothingIsLostOrCountedTwice) {
  std::vector<std::thread> threads;
  for (int i = 0; i < kWriters; ++i) threads.emplace_back([this, i] { Write(i); });
  threads.push_back(Repeat([this] { MoveTime(); }));
  threads.push_back(Repeat([this] { Take(); }));
  threads.push_back(Repeat([this] { (void)plays_.Publish(5); }));
  threads.push_back(Repeat([this, seen = Seen()]() mutable { ReadByReference(seen); }));
  threads.push_back(Repeat([this, seen = Seen()]() mutable { ReadByName(seen); }));
  for (std::thread& thread : threads) thread.join();
  engine_->Advance(engine_->now() + 2h);
  (void)engine_->AdvanceLeases(LeaseTime(kT0 + 2h));
  while (plays_.sizes().ready + plays_.any().sizes().unacked_emissions > 0) {
    for (const auto& e : plays_.Pop(1000)) Count(e);
  }
  while (plays_.Publish().more) {
  }
  CheckTheEnd();
}

// Two instances in one process publish to one store at the same time.
TEST_F(RollupThreads, InstancesThatPublishAtOnceAgree) {
  RollupCounter other(
      *engine_, "other",
      {.windows = {10ms}, .allowed_lateness = 20ms, .margin = 3ms, .store = store_});
  RollupCounter third(
      *engine_, "third",
      {.windows = {10ms}, .allowed_lateness = 20ms, .margin = 3ms, .store = store_});
  std::atomic<bool> busy = true;
  std::vector<std::thread> threads;
  for (RollupCounter* const counter : {&other, &third}) {
    threads.emplace_back([counter, &busy] {
      while (busy) (void)counter->Publish(3);
    });
    threads.emplace_back([counter, &busy] {
      while (busy) (void)counter->Publish();
    });
  }
  threads.emplace_back([&] {
    for (int i = 0; i < kCallsOfWriter; ++i) {
      const EngineTime at = engine_->now();
      for (RollupCounter* const counter : {&other, &third}) {
        EXPECT_EQ(counter->Add(keys_[static_cast<size_t>(i) % kKeys], 1, at), AddOutcome::kAdded);
      }
      if (i % 10 == 9) engine_->Advance(at + 1ms);
    }
    busy = false;
  });
  for (std::thread& thread : threads) thread.join();
  engine_->Advance(engine_->now() + 1h);
  for (RollupCounter* const counter : {&other, &third}) {
    while (counter->Publish().more) {
    }
    EXPECT_EQ(counter->ledger().store_conflicts, 0u);
    EXPECT_EQ(counter->ledger().store_behind, 0u);
    EXPECT_EQ(counter->ledger().checkpointed, static_cast<uint64_t>(kCallsOfWriter));
  }
  int64_t sum = 0;
  for (const std::string& key : keys_) {
    EXPECT_EQ(other.Eventual(key)->amount, third.Eventual(key)->amount);
    sum += store_->Load(key)->amount.sum;
  }
  EXPECT_EQ(sum, kCallsOfWriter);
}

// Counters that are over are forgotten at once, unless somebody holds them: what such a one reads
// never steps back, and no window is lost on the way.
TEST_F(RollupThreads, CountersAreForgottenWhileOthersHoldThem) {
  RollupCounter brief(*engine_, "brief",
                      {.windows = {10ms}, .allowed_lateness = 5ms, .forget_after = Duration{0}});
  std::vector<std::thread> threads;
  uint64_t added = 0;
  threads.emplace_back([&] {
    while (repeating_ < 3) std::this_thread::yield();
    for (; calls_ < kCallsOfWriter; ++calls_) {
      const auto key = static_cast<size_t>(calls_ / 100) % kKeys;
      added += brief.Add(keys_[key], 1, engine_->now()) == AddOutcome::kAdded;
      if (calls_ % 20 == 0) MoveTime();
      if (calls_ % 100 == 0) std::this_thread::yield();
    }
    writing_ = 0;
  });
  uint64_t taken = 0;
  threads.push_back(Repeat([&] {
    for (const auto& e : brief.Pop(100)) taken += e.state.amount.count;
  }));
  for (int reader = 0; reader < 2; ++reader) {
    threads.push_back(Repeat([this, &brief, turn = size_t{0}]() mutable {
      const CounterRef ref = brief.Ref(keys_[turn++ % kKeys]);
      EventualCount last;
      for (int i = 0; i < 20; ++i) {
        const EventualCount now = ref.Eventual();
        EXPECT_GE(now.as_of, last.as_of);
        EXPECT_GE(now.amount.count, last.amount.count);
        last = now;
      }
    }));
  }
  for (std::thread& thread : threads) thread.join();
  engine_->Advance(engine_->now() + 1h);
  for (const auto& e : brief.Pop(SIZE_MAX)) taken += e.state.amount.count;
  EXPECT_EQ(taken, added);
  EXPECT_EQ(brief.sizes(), RollupSizes{});
  EXPECT_GT(brief.ledger().forgotten, kKeys);
  EXPECT_TRUE(brief.ledger().Balances());
  CheckWhole(brief.any());
}

}  // namespace
}  // namespace pleat::inline v0_1
