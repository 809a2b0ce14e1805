// Series that became non-empty at one position, in two partitions: AllSeries() shows both, and in the
// order of TopSeries().
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <pleat/batch.h>
#include <pleat/live_set.h>

#include "tests/support/start.h"

namespace pleat::inline v0_1 {
namespace {

using namespace std::chrono_literals;

// A live set in which series of two partitions became non-empty at the same positions: a batch
// takes its positions at once, and then comes to one partition after the other. Example: a batch
// has 0 to
// 255. Before it comes to the last partition, an event there takes 256. So what the batch adds there
// counts on from 257; and 257 is what the next event takes, in any other partition.
class EqualPositions {
 public:
  EqualPositions() { live_set_.Watch(kAll, counts_); }

  LiveSet<>& live_set() { return live_set_; }
  void Add(size_t series) {
    for (; series > 0; --series) AddTo(0);
  }
  // Adds 224 series of other positions, one more, and then 32 pairs.
  void AddPairs();

 private:
  static constexpr int kPartitions = 8;
  static constexpr size_t kOfEach = 32;
  static constexpr WatchScope kAll{.name = {}, .is_prefix = true};

  // The first one of all that is told anything says where that was, and waits.
  struct Stop final : ChangeListener {
    void MayHaveChanges() noexcept override {
      if (owner->stopped_.exchange(true)) return;
      owner->stopped_in_.set_value(partition);
      owner->may_go_on_.get_future().wait();
    }
    EqualPositions* owner = nullptr;
    int partition = 0;
  };

  std::string NewName(int partition) {
    std::string name;
    do name = std::to_string(names_++);
    while (PartitionOf(name, kPartitions) != partition);
    return name;
  }
  void AddTo(int partition) {
    ASSERT_EQ(live_set_.Add(NewName(partition), {.id = "ann"}, kT0), LiveSetOutcome::kAdded);
  }

  std::unique_ptr<Engine> engine_ = *Engine::Open({.partitions = kPartitions});
  LiveSet<> live_set_{*engine_, "live_set", {.ttl = 1min}};
  std::vector<SeriesCount> counts_;
  size_t names_ = 0;
  std::array<Stop, kPartitions> stops_;
  std::atomic<bool> stopped_ = false;
  std::promise<int> stopped_in_;
  std::promise<void> may_go_on_;
};

void EqualPositions::AddPairs() {
  std::vector<std::string> names;
  for (size_t i = 0; i < kPartitions * kOfEach; ++i) {
    names.push_back(NewName(static_cast<int>(i % kPartitions)));
  }
  std::vector<KeyedEvent<LiveSetEvent<NoPayload>>> batch;
  for (const std::string& name : names) batch.push_back({name, kT0, {.id = "ann"}});
  AnyLiveSet any = live_set_.any();
  for (int i = 0; i < kPartitions; ++i) {
    Stop& stop = stops_[static_cast<size_t>(i)];
    stop.owner = this;
    stop.partition = i;
    any.AddListener(stop, {.name = names[static_cast<size_t>(i)]});
  }
  std::thread adds([&] { live_set_.AddBatch(batch); });
  const int first = stopped_in_.get_future().get();
  AddTo((first + kPartitions / 2) % kPartitions);  // a batch holds three partitions at most
  may_go_on_.set_value();
  adds.join();
  for (Stop& stop : stops_) any.RemoveListener(stop);
  for (size_t i = 0; i < kOfEach; ++i) AddTo(first);
}

// The last that is kept of the first round is one of a pair.
TEST(AllSeriesThreads, OfTwoThatBeganAtOnePositionBothAreShownInOneOrder) {
  constexpr size_t kKept = 16 * 1024;
  EqualPositions stage;
  stage.Add(kKept - 256);
  stage.AddPairs();
  stage.Add(kKept - 33);
  std::vector<std::string> shown;
  stage.live_set().any().AllSeries(
      kT0, [&](std::string_view series, size_t) { shown.emplace_back(series); });
  EXPECT_EQ(shown.size(), 2 * kKept);
  std::vector<std::string> top;  // all counts are equal
  for (const SeriesCount& each : stage.live_set().TopSeries(2 * kKept)) top.push_back(each.series);
  EXPECT_TRUE(shown == top);
}

}  // namespace
}  // namespace pleat::inline v0_1
