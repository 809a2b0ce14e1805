// Lanes on event time: stamps move the engine's time, and in silence log time does.
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/lanes/lane_world.h"

namespace pleat::inline v0_1 {
namespace {

using std::chrono_literals::operator""h;
using std::chrono_literals::operator""min;
using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;
using testing::ElementsAre;
using testing::IsEmpty;

class EventTimeLaneTest : public testing::Test {
 protected:
  ~EventTimeLaneTest() override { Crash(); }

  static constexpr Duration kCommitEvery = 100ms;

  static ProcessorOptions OnEventTime(Duration idle) {
    ProcessorOptions options{.idle = idle, .commit_every = kCommitEvery};
    options.engine.axis = Axis::kEvent;
    return options;
  }
  void Start(const ProcessorOptions& options) {
    Crash();
    member_ = std::make_unique<Member>(log_, options);
    log_.Assign(0, member_->log());
  }
  void Crash() { member_.reset(); }

  void Append(const std::string& key, Duration stamp, Duration logged) {
    log_.Append(0, {.key = key, .stamp = kT0 + stamp, .payload = ""}, kT0 + logged);
  }
  // Rounds until nothing is left to be done, and all is committed.
  void Run(Duration at) {
    for (const Duration when : {at, at + kCommitEvery}) {
      for (int quiet = 0; quiet < 3;) {
        const absl::StatusOr<bool> more = member_->processor().Run(kT0 + when);
        ASSERT_TRUE(more.ok()) << more.status();
        quiet = *more ? 0 : quiet + 1;
      }
    }
  }
  // Of the groups with the short quiet period. Acks them.
  std::vector<std::string> Texts(Duration at) {
    std::vector<std::string> texts;
    std::vector<Message> lent;
    while (!(lent = member_->processor().Lease(100, 30s, kT0 + at)).empty()) {
      for (const Message& each : lent) {
        if (each.stream == "short") texts.push_back(each.key + ": " + each.payload);
        member_->processor().Ack(each.id);
      }
    }
    return texts;
  }
  LaneStatus Status() { return member_->processor().lanes().front(); }

  ScriptedLog log_{1};
  std::unique_ptr<Member> member_;
};

TEST_F(EventTimeLaneTest, AnHourOfBacklogMakesTheGroupsThatItWouldHaveMadeLive) {
  Start(OnEventTime(30s));
  Append("ann", 0s, 1h);
  Append("ann", 30s, 1h);
  Append("ann", 60s, 1h);
  Run(1h);
  EXPECT_THAT(Texts(1h), ElementsAre("ann: 0", "ann: 1")) << "quiet is 10 s";
}

TEST_F(EventTimeLaneTest, RecordsOutOfOrderWithinTheBoundAreFoldedInOrder) {
  Start(OnEventTime(30s));
  Append("ann", 8s, 8s);
  Append("ann", 6s, 9s);
  Append("ann", 40s, 40s);
  Run(40s);
  EXPECT_THAT(Texts(40s), ElementsAre("ann: 1 0"));
}

TEST_F(EventTimeLaneTest, InSilenceTheLastGroupClosesAfterItsQuietPeriodAndIdle) {
  Start(OnEventTime(30s));
  Append("ann", 0s, 1s);
  Run(41s);
  EXPECT_THAT(Texts(41s), IsEmpty());
  Run(42s);
  EXPECT_THAT(Texts(42s), ElementsAre("ann: 0"));
}

TEST_F(EventTimeLaneTest, OldRecordsThatComeWithoutAPauseAreNotLate) {
  Start(OnEventTime(30s));
  for (int i = 0; i < 10; ++i) {
    Append("ann", 2s * i, 1h + 20s * i);
    Run(1h + 20s * i + 2s);
  }
  EXPECT_THAT(Texts(2h), IsEmpty());
  Run(2h);
  EXPECT_THAT(Texts(2h), ElementsAre("ann: 0 1 2 3 4 5 6 7 8 9"));
}

TEST_F(EventTimeLaneTest, ARecordThatComesWhileTheEndIsAskedForEndsTheSilence) {
  Start(OnEventTime(30s));
  Append("ann", 0s, 0s);
  Run(0s);
  ASSERT_TRUE(member_->processor().Run(kT0 + 42s).ok());  // asks
  Append("bob", 5s, 39s);
  Run(42s);
  Append("ann", 8s, 43s);
  Run(2h);
  EXPECT_THAT(Texts(2h), ElementsAre("bob: 1", "ann: 0 2"));
}

TEST_F(EventTimeLaneTest, WithoutIdleGroupsCloseByLaterEventsOnly) {
  Start(OnEventTime(kForever));
  Append("ann", 0s, 0s);
  Run(24h);
  EXPECT_THAT(Texts(24h), IsEmpty());
  Append("bob", 60s, 24h);
  Run(24h);
  EXPECT_THAT(Texts(24h), ElementsAre("ann: 0"));
}

// Without the tick the next owner would fold both into one group.
TEST_F(EventTimeLaneTest, ATickThatARecordUndercutsIsRepeatedByTheNextOwner) {
  Start(OnEventTime(30s));
  Append("ann", 0s, 0s);
  Run(60s);
  EXPECT_THAT(Texts(60s), ElementsAre("ann: 0"));
  Append("ann", 5s, 61s);
  Run(62s);
  Start(OnEventTime(30s));
  Run(2h);
  EXPECT_EQ(Status().phase, LanePhase::kLive) << Status().why;
  EXPECT_THAT(Texts(2h), ElementsAre("ann: 1"));
}

// As far as the tick has come the second record is not too far ahead. Without it, it would be.
TEST_F(EventTimeLaneTest, WhereStampsMayLieTooFarAheadTheNextOwnerRepeatsEachTick) {
  ProcessorOptions options = OnEventTime(30s);
  options.engine.future_limit = 10min;
  Start(options);
  Append("ann", 0s, 0s);
  Run(2h);
  EXPECT_THAT(Texts(2h), ElementsAre("ann: 0"));
  Append("ann", 2h + 5min, 2h + 5min);
  Run(2h + 5min);
  Start(options);
  Append("ann", 24000h, 2h + 6min);  // of a broken clock: nobody is late behind it
  Append("ann", 2h + 5min + 5s, 2h + 6min);
  Run(3h);
  EXPECT_EQ(Status().phase, LanePhase::kLive) << Status().why;
  EXPECT_THAT(Texts(3h), ElementsAre("ann: 1 3"));
}

}  // namespace
}  // namespace pleat::inline v0_1
