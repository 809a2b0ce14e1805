// async_dead_letters() on a clock that is moved by hand.
#include <future>
#include <optional>

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/use_future.hpp>

#include "tests/asio/fixtures.h"

namespace pleat {
namespace {

struct Heard {
  int calls = 0;
  error_code error;
  std::optional<uint64_t> deaths;

  auto Handler() {
    return [this](error_code e, std::optional<uint64_t> count) {
      ++calls;
      error = e;
      deaths = count;
    };
  }
};

// Each delivery is the last.
struct AsyncDeadLetters : testing::Test {
  // Has the emission of `key` lent and given back.
  void Die(std::string_view key) {
    service.Emit(key);
    for (auto& lease : service.sums.Lease(1, 30s, service.driver->lease_now())) lease.Nack();
  }
  void Wait(uint64_t seen) {
    async_dead_letters(*service.driver, service.sums.any(), seen, heard.Handler());
  }

  Service service{{}, {.quiet_period = 5min, .max_wait = 1h, .leases = {.max_deliveries = 1}}};
  Heard heard;
};

TEST_F(AsyncDeadLetters, CompletesWhenALetterComes) {
  Wait(0);
  service.Emit("ann");
  service.Poll();
  EXPECT_EQ(heard.calls, 0);
  Die("bob");  // ann is lent first
  EXPECT_EQ(heard.calls, 0);
  service.Poll();  // no time passes: it does not poll
  EXPECT_EQ(heard.calls, 1);
  EXPECT_FALSE(heard.error);
  EXPECT_EQ(heard.deaths, 1u);
}

TEST_F(AsyncDeadLetters, CompletesWhenTimeMakesALetter) {
  service.Emit("ann");
  ASSERT_EQ(service.sums.Lease(1, 30s, service.driver->lease_now()).size(), 1u);
  Wait(0);
  service.Pass(30s - 1us);
  EXPECT_EQ(heard.calls, 0);
  service.Pass(1us);
  EXPECT_EQ(heard.calls, 1);
}

TEST_F(AsyncDeadLetters, TellsOfWhatCameBeforeItBeganButNotFromWithinTheCall) {
  Die("ann");
  Die("bob");
  Wait(0);
  EXPECT_EQ(heard.calls, 0);
  service.Poll();
  EXPECT_EQ(heard.calls, 1);
  EXPECT_EQ(heard.deaths, 2u);
  Wait(*heard.deaths);  // what was seen is no news
  service.Poll();
  EXPECT_EQ(heard.calls, 1);
  Die("ann");
  service.Poll();
  EXPECT_EQ(heard.deaths, 3u);
}

// Each has a queue of its own: nobody waits for who began before.
TEST_F(AsyncDeadLetters, OperationsDoNotWaitForEachOtherNorForEmissions) {
  Consumer consumer(*service.driver, service.sums);
  Got got;
  consumer.async_pop(got.One());
  Wait(9);
  Heard other;
  async_dead_letters(*service.driver, service.sums.any(), 0, other.Handler());
  service.Poll();
  service.Emit("ann");
  service.Poll();
  EXPECT_EQ(got.calls, 1);
  Die("bob");
  service.Poll();
  EXPECT_EQ(heard.calls, 0);
  EXPECT_EQ(other.deaths, 1u);
}

TEST_F(AsyncDeadLetters, EndsWithTheCollectionAndWithTheDriver) {
  Die("ann");
  Wait(1);
  Heard of_other;
  Sums other(*service.engine, "other", {.quiet_period = 1h, .max_wait = 1h});
  async_dead_letters(*service.driver, other.any(), 0, of_other.Handler());
  service.Poll();
  service.sums.any().Close();
  service.Poll();
  EXPECT_EQ(heard.error, AsioError::kClosed);
  EXPECT_FALSE(heard.deaths);
  EXPECT_EQ(of_other.calls, 0);
  service.driver->Stop();
  service.Poll();
  EXPECT_EQ(of_other.error, AsioError::kClosed);
}

TEST_F(AsyncDeadLetters, EachTypeOfCancellationEndsIt) {
  for (const auto type :
       {cancellation_type::terminal, cancellation_type::partial, cancellation_type::total}) {
    Heard cancelled;
    cancellation_signal signal;
    async_dead_letters(*service.driver, service.sums.any(), 0,
                       boost::asio::bind_cancellation_slot(signal.slot(), cancelled.Handler()));
    signal.emit(type);
    service.Poll();
    EXPECT_EQ(cancelled.calls, 1);
    EXPECT_EQ(cancelled.error, operation_aborted);
  }
}

TEST_F(AsyncDeadLetters, TheEndOfTheContextDestroysIt) {
  Wait(0);
  service.driver.reset();
  service.io.reset();
  EXPECT_EQ(heard.calls, 0);
}

}  // namespace
}  // namespace pleat
