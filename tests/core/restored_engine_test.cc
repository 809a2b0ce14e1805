// A restored engine answers as the one that it was saved from: two engines live alike, and one of them
// is replaced by a restored one now and then. That goes for what is known only by how far deadlines
// were visited, too: how many groups count as open, how many emissions as the backlog, and so which
// events the limit on the backlog refuses.
#include <array>
#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pleat/folder.h>
#include <pleat/snapshot.h>

#include "tests/support/bytes.h"
#include "tests/support/check_whole.h"
#include "tests/support/seeds.h"
#include "tests/support/share.h"
#include "tests/support/start.h"

namespace pleat::inline v0_1 {
namespace {

using std::chrono_literals::operator""h;
using std::chrono_literals::operator""s;

struct Coin {
  int64_t value;
};

struct Purse {
  int64_t sum = 0;

  void Fold(const Coin& coin) noexcept { sum += coin.value; }
  template <class F>
  void Stored(F& f) {
    f(sum);
  }
};

using Purses = Folder<Coin, Purse>;
using Said =
    std::vector<std::tuple<std::string, uint64_t, int64_t, Reason, EngineTime, uint32_t, uint64_t>>;

class Side {
 public:
  Side(const EngineOptions& engine, const FolderOptions& folder)
      : options_(engine),
        engine_(Engine::Open(engine).value()),
        purses_(*engine_, "purses", folder) {}

  Engine& engine() { return *engine_; }
  Purses& purses() { return purses_; }
  Said Pop(size_t max) {
    Said said;
    for (const auto& e : purses_.Pop(max)) {
      said.emplace_back(e.key, e.count, e.state.sum, e.reason, e.closed, e.revision,
                        e.id.generation);
    }
    return said;
  }
  std::array<uint64_t, 3> Sizes() {
    const auto sizes = purses_.sizes();
    return {sizes.open_groups, sizes.ready_emissions, sizes.bytes};
  }
  void Restore(const FolderOptions& folder) {
    StringSink snapshot;
    ASSERT_TRUE(TakeSnapshot(*engine_, snapshot).ok());
    engine_ = Engine::Open(options_).value();
    purses_ = Purses(*engine_, "purses", folder);
    StringSource source(snapshot.bytes);
    const absl::Status restored = RestoreSnapshot(*engine_, source, {.skip_numbers = 0});
    ASSERT_TRUE(restored.ok()) << restored;
  }

 private:
  EngineOptions options_;
  std::unique_ptr<Engine> engine_;
  Purses purses_;
};

class RestoredEngineTest : public testing::Test {
 protected:
  uint64_t Below(uint64_t n) { return random_() % n; }
  Duration Seconds(uint64_t n) { return std::chrono::seconds(Below(n)); }

  FolderOptions DrawOptions(uint64_t keys) {
    FolderOptions options{.quiet_period = 1s + Seconds(50), .max_wait = 50s + Seconds(200)};
    if (Below(2) == 0) options.partial_every = 1s + Seconds(30);
    if (Below(2) == 0) options.closing.settable = true;
    if (Below(3) == 0) options.edge = Edge::kBoth;
    if (Below(3) == 0) options.max_events = 2 + Below(5);
    if (Below(3) == 0) options.limits.max_groups = keys / 2;
    if (Below(2) == 0) options.limits.on_limit = OnLimit::kEmitOldest;
    options.limits.max_backlog = keys / 4 + Below(2 * keys);
    if (Below(3) == 0) options.limits.on_backlog = OnBacklog::kDropOldest;
    return options;
  }

  // One operation on both sides. `rare`: time moves by stamps alone, and rarely, but then by much.
  void Step(std::array<Side*, 2> sides, uint64_t keys, bool rare) {
    const std::string key = "k" + std::to_string(Below(keys));
    const EngineTime at = now_ + Seconds(60) - 20s;
    const uint64_t dice = Below(20);
    const uint64_t n = Below(8);
    if (rare ? Below(80) == 0 : Below(4) == 0) now_ += Seconds(rare ? 100 : 10);
    const auto both = [&](const auto& call) { EXPECT_EQ(call(*sides[0]), call(*sides[1])); };
    if (dice < 13) {
      both([&](Side& side) { return side.purses().Fold(key, {static_cast<int64_t>(n)}, at); });
    } else if (dice < 14) {
      both([&](Side& side) { return side.purses().Flush(key); });
    } else if (dice < 15) {
      both([&](Side& side) { return side.purses().Cancel(key); });
    } else if (dice < 17) {
      both([&](Side& side) { return side.purses().SetDeadline(key, at + Seconds(1)); });
    } else if (dice < 19) {
      both([&](Side& side) { return side.Pop(n); });
    } else if (!rare) {
      both([&](Side& side) { return side.engine().Advance(now_, SIZE_MAX); });
    }
    both([&](Side& side) { return side.engine().now(); });
    both([&](Side& side) { return side.Sizes(); });
  }

