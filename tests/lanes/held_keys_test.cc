// Keys whose first record cannot be handled: they wait, and other keys go on, whoever owns the lane.
#include "engine/lanes/held_keys.h"

#include <chrono>
#include <map>
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

class HeldKeysTest : public OneLane {
 protected:
  // Owners come and go; what refuses a record stays.
  void Begin(const ProcessorOptions& options = {}) {
    Start(options, HandlerFor(options, [this](int, const LogRecord& record) {
            ++asked_[record.offset];
            logged_[record.offset] = record.logged;
            if (away_.contains(std::string(record.key))) return Handled::RetryAfter(10s, "away");
            if (bad_.contains(record.offset)) return Handled::Park("bad");
            return Handled::Done();
          }));
  }
  // Such as "ann at 0: 2 records, parked, bad".
  std::vector<std::string> Held() const {
    std::vector<std::string> texts;
    for (const HeldKey& each : processor_->held_keys()) {
      texts.push_back(each.key + " at " + std::to_string(each.offset) + ": " +
                      std::to_string(each.records) + " records, " +
                      (each.is_parked ? "parked, " : "retried, ") + each.reason);
    }
    return texts;
  }
  // The keys' messages of the stream `emitted`, which are acked.
  std::vector<std::string> Emitted(Duration at) {
    std::vector<std::string> texts;
    for (;;) {
      const std::vector<Message> lent = Lease(at);
      if (lent.empty()) return texts;
      for (const Message& each : lent) {
        EXPECT_TRUE(processor_->Ack(each.id));
        if (each.stream == "emitted") texts.push_back(each.key + each.payload);
      }
    }
  }

  std::set<std::string> away_;  // keys whose records are to be retried
  std::set<uint64_t> bad_;      // offsets of records that are to be parked
  std::map<uint64_t, int> asked_;
  std::map<uint64_t, EngineTime> logged_;
};

TEST_F(HeldKeysTest, AKeyWaitsAndTheLaneGoesOn) {
  Begin();
  away_ = {"ann"};
  for (const char* key : {"ann", "bob", "ann", "bob"}) Append(key, 0s, "!");
  Run(0s);
  Run(1s);
  EXPECT_THAT(Emitted(1s), ElementsAre("bob1", "bob3"));
  EXPECT_THAT(Held(), ElementsAre("ann at 0: 2 records, retried, away"));
  EXPECT_EQ(Status().held_keys, 1u);
  EXPECT_EQ(asked_[2], 0) << "a record before it waits";

  away_ = {};
  Run(9s);
  EXPECT_THAT(Emitted(9s), IsEmpty()) << "ten seconds are not over";
  Run(10s);
  Run(11s);
  EXPECT_THAT(Emitted(11s), ElementsAre("ann0", "ann2"));
  EXPECT_THAT(Held(), IsEmpty());
  EXPECT_EQ(Status().held_keys, 0u);
}

TEST_F(HeldKeysTest, ARetryThatIsRefusedWaitsAgain) {
  Begin();
  away_ = {"ann"};
  Append("ann", 0s, "!");
  Run(0s);
  Run(10s);
  EXPECT_EQ(asked_[0], 2);
  Run(19s);
  EXPECT_EQ(asked_[0], 2);
  EXPECT_EQ(processor_->held_keys().at(0).attempts, 2u);
  Run(20s);
  EXPECT_EQ(asked_[0], 3);
}

TEST_F(HeldKeysTest, ARecordThatHasWaitedIsNotLate) {
  Begin();
  away_ = {"ann"};
  Append("ann", 0s);
  Append("bob", 100s);
  Run(100s);
  away_ = {};
  Run(110s);
  EXPECT_EQ(logged_[0], kT0 + 100s);
  Run(122s);
  Run(123s);
  EXPECT_THAT(Texts(123s), ElementsAre("short 0 bob: 1", "short 1 ann: 0"));
}

