// What lanes keep in memory.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/lanes/lane_world.h"
#include "tests/support/resident.h"
#include "tests/support/sanitized.h"

namespace pleat::inline v0_1 {
namespace {

using std::chrono_literals::operator""s;

constexpr size_t kMessageBytes = 4096;

// A message of each record.
class Copying final : public Handler {
 public:
  Handled Handle(const LogRecord& record, Lane& lane) override {
    lane.Emit(record.key, std::string(kMessageBytes, 'x'));
    return Handled::Done();
  }
};

class World {
 public:
  World(int partitions, MakeHandler make_handler)
      : log_(partitions), member_(log_.Join()), processor_(*member_, std::move(make_handler)) {
    for (int p = 0; p < partitions; ++p) log_.Assign(p, *member_);
  }
  ScriptedLog& log() { return log_; }
  Processor& processor() { return processor_; }

  std::vector<Message> RunAndLease() {
    for (int quiet = 0; quiet < 3;) {
      const absl::StatusOr<bool> more = processor_.Run(now_ += 1s);
      EXPECT_TRUE(more.ok()) << more.status();
      quiet = *more ? 0 : quiet + 1;
    }
    return processor_.Lease(SIZE_MAX, kForever, now_, LeaseKeys::kTogether);
  }
  EngineTime now_ = kT0;

 private:
  ScriptedLog log_;
  const std::unique_ptr<PartitionedLog> member_;
  Processor processor_;
};

TEST(ProcessorMemory, MessagesThatWereAckedBehindOneThatWaitsTakeNone) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer keeps what was freed";
  constexpr int kRounds = 20;
  constexpr int kMessages = 1'000;
  World world(1, [](Lane&) { return std::make_unique<Copying>(); });
  world.log().Append(0, {.key = "first"}, world.now_);
  ASSERT_EQ(world.RunAndLease().size(), 1u);  // and is not acked
  size_t before = 0;
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < kMessages; ++i) world.log().Append(0, {.key = "other"}, world.now_);
    const std::vector<Message> lent = world.RunAndLease();
    ASSERT_EQ(lent.size(), static_cast<size_t>(kMessages));
    for (const Message& each : lent) ASSERT_TRUE(world.processor().Ack(each.id));
    if (round == 0) before = ResidentBytes();
  }
  EXPECT_EQ(world.processor().lanes()[0].waiting, 1u);
  const size_t after = ResidentBytes();
  EXPECT_LT(after - std::min(before, after), kRounds * kMessages * kMessageBytes / 8);
}

// Each of its collections has had an event.
TEST(ProcessorMemory, AnIdleLaneTakes256KiBAtMost) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer takes more";
  constexpr size_t kLanes = 200;
  const size_t before = ResidentBytes();
  World world(kLanes, MakeGroupingHandler);
  for (size_t p = 0; p < kLanes; ++p) {
    world.log().Append(static_cast<int>(p), {.key = "ann", .payload = "!"}, world.now_);
  }
  for (int round = 0; round < 50; ++round) {
    world.now_ += 60s;
    for (const Message& each : world.RunAndLease()) world.processor().Ack(each.id);
  }
  for (const LaneStatus& each : world.processor().lanes()) EXPECT_EQ(each.waiting, 0u);
  const size_t bytes = (ResidentBytes() - before) / kLanes;
  std::cout << bytes << " bytes of an idle lane\n";
  EXPECT_LE(bytes, size_t{256} << 10);
}

}  // namespace
}  // namespace pleat::inline v0_1
