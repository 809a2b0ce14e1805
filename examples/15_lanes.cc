// Lanes: a service whose messages are neither lost nor doubled, however often it is killed.
//
//   15_lanes DIRECTORY
//
// Orders are appended to an event store. A processor reads them, folds the orders of each customer
// into a basket, and delivers each basket when the customer has paused. It keeps no book of its own:
// a commit says how far each lane has read and which messages came of that, and only then they
// leave. When the program is killed, the same command goes on, and prints the same in the end.
//
// What was delivered just before the kill may come again, with the id that it had; so the receiver
// drops ids that it knows.
#include <chrono>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>

#include <absl/status/status.h>
#include <pleat/event_store.h>
#include <pleat/folder.h>
#include <pleat/processor.h>
#include <pleat/store_log.h>

using namespace std::chrono_literals;

constexpr uint64_t kOrders = 2'000;
constexpr uint64_t kOrdersARound = 100;
constexpr int kPartitions = 4;

// What the world says: an order a second; some customers pause, which ends their basket.
std::string CustomerOf(uint64_t order) { return "customer-" + std::to_string(order * order % 31); }
std::string CentsOf(uint64_t order) { return std::to_string(order * 37 % 500 + 1); }
pleat::EngineTime TimeOf(uint64_t order) {
  return pleat::FromUnix(1'700'049'600s) + std::chrono::seconds(order);
}

struct Basket {
  int64_t orders = 0;
  int64_t cents = 0;

  void Fold(int64_t order) noexcept {
    ++orders;
    cents += order;
  }
  template <class F>
  void Stored(F& f) {
    f(orders, cents);
  }
};

// One for each partition. A handler depends on the records alone.
class Baskets final : public pleat::Handler {
 public:
  explicit Baskets(pleat::Lane& lane)
      : baskets_(lane.engine(), "baskets", {.quiet_period = 30s, .max_wait = 10min}) {
    lane.Publish("baskets", baskets_, [](const auto& closed) {
      return std::to_string(closed.state.orders) + " orders, " +
             std::to_string(closed.state.cents) + " cents";
    });
  }
  pleat::Handled Handle(const pleat::LogRecord& record, pleat::Lane&) override {
    static_cast<void>(
        baskets_.Fold(record.key, std::stoll(std::string(record.payload)), record.logged));
    return pleat::Handled::Done();
  }

 private:
  pleat::Folder<int64_t, Basket> baskets_;
};

void Check(bool ok, const std::string& why) {
  if (!ok) throw std::runtime_error(why);
}
void Check(const absl::Status& status) { Check(status.ok(), status.ToString()); }

// Appends the orders of a round, but for those that a run before has appended.
void AppendRound(uint64_t end, uint64_t (&offsets)[kPartitions], pleat::EventStore& store) {
  for (uint64_t order = end - kOrdersARound; order < end; ++order) {
    const std::string customer = CustomerOf(order);
    const int partition = pleat::PartitionOf(customer, kPartitions);
    const uint64_t offset = offsets[partition]++;
    if (offset < store.Next(partition)) continue;
    const std::string cents = CentsOf(order);
    const pleat::AppendAnswer answer =
        store.Append({.key = customer, .stamp = TimeOf(order), .payload = cents}, TimeOf(order),
                     {.partition = partition, .expected = offset});
    Check(answer.outcome == pleat::AppendOutcome::kAppended, "an order was refused");
  }
  Check(store.Commit());
}

// Reads what is new, delivers what is decided, and acks that, until nothing is left to be done at
// this instant. A commit is answered in the round behind it.
void Work(pleat::Processor& processor, pleat::EngineTime now, std::ofstream& delivered) {
  for (int idle = 0; idle < 3; ++idle) {
    const absl::StatusOr<bool> more = processor.Run(now);
    Check(more.status());
    for (const pleat::Message& message : processor.Lease(1'000, 30s, now)) {
      delivered << message.id.partition << "-" << message.id.number << " " << message.key << ": "
                << message.payload << "\n"
                << std::flush;
      Check(processor.Ack(message.id), "nobody else has the lane");
      idle = 0;
    }
    if (*more) idle = 0;
  }
  for (const pleat::LaneStatus& lane : processor.lanes()) {
    Check(lane.phase == pleat::LanePhase::kLive, lane.why.ToString());
  }
}

// What the receiver has, who drops the ids that it knows.
void Report(const std::string& delivered) {
  std::map<std::string, std::string> baskets;  // by id
  std::ifstream in(delivered);
  int64_t orders = 0;
  for (std::string id, customer, rest; in >> id >> customer && std::getline(in, rest);) {
    const auto [basket, is_new] = baskets.try_emplace(id, customer + rest);
    Check(basket->second == customer + rest, "an id means two things");
    if (is_new) orders += std::stoll(rest);
  }
  Check(orders == kOrders, "orders are missing, or there twice");
  for (const auto& [id, basket] : baskets) std::cout << id << " " << basket << "\n";
  std::cout << orders << " orders of " << kOrders << ", each once\n";
}

int main(int argc, char** argv) try {
  Check(argc == 2, "15_lanes DIRECTORY");
  const std::string path = argv[1];
  std::filesystem::create_directories(path);

  auto store = pleat::EventStore::Open(path + "/store", {.partitions = kPartitions});
  Check(store.status());
  auto log = pleat::StoreLog::Open(path + "/store", "baskets");
  Check(log.status());
  pleat::Processor processor(**log,
                             [](pleat::Lane& lane) { return std::make_unique<Baskets>(lane); },
                             {.replay_limit = 150});

  uint64_t offsets[kPartitions] = {};
  std::ofstream delivered(path + "/delivered", std::ios::app);
  for (uint64_t end = kOrdersARound; end <= kOrders; end += kOrdersARound) {
    AppendRound(end, offsets, **store);
    Work(processor, TimeOf(end), delivered);
  }
  // No order comes any more. The last baskets close, because the store says that it has no more.
  Work(processor, TimeOf(kOrders) + 1min, delivered);
  processor.Stop();
  for (int i = 1; !processor.stopped(); ++i) {
    Work(processor, TimeOf(kOrders) + 1min + i * 1s, delivered);
  }
  Check((*store)->Close());
  Report(path + "/delivered");
} catch (const std::exception& error) {
  std::cerr << error.what() << "\n";
  return 1;
}
