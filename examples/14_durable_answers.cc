// A service that answers an order when it is kept for good, and not before: whatever happens then,
// no order is lost that somebody relies on.
//
//   14_durable_answers DIRECTORY
//
// Coroutines stand in for connections. Each appends an order to an event store, awaits that it is
// durable, and answers. A commit waits for the disk, so it has a thread of its own; the orders that
// come meanwhile share the next one, and a few syncs serve many orders.
//
// The program may be killed at any instant. Run again by the same command, it finds each order that
// was answered in the store. A client without an answer asks again, and an order that is there is
// not appended twice.
#include <chrono>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>

#include <absl/status/status.h>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <pleat/asio_store.h>
#include <pleat/event_store.h>

using namespace std::chrono_literals;
namespace asio = boost::asio;

constexpr int kClients = 25;
constexpr int kOrdersEach = 16;

void Check(bool ok, const std::string& why) {
  if (!ok) throw std::runtime_error(why);
}
void Check(const absl::Status& status) { Check(status.ok(), status.ToString()); }

struct Shop {
  pleat::EventStore& store;
  pleat::StoreDriver& driver;
  std::ofstream answers;
  const std::set<std::string> kept;  // the orders of earlier runs
  int clients = kClients;
};

asio::awaitable<void> Place(const std::string& order, const std::string& client, Shop& shop) {
  const pleat::EngineTime now = pleat::FromUnix(1'700'049'600s);  // of the program's clock
  const pleat::AppendAnswer placed =
      shop.store.Append({.key = client, .id = order, .payload = "1200 cents"}, now);
  // Here a service would answer that it cannot take the order now.
  Check(placed.outcome == pleat::AppendOutcome::kAppended, "an order was refused");
  co_await shop.driver.async_durable(placed.partition, placed.offset, asio::use_awaitable);
}

// One order after the other. The last client ends the service.
asio::awaitable<void> Serve(int number, Shop& shop) {
  const std::string client = "client " + std::to_string(number);
  for (int i = 1; i <= kOrdersEach; ++i) {
    const std::string order = client + ", order " + std::to_string(i);
    if (!shop.kept.contains(order)) co_await Place(order, client, shop);
    shop.answers << order << "\n" << std::flush;  // the client relies on it from now on
  }
  if (--shop.clients == 0) shop.driver.Stop();
}

// The orders in the store.
std::set<std::string> Kept(const pleat::EventStore& store) {
  std::set<std::string> orders;
  pleat::StorePage page;
  for (int partition = 0; partition < store.partitions(); ++partition) {
    for (uint64_t next = 0;; next = page.next()) {
      const auto outcome = store.Read(partition, next, 64 * 1024, page);
      Check(outcome.status());
      if (*outcome != pleat::ReadOutcome::kRecords) break;
      for (const pleat::StoredRecord& record : page.records()) {
        Check(orders.emplace(record.id).second, "an order is there twice");
      }
    }
  }
  return orders;
}

void CheckAnswers(const std::string& answers, const std::set<std::string>& kept) {
  std::ifstream in(answers);
  for (std::string order; std::getline(in, order);) {
    Check(kept.contains(order), "answered and not kept: " + order);
  }
}

int main(int argc, char** argv) try {
  Check(argc == 2, "14_durable_answers DIRECTORY");
  const std::string path = argv[1];
  std::filesystem::create_directories(path);
  auto store = pleat::EventStore::Open(
      path + "/store", {.partitions = 4, .durability = pleat::StoreDurability::kGroup});
  Check(store.status());
  const std::set<std::string> kept = Kept(**store);
  CheckAnswers(path + "/answers", kept);

  asio::thread_pool disk(1);
  asio::io_context io;
  pleat::StoreDriver driver(io, **store, {.disk = disk.get_executor()});
  Shop shop{**store, driver, std::ofstream(path + "/answers", std::ios::app), kept};
  const auto rethrow = [](const std::exception_ptr& error) {
    if (error) std::rethrow_exception(error);
  };
  for (int i = 1; i <= kClients; ++i) asio::co_spawn(io, Serve(i, shop), rethrow);
  io.run();  // returns after driver.Stop()

  Check((*store)->Close());
  std::cout << Kept(**store).size() << " orders of " << kClients * kOrdersEach << ", each once, in "
            << driver.stats().commits << " commits\n";
} catch (const std::exception& error) {
  std::cerr << error.what() << "\n";
  return 1;
}
