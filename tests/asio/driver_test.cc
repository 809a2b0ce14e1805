#include <atomic>
#include <latch>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include <boost/asio/post.hpp>
#include <boost/asio/use_future.hpp>
#include <pleat/snapshot.h>

#include "tests/asio/fixtures.h"
#include "tests/support/bytes.h"

namespace pleat {
namespace {

TEST(Driver, ClosesAGroupAtItsDeadlineAndNotAMicrosecondEarlier) {
  Service service;
  service.Fold("ann");
  service.Pass(5min - 1us);
  EXPECT_EQ(service.sums.sizes().open_groups, 1u);
  service.Pass(1us);
  EXPECT_EQ(service.sums.sizes().open_groups, 0u);
  EXPECT_EQ(service.sums.Pop(1).at(0).closed, kNoon + 5min);
}

TEST(Driver, SleepsUntilTheDeadlineRoundedUpToATick) {
  Service service({.tick = 16ms, .max_sleep = 1h});
  service.clock.Pass(1us);
  service.Fold("ann");
  service.Poll();
  const EngineTime until = service.driver->stats().asleep_until;
  EXPECT_GE(until, kNoon + 5min + 1us);
  EXPECT_LT(until, kNoon + 5min + 1us + 16ms);
  EXPECT_EQ(until.time_since_epoch() % 16ms, 0us);
}

TEST(Driver, RoundsUpBefore1970Too) {
  ManualClock clock;
  clock.StepWall(FromUnix(-5min - 3us) - kNoon);
  boost::asio::io_context io;
  auto engine = *Engine::Open({});
  Sums sums(*engine, "sums", {.quiet_period = 3us, .max_wait = 1h});
  Driver driver(io, *engine, {.tick = 1ms, .clock = &clock});
  sums.Fold("ann", 1, driver.now() - 6us);
  io.poll();
  EXPECT_EQ(driver.now(), FromUnix(-5min - 3us));
  EXPECT_EQ(sums.sizes().open_groups, 0u);
  sums.Fold("ann", 1, driver.now() - 1us);
  io.restart();
  io.poll();
  EXPECT_EQ(driver.stats().asleep_until, FromUnix(-5min));
}

TEST(Driver, SleepsNoLongerThanMaxSleep) {
  Service service;
  service.Fold("ann");
  service.Poll();
  EXPECT_EQ(service.driver->stats().asleep_until, kNoon + 10s);
}

TEST(Driver, TheTimerWakesIt) {
  ManualClock clock(true);
  boost::asio::io_context io;
  auto engine = *Engine::Open({});
  Sums sums(*engine, "sums", {.quiet_period = 2ms, .max_wait = 1h});
  Driver driver(io, *engine, {.clock = &clock});
  sums.Fold("ann", 1, kNoon);
  // The timer runs in real time, the driver's clock stands still: it wakes, and closes nothing.
  while (driver.stats().timer_wakes == 0) io.run_one();
  EXPECT_EQ(sums.sizes().open_groups, 1u);
  clock.Pass(2ms);
  while (sums.sizes().open_groups == 1) io.run_one();
  EXPECT_GE(driver.stats().timer_wakes, 2u);
}

TEST(Driver, OtherHandlersRunBetweenTurnsOfItsBudget) {
  Service service({.budget = 10});
  for (int i = 0; i < 25; ++i) service.Fold(std::to_string(i));
  service.Poll();
  service.clock.Pass(5min);
  service.driver->Wake();
  uint64_t closed = 0;
  int looks = 0;
  const auto look = [&](auto self) -> void {
    const uint64_t before = std::exchange(closed, service.sums.ledger().closed);
    EXPECT_LE(closed - before, 10u);
    if (++looks < 20) boost::asio::post(*service.io, [=] { self(self); });
  };
  boost::asio::post(*service.io, [&] { look(look); });
  service.Poll();
  EXPECT_EQ(closed, 25u);
  EXPECT_GE(service.driver->stats().unfinished, 2u);
}

TEST(Driver, AnEarlierDeadlineShortensItsSleep) {
  Service service({.max_sleep = 24h}, {.quiet_period = 1h, .max_wait = 24h});
  Sums brief(*service.engine, "brief", {.quiet_period = 1min, .max_wait = 1h});
  service.Fold("ann");
  service.Poll();
  EXPECT_EQ(service.driver->stats().asleep_until, kNoon + 1h);
  brief.Fold("ann", 1, kNoon);
  service.Poll();
  EXPECT_EQ(service.driver->stats().asleep_until, kNoon + 1min);
}

TEST(Driver, ALaterDeadlineDoesNotWakeIt) {
  Service service({.max_sleep = 24h});
  service.Fold("ann");
  service.Poll();
  const uint64_t turns = service.driver->stats().turns;
  for (int i = 0; i < 100; ++i) service.Fold(std::to_string(i));
  EXPECT_EQ(service.Poll(), 0u);
  EXPECT_EQ(service.driver->stats().turns, turns);
}

TEST(Driver, AnEarlierDeadlineBehindItsNextTurnDoesNotWakeIt) {
  Service service({.max_sleep = 10s});
  service.Fold("ann");
  service.Poll();
  service.sums.Fold("bob", 1, kNoon - 1min);
  EXPECT_EQ(service.Poll(), 0u);
  EXPECT_EQ(service.engine->NextDeadline(), kNoon + 4min);
}

TEST(Driver, ManyEarlierDeadlinesWakeItOnce) {
  Service service({.max_sleep = 24h});
  for (int i = 100; i > 0; --i) service.sums.Fold(std::to_string(i), 1, kNoon + i * 1s);
  EXPECT_EQ(service.Poll(), 1u);
  EXPECT_EQ(service.driver->stats().asleep_until, kNoon + 5min + 1s);
}

TEST(Driver, AFoldFromAnotherThreadWakesIt) {
  Service service({.max_sleep = 24h});
  std::thread([&] { service.Fold("ann"); }).join();
  EXPECT_EQ(service.Poll(), 1u);
  EXPECT_EQ(service.driver->stats().asleep_until, kNoon + 5min);
}

TEST(Driver, ASuspendIsTimeThatHasPassed) {
  Service service;
  service.Fold("first");
  service.clock.Pass(1s);
  service.Fold("second");
  service.Poll();
  service.Pass(8h);
  EXPECT_EQ(service.driver->now(), kNoon + 8h + 1s);
  EXPECT_EQ(service.engine->now(), kNoon + 8h + 1s);
  const auto popped = service.sums.Pop(10);
  ASSERT_EQ(popped.size(), 2u);
  EXPECT_EQ(popped[0].key, "first");
  EXPECT_EQ(popped[0].closed, kNoon + 5min);
  EXPECT_EQ(popped[1].closed, kNoon + 5min + 1s);
}

TEST(Driver, StepsOfTheWallClockAreCountedAndChangeNothing) {
  Service service;
  service.Fold("ann");
  service.clock.StepWall(24h * 3650);
  service.Pass(1s);
  EXPECT_EQ(service.driver->now(), kNoon + 1s);
  EXPECT_EQ(service.driver->stats().wall_steps_forward, 1u);
  service.clock.StepWall(-1h);
  service.Pass(1s);
  service.Pass(1s);
  EXPECT_EQ(service.driver->now(), kNoon + 3s);
  EXPECT_EQ(service.driver->stats().wall_steps_forward, 1u);
  EXPECT_EQ(service.driver->stats().wall_steps_back, 1u);
  EXPECT_EQ(service.sums.sizes().open_groups, 1u);
}

TEST(Driver, AWallClockThatIsSlewedHasNotStepped) {
  Service service;
  for (int i = 0; i < 100; ++i) {
    service.clock.StepWall(5ms);
    service.Pass(10s);
  }
  EXPECT_EQ(service.driver->stats().wall_steps_forward, 0u);
}

TEST(Driver, ReanchoringTakesTheTimeOfTheWall) {
  Service service;
  service.Fold("ann");
  service.clock.StepWall(1h);
  EXPECT_TRUE(service.driver->Reanchor().ok());
  service.Poll();
  EXPECT_EQ(service.driver->now(), kNoon + 1h);
  EXPECT_EQ(service.sums.sizes().open_groups, 0u);
  EXPECT_EQ(service.driver->stats().wall_steps_forward, 0u);
}

TEST(Driver, AfterReanchoringBackTimeStandsStillUntilTheWallHasCaughtUp) {
  Service service({.max_sleep = 24h});
  service.Fold("ann");
  service.clock.StepWall(-1min);
  EXPECT_TRUE(service.driver->Reanchor().ok());
  service.Poll();
  EXPECT_EQ(service.driver->now(), kNoon);
  service.Pass(1min);
  EXPECT_EQ(service.driver->now(), kNoon);
  service.Pass(5min - 1us);
  EXPECT_EQ(service.sums.sizes().open_groups, 1u);
  service.Pass(1us);
  EXPECT_EQ(service.sums.sizes().open_groups, 0u);
}

TEST(Driver, TimeGoesOnFromWhereTheEngineIs) {
  Service service;
  service.driver.reset();
  service.engine->Advance(kNoon + 1h);
  Driver driver(*service.io, *service.engine, service.WithClock({}));
  EXPECT_EQ(driver.now(), kNoon + 1h);
}

TEST(Driver, TimeGoesOnWithoutAPauseWhereTheWallClockWasSetBack) {
  Service service;
  service.Fold("ann");
  service.driver.reset();
  service.clock.StepWall(-2h);
  Driver driver(*service.io, *service.engine, service.WithClock({}));
  EXPECT_EQ(driver.now(), kNoon);
  service.clock.Pass(5min);
  EXPECT_EQ(driver.now(), kNoon + 5min);
  driver.Wake();
  service.Poll();
  EXPECT_EQ(service.sums.sizes().open_groups, 0u) << "not a microsecond later than it would have";
}

// An engine that was ended at noon and is brought back from a snapshot at another time.
struct Restarted {
  explicit Restarted(Duration later, const EngineOptions& options = {.partitions = 4})
      : service({}, {.quiet_period = 5min, .max_wait = 1h}, options) {
    service.Fold("ann");
    service.driver.reset();
    StringSink sink;
    EXPECT_TRUE(TakeSnapshot(*service.engine, sink).ok());
    engine = *Engine::Open(options);
    sums.emplace(*engine, "sums", FolderOptions{.quiet_period = 5min, .max_wait = 1h});
    StringSource source(sink.bytes);
    EXPECT_TRUE(RestoreSnapshot(*engine, source).ok());
    service.clock.StepWall(later);
  }
  absl::StatusOr<std::unique_ptr<Driver>> Open(const DriverOptions& options = {}) {
    return Driver::Open(*service.io, *engine, service.WithClock(options));
  }