TEST_F(HeldKeysTest, AParkedKeyWaitsForAPerson) {
  Begin();
  bad_ = {0};
  for (const char* key : {"ann", "ann", "bob"}) Append(key, 0s, "!");
  Run(0s);
  Run(1h);
  EXPECT_THAT(Emitted(1h), ElementsAre("bob2"));
  EXPECT_THAT(Held(), ElementsAre("ann at 0: 2 records, parked, bad"));
  EXPECT_EQ(asked_[0], 1);
  EXPECT_FALSE(processor_->Retry(0, "bob"));
  EXPECT_FALSE(processor_->Retry(1, "ann"));
  EXPECT_TRUE(processor_->Retry(0, "ann"));
  Run(1h + 1s);
  EXPECT_EQ(asked_[0], 2);
  EXPECT_THAT(Held(), ElementsAre("ann at 0: 2 records, parked, bad"));
  bad_ = {};
  EXPECT_TRUE(processor_->Retry(0, "ann"));
  Run(1h + 2s);
  Run(1h + 3s);
  EXPECT_THAT(Emitted(1h + 3s), ElementsAre("ann0", "ann1"));
}

TEST_F(HeldKeysTest, ADropTakesTheFirstRecordOnly) {
  Begin();
  bad_ = {0};
  for (int i = 0; i < 3; ++i) Append("ann", 0s, "!");
  Run(0s);
  EXPECT_FALSE(processor_->Drop(0, "ann", 1)) << "another record is the first";
  EXPECT_FALSE(processor_->Drop(0, "bob", 0));
  EXPECT_TRUE(processor_->Drop(0, "ann", 0));
  EXPECT_FALSE(processor_->Drop(0, "ann", 0));
  Run(1s);
  Run(2s);
  EXPECT_THAT(Emitted(2s), ElementsAre("ann1", "ann2"));
  Append("ann", 3s, "!");
  Run(3s);
  Run(4s);
  EXPECT_THAT(Emitted(4s), ElementsAre("ann3"));
}

TEST_F(HeldKeysTest, ARecordBehindTheFirstMayBeRefusedAsWell) {
  Begin();
  bad_ = {0, 2};
  for (int i = 0; i < 4; ++i) Append("ann", 0s, "!");
  Run(0s);
  bad_ = {2};
  EXPECT_TRUE(processor_->Retry(0, "ann"));
  Run(1s);
  EXPECT_THAT(Held(), ElementsAre("ann at 2: 2 records, parked, bad"));
  Run(2s);
  EXPECT_THAT(Emitted(2s), ElementsAre("ann0", "ann1"));
}

// The book is there before the commit that passes the records.
TEST_F(HeldKeysTest, TheNextOwnerHoldsWhatWaited) {
  Begin();
  away_ = {"ann"};
  bad_ = {1};
  for (const char* key : {"ann", "bob", "cid", "ann", "bob"}) Append(key, 0s, "!");
  Run(0s);
  Run(1s);
  EXPECT_EQ(log_.Committed(0)->offset, 5u);
  EXPECT_THAT(Emitted(1s), ElementsAre("cid2"));
  Run(2s);

  asked_ = {};
  bad_ = {};
  Begin();
  ASSERT_TRUE(processor_->Run(kT0 + 2s).ok());
  EXPECT_EQ(Status().phase, LanePhase::kLive) << Status().why;
  EXPECT_THAT(Held(), ElementsAre("ann at 0: 2 records, retried, away",
                                  "bob at 1: 2 records, parked, bad"));
  EXPECT_EQ(asked_[1] + asked_[3] + asked_[4], 0) << "the book says that they wait";
  away_ = {};
  EXPECT_TRUE(processor_->Retry(0, "bob"));
  Run(12s);
  Run(13s);
  EXPECT_THAT(Emitted(13s), ElementsAre("bob1", "ann0", "bob4", "ann3"));
}

