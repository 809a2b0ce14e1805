// What only shows inside a book: budgets, laziness, accounting. The behaviour that users see is tested
// in tests/core and, against the reference model, in tests/model.
#include "engine/fold/fold_book.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <pleat/folder.h>

#include "engine/base/hash.h"
#include "engine/partition/partition.h"
#include "tests/support/sanitized.h"

namespace pleat {
namespace {

using namespace std::chrono_literals;

struct Text {
  std::string value;
};
struct Joined {
  std::string all;
  void Fold(const Text& text) noexcept { all += text.value; }
  size_t HeapBytes() const noexcept { return all.capacity() > 15 ? all.capacity() + 1 : 0; }
};

const HashKey kHashKey = MakeHashKey(1, 2);

uint64_t HashOf(std::string_view key) { return PackedKey(key).HashWith(kHashKey); }

class FoldBookFixture : public testing::Test {
 protected:
  explicit FoldBookFixture(FolderOptions options = {.quiet_period = 10s, .max_wait = kForever})
      : partition_(schedule_, leases_),
        book_(pool_, options,
              {.ops = ops_,
               .hash_key = kHashKey,
               .name_key = kHashKey,
               .on_arrival = true,
               .measure = {}},
              3, listeners_) {}

  // One operation on the book at `now`.
  template <class Change>
  auto Do(EngineTime now, const Change& change) {
    LockGuard guard(partition_.lock());
    return partition_.DoOneOfMany(partition_.CopyFirst(), book_, now, LeaseTime(now), position_++,
                                  change);
  }

  FoldOutcome Fold(std::string_view key, std::string value, EngineTime at, EngineTime now) {
    const Text text{std::move(value)};
    const PackedKey packed(key);
    const EventRef event{packed, HashOf(key), &text, at};
    return Do(now, [&](const Instant& instant) {
      const FoldBook::Entry entry = book_.Find(event);
      if (book_.FoldPlainly(event, entry, instant)) return FoldOutcome::kFolded;
      return book_.FoldSlowly(event, entry, instant);
    });
  }
  bool Flush(std::string_view key, EngineTime now) {
    return Do(now, [&](const Instant& at) { return book_.Flush(key, HashOf(key), at); });
  }
  bool CloseDue(EngineTime now, Budget& budget) {
    return Do(now, [&](const Instant& at) { return book_.CloseDue(at, budget); });
  }
  std::vector<std::string> PopAll(EngineTime now) {
    std::vector<std::string> out;
    Do(now, [&](const Instant& at) {
      while (const Handout next = book_.NextHandout(at, /*lends=*/false)) {
        const auto take = [&](std::span<const ClosedGroup> groups) {
          auto& state = *static_cast<Joined*>(groups.front().state);
          out.push_back(std::string(groups.front().key) + "=" + state.all);
          state.~Joined();
        };
        GivenRun run(take);
        book_.outbox().Pop(next, at, run);
        run.HandOver();
      }
    });
    return out;
  }
  void TearDown() override { book_.CheckWhole(); }

