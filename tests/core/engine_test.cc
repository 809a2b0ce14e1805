#include <pleat/engine.h>

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pleat/folder.h>

#include "tests/support/start.h"

namespace pleat {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

struct Event {};
struct Nothing {
  void Fold(const Event&) noexcept {}
};

std::string ErrorOf(const EngineOptions& options) {
  return std::string(Engine::Open(options).status().message());
}

TEST(Engine, OpenNamesTheOptionThatIsOutOfRange) {
  EXPECT_THAT(ErrorOf({.partitions = 0}), HasSubstr("partitions"));
  EXPECT_THAT(ErrorOf({.partitions = 4097}), HasSubstr("partitions"));
  EXPECT_THAT(ErrorOf({.axis = Axis::kEvent, .watermark_delay = -1us}),
              HasSubstr("watermark_delay"));
  EXPECT_THAT(ErrorOf({.axis = Axis::kArrival, .watermark_delay = 1us}),
              HasSubstr("watermark_delay"));
  EXPECT_THAT(ErrorOf({.future_limit = -1us}), HasSubstr("future_limit"));
  EXPECT_EQ(ErrorOf({.partitions = 4096}), "");
}

TEST(Engine, TimeNeverGoesBack) {
  auto engine = *Engine::Open({});
  EXPECT_EQ(engine->now(), kBeginningOfTime);
  engine->Advance(kT0);
  engine->Advance(kT0 - 1h);
  EXPECT_EQ(engine->now(), kT0);
}

TEST(Engine, NextDeadlineIsTheEarliestOfAllPartitionsAndAbsentWhenNothingIsOpen) {
  auto engine = *Engine::Open({.partitions = 8});
  Folder<Event, Nothing> folder(*engine, "f", {.quiet_period = 10s, .max_wait = kForever});
  EXPECT_EQ(engine->NextDeadline(), std::nullopt);
  for (int i = 20; i > 0; --i) folder.Fold("key" + std::to_string(i), {}, kT0 + i * 1s);
  EXPECT_EQ(engine->NextDeadline(), kT0 + 11s);
  engine->Advance(kT0 + 15s);
  EXPECT_EQ(engine->NextDeadline(), kT0 + 16s);
  engine->Advance(kT0 + 1h);
  EXPECT_EQ(engine->NextDeadline(), std::nullopt);
}

TEST(Engine, AdvanceToItsOwnNextDeadlineAlwaysMakesProgress) {
  // A driver that sleeps until NextDeadline() must reach the end, however often folds moved things.
  auto engine = *Engine::Open({.partitions = 4});
  Folder<Event, Nothing> folder(*engine, "f", {.quiet_period = 10s, .max_wait = kForever});
  for (int i = 0; i < 1000; ++i) {
    folder.Fold("key" + std::to_string(i % 50), {}, kT0 + i * 7ms);
  }
  int wakes = 0;
  while (auto next = engine->NextDeadline()) {
    ASSERT_GT(*next, engine->now());
    engine->Advance(*next);
    ASSERT_LT(++wakes, 200);
  }
  EXPECT_EQ(folder.sizes().ready_emissions, 50u);
}

TEST(Engine, BudgetStopsAdvanceAndTheNextCallResumes) {
  auto engine = *Engine::Open({.partitions = 4});
  Folder<Event, Nothing> folder(*engine, "f", {.quiet_period = 10s, .max_wait = kForever});
  for (int i = 0; i < 100; ++i) folder.Fold("key" + std::to_string(i), {}, kT0);
  EXPECT_FALSE(engine->Advance(kT0 + 1min, 10));
  int calls = 1;
  while (!engine->Advance(kT0 + 1min, 10)) ASSERT_LT(++calls, 100);
  EXPECT_GE(calls, 10);
  EXPECT_EQ(folder.sizes().ready_emissions, 100u);
}

}  // namespace
}  // namespace pleat
