// What a program does to a folder while others fold, pop and lease: other options, deadlines, memory
// ahead, snapshots, lists, and collections that open and close. No event is lost or counted twice, and
// ThreadSanitizer sees no race.
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <pleat/folder.h>
#include <pleat/metrics.h>
#include <pleat/snapshot.h>

#include "tests/support/bytes.h"
#include "tests/support/check_whole.h"
#include "tests/support/sanitized.h"
#include "tests/support/start.h"

namespace pleat::inline v0_1 {
namespace {

using namespace std::chrono_literals;

constexpr int kFeeders = 2;
constexpr int kEvents = kSanitized ? 20'000 : 100'000;  // of each feeder

struct Hit {};
struct Hits {
  uint64_t count = 0;
  void Fold(const Hit&) noexcept { ++count; }
  template <class F>
  void Stored(F& f) {
    f(count);
  }
};
using Counting = Folder<Hit, Hits>;

FolderOptions OptionsOf(int turn) {
  return {.quiet_period = turn % 3 == 0 ? 10min : 1h,
          .max_wait = turn % 5 == 0 ? 30min : 24h,
          .max_events = turn % 2 == 0 ? 50u : 7u,
          .partial_every = 1min,
          .closing = {.settable = true},
          .leases = {.max_deliveries = 1'000'000}};
}

std::string KeyOf(int number) { return "key " + std::to_string(number * 7 % 509); }

class ControlThreads : public testing::Test {
 protected:
  // Some by themselves, some in batches. The clock of the events is ahead of the engine's.
  void Feed(int feeder) {
    std::vector<std::string> keys;
    std::vector<KeyedEvent<Hit>> batch;
    for (int i = 0; i < kEvents;) {
      const int size = i % 3 == 0 ? 1 : 1 + i * 5 % 331;
      keys.clear();
      batch.clear();
      for (; static_cast<int>(keys.size()) < size && i < kEvents; ++i)
        keys.push_back(KeyOf(i + feeder));
      for (const std::string& key : keys) batch.push_back({key, kT0 + i * 10ms, {}});
      if (batch.size() == 1) {
        folder_.Fold(batch[0].key, {}, batch[0].at);
      } else {
        folder_.FoldBatch(batch);
      }
      Passing().Fold(KeyOf(i), {}, kT0);
    }
    --feeding_;
  }

  // Every third lease is left to run out.
  void Take(int taker) {
    for (int turn = 0; feeding_ > 0; ++turn) {
      const LeaseTime now(kT0 + turn * 1ms);
      if (taker == 0) {
        for (const auto& emission : folder_.Pop(10)) Count(emission);
        const auto outcome = folder_.SetDeadline(KeyOf(turn), kT0 + turn % 100 * 1s);
        EXPECT_NE(outcome, ControlOutcome::kNotSettable);
      } else {
        for (auto& lease : folder_.Lease(10, 20ms, now)) {
          if (turn % 3 != 0 && lease.Ack() == LeaseOutcome::kDone) Count(lease);
        }
        (void)engine_->AdvanceLeases(now);
      }
    }
  }
  template <class Emission>
  void Count(const Emission& emission) {
    if (!emission.partial) taken_ += emission.state.count;
  }

  void Control() {
    for (int turn = 0; feeding_ > 0; ++turn) {
      EXPECT_TRUE(folder_.SetOptions(OptionsOf(turn)).ok());
      EXPECT_EQ(folder_.options().max_events, OptionsOf(turn).max_events);
      for (int i = 0; i < 20; ++i) folder_.Flush(KeyOf(turn + 2 * i));
      engine_->Advance(kT0 + turn * 100ms);
      if (turn % 8 == 0) {
        EXPECT_TRUE(folder_.Reserve(1000).ok());
      }
    }
  }

  void Look() {
    while (feeding_ > 0) {
      StringSink sink;
      EXPECT_TRUE(TakeSnapshot(*engine_, sink, {.compress = false}).ok());
      EXPECT_FALSE(ListCollections(*engine_).empty());
      std::vector<OpenGroup<Hits>> groups;
      ScanCursor cursor;
      folder_.Scan(cursor, 100, groups);
      EXPECT_TRUE(folder_.ledger().Balances());
    }
  }

  // A folder that closes under those who fold into it, and opens again under its name.
  void OpenAndClose() {
    for (int turn = 0; feeding_ > 0; ++turn) {
      Passing().Close();
      const Counting next(*engine_, "passing", OptionsOf(turn));
      const std::lock_guard lock(mutex_);
      passing_ = next;
    }
  }
  Counting Passing() {
    const std::lock_guard lock(mutex_);
    return passing_;
  }

  std::unique_ptr<Engine> engine_ = *Engine::Open({.partitions = 4});
  Counting folder_{*engine_, "hits", OptionsOf(1)};
  std::mutex mutex_;
  Counting passing_{*engine_, "passing", OptionsOf(1)};  // guarded by mutex_
  std::atomic<int> feeding_ = kFeeders;
  std::atomic<uint64_t> taken_ = 0;
};

TEST_F(ControlThreads, EveryEventIsCountedOnceWhateverIsDoneToTheFolder) {
  std::vector<std::thread> threads;
  for (int i = 0; i < kFeeders; ++i) threads.emplace_back([this, i] { Feed(i); });
  for (int i = 0; i < 2; ++i) threads.emplace_back([this, i] { Take(i); });
  threads.emplace_back([this] { Control(); });
  threads.emplace_back([this] { Look(); });
  threads.emplace_back([this] { OpenAndClose(); });
  for (std::thread& thread : threads) thread.join();

  CheckWhole(folder_.any());
  folder_.CloseAll();
  folder_.EndLeases();
  for (const auto& emission : folder_.Pop(10'000'000)) Count(emission);
  const Ledger ledger = folder_.ledger();
  EXPECT_TRUE(ledger.Balances());
  EXPECT_EQ(ledger.opened + ledger.folded, uint64_t{kFeeders} * kEvents);
  EXPECT_EQ(taken_, uint64_t{kFeeders} * kEvents);
}

}  // namespace
}  // namespace pleat::inline v0_1
