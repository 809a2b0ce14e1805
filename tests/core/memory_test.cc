// Bounded memory, measured: floods of keys and of ids against every limit, and what the process holds
// meanwhile. What is promised:
//
//   - the bytes that are counted never exceed the limit;
//   - the process grows by no more than a tenth above the most that was counted, and kSlack;
//   - what is refused leaves no trace;
//   - what has gone gives its memory back: after a spike the process is below 1.5 times its size before it,
//     and kSlack.
//
// The resident size is the whole process's, so nothing may run beside these, and no emission is kept.
// Without huge pages, which come 2 MiB at a time whatever is needed.
#include <memory>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pleat/folder.h>
#include <pleat/live_set.h>
#include <pleat/presence.h>
#include <pleat/rollup.h>

#include "tests/support/resident.h"
#include "tests/support/sanitized.h"
#include "tests/support/start.h"

namespace pleat {
namespace {

using namespace std::chrono_literals;

constexpr size_t kMiB = size_t{1} << 20;

// Pages begun in every table, pages between two uses, and what the allocator keeps; it does not grow with
// what is held.
constexpr size_t kSlack = 8 * kMiB;

struct Hit {
  std::string_view id = {};
};
struct Hits {
  uint64_t count = 0;
  void Fold(const Hit&) noexcept { ++count; }
};
using Hitting = Folder<Hit, Hits>;

// The n-th key or id, of 20 bytes, without allocating; valid until the next call.
std::string_view Name(uint64_t n) {
  static char text[20];
  std::fill(std::begin(text), std::end(text), 'k');
  std::to_chars(std::begin(text), std::end(text), n);
  return {text, sizeof(text)};
}

// What Open() has taken ahead is there: no event waits for the system to clear it.
TEST(PrefaultedMemory, IsResidentFromTheBeginning) {
  constexpr size_t kAhead = 64 * kMiB;
  const size_t before = ResidentBytes();
  const auto engine = *Engine::Open({.huge_pages = HugePages::kOff, .prefault_bytes = kAhead});
  EXPECT_GE(ResidentBytes() - before, kAhead);
}

class BoundedMemory : public testing::Test {
 protected:
  void SetUp() override {
    if (kSanitized) GTEST_SKIP() << "a sanitizer's own memory would be measured";
  }

  void Open(const FolderOptions& options, Axis axis = Axis::kArrival, int partitions = 4,
            FoldRules<Hit, Hits> rules = {}) {
    engine_ =
        *Engine::Open({.partitions = partitions, .axis = axis, .huge_pages = HugePages::kOff});
    folder_ = *Hitting::Open(*engine_, "hits", options, std::move(rules));
    limit_ = options.limits.max_bytes;
    most_ = 0;
    popped_ = 0;
    before_ = ResidentBytes();
  }
  FoldOutcome Fold(uint64_t n, Duration after) { return folder_->Fold(Name(n), {}, kT0 + after); }
  // Pops all there is, a few at a time.
  void PopAll() {
    most_ = std::max(most_, counted());
    while (folder_->PopEach(1000, [&](const Emission<Hits>& e) { popped_ += e.state.count; }) > 0) {
    }
  }
  // What a driver would do until nothing is left to be done.
  void AdvanceToTheEnd() {
    size_t steps = 0;
    for (auto next = engine_->NextDeadline(); next; next = engine_->NextDeadline()) {
      engine_->Advance(*next);
      ASSERT_LT(++steps, 10'000'000u);
      if (steps % 1000 == 0) PopAll();
    }
    PopAll();
  }
  size_t Growth() const {
    const size_t now = ResidentBytes();
    return now > before_ ? now - before_ : 0;
  }
  size_t counted() const { return folder_->sizes().bytes; }
  void ExpectBounded() {
    most_ = std::max(most_, counted());
    EXPECT_LE(most_, limit_);
    EXPECT_LE(Growth(), most_ + most_ / 10 + kSlack) << most_ << " counted";
  }
  uint64_t held() const {  // events in groups that have not been popped
    const Ledger ledger = folder_->ledger();
    return ledger.opened + ledger.folded - popped_;
  }

  std::unique_ptr<Engine> engine_;
  std::optional<Hitting> folder_;
  uint64_t popped_ = 0;  // events in what was popped

