// What the tests of leases share: a folder in which each event is an emission.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pleat/folder.h>

#include "tests/support/check_whole.h"
#include "tests/support/numbers.h"

namespace pleat::leasing {
using namespace std::chrono_literals;

inline std::string Show(const Emission<Values>& e) {
  std::string out = e.key + ":";
  for (int value : e.state.all) out += std::to_string(value);
  return out;
}
template <class T>
std::vector<std::string> ShowAll(const std::vector<T>& emissions) {
  std::vector<std::string> out;
  for (const T& e : emissions) out.push_back(Show(e));
  return out;
}

// Every event closes its group: emissions are made by Emit().
class Delivery : public testing::Test {
 protected:
  void Open(FolderOptions options = {}, EngineOptions engine = {.partitions = 4}) {
    options.quiet_period = 1h;
    options.max_hold = kForever;
    options.max_events = 1;
    engine_ = *Engine::Open(engine);
    folder_ = *Folder<Number, Values>::Open(*engine_, "numbers", options);
    AdvanceTo(kT0);
  }
  FoldOutcome Emit(std::string_view key, int value) {
    return folder_->Fold(key, {value}, engine_->now());
  }
  // Both clocks.
  void AdvanceTo(EngineTime now) {
    engine_->Advance(now);
    EXPECT_TRUE(engine_->AdvanceLeases(LeaseTime(now)));
  }
  void AdvanceBy(Duration d) { AdvanceTo(engine_->now() + d); }
  // LeaseTime is later than kT0 if it was moved.
  std::vector<Leased<Values>> Lease(size_t max = 100, Duration ttl = 30s) {
    return folder_->Lease(max, ttl, kLease0);
  }
  LeaseToken LeaseOne(Duration ttl = 30s) {
    auto leases = Lease(1, ttl);
    EXPECT_EQ(leases.size(), 1u);
    return leases.empty() ? LeaseToken{} : leases[0].delivery.token;
  }
  std::vector<std::string> LeaseAll() { return ShowAll(Lease()); }
  std::vector<std::string> PopAll() { return ShowAll(folder_->Pop(100)); }
  std::vector<DeadLetter<Values>> Dead() {
    ScanCursor cursor;
    std::vector<DeadLetter<Values>> out;
    while (folder_->ScanDeadLetters(cursor, 2, out)) {
    }
    return out;
  }
  void TearDown() override {
    if (folder_) {
      EXPECT_TRUE(folder_->ledger().Balances());
      CheckWhole(folder_->any());
    }
  }

  std::unique_ptr<Engine> engine_;
  std::optional<Folder<Number, Values>> folder_;
};

}  // namespace pleat::leasing
