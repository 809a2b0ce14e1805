// What the handler of lane_world.h comes to, said in plain C++, without lanes: the texts of all
// messages of a partition and a stream, in no order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <pleat/engine.h>
#include <pleat/untyped/partitioned_log.h>

#include "tests/lanes/lane_world.h"

namespace pleat::inline v0_1 {

class PlainGroups {
 public:
  PlainGroups(Duration quiet, Duration wait) : quiet_(quiet), wait_(wait) {}

  void Take(const std::string& key, uint64_t offset, EngineTime at) {
    const auto found = open_.find(key);
    if (found != open_.end() && Deadline(found->second) <= at) Close(key);
    const auto [group, is_new] =
        open_.try_emplace(key, Open{.first = at, .last = at, .offsets = {}});
    group->second.last = at;
    group->second.offsets.Fold(offset);
  }
  std::multiset<std::string> CloseAll() {
    while (!open_.empty()) Close(std::string(open_.begin()->first));
    return closed_;
  }

 private:
  struct Open {
    EngineTime first, last;
    Offsets offsets;
  };

  EngineTime Deadline(const Open& group) const {
    return std::min(SaturatingAdd(group.first, wait_), SaturatingAdd(group.last, quiet_));
  }
  void Close(const std::string& key) {
    closed_.insert(key + ": " + open_.at(key).offsets.Text());
    open_.erase(key);
  }

  const Duration quiet_, wait_;
  std::map<std::string, Open> open_;
  std::multiset<std::string> closed_;
};

class PlainLanes {
 public:
  explicit PlainLanes(Axis axis) : axis_(axis) {}  // of the handler

  void Take(int partition, const LogRecord& record) {
    Lane& lane = lanes_[partition];
    lane.now = std::max(lane.now, record.logged);
    const std::string key(record.key);
    const EngineTime at = axis_ == Axis::kEvent ? record.stamp : lane.now;
    lane.events.push_back({key, record.offset, at});
    if (record.payload == "!") lane.emitted.insert(key + ": " + std::to_string(record.offset));
  }

  // Whether groups are the same, or only the records of all groups of a kind, each once: where
  // records come later than the margin allows, groups may be cut elsewhere.
  enum class Same { kGroups, kRecords };

  // It may be that the record is missing: somebody has dropped it.
  void MayMiss(int partition, const std::string& key, uint64_t offset) {
    lanes_[partition].may_miss.insert(key + ": " + std::to_string(offset));
  }

  // The receiver has these, and their numbers have no gap. Ends all groups.
  void ExpectAllIn(const Receiver& receiver, int partition, Same same = Same::kGroups) {
    Lane& lane = lanes_[partition];
    std::ranges::sort(lane.events, {},
                      [](const Event& each) { return std::pair(each.at, each.offset); });
    for (const Event& each : lane.events) {
      lane.short_groups.Take(each.key, each.offset, each.at);
      lane.long_groups.Take(each.key, each.offset, each.at);
    }
    ExpectAllIn(receiver, partition, "emitted", lane.emitted, same);
    ExpectAllIn(receiver, partition, "short", lane.short_groups.CloseAll(), same);
    ExpectAllIn(receiver, partition, "long", lane.long_groups.CloseAll(), same);
  }

 private:
  struct Event {
    std::string key;
    uint64_t offset;
    EngineTime at;
  };
  struct Lane {
    EngineTime now = kBeginningOfTime;
    std::vector<Event> events;
    PlainGroups short_groups{kShortQuiet, kForever};
    PlainGroups long_groups{kLongQuiet, kLongWait};
    std::multiset<std::string> emitted;
    std::set<std::string> may_miss;
  };

  void ExpectAllIn(const Receiver& receiver, int partition, const std::string& stream,
                   const std::multiset<std::string>& expected, Same same) {
    std::multiset<std::string> received;
    for (auto it = receiver.all().lower_bound({partition, stream, 0}); it != receiver.all().end();
         ++it) {
      const auto& [of_partition, of_stream, number] = it->first;
      if (of_partition != partition || of_stream != stream) break;
      EXPECT_EQ(number, received.size());
      received.insert(it->second);
    }
    if (same == Same::kGroups) {
      EXPECT_EQ(received, expected) << "partition " << partition << ", " << stream;
    } else {
      const std::multiset<std::string> records = RecordsOf(received);
      std::multiset<std::string> all = RecordsOf(expected);
      std::erase_if(all, [&](const std::string& each) {
        return lanes_[partition].may_miss.contains(each) && !records.contains(each);
      });
      EXPECT_EQ(records, all) << "partition " << partition << ", " << stream;
    }
  }

  // "a: 1 2" has "a: 1" and "a: 2".
  static std::multiset<std::string> RecordsOf(const std::multiset<std::string>& texts) {
    std::multiset<std::string> records;
    for (const std::string& each : texts) {
      ForEachOffset(each, [&](uint64_t offset) {
        records.insert(std::string(KeyIn(each)) + ": " + std::to_string(offset));
      });
    }
    return records;
  }

  const Axis axis_;
  std::map<int, Lane> lanes_;
};

}  // namespace pleat::inline v0_1
