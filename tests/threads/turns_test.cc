// Who waits for a partition's lock has a turn before a call that has held it for long comes back.
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <pleat/folder.h>
#include <pleat/live_set.h>

#include "engine/core/engine_core.h"

namespace pleat::inline v0_1 {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kKey = "waits";

// Says when it is folded.
using Folded = std::atomic<bool>*;
struct Plain {
  void Fold(const Folded& folded) noexcept {
    if (folded != nullptr) *folded = true;
  }
};

class Turns : public testing::TestWithParam<int>, protected EmissionListener {
 protected:
  Turns() {
    engine_->Advance(now_);
    any_.AddListener(*this, {});
  }
  ~Turns() override { any_.RemoveListener(*this); }

  // Makes `call` twice, round after round. It calls Look() while it holds the locks, and finds something to do both
  // times. The first one lasts until a fold stands in line.
  void ExpectAFoldBetweenTwo(const std::function<void()>& call) {
    for (int round = 0; round < 50; ++round) {
      for (int i = 0; i < 40; ++i) {
        (void)folder_.Fold("key" + std::to_string(i), nullptr, now_);
      }
      now_ += 10s;
      std::atomic<bool> comes = false;
      std::atomic<bool> folded = false;
      std::thread fold([&] {
        while (!comes) std::this_thread::yield();
        (void)folder_.Fold(kKey, &folded, now_);
      });
      const Lock& lock =
          EngineAccess::CoreOf(*engine_)->partition(PartitionOf(kKey, GetParam())).lock();
      LookBy(call, [&] {
        comes = true;
        while (lock.waiting() == 0) std::this_thread::yield();
      });
      comes = true;
      LookBy(call, [&] { EXPECT_TRUE(folded) << "round " << round; });
      fold.join();
      folder_.CloseAll();
      while (any_.Pop(1000, {}, [](std::span<const ClosedGroup>) {}) > 0) {
      }
    }
  }

  void Look() {
    if (auto look = std::exchange(look_, nullptr)) look();
  }
  void MayHaveEmissions() noexcept override {
    if (looks_when_told_) Look();
  }

  EngineTime now_ = FromUnix(1'700'000'000s);
  const std::unique_ptr<Engine> engine_ = *Engine::Open({.partitions = GetParam()});
  Folder<Folded, Plain> folder_{*engine_, "f", {.quiet_period = 5s, .max_wait = kForever}};
  AnyFolder any_ = folder_.any();
  bool looks_when_told_ = false;

 private:
  void LookBy(const std::function<void()>& call, std::function<void()> look) {
    look_ = std::move(look);
    call();
    EXPECT_FALSE(look_) << "nothing was looked at";
    look_ = nullptr;
  }

  std::function<void()> look_;
};

using OfAllPartitions = Turns;
INSTANTIATE_TEST_SUITE_P(, OfAllPartitions, testing::Values(1, 4));
using OfOnePartition = Turns;
INSTANTIATE_TEST_SUITE_P(, OfOnePartition, testing::Values(1));

TEST_P(OfAllPartitions, PopHandsOver) {
  ExpectAFoldBetweenTwo([&] {
    engine_->Advance(now_);
    any_.Pop(10, {}, [&](std::span<const ClosedGroup>) { Look(); });
  });
}

TEST_P(OfAllPartitions, LeaseHandsOver) {
  ExpectAFoldBetweenTwo([&] {
    engine_->Advance(now_);
    std::vector<LeaseToken> tokens;
    any_.Lease(10, 1min, LeaseTime(now_), {}, [&](const ClosedGroup&, const Delivery& delivery) {
      Look();
      tokens.push_back(delivery.token);
    });
    for (const LeaseToken& token : tokens) any_.Ack(token);
  });
}

TEST_P(OfAllPartitions, CloseAllHandsOver) {
  looks_when_told_ = true;
  ExpectAFoldBetweenTwo([&] { folder_.CloseAll(); });
}

TEST_P(OfOnePartition, AdvanceHandsOver) {
  looks_when_told_ = true;
  ExpectAFoldBetweenTwo([&] { (void)engine_->Advance(now_, 60); });
}

TEST_P(OfOnePartition, ScanHandsOver) {
  ExpectAFoldBetweenTwo([&] {
    ScanCursor cursor;
    any_.Scan(cursor, 10, [&](auto&&...) { Look(); });
  });
}

// Of ten thousand members that are due at one instant, no more than Budget::kAnyway end between the
// moment at which somebody waits for the lock and the turn of that one.
class DueVisit : public testing::Test, protected ChangeListener {
 protected:
  static constexpr uint64_t kMembers = 10'000;

  void MayHaveChanges() noexcept override {
    if (ending_.exchange(true)) return;
    const Lock& lock = EngineAccess::CoreOf(*engine_)->partition(0).lock();
    while (lock.waiting() == 0) std::this_thread::yield();
  }

  const std::unique_ptr<Engine> engine_ = *Engine::Open({.partitions = 1});
  LiveSet<> live_set_{*engine_, "w", {.ttl = 5s}};
  std::atomic<bool> ending_ = false;
};

TEST_F(DueVisit, LetsAReadComeBetween) {
  const EngineTime begin = FromUnix(1'700'000'000s);
  engine_->Advance(begin);
  for (uint64_t i = 0; i < kMembers; ++i) {
    const std::string id = std::to_string(i);
    live_set_.Add("s", {.id = id}, begin);
  }
  AnyLiveSet any = live_set_.any();
  any.AddListener(*this, {.name = "s"});
  uint64_t left = 0;
  std::thread reader([&] {
    while (!ending_) std::this_thread::yield();
    left = live_set_.ledger().live;
  });
  engine_->Advance(begin + 5s);
  reader.join();
  any.RemoveListener(*this);
  EXPECT_GE(left, kMembers - Budget::kAnyway);
}

}  // namespace
}  // namespace pleat::inline v0_1
