// A story of emissions for the tests of the model: a folder on arrival time, at second 0, of which each event
// becomes an emission by itself, unless it is to stay open.
//
// An emission is written as key and events, "a1"; a lease as "a1 x2 until 30": its second delivery; a dead
// letter as "a1 x3 0..25 ran out": leased first at 0, died at 25. Time is in seconds. Keys that begin with a
// capital are in partition 1.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "tests/model/fold_model.h"

namespace pleat::inline v0_1 {

inline Duration Seconds(int64_t n) { return std::chrono::seconds(n); }
inline EngineTime Second(int64_t n) { return FromUnix(Seconds(n)); }

inline std::string Show(const ModelGroup& emission) {
  std::string out = emission.key;
  for (const uint64_t event : emission.events) out += std::to_string(event);
  return out;
}

class Story {
 public:
  explicit Story(const FolderOptions& changes = {}, int partitions = 1, Axis axis = Axis::kArrival)
      : model_({.partitions = partitions, .axis = axis}, Quiet(changes), Rules()) {
    Advance(Second(0));
  }

  // Both clocks.
  void Advance(EngineTime now) {
    model_.Advance(now);
    model_.AdvanceLeases(LeaseTime(now));
  }

  void Emit(std::initializer_list<std::string_view> emissions) {
    for (const std::string_view emission : emissions) Fold(emission, {.ends = true});
  }
  FoldOutcome Fold(std::string_view event, const EventMarks& marks = {}) {
    return model_.Fold(event.substr(0, 1), static_cast<uint64_t>(event[1] - '0'), model_.now(),
                       marks);
  }

  std::vector<std::string> Pop(size_t max = SIZE_MAX, PartitionRange from = {}) {
    std::vector<std::string> out;
    for (const ModelGroup& emission : model_.Pop(max, from)) out.push_back(Show(emission));
    return out;
  }

  std::vector<std::string> Lease(size_t max, int64_t ttl = 30, PartitionRange from = {}) {
    std::vector<std::string> out;
    for (const ModelLease& lease : model_.Lease(max, Seconds(ttl), from)) {
      const auto until = (EngineTime(lease.until) - Second(0)) / Seconds(1);
      out.push_back(Show(lease.emission) + " x" + std::to_string(lease.deliveries) + " until " +
                    std::to_string(until));
      last_ = lease.delivery;
    }
    return out;
  }

  // Leases one emission and returns the name of its delivery.
  uint64_t LeaseOne(int64_t ttl = 30) {
    EXPECT_EQ(Lease(1, ttl).size(), 1u);
    return last_;
  }

  std::vector<std::string> DeadLetters() {
    std::vector<std::string> out;
    for (const ModelLetter& letter : model_.DeadLetters()) {
      const auto at = [](LeaseTime t) {
        return std::to_string((EngineTime(t) - Second(0)) / Seconds(1));
      };
      out.push_back(Show(letter.emission) + " x" + std::to_string(letter.deliveries) + " " +
                    at(letter.first_leased) + ".." + at(letter.died) +
                    (letter.why == DeadReason::kNacked ? " nacked" : " ran out"));
    }
    return out;
  }

  FoldModel& operator*() { return model_; }
  FoldModel* operator->() { return &model_; }
  uint64_t last() const { return last_; }
  ~Story() { EXPECT_TRUE(model_.ledger().Balances()); }

 private:
  static FolderOptions Quiet(FolderOptions options) {
    if (options.quiet_period == Duration{0}) options.quiet_period = Seconds(60);
    options.max_hold = kForever;
    return options;
  }
  static ModelRules Rules() {
    ModelRules rules;
    rules.partition = [](std::string_view key) { return key[0] >= 'a' ? 0 : 1; };
    return rules;
  }

  FoldModel model_;
  uint64_t last_ = 0;
};

}  // namespace pleat::inline v0_1
