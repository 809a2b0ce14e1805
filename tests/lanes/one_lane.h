// A processor of a scripted log of one partition, for tests that say one thing.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/lanes/lane_world.h"

namespace pleat::inline v0_1 {

class OneLane : public testing::Test {
 protected:
  ~OneLane() override { Crash(); }

  void Start(const ProcessorOptions& options = {}, MakeHandler handler = MakeGroupingHandler) {
    Crash();
    member_ = log_.Join();
    processor_ = std::make_unique<Processor>(*member_, std::move(handler), options);
    log_.Assign(0, *member_);
  }
  void Crash() {
    processor_.reset();
    member_.reset();
  }

  void Append(const std::string& key, Duration at, const std::string& payload = "") {
    log_.Append(0, {.key = key, .payload = payload}, kT0 + at);
  }
  // Rounds until nothing is left to be done at once; a commit is answered in the next one.
  void Run(Duration at) {
    for (int quiet = 0; quiet < 3;) {
      const absl::StatusOr<bool> more = processor_->Run(kT0 + at);
      ASSERT_TRUE(more.ok()) << more.status();
      quiet = *more ? 0 : quiet + 1;
    }
  }
  std::vector<Message> Lease(Duration at, size_t max = 100,
                             Duration timeout = std::chrono::seconds(30)) {
    return processor_->Lease(max, timeout, kT0 + at);
  }
  std::vector<std::string> Texts(Duration at, size_t max = 100) {
    std::vector<std::string> texts;
    for (const Message& each : Lease(at, max)) {
      texts.push_back(each.stream + " " + std::to_string(each.id.number) + " " + each.key + ": " +
                      each.payload);
    }
    return texts;
  }
  void AckAll(Duration at) {
    for (const Message& each : Lease(at)) EXPECT_TRUE(processor_->Ack(each.id));
  }
  LaneStatus Status() { return processor_->lanes().front(); }

  ScriptedLog log_{1};
  std::unique_ptr<PartitionedLog> member_;
  std::unique_ptr<Processor> processor_;
};

}  // namespace pleat::inline v0_1
