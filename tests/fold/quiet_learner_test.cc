#include "engine/fold/quiet_learner.h"

#include <vector>

#include <gtest/gtest.h>

namespace pleat {
namespace {

using namespace std::chrono_literals;

// Floor 10 s, ceiling 100 s, and what becomes of keys one after the other.
class QuietLearnerFixture : public testing::Test {
 protected:
  // A run of `events` events of one key, `gap` apart. Returns what the last one asks for.
  Duration Run(int events, Duration gap, uint32_t key_class = 0) {
    QuietLearner::Answer answer{};
    for (int i = 0; i < events; ++i) answer = learner_.Ask(key_class, gap, answer.memo);
    return answer.quiet;
  }
  Duration AskOnce(uint32_t key_class = 0) { return Run(1, 0s, key_class); }

  QuietLearner learner_{10s, 100s};
};

TEST_F(QuietLearnerFixture, StepsAreQuarterOctavesFromTheFloorToTheCeiling) {
  const std::vector<Duration> expected = {10s, 12500ms, 15s, 17500ms, 20s, 25s, 30s,
                                          35s, 40s,     50s, 60s,     70s, 80s, 100s};
  EXPECT_EQ(learner_.steps(), expected);
  EXPECT_EQ(QuietLearner(1us, 6us).steps(), (std::vector<Duration>{1us, 2us, 3us, 4us, 5us, 6us}));
  EXPECT_EQ(QuietLearner(7us, 8us).steps(), (std::vector<Duration>{7us, 8us}));
  const QuietLearner longest(1us, kEndOfTime - kBeginningOfTime);
  EXPECT_EQ(longest.steps().back(), kEndOfTime - kBeginningOfTime);
}

TEST_F(QuietLearnerFixture, WaitsJustLongerThanTheGapOfKeysThatAlwaysComeBack) {
  EXPECT_EQ(Run(100, 33s), 35s);
}

TEST_F(QuietLearnerFixture, AGapAsLongAsAStepNeedsTheNextOne) { EXPECT_EQ(Run(100, 35s), 40s); }

TEST_F(QuietLearnerFixture, AGapOfTheCeilingIsNoReturnAndBeginsARun) {
  const auto first = learner_.Ask(0, 0s, {});
  EXPECT_EQ(learner_.Ask(0, 100s, first.memo).memo.run, 1);
  EXPECT_EQ(learner_.Ask(0, 100s - 1us, first.memo).memo.run, 2);
  EXPECT_EQ(learner_.Ask(0, -5s, first.memo).memo.run, 2);  // out of order: it would have folded
}

// To wait until 60 s, instead of 10 s, costs half a ceiling for each key: worth it if more than that part folds.
TEST_F(QuietLearnerFixture, WaitsIfThatFoldsMoreThanOneEventPerCeilingOfWaiting) {
  const auto learn = [](int of_ten) {
    QuietLearner learner(10s, 100s);
    Duration quiet{};
    for (int i = 0; i < 400; ++i) {
      const auto first = learner.Ask(0, 0s, {});
      quiet = first.quiet;
      if (i % 10 < of_ten) learner.Ask(0, 59s, first.memo);
    }
    return quiet;
  };
  EXPECT_EQ(learn(4), 10s);
  EXPECT_EQ(learn(6), 60s);
}

TEST_F(QuietLearnerFixture, AGapBelongsToTheClassOfTheEventBeforeIt) {
  for (int i = 0; i < 100; ++i) {
    const auto first = learner_.Ask(1, 0s, {});
    learner_.Ask(2, 30s, first.memo);
  }
  EXPECT_EQ(AskOnce(1), 35s);
  EXPECT_EQ(AskOnce(2), 35s);  // it began no run itself, so that it asks as all do
}

TEST_F(QuietLearnerFixture, AnEventOfNoClassOrOfAnUnknownOneAsksAsAllDo) {
  Run(100, 30s, 1);
  EXPECT_EQ(Run(70, 30s, 0), 35s);
  EXPECT_EQ(Run(70, 30s, 77), 35s);
}

TEST_F(QuietLearnerFixture, ClassesBeyondTheTableAskAsAllDo) {
  for (uint32_t key_class = 1; key_class < 2000; ++key_class) AskOnce(key_class);
  Run(100, 15s, 1023);
  Run(200, 60s, 1024);
  EXPECT_EQ(Run(100, 15s, 1023), 17500ms);
  EXPECT_EQ(Run(100, 60s, 1024), Run(100, 60s, 1999));
  EXPECT_EQ(learner_.Ask(1023, 0s, {}).memo.row, 1023);
  EXPECT_EQ(learner_.Ask(1024, 0s, {}).memo.row, 0);
}

// Keys that come back in a crowd, long after the last one asked.
TEST_F(QuietLearnerFixture, ACrowdThatReturnsAtOnceIsCountedWithoutOverflow) {
  const QuietLearner::Memo memo = learner_.Ask(0, 0s, {}).memo;
  for (int i = 0; i < 200'000; ++i) learner_.Ask(0, 60s, memo);
  for (int i = 0; i < 15; ++i) AskOnce();
  EXPECT_EQ(AskOnce(), 70s);
}

}  // namespace
}  // namespace pleat
