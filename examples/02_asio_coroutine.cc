// A service that does not poll. A coroutine awaits the next emission, publishes it, and acks it
// when the result is safely downstream. A driver moves the engine's time by the clock and sleeps
// until a group is due.
#include <chrono>
#include <exception>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <pleat/asio.h>
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
asio::awaitable<bool> Recompute(const Account& account) {
  std::cout << account.key << ", delivery " << account.delivery.deliveries << ":";
  for (const std::string& post : account.state.posts) std::cout << ' ' << post;
  const bool worked = account.key != "account_1" || account.delivery.deliveries > 1;
  std::cout << (worked ? "\n" : " failed\n");
  co_return worked;
}

asio::awaitable<void> Serve(pleat::Consumer<ChangedPosts>& consumer, int accounts) {
  while (accounts > 0) {
    auto account = co_await consumer.async_lease(asio::use_awaitable);
    if (co_await Recompute(*account)) {
      account->Ack();
      --accounts;
    } else {
      account->Nack();  // delivered again at once; without an answer, when the lease runs out
    }
  }
}

int main() {
  asio::io_context io;
  auto engine = *pleat::Engine::Open({.partitions = 4});
  Accounts accounts(*engine, "accounts", {.quiet_period = 100ms, .max_hold = 1s});
  pleat::Driver driver(io, *engine);
  pleat::Consumer consumer(driver, accounts);

  // io.run() does not return while a driver sleeps, so the last consumer stops the driver.
  asio::co_spawn(io, Serve(consumer, 2), [&](std::exception_ptr) { driver.Stop(); });

  const pleat::EngineTime now = driver.now();
  accounts.Fold("account_1", {"post_1"}, now);
  accounts.Fold("account_1", {"post_2"}, now + 1ms);
  accounts.Fold("account_2", {"post_3"}, now + 2ms);
  accounts.Fold("account_1", {"post_4"}, now + 3ms);
  std::cout << accounts.sizes().open_groups << " accounts are changing\n";

  io.run();
  const pleat::Ledger ledger = accounts.ledger();
  std::cout << ledger.events << " events became " << ledger.acked << " emissions, in "
            << ledger.deliveries << " deliveries\n";
}
