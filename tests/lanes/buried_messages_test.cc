// Messages that cannot be delivered: they are set aside, whole, and nothing waits for them.
#include "engine/lanes/buried_messages.h"

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pleat/stored.h>

#include "engine/lanes/lane_checkpoint.h"
#include "tests/lanes/lane_world.h"
#include "tests/lanes/one_lane.h"

namespace pleat::inline v0_1 {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;
using testing::ElementsAre;
using testing::IsEmpty;

class BuriedMessagesTest : public OneLane {
 protected:
  // The messages of some records of these keys.
  void Emit(const std::vector<std::string>& keys, Duration at) {
    for (const std::string& each : keys) Append(each, at, "!");
    Run(at);
  }
  // Such as "ann: 0, no such address", with a star if it is lent again.
  std::vector<std::string> Buried() const {
    std::vector<std::string> texts;
    for (const BuriedMessage& each : processor_->buried()) {
      texts.push_back(each.message.key + ": " + each.message.payload + ", " + each.reason +
                      (each.is_revived ? " *" : ""));
    }
    return texts;
  }
};

TEST_F(BuriedMessagesTest, NothingWaitsForOne) {
  Start({.replay_limit = 1});
  Emit({"ann", "ann"}, 0s);
  const std::vector<Message> lent = Lease(0s);
  ASSERT_EQ(lent.size(), 1u);
  EXPECT_TRUE(processor_->Bury(lent[0].id, "no such address"));
  EXPECT_FALSE(processor_->Bury(lent[0].id, "no such address")) << "it rests already";
  EXPECT_FALSE(processor_->Ack(lent[0].id));
  EXPECT_FALSE(processor_->Nack(lent[0].id, 0s, kT0));
  EXPECT_THAT(Buried(), ElementsAre("ann: 0, no such address"));
  EXPECT_THAT(Texts(0s), ElementsAre("emitted 1 ann: 1"));
  EXPECT_EQ(Status().buried, 1u);
  AckAll(40s);
  Run(41s);
  AckAll(41s);
  Run(42s);
  EXPECT_GT(log_.Committed(0)->needed, 0u) << "a snapshot counts";
}

TEST_F(BuriedMessagesTest, TheNextOwnerHasThem) {
  Start({.replay_limit = 1});
  Emit({"ann", "bob"}, 0s);
  const std::vector<Message> lent = Lease(0s);
  ASSERT_EQ(lent.size(), 2u);
  EXPECT_TRUE(processor_->Bury(lent[0].id, "bad"));
  EXPECT_TRUE(processor_->Ack(lent[1].id));
  Run(2s);
  Run(4s);
  ASSERT_GT(log_.Committed(0)->needed, 0u) << "nobody can make the message again";
  Start();
  Run(5s);
  EXPECT_EQ(Status().phase, LanePhase::kLive) << Status().why;
  EXPECT_THAT(Buried(), ElementsAre("ann: 0, bad"));
  EXPECT_THAT(Texts(5s), IsEmpty());
  EXPECT_TRUE(processor_->Revive(lent[0].id));
  EXPECT_FALSE(processor_->Revive(lent[0].id)) << "it is revived";
  EXPECT_THAT(Texts(5s), ElementsAre("emitted 0 ann: 0"));
}

// Until the commit that has it a next owner delivers the message again.
TEST_F(BuriedMessagesTest, OneWithoutACommitComesAgain) {
  Start();
  Emit({"ann"}, 0s);
  Run(1s);
  const std::vector<Message> lent = Lease(1s);
  ASSERT_EQ(lent.size(), 1u);
  EXPECT_TRUE(processor_->Bury(lent[0].id, "bad"));
  Start();
  Run(2s);
  EXPECT_THAT(Buried(), IsEmpty());
  EXPECT_THAT(Texts(2s), ElementsAre("emitted 0 ann: 0"));
}

TEST_F(BuriedMessagesTest, ItIsOnTheDiskBeforeTheCommit) {
  Start();
  Emit({"ann"}, 0s);
  Run(1s);
  const std::vector<Message> lent = Lease(1s);
  ASSERT_EQ(lent.size(), 1u);
  EXPECT_TRUE(processor_->Bury(lent[0].id, "bad"));
  log_.SetSnapshotFate([](int) { return absl::ResourceExhaustedError("the disk is full"); });
  Run(3s);
  Run(5s);
  EXPECT_EQ(Status().why.message(), "the disk is full");
  Start();
  Run(6s);
  EXPECT_THAT(Texts(6s), ElementsAre("emitted 0 ann: 0"));
}

TEST_F(BuriedMessagesTest, ARevivedOneIsLentUntilItIsAcked) {
  Start();
  Emit({"ann", "ann", "bob"}, 0s);
  for (int i = 0; i < 2; ++i) {
    for (const Message& each : Lease(0s)) EXPECT_TRUE(processor_->Bury(each.id, "bad"));
  }
  const std::vector<BuriedMessage> buried = processor_->buried();
  ASSERT_EQ(buried.size(), 3u);
  for (const BuriedMessage& each : buried) EXPECT_TRUE(processor_->Revive(each.message.id));
  EXPECT_THAT(Buried(), ElementsAre("ann: 0, bad *", "ann: 1, bad *", "bob: 2, bad *"));
  EXPECT_THAT(Texts(0s), ElementsAre("emitted 0 ann: 0", "emitted 2 bob: 2"));
  EXPECT_THAT(Texts(29s), IsEmpty());
  EXPECT_THAT(Texts(30s, 1), ElementsAre("emitted 0 ann: 0"));
  EXPECT_TRUE(processor_->Nack(buried[2].message.id, 5s, kT0 + 30s));
  EXPECT_TRUE(processor_->Ack(buried[0].message.id));
  EXPECT_FALSE(processor_->Ack(buried[0].message.id));
  EXPECT_THAT(Texts(34s), ElementsAre("emitted 1 ann: 1"));
  EXPECT_TRUE(processor_->Bury(buried[1].message.id, "still bad"));
  EXPECT_THAT(Buried(), ElementsAre("ann: 1, still bad", "bob: 2, bad *"));
  EXPECT_THAT(Texts(35s), ElementsAre("emitted 2 bob: 2"));

  Run(36s);
  Start();
  Run(37s);
  EXPECT_THAT(Buried(), ElementsAre("ann: 1, still bad", "bob: 2, bad *"));
  EXPECT_THAT(Texts(37s), testing::Contains("emitted 2 bob: 2"));
}

TEST_F(BuriedMessagesTest, ADroppedOneIsGone) {
  Start();
  Emit({"ann"}, 0s);
  const std::vector<Message> lent = Lease(0s);
  ASSERT_EQ(lent.size(), 1u);
  EXPECT_FALSE(processor_->Drop(lent[0].id)) << "it is not buried";
  EXPECT_TRUE(processor_->Bury(lent[0].id, "bad"));
  Run(2s);
  Run(3s);
  EXPECT_EQ(log_.Snapshots(0), 1u);
  EXPECT_TRUE(processor_->Drop(lent[0].id));
  EXPECT_FALSE(processor_->Revive(lent[0].id));
  Run(5s);
  Run(6s);
  EXPECT_EQ(log_.Snapshots(0), 0u) << "there is no book any more";
  Start();
  Run(7s);
  EXPECT_THAT(Buried(), IsEmpty());
  EXPECT_THAT(Texts(7s), IsEmpty());
}

TEST_F(BuriedMessagesTest, ThereIsABound) {
  Start({.buried_bytes_max = 500});
  Emit({"a", "b", "c", "d", "e"}, 0s);
  int buried = 0;
  for (const Message& each : Lease(0s)) buried += processor_->Bury(each.id, "bad") ? 1 : 0;
  EXPECT_GT(buried, 0);
  EXPECT_LT(buried, 5);
  EXPECT_EQ(Texts(30s).size(), static_cast<size_t>(5 - buried)) << "the others wait";
}

TEST_F(BuriedMessagesTest, AStopDoesNotWaitForThem) {
  Start({.version = 1});
  Emit({"ann"}, 0s);
  const std::vector<Message> lent = Lease(0s);
  ASSERT_EQ(lent.size(), 1u);
  EXPECT_TRUE(processor_->Bury(lent[0].id, "bad"));
  processor_->Stop();
  for (Duration at = 1s; at < 4s; at += 1s) Run(at);
  EXPECT_TRUE(processor_->stopped());
  Start({.version = 2});
  Run(5s);
  EXPECT_EQ(Status().phase, LanePhase::kLive) << Status().why;
  EXPECT_THAT(Buried(), ElementsAre("ann: 0, bad"));
}

// A commit has no room for so many gaps between messages that are confirmed: those that were acked
// come again, and those that rest do not.
TEST_F(BuriedMessagesTest, ManyGapsLendNothingThatRests) {
  Start({.buried_bytes_max = 1 << 20});
  std::vector<std::string> keys;
  for (int i = 0; i < 1'000; ++i) keys.push_back("k" + std::to_string(i));
  Emit(keys, 0s);
  Run(1s);
  const std::vector<Message> lent = Lease(1s, 1'000);
  ASSERT_EQ(lent.size(), 1'000u);
  for (size_t i = 1; i < lent.size(); i += 2) EXPECT_TRUE(processor_->Bury(lent[i].id, "bad"));
  Run(2s);
  Run(3s);
  Start();
  Run(4s);
  EXPECT_EQ(Status().phase, LanePhase::kLive) << Status().why;
  EXPECT_EQ(Buried().size(), 500u);
  EXPECT_EQ(Lease(4s, 1'000).size(), 500u);
}

// The first format had no names of streams, and else the same.
TEST(BuriedBook, IsReadInBothFormats) {
  const ProcessorOptions options;
  BuriedMessages written(options);
  ASSERT_TRUE(written.Bury({7, 1}, "mails", "ann", "hello", "bad"));
  const auto of_format = [&](char format) {
    FieldWriter names;
    names(std::map<uint32_t, std::string>{{7, "mails"}});
    std::string bytes = written.Book(/*life=*/5);
    bytes.resize(bytes.size() - kLaneChecksumBytes - (format == 1 ? names.size() : 0));
    bytes[8] = format;
    FieldWriter out;
    out.PutFields(bytes);
    return WithChecksum(out);
  };
  EXPECT_EQ(of_format(2), written.Book(5));
  for (const char format : {'\1', '\2'}) {
    BuriedMessages read(options);
    ASSERT_TRUE(read.ReadBook(of_format(format), /*life=*/5, /*number=*/3));
    EXPECT_EQ(read.all().at({7, 1}).payload, "hello");
    EXPECT_EQ(read.streams().size(), format == 1 ? 0u : 1u);
  }
  EXPECT_FALSE(BuriedMessages(options).ReadBook(of_format(3), 5, 3));
  EXPECT_FALSE(BuriedMessages(options).ReadBook(of_format(2), 6, 3)) << "of another life";
}

}  // namespace
}  // namespace pleat::inline v0_1
