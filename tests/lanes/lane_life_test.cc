// Where the life of a lane begins, and where it does not.
#include <chrono>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pleat/rollup.h>

#include "tests/lanes/lane_world.h"
#include "tests/lanes/one_lane.h"

namespace pleat::inline v0_1 {
namespace {

using std::chrono_literals::operator""s;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using LaneLifeTest = OneLane;

TEST_F(LaneLifeTest, ALifeBeginsAnewWhereNothingWasCommitted) {
  Start({.life = 1});
  Append("ann", 0s, "!");
  Run(0s);
  EXPECT_EQ(Lease(0s).at(0).id.life, 1u);
  log_.ForgetCommit(0);
  Start({.life = 2});
  Run(1s);
  EXPECT_EQ(Lease(1s).at(0).id.life, 2u);
}

// Else all records that the log still has would come to messages once more.
TEST_F(LaneLifeTest, ALaneWhoseCommitHasExpiredIsParkedAndDoesNotBeginAnew) {
  Start({.replay_limit = 1});
  Append("ann", 0s, "!");
  Run(0s);
  AckAll(0s);
  ASSERT_GT(log_.Snapshots(0), 0u);
  log_.ForgetCommit(0);
  Start({.replay_limit = 1});
  Append("ann", 1s, "!");
  Run(1s);
  EXPECT_EQ(Status().phase, LanePhase::kParked);
  EXPECT_THAT(std::string(Status().why.message()),
              AllOf(HasSubstr("partition 0: the last commit is gone"), HasSubstr("Move the")));
  EXPECT_THAT(Texts(1s), IsEmpty());
  ASSERT_TRUE(member_->snapshots().RemoveBefore(0, UINT64_MAX).ok());
  Start({.replay_limit = 1});
  Run(2s);
  EXPECT_THAT(Texts(2s), ElementsAre("emitted 0 ann: 0")) << "once a person has looked at it";
}

// So a lane that has files has had a commit.
TEST_F(LaneLifeTest, NoFileIsKeptBeforeTheFirstCommitWasTaken) {
  const auto parks = [](Lane& lane) {
    return std::make_unique<GroupingHandler>(lane, [](int, const LogRecord& record) {
      return record.key == "bad" ? Handled::Park("bad") : Handled::Done();
    });
  };
  for (const char* const key : {"ann", "bad"}) {
    log_.ForgetCommit(0);
    Start({.replay_limit = 1}, parks);
    Append(key, 0s, "!");
    log_.SetCommitFate([](const LogCommit&) { return CommitFate::kLost; });
    for (int i = 0; i < 5; ++i) Run(1s * i);
    EXPECT_EQ(log_.Snapshots(0), 0u) << key;
    Start({.replay_limit = 1}, parks);
    Run(5s);
    EXPECT_EQ(Status().phase, LanePhase::kLive) << Status().why;
  }
  log_.SetCommitFate(nullptr);
  for (int i = 6; i < 10; ++i) Run(1s * i);
  EXPECT_THAT(Texts(10s), ElementsAre("emitted 0 ann: 0"));
  EXPECT_GT(log_.Snapshots(0), 0u);
  Start({.replay_limit = 1}, parks);
  Run(11s);
  EXPECT_EQ(Status().held_keys, 1u);
}

// A member that has the partition no more, and does not know that, may have read it and lent its messages.
TEST_F(LaneLifeTest, AFirstCommitInDoubtIsNotTakenBack) {
  Start({.commit_every = 1s}, [](Lane& lane) {
    return std::make_unique<GroupingHandler>(lane, [](int, const LogRecord& record) {
      return record.key == "bad" ? Handled::Park("bad") : Handled::Done();
    });
  });
  Append("ann", 0s, "!");
  log_.SetCommitFate([](const LogCommit&) { return CommitFate::kTakenInDoubt; });
  Run(0s);
  ASSERT_EQ(log_.Committed(0)->offset, 1u);
  log_.SetCommitFate([](const LogCommit& commit) {
    EXPECT_GE(commit.offset, 1u);
    return CommitFate::kTaken;
  });
  Append("bad", 0s, "!");
  for (int i = 1; i < 15; ++i) Run(1s * i);
  EXPECT_EQ(log_.Committed(0)->offset, 2u);
  EXPECT_EQ(Status().held_keys, 1u);
  EXPECT_THAT(Texts(15s), ElementsAre("emitted 0 ann: 0", "short 0 ann: 0"));
}

TEST_F(LaneLifeTest, ACounterWithACheckpointStoreIsRefusedByName) {
  class Counting final : public Handler {
   public:
    explicit Counting(Lane& lane)
        : plays_(lane.engine(), "plays",
                 {.windows = {60s},
                  .allowed_lateness = 1s,
                  .store = std::make_shared<MemoryCheckpointStore>()}) {}
    Handled Handle(const LogRecord&, Lane&) override { return Handled::Done(); }

   private:
    RollupCounter plays_;
  };
  Start({}, [](Lane& lane) { return std::make_unique<Counting>(lane); });
  Append("ann", 0s);
  Run(0s);
  EXPECT_EQ(Status().phase, LanePhase::kParked);
  EXPECT_THAT(std::string(Status().why.message()),
              HasSubstr("the counter plays has a CheckpointStore"));
}

}  // namespace
}  // namespace pleat::inline v0_1
