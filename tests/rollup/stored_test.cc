// A rollup book that was saved and loaded is the book that it was: the same bytes, the same answers
// to whatever comes next. Bytes that were damaged are refused, or give a whole book.
#include <algorithm>
#include <chrono>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <pleat/rollup.h>

#include "engine/rollup/rollup_clock.h"
#include "engine/rollup/stored_flags.h"
#include "tests/rollup/stored_host.h"
#include "tests/support/sanitized.h"
#include "tests/support/seeds.h"
#include "tests/support/start.h"
#include "tests/support/uneven_calendar.h"

namespace pleat::inline v0_1 {
namespace {

using namespace std::chrono_literals;
using Call = StoredCall;

EngineTime At(Duration since_start) { return kT0 + since_start; }

// Draws the options of a book, and calls on it at times that only grow.
class Episode {
 public:
  explicit Episode(uint64_t seed) : random_(seed) {
    static constexpr Duration kSecond = 1s;
    options.windows = {10 * kSecond};
    if (Below(2) == 0) options.windows.push_back(Below(2) == 0 ? 20s : 30s);
    if (options.windows.size() > 1 && Below(2) == 0) options.windows.push_back(60s);
    if (Below(3) == 0) MakeUneven(options);
    options.allowed_lateness = kSecond * Below(30);
    options.margin = kSecond * Below(3);
    options.on_late = static_cast<OnLateAdd>(Below(3));
    if (Below(2) == 0)
      options.deduplication_window = options.allowed_lateness + kSecond * Below(30);
    DrawPeriods().SetIn(options);
    options.clears = Below(3) == 0;
    if (Below(2) == 0) options.store = std::make_shared<MemoryCheckpointStore>();
    if (Below(4) == 0) options.limits.max_keys = 4;
    if (Below(4) == 0) options.limits.max_bytes = 6000;
    if (Below(4) == 0) options.limits.max_backlog = 10;
    options.leases = {.max_deliveries = 2,
                      .max_leased = 1 + Below(4),
                      .max_dead_letters = 2,
                      .on_dead_limit = static_cast<OnDeadLimit>(Below(2)),
                      .wait_behind_dead = Below(2) == 0};
    lends_ = Below(2) == 0;
    has_ids_ = Below(2) == 0;
    plain_ = Below(3) == 0;
  }

  uint64_t Below(uint64_t end) { return random_() % end; }
  std::string Key() {
    const uint64_t key = Below(8);
    return key < 6 ? std::string(key, 'k') : std::string(40 + key, 'l');
  }
  EngineTime now() const { return now_; }
  bool has_ids() const { return has_ids_; }

  Call Next() {
    if (Below(3) == 0) now_ += 100ms * Below(Below(20) == 0 ? 1000 : 40);
    // Events are most of it.
    const uint64_t drawn = Below(40);
    Call call{.what = drawn < Call::kWhats ? static_cast<Call::What>(drawn) : Call::kAdd,
              .now = now_,
              .key = Key(),
              .at = now_ + 5s - 100ms * Below(Below(10) == 0 ? 900 : 200),
              .number = Below(6)};
    if (!lends_ && call.what == Call::kLend) call.what = Call::kPop;
    if (call.what == Call::kVisit && Below(2) == 0) call.number = 1000;
    if (call.what == Call::kPublish && Below(2) == 0) call.number = 1000;
    // With less, how many are taken back depends on how the table of leases was filled.
    if (call.what == Call::kExpire) call.number = 1000;
    if (call.what == Call::kCloseAll && Below(4) != 0) call.what = Call::kRead;
    if (call.what == Call::kOthers) {
      call.at = kT0 + 10s * (((now_ - kT0) / 10s) - Below(5));
      if (options.calendar) call.at = options.calendar(call.at, 10s).first;
    }
    if (call.what == Call::kAdd) call.delta = DrawDelta();
    if (has_ids_ && Below(3) > 0) call.id = "id " + std::to_string(Below(20));
    call.fails = Below(4) == 0;
    if (call.what == Call::kSetOptions) call.periods = DrawPeriods();
    return call;
  }

  RollupOptions options;

 private:
  Periods DrawPeriods() {
    static constexpr Duration kSecond = 1s;
    Periods periods;
    periods.retention = kSecond * Below(2) * Below(100);
    if (Below(2) == 0) periods.forget_after = periods.retention + kSecond * Below(2) * Below(60);
    return periods;
  }

  Delta DrawDelta() {
    static constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
    if (plain_) return static_cast<int64_t>(Below(5));
    switch (Below(16)) {
      case 0: return kMost - static_cast<int64_t>(Below(3));
      case 1: return -kMost;
      case 2: return 0.1 * static_cast<double>(Below(10));
      case 3: return Below(2) == 0 ? 1e300 : std::numeric_limits<double>::max();
      case 4: return Below(2) == 0 ? Delta::Above() : Delta::Below();
      case 5:
        return Below(2) == 0 ? std::numeric_limits<double>::infinity()
                             : std::numeric_limits<double>::quiet_NaN();
      case 6: return int64_t{1} << 45;
      default: return static_cast<int64_t>(Below(100)) - 20;
    }
  }

