// A buffer gets the emissions, or the leases, that a vector gets, without an allocation for each; and so
// does a vector that is kept.
#include <memory>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <pleat/emission_source.h>
#include <pleat/engine.h>
#include <pleat/folder.h>

#include "tests/support/allocations.h"
#include "tests/support/numbers.h"
#include "tests/support/seeds.h"

namespace pleat {
namespace {

using namespace std::chrono_literals;

struct Added {
  int64_t sum = 0;
  void Fold(const Number& number) noexcept { sum += number.value; }
};

// A state that shares an object, so that a test sees whether states are destroyed.
struct Holder {
  std::shared_ptr<int> held;
  void Fold(const std::shared_ptr<int>& event) noexcept { held = event; }
};

template <class State>
struct Side {
  Side() : Side(3) {}
  explicit Side(int partitions) : engine(*Engine::Open({.partitions = partitions})) {}

  std::unique_ptr<Engine> engine;
  Folder<Number, State> folder{*engine, "f", {.quiet_period = 10s, .max_wait = 30s}};
};

template <class Key>
bool IsSame(const Emission<Values>& a, const Emission<Values, Key>& b) {
  return a.key == b.key && a.state.all == b.state.all && a.count == b.count && a.first == b.first &&
         a.last == b.last && a.closed == b.closed && a.reason == b.reason && a.id == b.id &&
         a.revision == b.revision && a.partial == b.partial && a.corrects == b.corrects;
}

// Sides to which the same happens.
struct Alike {
  explicit Alike(uint64_t seed) : random(seed) {}

  // Short keys, keys that are not kept inline, and some that fill blocks.
  void FoldAny(EngineTime at) {
    const size_t size = random() % 50 == 0 ? random() % 20'000 : random() % 40;
    const std::string key(size, static_cast<char>('a' + random() % 4));
    const int value = static_cast<int>(random() % 1000);
    for (Side<Values>* side : {&vector, &views, &kept}) side->folder.Fold(key, {value}, at);
  }
  void Advance(EngineTime now) {
    for (Side<Values>* side : {&vector, &views, &kept}) side->engine->Advance(now);
  }
  PartitionRange AnyRange() {
    if (random() % 2 == 0) return {};
    return PartitionRange::One(static_cast<int>(random() % 3));
  }

