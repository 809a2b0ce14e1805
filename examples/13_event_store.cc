// An event store: each order is kept for good before anything is made of it.
//
//   13_event_store DIRECTORY
//
// The recipe: append, read back, fold with the place, snapshot; after a crash recover, and read on.
// A record of the store has a place, which never changes: a partition and an offset. The engine
// remembers up to which place it has folded, and a snapshot has that, too. So each order is folded
// exactly once, although the program may be killed at any instant: the same command goes on, and
// prints the same in the end.
//
// A snapshot does not know of the emissions that were handed out after it. When the program is
// killed they come again, and have the same ids, because the store says its records again in the
// same order (StateDirectoryOptions::repeats). Whoever takes them drops the ids that are known.
#include <chrono>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include <absl/status/status.h>
#include <pleat/engine.h>
#include <pleat/event_store.h>
#include <pleat/folder.h>
#include <pleat/state_directory.h>

using namespace std::chrono_literals;

constexpr uint64_t kOrders = 2'000;
constexpr uint64_t kOrdersARound = 100;
constexpr uint64_t kOrdersASnapshot = 300;
// The engine has as many partitions as the store: then a key is in the same one in both.
constexpr int kPartitions = 4;
constexpr uint64_t kTheStore = 1;  // the number of the source, the same in each run

// What the world says: an order a second; some customers pause, which ends their group.
std::string CustomerOf(uint64_t order) { return "customer-" + std::to_string(order * order % 31); }
std::string CentsOf(uint64_t order) { return std::to_string(order * 37 % 500 + 1); }
pleat::EngineTime TimeOf(uint64_t order) {
  return pleat::FromUnix(1'700'049'600s) + std::chrono::seconds(order);
}

struct Orders {
  int64_t count = 0;
  int64_t cents = 0;

  void Fold(int64_t order) noexcept {
    ++count;
    cents += order;
  }
  template <class F>
  void Stored(F& f) {
    f(count, cents);
  }
};
using Groups = pleat::Folder<int64_t, Orders>;

void Check(bool ok, const std::string& why) {
  if (!ok) throw std::runtime_error(why);
}
void Check(const absl::Status& status) { Check(status.ok(), status.ToString()); }

// Appends the orders of a round. A new run begins at the first round again, and passes over what the
// store has: as many orders of each partition as Next() says. `offsets` counts those taken so far.
void AppendRound(uint64_t end, uint64_t (&offsets)[kPartitions], pleat::EventStore& store) {
  for (uint64_t order = end - kOrdersARound; order < end; ++order) {
    const std::string customer = CustomerOf(order);
    const int partition = pleat::PartitionOf(customer, kPartitions);
    const uint64_t offset = offsets[partition]++;
    if (offset < store.Next(partition)) continue;
    const std::string cents = CentsOf(order);
    // With `expected` an order has this place or none, whatever else goes wrong.
    const pleat::AppendAnswer answer =
        store.Append({.key = customer, .stamp = TimeOf(order), .payload = cents}, TimeOf(order),
                     {.partition = partition, .expected = offset});
    Check(answer.outcome == pleat::AppendOutcome::kAppended, "an order was refused");
  }
  Check(store.Commit());  // only now they are kept, and can be read
}

// Folds what the store has and the engine has not yet. Returns how many records that were.
uint64_t FoldTheNew(const pleat::EventStore& store, const pleat::Engine& engine, Groups& groups) {
  uint64_t folded = 0;
  pleat::StorePage page;
  for (int partition = 0; partition < kPartitions; ++partition) {
    for (uint64_t next = engine.SourcePositionOf(kTheStore, partition);; next = page.next()) {
      const auto outcome = store.Read(partition, next, 64 * 1024, page);
      Check(outcome.status());
      Check(*outcome != pleat::ReadOutcome::kPositionLost, "the snapshot is of another store");
      if (*outcome == pleat::ReadOutcome::kEnd) break;
      std::vector<pleat::KeyedEvent<int64_t>> batch;
      for (const pleat::StoredRecord& record : page.records()) {
        batch.push_back({record.key, record.appended, std::stoll(std::string(record.payload))});
      }
      groups.FoldBatch(batch, {}, pleat::PartitionRange::One(partition),
                       pleat::SourcePosition{.source = kTheStore, .offset = next});
      folded += batch.size();
    }
  }
  return folded;
}

// Each line is one emission: its id, and what it says. It is written at once and as a whole.
void Publish(std::ofstream& out, Groups& groups) {
  for (const auto& e : groups.Pop(SIZE_MAX)) {
    out << e.id.partition << "-" << e.id.generation << " " << e.state.count << " orders of "
        << e.key << ", " << e.state.cents << " cents\n"
        << std::flush;
  }
}

// What readers of the published lines have, who drop the ids that they know.
void Report(const std::string& published) {
  std::map<std::string, std::string> said;  // by id
  std::ifstream in(published);
  int64_t orders = 0;
  for (std::string id, text; in >> id && std::getline(in, text);) {
    const auto [line, is_new] = said.try_emplace(id, text);
    Check(line->second == text, "an id means two things");
    if (is_new) orders += std::stoll(text);
  }
  Check(orders == kOrders, "orders are missing, or there twice");
  for (const auto& [each, text] : said) std::cout << each << text << "\n";
  std::cout << orders << " orders of " << kOrders << ", each once\n";
}

int main(int argc, char** argv) try {
  Check(argc == 2, "13_event_store DIRECTORY");
  const std::string path = argv[1];
  std::filesystem::create_directories(path);

  auto store = pleat::EventStore::Open(path + "/store", {.partitions = kPartitions});
  Check(store.status());
  auto directory = pleat::StateDirectory::Open(path + "/state", {.repeats = true});
  Check(directory.status());
  auto engine = *pleat::Engine::Open({.partitions = kPartitions});
  Groups groups(*engine, "orders", {.quiet_period = 30s, .max_wait = 10min});
  Check((*directory)->Recover(*engine).status());

  uint64_t offsets[kPartitions] = {};
  std::ofstream out(path + "/published", std::ios::app);
  uint64_t folded = 0;  // since the newest snapshot
  for (uint64_t end = kOrdersARound; end <= kOrders; end += kOrdersARound) {
    AppendRound(end, offsets, **store);
    folded += FoldTheNew(**store, *engine, groups);
    // The partitions share the engine's time, so it moves when all of them were read up to there:
    // the one that is read first must not end groups of the others, whose records come later.
    engine->Advance(TimeOf(end - 1));
    Publish(out, groups);
    if (folded < kOrdersASnapshot) continue;
    // First the store is on the disk: a snapshot must not know of a record that the store may lose
    // with the power. And what was popped is published, because the snapshot has it no more.
    Check((*store)->Sync());
    Check((*directory)->TakeSnapshot(*engine));
    folded = 0;
  }
  groups.CloseAll();
  Publish(out, groups);
  Check((*store)->Close());
  Report(path + "/published");
} catch (const std::exception& error) {
  std::cerr << error.what() << "\n";
  return 1;
}