TEST_F(HeldKeysTest, TheNextOwnerRepeatsRetriesAndDropsAtTheirPlaces) {
  Begin();
  away_ = {"ann"};
  bad_ = {1};
  for (const char* key : {"ann", "bob", "cid"}) Append(key, 0s, "!");
  Run(0s);
  away_ = {};
  Run(11s);  // ann: behind cid
  Append("ann", 12s, "!");
  Run(12s);
  EXPECT_TRUE(processor_->Drop(0, "bob", 1));
  Append("bob", 13s, "!");
  Run(13s);
  Run(14s);
  const std::vector<Message> before = Lease(14s);
  Begin();
  Run(50s);
  Run(51s);
  EXPECT_EQ(Status().phase, LanePhase::kLive) << Status().why;
  const std::vector<Message> after = Lease(51s);
  ASSERT_GE(before.size(), 4u);
  ASSERT_GE(after.size(), before.size());
  std::map<uint64_t, std::string> emitted;
  for (const Message& each : after) {
    if (each.stream == "emitted") emitted[each.id.number] = each.key + each.payload;
  }
  EXPECT_THAT(emitted,
              testing::IsSupersetOf(
                  {std::pair<const uint64_t, std::string>(0, "cid2"), {1, "ann0"}, {3, "bob4"}}));
}

// Silence has moved time before the retry: the group that it ended has to end there again.
TEST_F(HeldKeysTest, ARetryIsRepeatedAtItsTime) {
  Begin();
  Append("ann", 0s);
  Append("bob", 0s);
  Run(0s);
  away_ = {"ann"};
  Append("ann", 5s);
  Run(5s);
  Run(16500ms);  // the lane's time is 15 s, and the group of ann is closed
  away_ = {};
  Run(17s);
  Run(90s);
  Run(91s);
  EXPECT_THAT(Texts(91s),
              ElementsAre("short 0 ann: 0", "short 1 bob: 1", "long 0 bob: 1", "long 1 ann: 0 2"));
  Begin();
  Run(92s);
  EXPECT_EQ(Status().phase, LanePhase::kLive) << Status().why;
  EXPECT_EQ(Lease(92s).size(), 4u);
}

// The record is late by then, and comes into a group of its own.
TEST_F(HeldKeysTest, OnEventTimeARetryIsRepeatedBehindSilence) {
  ProcessorOptions options;
  options.engine.axis = Axis::kEvent;
  Begin(options);
  away_ = {"ann"};
  log_.Append(0, {.key = "ann", .stamp = kT0 + 1s}, kT0 + 1s);
  log_.Append(0, {.key = "bob", .stamp = kT0}, kT0 + 1s);
  Run(1s);
  Run(50s);
  Run(51s);
  EXPECT_THAT(Texts(51s), ElementsAre("short 0 bob: 1")) << "30 seconds of silence were told";
  away_ = {};
  Run(61s);
  Run(200s);
  Run(201s);
  Receiver receiver;
  for (const Message& each : Lease(201s)) receiver.Take(each);
  EXPECT_EQ(receiver.all().size(), 4u);
  Begin(options);
  Run(202s);
  EXPECT_EQ(Status().phase, LanePhase::kLive) << Status().why;
  for (const Message& each : Lease(202s)) receiver.Take(each);
  EXPECT_EQ(receiver.all().size(), 4u);
  EXPECT_EQ(receiver.repeats(), 4u);
}

