// Mistakes of the caller's that end the program, with one sentence that says what is wrong.
// Compiled with optimization in every build: g++ lost the sentence of a constructor then.
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <pleat/folder.h>

#include "tests/support/start.h"

namespace pleat {
namespace {

using namespace std::chrono_literals;

constexpr FolderOptions kOptions{.quiet_period = 5min, .max_wait = 1h};

struct Count {
  int events = 0;
  void Fold(const int&) noexcept { ++events; }
};

void OpenTwo(Engine& engine, const FolderOptions& first, const FolderOptions& second) {
  const Folder<int, Count> good(engine, "good", first);
  const Folder<int, Count> bad(engine, "bad", second);
}

TEST(ProgramEnd, AFolderThatCannotBeOpenedSaysWhy) {
  auto engine = *Engine::Open({.partitions = 2});
  EXPECT_DEATH(OpenTwo(*engine, kOptions, {.quiet_period = 5min}),
               "^pleat: folder \"bad\": max_wait: must be given[^\n]*\n$");
  EXPECT_DEATH(OpenTwo(*engine, {.max_wait = 1h}, kOptions),
               "^pleat: folder \"good\": quiet_period: must be above zero\n$");
}

TEST(ProgramEnd, ABatchWithLessRoomForOutcomesThanEventsSaysHowMuch) {
  auto engine = *Engine::Open({.partitions = 2});
  Folder<int, Count> folder(*engine, "f", kOptions);
  const std::vector<KeyedEvent<int>> events(300, {.key = "k", .at = kT0, .event = 1});
  std::vector<FoldOutcome> outcomes(299);
  EXPECT_DEATH(folder.FoldBatch(events, outcomes),
               "^pleat: FoldBatch\\(\\) of 300 events was given room for 299 outcomes\n$");
  outcomes.resize(301, FoldOutcome::kStopped);
  EXPECT_EQ(folder.FoldBatch(events, outcomes)[FoldOutcome::kFolded], 299u);
  EXPECT_EQ(outcomes[299], FoldOutcome::kFolded);
  EXPECT_EQ(outcomes[300], FoldOutcome::kStopped);
}

class Deaf final : public EngineAlarm {
 public:
  void DeadlineIsEarlier(EngineTime) noexcept override {}
  void LeaseDeadlineIsEarlier(LeaseTime) noexcept override {}
};

TEST(ProgramEnd, ASecondAlarmIsOneTooManyUntilTheFirstIsRemoved) {
  auto engine = *Engine::Open({.partitions = 2});
  Deaf first, second;
  engine->SetAlarm(first);
  EXPECT_DEATH(engine->SetAlarm(second),
               "^pleat: the engine has an alarm, or a driver, already\n$");
  engine->RemoveAlarm(second);  // is not set: the first one stays
  EXPECT_DEATH(engine->SetAlarm(second),
               "^pleat: the engine has an alarm, or a driver, already\n$");
  engine->RemoveAlarm(first);
  engine->SetAlarm(second);
  engine->RemoveAlarm(second);
}

// Says what the test tells it to.
struct Fickle {
  static inline size_t bytes = 0;
  void Fold(const int&) noexcept {}
  size_t HeapBytes() const noexcept { return bytes; }
};
constexpr char kFickle[] =
    "^pleat: HeapBytes\\(\\) of a state has changed outside of its Fold\\(\\)\n$";

TEST(ProgramEnd, HeapBytesThatGiveBackMoreThanWasCountedAreNoticedByEveryBuild) {
  Fickle::bytes = 100;
  auto engine = *Engine::Open({.partitions = 1});
  Folder<int, Fickle> folder(*engine, "f", kOptions);
  folder.Fold("key", 1, kT0);
  Fickle::bytes = 101;
  EXPECT_DEATH(folder.Cancel("key"), kFickle);
  Fickle::bytes = 100;
  EXPECT_TRUE(folder.Cancel("key"));
  EXPECT_EQ(folder.sizes().bytes, 0u);
}

TEST(ProgramEnd, SoAreThoseOfAnEmissionThatWaitsWhereTheseAreCountedApart) {
  Fickle::bytes = 100;
  auto engine = *Engine::Open({.partitions = 1});
  FolderOptions options = kOptions;
  options.limits.on_limit = OnLimit::kEmitOldest;
  Folder<int, Fickle> folder(*engine, "f", options);
  folder.Fold("popped", 1, kT0);
  folder.Fold("open", 1, kT0);
  folder.Flush("popped");
  Fickle::bytes = 101;
  EXPECT_DEATH(static_cast<void>(folder.Pop(1)), kFickle);
  Fickle::bytes = 100;
  EXPECT_EQ(folder.Pop(1).size(), 1u);
}

#ifndef NDEBUG
TEST(ProgramEnd, HeapBytesThatChangeOutsideOfFoldAreNoticedByADebugBuild) {
  Fickle::bytes = 100;
  auto engine = *Engine::Open({.partitions = 1});
  Folder<int, Fickle> folder(*engine, "f", kOptions);
  folder.Fold("cancelled", 1, kT0);
  folder.Fold("popped", 1, kT0);
  folder.Flush("popped");
  for (const size_t other : {99, 101}) {
    Fickle::bytes = other;
    EXPECT_DEATH(folder.Cancel("cancelled"), "HeapBytes\\(\\) of a state has changed outside");
    EXPECT_DEATH(static_cast<void>(folder.Pop(1)), "HeapBytes\\(\\) of a state has changed");
  }
  Fickle::bytes = 100;
  EXPECT_TRUE(folder.Cancel("cancelled"));
  EXPECT_EQ(folder.Pop(1).size(), 1u);
  EXPECT_EQ(folder.sizes().bytes, 0u);
}
#endif

}  // namespace
}  // namespace pleat
