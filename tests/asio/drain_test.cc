// async_drain() on a clock that is moved by hand. What a drain is, tests/core/drain_test.cc has.
#include <future>
#include <memory>
#include <optional>

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/use_future.hpp>

#include "tests/asio/fixtures.h"

namespace pleat {
namespace {

struct Ended {
  int calls = 0;
  error_code error;
  std::optional<Drained> drained;

  auto Handler() {
    return [this](error_code e, std::optional<Drained> d) {
      ++calls;
      error = e;
      drained = std::move(d);
    };
  }
};

struct AsyncDrain : testing::Test {
  Service service;
  Consumer<Sum> consumer{*service.driver, service.sums};
  Got got;
  Ended ended;
};

TEST_F(AsyncDrain, CompletesWhenTheLastEmissionIsPopped) {
  service.Fold("ann");
  service.Fold("bob");
  async_drain(*service.driver, {}, ended.Handler());
  EXPECT_EQ(service.Fold("ann"), FoldOutcome::kStopped);
  service.Pass(1h);
  EXPECT_EQ(ended.calls, 0);
  consumer.async_pop(got.One());
  service.Poll();
  EXPECT_EQ(ended.calls, 0);
  consumer.async_pop(got.One());
  service.Poll();  // no time passes: it does not poll
  EXPECT_EQ(ended.calls, 1);
  EXPECT_FALSE(ended.error);
  ASSERT_TRUE(ended.drained);
  EXPECT_EQ(ended.drained->state, DrainState::kDrained);
  EXPECT_TRUE(ended.drained->collections.empty());
}

TEST_F(AsyncDrain, OfNothingCompletesButNotFromWithinTheCall) {
  async_drain(*service.driver, {}, ended.Handler());
  EXPECT_EQ(ended.calls, 0);
  service.Poll();
  EXPECT_EQ(ended.calls, 1);
  EXPECT_EQ(ended.drained->state, DrainState::kDrained);
}

TEST_F(AsyncDrain, CompletesWithTheLastAck) {
  service.Fold("ann");
  std::optional<Leased<Sum>> lease;
  consumer.async_lease([&](error_code, std::optional<Leased<Sum>> l) { lease = std::move(l); });
  async_drain(*service.driver, {.timeout = 1h}, ended.Handler());
  service.Poll();
  ASSERT_TRUE(lease);
  EXPECT_EQ(ended.calls, 0);
  lease->Ack();
  service.Poll();
  EXPECT_EQ(ended.calls, 1);
  EXPECT_EQ(ended.drained->left.unacked_emissions, 0u);
}

TEST_F(AsyncDrain, CompletesAtItsDeadlineAndSaysWhatIsLeft) {
  service.Fold("ann");
  async_drain(*service.driver, {.timeout = 10s}, ended.Handler());
  service.Pass(10s - 1us);
  EXPECT_EQ(ended.calls, 0);
  service.Pass(1us);
  ASSERT_EQ(ended.calls, 1);
  EXPECT_FALSE(ended.error);
  EXPECT_EQ(ended.drained->state, DrainState::kTimedOut);
  EXPECT_EQ(ended.drained->left.ready_emissions, 1u);
  ASSERT_EQ(ended.drained->collections.size(), 1u);
  EXPECT_EQ(ended.drained->collections[0].collection, "sums");
}

TEST(AsyncDrainOfAFailure, CompletesWhenTheLastEmissionIsADeadLetter) {
  Service service({}, {.quiet_period = 5min, .max_wait = 1h, .leases = {.max_deliveries = 1}});
  Consumer consumer(*service.driver, service.sums, {}, {.visibility_timeout = 30s});
  Got got;
  Ended ended;
  service.Fold("ann");
  consumer.async_lease(got.One());
  async_drain(*service.driver, {}, ended.Handler());
  service.Poll();  // the lease begins
  service.Pass(30s - 1us);
  EXPECT_EQ(ended.calls, 0);
  service.Pass(1us);
  ASSERT_EQ(ended.calls, 1);
  EXPECT_EQ(ended.drained->state, DrainState::kDrained);
  EXPECT_EQ(ended.drained->left.dead_letters, 1u);
}

TEST_F(AsyncDrain, OfOneCollectionLeavesTheEngineOpen) {
  service.Fold("ann");
  async_drain(*service.driver, service.sums.any(), {}, ended.Handler());
  consumer.async_pop(got.One());
  service.Poll();
  EXPECT_EQ(ended.calls, 1);
  EXPECT_EQ(service.Fold("ann"), FoldOutcome::kOpened);
}

TEST_F(AsyncDrain, EachTypeOfCancellationEndsIt) {
  service.Fold("ann");
  for (const auto type :
       {cancellation_type::terminal, cancellation_type::partial, cancellation_type::total}) {
    Ended cancelled;
    cancellation_signal signal;
    async_drain(*service.driver, {.timeout = 1h},
                boost::asio::bind_cancellation_slot(signal.slot(), cancelled.Handler()));
    signal.emit(type);
    EXPECT_EQ(cancelled.calls, 0);
    service.Poll();
    EXPECT_EQ(cancelled.calls, 1);
    EXPECT_EQ(cancelled.error, operation_aborted);
    EXPECT_FALSE(cancelled.drained);
  }
  async_drain(*service.driver, {}, ended.Handler());
  consumer.async_pop(got.One());
  service.Poll();
  EXPECT_EQ(ended.calls, 1);  // another one follows
}

TEST_F(AsyncDrain, IsClosedByItsDriver) {
  service.Fold("ann");
  async_drain(*service.driver, {}, ended.Handler());
  service.driver->Stop();
  service.Poll();
  EXPECT_EQ(ended.error, AsioError::kClosed);
  Ended late;
  async_drain(*service.driver, {}, late.Handler());
  service.Poll();
  EXPECT_EQ(late.error, AsioError::kClosed);
}

TEST_F(AsyncDrain, IsClosedWithACollectionOrTheEngine) {
  Sums other(*service.engine, "other", {.quiet_period = 5min, .max_wait = 1h});
  other.Fold("ann", 1, kNoon);
  Ended of_other;
  async_drain(*service.driver, other.any(), {}, of_other.Handler());
  service.Fold("ann");
  async_drain(*service.driver, {}, ended.Handler());
  other.Close();
  service.Poll();
  EXPECT_EQ(of_other.error, AsioError::kClosed);
  EXPECT_EQ(ended.calls, 0);
  service.engine.reset();
  service.Poll();
  EXPECT_EQ(ended.error, AsioError::kClosed);
}

// Its handler owns what the operation needs, and is destroyed with it.
TEST_F(AsyncDrain, EndsWithTheExecutionContext) {
  service.Fold("ann");
  const auto owned = std::make_shared<int>(0);
  async_drain(*service.driver, {.timeout = 1h},
              [owned](const error_code&, const std::optional<Drained>&) { ADD_FAILURE(); });
  EXPECT_EQ(owned.use_count(), 2);
  service.io.reset();
  EXPECT_EQ(owned.use_count(), 1);
  EXPECT_EQ(service.sums.Pop(9).size(), 1u);  // tells nobody
}

TEST_F(AsyncDrain, BeginsWhenALazyTokenIsRun) {
  auto deferred = async_drain(*service.driver, {}, boost::asio::deferred);
  EXPECT_EQ(service.Fold("ann"), FoldOutcome::kOpened);
  auto future = std::move(deferred)(boost::asio::use_future);
  EXPECT_EQ(service.Fold("ann"), FoldOutcome::kStopped);
  consumer.async_pop(got.One());
  service.Poll();
  ASSERT_EQ(future.wait_for(0s), std::future_status::ready);  // by this thread, and no other
  EXPECT_EQ(future.get()->state, DrainState::kDrained);
}

TEST_F(AsyncDrain, KeepsGroupsForASnapshot) {
  service.Fold("open");
  service.Emit("closed");
  async_drain(*service.driver, {.keep_open = true}, ended.Handler());
  service.Poll();
  EXPECT_EQ(ended.calls, 0);
  consumer.async_pop(got.One());
  service.Poll();
  ASSERT_EQ(ended.calls, 1);
  EXPECT_EQ(ended.drained->left.open_groups, 1u);
}

}  // namespace
}  // namespace pleat
