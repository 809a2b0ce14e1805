// A store of several partitions whose records come at times of their own, and what was appended.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>
#include <pleat/event_store.h>

#include "tests/store/store_life.h"
#include "tests/support/faulty_storage.h"

namespace pleat::inline v0_1 {

inline constexpr int kHistoryPartitions = 4;
inline constexpr int kHistoryKeys = 12;

inline std::string KeyOf(int number) { return "key " + std::to_string(number); }

inline EngineTime At(int64_t second) { return kT0 + std::chrono::seconds(second); }

// `appended`, partition, offset, key and payload of a record: tuples have the order of a replay.
using Placed = std::tuple<EngineTime, int, uint64_t, std::string, std::string>;

inline Placed PlacedOf(int partition, const StoredRecord& record) {
  return {record.appended, partition, record.offset, std::string(record.key),
          std::string(record.payload)};
}

inline std::unique_ptr<EventStore> OpenStore(FaultyStorage& storage) {
  absl::StatusOr<std::unique_ptr<EventStore>> store =
      EventStore::Open(kStorePath, {.storage = &storage,
                                    .partitions = kHistoryPartitions,
                                    .max_forward_jump = kForever,
                                    .block_bytes = 4096,
                                    .segment_bytes = 4096,
                                    .identity = 7});
  EXPECT_TRUE(store.ok()) << store.status();
  return *std::move(store);
}

// A store whose partitions get records at times of their own, and blocks of random lengths.
class History {
 public:
  History(FaultyStorage& storage, uint64_t seed) : random_(seed), store_(OpenStore(storage)) {}

  void Append(int count) {
    for (; count > 0; --count) {
      const std::string key = KeyOf(Draw(kHistoryKeys));
      const int partition = PartitionOf(key, kHistoryPartitions);
      const std::string payload(static_cast<size_t>(1 + Draw(200)), 'x');
      // Often the time of others, now and then far ahead of them.
      const EngineTime at = std::max(
          latest_[partition], At(second_ += Draw(3) / 2) + std::chrono::seconds(Draw(8) / 7 * 30));
      latest_[partition] = at;
      const AppendAnswer placed = store_->Append({.key = key, .payload = payload}, at);
      ASSERT_EQ(placed.outcome, AppendOutcome::kAppended);
      placed_.emplace_back(at, partition, placed.offset, key, payload);
      if (Draw(20) == 0) {
        ASSERT_TRUE(store_->Commit().ok());
      }
    }
    ASSERT_TRUE(store_->Commit().ok());
  }
  // Those behind `from`, up to `until`, in the order of a replay.
  std::vector<Placed> Expected(const std::vector<uint64_t>& from, EngineTime until,
                               PartitionRange partitions = {}) const {
    std::vector<Placed> expected;
    for (const Placed& each : placed_) {
      const auto& [appended, partition, offset, key, payload] = each;
      if (partitions.Contains(partition) && offset >= from[static_cast<size_t>(partition)] &&
          appended <= until) {
        expected.push_back(each);
      }
    }
    std::ranges::sort(expected);
    return expected;
  }
  std::vector<uint64_t> Firsts() const {
    std::vector<uint64_t> firsts;
    for (int p = 0; p < kHistoryPartitions; ++p) firsts.push_back(store_->First(p));
    return firsts;
  }
  int Draw(int below) { return static_cast<int>(random_() % static_cast<uint64_t>(below)); }
  int64_t second() const { return second_; }
  EventStore& store() { return *store_; }

 private:
  std::mt19937_64 random_;
  std::unique_ptr<EventStore> store_;
  std::vector<Placed> placed_;
  std::map<int, EngineTime> latest_;
  int64_t second_ = 0;
};

}  // namespace pleat::inline v0_1
