// Leases as the engine alone has them: tokens, ranges, clocks, and emissions by the thousand. The
// rules of leases are told as stories in lease_stories_test.cc.
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pleat/batch.h>
#include <pleat/folder.h>

#include "tests/support/check_whole.h"
#include "tests/support/numbers.h"

namespace pleat::leasing {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::SizeIs;

// Every event closes its group: emissions are made by Emit().
class Delivery : public testing::Test {
 protected:
  void Open(FolderOptions options = {}, EngineOptions engine = {.partitions = 4}) {
    options.quiet_period = 1h;
    options.max_wait = kForever;
    options.max_events = 1;
    engine_ = *Engine::Open(engine);
    folder_ = *Folder<Number, Values>::Open(*engine_, "numbers", options);
    engine_->Advance(kT0);
  }
  void Emit(std::string_view key, int value) { folder_->Fold(key, {value}, engine_->now()); }
  // LeaseTime is later than kT0 if it was moved.
  std::vector<Leased<Values>> Lease(size_t max = 100, Duration ttl = 30s) {
    return folder_->Lease(max, ttl, kLease0);
  }
  LeaseToken LeaseOne(Duration ttl = 30s) {
    auto leases = Lease(1, ttl);
    EXPECT_EQ(leases.size(), 1u);
    return leases.empty() ? LeaseToken{} : leases[0].delivery.token;
  }
  std::vector<std::string> KeysLeft() {
    std::vector<std::string> keys;
    for (const auto& lease : Lease()) keys.push_back(lease.key);
    return keys;
  }
  void TearDown() override {
    EXPECT_TRUE(folder_->ledger().Balances());
    CheckWhole(folder_->any());
  }

