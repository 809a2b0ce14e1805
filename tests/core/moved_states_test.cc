// States that are lent where they are: LeaseEach() shows them, AckAndTake() moves them out. The state here can only
// be moved, so that whoever copies it does not compile.
#include <array>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pleat/batch.h>
#include <pleat/folder.h>

#include "tests/support/check_whole.h"
#include "tests/support/numbers.h"
#include "tests/support/seeds.h"

namespace pleat::moved_states {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

struct Owned {
  std::unique_ptr<std::vector<int>> all = std::make_unique<std::vector<int>>();
  void Fold(const Number& number) noexcept { all->push_back(number.value); }
  size_t HeapBytes() const noexcept { return all == nullptr ? 0 : all->size() * 1'000; }
};
static_assert(!std::is_copy_constructible_v<Owned>);

// What a look has seen, with the place of the numbers.
struct Seen {
  std::string key;
  std::vector<int> numbers;
  const std::vector<int>* place;
  EmissionId id;
  Delivery delivery;
};

std::vector<LeaseToken> TokensOf(const std::vector<Seen>& all) {
  std::vector<LeaseToken> tokens;
  for (const Seen& seen : all) tokens.push_back(seen.delivery.token);
  return tokens;
}
std::vector<std::string> KeysOf(const std::vector<Seen>& all) {
  std::vector<std::string> keys;
  for (const Seen& seen : all) keys.push_back(seen.key);
  return keys;
}

// Every second event closes its group: Emit() makes an emission of two numbers.
class MovedStates : public testing::Test {
 protected:
  void Open(LeaseOptions leases = {}, int partitions = 4) {
    engine_ = *Engine::Open({.partitions = partitions});
    folder_ = *Folder<Number, Owned>::Open(
        *engine_, "numbers",
        {.quiet_period = 1h, .max_wait = kForever, .max_events = 2, .leases = leases});
    engine_->Advance(kT0);
  }
  void Emit(std::string_view key, int value) {
    folder_->Fold(key, {value}, engine_->now());
    folder_->Fold(key, {value + 1}, engine_->now());
  }
  std::vector<Seen> LeaseEach(size_t max = 100, PartitionRange from = {}) {
    std::vector<Seen> seen;
    const auto look = [&](const LeasedRef<Owned>& lease) {
      seen.push_back({std::string(lease.key), *lease.state.all, lease.state.all.get(), lease.id,
                      lease.delivery});
    };
    const size_t lent = folder_->LeaseEach(max, 30s, kLease0, look, from);
    EXPECT_EQ(seen.size(), lent);
    return seen;
  }
  Seen LeaseOne() {
    std::vector<Seen> seen = LeaseEach(1);
    EXPECT_THAT(seen, SizeIs(1));
    return seen.empty() ? Seen{} : seen[0];
  }
  void AdvanceLeases(Duration after) {
    EXPECT_TRUE(engine_->AdvanceLeases(LeaseTime(kT0 + after)));
  }
  void TearDown() override {
    EXPECT_TRUE(folder_->ledger().Balances());
    CheckWhole(folder_->any());
  }