  void Live(uint64_t seed, uint64_t keys, int steps, bool rare) {
    random_.seed(seed);
    const bool by_stamps = rare || Below(3) > 0;
    const EngineOptions engine{.partitions = static_cast<int>(1 + Below(3)),
                               .axis = by_stamps ? Axis::kEvent : Axis::kArrival,
                               .watermark_delay = by_stamps ? Seconds(40) : Duration{0}};
    const FolderOptions options = DrawOptions(keys);
    Side original(engine, options);
    Side restored(engine, options);
    now_ = kT0;
    for (int i = 0; i < steps && !HasFailure(); ++i) {
      SCOPED_TRACE("step " + std::to_string(i));
      if (Below(50) == 0) restored.Restore(options);
      Step({&original, &restored}, keys, rare);
    }
    for (Side* side : {&original, &restored}) {
      CheckWhole(side->purses().any());
      side->purses().CloseAll();
    }
    EXPECT_EQ(original.Pop(SIZE_MAX), restored.Pop(SIZE_MAX));
  }

  std::mt19937_64 random_;
  EngineTime now_;
};

TEST_F(RestoredEngineTest, AnswersAsTheOriginal) {
  ForEachSeed(1, ShareOf({.whole = 5'000, .usual = 500, .sanitized = 100}),
              [this](uint64_t seed) { Live(seed, 12, 300, /*rare=*/false); });
}

// Hundreds of groups fall due at once, and calls that hand out visit some of them.
TEST_F(RestoredEngineTest, AnswersAsTheOriginalWhereMuchIsDue) {
  ForEachSeed(1, ShareOf({.whole = 200, .usual = 20, .sanitized = 5}),
              [this](uint64_t seed) { Live(seed, 800, 3000, /*rare=*/true); });
}

// The second event of "a" has moved its deadline to 18 s. So nothing is due, and the group that ends
// is ready at once, and fills the backlog.
TEST_F(RestoredEngineTest, ADeadlineThatHasMovedLaterHoldsNoEmissionUp) {
  for (const bool restores : {false, true}) {
    const FolderOptions options{.quiet_period = 10s, .max_wait = 1h, .limits = {.max_backlog = 1}};
    Side side({.partitions = 1, .axis = Axis::kEvent}, options);
    side.purses().Fold("a", {1}, kT0);
    side.purses().Fold("a", {1}, kT0 + 8s);
    side.purses().Fold("b", {1}, kT0 + 12s);
    if (restores) side.Restore(options);
    EXPECT_TRUE(side.purses().Flush("b"));
    EXPECT_EQ(side.purses().sizes().ready_emissions, 1u) << restores;
    EXPECT_EQ(side.purses().Fold("c", {1}, kT0 + 12s), FoldOutcome::kOverloaded) << restores;
  }
}

// A limit has all groups called at their next instants. That of "b" comes, and nothing has changed.
TEST_F(RestoredEngineTest, AnInstantAtWhichNothingHasChangedHoldsNoEmissionUp) {
  for (const bool restores : {false, true}) {
    const FolderOptions options{.quiet_period = 100s,
                                .max_wait = 1h,
                                .edge = Edge::kBoth,
                                .partial_every = 10s,
                                .limits = {.max_groups = 2, .on_limit = OnLimit::kEmitOldest}};
    Side side({.partitions = 1, .axis = Axis::kEvent}, options);
    side.purses().Fold("a", {1}, kT0);
    side.purses().Fold("b", {1}, kT0 + 1s);
    side.purses().Fold("c", {1}, kT0 + 2s);
    side.purses().Fold("c", {1}, kT0 + 3s);
    EXPECT_TRUE(side.engine().Advance(kT0 + 11s, 0));
    if (restores) side.Restore(options);
    EXPECT_EQ(side.purses().sizes().ready_emissions, 3u) << "that the groups have opened";
    EXPECT_TRUE(side.purses().Flush("c"));
    EXPECT_EQ(side.purses().sizes().ready_emissions, 4u) << restores;
  }
}

}  // namespace
}  // namespace pleat::inline v0_1
