// What a processor promises, one by one, on a scripted log.
#include <chrono>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/lanes/lane_world.h"
#include "tests/lanes/one_lane.h"

namespace pleat::inline v0_1 {
namespace {

using std::chrono_literals::operator""h;
using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using ProcessorTest = OneLane;

TEST_F(ProcessorTest, AMessageLeavesOnlyWhenTheCommitThatHasItWasTaken) {
  Start();
  Append("ann", 0s, "!");
  log_.SetCommitFate([](const LogCommit&) { return CommitFate::kLost; });
  Run(0s);
  EXPECT_THAT(Texts(0s), IsEmpty());
  log_.SetCommitFate([](const LogCommit&) { return CommitFate::kTakenInDoubt; });
  Run(1s);
  EXPECT_THAT(Texts(1s), IsEmpty()) << "whether it was taken is not known";
  log_.SetCommitFate(nullptr);
  Run(2s);
  EXPECT_THAT(Texts(2s), ElementsAre("emitted 0 ann: 0"));
}

TEST_F(ProcessorTest, TheLastGroupClosesWithoutAFurtherRecord) {
  Start();
  Append("ann", 0s);
  Run(10s);
  EXPECT_THAT(Texts(10s), IsEmpty()) << "the clocks may differ by the margin";
  Run(11s);
  Run(12s);
  EXPECT_THAT(Texts(12s), ElementsAre("short 0 ann: 0"));
}

TEST_F(ProcessorTest, NothingClosesWhileTheLogCannotBeReached) {
  Start();
  Append("ann", 0s);
  Run(1s);
  log_.SetReachable(false);
  for (Duration at = 2s; at < 1h; at += 60s) {
    EXPECT_EQ(processor_->Run(kT0 + at).status().code(), absl::StatusCode::kUnavailable);
    EXPECT_THAT(Texts(at), IsEmpty());
  }
  Append("ann", 5s);  // in time, and seen late
  log_.SetReachable(true);
  Run(1h);
  Run(1h + 1s);
  EXPECT_THAT(Texts(1h + 1s), ElementsAre("short 0 ann: 0 1", "long 0 ann: 0 1"));
}

TEST_F(ProcessorTest, WhatWasDecidedAndNotConfirmedComesAgainWithItsId) {
  Start();
  Append("ann", 0s, "!");
  Append("bob", 0s, "!");
  Run(0s);
  const std::vector<Message> before = Lease(0s);
  ASSERT_EQ(before.size(), 2u);
  EXPECT_TRUE(processor_->Ack(before[0].id));
  EXPECT_FALSE(processor_->Ack(before[0].id)) << "it was acked before";
  Run(1s);  // the ack is committed
  Start();
  Run(1s);
  const std::vector<Message> after = Lease(1s);
  ASSERT_EQ(after.size(), 1u);
  EXPECT_EQ(after[0].id, before[1].id);
  EXPECT_EQ(after[0].payload, before[1].payload);
}

TEST_F(ProcessorTest, AnAckThatWasNotCommittedIsForgotten) {
  Start({.commit_every = 3s});
  Append("ann", 0s, "!");
  Run(0s);
  Run(3s);
  AckAll(3s);
  Start({.commit_every = 3s});
  Run(4s);
  EXPECT_THAT(Texts(4s), ElementsAre("emitted 0 ann: 0"));
}

// The confirmed ones are in two ranges.
TEST_F(ProcessorTest, AcksOfAnyOrderAreKept) {
  Start();
  for (const char* key : {"a", "b", "c", "d", "e"}) Append(key, 0s, "!");
  Run(0s);
  const std::vector<Message> lent = Lease(0s);
  ASSERT_EQ(lent.size(), 5u);
  for (const size_t i : {1u, 3u}) EXPECT_TRUE(processor_->Ack(lent[i].id));
  Run(2s);
  Start();
  Run(2s);
  EXPECT_THAT(Texts(2s), ElementsAre("emitted 0 a: 0", "emitted 2 c: 2", "emitted 4 e: 4"));
}

TEST_F(ProcessorTest, MessagesOfAKeyAreLentOneAtATime) {
  Start();
  for (const char* key : {"a", "a", "b"}) Append(key, 0s, "!");
  Run(0s);
  std::vector<Message> lent = Lease(0s);
  ASSERT_EQ(lent.size(), 2u);
  EXPECT_EQ(lent[0].payload + lent[1].payload, "02");
  EXPECT_TRUE(processor_->Nack(lent[0].id, 5s, kT0));
  EXPECT_THAT(Texts(4s), IsEmpty());
  EXPECT_THAT(Texts(5s), ElementsAre("emitted 0 a: 0"));
  EXPECT_TRUE(processor_->Ack(lent[0].id));
  EXPECT_THAT(Texts(5s), ElementsAre("emitted 1 a: 1"));
  EXPECT_THAT(Texts(30s), ElementsAre("emitted 2 b: 2")) << "nobody has acked it in time";
}

TEST_F(ProcessorTest, ALeaseEndsHoweverManyOthersWereAcked) {
  Start();
  for (int i = 0; i < 200; ++i) Append("k" + std::to_string(i), 0s, "!");
  Run(0s);
  ASSERT_EQ(Lease(0s, 1).size(), 1u);
  for (int i = 1; i < 200; ++i) {
    const std::vector<Message> lent = Lease(0s, 1);
    ASSERT_EQ(lent.size(), 1u);
    EXPECT_TRUE(processor_->Ack(lent[0].id));
  }
  EXPECT_THAT(Texts(29s), IsEmpty());
  EXPECT_THAT(Texts(30s), ElementsAre("emitted 0 k0: 0"));
}

TEST_F(ProcessorTest, ALaneReadsNoMoreWhileMessagesHaveNoRoom) {
  Start({.messages_bytes_max = 1'000});
  log_.SetPollRecords(1);
  for (int i = 0; i < 100; ++i) Append("k" + std::to_string(i), 0s, "!");
  Run(0s);
  EXPECT_LT(Status().next, 20u);
  for (int i = 0; i < 100; ++i) {
    AckAll(0s);
    Run(1s * i);
  }
  EXPECT_EQ(Status().next, 100u);
}

TEST_F(ProcessorTest, ASnapshotCountsWhenAllMessagesBeforeItAreConfirmed) {
  Start({.replay_limit = 2});
  Append("ann", 0s, "!");
  Append("ann", 1s);
  Append("ann", 2s);
  Run(2s);
  Run(4s);
  EXPECT_EQ(log_.Committed(0)->offset, 3u);
  EXPECT_EQ(log_.Committed(0)->needed, 0u);
  AckAll(4s);
  Run(6s);
  EXPECT_EQ(log_.Committed(0)->needed, 3u);
  log_.RemoveBefore(0, 3);
  Start({.replay_limit = 2});
  Run(14s);
  Run(15s);
  EXPECT_THAT(Texts(15s), ElementsAre("short 0 ann: 0 1 2"));
}

TEST_F(ProcessorTest, ASnapshotThatFailsIsTriedAgain) {
  Start({.replay_limit = 1});
  log_.SetSnapshotFate([](int) { return absl::ResourceExhaustedError("the disk is full"); });
  Append("ann", 0s);
  Run(0s);
  Run(2s);
  EXPECT_EQ(Status().why.message(), "the disk is full");
  EXPECT_EQ(Status().phase, LanePhase::kLive);
  log_.SetSnapshotFate(nullptr);
  Append("ann", 1s);
  Run(4s);
  Run(6s);
  EXPECT_EQ(log_.Committed(0)->needed, 2u);
  EXPECT_EQ(log_.Snapshots(0), 1u);
}

// The record is older than the time to which silence has moved the lane: a next owner has to let
// the group close there as well, although it reads both records at once.
TEST_F(ProcessorTest, ATickThatAnOlderRecordUndercutsIsRepeatedByTheNextOwner) {
  Start();
  Append("ann", 0s);
  Run(12s);  // closes the group as of 10.5 s
  Append("ann", 9s, "!");
  Run(12s);
  Run(13s);
  EXPECT_EQ(Lease(13s).size(), 2u);
  Start();
  Run(13s);
  EXPECT_EQ(Status().phase, LanePhase::kLive) << Status().why;
  EXPECT_THAT(Texts(13s), ElementsAre("emitted 0 ann: 1", "short 0 ann: 0"));
  Run(90s);
  Run(91s);
  EXPECT_THAT(Texts(91s), ElementsAre("emitted 0 ann: 1", "short 0 ann: 0", "long 0 ann: 0 1"));
}

TEST_F(ProcessorTest, TheTimeOfATickHoldsForTheNextOwner) {
  Start();
  Append("ann", 0s);
  Run(12s);
  Run(13s);
  EXPECT_THAT(Texts(13s), ElementsAre("short 0 ann: 0"));
  const EngineTime now = Status().now;
  EXPECT_EQ(now, kT0 + 10500ms);
  Start();
  Run(13s);
  EXPECT_EQ(Status().now, now);
  EXPECT_THAT(Texts(13s), ElementsAre("short 0 ann: 0"));
}

// Its messages depend on more than records.
class FickleHandler final : public Handler {
 public:
  explicit FickleHandler(int mood) : mood_(mood) {}
  Handled Handle(const LogRecord& record, Lane& lane) override {
    lane.Emit(record.key, std::to_string(mood_));
    return Handled::Done();
  }

 private:
  const int mood_;
};

MakeHandler Fickle(int mood) {
  return [mood](Lane&) { return std::make_unique<FickleHandler>(mood); };
}

TEST_F(ProcessorTest, ALaneThatMakesOtherMessagesIsParked) {
  Start({}, Fickle(1));
  Append("ann", 0s);
  Run(0s);
  Start({}, Fickle(2));
  Run(1s);
  EXPECT_EQ(Status().phase, LanePhase::kParked);
  EXPECT_THAT(std::string(Status().why.message()), HasSubstr("has diverged"));
  EXPECT_THAT(Texts(1s), IsEmpty());
  EXPECT_EQ(log_.Committed(0)->offset, 1u) << "nothing is committed any more";
}

TEST_F(ProcessorTest, AnotherVersionTakesOverWhereTheOneBeforeWasStoppedInOrder) {
  Start({.version = 1}, Fickle(1));
  Append("ann", 0s);
  Run(0s);
  Start({.version = 2}, Fickle(2));
  Run(1s);
  EXPECT_EQ(Status().phase, LanePhase::kParked);
  EXPECT_THAT(std::string(Status().why.message()), HasSubstr("version 1"));

  Start({.version = 1}, Fickle(1));
  Run(1s);
  EXPECT_THAT(Texts(1s), ElementsAre("emitted 0 ann: 1"));
  processor_->Stop();
  Run(2s);
  EXPECT_FALSE(processor_->stopped()) << "a message waits for its ack";
  AckAll(40s);
  Run(40s);
  Run(41s);
  EXPECT_TRUE(processor_->stopped());
  Start({.version = 2}, Fickle(2));
  Append("bob", 42s);
  Run(42s);
  Run(43s);
  EXPECT_EQ(Status().phase, LanePhase::kLive) << Status().why;
  EXPECT_THAT(Texts(43s), ElementsAre("emitted 1 bob: 2"));
}

// A handler with several streams, in an order of its own, that says which version it is.
class Versioned final : public Handler {
 public:
  Versioned(Lane& lane, std::vector<std::string> names, std::string version, Duration quiet)
      : version_(std::move(version)) {
    for (const std::string& name : names) {
      folders_.emplace_back(lane.engine(), name,
                            FolderOptions{.quiet_period = quiet, .max_wait = kForever});
      lane.Publish(name, folders_.back(),
                   [this](const auto& closed) { return version_ + " " + closed.state.Text(); });
    }
  }
  Handled Handle(const LogRecord& record, Lane&) override {
    for (Groups& each : folders_) each.Fold(record.key, record.offset, record.logged);
    return Handled::Done();
  }

 private:
  const std::string version_;
  std::vector<Groups> folders_;
};

MakeHandler Version(std::vector<std::string> names, const std::string& version,
                    Duration quiet = kShortQuiet) {
  return [=](Lane& lane) { return std::make_unique<Versioned>(lane, names, version, quiet); };
}

// What was done since the snapshot is done again, and has to come to the same messages.
TEST_F(ProcessorTest, OtherOptionsTakeOverOnlyWhereTheOwnerBeforeWasStoppedInOrder) {
  Start({.version = 1, .replay_limit = 1}, Version({"a"}, "v"));
  Append("ann", 0s);
  Run(0s);
  Run(2s);
  ASSERT_EQ(log_.Committed(0)->needed, 1u);
  Start({.version = 1}, Version({"a"}, "v"));
  Run(2s);
  Append("bob", 3s);
  Run(3s);
  Run(5s);
  ASSERT_EQ(log_.Committed(0)->offset, 2u);
  ASSERT_EQ(log_.Committed(0)->needed, 1u);
  Start({.version = 1}, Version({"a"}, "v", 1h));
  Run(6s);
  EXPECT_EQ(Status().phase, LanePhase::kParked);
  EXPECT_THAT(std::string(Status().why.message()), HasSubstr("\"a\": quiet_period is 3600s, and "));
  Start({.version = 1}, Version({"a"}, "v"));
  Run(60s);
  processor_->Stop();
  AckAll(120s);
  Run(120s);
  Run(121s);
  ASSERT_TRUE(processor_->stopped());
  Start({.version = 1}, Version({"a"}, "v", 1h));
  Run(122s);
  EXPECT_EQ(Status().phase, LanePhase::kLive) << Status().why;
}

TEST_F(ProcessorTest, ANewVersionMayHaveMoreStreamsInAnotherOrder) {
  Start({.version = 1}, Version({"a", "b"}, "v1"));
  Append("ann", 0s);
  Run(20s);
  Run(21s);
  EXPECT_THAT(Texts(21s), ElementsAre("a 0 ann: v1 0", "b 0 ann: v1 0"));
  processor_->Stop();
  AckAll(60s);
  Run(60s);
  Run(61s);
  ASSERT_TRUE(processor_->stopped());

  Start({.version = 2}, Version({"c", "b", "a"}, "v2"));
  Append("ann", 70s);
  Run(90s);
  Run(91s);
  EXPECT_EQ(Status().phase, LanePhase::kLive) << Status().why;
  EXPECT_THAT(Texts(91s), ElementsAre("c 0 ann: v2 1", "b 1 ann: v2 1", "a 1 ann: v2 1"));

  Start({.version = 2}, Version({"c", "b", "a"}, "v2"));
  Run(92s);
  EXPECT_EQ(Status().phase, LanePhase::kLive) << "the snapshot is still of version 1";
  EXPECT_EQ(Lease(92s).size(), 3u);

  Start({.version = 2}, Version({"a"}, "v2"));
  Run(93s);
  EXPECT_EQ(Status().phase, LanePhase::kParked);
  EXPECT_THAT(std::string(Status().why.message()), HasSubstr("2 of them are not named here"));
}

TEST_F(ProcessorTest, ANewVersionTakesOverAnIdlePartition) {
  Start({.version = 1});
  Run(0s);
  processor_->Stop();
  Run(1s);
  Run(2s);
  ASSERT_TRUE(processor_->stopped());
  Start({.version = 2});
  Append("ann", 3s, "!");
  Run(3s);
  Run(4s);
  EXPECT_THAT(Texts(4s), ElementsAre("emitted 0 ann: 0"));
}

// Time has moved since the snapshot, and that has made a message.
TEST_F(ProcessorTest, AStopBehindATickTakesASnapshot) {
  Start({.version = 1, .replay_limit = 1});
  Append("ann", 0s);
  Run(0s);
  Run(12s);
  Start({.version = 1});
  Run(13s);
  AckAll(13s);
  processor_->Stop();
  Run(14s);
  Run(15s);
  ASSERT_TRUE(processor_->stopped());
  Start({.version = 2});
  Run(16s);
  EXPECT_EQ(Status().phase, LanePhase::kLive) << Status().why;
}

TEST_F(ProcessorTest, AStopThatClosesAllMakesMessagesOfWhatIsOpen) {
  Start();
  Append("ann", 0s);
  Append("bob", 1s);
  Run(2s);
  processor_->CloseAllAndStop();
  Run(3s);
  EXPECT_FALSE(processor_->stopped()) << "messages wait";
  EXPECT_EQ(Status().waiting, 4u);
  Start();  // by a crash: the next owner closes at the same place
  Append("ann", 4s);
  Run(4s);
  EXPECT_THAT(Texts(4s),
              ElementsAre("short 0 ann: 0", "short 1 bob: 1", "long 0 ann: 0", "long 1 bob: 1"));
  processor_->CloseAllAndStop();
  std::set<std::string> all;
  for (Duration at = 40s; at < 44s; at += 1s) {  // the leases have run out
    Run(at);
    for (const Message& each : Lease(at)) {
      all.insert(each.stream + " " + each.key + ": " + each.payload);
      EXPECT_TRUE(processor_->Ack(each.id));
    }
  }
  EXPECT_TRUE(processor_->stopped());
  EXPECT_THAT(all, ElementsAre("long ann: 0", "long ann: 2", "long bob: 1", "short ann: 0",
                               "short ann: 2", "short bob: 1"));
}

// As a job does that runs each night.
TEST_F(ProcessorTest, AStopThatClosesAllMayComeAnyNumberOfTimes) {
  for (int night = 0; night < 40; ++night) {
    const Duration at = 1h * night;
    Start();
    if (night % 2 == 0) Append("ann", at);
    Run(at);
    processor_->CloseAllAndStop();
    for (Duration more = 1s; more < 5s; more += 1s) {
      Run(at + more);
      AckAll(at + more);
    }
    ASSERT_TRUE(processor_->stopped()) << "night " << night;
  }
}

TEST_F(ProcessorTest, AStopWaitsForItsSnapshot) {
  Start();
  Append("ann", 0s);
  Run(0s);
  log_.SetSnapshotFate([](int) { return absl::ResourceExhaustedError("the disk is full"); });
  processor_->Stop();
  Run(1s);
  Run(2s);
  EXPECT_FALSE(processor_->stopped());
  EXPECT_EQ(Status().why.message(), "the disk is full");
  log_.SetSnapshotFate(nullptr);
  Run(3s);
  Run(4s);
  EXPECT_TRUE(processor_->stopped());
}

TEST_F(ProcessorTest, AStopLetsAReplayEnd) {
  Start();
  for (int i = 0; i < 5; ++i) Append("ann", 0s);
  Run(0s);
  log_.SetPollRecords(1);
  Start();
  ASSERT_TRUE(processor_->Run(kT0 + 1s).ok());
  ASSERT_EQ(Status().phase, LanePhase::kReplaying);
  processor_->Stop();
  Run(1s);
  Run(2s);
  EXPECT_TRUE(processor_->stopped());
  EXPECT_EQ(Status().next, 5u);
}

TEST_F(ProcessorTest, AClockThatIsSetBackDelaysNothing) {
  Start();
  Run(0s);
  Append("ann", -3600s, "!");
  Run(-3600s);
  Run(-3599s);
  EXPECT_THAT(Texts(-3599s), ElementsAre("emitted 0 ann: 0"));
}

TEST_F(ProcessorTest, AMessageThatNobodyAcksLetsOthersPass) {
  Start();
  Append("poison", 0s, "!");
  Run(0s);
  Run(1s);
  constexpr size_t kOthers = 10'000;
  for (size_t i = 0; i < kOthers; ++i) Append("k" + std::to_string(i), 1s, "!");
  size_t acked = 0;
  for (Duration at = 2s; at < 20s; at += 1s) {
    Run(at);
    for (const Message& each : Lease(at, 1'000, 1s)) {
      if (each.key == "poison") continue;
      EXPECT_TRUE(processor_->Ack(each.id));
      acked += each.stream == "emitted" ? 1 : 0;
    }
  }
  EXPECT_EQ(acked, kOthers);
}

TEST_F(ProcessorTest, TooManyOlderRecordsBehindSilenceAreTold) {
  Start();
  Append("nobody acks this", 0s, "!");
  for (int i = 1; i <= 16; ++i) {
    const Duration at = 100s * i;
    Append("ann", at);
    Run(at + 15s);
    Append("ann", at + 5s);  // older than the silence that has ended the group
    Run(at + 15s);
  }
  EXPECT_THAT(std::string(Status().why.message()), HasSubstr("older records came behind silence"));
  Start();
  Run(2000s);
  EXPECT_EQ(Status().phase, LanePhase::kLive) << Status().why;
}

TEST_F(ProcessorTest, AStoppedProcessorTakesNoMoreRecords) {
  Start();
  Append("ann", 0s);
  Run(0s);
  processor_->Stop();
  Run(1s);
  Append("ann", 1s);
  Run(100s);
  Run(101s);
  EXPECT_TRUE(processor_->stopped());
  EXPECT_EQ(Status().next, 1u);
  EXPECT_EQ(log_.Committed(0)->needed, 1u) << "the snapshot has all";
}

TEST_F(ProcessorTest, ALaneWhosePositionIsLostIsParked) {
  Start();
  for (int i = 0; i < 5; ++i) Append("ann", 0s);
  Run(0s);
  log_.RemoveBefore(0, 2);  // they are needed, as there is no snapshot
  Start();
  Run(1s);
  EXPECT_EQ(Status().phase, LanePhase::kParked);
  EXPECT_THAT(std::string(Status().why.message()), HasSubstr("begins at 2"));
}

TEST_F(ProcessorTest, ALogThatHasLostRecordsThatWereHandledParksTheLane) {
  Start();
  for (int i = 0; i < 5; ++i) Append("ann", 0s);
  Run(0s);
  log_.Truncate(0, 3);
  Start();
  Append("bob", 1s);
  Run(1s);
  EXPECT_EQ(Status().phase, LanePhase::kParked);
}

TEST_F(ProcessorTest, ALaneWhoseSnapshotIsGoneIsParked) {
  Start({.replay_limit = 1});
  Append("ann", 0s);
  Run(0s);
  Run(2s);
  ASSERT_EQ(log_.Committed(0)->needed, 1u);
  ASSERT_TRUE(member_->snapshots().RemoveBefore(0, 100).ok());
  Start();
  Run(3s);
  EXPECT_EQ(Status().phase, LanePhase::kParked);
  EXPECT_EQ(Status().why.code(), absl::StatusCode::kNotFound);
}

TEST_F(ProcessorTest, AnOwnerThatWasReplacedLearnsThatFromItsCommit) {
  Start();
  Append("ann", 0s, "!");
  Run(0s);
  const std::unique_ptr<PartitionedLog> other = log_.Join();
  log_.AssignSilently(0, *other);
  const std::vector<Message> lent = Lease(0s);
  ASSERT_EQ(lent.size(), 1u) << "it was decided";
  EXPECT_TRUE(processor_->Ack(lent[0].id));
  Append("ann", 1s, "!");
  Run(2s);
  EXPECT_THAT(processor_->lanes(), IsEmpty());
  EXPECT_FALSE(processor_->Nack(lent[0].id, 0s, kT0));
}

TEST(MessageIdTest, HasATextThatNamesIt) {
  EXPECT_EQ(FormatMessageId("orders", {.partition = 3, .stream = 1, .life = 0xab, .number = 17},
                            "baskets"),
            "orders/3/00000000000000ab/baskets/17");
}

}  // namespace
}  // namespace pleat::inline v0_1
