// Workers that own partitions. Each worker has a thread, an io_context and a range of its own, so
// that all emissions of a key go to the same worker, in order, and no two workers take the same
// lock.
#include <atomic>
#include <chrono>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <pleat/asio.h>
#include <pleat/asio_driver.h>
#include <pleat/batch.h>
#include <pleat/engine.h>
#include <pleat/folder.h>

using namespace std::chrono_literals;
namespace asio = boost::asio;

constexpr int kPartitions = 16;
constexpr int kWorkers = 3;
constexpr int kKeys = 12;
constexpr int kEventsPerKey = 1000;
constexpr int kEventsPerEmission = 10;

struct Change {
  int version;
};

struct Latest {
  int version = 0;
  void Fold(const Change& change) noexcept { version = change.version; }
};

using Changes = pleat::Folder<Change, Latest>;

std::string Key(int i) { return "order_" + std::to_string(i); }

class Worker {
 public:
  Worker(int i, pleat::Driver& driver, const Changes& changes)
      : range_(pleat::PartitionRange::ForWorker(i, kWorkers, kPartitions)),
        consumer_(io_.get_executor(), driver, changes, range_) {
    for (int key = 0; key < kKeys; ++key) {
      if (range_.Contains(pleat::PartitionOf(Key(key), kPartitions))) last_version_[Key(key)] = 0;
    }
    asio::co_spawn(io_, Serve(), asio::detached);
    thread_ = std::thread([this] { io_.run(); });
  }

  void Join() { thread_.join(); }

  void Report() const {
    std::cout << "partitions " << range_.begin << " to " << range_.end - 1 << ": " << emissions_
              << " emissions of " << last_version_.size() << " orders, "
              << (in_order_ ? "each in order\n" : "OUT OF ORDER\n");
  }

 private:
  // Runs until every order of this worker has reached its last version.
  asio::awaitable<void> Serve() {
    for (size_t unfinished = last_version_.size(); unfinished > 0;) {
      for (const auto& e : co_await consumer_.async_pop_many(100, asio::use_awaitable)) {
        int& last = last_version_.at(e.key);  // throws for a key that is not ours
        in_order_ = in_order_ && last < e.state.version;
        last = e.state.version;
        if (last == kEventsPerKey) --unfinished;
        ++emissions_;
      }
    }
  }

  const pleat::PartitionRange range_;
  std::map<std::string, int> last_version_;
  int emissions_ = 0;
  bool in_order_ = true;
  asio::io_context io_{1};  // the number of threads that run it
  pleat::Consumer<Latest> consumer_;
  std::thread thread_;
};

int main() {
  auto engine = *pleat::Engine::Open({.partitions = kPartitions});
  Changes changes(*engine, "changes",
                  {.quiet_period = 1min, .max_wait = 1h, .max_events = kEventsPerEmission});
  pleat::Driver driver(*engine);
  const pleat::DriverThread driver_thread = driver.RunThread();

  std::vector<std::unique_ptr<Worker>> workers;
  for (int i = 0; i < kWorkers; ++i) {
    workers.push_back(std::make_unique<Worker>(i, driver, changes));
  }
  for (int version = 1; version <= kEventsPerKey; ++version) {
    for (int key = 0; key < kKeys; ++key) changes.Fold(Key(key), {version}, driver.now());
  }
  for (const auto& worker : workers) worker->Join();
  for (const auto& worker : workers) worker->Report();
  std::cout << changes.ledger().events << " events, " << changes.ledger().popped << " emissions\n";
}
