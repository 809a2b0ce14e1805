// One thread runs the processor, and others take its messages: each message is taken once.
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/lanes/lane_world.h"
#include "tests/support/sanitized.h"

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

}  // namespace
}  // namespace pleat::inline v0_1
