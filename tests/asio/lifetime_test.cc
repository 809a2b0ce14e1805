// Who may go before whom: consumers, driver, engine and execution context, in every order that is allowed.
#include <memory>
#include <optional>
#include <utility>

#include "tests/asio/fixtures.h"

namespace pleat {
namespace {

TEST(ConsumerLife, ASignalAfterTheContextIsGoneDoesNothing) {
  Service service;
  std::optional<Consumer<Sum>> consumer(std::in_place, *service.driver, service.sums);
  cancellation_signal signal;
  Got got;
  consumer->async_pop(boost::asio::bind_cancellation_slot(signal.slot(), got.One()));
  service.io.reset();
  signal.emit(cancellation_type::total);
  consumer.reset();
  signal.emit(cancellation_type::total);
  EXPECT_EQ(got.calls, 0);
}

TEST(ConsumerLife, IsClosedWhenItsDriverStops) {
  Service service;
  Consumer consumer(*service.driver, service.sums);
  Got waiting, later;
  consumer.async_pop(waiting.One());
  service.driver.reset();
  service.Poll();
  EXPECT_EQ(waiting.error, AsioError::kClosed);
  service.Emit("ann");
  consumer.async_pop(later.One());
  service.Poll();
  EXPECT_EQ(later.error, AsioError::kClosed);
  Driver driver(*service.io, *service.engine, service.WithClock({}));
  driver.Stop();
  Consumer after(driver, service.sums);
  after.async_pop(later.One());
  service.Poll();
  EXPECT_EQ(later.calls, 2);
  EXPECT_EQ(later.error, AsioError::kClosed);
}

TEST(ConsumerLife, MayOutliveDriverAndEngine) {
  Service service;
  Consumer consumer(*service.driver, service.sums);
  Got got;
  consumer.async_pop(got.One());
  service.driver.reset();
  service.engine.reset();
  consumer.async_lease(got.One());
  service.Poll();
  EXPECT_EQ(got.calls, 2);
  EXPECT_EQ(got.error, AsioError::kClosed);
}

TEST(DriverLife, MayOutliveItsEngine) {
  Service service;
  Consumer consumer(*service.driver, service.sums);
  Got got;
  consumer.async_pop(got.One());
  service.Fold("ann");
  service.engine.reset();
  service.Pass(24h);
  EXPECT_EQ(got.error, AsioError::kClosed);
  EXPECT_EQ(service.driver->now(), kNoon + 24h);
  EXPECT_TRUE(service.driver->Reanchor().ok());
  service.Poll();
  EXPECT_GT(service.driver->stats().asleep_until, kNoon + 24h);
  service.driver.reset();
}

TEST(DriverLife, MayOutliveItsEngineOnEventTime) {
  Service service({}, {.quiet_period = 5min, .max_wait = 1h},
                  {.partitions = 4, .axis = Axis::kEvent});
  Consumer consumer(*service.driver, service.sums);
  Got got;
  consumer.async_pop(got.One());
  service.Fold("ann");
  service.Pass(1s);
  const auto next_turn = [&] { return service.driver->stats().asleep_until; };
  EXPECT_EQ(next_turn(), kNoon + 1s + 1ms) << "the watermark may reach the deadline any time";
  service.engine.reset();
  service.Pass(24h);
  EXPECT_EQ(got.error, AsioError::kClosed);
  EXPECT_THAT(got.keys, testing::IsEmpty());
  EXPECT_EQ(service.driver->now(), kNoon + 24h + 1s);
  EXPECT_GT(next_turn(), kNoon + 24h + 2s) << "nothing is due any more";
  service.driver->Stop();
  EXPECT_EQ(next_turn(), kNever);
}

// Turns of one thread go on while the engine goes on another one.
TEST(DriverLife, TurnsAreUnderWayWhenTheEngineGoes) {
  for (int round = 0; round < 20; ++round) {
    auto engine = *Engine::Open({.partitions = 2});
    Sums sums(*engine, "sums", {.quiet_period = 1us, .max_wait = kForever});
    Driver driver(*engine);
    const DriverThread thread = driver.RunThread();
    for (int i = 0; i < 100; ++i) sums.Fold(std::to_string(i), 1, driver.now());
    driver.Wake();
    engine.reset();
    driver.Wake();
    EXPECT_EQ(sums.Fold("late", 1, driver.now()), FoldOutcome::kStopped);
  }
}

TEST(ConsumerLife, IsClosedWhenTheEngineOfItsFolderIsGone) {
  Service service, other;
  Consumer consumer(*service.driver, other.sums);
  Got got;
  consumer.async_pop(got.One());
  other.driver.reset();
  other.engine.reset();
  service.Poll();
  EXPECT_EQ(got.error, AsioError::kClosed);
  consumer.async_pop(got.One());
  service.Poll();
  EXPECT_EQ(got.calls, 2);
}

TEST(ConsumerLife, IsClosedWhenItsFolderIsClosed) {
  Service service;
  Consumer consumer(*service.driver, service.sums);
  Got one, lease;
  consumer.async_pop(one.One());
  consumer.async_lease(lease.One());
  service.sums.Close();
  service.Poll();
  EXPECT_EQ(one.error, AsioError::kClosed);
  EXPECT_EQ(lease.error, AsioError::kClosed);
  EXPECT_EQ(lease.error.message(),
            "the driver was stopped, the collection was closed, or the engine is gone");
  consumer.async_pop(one.One());
  service.Poll();
  EXPECT_EQ(one.calls, 2);
}

TEST(ConsumerLife, WithoutPartitionsItIsClosedWithItsFolderToo) {
  Service service;
  Consumer consumer(*service.driver, service.sums, PartitionRange{.begin = 3, .end = 3});
  Got got;
  consumer.async_pop(got.One());
  service.Emit("ann");
  EXPECT_EQ(got.calls, 0);
  service.sums.Close();
  service.Poll();
  EXPECT_EQ(got.calls, 1);
  EXPECT_EQ(got.error, AsioError::kClosed);
}

TEST(ConsumerLife, DestroyedItCancels) {
  Service service;
  Got got;
  {
    Consumer consumer(*service.driver, service.sums);
    consumer.async_pop(got.One());
  }
  service.Emit("ann");
  service.Poll();
  EXPECT_EQ(got.error, operation_aborted);
  EXPECT_EQ(service.sums.ledger().ready, 1u);
}

TEST(ConsumerLife, MovedItKeepsWhatWaits) {
  Service service;
  Consumer first(*service.driver, service.sums);
  Got got, replaced;
  first.async_pop(got.One());
  Consumer second(*service.driver, service.sums);
  second.async_pop(replaced.One());
  second = std::move(first);
  service.Emit("ann");
  service.Poll();
  EXPECT_EQ(replaced.error, operation_aborted);
  EXPECT_THAT(got.keys, ElementsAre("ann"));
}

TEST(ConsumerLife, HandlersThatWaitAreDestroyedWithTheContextNotCalled) {
  Service service;
  Consumer consumer(*service.driver, service.sums);
  const auto alive = std::make_shared<int>();
  int calls = 0;
  consumer.async_pop([&calls, alive](error_code, const auto&) { ++calls; });
  service.Emit("taken, but not handed over");
  Consumer other(*service.driver, service.sums);
  other.async_pop([&calls, alive](error_code, const auto&) { ++calls; });
  service.io.reset();
  EXPECT_EQ(calls, 0);
  EXPECT_EQ(alive.use_count(), 1);
  service.Emit("ann");
}

TEST(ConsumerLife, MayBeOwnedByItsOwnHandlerWhenTheContextGoes) {
  Service service;
  auto consumer = std::make_unique<Consumer<Sum>>(*service.driver, service.sums);
  Consumer<Sum>& it = *consumer;
  const auto alive = std::make_shared<int>();
  it.async_pop([own = std::move(consumer), alive](error_code, const auto&) {});
  Got got;
  it.async_pop([&, alive](error_code, const auto&) { ++got.calls; });
  service.io.reset();
  EXPECT_EQ(alive.use_count(), 1);
  EXPECT_EQ(got.calls, 0);
}

}  // namespace
}  // namespace pleat