  std::mt19937_64 random_;
  EngineTime now_ = kT0;
  bool lends_ = false;
  bool has_ids_ = false;
  bool plain_ = false;
};

// --- Whole books

TEST(StoredRollup, ABookWithoutEventsIsTheSame) {
  const RollupOptions options{.windows = {10s}, .allowed_lateness = 10s};
  StoredHost before(options, 1);
  StoredHost after(before, 2);
  ASSERT_TRUE(after.Load(before.Save()));
  EXPECT_EQ(after.Look(), before.Look());
  EXPECT_EQ(after.next_due(), before.next_due());
  EXPECT_EQ(after.Save(), before.Save());
}

// Wherever an episode is cut, the loaded book is whole, has the same bytes, and goes on as the
// saved one does.
TEST(StoredRollup, ALoadedBookGoesOnAsTheSavedOne) {
  uint64_t differs = 0;
  ForEachSeed(1, kSanitized ? 150 : 1000, [&](uint64_t seed) {
    Episode episode(seed);
    StoredHost before(episode.options, seed);
    for (uint64_t left = episode.Below(300); left > 0; --left) before.Apply(episode.Next());
    before.CheckWhole();
    const std::string bytes = before.Save();
    ASSERT_EQ(before.Save(), bytes) << "saving changes nothing";

    StoredHost after(before, seed + 1);
    ASSERT_TRUE(after.Load(bytes));
    after.CheckWhole();
    ASSERT_EQ(after.Look(), before.Look());
    ASSERT_EQ(after.next_due(), before.next_due());
    ASSERT_TRUE(after.Save() == bytes);
    for (int i = 0; i < 200; ++i) {
      const Call call = episode.Next();
      ASSERT_EQ(after.Apply(call), before.Apply(call)) << "call " << i;
      ASSERT_EQ(after.Look(), before.Look()) << "call " << i;
      ASSERT_TRUE(episode.has_ids() || after.next_due() == before.next_due()) << "call " << i;
    }
    before.CheckWhole();
    after.CheckWhole();
    differs += after.Save() != bytes;
  });
  EXPECT_GT(differs, 0u);
}

// Counters with references, and counters that a Publish() asks about while the book is saved.
TEST(StoredRollup, ABookIsWholeWhateverIsUnderWayWhenItIsSaved) {
  ForEachSeed(1, kSanitized ? 100 : 500, [&](uint64_t seed) {
    Episode episode(seed);
    StoredHost before(episode.options, seed);
    std::vector<std::shared_ptr<const SharedCount>> refs;
    for (uint64_t left = 20 + episode.Below(300); left > 0; --left) {
      before.Apply(episode.Next());
      if (episode.Below(20) == 0) refs.push_back(before.Share(episode.Key(), episode.now()));
      if (episode.Below(20) == 0) refs.clear();
      if (episode.Below(10) == 0) before.BeginPublish(episode.Below(4), episode.now());
      if (episode.Below(20) == 0) before.EndPublish(false, episode.now());
    }
    before.CheckWhole();
    const std::string bytes = before.Save();
    StoredHost after(before, seed + 1);
    ASSERT_TRUE(after.Load(bytes));
    after.CheckWhole();
    ASSERT_TRUE(after.Save() == bytes);
    ASSERT_EQ(after.book().unpublished(), before.book().unpublished());
    ASSERT_EQ(after.book().queued(), after.book().unpublished());
    for (int i = 0; i < 100; ++i) after.Apply(episode.Next());
    after.CheckWhole();
  });
}

// --- What a restart is told of the store and of references

RollupOptions WithStore() {
  return {.windows = {10s},
          .allowed_lateness = 0s,
          .forget_after = 30s,
          .store = std::make_shared<MemoryCheckpointStore>()};
}

TEST(StoredRollup, APublicationWithoutAnAnswerIsTheFirstToBeAskedAgain) {
  StoredHost before(WithStore(), 1);
  for (const char* key : {"a", "b", "c"}) before.Add(key, At(1s), At(1s));
  EXPECT_EQ(before.BeginPublish(2, At(20s)), 2u);  // of a and b: their answers never come
  StoredHost after(before, 2);
  ASSERT_TRUE(after.Load(before.Save()));
  EXPECT_EQ(after.book().queued(), 3u);
  EXPECT_EQ(after.BeginPublish(1, At(20s)), 1u);
  EXPECT_EQ(after.EndPublish(false, At(20s)).substr(0, 3), " a:");
  EXPECT_EQ(after.BeginPublish(9, At(20s)), 2u);
  after.EndPublish(false, At(20s));
  EXPECT_EQ(after.book().unpublished(), 0u);
  EXPECT_EQ(after.store().at("a").until, At(20s));
  EXPECT_EQ(after.store().at("b").amount.count, 1u);
}

// The store kept the checkpoint, and nobody heard of it.
TEST(StoredRollup, ACheckpointThatWasKeptUnheardCountsOnce) {
  StoredHost before(WithStore(), 1);
  before.Add("a", At(1s), At(1s), 5);
  before.BeginPublish(1, At(20s));
  StoredHost after(before, 2);
  ASSERT_TRUE(after.Load(before.Save()));
  before.EndPublish(false, At(20s));
  after.store() = before.store();
  ASSERT_EQ(after.store().at("a").amount.sum, 5);
  EXPECT_EQ(after.BeginPublish(9, At(20s)), 1u);
  after.EndPublish(false, At(20s));
  EXPECT_EQ(after.book().unpublished(), 0u);
  EXPECT_EQ(after.book().rollup_ledger().store_conflicts, 0u);
  EXPECT_EQ(after.Read("a", At(20s)), before.Read("a", At(20s)));
}

TEST(StoredRollup, AReferenceTakenAfterwardsShowsTheSum) {
  StoredHost before({.windows = {10s}, .allowed_lateness = 0s}, 1);
  before.Add("a", At(1s), At(1s), 5);
  before.Add("a", At(12s), At(12s), 7);
  const auto old = before.Share("a", At(15s));
  StoredHost after(before, 2);
  ASSERT_TRUE(after.Load(before.Save()));
  const auto count = after.Share("a", At(15s));
  EXPECT_EQ(count->Read(At(15s)).amount, old->Read(At(15s)).amount);
  EXPECT_EQ(count->Read(At(15s)).as_of, At(10s));
  after.Apply({.what = Call::kVisit, .now = At(20s), .number = 100});
  EXPECT_EQ(count->Read(At(20s)).amount.sum, 12);
  EXPECT_EQ(count->Read(At(20s)).as_of, At(20s));
}

TEST(StoredRollup, ACounterThatOnlyAReferenceHeldIsForgotten) {
  StoredHost before({.windows = {10s}, .allowed_lateness = 0s, .forget_after = 10s}, 1);
  before.Add("a", At(1s), At(1s), 5);
  const auto held = before.Share("a", At(1s));
  before.Apply({.what = Call::kVisit, .now = At(60s), .number = 100});
  EXPECT_EQ(before.book().rollup_sizes().keys, 1u);
  StoredHost after(before, 2);
  ASSERT_TRUE(after.Load(before.Save()));
  after.Apply({.what = Call::kVisit, .now = At(60s), .number = 100});
  EXPECT_EQ(after.book().rollup_sizes().keys, 0u);
}

// --- Damaged bytes

// A book with something of everything, and small enough to be damaged everywhere.
std::optional<StoredHost>& MakeSmall(std::optional<StoredHost>& host, uint64_t seed,
                                     Episode& episode) {
  host.emplace(episode.options, seed);
  for (uint64_t left = 30 + episode.Below(60); left > 0; --left) host->Apply(episode.Next());
  return host;
}

TEST(StoredRollup, NoPartOfABookIsABook) {
  ForEachSeed(1, kSanitized ? 2 : 6, [&](uint64_t seed) {
    Episode episode(seed);
    std::optional<StoredHost> before;
    const std::string bytes = MakeSmall(before, seed, episode)->Save();
    for (size_t size = 0; size < bytes.size(); ++size) {
      StoredHost after(*before, seed);
      ASSERT_FALSE(after.Load(std::string_view(bytes).substr(0, size))) << size;
    }
    StoredHost after(*before, seed);
    ASSERT_FALSE(after.Load(bytes + '\0'));
  });
}

// What is loaded all the same is a whole book: it can be asked, grow old, and end.
TEST(StoredRollup, ADamagedBookIsRefusedOrWhole) {
  uint64_t loaded = 0;
  uint64_t refused = 0;
  ForEachSeed(1, kSanitized ? 2 : 6, [&](uint64_t seed) {
    Episode episode(seed);
    std::optional<StoredHost> before;
    const std::string bytes = MakeSmall(before, seed, episode)->Save();
    for (size_t place = 0; place < bytes.size(); ++place) {
      for (const int flip : {1, 2, 16, 128, 255}) {
        std::string damaged = bytes;
        damaged[place] = static_cast<char>(damaged[place] ^ flip);
        StoredHost after(*before, seed);
        if (!after.Load(damaged)) {
          ++refused;
          continue;
        }
        ++loaded;
        SCOPED_TRACE("byte " + std::to_string(place) + " flip " + std::to_string(flip));
        after.CheckWhole();
        Episode later = episode;
        for (int i = 0; i < 20; ++i) after.Apply(later.Next());
        after.Apply({.what = Call::kCloseAll, .now = later.now()});
        after.Pop(3, later.now());
        after.Apply({.what = Call::kVisit, .now = later.now() + 1h, .number = 100'000});
        after.CheckWhole();
      }
    }
  });
  EXPECT_GT(refused, 0u);
  EXPECT_GT(loaded, 0u);
}

// The same of a book with little in it, of which each byte may be anything.
TEST(StoredRollup, ASmallBookWithAnyByteIsRefusedOrWhole) {
  const RollupOptions options{.windows = {10s},
                              .allowed_lateness = 30s,
                              .store = std::make_shared<MemoryCheckpointStore>()};
  StoredHost before(options, 1);
  before.Add("k", At(1s), At(1s));
  before.Add("k", At(12s), At(12s));
  before.Apply({.what = Call::kVisit, .now = At(55s), .number = 100});
  before.Pop(9, At(55s));
  const std::string bytes = before.Save();
  uint64_t loaded = 0;
  for (size_t place = 0; place < bytes.size(); ++place) {
    for (int value = 0; value < 256; value += kSanitized ? 5 : 1) {
      std::string damaged = bytes;
      damaged[place] = static_cast<char>(value);
      StoredHost after(before, 2);
      if (!after.Load(damaged)) continue;
      ++loaded;
      after.CheckWhole();
    }
  }
  EXPECT_GT(loaded, 0u);
}

// Of two kept windows, one still has an emission that waits. Bytes in which both have it name the
// emission once more: a flag of the other window, and a number behind.
TEST(StoredRollup, AnEmissionOfTwoWindowsIsRefused) {
  const RollupOptions options{.windows = {10s}, .allowed_lateness = 0s, .retention = 1000s};
  StoredHost before(options, 1);
  before.Add("k", At(1s), At(1s));
  before.Add("k", At(11s), At(11s));
  before.Apply({.what = Call::kVisit, .now = At(30s), .number = 100});
  ASSERT_NE(before.Pop(1, At(30s)), "");
  const std::string bytes = before.Save();
  for (size_t flags = 0; flags < bytes.size(); ++flags) {
    for (size_t number = flags + 1; number < bytes.size(); ++number) {
      std::string damaged = bytes;
      damaged[flags] = static_cast<char>(damaged[flags] ^ 16);
      damaged.insert(number, 1, '\0');
      StoredHost after(before, 2);
      ASSERT_FALSE(after.Load(damaged)) << flags << " " << number;
    }
  }
}

// Emissions of two kept windows wait. In bytes in which the second window names the first one's, too,
// nothing is left to hand out for the second emission. Its number is the last one of the counters.
TEST(StoredRollup, AnEmissionWithoutAWindowIsRefused) {
  const RollupOptions options{.windows = {10s}, .allowed_lateness = 0s, .retention = 1000s};
  StoredHost before(options, 1);
  before.Add("k", At(1s), At(1s));
  before.Add("k", At(11s), At(11s));
  before.Apply({.what = Call::kVisit, .now = At(30s), .number = 100});
  std::string bytes = before.Save();
  const size_t end = bytes.find(static_cast<char>(rollup_stored::kCounterFlags));
  ASSERT_NE(end, std::string::npos);
  ASSERT_EQ(bytes[end - 1], 1);
  bytes[end - 1] = 0;
  StoredHost after(before, 2);
  EXPECT_FALSE(after.Load(bytes));
}

// A final window that the store lacks is in no list, which would tell that its time has come. The
// clock does, at the beginning of the book.
TEST(StoredRollup, AWindowThatIsFinalBeforeItsTimeIsRefused) {
  const RollupOptions options{
      .windows = {10s}, .allowed_lateness = 0s, .store = std::make_shared<MemoryCheckpointStore>()};
  const auto clock_at = [&](EngineTime now) {
    RollupClock clock(options);
    clock.NextPosition(0);
    clock.Reach(now);
    clock.NoteFinal();
    FieldWriter out;
    clock.Save(out);
    return std::string(out.bytes());
  };
  StoredHost before(options, 1);
  before.Add("k", At(1s), At(1s));
  before.Apply({.what = Call::kVisit, .now = At(20s), .number = 100});
  const std::string bytes = before.Save();
  const std::string clock = clock_at(At(20s));
  ASSERT_TRUE(bytes.starts_with(clock));
  const auto is_refused_at = [&](EngineTime now) {
    StoredHost after(before, 2);
    return !after.Load(clock_at(now) + bytes.substr(clock.size()));
  };
  EXPECT_FALSE(is_refused_at(At(10s)));
  EXPECT_TRUE(is_refused_at(At(10s) - 1us));
}

}  // namespace
}  // namespace pleat::inline v0_1
