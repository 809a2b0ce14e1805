// Which tokens end a lease, and which are stale.
#include "tests/core/delivery.h"

namespace pleat::leasing {
namespace {

using testing::SizeIs;

// nasty-cases 41, 42.
TEST_F(Delivery, AnAckAtTheEndOfItsLeaseIsStaleAndLeavesTheNextConsumersLease) {
  Open();
  Emit("a", 1);
  const LeaseToken first = LeaseOne();
  AdvanceBy(30s);
  EXPECT_EQ(folder_->Ack(first), LeaseOutcome::kStale);
  const LeaseToken second = LeaseOne();
  EXPECT_EQ(folder_->Ack(first), LeaseOutcome::kStale);
  EXPECT_EQ(folder_->Nack(first), LeaseOutcome::kStale);
  EXPECT_EQ(folder_->Extend(first, 1h, kLease0).outcome, LeaseOutcome::kStale);
  EXPECT_EQ(folder_->Ack(second), LeaseOutcome::kDone);
}

TEST_F(Delivery, AnAckCanBeRepeated) {
  Open();
  Emit("a", 1);
  const LeaseToken token = LeaseOne();
  EXPECT_EQ(folder_->Ack(token), LeaseOutcome::kDone);
  EXPECT_EQ(folder_->Ack(token), LeaseOutcome::kDone);
  AdvanceBy(1h);
  EXPECT_EQ(folder_->Ack(token), LeaseOutcome::kDone);
  EXPECT_EQ(folder_->ledger().acked, 1);
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
      *engine_, "others", {.quiet_period = 1h, .max_hold = kForever, .max_events = 1});
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
  EXPECT_EQ(other.Ack(token), LeaseOutcome::kStale);
  EXPECT_EQ(other.Ack(others_token), LeaseOutcome::kDone);
}

TEST_F(Delivery, ATokenOfAnotherFolderDoesNotRepeatAnAck) {
  Open();
  auto other = *Folder<Number, Values>::Open(
      *engine_, "others", {.quiet_period = 1h, .max_hold = kForever, .max_events = 1});
  Emit("a", 1);
  other.Fold("a", {2}, engine_->now());
  EXPECT_EQ(folder_->Ack(LeaseOne()), LeaseOutcome::kDone);
  EXPECT_EQ(folder_->Ack(other.Lease(1, 30s, kLease0).at(0).delivery.token), LeaseOutcome::kStale);
}

TEST_F(Delivery, AForgedTokenIsStale) {
  Open();
  Emit("a", 1);
  const LeaseToken token = LeaseOne();
  for (const uint64_t bit : {0, 1, 5, 16, 31}) {
    LeaseToken forged = token;
    forged.place ^= uint32_t{1} << bit;
    EXPECT_EQ(folder_->Ack(forged), LeaseOutcome::kStale);
    forged = token;
    forged.lease ^= uint64_t{1} << bit;
    EXPECT_EQ(folder_->Ack(forged), LeaseOutcome::kStale);
    forged = token;
    forged.generation ^= uint64_t{1} << bit;
    EXPECT_EQ(folder_->Ack(forged), LeaseOutcome::kStale);
    forged = token;
    forged.collection ^= uint32_t{1} << bit;
    EXPECT_EQ(folder_->Ack(forged), LeaseOutcome::kStale);
    forged = token;
    forged.partition ^= uint32_t{1} << bit;
    EXPECT_EQ(folder_->Ack(forged), LeaseOutcome::kStale);
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

}  // namespace
}  // namespace pleat::leasing
