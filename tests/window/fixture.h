// A window of numbers in an engine of one partition, for stories that begin at kT0.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pleat/window.h>

#include "tests/support/start.h"

namespace pleat::inline v0_1 {

// What an event says besides its id and stamp.
struct Extra {
  Duration ttl{0};
  std::optional<uint64_t> version = {};
  int payload = 0;
};

class LiveWindowTest : public testing::Test {
 protected:
  using Window = LiveWindow<int>;

  static EngineTime At(Duration since_start) { return SaturatingAdd(kT0, since_start); }
  static Duration Since(EngineTime t) { return t - kT0; }

  void Open(const WindowOptions& options, EngineOptions engine = {.partitions = 1}) {
    window_.reset();
    engine.huge_pages = HugePages::kOff;
    engine_ = Engine::Open(engine).value();
    window_ = Window::Open(*engine_, "window", options).value();
    if (engine.axis == Axis::kArrival) engine_->Advance(kT0);
  }
  static EngineOptions OnEventTime(Duration watermark_delay = Duration{0}) {
    return {.partitions = 1, .axis = Axis::kEvent, .watermark_delay = watermark_delay};
  }

  Engine& engine() { return *engine_; }
  Window& window() { return *window_; }
  void Advance(Duration to) { engine_->Advance(At(to)); }

  WindowOutcome AddTo(std::string_view series, std::string_view id, Duration at,
                      const Extra& extra = {}) {
    return window_->Add(
        series, {.id = id, .ttl = extra.ttl, .version = extra.version, .payload = extra.payload},
        At(at));
  }
  WindowOutcome Add(std::string_view id, Duration at, const Extra& extra = {}) {
    return AddTo("s", id, at, extra);
  }
  WindowOutcome Touch(std::string_view id, Duration at) { return window_->Touch("s", id, At(at)); }
  WindowControl Remove(std::string_view id, Duration at, bool only_if_not_newer = false) {
    return window_->Remove("s", id, {.at = At(at), .only_if_not_newer = only_if_not_newer});
  }
  size_t Count() const { return window_->Count("s"); }

  // The ids of the series "s", the oldest first.
  std::vector<std::string> Ids(EngineTime now = kBeginningOfTime) const {
    std::vector<std::string> ids;
    for (const Window::Member& m : window_->List("s", {.newest_first = false, .now = now})) {
      ids.push_back(m.id);
    }
    return ids;
  }
  // Of the series "s".
  std::optional<Window::Member> Find(std::string_view id) const { return window_->Find("s", id); }

  WindowLedger ledger() const {
    const WindowLedger ledger = window_->ledger();
    EXPECT_TRUE(ledger.Balances());
    return ledger;
  }

 private:
  std::unique_ptr<Engine> engine_;
  std::optional<Window> window_;
};

}  // namespace pleat::inline v0_1