  const EngineTime t0_ = FromUnix(1'000'000s);
  const StateOps ops_ = StateOpsFor<Text, Joined>();
  uint64_t position_ = 0;
  PagePool pool_;
  Schedule schedule_{Schedule::Clock::kEngine};
  Schedule leases_{Schedule::Clock::kLeases};
  Partition partition_;
  const Outbox::Listeners listeners_;
  FoldBook book_;
};

TEST_F(FoldBookFixture, AFoldLeavesTheOtherGroupsThatAreDueAlone) {
  for (int i = 0; i < 1000; ++i) Fold("key" + std::to_string(i), "x", t0_, t0_);
  Fold("other", "y", t0_ + 1h, t0_ + 1h);
  EXPECT_EQ(book_.sizes().ready_emissions, 0u);
  EXPECT_EQ(book_.sizes().open_groups, 1001u);
}

// As the positions of batches that overlap do: what happened first still comes out first.
TEST_F(FoldBookFixture, APositionThatGoesBackCountsAsTheNext) {
  Fold("a", "1", t0_, t0_);
  Fold("b", "1", t0_, t0_);
  position_ = 100;
  ASSERT_TRUE(Flush("a", t0_));
  position_ = 50;
  ASSERT_TRUE(Flush("b", t0_));
  EXPECT_EQ(PopAll(t0_), (std::vector<std::string>{"a=1", "b=1"}));
}

TEST_F(FoldBookFixture, CloseDueStopsAtItsBudgetAndGoesOn) {
  for (int i = 0; i < 100; ++i) Fold("key" + std::to_string(i), "x", t0_, t0_);
  Budget some(150);  // one to load each of them, one to close each
  EXPECT_FALSE(CloseDue(t0_ + 10s, some));
  EXPECT_EQ(some.left(), 0u);
  EXPECT_EQ(book_.sizes().ready_emissions, 50u);
  Budget enough(1000);
  EXPECT_TRUE(CloseDue(t0_ + 10s, enough));
  EXPECT_EQ(enough.left(), 950u);
}

TEST_F(FoldBookFixture, BytesFollowKeysAndHeapAndReturnToZero) {
  EXPECT_EQ(book_.sizes().bytes, 0u);
  Fold("short", "", t0_, t0_);
  const size_t one = book_.sizes().bytes;
  EXPECT_GE(one, 64u);
  Fold(std::string(1000, 'k'), "", t0_, t0_);
  EXPECT_GE(book_.sizes().bytes, 2 * one + 1000);
  EXPECT_LE(book_.sizes().bytes, 2 * one + 1250);
  Fold("short", std::string(5000, 'v'), t0_, t0_);
  EXPECT_GE(book_.sizes().bytes, 2 * one + 6000);
  EXPECT_EQ(PopAll(t0_ + 1h).size(), 2u);
  EXPECT_EQ(book_.sizes().bytes, 0u);
}

TEST_F(FoldBookFixture, GroupsLeftAtTheEndAreDestroyed) {
  // Their strings would show as leaks under AddressSanitizer.
  Fold("open", std::string(100, 'v'), t0_, t0_);
  Fold(std::string(100, 'k'), std::string(100, 'v'), t0_, t0_);
  Fold("ready", std::string(100, 'v'), t0_ - 1h, t0_);
  EXPECT_EQ(book_.sizes().ready_emissions, 1u);
}

TEST_F(FoldBookFixture, StaleDeadlinesStayFewWhenKeysAreFlushedOverAndOver) {
  for (int i = 0; i < 200'000; ++i) {
    Fold("key", "x", t0_, t0_);
    ASSERT_TRUE(Flush("key", t0_));
    PopAll(t0_);
  }
  EXPECT_LT(book_.stale_deadlines(), 1000u);
}

TEST_F(FoldBookFixture, MemoryReturnsAfterABurst) {
  constexpr uint32_t kUsual = kSanitized ? 40'000 : 200'000;
  const auto open = [&](uint32_t from, uint32_t to, EngineTime at) {
    for (uint32_t i = from; i < to; ++i) Fold("key" + std::to_string(i), "x", at, at);
  };
  open(0, kUsual, t0_);
  const size_t usual = pool_.held_bytes();
  open(kUsual, 6 * kUsual, t0_);
  EXPECT_GT(pool_.held_bytes(), 4 * usual);
  open(0, kUsual, t0_ + 5s);  // as many as usual stay open
  PopAll(t0_ + 10s);
  EXPECT_EQ(book_.sizes().open_groups, kUsual);
  EXPECT_LT(pool_.held_bytes(), usual * 3 / 2);
}

TEST_F(FoldBookFixture, MemoryReturnsAlsoFromGroupsThatWereFlushed) {
  for (int i = 0; i < 300'000; ++i) Fold("key" + std::to_string(i), "x", t0_, t0_);
  const size_t full = pool_.held_bytes();
  for (int i = 0; i < 300'000; ++i) {
    const std::string key = "key" + std::to_string(i);
    ASSERT_TRUE(Flush(key, t0_));
  }
  PopAll(t0_);
  EXPECT_EQ(book_.sizes(), Sizes{});
  EXPECT_LT(pool_.held_bytes(), full / 3);
}

TEST_F(FoldBookFixture, RemembersAFirstStampHoweverFarBack) {
  for (const Duration back : {Duration{1min}, Duration{2h}, Duration{1h}, Duration{3h}}) {
    Fold("key", "x", t0_ + 1s, t0_);
    EXPECT_EQ(Fold("key", "x", t0_ - back, t0_), FoldOutcome::kFolded);
    EXPECT_EQ(Fold("key", "x", t0_ - 30s, t0_), FoldOutcome::kFolded);
    book_.Peek("key", HashOf("key"), t0_, [&](const GroupInfo& info, const void*) {
      EXPECT_EQ(info.first, t0_ - back);
      EXPECT_EQ(info.last, t0_ + 1s);
    });
    ASSERT_TRUE(Do(t0_, [&](const Instant& at) { return book_.Cancel("key", HashOf("key"), at); }));
  }
}

struct FoldBookByCountOrTime : FoldBookFixture {
  FoldBookByCountOrTime()
      : FoldBookFixture({.quiet_period = kForever, .max_wait = 1h, .max_events = 2}) {}
};

TEST_F(FoldBookByCountOrTime, StaleDeadlinesStayFewWhenTheHoldIsMuchShorterThanTheQuietPeriod) {
  EngineTime now = t0_;
  for (int i = 0; i < 100'000; ++i, now += 1ms) {
    Fold("key", "x", now, now);
    Fold("key", "x", now, now);
    PopAll(now);
  }
  EXPECT_EQ(book_.sizes().bytes, 0u);
  EXPECT_LT(book_.stale_deadlines(), 2000u);
}

TEST_F(FoldBookByCountOrTime, StaleDeadlinesStayFewWhenAllAreDueWithinOneSlot) {
  Fold("first", "x", t0_, t0_);
  PopAll(t0_ + 1h);
  // Stamped an hour ago: due at once but for a microsecond, in the slot that is under way.
  for (int i = 0; i < 100'000; ++i) {
    Fold("key", "x", t0_ + 1us, t0_ + 1h);
    Fold("key", "x", t0_ + 1us, t0_ + 1h);
    PopAll(t0_ + 1h);
  }
  EXPECT_LT(book_.stale_deadlines(), 2000u);
}

struct FoldBookWithPartials : FoldBookFixture {
  FoldBookWithPartials()
      : FoldBookFixture({.quiet_period = 2h, .max_wait = kForever, .partial_every = 1s}) {}
};

TEST_F(FoldBookWithPartials, AnInstantAtWhichNothingHasChangedCostsNothing) {
  for (int i = 0; i < 1000; ++i) Fold("key" + std::to_string(i), "x", t0_, t0_);
  Budget enough(100'000);
  EXPECT_TRUE(CloseDue(t0_ + 1s, enough));
  EXPECT_EQ(PopAll(t0_ + 1s).size(), 1000u);
  EXPECT_EQ(book_.NextDue(), t0_ + 2h);
  Budget none(0);
  for (int i = 2; i <= 1000; ++i) EXPECT_TRUE(CloseDue(t0_ + i * 1s, none));

  // One group that changes is one that is looked at.
  Fold("key7", "y", t0_ + 1000s, t0_ + 1000s);
  Budget for_one(2);  // to load it, and to cut it
  EXPECT_TRUE(CloseDue(t0_ + 1001s, for_one));
  EXPECT_EQ(PopAll(t0_ + 1001s), std::vector<std::string>{"key7=xy"});
  EXPECT_TRUE(CloseDue(t0_ + 2h - 1us, none));
  EXPECT_EQ(PopAll(t0_ + 3h).size(), 1000u);
}

TEST_F(FoldBookWithPartials, StaleInstantsStayFewWhenKeysAreFlushedOverAndOver) {
  for (int i = 0; i < 100'000; ++i) {
    Fold("key", "x", t0_, t0_);
    ASSERT_TRUE(Flush("key", t0_));
    PopAll(t0_);
  }
  EXPECT_LT(book_.stale_deadlines(), 1000u);
}

}  // namespace
}  // namespace pleat
