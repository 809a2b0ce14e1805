// Two threads pop one folder while others fold: nothing comes out twice, nothing is lost.
//
//   PLEAT_SHARE_EMISSIONS=100000000   so many instead of a million
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <pleat/folder.h>

#include "tests/threads/environment.h"

namespace pleat::inline v0_1 {
namespace {

using namespace std::chrono_literals;

constexpr uint64_t kEmissions = 1'000'000;
constexpr size_t kBatch = 256;
constexpr size_t kKeys = 512;
constexpr size_t kPopMax = 500;
constexpr uint64_t kBacklog = 200'000;

// Every event is an emission of its own.
struct Number {
  uint64_t value = 0;
  void Fold(const uint64_t& number) noexcept { value = number; }
};

// A bit for each number; who sets one that is set already has got it a second time.
class Bitmap {
 public:
  explicit Bitmap(uint64_t bits) : words_(bits / 64 + 1) {}
  bool Set(uint64_t number) noexcept {
    const uint64_t bit = uint64_t{1} << number % 64;
    return (words_[number / 64].fetch_or(bit, std::memory_order_relaxed) & bit) == 0;
  }
  uint64_t Count() const noexcept {
    uint64_t count = 0;
    for (const auto& word : words_) count += static_cast<uint64_t>(std::popcount(word.load()));
    return count;
  }

 private:
  std::vector<std::atomic<uint64_t>> words_;
};

class Sharing {
 public:
  explicit Sharing(uint64_t emissions) : emissions_(emissions), seen_(emissions) {
    for (size_t i = 0; i < kKeys; ++i) keys_.push_back("key" + std::to_string(i));
    engine_->Advance(FromUnix(1'700'000'000s));
  }

  // `leases`: the second consumer leases and acks instead.
  void Run(bool leases) {
    std::vector<std::thread> threads;
    for (uint64_t i = 0; i < 2; ++i) threads.emplace_back([this, i] { Produce(i); });
    threads.emplace_back([this] { Pop(0); });
    threads.emplace_back([this, leases] { leases ? LeaseAndAck(1) : Pop(1); });
    for (std::thread& thread : threads) thread.join();

    EXPECT_EQ(twice_, 0);
    EXPECT_EQ(seen_.Count(), emissions_);
    EXPECT_EQ(taken_[0] + taken_[1], emissions_);
    EXPECT_GT(taken_[0], 0);
    EXPECT_GT(taken_[1], 0);
    const Ledger ledger = folder_.ledger();
    EXPECT_TRUE(ledger.Balances());
    EXPECT_EQ(ledger.closed, emissions_);
    EXPECT_EQ(ledger.popped + ledger.acked, emissions_);
    EXPECT_EQ(folder_.sizes().bytes, 0);
    std::cout << emissions_ << " emissions, " << taken_[0] << " to one and " << taken_[1]
              << " to the other\n";
  }

 private:
  // All begin together.
  void Arrive() {
    ++arrived_;
    while (arrived_ < 4) std::this_thread::yield();
  }

  // The numbers that leave a remainder of `which` when divided by two; what is refused is folded again.
  void Produce(uint64_t which) {
    Arrive();
    std::vector<KeyedEvent<uint64_t>> batch;
    std::vector<FoldOutcome> outcomes;
    uint64_t next = which;
    while (next < emissions_ || !batch.empty()) {
      while (batch.size() < kBatch && next < emissions_) {
        batch.push_back({.key = keys_[next / 2 % kKeys], .at = engine_->now(), .event = next});
        next += 2;
      }
      outcomes.resize(batch.size());
      static_cast<void>(folder_.FoldBatch(batch, outcomes));
      size_t refused = 0;
      for (size_t i = 0; i < batch.size(); ++i) {
        if (outcomes[i] == FoldOutcome::kOverloaded) batch[refused++] = batch[i];
      }
      batch.resize(refused);
      if (refused > 0) std::this_thread::yield();
    }
    --producing_;
  }

  void See(size_t consumer, const Emission<Number>& emission) {
    if (!seen_.Set(emission.state.value)) ++twice_;
    ++taken_[consumer];
  }

  // Not when so many have come out: something could be missing, or too much.
  bool GoesOn(bool got_nothing) {
    if (!got_nothing) return true;
    std::this_thread::yield();
    if (producing_ > 0) return true;
    const Sizes sizes = folder_.sizes();
    return sizes.ready_emissions + sizes.unacked_emissions > 0;
  }

  void Pop(size_t consumer) {
    Arrive();
    bool got_nothing = false;
    while (GoesOn(got_nothing)) {
      const auto emissions = folder_.Pop(kPopMax);
      for (const auto& emission : emissions) See(consumer, emission);
      got_nothing = emissions.empty();
    }
  }

  // With copies of states, and every second time with the states themselves.
  void LeaseAndAck(size_t consumer) {
    Arrive();
    std::vector<LeaseToken> tokens;
    bool got_nothing = false;
    for (size_t round = 0; GoesOn(got_nothing); ++round) {
      const LeaseTime now(folder_.any().now());
      if (round % 2 == 0) {
        auto leases = folder_.Lease(kPopMax, 1h, now);
        for (auto& lease : leases) {
          if (lease.Ack() == LeaseOutcome::kDone) See(consumer, lease);
        }
        got_nothing = leases.empty();
        continue;
      }
      tokens.clear();
      folder_.LeaseEach(kPopMax, 1h, now, [&](const LeasedRef<Number>& lease) {
        tokens.push_back(lease.delivery.token);
      });
      for (const LeaseToken& token : tokens) {
        const Acked<Number> acked = folder_.AckAndTake(token);
        if (acked.emission) See(consumer, *acked.emission);
      }
      got_nothing = tokens.empty();
    }
  }

  const uint64_t emissions_;
  Bitmap seen_;
  std::vector<std::string> keys_;
  std::unique_ptr<Engine> engine_ = *Engine::Open({.partitions = 4});
  Folder<uint64_t, Number> folder_{*engine_,
                                   "numbers",
                                   {.quiet_period = 1h,
                                    .max_wait = kForever,
                                    .max_events = 1,
                                    .limits = {.max_backlog = kBacklog}}};
  std::atomic<int> arrived_ = 0;
  std::atomic<int> producing_ = 2;
  std::atomic<uint64_t> twice_ = 0;
  std::array<uint64_t, 2> taken_{};  // each written by its consumer alone
};

TEST(PopShare, TwoThreadsThatPopShareTheWorkWithNothingTwiceAndNothingLost) {
  Sharing(FromEnvironment("PLEAT_SHARE_EMISSIONS", kEmissions)).Run(/*leases=*/false);
}

TEST(PopShare, OneThatPopsAndOneThatLeasesDoSoToo) {
  Sharing(FromEnvironment("PLEAT_SHARE_EMISSIONS", kEmissions)).Run(/*leases=*/true);
}

}  // namespace
}  // namespace pleat::inline v0_1