  std::mt19937_64 random;
  Side<Values> vector;
  Side<Values> views;
  Side<Values> kept;
};

// How many allocations it takes to take emissions when that has been done before: `take(folder, now,
// max)` takes some, and returns how many.
template <class Take>
size_t AllocationsOfTaking(const Take& take) {
  constexpr size_t kLot = 500;
  Side<Added> side(16);
  std::vector<std::string> keys;
  for (int i = 0; i < 5000; ++i) keys.push_back("a key of more than 23 bytes " + std::to_string(i));
  size_t allocations = 0;
  for (int round = 0; round < 3; ++round) {
    const EngineTime start = kT0 + round * 1min;
    for (const std::string& key : keys) side.folder.Fold(key, {1}, start);
    side.engine->Advance(start + 30s);
    const size_t before = AllocationCount();
    size_t taken = 0;
    while (taken < keys.size() - kLot) taken += take(side.folder, start, kLot);
    allocations = AllocationCount() - before;
    // An engine that is empty gives memory back, and keeps account of that.
    taken += take(side.folder, start, kLot);
    EXPECT_EQ(taken, keys.size());
  }
  return allocations;
}

TEST(EmissionBuffer, GetsWhatAVectorGets) {
  ForEachSeed(1, 20, [](uint64_t seed) {
    Alike alike(seed);
    EmissionBuffer<Values> buffer;
    std::vector<Emission<Values>> same;
    for (int step = 0; step < 300; ++step) {
      alike.FoldAny(kT0 + step * 1s);
      if (step % 64 == 0) alike.Advance(kT0 + step * 1s);
      if (alike.random() % 16 != 0) continue;
      const size_t max = alike.random() % 30;
      const PartitionRange from = alike.AnyRange();
      const std::vector<Emission<Values>> expected = alike.vector.folder.Pop(max, from);
      const std::span<EmissionView<Values>> got = alike.views.folder.Pop(max, buffer, from);
      ASSERT_EQ(got.size(), expected.size());
      ASSERT_EQ(buffer.emissions().data(), got.data());
      ASSERT_EQ(alike.kept.folder.Pop(max, same, from), expected.size());
      ASSERT_EQ(same.size(), expected.size());
      for (size_t i = 0; i < got.size(); ++i) {
        ASSERT_TRUE(IsSame(expected[i], got[i])) << i;
        ASSERT_TRUE(IsSame(expected[i], same[i])) << i;
      }
    }
    EXPECT_EQ(alike.views.folder.ledger().popped, alike.vector.folder.ledger().popped);
  });
}

TEST(EmissionBuffer, AllocatesNothingOnceItHasGrown) {
  if (!CountsAllocations()) GTEST_SKIP() << "allocations are not counted in this build";
  EmissionBuffer<Added> buffer;
  EXPECT_EQ(AllocationsOfTaking([&](Folder<Number, Added>& folder, EngineTime, size_t max) {
              return folder.Pop(max, buffer).size();
            }),
            0u);
}

TEST(KeptVector, AllocatesNothingWhereAKeyHasRoom) {
  if (!CountsAllocations()) GTEST_SKIP() << "allocations are not counted in this build";
  Side<Added> side(1);
  std::vector<Emission<Added>> popped;
  for (int round = 0; round < 3; ++round) {
    const EngineTime start = kT0 + round * 1min;
    for (int i = 1000; i < 1200; ++i) {
      side.folder.Fold("a key of more than 23 bytes " + std::to_string(i), {i}, start);
    }
    side.engine->Advance(start + 30s);
    const size_t before = AllocationCount();
    ASSERT_EQ(side.folder.Pop(150, popped), 150u);
    if (round > 0) {
      EXPECT_EQ(AllocationCount(), before);
    }
    // The last 50 of a round are fewer than those whose places they take.
    ASSERT_EQ(side.folder.Pop(150, popped), 50u);
    EXPECT_EQ(popped.back().state.sum, 1199);
    popped.reserve(150);
    while (popped.size() < 150) popped.push_back({{}, std::string(40, 'x'), {}});
  }
}

TEST(EmissionBuffer, DestroysTheStatesThatNobodyMovedOut) {
  auto engine = *Engine::Open({.partitions = 1});
  Folder<std::shared_ptr<int>, Holder> folder(*engine, "f",
                                              {.quiet_period = 10s, .max_wait = kForever});
  const auto held = std::make_shared<int>(7);
  const auto pop_one = [&](EmissionBuffer<Holder>& buffer, EngineTime at) {
    folder.Fold("key", held, at);
    engine->Advance(at + 10s);
    EXPECT_EQ(folder.Pop(10, buffer).size(), 1u);
  };
  Holder kept;
  {
    EmissionBuffer<Holder> buffer;
    pop_one(buffer, kT0);
    EXPECT_EQ(held.use_count(), 2);
    pop_one(buffer, kT0 + 1min);  // the one of before goes
    EXPECT_EQ(held.use_count(), 2);
    buffer.Clear();
    EXPECT_EQ(held.use_count(), 1);
    EXPECT_TRUE(buffer.emissions().empty());
    pop_one(buffer, kT0 + 2min);
    kept = std::move(buffer.emissions()[0].state);
    pop_one(buffer, kT0 + 3min);
    EXPECT_EQ(held.use_count(), 3);
  }
  EXPECT_EQ(held.use_count(), 2);
}

TEST(EmissionBuffer, KeepsItsViewsWhenItMoves) {
  Side<Added> side(1);
  side.folder.Fold("a", {1}, kT0);
  side.folder.Fold("", {2}, kT0 + 1s);
  side.engine->Advance(kT0 + 1min);
  EmissionBuffer<Added> first;
  const std::span<EmissionView<Added>> views = side.folder.Pop(10, first);
  EmissionBuffer<Added> second(std::move(first));
  ASSERT_EQ(second.emissions().data(), views.data());
  EXPECT_EQ(views[0].key, "a");
  EXPECT_EQ(views[1].key, "");
  EXPECT_EQ(views[1].state.sum, 2);
  EmissionBuffer<Added> third;
  third = std::move(second);
  EXPECT_EQ(third.emissions().data(), views.data());
  EXPECT_TRUE(side.folder.Pop(10, second).empty());
}

// In rounds: each leases all, acks every second, and the others come back.
TEST(LeaseBuffer, GetsWhatAVectorGets) {
  ForEachSeed(1, 20, [](uint64_t seed) {
    Alike alike(seed);
    LeaseBuffer<Values> buffer;
    for (int round = 0; round < 40; ++round) {
      const EngineTime at = kT0 + round * 1min;
      for (uint64_t events = alike.random() % 40; events-- > 0;) alike.FoldAny(at);
      alike.Advance(at + 30s);
      const size_t max = alike.random() % 30;
      const PartitionRange from = alike.AnyRange();
      const std::vector<Leased<Values>> expected =
          alike.vector.folder.Lease(max, 30s, LeaseTime(at + 30s), from);
      const std::span<LeasedView<Values>> got =
          alike.views.folder.Lease(max, 30s, LeaseTime(at + 30s), buffer, from);
      ASSERT_EQ(got.size(), expected.size());
      ASSERT_EQ(buffer.leases().data(), got.data());
      for (size_t i = 0; i < got.size(); ++i) {
        ASSERT_TRUE(IsSame(expected[i], got[i])) << i;
        ASSERT_EQ(got[i].delivery.until, expected[i].delivery.until);
        ASSERT_EQ(got[i].delivery.deliveries, expected[i].delivery.deliveries);
        ASSERT_EQ(got[i].delivery.token.lease, expected[i].delivery.token.lease);
        if (i % 2 == 0) continue;
        ASSERT_EQ(alike.vector.folder.Ack(expected[i].delivery.token), LeaseOutcome::kDone);
        ASSERT_EQ(alike.views.folder.Ack(got[i].delivery.token), LeaseOutcome::kDone);
      }
    }
    EXPECT_EQ(alike.views.folder.ledger().acked, alike.vector.folder.ledger().acked);
  });
}

TEST(LeaseBuffer, CopiesStatesAndEndsNoLease) {
  auto engine = *Engine::Open({.partitions = 1});
  Folder<std::shared_ptr<int>, Holder> folder(*engine, "f",
                                              {.quiet_period = 10s, .max_wait = kForever});
  const auto held = std::make_shared<int>(7);
  folder.Fold("key", held, kT0);
  engine->Advance(kT0 + 10s);
  LeaseToken token;
  {
    LeaseBuffer<Holder> buffer;
    const std::span<LeasedView<Holder>> leases = folder.Lease(10, 30s, LeaseTime(kT0), buffer);
    ASSERT_EQ(leases.size(), 1u);
    token = leases[0].delivery.token;
    EXPECT_EQ(held.use_count(), 3);  // ours, the emission's and the copy's
    buffer.Clear();
    EXPECT_EQ(held.use_count(), 2);
    EXPECT_TRUE(folder.Lease(10, 30s, LeaseTime(kT0), buffer).empty());
  }
  EXPECT_EQ(folder.sizes().unacked_emissions, 1u);
  EXPECT_EQ(folder.Ack(token), LeaseOutcome::kDone);
  EXPECT_EQ(held.use_count(), 1);
}

// The list of deliveries whose acks are remembered grows at times, up to 65,536 of a partition.
TEST(LeaseBuffer, AllocatesForNoLeaseByItself) {
  if (!CountsAllocations()) GTEST_SKIP() << "allocations are not counted in this build";
  LeaseBuffer<Added> buffer;
  EXPECT_LE(AllocationsOfTaking([&](Folder<Number, Added>& folder, EngineTime now, size_t max) {
              size_t acked = 0;
              for (const auto& lease : folder.Lease(max, 30s, LeaseTime(now), buffer)) {
                acked += folder.Ack(lease.delivery.token) == LeaseOutcome::kDone;
              }
              return acked;
            }),
            16u);
}

}  // namespace
}  // namespace pleat
