// One thread runs the processor, and others take its messages: each message is taken once. And several
// processors, with a thread each, share a consumer of a store.
#include <atomic>
#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <pleat/event_store.h>
#include <pleat/store_log.h>

#include "tests/lanes/lane_world.h"
#include "tests/support/sanitized.h"
#include "tests/support/temporary_directory.h"

namespace pleat::inline v0_1 {
namespace {

using std::chrono_literals::operator""s;

TEST(ProcessorThreads, TakeEachMessageOnce) {
  constexpr int kPartitions = 4;
  constexpr uint64_t kRecords = kSanitized ? 2'000 : 20'000;  // of each partition
  constexpr uint64_t kAll = kPartitions * kRecords;
  ScriptedLog log(kPartitions);
  for (int p = 0; p < kPartitions; ++p) {
    for (uint64_t i = 0; i < kRecords; ++i) {
      log.Append(p, {.key = "k" + std::to_string(i % 97), .payload = "!"}, kT0);
    }
  }
  Member member(log, {.replay_limit = 5'000, .messages_bytes_max = 1 << 20});
  for (int p = 0; p < kPartitions; ++p) log.Assign(p, member.log());
  Processor& processor = member.processor();

  std::atomic<uint64_t> acked = 0;
  std::atomic<EngineTime> now = kT0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      while (acked < kAll) {
        for (const Message& each : processor.Lease(50, kForever, now)) {
          EXPECT_TRUE(processor.Ack(each.id)) << "nobody else had it";
          ++acked;
        }
      }
    });
  }
  while (acked < kAll) {
    ASSERT_TRUE(processor.Run(now).ok());
    EXPECT_EQ(processor.lanes().size(), static_cast<size_t>(kPartitions));
    now = now.load() + std::chrono::milliseconds(
                           125);  // groups stay open: they are quiet for ten seconds at most
    if (now.load() > kT0 + 8s) now = kT0;
  }
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(acked, kAll);
}

// Runs a processor until the log has nothing more, and it was stopped. Returns its messages.
std::vector<std::string> RunToTheEnd(StoreLog& log) {
  const ProcessorOptions options{.commit_every = Duration{1}, .replay_limit = 50};
  Processor processor(log, MakeGroupingHandler, options);
  std::vector<std::string> messages;
  EngineTime now = kT0;
  for (int quiet = 0; !processor.stopped(); now += Duration{1'000}) {
    const absl::StatusOr<bool> more = processor.Run(now);
    EXPECT_TRUE(more.ok()) << more.status();
    const std::vector<Message> lent = processor.Lease(100, kForever, now);
    for (const Message& each : lent) {
      messages.push_back(FormatMessageId("", each.id, each.stream) + each.payload);
      EXPECT_TRUE(processor.Ack(each.id));
    }
    quiet = *more || !lent.empty() ? 0 : quiet + 1;
    if (quiet > 3) processor.Stop();
  }
  for (const LaneStatus& each : processor.lanes()) EXPECT_EQ(each.phase, LanePhase::kLive);
  return messages;
}

TEST(ProcessorThreads, ShareAConsumerOfAStoreByRangesOfItsPartitions) {
  constexpr int kPartitions = 5;
  constexpr int kRecords = kSanitized ? 300 : 2'000;  // in a round
  const TemporaryDirectory scratch;
  const std::string path = scratch / "store";
  auto store =
      *EventStore::Open(path, {.partitions = kPartitions, .durability = StoreDurability::kProcess});
  std::set<std::string> messages;  // of all rounds
  size_t records = 0;
  for (const int several : {3, 9, 1, 2}) {
    for (int i = 0; i < kRecords; ++i, ++records) {
      const std::string key = "k" + std::to_string(i % 97);
      ASSERT_EQ(store->Append({.key = key, .stamp = kT0, .payload = "!"}, kT0).outcome,
                AppendOutcome::kAppended);
    }
    ASSERT_TRUE(store->Sync().ok());
    const auto logs = *StoreLog::OpenSeveral(path, "shared", several);
    EXPECT_EQ(logs.size(), static_cast<size_t>(std::min(several, kPartitions)));
    EXPECT_TRUE(absl::IsUnavailable(StoreLog::Open(path, "shared").status()));
    std::vector<std::vector<std::string>> made(logs.size());
    std::vector<std::thread> threads;
    for (size_t t = 0; t < logs.size(); ++t) {
      threads.emplace_back([&, t] { made[t] = RunToTheEnd(*logs[t]); });
    }
    for (std::thread& each : threads) each.join();
    for (const std::vector<std::string>& each : made) {
      for (const std::string& message : each) {
        EXPECT_TRUE(messages.insert(message).second) << message << " was made twice";
      }
    }
    EXPECT_EQ(messages.size(), records);  // groups stay open
  }
  const StoreLog::Lanes looked = *StoreLog::Look(path, "shared");
  for (const LaneStatus& each : looked.lanes) {
    EXPECT_EQ(each.next, each.end) << each.why;
    EXPECT_EQ(each.waiting, 0u);
  }
}

}  // namespace
}  // namespace pleat::inline v0_1