  std::unique_ptr<Engine> engine_;
  std::optional<Folder<Number, Values>> folder_;
};

// The driver sleeps, and LeaseTime stands still, while a consumer works.
TEST_F(Delivery, ACallSaysWhatTimeItIs) {
  for (const Axis axis : {Axis::kArrival, Axis::kEvent}) {
    Open({}, {.partitions = 4, .axis = axis});
    Emit("a", 1);
    Emit("b", 2);
    auto leases = folder_->Lease(2, 30s, LeaseTime(kT0 + 1h));
    ASSERT_THAT(leases, SizeIs(2));
    EXPECT_EQ(leases[0].delivery.until, LeaseTime(kT0 + 1h + 30s));
    EXPECT_EQ(leases[0].Extend(1min, LeaseTime(kT0 + 1h + 20s)),
              (Extension{LeaseOutcome::kDone, LeaseTime(kT0 + 1h + 80s)}));
    EXPECT_EQ(leases[1].Nack(10s, LeaseTime(kT0 + 1h + 25s)), LeaseOutcome::kDone);
    EXPECT_EQ(engine_->now(), kT0);
    EXPECT_EQ(engine_->NextLeaseDeadline(), LeaseTime(kT0 + 1h + 30s));  // early, never late
    EXPECT_THAT(folder_->Lease(1, 2s, LeaseTime(kT0 + 1h + 35s - 1us)), SizeIs(0));
    EXPECT_TRUE(engine_->AdvanceLeases(LeaseTime(kT0 + 1h + 35s)));
    EXPECT_THAT(KeysLeft(), ElementsAre("b"));
  }
}

TEST_F(Delivery, ManyAreAckedTogetherEachWithItsOutcome) {
  Open({.leases = {.max_deliveries = 2}});
  for (int i = 0; i < 600; ++i) Emit(std::to_string(i), i);
  auto leases = Lease(600);
  ASSERT_THAT(leases, SizeIs(600));
  EXPECT_EQ(leases[7].Ack(), LeaseOutcome::kDone);
  EXPECT_EQ(leases[8].Nack(), LeaseOutcome::kDone);
  std::vector<LeaseToken> tokens;
  for (const auto& lease : leases) tokens.push_back(lease.delivery.token);
  tokens[300].epoch ^= 1;
  tokens[301].collection += 1;
  tokens[302].partition = 4;
  tokens.push_back(tokens[0]);
  std::vector<LeaseOutcome> outcomes(tokens.size());
  EXPECT_EQ(folder_->Ack(tokens, outcomes), 597u);
  for (size_t i = 0; i < tokens.size(); ++i) {
    const bool stale = i == 8 || (i >= 300 && i <= 302);
    EXPECT_EQ(outcomes[i], stale ? LeaseOutcome::kStale : LeaseOutcome::kDone) << i;
  }
  EXPECT_EQ(folder_->ledger().acked, 596u);
  EXPECT_EQ(folder_->ledger().unacked, 4u);
  EXPECT_EQ(folder_->Ack(leases, outcomes), 599u);  // leases as well as tokens
  EXPECT_EQ(outcomes[8], LeaseOutcome::kStale);
  EXPECT_EQ(folder_->Ack(std::vector<LeaseToken>{}), 0u);
  folder_->Close();
  EXPECT_EQ(folder_->Ack(leases, outcomes), 0u);
  EXPECT_THAT(std::span(outcomes).first(600), testing::Each(LeaseOutcome::kClosed));
  Open();  // for the check of the ledger
}

TEST_F(Delivery, OfManyThatAreAckedTheNextOfEachKeyIsLent) {
  Open();
  for (int i = 0; i < 6; ++i) Emit(i % 2 == 0 ? "even" : "odd", i);
  for (int i = 0; i < 3; ++i) {
    const auto leases = Lease();
    ASSERT_THAT(leases, SizeIs(2));
    EXPECT_EQ(folder_->Ack(std::span(leases)), 2u);
  }
  EXPECT_THAT(Lease(), SizeIs(0));
  Emit("even", 6);
  LeaseBuffer<Values> buffer;
  EXPECT_EQ(folder_->Ack(folder_->Lease(9, 30s, kLease0, buffer)), 1u);
}

TEST_F(Delivery, AScanOfDeadLettersComesToItsEndFromAnywhere) {
  Open({.leases = {.max_deliveries = 1}});
  for (const char* key : {"a", "b", "c"}) Emit(key, 1);
  for (auto& lease : Lease()) lease.Nack();
  ScanCursor cursor{.partition = -5, .place = 3};
  std::vector<DeadLetter<Values>> letters;
  for (int calls = 0; folder_->ScanDeadLetters(cursor, 0, letters); ++calls) ASSERT_LT(calls, 10);
  EXPECT_THAT(letters, SizeIs(3));
}

// More than a call goes through under one lock.
TEST_F(Delivery, ThousandsOfLeasesThatRanOutComeBackBeforeAnythingNew) {
  Open({}, {.partitions = 2});
  for (int i = 0; i < 5'000; ++i) Emit("key" + std::to_string(i), 1);
  ASSERT_THAT(Lease(5'000), SizeIs(5'000));
  Emit("new", 1);
  (void)engine_->AdvanceLeases(LeaseTime(kT0 + 30s), 0);  // nobody has looked
  const auto again = Lease(10'000);
  ASSERT_THAT(again, SizeIs(5'001));
  EXPECT_EQ(again.front().delivery.deliveries, 2);
  EXPECT_EQ(again.back().key, "new");
}

TEST_F(Delivery, ThousandsThatWaitForTheirKeyHideNothing) {
  Open({}, {.partitions = 2});
  Emit("a", 1);
  LeaseOne(1h);
  for (int i = 0; i < 5'000; ++i) Emit("a", 1);
  Emit("b", 2);
  EXPECT_THAT(KeysLeft(), ElementsAre("b"));
}

// Each of two partitions has half of what the folder may lend.
TEST_F(Delivery, LimitsAreDividedAmongThePartitions) {
  Open({.leases = {.max_leased = 4}}, {.partitions = 2});
  for (int i = 0; i < 20; ++i) Emit("key" + std::to_string(i), 1);
  EXPECT_THAT(folder_->Lease(100, 1min, kLease0, PartitionRange::One(0)), SizeIs(2));
  EXPECT_THAT(Lease(), SizeIs(2));
}

TEST_F(Delivery, AWorkerLeasesFromItsRangeOnly) {
  Open({}, {.partitions = 16});
  for (int i = 0; i < 100; ++i) Emit("key" + std::to_string(i), 0);
  size_t seen = 0;
  for (int worker = 0; worker < 3; ++worker) {
    const auto range = PartitionRange::ForWorker(worker, 3, 16);
    for (const auto& lease : folder_->Lease(1000, 1min, kLease0, range)) {
      EXPECT_TRUE(range.Contains(PartitionOf(lease.key, 16)));
      ++seen;
    }
  }
  EXPECT_EQ(seen, 100);
}

TEST_F(Delivery, NextLeaseDeadlineIsThatOfAllPartitions) {
  Open();
  for (int i = 0; i < 20; ++i) Emit("key" + std::to_string(i), i);
  for (Duration ttl = 60s; ttl > 40s; ttl -= 1s) LeaseOne(ttl);
  EXPECT_EQ(engine_->NextLeaseDeadline(), LeaseTime(kT0 + 41s));
  EXPECT_EQ(engine_->NextDeadline(), std::nullopt);
  EXPECT_TRUE(engine_->AdvanceLeases(LeaseTime(kT0 + 41s)));
  EXPECT_EQ(engine_->NextLeaseDeadline(), LeaseTime(kT0 + 42s));
}

TEST_F(Delivery, AnAckIsForgottenAfter65536OtherDeliveries) {
  Open({}, {.partitions = 1});
  Emit("a", 1);
  const LeaseToken token = LeaseOne();
  EXPECT_EQ(folder_->Ack(token), LeaseOutcome::kDone);
  for (int i = 0; i < 65'535; ++i) {
    Emit("a", 2);
    ASSERT_EQ(folder_->Ack(LeaseOne()), LeaseOutcome::kDone);
  }
  EXPECT_EQ(folder_->Ack(token), LeaseOutcome::kDone);
  Emit("a", 2);
  ASSERT_EQ(folder_->Ack(LeaseOne()), LeaseOutcome::kDone);
  EXPECT_EQ(folder_->Ack(token), LeaseOutcome::kStale);
}

TEST_F(Delivery, ATokenOfAnotherEngineIsStale) {
  Open();
  Emit("a", 1);
  const LeaseToken token = LeaseOne();
  Open();
  Emit("a", 1);
  LeaseOne();
  EXPECT_EQ(folder_->Ack(token), LeaseOutcome::kStale);
}

TEST_F(Delivery, ATokenOfAnotherFolderIsStale) {
  Open();
  auto other = *Folder<Number, Values>::Open(
      *engine_, "others", {.quiet_period = 1h, .max_wait = kForever, .max_events = 1});
  Emit("a", 1);
  other.Fold("a", {2}, engine_->now());
  const LeaseToken token = LeaseOne();
  const auto others = other.Lease(1, 30s, kLease0);
  ASSERT_THAT(others, SizeIs(1));
  const LeaseToken others_token = others[0].delivery.token;
  EXPECT_NE(others_token, token);
  EXPECT_EQ(folder_->Ack(others_token), LeaseOutcome::kStale);
  EXPECT_EQ(folder_->Nack(others_token), LeaseOutcome::kStale);
  EXPECT_EQ(folder_->Extend(others_token, 1h, kLease0).outcome, LeaseOutcome::kStale);
  EXPECT_EQ(folder_->ledger().acked, 0);
  EXPECT_EQ(folder_->Ack(token), LeaseOutcome::kDone);
  EXPECT_EQ(folder_->Ack(others_token), LeaseOutcome::kStale);  // nor does it repeat that Ack()
  EXPECT_EQ(other.Ack(token), LeaseOutcome::kStale);
  EXPECT_EQ(other.Ack(others_token), LeaseOutcome::kDone);
}

TEST_F(Delivery, AForgedTokenIsStale) {
  Open();
  Emit("a", 1);
  const LeaseToken token = LeaseOne();
  const auto expect_stale = [&](auto LeaseToken::* member, uint32_t flipped) {
    LeaseToken forged = token;
    forged.*member ^= flipped;
    EXPECT_EQ(folder_->Ack(forged), LeaseOutcome::kStale);
  };
  for (const uint32_t bit : {0U, 1U, 5U, 16U, 31U}) {
    expect_stale(&LeaseToken::place, uint32_t{1} << bit);
    expect_stale(&LeaseToken::lease, uint32_t{1} << bit);
    expect_stale(&LeaseToken::generation, uint32_t{1} << bit);
    expect_stale(&LeaseToken::collection, uint32_t{1} << bit);
    expect_stale(&LeaseToken::partition, uint32_t{1} << bit);
  }
  EXPECT_EQ(folder_->Ack(token), LeaseOutcome::kDone);
}

TEST_F(Delivery, AForgedGenerationDoesNotRepeatAnAck) {
  Open({}, {.partitions = 1});
  Emit("a", 1);
  Emit("b", 2);
  const LeaseToken acked = LeaseOne();
  LeaseOne();
  EXPECT_EQ(folder_->Ack(acked), LeaseOutcome::kDone);
  for (const uint64_t generation : {acked.generation + 1, acked.generation + 1'000, UINT64_MAX}) {
    LeaseToken forged = acked;
    forged.generation = generation;
    EXPECT_EQ(folder_->Ack(forged), LeaseOutcome::kStale);
    ++forged.lease;  // of one that is lent
    EXPECT_EQ(folder_->Ack(forged), LeaseOutcome::kStale);
  }
  EXPECT_EQ(folder_->ledger().acked, 1);
  EXPECT_EQ(folder_->Ack(acked), LeaseOutcome::kDone);
}

class LetterListener final : public EmissionListener {
 public:
  void MayHaveEmissions() noexcept override {}
  void MayHaveDeadLetters() noexcept override { ++told; }
  int told = 0;
};

// Whatever has ended the last delivery; several at once may be told of once.
TEST_F(Delivery, AListenerIsToldOfEachDeadLetter) {
  Open({.leases = {.max_deliveries = 1}});
  LetterListener listener;
  AnyCollection any = folder_->any();
  any.AddListener(listener, {});
  for (const char* key : {"a", "b", "c", "d"}) Emit(key, 1);
  folder_->Ack(LeaseOne());
  const LeaseToken letter = LeaseOne();
  LeaseOne();
  LeaseOne(60s);
  EXPECT_EQ(listener.told, 0);
  folder_->Nack(letter);
  EXPECT_EQ(listener.told, 1);
  EXPECT_EQ(folder_->deaths(), 1u);
  EXPECT_TRUE(engine_->AdvanceLeases(SaturatingAdd(kLease0, 30s)));
  EXPECT_EQ(listener.told, 2);
  EXPECT_EQ(folder_->EndLeases(), 1u);
  EXPECT_EQ(listener.told, 3);
  EXPECT_EQ(folder_->deaths(), 3u);
  EXPECT_EQ(folder_->RetryDeadLetter(letter), LeaseOutcome::kDone);
  EXPECT_EQ(folder_->deaths(), 3u);
  EXPECT_EQ(listener.told, 3);
  folder_->Nack(LeaseOne());  // the same one dies again
  EXPECT_EQ(folder_->deaths(), 4u);
  EXPECT_EQ(listener.told, 4);
  any.RemoveListener(listener);
}

TEST_F(Delivery, AListenerHearsOfDeadLettersOfItsPartitionsOnlyAndOfTheEnd) {
  Open({.leases = {.max_deliveries = 1}});
  const int home = PartitionOf("a", 4);
  LetterListener here, elsewhere;
  AnyCollection any = folder_->any();
  any.AddListener(here, PartitionRange::One(home));
  any.AddListener(elsewhere, PartitionRange::One((home + 1) % 4));
  Emit("a", 1);
  folder_->Nack(LeaseOne());
  EXPECT_EQ(here.told, 1);
  EXPECT_EQ(elsewhere.told, 0);
  any.Close();
  EXPECT_EQ(here.told, 2);
  EXPECT_EQ(elsewhere.told, 1);
  EXPECT_EQ(any.deaths(), 0u);
  any.RemoveListener(here);
  any.RemoveListener(elsewhere);
  folder_ = *Folder<Number, Values>::Open(*engine_, "again", {.quiet_period = 1h, .max_wait = 1h});
}

}  // namespace
}  // namespace pleat::leasing
