// A rollup counter in an engine of one partition, for stories that begin at kT0, which is where a
// window of ten, of a hundred and of a thousand seconds begins.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pleat/rollup.h>

#include "tests/support/check_whole.h"
#include "tests/support/start.h"

namespace pleat::inline v0_1 {

class RollupTest : public testing::Test {
 protected:
  using Counted = Emission<CountedWindow>;

  static EngineTime At(Duration since_start) { return SaturatingAdd(kT0, since_start); }

  void Open(const RollupOptions& options, EngineOptions engine = {.partitions = 1}) {
    counter_.reset();
    engine.huge_pages = HugePages::kOff;
    engine_ = Engine::Open(engine).value();
    counter_ = RollupCounter::Open(*engine_, "counter", options).value();
    if (engine.axis == Axis::kArrival) engine_->Advance(kT0);
  }
  static EngineOptions OnEventTime(Duration watermark_delay = Duration{0}) {
    return {.partitions = 1, .axis = Axis::kEvent, .watermark_delay = watermark_delay};
  }
  void TearDown() override {
    if (!counter_) return;
    (void)ledger();
    CheckWhole(counter_->any());
  }

  Engine& engine() { return *engine_; }
  RollupCounter& counter() { return *counter_; }
  const RollupCounter& counter() const { return *counter_; }
  void Advance(Duration to) { engine_->Advance(At(to)); }
  // Time moves, and nothing that is due is visited.
  void MoveTime(Duration to) { ASSERT_TRUE(engine_->Advance(At(to), 0)); }

  AddOutcome Add(std::string_view key, Duration at, Delta delta = 1, std::string_view id = {}) {
    return counter_->Add(key, delta, At(at), id);
  }
  AddOutcome Clear(std::string_view key, Duration at, std::string_view id = {}) {
    return counter_->Clear(key, At(at), id);
  }
  AccurateCount Accurate(std::string_view key) const { return counter_->Accurate(key); }
  int64_t Sum(std::string_view key) const { return Accurate(key).amount.sum; }
  // By final windows alone.
  int64_t FinalSum(std::string_view key) const {
    const std::optional<EventualCount> count = counter_->Eventual(key);
    return count ? count->amount.sum : 0;
  }

  std::vector<Counted> PopAll() { return counter_->Pop(1'000'000); }
  std::vector<std::string> PopLines() { return Lines(PopAll()); }
  template <class Emissions>
  static std::vector<std::string> Lines(const Emissions& emissions) {
    std::vector<std::string> lines;
    for (const Counted& e : emissions) lines.push_back(Line(e));
    return lines;
  }
  // "key start-end sum/count reason", in seconds after kT0.
  static std::string Line(const Counted& e) {
    return e.key + " " + Show(e.state) + " " + std::string(ReasonName(e.reason));
  }
  static std::string Show(const CountedWindow& window) {
    return Show(window.start) + "-" + Show(window.end) + " " + std::to_string(window.amount.sum) +
           "/" + std::to_string(window.amount.count);
  }
  static std::string Show(EngineTime t) {
    return std::to_string((t - kT0) / std::chrono::seconds(1));
  }

  RollupLedger ledger() const {
    const RollupLedger ledger = counter_->ledger();
    EXPECT_TRUE(ledger.Balances());
    EXPECT_EQ(ledger.open, counter_->sizes().open);
    return ledger;
  }
  RollupSizes sizes() const { return counter_->sizes(); }

 private:
  std::unique_ptr<Engine> engine_;
  std::optional<RollupCounter> counter_;
};

}  // namespace pleat::inline v0_1
