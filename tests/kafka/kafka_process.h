// A member of a group with the handler of lane_world.h. Destroying it is a crash.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <pleat/kafka_log.h>
#include <pleat/processor.h>

#include "tests/lanes/lane_world.h"

namespace pleat::inline v0_1 {

class Process {
 public:
  Process(const KafkaOptions& options, const ProcessorOptions& processor_options)
      : log_(Opened(options)), processor_(*log_, MakeGroupingHandler, processor_options) {}

  KafkaLog& log() { return *log_; }
  Processor& processor() { return processor_; }
  std::vector<LaneStatus> lanes() const { return processor_.lanes(); }
  bool HasLanes(size_t count) const {
    const std::vector<LaneStatus> all = processor_.lanes();
    return all.size() == count && std::ranges::none_of(all, [](const LaneStatus& each) {
             return each.phase == LanePhase::kReplaying;
           });
  }

 private:
  static std::unique_ptr<KafkaLog> Opened(const KafkaOptions& options) {
    absl::StatusOr<std::unique_ptr<KafkaLog>> log = KafkaLog::Open(options);
    EXPECT_TRUE(log.ok()) << log.status();
    return *std::move(log);
  }

  const std::unique_ptr<KafkaLog> log_;
  Processor processor_;
};

}  // namespace pleat::inline v0_1