TEST_F(HeldKeysTest, ASnapshotHasTheRecordsThatWait) {
  Begin({.replay_limit = 2});
  away_ = {"ann"};
  for (const char* key : {"ann", "bob", "ann"}) Append(key, 0s, "!");
  Run(0s);
  EXPECT_THAT(Emitted(0s), ElementsAre("bob1"));
  Run(2s);
  ASSERT_EQ(log_.Committed(0)->needed, 3u);
  log_.RemoveBefore(0, 3);  // the log has them no more
  Begin({.replay_limit = 1'000});
  Run(3s);
  EXPECT_EQ(Status().phase, LanePhase::kLive) << Status().why;
  EXPECT_THAT(Held(), ElementsAre("ann at 0: 2 records, retried, away"));
  away_ = {};
  Run(13s);
  Run(14s);
  EXPECT_THAT(Texts(14s), ElementsAre("emitted 1 ann: 0", "short 0 bob: 1", "short 1 ann: 0 2"));
  Begin();
  Run(50s);
  EXPECT_EQ(Status().phase, LanePhase::kLive) << Status().why;
  EXPECT_THAT(Emitted(50s), ElementsAre("ann0", "ann2"));
}

// A snapshot that waits for acks is not needed by the commit, and will be.
TEST_F(HeldKeysTest, ASnapshotThatNoCommitNamesYetIsNotRemoved) {
  Begin({.replay_limit = 3});
  away_ = {"ann"};
  for (const char* key : {"ann", "bob", "bob"}) Append(key, 0s, "!");
  Run(0s);
  away_ = {};
  for (Duration at = 10s; at < 14s; at += 1s) {
    Append("bob", at);
    Run(at);
  }
  away_ = {"cid"};
  Append("cid", 14s);
  Run(14s);
  Run(15s);
  EXPECT_THAT(Emitted(15s), ElementsAre("bob1", "ann0", "bob2"));
  Run(16s);
  Run(17s);
  ASSERT_GT(log_.Committed(0)->needed, 0u);
  Begin();
  Run(18s);
  EXPECT_EQ(Status().phase, LanePhase::kLive) << Status().why;
}

TEST_F(HeldKeysTest, BooksThatNoCommitNamesAreRemoved) {
  Begin({.replay_limit = 1});
  Append("bob", 0s);
  Run(0s);
  Run(2s);
  ASSERT_EQ(log_.Snapshots(0), 1u);
  Begin();
  away_ = {"ann"};
  for (Duration at = 10s; at < 100s; at += 10s) {
    Append("ann", at);
    Run(at);
    Run(at + 5s);
    EXPECT_LE(log_.Snapshots(0), 2u) << "a snapshot and a book";
  }
  away_ = {};
  Run(110s);
  Emitted(111s);
  processor_->Stop();
  for (Duration at = 111s; at < 115s; at += 1s) {
    Run(at);
    Emitted(at);
  }
  EXPECT_TRUE(processor_->stopped());
  EXPECT_EQ(log_.Snapshots(0), 1u) << "nothing waits";
}

TEST_F(HeldKeysTest, AKeyThatIsParkedForLongKeepsNoOldSnapshots) {
  Begin({.replay_limit = 1});
  bad_ = {0};
  Append("ann", 0s);
  for (Duration at = 0s; at < 50s; at += 5s) {
    Append("bob", at);
    Run(at);
    Run(at + 2s);
    EXPECT_LE(log_.Snapshots(0), 2u) << "a snapshot and a book";
  }
  EXPECT_EQ(log_.Committed(0)->offset, 11u);
}

TEST_F(HeldKeysTest, NothingIsCommittedWhileTheBookCannotBeKept) {
  Begin();
  away_ = {"ann"};
  log_.SetSnapshotFate([](int) { return absl::ResourceExhaustedError("the disk is full"); });
  for (const char* key : {"ann", "bob"}) Append(key, 0s, "!");
  Run(0s);
  Run(5s);
  EXPECT_EQ(log_.Committed(0)->offset, 0u) << "which says that a life has begun";
  EXPECT_THAT(Emitted(5s), IsEmpty());
  EXPECT_EQ(Status().why.message(), "the disk is full");
  EXPECT_EQ(Status().phase, LanePhase::kLive);
  log_.SetSnapshotFate(nullptr);
  Run(6s);
  Run(7s);
  EXPECT_TRUE(Status().why.ok());
  EXPECT_THAT(Emitted(7s), ElementsAre("bob1"));
}

TEST(HeldBookTest, IsReadAsItWasWrittenAndNotIfAnyBitIsWrong) {
  const ProcessorOptions options;
  HeldKeys written(options);
  for (uint64_t offset = 0; offset < 6; ++offset) {
    written.Hold({.offset = offset, .key = offset % 2 == 0 ? "ann" : "bob"});
  }
  written.Refuse("ann", Handled::RetryAfter(1s, "away"), kT0);
  written.Refuse("bob", Handled::Park("bad"), kT0);
  written.Decide("ann", {.next = 6, .tick = kT0}, /*is_dropped=*/true);
  written.Decide("bob", {.next = 6, .tick = std::nullopt}, /*is_dropped=*/false);
  const std::string book = written.Book(/*life=*/1);

  HeldKeys read(options);
  ASSERT_TRUE(read.ReadBook(book, 1, 17));
  EXPECT_EQ(read.number(), 17u);
  for (uint64_t offset = 0; offset < 6; ++offset) {
    EXPECT_TRUE(read.IsNamed(offset));
    read.Hold({.offset = offset, .key = offset % 2 == 0 ? "ann" : "bob"});
  }
  EXPECT_FALSE(read.IsNamed(6));
  EXPECT_EQ(read.NextToRepeat(5), nullptr);
  ASSERT_NE(read.NextToRepeat(6), nullptr);
  EXPECT_EQ(read.NextToRepeat(6)->at.tick, kT0);
  EXPECT_TRUE(read.NextToRepeat(6)->is_dropped);
  read.Repeat();
  EXPECT_EQ(read.NextToRepeat(6)->at.tick, std::nullopt);
  read.Repeat();
  EXPECT_TRUE(read.EndReplay());
  EXPECT_EQ(read.Book(1), book);

  EXPECT_FALSE(HeldKeys(options).ReadBook(book, 2, 17)) << "of another life";
  for (size_t i = 0; i < book.size() * 8; ++i) {
    std::string damaged = book;
    damaged[i / 8] = static_cast<char>(damaged[i / 8] ^ (1 << (i % 8)));
    EXPECT_FALSE(HeldKeys(options).ReadBook(damaged, 1, 17)) << "bit " << i;
  }
}

TEST_F(HeldKeysTest, ALaneWhoseBookIsGoneIsParked) {
  Begin();
  bad_ = {0};
  Append("ann", 0s);
  Run(0s);
  Run(2s);
  ASSERT_EQ(log_.Snapshots(0), 1u);
  ASSERT_TRUE(member_->snapshots().RemoveBefore(0, 100).ok());
  Begin();
  Run(3s);
  EXPECT_EQ(Status().phase, LanePhase::kParked);
  EXPECT_EQ(Status().why.code(), absl::StatusCode::kNotFound);
}

TEST_F(HeldKeysTest, ALaneReadsNoMoreWhileHeldRecordsHaveNoRoom) {
  Begin({.held_bytes_max = 2'000});
  log_.SetPollRecords(1);
  bad_ = {0};
  for (int i = 0; i < 100; ++i) Append("ann", 0s, "!");
  Run(0s);
  Run(1s);
  EXPECT_LT(Status().next, 20u);
  EXPECT_EQ(Status().why.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(Status().why.message()), HasSubstr("held_bytes_max"));
  bad_ = {};
  EXPECT_TRUE(processor_->Retry(0, "ann"));
  for (Duration at = 2s; at < 5s; at += 1s) Run(at);
  EXPECT_EQ(Status().next, 100u);
  EXPECT_TRUE(Status().why.ok()) << Status().why;
}

TEST_F(HeldKeysTest, ALaneReadsNoMoreWhileAKeyHasManyRecords) {
  Begin({.held_records_max = 3});
  log_.SetPollRecords(1);
  bad_ = {0};
  for (int i = 0; i < 10; ++i) Append("ann", 0s, "!");
  Run(0s);
  EXPECT_EQ(Status().next, 3u);
  EXPECT_THAT(std::string(Status().why.message()), HasSubstr("held_records_max"));
  EXPECT_TRUE(processor_->Drop(0, "ann", 0));
  bad_ = {1};
  Run(1s);
  EXPECT_EQ(Status().next, 4u) << "one was dropped, and one more was read";
}

TEST_F(HeldKeysTest, AStopLeavesWhatWaitsToTheNextOwner) {
  Begin({.version = 1});
  bad_ = {0};
  away_ = {"cid"};
  for (const char* key : {"ann", "bob", "cid"}) Append(key, 0s, "!");
  Run(0s);
  Run(1s);
  EXPECT_THAT(Emitted(1s), ElementsAre("bob1"));
  processor_->Stop();
  away_ = {};
  for (Duration at = 2s; at < 20s; at += 1s) Run(at);
  EXPECT_TRUE(processor_->stopped());
  EXPECT_EQ(Held().size(), 2u);

  bad_ = {};
  Begin({.version = 2});
  Run(21s);
  EXPECT_EQ(Status().phase, LanePhase::kLive) << Status().why;
  EXPECT_TRUE(processor_->Retry(0, "ann"));
  Run(22s);
  Run(23s);
  EXPECT_THAT(Emitted(23s), ElementsAre("cid2", "ann0"));
}

// What was handled since the snapshot is another version's.
TEST_F(HeldKeysTest, AnotherVersionDoesNotRepeatRetries) {
  Begin({.version = 1, .replay_limit = 1});
  bad_ = {0};
  Append("ann", 0s);
  Run(0s);
  Run(2s);
  bad_ = {};
  EXPECT_TRUE(processor_->Retry(0, "ann"));
  Run(4s);
  ASSERT_EQ(Status().held_keys, 0u);
  Begin({.version = 2});
  Run(5s);
  EXPECT_EQ(Status().phase, LanePhase::kParked);
}

TEST_F(HeldKeysTest, ARecordThatWasDoneAndIsRefusedForGoodParksTheLane) {
  Begin();
  Append("ann", 0s, "!");
  Run(0s);
  Run(1s);
  bad_ = {0};
  Begin();
  Run(2s);
  EXPECT_EQ(Status().phase, LanePhase::kParked);
  EXPECT_THAT(std::string(Status().why.message()), HasSubstr("has diverged"));
}

// A service may be away when a lane moves: the records that were done need it once more.
TEST_F(HeldKeysTest, AReplayWaitsForAHandlerThatAsksForTime) {
  Begin();
  away_ = {"cid"};
  for (const char* key : {"ann", "cid", "ann", "bob"}) Append(key, 0s, "!");
  Run(0s);
  away_ = {};
  Run(11s);
  Run(12s);
  for (const std::set<std::string>& away : {std::set<std::string>{"ann"}, {"cid"}}) {
    away_ = away;
    Begin();
    Run(20s);
    EXPECT_EQ(Status().phase, LanePhase::kReplaying);
    EXPECT_EQ(Status().why.code(), absl::StatusCode::kUnavailable);
    EXPECT_THAT(std::string(Status().why.message()), HasSubstr("away"));
    Run(29s);
    away_ = {};
    Run(29s);
    EXPECT_EQ(Status().phase, LanePhase::kReplaying) << "ten seconds are not over";
    Run(30s);
    EXPECT_EQ(Status().phase, LanePhase::kLive) << Status().why;
  }
  EXPECT_THAT(Emitted(31s), ElementsAre("ann0", "bob3", "cid1", "ann2"));
}

TEST_F(HeldKeysTest, ManyRetriesAreForgottenBehindASnapshot) {
  Begin();
  for (int round = 0; round < 8; ++round) {
    const Duration at = 100s * round;
    away_ = {"a", "b", "c", "d"};
    for (int i = 0; i < 600; ++i) Append(std::string(1, static_cast<char>('a' + i % 4)), at);
    Run(at);
    away_ = {};
    Run(at + 20s);
    for (Duration later = 30s; later < 90s; later += 5s) {
      Run(at + later);
      Emitted(at + later);
    }
  }
  EXPECT_GT(log_.Committed(0)->needed, 0u);
  EXPECT_THAT(Held(), IsEmpty());
}

TEST_F(HeldKeysTest, AClockThatIsSetBackDelaysNoRetry) {
  Begin();
  away_ = {"ann"};
  Append("ann", 0s, "!");
  Run(0s);
  away_ = {};
  Run(-3600s);
  Run(-3590s);
  Run(-3589s);
  EXPECT_THAT(Emitted(-3589s), ElementsAre("ann0"));
}

using HeldKeysDeathTest = HeldKeysTest;

TEST_F(HeldKeysDeathTest, AHandlerThatRefusesHasEmittedNothing) {
  class Careless final : public Handler {
   public:
    Handled Handle(const LogRecord& record, Lane& lane) override {
      lane.Emit(record.key, record.payload);
      return Handled::RetryAfter(1s);
    }
  };
  EXPECT_DEATH(
      {
        Start({}, [](Lane&) { return std::make_unique<Careless>(); });
        Append("ann", 0s);
        Run(0s);
      },
      "check failed");
}

}  // namespace
}  // namespace pleat::inline v0_1
