// A whole service on one event loop: it takes orders, and mails each customer a basket when that
// customer has paused. It may be killed at any instant, and goes on when it is started again.
//
//   16_delivery DIRECTORY
//
//   orders -> event store -> processor (a Folder for each partition) -> mails
//
// The event loop waits for no disk: a StoreDriver commits the store on the worker's threads, and a
// ProcessorDriver runs the rounds of the processor there. Three coroutines deliver, as a service has
// several connections to its mail server. A mail that was delivered just before a kill may come again,
// with the id that it had, so the receiver drops ids that it knows.
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
#include <utility>

#include <absl/status/status.h>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>
#include <pleat/asio_processor.h>
#include <pleat/asio_store.h>
#include <pleat/event_store.h>
#include <pleat/folder.h>
#include <pleat/processor.h>
#include <pleat/store_log.h>

using namespace std::chrono_literals;
namespace asio = boost::asio;

constexpr uint64_t kOrders = 300;
constexpr int kPartitions = 2;

void Check(bool ok, const std::string& why) {
  if (!ok) throw std::runtime_error(why);
}
void Check(const absl::Status& status) { Check(status.ok(), status.ToString()); }

struct Basket {
  uint64_t orders = 0;

  void Fold(int) noexcept { ++orders; }
  template <class F>
  void Stored(F& f) {
    f(orders);
  }
};

// A service waits for minutes; an example has less time.
class Baskets final : public pleat::Handler {
 public:
  explicit Baskets(pleat::Lane& lane)
      : baskets_(lane.engine(), "baskets", {.quiet_period = 50ms, .max_wait = 1s}) {
    lane.Publish("baskets", baskets_,
                 [](const auto& closed) { return std::to_string(closed.state.orders); });
  }
  pleat::Handled Handle(const pleat::LogRecord& record, pleat::Lane&) override {
    static_cast<void>(baskets_.Fold(record.key, 1, record.logged));
    return pleat::Handled::Done();
  }

 private:
  pleat::Folder<int, Basket> baskets_;
};

// The receiver: a file, and the ids in it.
class Mails {
 public:
  explicit Mails(const std::string& path) {
    std::ifstream in(path);
    uint64_t orders = 0;
    for (std::string id; in >> id >> orders;) Note(id, orders);
    out_.open(path, std::ios::app);
  }
  void Deliver(const std::string& id, uint64_t orders) {
    if (Note(id, orders)) out_ << id << " " << orders << "\n" << std::flush;
  }
  uint64_t orders() const { return orders_; }
  size_t count() const { return ids_.size(); }

 private:
  bool Note(const std::string& id, uint64_t orders) {
    if (!ids_.insert(id).second) return false;
    orders_ += orders;
    return true;
  }

  std::ofstream out_;
  std::set<std::string> ids_;
  uint64_t orders_ = 0;
};

struct Service {
  pleat::EventStore& store;
  pleat::StoreDriver& store_driver;
  pleat::Processor& processor;
  pleat::ProcessorDriver& driver;
  Mails& mails;
  bool is_ending = false;
};

// Orders arrive, but for those that a run before has taken.
asio::awaitable<void> TakeOrders(Service& service) {
  uint64_t offsets[kPartitions] = {};
  for (uint64_t order = 0; order < kOrders; ++order) {
    const std::string customer = "customer-" + std::to_string(order * order % 31);
    const int partition = pleat::PartitionOf(customer, kPartitions);
    const uint64_t offset = offsets[partition]++;
    if (offset < service.store.Next(partition)) continue;
    const pleat::AppendAnswer answer =
        service.store.Append({.key = customer, .payload = "1200 cents"}, service.driver.now(),
                             {.partition = partition, .expected = offset});
    Check(answer.outcome == pleat::AppendOutcome::kAppended, "an order was refused");
    co_await service.store_driver.async_durable(partition, offset, asio::use_awaitable);
    service.driver.Wake();
  }
}

asio::awaitable<void> End(Service& service) {
  service.processor.Stop();
  co_await service.driver.async_stopped(asio::use_awaitable);
  service.driver.Stop();
  service.store_driver.Stop();
}

void Rethrow(const std::exception_ptr& error) {
  if (error) std::rethrow_exception(error);
}

asio::awaitable<void> Deliver(Service& service) try {
  for (;;) {
    const auto messages = co_await service.driver.async_lease(10, 30s, asio::use_awaitable);
    for (const pleat::Message& mail : messages) {
      service.mails.Deliver(pleat::FormatMessageId("shop", mail.id, mail.stream),
                            std::stoull(mail.payload));
      service.driver.Ack(mail.id);
    }
    if (service.mails.orders() == kOrders && !std::exchange(service.is_ending, true)) {
      asio::co_spawn(co_await asio::this_coro::executor, End(service), Rethrow);
    }
  }
} catch (const boost::system::system_error& error) {
  Check(error.code() == asio::error::operation_aborted, error.what());  // the service has ended
}

int main(int argc, char** argv) try {
  Check(argc == 2, "16_delivery DIRECTORY");
  const std::string path = argv[1];
  std::filesystem::create_directories(path);
  auto store = pleat::EventStore::Open(
      path + "/store", {.partitions = kPartitions, .durability = pleat::StoreDurability::kGroup});
  Check(store.status());
  auto log = pleat::StoreLog::Open(path + "/store", "mails");
  Check(log.status());
  pleat::Processor processor(**log,
                             [](pleat::Lane& lane) { return std::make_unique<Baskets>(lane); },
                             {.commit_every = 20ms, .margin = 50ms});
  Mails mails(path + "/mails");

  asio::thread_pool worker(2);  // a thread for the store, and one for the processor
  asio::io_context io;
  pleat::StoreDriver store_driver(io, **store, {.disk = worker.get_executor()});
  pleat::ProcessorDriver driver(io, processor, {.worker = worker.get_executor()});
  Service service{**store, store_driver, processor, driver, mails};
  service.is_ending = mails.orders() == kOrders;
  asio::co_spawn(io, TakeOrders(service), Rethrow);
  if (service.is_ending) asio::co_spawn(io, End(service), Rethrow);
  for (int i = 0; i < 3; ++i) asio::co_spawn(io, Deliver(service), Rethrow);
  io.run();  // returns when both drivers are stopped

  Check((*store)->Close());
  Check(mails.orders() == kOrders, "orders are missing, or were mailed twice");
  std::cout << kOrders << " orders in " << mails.count() << " mails, each once\n";
} catch (const std::exception& error) {
  std::cerr << error.what() << "\n";
  return 1;
}
