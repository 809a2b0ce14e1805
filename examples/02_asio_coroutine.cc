// A service that does not poll. A coroutine awaits the next emission, publishes it, and acks it
// when the result is safely downstream. A driver moves the engine's time by the clock and sleeps
// until a group is due. At SIGINT the service ends in order, so that no event is lost.
#include <chrono>
#include <csignal>
#include <exception>
#include <iostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <pleat/asio.h>
#include <pleat/asio_driver.h>
#include <pleat/engine.h>
#include <pleat/folder.h>

using namespace std::chrono_literals;
namespace asio = boost::asio;

struct PostChanged {
  std::string_view post;
};

struct ChangedPosts {
  std::vector<std::string> posts;
  void Fold(const PostChanged& event) noexcept { posts.emplace_back(event.post); }
};

using Accounts = pleat::Folder<PostChanged, ChangedPosts>;
using Account = pleat::Leased<ChangedPosts>;

// Work that takes a while and fails the first time.
asio::awaitable<void> Recompute(const Account& account) {
  std::cout << account.key << ", delivery " << account.delivery.deliveries << ":";
  for (const std::string& post : account.state.posts) std::cout << ' ' << post;
  const bool works = account.key != "account_1" || account.delivery.deliveries > 1;
  std::cout << (works ? "\n" : " failed\n");
  if (!works) throw std::runtime_error("no connection");
  co_return;
}

// Ends by an exception, AsioError::kClosed, when the driver is stopped.
asio::awaitable<void> Serve(pleat::Consumer<ChangedPosts>& consumer, const pleat::Driver& driver) {
  for (;;) {
    auto account = co_await consumer.async_lease(asio::use_awaitable);
    try {
      co_await Recompute(*account);
      account->Ack();
    } catch (const std::exception&) {
      account->Nack(20ms, driver.lease_now());  // delivered again in 20 ms
    }
  }
}

asio::awaitable<void> Sleep(pleat::Duration time) {
  asio::steady_timer timer(co_await asio::this_coro::executor, time);
  co_await timer.async_wait(asio::use_awaitable);
}

// The end of the service. From the beginning of the drain on nothing is folded, and the consumer
// gets the groups that are open, until all is acked.
asio::awaitable<void> EndAt(asio::signal_set& signals, Accounts& accounts, pleat::Driver& driver) {
  co_await signals.async_wait(asio::use_awaitable);
  const auto drained = co_await pleat::async_drain(driver, {.timeout = 30s}, asio::use_awaitable);
  for (const auto& [collection, left] : drained->collections) {
    std::cerr << collection << ": " << left.ready_emissions + left.unacked_emissions
              << " were not acked in time, " << left.dead_letters << " failed for good\n";
  }
  pleat::ScanCursor cursor;
  std::vector<pleat::DeadLetter<ChangedPosts>> letters;
  while (accounts.ScanDeadLetters(cursor, 100, letters)) {
  }
  for (const auto& letter : letters) std::cerr << letter.key << " was never recomputed\n";
  driver.Stop();
}

// Stands in for the world: posts change, and when two accounts are done, somebody presses Ctrl-C.
asio::awaitable<void> ChangePosts(Accounts& accounts, const pleat::Driver& driver) {
  const pleat::EngineTime now = driver.now();
  accounts.Fold("account_1", {"post_1"}, now);
  accounts.Fold("account_1", {"post_2"}, now + 1ms);
  accounts.Fold("account_2", {"post_3"}, now + 2ms);
  accounts.Fold("account_1", {"post_4"}, now + 3ms);
  std::cout << accounts.sizes().open_groups << " accounts are changing\n";
  while (accounts.ledger().acked < 2) co_await Sleep(10ms);
  accounts.Fold("account_3", {"post_5"}, driver.now());
  std::raise(SIGINT);
}

int main() {
  asio::io_context io;
  auto engine = *pleat::Engine::Open({.partitions = 4});
  Accounts accounts(*engine, "accounts", {.quiet_period = 100ms, .max_wait = 1s});
  pleat::Driver driver(io, *engine);
  pleat::Consumer consumer(driver, accounts);
  asio::signal_set signals(io, SIGINT, SIGTERM);

  asio::co_spawn(io, Serve(consumer, driver), asio::detached);
  asio::co_spawn(io, EndAt(signals, accounts, driver), asio::detached);
  asio::co_spawn(io, ChangePosts(accounts, driver), asio::detached);

  io.run();  // returns after driver.Stop()
  const pleat::Ledger ledger = accounts.ledger();
  std::cout << ledger.events << " events became " << ledger.acked << " emissions, in "
            << ledger.deliveries << " deliveries\n";
}
