// Traces that are read while threads fold, lease, ack and move time: no record is missing, none comes
// twice, and the steps of each group and of each emission come in their order. ThreadSanitizer has its
// say.
#include <atomic>
#include <map>
#include <span>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <pleat/folder.h>
#include <pleat/trace.h>

#include "tests/support/sanitized.h"
#include "tests/support/start.h"

namespace pleat::inline v0_1 {
namespace {

using namespace std::chrono_literals;

constexpr int kWriters = 3;
constexpr int kEvents = kSanitized ? 6'000 : 60'000;  // of each writer

struct Count {
  int events = 0;
  void Fold(const int&) noexcept { ++events; }
};

// The life of an emission, as a state machine.
bool MayFollow(TraceStep before, TraceStep step) {
  switch (step) {
    case TraceStep::kPopped:
      return before == TraceStep::kClosed || before == TraceStep::kNacked ||
             before == TraceStep::kRanOut;
    case TraceStep::kLent:
      return before == TraceStep::kClosed || before == TraceStep::kNacked ||
             before == TraceStep::kRanOut;
    case TraceStep::kNacked:
    case TraceStep::kRanOut:
    case TraceStep::kAcked: return before == TraceStep::kLent;
    case TraceStep::kDead: return before == TraceStep::kNacked || before == TraceStep::kRanOut;
    default: return false;
  }
}

// Follows all groups and emissions.
class Observer {
 public:
  explicit Observer(const Folder<int, Count>& folder) : reader_(folder) {}

  void Read(const Folder<int, Count>& folder) {
    reader_.Read(1'000, [&](std::span<const TraceRecord> records) {
      for (const TraceRecord& record : records) See(record);
      if (records.front().number % 16 == 0) std::ignore = folder.Peek(records.front().key);
    });
  }
  size_t ReadRest() {
    return reader_.Read(SIZE_MAX, [&](std::span<const TraceRecord> records) {
      for (const TraceRecord& record : records) See(record);
    });
  }
  uint64_t CountOf(TraceStep step) const {
    const auto found = counts_.find(step);
    return found == counts_.end() ? 0 : found->second;
  }
  uint64_t seen() const { return seen_; }
  uint64_t lost() const { return reader_.lost(); }

 private:
  void See(const TraceRecord& record) {
    ++seen_;
    ++counts_[record.step];
    uint64_t& next = next_[record.partition];
    ASSERT_GE(record.number, next);
    ASSERT_TRUE(record.number == next || lost() > 0);
    next = record.number + 1;
    if (lost() > 0) return;
    const std::pair group(record.partition, record.group);
    if (record.step == TraceStep::kOpened) {
      ASSERT_TRUE(groups_.emplace(group, record.key).second);
      return;
    }
    ASSERT_EQ(groups_[group], record.key);
    const std::pair emission(record.partition, record.emission->generation);
    if (record.step == TraceStep::kClosed) {
      ASSERT_TRUE(emissions_.emplace(emission, record.step).second);
      return;
    }
    ASSERT_TRUE(MayFollow(emissions_.at(emission), record.step))
        << StepName(record.step) << " after " << StepName(emissions_.at(emission));
    emissions_[emission] = record.step;
  }

