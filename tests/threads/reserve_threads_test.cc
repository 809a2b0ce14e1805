// Memory that threads take ahead, at once and for two folders, while others fold: no event is lost, and
// the room is there for all.
#include <array>
#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <pleat/folder.h>

#include "engine/core/engine_core.h"
#include "tests/support/check_whole.h"
#include "tests/support/sanitized.h"
#include "tests/support/start.h"

namespace pleat::inline v0_1 {
namespace {

using namespace std::chrono_literals;

constexpr int kRounds = kSanitized ? 3 : 10;
constexpr int kGroups = 20'000;
constexpr int kEach = 2;  // threads that fold into a folder, and threads that reserve for it

struct Hit {};
struct Hits {
  int count = 0;
  void Fold(const Hit&) noexcept { ++count; }
};
using Counting = Folder<Hit, Hits>;

// One event for each of the groups. Their deadlines are spread over most of an hour.
void FoldAll(Counting& folder, const std::string& prefix) {
  for (int i = 0; i < kGroups; ++i) {
    (void)folder.Fold(prefix + std::to_string(i), {}, kT0 + i * (59min / kGroups));
  }
}

TEST(ReserveThreads, TwoReserveAtOnceWhileOthersFold) {
  for (int round = 0; round < kRounds; ++round) {
    SCOPED_TRACE(round);
    const auto engine = *Engine::Open({.partitions = 4, .huge_pages = HugePages::kOff});
    const FolderOptions options{.quiet_period = 1h, .max_wait = kForever};
    std::array folders{Counting(*engine, "hits", options), Counting(*engine, "others", options)};
    std::latch start(2 * 2 * kEach);
    std::vector<std::jthread> threads;
    for (Counting& folder : folders) {
      for (int i = 0; i < kEach; ++i) {
        threads.emplace_back([&] {
          start.arrive_and_wait();
          FoldAll(folder, "key ");
        });
        threads.emplace_back([&, i] {
          start.arrive_and_wait();
          EXPECT_TRUE(folder.Reserve(static_cast<size_t>(kGroups / (1 + i))).ok());
        });
      }
    }
    threads.clear();
    for (Counting& folder : folders) {
      CheckWhole(folder.any());
      folder.CloseAll();
      const auto emissions = folder.Pop(kGroups + 1);
      ASSERT_EQ(emissions.size(), size_t{kGroups});
      for (const auto& emission : emissions) ASSERT_EQ(emission.state.count, kEach);
    }
    const PagePool& pool = EngineAccess::CoreOf(*engine)->pool();
    const size_t reserved = pool.taken_bytes();
    for (Counting& folder : folders) {
      FoldAll(folder, "new ");
      EXPECT_EQ(folder.sizes().open_groups, size_t{kGroups});
      CheckWhole(folder.any());
    }
    EXPECT_EQ(pool.taken_bytes(), reserved);
  }
}

}  // namespace
}  // namespace pleat::inline v0_1