  Service service;
  std::unique_ptr<Engine> engine;
  std::optional<Sums> sums;
};

TEST(DriverAfterARestart, TheTimeThatItWasDownCounts) {
  Restarted restarted(3 * 24h);
  const auto driver = restarted.Open();
  ASSERT_TRUE(driver.ok()) << driver.status().message();
  EXPECT_EQ((*driver)->now(), kNoon + 3 * 24h);
  restarted.service.Poll();
  EXPECT_EQ(restarted.sums->Pop(9).at(0).closed, kNoon + 5min);
}

TEST(DriverAfterARestart, TimeGoesOnWhereTheWallClockIsBehind) {
  for (const EngineOptions& options :
       {EngineOptions{.partitions = 4}, EngineOptions{.partitions = 4, .axis = Axis::kEvent}}) {
    Restarted restarted(-20 * 365 * 24h, options);
    const auto driver = restarted.Open();
    ASSERT_TRUE(driver.ok()) << driver.status().message();
    EXPECT_EQ((*driver)->now(), kNoon);
    restarted.service.clock.Pass(1s);
    EXPECT_EQ((*driver)->lease_now(), LeaseTime(kNoon + 1s));
  }
}

TEST(DriverAfterARestart, AJumpThatIsTooFarIsAnErrorAndNothingEnds) {
  for (const EngineOptions& options :
       {EngineOptions{.partitions = 4}, EngineOptions{.partitions = 4, .axis = Axis::kEvent}}) {
    Restarted restarted(7 * 24h + 1us, options);
    const auto driver = restarted.Open();
    EXPECT_EQ(driver.status().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_EQ(
        driver.status().message(),
        "the wall clock says 2023-11-21 22:13:20 UTC, and the engine's time is 2023-11-14 "
        "22:13:20 UTC: a step of more than max_forward_jump, 604800 s. If the clock is right, "
        "confirm that date; if not, set the clock: else all that the engine holds would end "
        "at once");
    restarted.service.Poll();
    EXPECT_EQ(restarted.sums->sizes().open_groups, 1u);
    restarted.service.clock.StepWall(-1us);
    EXPECT_TRUE(restarted.Open().ok());
  }
}

TEST(DriverAfterARestart, AJumpIsTakenWhenItIsConfirmed) {
  const Duration ten_years = 10 * 365 * 24h;
  Restarted restarted(ten_years);
  EXPECT_FALSE(restarted.Open({.confirmed = kNoon + ten_years - 1us}).ok());
  EXPECT_TRUE(restarted.Open({.confirmed = kNoon + ten_years}).ok());
  restarted.service.Poll();
  Restarted careless(ten_years);
  const auto driver = careless.Open({.max_forward_jump = kForever});
  ASSERT_TRUE(driver.ok());
  EXPECT_EQ((*driver)->now(), kNoon + ten_years);
}

TEST(DriverAfterARestart, ANewEngineHasNoTimeToJumpFrom) {
  Service service;
  auto engine = *Engine::Open({});
  EXPECT_TRUE(Driver::Open(*engine, service.WithClock({.max_forward_jump = 0s})).ok());
}

TEST(DriverDeathTest, AConstructorEndsTheProgramRatherThanTakeAJumpThatIsTooFar) {
  Restarted restarted(8 * 24h);
  EXPECT_DEATH(Driver(*restarted.service.io, *restarted.engine, restarted.service.WithClock({})),
               "driver: the wall clock says 2023-11-22");
}

TEST(Driver, ReanchoringTooFarAheadIsAnErrorUnlessItIsConfirmed) {
  Service service;
  service.Fold("ann");
  service.clock.StepWall(10 * 365 * 24h);
  EXPECT_EQ(service.driver->Reanchor().code(), absl::StatusCode::kFailedPrecondition);
  service.Poll();
  EXPECT_EQ(service.driver->now(), kNoon);
  EXPECT_EQ(service.sums.sizes().open_groups, 1u);
  EXPECT_TRUE(service.driver->Reanchor(kNoon + 10 * 365 * 24h).ok());
  service.Poll();
  EXPECT_EQ(service.driver->now(), kNoon + 10 * 365 * 24h);
  EXPECT_EQ(service.sums.sizes().open_groups, 0u);
}

TEST(Driver, TimeDoesNotGoBackWithItsClock) {
  Service service;
  service.Pass(1s);
  service.clock.Pass(-500ms);
  EXPECT_EQ(service.driver->now(), kNoon + 1s);
}

TEST(Driver, KeepsHowLateItsTurnsWere) {
  Service service;
  service.Fold("ann");
  service.Pass(5min);
  EXPECT_EQ(service.driver->stats().lateness_us.count(), 1u);
  EXPECT_EQ(service.driver->stats().lateness_us.max(), 0u);
  service.Fold("bob");
  service.Pass(5min + 7ms);
  EXPECT_EQ(service.driver->stats().lateness_us.count(), 2u);
  EXPECT_EQ(service.driver->stats().lateness_us.max(), 7000u);
}

TEST(Driver, ATurnTakesBackLeasesThatRanOut) {
  Service service;
  service.Emit("ann");
  ASSERT_EQ(service.sums.Lease(1, 30s, service.driver->lease_now()).size(), 1u);
  service.Poll();
  EXPECT_EQ(service.driver->stats().asleep_until, kNoon + 10s);
  service.Pass(30s);
  EXPECT_EQ(service.sums.ledger().ran_out, 1u);
}

TEST(Driver, StoppedItLetsGoOfEngineAndContext) {
  ManualClock clock(true);
  boost::asio::io_context io;
  auto engine = *Engine::Open({});
  Sums sums(*engine, "sums", {.quiet_period = 5min, .max_wait = 1h});
  Driver driver(io, *engine, {.clock = &clock});
  io.poll();
  EXPECT_FALSE(io.stopped());  // its timer is work
  driver.Stop();
  driver.Stop();
  io.poll();
  EXPECT_TRUE(io.stopped());
  sums.Fold("ann", 1, kNoon - 4min - 59s);  // due before it would have woken up
  driver.Wake();
  io.restart();
  EXPECT_EQ(io.poll(), 0u);
  EXPECT_EQ(driver.stats().asleep_until, kNever);
}

// A state that is copied, for a partial, under a turn, which so can be held up.
struct Slow {
  static inline std::latch* begun = nullptr;
  static inline std::latch* released = nullptr;
  static inline std::atomic<bool> over = false;

  Slow() = default;
  Slow(const Slow&) noexcept {
    begun->count_down();
    released->wait();
    over = true;
  }
  Slow(Slow&&) noexcept = default;
  void Fold(const int&) noexcept {}
};

// A turn of it, on a thread of its own, that has begun and does not end before Release().
struct SlowTurn {
  SlowTurn() {
    Slow::begun = &begun;
    Slow::released = &released;
    Slow::over = false;
    slow.Fold("ann", 1, kNoon);
    slow.Fold("ann", 1, kNoon);
    service.Poll();
    service.clock.Pass(1min);
    service.driver->Wake();
    service.io->restart();
    thread = std::thread([this] { service.io->poll(); });
    begun.wait();
  }
  void Release() { released.count_down(); }
  ~SlowTurn() {
    if (thread.joinable()) thread.join();
  }

  std::latch begun{1};
  std::latch released{1};
  Service service;
  Folder<int, Slow> slow{
      *service.engine, "slow", {.quiet_period = 5min, .max_wait = 1h, .partial_every = 1min}};
  std::thread thread;
};

TEST(Driver, StopWaitsForTheTurnUnderWay) {
  SlowTurn turn;
  std::latch stopping(1);
  std::thread helper([&] {
    stopping.wait();
    for (int i = 0; i < 1000; ++i) std::this_thread::yield();
    turn.Release();
  });
  stopping.count_down();
  turn.service.driver->Stop();
  EXPECT_TRUE(Slow::over);
  helper.join();
}

TEST(Driver, AWakeUpDuringATurnIsAnotherTurn) {
  SlowTurn turn;
  Service& service = turn.service;
  service.clock.Pass(1s);
  service.driver->Wake();
  service.io->poll();  // finds a turn under way
  turn.Release();
  turn.thread.join();
  service.Poll();
  EXPECT_EQ(service.engine->now(), kNoon + 1min + 1s);
}

TEST(Driver, AnotherOneCanTakeOver) {
  Service service;
  service.driver.reset();
  Driver driver(*service.io, *service.engine, service.WithClock({}));
  service.sums.Fold("ann", 1, kNoon);
  service.Poll();
  service.clock.Pass(5min);
  driver.Wake();
  service.Poll();
  EXPECT_EQ(service.sums.sizes().open_groups, 0u);
}

TEST(Driver, MayOutliveItsContext) {
  Service service;
  service.Fold("ann");
  service.io.reset();
  service.driver->Wake();
  service.Fold("bob");
  EXPECT_EQ(service.driver->now(), kNoon);
}

TEST(Driver, RunsAThreadIfAsked) {
  ManualClock clock;
  auto engine = *Engine::Open({});
  Sums sums(*engine, "sums", {.quiet_period = 5min, .max_wait = 1h});
  Driver driver(*engine, {.clock = &clock});
  DriverThread thread = driver.RunThread();
  Consumer consumer(driver, sums);
  auto popped = consumer.async_pop(boost::asio::use_future);
  sums.Fold("ann", 3, driver.now());
  clock.Pass(5min);
  driver.Wake();
  EXPECT_EQ(popped.get()->state.total, 3);
}

TEST(Driver, LeavesAGivenContextToItsOwner) {
  boost::asio::io_context io;
  auto engine = *Engine::Open({});
  Driver driver(io, *engine);
  EXPECT_DEATH(static_cast<void>(driver.RunThread()),
               "^pleat: RunThread\\(\\) is for a driver that was made without an io_context\n$");
}

TEST(Driver, IsTheOnlyOneOfItsEngineUntilItStops) {
  Service service;
  EXPECT_DEATH(Driver(*service.io, *service.engine, service.WithClock({})),
               "^pleat: the engine has an alarm, or a driver, already\n$");
  service.driver->Stop();
  const Driver second(*service.io, *service.engine, service.WithClock({}));
}

struct EventService : Service {
  EventService()
      : Service({.max_sleep = 1h}, {.quiet_period = 5min, .max_wait = 1h},
                {.partitions = 4, .axis = Axis::kEvent}) {}
  static constexpr EngineTime kLongAgo = FromUnix(5s);
};

TEST(DriverOnEventTime, NoClockMovesTheWatermark) {
  EventService service;
  service.sums.Fold("ann", 1, service.kLongAgo);
  service.Pass(24h);
  EXPECT_EQ(service.engine->now(), service.kLongAgo);
  EXPECT_EQ(service.sums.sizes().open_groups, 1u);
}

TEST(DriverOnEventTime, ClosesWhatTheWatermarkHasPassedAtTheNextTick) {
  EventService service;
  service.sums.Fold("ann", 1, service.kLongAgo);
  service.Poll();
  EXPECT_EQ(service.driver->stats().asleep_until, kNoon + 1ms);
  service.sums.Fold("bob", 1, service.kLongAgo + 5min);
  service.Pass(1ms);
  EXPECT_EQ(service.sums.ledger().closed, 1u);
  EXPECT_EQ(service.driver->stats().asleep_until, kNoon + 2ms);
}

TEST(DriverOnEventTime, DoesNotLookAtEachTickWhenNothingIsOpen) {
  EventService service;
  service.Pass(1s);
  EXPECT_EQ(service.driver->stats().asleep_until, kNoon + 1s + 1h);
}

TEST(DriverOnEventTime, LeasesRunByItsClock) {
  EventService service;
  service.sums.Fold("ann", 1, service.kLongAgo);
  service.sums.Flush("ann");
  service.Poll();
  ASSERT_EQ(service.sums.Lease(1, 30s, service.driver->lease_now()).size(), 1u);
  service.Pass(30s - 1us);
  EXPECT_EQ(service.sums.ledger().ran_out, 0u);
  service.Pass(1us);
  EXPECT_EQ(service.sums.ledger().ran_out, 1u);
}

}  // namespace
}  // namespace pleat