 private:
  size_t limit_ = 0;
  size_t most_ = 0;    // bytes counted at once
  size_t before_ = 0;  // resident
};

TEST_F(BoundedMemory, AFloodOfKeysStaysBelowTheLimitOnGroups) {
  Open({.quiet_period = 1h, .max_wait = kForever, .limits = {.max_groups = 100'000}});
  for (uint64_t n = 0; n < 3'000'000; ++n) {
    Fold(n, 0s);
    if (n % 100'000 == 0) ExpectBounded();
  }
  ExpectBounded();
  EXPECT_LE(folder_->sizes().open_groups, 100'000u);
  EXPECT_GE(folder_->sizes().open_groups, 99'000u);
  EXPECT_LE(counted(), 100'000 * 200u);
  const Ledger ledger = folder_->ledger();
  EXPECT_EQ(ledger.events, 3'000'000u);
  EXPECT_EQ(ledger.over_limit, 3'000'000u - folder_->sizes().open_groups);
}

TEST_F(BoundedMemory, AFloodOfKeysStaysBelowTheLimitOnBytes) {
  Open({.quiet_period = 1h, .max_wait = kForever, .limits = {.max_bytes = 32 * kMiB}});
  for (uint64_t n = 0; n < 3'000'000; ++n) {
    Fold(n, 0s);
    if (n % 10'000 == 0) {
      ASSERT_LE(counted(), 32 * kMiB);
    }
    if (n % 100'000 == 0) ExpectBounded();
  }
  ExpectBounded();
  EXPECT_GE(counted(), 30 * kMiB);
  EXPECT_GT(folder_->sizes().open_groups, 100'000u);
}

TEST_F(BoundedMemory, WhatIsRefusedLeavesNoTrace) {
  const FolderOptions groups{
      .quiet_period = 1h, .max_wait = kForever, .limits = {.max_groups = 100'000}};
  const FolderOptions bytes{
      .quiet_period = 1h, .max_wait = kForever, .limits = {.max_bytes = 16 * kMiB}};
  for (const FolderOptions& options : {groups, bytes}) {
    Open(options);
    uint64_t n = 0;
    for (; n < 1'000'000; ++n) Fold(n, 0s);  // every partition is full now
    const Sizes sizes = folder_->sizes();
    const Ledger ledger = folder_->ledger();
    const size_t resident = ResidentBytes();
    uint64_t refused = 0;
    for (; n < 6'000'000; ++n) refused += Fold(n, 1s) == FoldOutcome::kOverLimit;
    EXPECT_LT(ResidentBytes(), resident + kMiB);
    EXPECT_EQ(refused, 5'000'000u);
    EXPECT_EQ(folder_->ledger().over_limit, ledger.over_limit + refused);
    EXPECT_EQ(folder_->sizes(), sizes);
  }
}

TEST_F(BoundedMemory, WhatMakesRoomIsPoppedAndNothingIsLost) {
  const FolderOptions groups{.quiet_period = 1h,
                             .max_wait = kForever,
                             .limits = {.max_groups = 100'000, .on_limit = OnLimit::kEmitOldest}};
  const FolderOptions bytes{.quiet_period = 1h,
                            .max_wait = kForever,
                            .limits = {.max_bytes = 16 * kMiB, .on_limit = OnLimit::kEmitOldest}};
  for (const FolderOptions& options : {groups, bytes}) {
    Open(options);
    for (uint64_t n = 0; n < 1'000'000; ++n) {
      ASSERT_EQ(Fold(n, Duration(n)), FoldOutcome::kOpened);
      if (n % 1000 == 0) PopAll();
      if (n % 100'000 == 0) ExpectBounded();
    }
    ExpectBounded();
    PopAll();
    EXPECT_EQ(held(), folder_->sizes().open_groups);
    EXPECT_GT(popped_, 800'000u);
    folder_->CloseAll();
    PopAll();
    EXPECT_EQ(popped_, 1'000'000u);
    EXPECT_EQ(counted(), 0u);
  }
}

TEST_F(BoundedMemory, WhoDoesNotPopMeetsTheLimitAllTheSame) {
  Open({.quiet_period = 1h,
        .max_wait = kForever,
        .limits = {.max_bytes = 16 * kMiB, .on_limit = OnLimit::kEmitOldest}});
  for (uint64_t n = 0; n < 2'000'000; ++n) {
    Fold(n, Duration(n));
    if (n % 100'000 == 0) ExpectBounded();
  }
  ExpectBounded();
  EXPECT_GT(folder_->ledger().over_limit, 1'500'000u);
  EXPECT_EQ(held(), 2'000'000u - folder_->ledger().over_limit);
}

TEST_F(BoundedMemory, IdsAreCountedAndForgottenAsTimePasses) {
  FoldRules<Hit, Hits> rules;
  rules.id = [](const Hit& hit) { return hit.id; };
  Open({.quiet_period = 1min, .max_wait = kForever, .late = {.allowed_lateness = 1h}}, Axis::kEvent,
       4, std::move(rules));
  for (uint64_t n = 0; n < 2'000'000; ++n) {
    const std::string key = "k" + std::to_string(n % 1000);
    ASSERT_NE(folder_->Fold(key, {Name(n)}, kT0 + n / 10 * 10ms), FoldOutcome::kDuplicate);
    if (n % 200'000 == 0) ExpectBounded();
  }
  ExpectBounded();
  const size_t full = counted();
  EXPECT_GE(full, 2'000'000 * 20u);  // all are within the hour
  EXPECT_EQ(folder_->Fold("k0", {Name(0)}, kT0), FoldOutcome::kDuplicate);
  const size_t spike = Growth();

  AdvanceToTheEnd();
  EXPECT_EQ(counted(), 0u);
  EXPECT_LT(Growth(), spike / 10);
}

TEST_F(BoundedMemory, ARearmedKeyGrowsNothing) {
  FoldRules<Hit, Hits> rules;
  uint64_t events = 0;
  rules.quiet_period = [&](std::string_view, const Hit&) { return Duration(20 + events++ % 5000); };
  for (Axis axis : {Axis::kArrival, Axis::kEvent}) {
    Open({.quiet_period = 1ms, .max_wait = kForever, .partial_every = 1s}, axis, 1, rules);
    size_t level = 0;
    size_t most = 0;
    for (uint64_t n = 0; n < 5'000'000; ++n) {
      const Duration after(n * 10);
      Fold(0, after);
      if (n % 1000 != 0) continue;
      if (axis == Axis::kArrival) engine_->Advance(kT0 + after);
      PopAll();
      most = std::max(most, counted());
      if (n == 10'000) level = ResidentBytes();
    }
    EXPECT_LT(ResidentBytes(), level + kMiB);
    EXPECT_LT(most, 64 * 1024u);
    EXPECT_EQ(folder_->ledger().partial, 49u);
    EXPECT_LE(folder_->ledger().opened, 1u);
  }
}

TEST_F(BoundedMemory, ReturnsAfterASpikeOfTenTimesTheKeys) {
  const FolderOptions plain{.quiet_period = 10s, .max_wait = kForever};
  // With this much, what has gone is remembered for another 100 s.
  const FolderOptions everything{.quiet_period = 10s,
                                 .max_wait = kForever,
                                 .edge = Edge::kBoth,
                                 .partial_every = 2s,
                                 .late = {.allowed_lateness = 0s, .on_late = OnLate::kCorrect}};
  for (const auto& [options, end] : {std::pair(plain, 40s), {everything, 160s}}) {
    Open(options, Axis::kEvent);
    const auto fold = [&](uint64_t from, uint64_t to, Duration after) {
      for (uint64_t n = from; n < to; ++n) Fold(n, after);
      PopAll();
    };
    // A level that stays: some keys, kept busy.
    constexpr uint64_t kBusy = 50'000;
    fold(0, kBusy, 0s);
    fold(0, kBusy, 7s);
    const size_t level = ResidentBytes();
    fold(kBusy, 11 * kBusy, 8s);
    EXPECT_GT(ResidentBytes(), 4 * level);
    for (Duration after = 16s; after < end; after += 9s) fold(0, kBusy, after);
    EXPECT_EQ(folder_->sizes().open_groups, kBusy);
    // Memory comes from the system 2 MiB at a time, and whether the last of them is given back differs
    // from run to run.
    EXPECT_LT(ResidentBytes(), level + level / 2 + kSlack + 2 * kMiB) << counted() << " counted";
  }
}

// In one series, and in many small ones.
TEST_F(BoundedMemory, OfALiveSetReturnsAfterASpikeOfTenTimesTheMembers) {
  for (const uint64_t series : {uint64_t{1}, uint64_t{100'000}}) {
    engine_ = *Engine::Open({.partitions = 4, .huge_pages = HugePages::kOff});
    LiveSet<> live_set(*engine_, "live_set", {.ttl = 10s});
    const auto add = [&](uint64_t from, uint64_t to, Duration after) {
      engine_->Advance(kT0 + after);
      for (uint64_t n = from; n < to; ++n) {
        const std::string id(Name(n));
        live_set.Add(Name(n % series), {.id = id}, kT0 + after);
      }
    };
    constexpr uint64_t kBusy = 25'000;
    add(0, kBusy, 0s);
    const size_t level = ResidentBytes();
    add(kBusy, 11 * kBusy, 5s);
    EXPECT_GT(ResidentBytes(), level + 2 * kSlack);
    add(0, kBusy, 9s);
    engine_->Advance(kT0 + 15s);
    EXPECT_EQ(live_set.sizes().members, kBusy);
    EXPECT_LT(ResidentBytes(), level + level / 2 + kSlack) << live_set.sizes().bytes << " counted";
  }
}

TEST_F(BoundedMemory, AFolderWithoutGroupsTakesNextToNothing) {
  constexpr size_t kFolders = 500;
  engine_ = *Engine::Open({});
  std::vector<Hitting> folders;
  folders.reserve(kFolders);
  const size_t before = ResidentBytes();
  for (size_t i = 0; i < kFolders; ++i) {
    folders.emplace_back(*engine_, Name(i), FolderOptions{.quiet_period = 1h, .max_wait = 1h});
    EXPECT_EQ(folders.back().sizes().bytes, 0);
    EXPECT_EQ(folders.back().ledger(), Ledger{});
    EXPECT_THAT(folders.back().Pop(10), testing::IsEmpty());
  }
  EXPECT_LE(ResidentBytes() - before, kFolders * 4096);
}

// What a collection says that it holds is what the process grows by, at least half of it: the objects of
// an open collection, and lists of the standard library, are not in there.
void ExpectHolds(size_t grown, size_t held) {
  EXPECT_LT(held, grown + kMiB);
  EXPECT_GT(held, grown / 2);
}

TEST_F(BoundedMemory, TenThousandFoldersWithAGroupEachTake100MegabytesAtMost) {
  constexpr size_t kFolders = 10'000;
  engine_ = *Engine::Open({});
  std::vector<Hitting> folders;
  folders.reserve(kFolders);
  const auto held = [&] {
    size_t sum = 0;
    for (const Hitting& folder : folders) sum += folder.held_bytes();
    return sum;
  };
  const size_t at_first = ResidentBytes();
  for (size_t i = 0; i < kFolders; ++i) {
    folders.emplace_back(*engine_, Name(i), FolderOptions{.quiet_period = 1min, .max_wait = 1h});
  }
  EXPECT_EQ(held(), 0u);
  const size_t before = ResidentBytes();
  for (Hitting& folder : folders) folder.Fold("the one key", {}, kT0);
  EXPECT_LE(ResidentBytes() - at_first, 100'000'000u);
  ExpectHolds(ResidentBytes() - before, held());
  const size_t full = held();
  engine_->Advance(kT0 + 1min);
  EXPECT_LE(ResidentBytes() - at_first, 100'000'000u);
  EmissionBuffer<Hits> buffer;
  for (Hitting& folder : folders) EXPECT_EQ(folder.Pop(10, buffer).size(), 1u);
  EXPECT_LT(held(), full / 2);
  ExpectHolds(ResidentBytes() - before, held());
}

TEST_F(BoundedMemory, SmallLiveSetsAndCountersHoldWhatTheySay) {
  constexpr size_t kEach = 2000;
  engine_ = *Engine::Open({.huge_pages = HugePages::kOff});
  std::vector<LiveSet<>> sets;
  std::vector<Presence<>> rooms;
  std::vector<RollupCounter> counters;
  const auto grown_by = [&](const auto& fill) {
    const size_t before = ResidentBytes();
    fill();
    return ResidentBytes() - before;
  };
  const auto held = [](const auto& all) {
    size_t sum = 0;
    for (const auto& each : all) sum += each.held_bytes();
    return sum;
  };
  for (size_t i = 0; i < kEach; ++i) {
    sets.emplace_back(*engine_, "set " + std::to_string(i), LiveSetOptions{.ttl = 1h});
    rooms.emplace_back(*engine_, "room " + std::to_string(i), PresenceOptions{});
    counters.emplace_back(*engine_, "counter " + std::to_string(i),
                          RollupOptions{.windows = {1min}, .allowed_lateness = 10s});
  }
  EXPECT_EQ(held(sets) + held(rooms) + held(counters), 0u);
  size_t grown = grown_by([&] {
    for (auto& set : sets) set.Add("series", {.id = "member"}, kT0);
  });
  ExpectHolds(grown, held(sets));
  grown = grown_by([&] {
    for (auto& room : rooms) room.Enter("room", "user", "connection", kT0);
  });
  ExpectHolds(grown, held(rooms));
  grown = grown_by([&] {
    for (auto& counter : counters) counter.Add("key", 1, kT0, "id");
  });
  ExpectHolds(grown, held(counters));
}

TEST_F(BoundedMemory, AClosedFolderGivesItsMemoryBack) {
  Open({.quiet_period = 1h, .max_wait = 1h}, Axis::kArrival, 16);
  const size_t before = ResidentBytes();
  for (int round = 0; round < 3; ++round) {
    for (uint64_t i = 0; i < 200'000; ++i) Fold(i, 0s);
    for (uint64_t i = 0; i < 100'000; ++i) folder_->Flush(Name(i));
    EXPECT_GE(ResidentBytes() - before, 16 * kMiB);
    folder_->Close();
    // An extent that is empty, and one with pages for the next blocks, stay.
    EXPECT_LE(ResidentBytes() - before, kSlack) << "round " << round;
    folder_ = *Hitting::Open(*engine_, "hits", {.quiet_period = 1h, .max_wait = 1h});
  }
}

}  // namespace
}  // namespace pleat