  std::unique_ptr<Engine> engine_;
  std::optional<Folder<Number, Owned>> folder_;
};

TEST_F(MovedStates, AStateStaysUntilAnAckMovesItOut) {
  Open();
  Emit("a", 1);
  const Seen first = LeaseOne();
  EXPECT_EQ(first.key, "a");
  EXPECT_THAT(first.numbers, ElementsAre(1, 2));
  EXPECT_EQ(first.delivery.until, LeaseTime(kT0 + 30s));
  EXPECT_EQ(folder_->Nack(first.delivery.token), LeaseOutcome::kDone);

  const Seen second = LeaseOne();
  EXPECT_EQ(second.place, first.place);
  EXPECT_EQ(second.id, first.id);
  EXPECT_EQ(second.delivery.deliveries, 2u);
  AdvanceLeases(30s);  // it runs out

  const Seen third = LeaseOne();
  EXPECT_EQ(third.place, first.place);
  EXPECT_THAT(third.numbers, ElementsAre(1, 2));
  EXPECT_EQ(third.delivery.deliveries, 3u);

  const Acked<Owned> acked = folder_->AckAndTake(third.delivery.token);
  EXPECT_EQ(acked.outcome, LeaseOutcome::kDone);
  ASSERT_TRUE(acked.emission);
  EXPECT_EQ(acked.emission->state.all.get(), first.place);
  EXPECT_THAT(*acked.emission->state.all, ElementsAre(1, 2));
  EXPECT_EQ(acked.emission->key, "a");
  EXPECT_EQ(acked.emission->count, 2u);
  EXPECT_EQ(acked.emission->closed, kT0);
  EXPECT_EQ(acked.emission->reason, Reason::kMaxEvents);
  EXPECT_EQ(acked.emission->id, first.id);
  EXPECT_THAT(LeaseEach(), IsEmpty());
  EXPECT_EQ(folder_->ledger().acked, 1u);
  EXPECT_EQ(folder_->sizes(), Sizes{});
}

TEST_F(MovedStates, ALookMayBeGenericAndTakeAReference) {
  Open();
  Emit("a", 1);
  std::vector<std::string> keys;
  EXPECT_EQ(folder_->LeaseEach(1, 30s, kLease0, [&](auto& lease) { keys.emplace_back(lease.key); }),
            1u);
  EXPECT_EQ(folder_->EndLeases(), 1u);
  EXPECT_EQ(
      folder_->LeaseEach(1, 30s, kLease0, [&](auto&& lease) { keys.emplace_back(lease.key); }), 1u);
  EXPECT_THAT(keys, ElementsAre("a", "a"));
}

TEST_F(MovedStates, AStateThatNobodyTakesGoesWithItsAck) {
  Open();
  for (int i = 0; i < 20; ++i) Emit("key" + std::to_string(i), i);
  EXPECT_EQ(folder_->Ack(TokensOf(LeaseEach())), 20u);
  EXPECT_EQ(folder_->sizes(), Sizes{});
}

// The emission stays as it was, and so does whatever the caller has.
TEST_F(MovedStates, AnAckThatComesTooLateMovesNothing) {
  Open();
  Emit("a", 1);
  const Seen lost = LeaseOne();
  (void)engine_->AdvanceLeases(LeaseTime(kT0 + 30s), 0);  // it has run out, and nobody has looked
  Acked<Owned> late = folder_->AckAndTake(lost.delivery.token);
  EXPECT_EQ(late.outcome, LeaseOutcome::kStale);
  EXPECT_FALSE(late.emission);
  const Seen again = LeaseOne();
  EXPECT_EQ(again.place, lost.place);
  late = folder_->AckAndTake(lost.delivery.token);  // lent to somebody else by now
  EXPECT_EQ(late.outcome, LeaseOutcome::kStale);
  EXPECT_FALSE(late.emission);
  LeaseToken forged = again.delivery.token;
  ++forged.generation;
  EXPECT_EQ(folder_->AckAndTake(forged).outcome, LeaseOutcome::kStale);
  EXPECT_FALSE(folder_->AckAndTake(forged).emission);
  EXPECT_EQ(folder_->ledger().acked, 0u);
  const Acked<Owned> acked = folder_->AckAndTake(again.delivery.token);
  ASSERT_TRUE(acked.emission);
  EXPECT_THAT(*acked.emission->state.all, ElementsAre(1, 2));
}

TEST_F(MovedStates, OnlyTheFirstAckHasTheEmission) {
  Open();
  Emit("a", 1);
  Emit("b", 2);
  const std::vector<Seen> seen = LeaseEach();
  ASSERT_THAT(seen, SizeIs(2));
  EXPECT_TRUE(folder_->AckAndTake(seen[0].delivery.token).emission);
  EXPECT_EQ(folder_->Ack(seen[1].delivery.token), LeaseOutcome::kDone);
  for (const Seen& each : seen) {
    const Acked<Owned> again = folder_->AckAndTake(each.delivery.token);
    EXPECT_EQ(again.outcome, LeaseOutcome::kDone);
    EXPECT_FALSE(again.emission);
    EXPECT_EQ(folder_->Ack(each.delivery.token), LeaseOutcome::kDone);
  }
  EXPECT_EQ(folder_->ledger().acked, 2u);
}

TEST_F(MovedStates, AClosedFolderHasNothingToTake) {
  Open();
  Emit("a", 1);
  const LeaseToken token = LeaseOne().delivery.token;
  folder_->Close();
  EXPECT_EQ(folder_->AckAndTake(token).outcome, LeaseOutcome::kClosed);
  EXPECT_FALSE(folder_->AckAndTake(token).emission);
  EXPECT_THAT(LeaseEach(), IsEmpty());
}

TEST_F(MovedStates, TheNextOfAKeyComesWhenTheFirstIsTaken) {
  Open();
  Emit("a", 1);
  Emit("a", 3);
  const Seen first = LeaseOne();
  EXPECT_THAT(LeaseEach(), IsEmpty());
  const Acked<Owned> acked = folder_->AckAndTake(first.delivery.token);
  ASSERT_TRUE(acked.emission);
  EXPECT_THAT(LeaseOne().numbers, ElementsAre(3, 4));
  EXPECT_THAT(*acked.emission->state.all, ElementsAre(1, 2));
}

// As they became final, whichever their partitions.
TEST_F(MovedStates, AsManyAsAskedForInTheOrderOfEmissions) {
  Open({}, 16);
  std::vector<std::string> keys;
  for (int i = 0; i < 50; ++i) Emit(keys.emplace_back("key" + std::to_string(i)), i);
  EXPECT_THAT(LeaseEach(0), IsEmpty());
  const std::vector<Seen> some = LeaseEach(20);
  EXPECT_THAT(KeysOf(some), testing::ElementsAreArray(keys.data(), 20));
  for (const Seen& seen : LeaseEach(100, PartitionRange::One(3))) {
    EXPECT_EQ(PartitionOf(seen.key, 16), 3);
  }
  // Those that come back are first.
  EXPECT_EQ(folder_->Nack(some[7].delivery.token), LeaseOutcome::kDone);
  EXPECT_EQ(LeaseOne().key, keys[7]);
}

TEST_F(MovedStates, ALimitOnLeasesHolds) {
  Open({.max_leased = 2}, 1);
  for (const char* key : {"a", "b", "c"}) Emit(key, 1);
  EXPECT_THAT(KeysOf(LeaseEach()), ElementsAre("a", "b"));
}

TEST_F(MovedStates, ALetterThatIsRetriedHasItsState) {
  Open({.max_deliveries = 1});
  Emit("a", 1);
  const Seen first = LeaseOne();
  EXPECT_EQ(folder_->Nack(first.delivery.token), LeaseOutcome::kDone);
  EXPECT_EQ(folder_->AckAndTake(first.delivery.token).outcome, LeaseOutcome::kStale);
  EXPECT_EQ(folder_->RetryDeadLetter(first.delivery.token), LeaseOutcome::kDone);
  const Acked<Owned> acked = folder_->AckAndTake(LeaseOne().delivery.token);
  ASSERT_TRUE(acked.emission);
  EXPECT_EQ(acked.emission->state.all.get(), first.place);
}

// Listeners and drains go by this.
TEST_F(MovedStates, TheLastOneThatIsTakenDrainsThePartition) {
  struct Listener final : EmissionListener {
    void MayHaveEmissions() noexcept override {}
    void MayBeDrained() noexcept override { ++drained; }
    int drained = 0;
  };
  Open({}, 1);
  Emit("a", 1);
  Listener listener;
  AnyFolder any = folder_->any();
  any.AddListener(listener, {});
  const LeaseToken token = LeaseOne().delivery.token;
  EXPECT_EQ(listener.drained, 0);
  EXPECT_TRUE(folder_->AckAndTake(token).emission);
  EXPECT_EQ(listener.drained, 1);
  any.RemoveListener(listener);
}

// A state that can be copied: LeaseEach() shows what Lease() copies.
TEST(LeaseEach, ShowsWhatLeaseCopies) {
  struct Side {
    std::unique_ptr<Engine> engine = *Engine::Open({.partitions = 3});
    Folder<Number, Values> folder{*engine, "f", {.quiet_period = 10s, .max_wait = 30s}};
  };
  ForEachSeed(1, 20, [](uint64_t seed) {
    std::mt19937_64 random(seed);
    std::array<Side, 2> sides;
    for (int round = 0; round < 40; ++round) {
      const EngineTime at = kT0 + round * 1min;
      for (uint64_t events = random() % 40; events-- > 0;) {
        const std::string key(random() % 40, static_cast<char>('a' + random() % 4));
        const int value = static_cast<int>(random() % 1000);
        for (Side& side : sides) side.folder.Fold(key, {value}, at);
      }
      for (Side& side : sides) side.engine->Advance(at + 30s);
      const size_t max = random() % 30;
      const PartitionRange from = random() % 2 == 0
                                      ? PartitionRange{}
                                      : PartitionRange::One(static_cast<int>(random() % 3));
      const LeaseTime now(at + 30s);
      const std::vector<Leased<Values>> copies = sides[0].folder.Lease(max, 30s, now, from);
      std::vector<LeaseToken> tokens;
      const auto look = [&](const LeasedRef<Values>& lease) {
        if (tokens.size() >= copies.size()) return tokens.push_back({});
        const Leased<Values>& copy = copies[tokens.size()];
        EXPECT_EQ(lease.key, copy.key);
        EXPECT_EQ(lease.state.all, copy.state.all);
        EXPECT_EQ(lease.count, copy.count);
        EXPECT_EQ(lease.first, copy.first);
        EXPECT_EQ(lease.last, copy.last);
        EXPECT_EQ(lease.closed, copy.closed);
        EXPECT_EQ(lease.reason, copy.reason);
        EXPECT_EQ(lease.id, copy.id);
        EXPECT_EQ(lease.delivery.until, copy.delivery.until);
        EXPECT_EQ(lease.delivery.deliveries, copy.delivery.deliveries);
        EXPECT_EQ(lease.delivery.token.lease, copy.delivery.token.lease);
        tokens.push_back(lease.delivery.token);
      };
      ASSERT_EQ(sides[1].folder.LeaseEach(max, 30s, now, look, from), copies.size());
      ASSERT_EQ(tokens.size(), copies.size());
      for (size_t i = 1; i < copies.size(); i += 2) {
        ASSERT_EQ(sides[0].folder.Ack(copies[i].delivery.token), LeaseOutcome::kDone);
        const Acked<Values> acked = sides[1].folder.AckAndTake(tokens[i]);
        ASSERT_TRUE(acked.emission);
        ASSERT_EQ(acked.emission->state.all, copies[i].state.all);
      }
    }
    EXPECT_EQ(sides[0].folder.ledger(), sides[1].folder.ledger());
    CheckWhole(sides[1].folder.any());
  });
}

}  // namespace
}  // namespace pleat::moved_states