  TraceReader reader_;
  uint64_t seen_ = 0;
  std::map<TraceStep, uint64_t> counts_;
  std::map<uint32_t, uint64_t> next_;                             // by partition
  std::map<std::pair<uint32_t, uint64_t>, std::string> groups_;   // key of each
  std::map<std::pair<uint32_t, uint64_t>, TraceStep> emissions_;  // the latest step of each
};

void Write(Engine& engine, Folder<int, Count> folder, int writer) {
  std::vector<std::string> keys;
  std::vector<KeyedEvent<int>> batch;
  for (int i = 0; i < kEvents; ++i) {
    const EngineTime at = kT0 + Duration(i * 1ms);
    const LeaseTime lease_now(at);
    folder.Fold("key " + std::to_string(i * (writer + 3) % 101), writer, at);
    if (i % 50 == 0) {
      keys.clear();
      for (int k = 0; k < 40; ++k) keys.push_back("key " + std::to_string(k));
      batch.clear();
      for (const std::string& key : keys) batch.push_back({key, at, writer});
      folder.FoldBatch(batch);
    }
    if (i % 10 == writer) engine.Advance(at);
    if (i % 7 == 0) {
      for (auto& lease : folder.Lease(3, 20ms, lease_now)) {
        if (i % 3 == 0) lease.Ack();
        if (i % 3 == 1) lease.Nack();
      }
    }
    if (i % 100 == 0) std::ignore = folder.Pop(5);
  }
}

TEST(TraceThreads, ReadersSeeEachStepOnceAndInOrder) {
  auto engine = *Engine::Open({.partitions = 4, .huge_pages = HugePages::kOff});
  engine->Advance(kT0);
  Folder<int, Count> folder(*engine, "counts",
                            {.quiet_period = 5ms,
                             .max_wait = 50ms,
                             .leases = {.max_deliveries = 3},
                             .measure = {.max_trace = 10'000'000}});
  Observer observers[] = {Observer(folder), Observer(folder)};
  std::atomic<bool> writing = true;
  std::vector<std::thread> readers;
  for (Observer& observer : observers) {
    readers.emplace_back([&] {
      while (writing) observer.Read(folder);
    });
  }
  std::vector<std::thread> writers;
  for (int i = 0; i < kWriters; ++i) {
    writers.emplace_back([&, i] { Write(*engine, folder, i); });
  }
  for (std::thread& thread : writers) thread.join();
  writing = false;
  for (std::thread& thread : readers) thread.join();
  folder.CloseAll();
  const Ledger ledger = folder.ledger();
  EXPECT_TRUE(ledger.Balances());
  for (Observer& observer : observers) {
    while (observer.ReadRest() > 0) {
    }
    EXPECT_EQ(observer.lost(), 0u);
    EXPECT_EQ(observer.CountOf(TraceStep::kOpened), ledger.opened);
    EXPECT_EQ(observer.CountOf(TraceStep::kClosed), ledger.closed);
    EXPECT_EQ(observer.CountOf(TraceStep::kPopped), ledger.popped);
    EXPECT_EQ(observer.CountOf(TraceStep::kLent), ledger.deliveries);
    EXPECT_EQ(observer.CountOf(TraceStep::kNacked), ledger.nacked);
    EXPECT_EQ(observer.CountOf(TraceStep::kRanOut), ledger.ran_out);
    EXPECT_EQ(observer.CountOf(TraceStep::kAcked), ledger.acked);
    EXPECT_EQ(observer.CountOf(TraceStep::kDead), ledger.dead);
    EXPECT_GT(ledger.acked, 0u);
    EXPECT_GT(ledger.ran_out, 0u);
  }
}

// A ring of a few records: what was read and what was lost is all that there was.
TEST(TraceThreads, AReaderThatIsTooSlowKnowsWhatItLost) {
  auto engine = *Engine::Open({.partitions = 2, .huge_pages = HugePages::kOff});
  engine->Advance(kT0);
  Folder<int, Count> folder(*engine, "counts",
                            {.quiet_period = 5ms, .max_wait = 50ms, .measure = {.max_trace = 64}});
  Observer observer(folder);
  std::atomic<bool> writing = true;
  std::thread reader([&] {
    while (writing) observer.Read(folder);
  });
  std::vector<std::thread> writers;
  for (int i = 0; i < kWriters; ++i) {
    writers.emplace_back([&, i] { Write(*engine, folder, i); });
  }
  for (std::thread& thread : writers) thread.join();
  writing = false;
  reader.join();
  while (observer.ReadRest() > 0) {
  }
  const Ledger ledger = folder.ledger();
  EXPECT_EQ(observer.seen() + observer.lost(), ledger.opened + ledger.closed + ledger.popped +
                                                   ledger.deliveries + ledger.nacked +
                                                   ledger.ran_out + ledger.acked + ledger.dead);
  EXPECT_GT(observer.lost(), 0u);
}

}  // namespace
}  // namespace pleat::inline v0_1
