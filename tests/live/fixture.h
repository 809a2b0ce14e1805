// A live set of numbers in an engine of one partition, for stories that begin at kT0.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pleat/live_set.h>

#include "tests/support/start.h"

namespace pleat::inline v0_1 {

// What an event says besides its id and stamp.
struct Extra {
  Duration ttl{0};
  std::optional<uint64_t> version = {};
  int payload = 0;
};

class LiveSetTest : public testing::Test {
 protected:
  using Numbers = LiveSet<int>;

  static EngineTime At(Duration since_start) { return SaturatingAdd(kT0, since_start); }
  static Duration Since(EngineTime t) { return t - kT0; }

  void Open(const LiveSetOptions& options, EngineOptions engine = {.partitions = 1}) {
    live_set_.reset();
    engine.huge_pages = HugePages::kOff;
    engine_ = Engine::Open(engine).value();
    live_set_ = Numbers::Open(*engine_, "live_set", options).value();
    if (engine.axis == Axis::kArrival) engine_->Advance(kT0);
  }
  static EngineOptions OnEventTime(Duration watermark_delay = Duration{0}) {
    return {.partitions = 1, .axis = Axis::kEvent, .watermark_delay = watermark_delay};
  }

  Engine& engine() { return *engine_; }
  Numbers& live_set() { return *live_set_; }
  void Advance(Duration to) { engine_->Advance(At(to)); }

  LiveSetOutcome AddTo(std::string_view series, std::string_view id, Duration at,
                       const Extra& extra = {}) {
    return live_set_->Add(
        series, {.id = id, .ttl = extra.ttl, .version = extra.version, .payload = extra.payload},
        At(at));
  }
  LiveSetOutcome Add(std::string_view id, Duration at, const Extra& extra = {}) {
    return AddTo("s", id, at, extra);
  }
  LiveSetOutcome Touch(std::string_view id, Duration at) {
    return live_set_->Touch("s", id, At(at));
  }
  LiveSetControl Remove(std::string_view id, Duration at, bool only_if_not_newer = false) {
    return live_set_->Remove("s", id, {.at = At(at), .only_if_not_newer = only_if_not_newer});
  }
  size_t Count() const { return live_set_->Count("s"); }

  // The ids of the series "s", the oldest first.
  std::vector<std::string> Ids(EngineTime now = kBeginningOfTime) const {
    std::vector<std::string> ids;
    for (const Numbers::Member& m : live_set_->List("s", {.newest_first = false, .now = now})) {
      ids.push_back(m.id);
    }
    return ids;
  }
  // Of the series "s".
  std::optional<Numbers::Member> Find(std::string_view id) const {
    return live_set_->Find("s", id);
  }

  LiveSetLedger ledger() const {
    const LiveSetLedger ledger = live_set_->ledger();
    EXPECT_TRUE(ledger.Balances());
    return ledger;
  }

 private:
  std::unique_ptr<Engine> engine_;
  std::optional<Numbers> live_set_;
};

}  // namespace pleat::inline v0_1
