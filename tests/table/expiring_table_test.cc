// An ExpiringTable, with its Deadlines, against a map of the same entries: with deadlines that only
// move later, with deadlines that also move earlier, and with entries that are called before.
#include "engine/table/expiring_table.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/share.h"

namespace pleat {
namespace {

using namespace std::chrono_literals;

struct BareEntry {
  uint64_t hash;
  EngineTime due;
  uint64_t order;
  EngineTime call = kNever;
};

struct CallBits : TableBits {
  bool called : 1 = false;
};

// The same with the bits inside.
struct WholeEntry : BareEntry, TicketBits {
  static constexpr bool kIsEntry = true;
};

// A table of entries that are found by their hash, as its owner.
template <class Cold>
struct Owner {
  using Entry = std::conditional_t<BitsInEntry<Cold>, WholeEntry, BareEntry>;

  struct Entries {
    const Owner& owner;
    uint32_t HashOf(uint32_t number) const { return static_cast<uint32_t>(owner.At(number).hash); }
    EngineTime DueOf(uint32_t number) const {
      ++owner.asked;
      return owner.At(number).due;
    }
    EngineTime CallOf(uint32_t number) const { return owner.At(number).call; }
    uint64_t OrderOf(uint32_t number) const { return owner.At(number).order; }
    void Prefetch(uint32_t number) const { pleat::Prefetch(&owner.At(number)); }
    uint64_t Version() const { return owner.writes; }
  };
  explicit Owner(Duration usual_life = 4096us * 16, size_t run_most = Deadlines::kRunMost)
      : table(pool, sizeof(Entry), usual_life, Entries{*this}, run_most) {}

  const Entry& At(uint32_t number) const {
    return *reinterpret_cast<const Entry*>(table.hot(number));
  }
  Entry& At(uint32_t number) { return *reinterpret_cast<Entry*>(table.hot(number)); }
  uint32_t New(uint64_t hash, EngineTime due, uint64_t order = 0) {
    const uint32_t number = table.New();
    static_cast<BareEntry&>(At(number)) = {.hash = hash, .due = due, .order = order};
    return number;
  }
  uint32_t Open(uint64_t hash, EngineTime due, uint64_t order = 0) {
    const uint32_t number = New(hash, due, order);
    table.Index(hash, number);
    table.Arm(number);
    return number;
  }
  uint32_t Find(uint64_t hash) const {
    return table.Find(hash, [&](uint32_t number) { return At(number).hash == hash; });
  }
  // Gives out everything due by `now`, as (due, order), and frees it; and what is called by then.
  std::vector<std::tuple<EngineTime, uint64_t>> Take(EngineTime now) {
    std::vector<std::tuple<EngineTime, uint64_t>> out;
    Budget budget;
    for (Due due{};;) {
      const Deadlines::Found found = table.Next(now, budget, due);
      if (found == Deadlines::Found::kNothing) {
        spent = SIZE_MAX - budget.left();
        return out;
      }
      out.emplace_back(due.ripe, due.order);
      if (due.is_call()) continue;
      if (table.cold(due.number).indexed) table.Unindex(due.number);
      table.Free(due.number);
    }
  }

  uint64_t writes = 0;
  mutable uint64_t asked = 0;  // for a deadline
  size_t spent = 0;            // of the budget of the latest Take()
  PagePool pool;
  ExpiringTable<Entries, Cold> table;
};

constexpr EngineTime kStart = FromUnix(1'700'000'000s);
using Given = std::vector<std::tuple<EngineTime, uint64_t>>;
#ifdef NDEBUG
constexpr uint64_t kAssertions = 0;  // that ask each entry that is given out
#else
constexpr uint64_t kAssertions = 1;
#endif

template <class Cold>
struct ExpiringTableFixture : testing::Test {
  Owner<Cold> owner_;
};
using Colds = testing::Types<TableBits, TicketBits, WholeEntry, CallBits>;
TYPED_TEST_SUITE(ExpiringTableFixture, Colds);

TYPED_TEST(ExpiringTableFixture, FindsAnEntryUntilItIsUnindexed) {
  auto& owner = this->owner_;
  const uint32_t number = owner.Open(7, kStart);
  EXPECT_EQ(owner.Find(7), number);
  owner.table.Unindex(number);
  EXPECT_EQ(owner.Find(7), KeyIndex::kNone);
  EXPECT_TRUE(owner.table.Holds(number));
  owner.table.CheckWhole();
}

TYPED_TEST(ExpiringTableFixture, GivesOutAnOvertakenEntryInItsTurn) {
  auto& owner = this->owner_;
  owner.table.Unindex(owner.Open(7, kStart + 1s, 1));
  owner.Open(7, kStart + 2s, 2);  // the next one of its key
  owner.table.CheckWhole();
  EXPECT_EQ(owner.Take(kStart + 3s), (Given{{kStart + 1s, 1}, {kStart + 2s, 2}}));
}

TYPED_TEST(ExpiringTableFixture, GivesOutWhatWasFiledBehindOlderDeadlines) {
  auto& owner = this->owner_;
  const uint32_t ended = owner.Open(7, kStart + 9s, 1);
  owner.Open(8, kStart + 1s, 2);
  owner.table.Unindex(ended);
  owner.table.Disarm(ended);
  owner.table.File({.ripe = kStart + 2s, .order = 3, .number = ended, .by_event = true, .tag = 5});
  owner.table.CheckWhole();
  EXPECT_EQ(owner.Take(kStart + 3s), (Given{{kStart + 1s, 2}, {kStart + 2s, 3}}));
  EXPECT_EQ(owner.Take(kEndOfTime), Given{});
}

TYPED_TEST(ExpiringTableFixture, KeepsANumberOutOfUseWhileAReferenceIsLeft) {
  auto& owner = this->owner_;
  const uint32_t number = owner.Open(7, kStart);
  owner.table.Unindex(number);
  owner.table.Free(number);
  EXPECT_FALSE(owner.table.Holds(number));
  EXPECT_EQ(owner.table.stale(), 1u);
  EXPECT_NE(owner.New(8, kStart), number);
  EXPECT_EQ(owner.Take(kStart), Given{});  // the reference is gone by now
  EXPECT_EQ(owner.table.stale(), 0u);
  EXPECT_EQ(owner.New(9, kStart), number);
}

TYPED_TEST(ExpiringTableFixture, AnEntryWithoutADeadlineLeavesItsNumberAtOnce) {
  auto& owner = this->owner_;
  const uint32_t number = owner.New(7, kStart);
  owner.table.Free(number);
  EXPECT_EQ(owner.New(8, kStart), number);
}

#ifndef NDEBUG
TYPED_TEST(ExpiringTableFixture, AMoveThatVersionDoesNotTellStopsADebugBuild) {
  auto& owner = this->owner_;
  owner.Open(7, kStart, 1);
  const uint32_t next = owner.Open(8, kStart + 1us, 2);
  EXPECT_EQ(owner.Take(kStart), (Given{{kStart, 1}}));
  owner.At(next).due += 1s;
  EXPECT_DEATH(owner.Take(kStart + 1us), "check failed.*DueOf");
  ++owner.writes;
  EXPECT_EQ(owner.Take(kStart + 1us), Given{});
}
#endif

TYPED_TEST(ExpiringTableFixture, BeginsDeadlinesAnewOnceAllWereGivenOut) {
  auto& owner = this->owner_;
  owner.Open(7, kNever, 1);
  owner.table.Unindex(owner.Open(8, kStart + 1s, 2));  // overtaken
  const uint32_t gone = owner.Open(9, kStart);
  owner.table.Unindex(gone);
  owner.table.Free(gone);
  EXPECT_DEATH(owner.table.BeginDeadlinesAnew(), "check failed.*empty");
  EXPECT_EQ(owner.Take(kNever), (Given{{kStart + 1s, 2}, {kNever, 1}}));
  owner.table.BeginDeadlinesAnew();
  owner.table.CheckWhole();
  owner.Open(7, kStart, 3);
  EXPECT_EQ(owner.Take(kStart), (Given{{kStart, 3}}));
}

TYPED_TEST(ExpiringTableFixture, LeavesAConstantShareOfStaleReferences) {
  // One entry after another comes and goes at once, a million times, beside 10,000 that stay.
  auto& owner = this->owner_;
  for (uint64_t i = 0; i < 10'000; ++i) owner.Open(i, kStart + Duration(i * 6));
  size_t most = 0;
  for (uint64_t i = 0; i < 1'000'000; ++i) {
    const uint32_t number = owner.New(i, kStart + Duration(i % 60'000));
    owner.table.Arm(number);
    owner.table.Free(number);
    most = std::max(most, owner.table.stale());
  }
  EXPECT_LT(most, 20'000u);
  EXPECT_EQ(owner.Take(kStart + 1s).size(), 10'000u);
  EXPECT_EQ(owner.table.stale(), 0u);
}

// A slot with many more than one run holds: in order, without asking much more often than a short slot
// would, and for hardly more of the budget.
TYPED_TEST(ExpiringTableFixture, GivesOutInOrderWhatIsDueWithinOneSlot) {
  constexpr uint64_t kEntries = 10 * Deadlines::kRunMost;
  std::vector<uint64_t> orders(kEntries);
  std::iota(orders.begin(), orders.end(), uint64_t{1});
  const auto shuffle = [&] { std::shuffle(orders.begin(), orders.end(), std::mt19937_64(1)); };
  const auto reverse = [&] { std::reverse(orders.begin(), orders.end()); };
  const auto nothing = [] {};
  const std::tuple<std::function<void()>, Duration, uint64_t> cases[] = {
      {nothing, 0us, 2}, {reverse, 0us, 3}, {shuffle, 0us, 4}, {shuffle, 3us, 4}};
  for (const auto& [arrange, spread, most] : cases) {
    Owner<TypeParam> owner;
    arrange();
    Given expected;
    for (const uint64_t order : orders) {
      const EngineTime due =
          kStart + Duration(order * 7919 % static_cast<uint64_t>(spread.count() + 1));
      owner.Open(order * 0x9e37'79b9'7f4a'7c15, due, order);
      expected.emplace_back(due, order);
    }
    std::sort(expected.begin(), expected.end());
    owner.asked = 0;
    EXPECT_TRUE(owner.Take(kStart + 1s) == expected) << "too long to print";
    EXPECT_LE(owner.asked, (most + kAssertions) * kEntries);
    EXPECT_LE(owner.spent, kEntries * 9 / 4);
  }
}

// Whatever is left of a slot that did not fit its run may have moved on meanwhile.
TYPED_TEST(ExpiringTableFixture, AsksAgainBehindARun) {
  Owner<TypeParam> owner(4096us * 16, /*run_most=*/28);
  Given moved;
  for (uint64_t order = 1; order <= 100; ++order) owner.Open(order, kStart, order);
  Due due;
  Budget budget;
  ASSERT_EQ(owner.table.Next(kStart, budget, due), Deadlines::Found::kDue);
  EXPECT_EQ(due.order, 1u);
  for (uint64_t order = 51; order <= 100; ++order) {
    owner.At(owner.Find(order)).due = kStart + 1h;
    moved.emplace_back(kStart + 1h, order);
  }
  ++owner.writes;
  EXPECT_EQ(owner.Take(kStart).size(), 49u);
  owner.table.CheckWhole();
  EXPECT_EQ(owner.Take(kStart + 1h), moved);
}

struct MovingEarlier : testing::Test {
  Owner<TicketBits> owner;
};

TEST_F(MovingEarlier, GivesOutAtTheEarlierDeadlineOnly) {
  const uint32_t number = owner.Open(7, kStart + 1h, 1);
  owner.At(number).due = kStart + 1s;
  owner.table.Arm(number);
  owner.table.CheckWhole();
  EXPECT_EQ(owner.table.NextDue(), kStart + 1s);
  EXPECT_EQ(owner.Take(kStart + 999ms), Given{});
  EXPECT_EQ(owner.Take(kStart + 1s), (Given{{kStart + 1s, 1}}));
  EXPECT_EQ(owner.Take(kStart + 2h), Given{});
  EXPECT_EQ(owner.table.stale(), 0u);
}

TEST_F(MovingEarlier, CanMoveLaterAgainByAWrite) {
  const uint32_t number = owner.Open(7, kStart + 1h, 1);
  owner.At(number).due = kStart + 1s;
  owner.table.Arm(number);
  owner.At(number).due = kStart + 2h;
  EXPECT_EQ(owner.Take(kStart + 2h - 1us), Given{});
  owner.table.CheckWhole();
  EXPECT_EQ(owner.Take(kStart + 2h), (Given{{kStart + 2h, 1}}));
}

TEST_F(MovingEarlier, AnEntryGivenOutCanBeArmedAgainBesideItsOldReference) {
  const uint32_t number = owner.Open(7, kStart + 1h, 1);
  owner.At(number).due = kStart + 1s;
  owner.table.Arm(number);
  Due due;
  Budget budget;
  ASSERT_EQ(owner.table.Next(kStart + 1s, budget, due), Deadlines::Found::kDue);
  EXPECT_EQ(due.number, number);
  owner.table.CheckWhole();
  owner.At(number).due = kStart + 1min;
  owner.table.Arm(number);
  owner.table.CheckWhole();
  EXPECT_EQ(owner.Take(kStart + 2h), (Given{{kStart + 1min, 1}}));
}

TEST_F(MovingEarlier, LeavesAConstantShareOfStaleReferences) {
  // Beside 10,000 others, the deadlines of ten entries move to and fro a million times.
  for (uint64_t i = 0; i < 10'000; ++i) owner.Open(i, kStart + Duration(i * 6));
  size_t most = 0;
  for (uint64_t i = 0; i < 1'000'000; ++i) {
    const uint32_t number = owner.Find(i % 10 * 997);
    owner.At(number).due = kStart + Duration(i * 7919 % 60'000);
    owner.table.Arm(number);
    most = std::max(most, owner.table.stale());
  }
  EXPECT_LT(most, 2'000u);
  owner.table.CheckWhole();
  EXPECT_EQ(owner.Take(kStart + 1s).size(), 10'000u);
  EXPECT_EQ(owner.table.stale(), 0u);
}

// An entry that is not called costs nothing until its deadline.
TEST(Calls, ComeBeforeTheDeadlineAndOnlyWhenAskedFor) {
  Owner<CallBits> owner;
  const uint32_t number = owner.Open(7, kStart + 10s, 1);
  owner.Open(8, kStart + 3s, 2);
  owner.At(number).call = kStart + 3s;
  owner.table.Call(number);
  owner.table.CheckWhole();
  EXPECT_EQ(owner.table.NextDue(), kStart + 3s);
  EXPECT_EQ(owner.Take(kStart + 3s), (Given{{kStart + 3s, 1}, {kStart + 3s, 2}}));
  EXPECT_EQ(owner.table.NextDue(), kStart + 10s);
  Budget none(0);
  Due due;
  EXPECT_EQ(owner.table.Next(kStart + 9s, none, due), Deadlines::Found::kNothing);
  EXPECT_EQ(owner.Take(kStart + 10s), (Given{{kStart + 10s, 1}}));
}

TEST(Calls, EndWithTheirEntryWhoseNumberWaitsForThem) {
  Owner<CallBits> owner;
  const uint32_t number = owner.Open(7, kStart + 1s, 1);
  owner.At(number).call = kStart + 5s;  // an owner may be late to see that nothing is to be called
  owner.table.Call(number);
  EXPECT_EQ(owner.Take(kStart + 1s), (Given{{kStart + 1s, 1}}));
  owner.table.CheckWhole();
  EXPECT_EQ(owner.table.stale(), 1u);
  EXPECT_NE(owner.New(8, kStart), number);
  EXPECT_EQ(owner.Take(kStart + 5s), Given{});
  EXPECT_EQ(owner.table.stale(), 0u);
  EXPECT_EQ(owner.New(9, kStart), number);
}

TEST(Calls, AreArmedAnewWithTheRest) {
  Owner<CallBits> owner;
  const uint32_t number = owner.Open(7, kStart + 1h, 1);
  owner.At(number).call = kStart + 1min;
  owner.table.Call(number);
  owner.At(number).due = kStart + 10min;
  owner.table.ArmAllAnew(10min);
  owner.table.CheckWhole();
  EXPECT_EQ(owner.Take(kStart + 1h), (Given{{kStart + 1min, 1}, {kStart + 10min, 1}}));
}

// Everything that owners do, at random, beside a map of what is to be given out, in order.
template <class Cold>
class Episode {
 public:
  // `run_most`: see Deadlines.
  Episode(uint64_t seed, Duration usual_life, size_t run_most)
      : random_(seed),
        reach_(4 * std::min<Duration>(usual_life, 1h)),
        owner_(usual_life, run_most) {}

  void Run(uint64_t steps) {
    for (uint64_t i = 0; i < steps && !testing::Test::HasFatalFailure(); ++i) {
      Step();
      if (i % 8 == 0) owner_.table.CheckWhole();
    }
    Advance(kNever - now_, Budget());
    EXPECT_TRUE(expected_.empty() && calls_.empty());
    EXPECT_EQ(owner_.table.stale(), 0u);
  }

 private:
  using Table = ExpiringTable<typename Owner<Cold>::Entries, Cold>;
  static constexpr bool kMovesEarlier = Table::kMovesEarlier;

  // What Next() orders by. Orders are unique.
  using Place = std::tuple<EngineTime, bool, uint64_t>;
  struct Expected {
    uint32_t number;
    uint64_t hash;
    bool indexed;
  };
  using It = std::map<Place, Expected>::iterator;

  uint64_t Below(uint64_t n) { return random_() % n; }
  // Near or far, so that slots, run and heap all come to see some; and many at almost the same time.
  EngineTime SomeTime() {
    const auto reach = static_cast<uint64_t>(reach_.count());
    if (Below(2) == 0) {
      const EngineTime next = now_ - (now_ - kStart) % reach_ + reach_;
      return next + Duration(Below(3));
    }
    return now_ + Duration(Below(Below(2) == 0 ? reach + 1 : reach / 1000 + 2));
  }

  void Step() {
    if (expected_.empty() || Below(4) == 0) return Open();
    if (Below(500) == 0) return OpenMany();
    const auto it = std::next(expected_.begin(), static_cast<ptrdiff_t>(Below(expected_.size())));
    if (Table::kCalls && Below(2) == 0) return CallSome(it);
    switch (std::get<1>(it->first) ? 6 : Below(8)) {
      case 0: return Move(it, std::max(SomeTime(), std::get<0>(it->first)));
      case 1: return Move(it, kMovesEarlier ? SomeTime() : std::get<0>(it->first));
      case 2: return Overtake(it);
      case 3: return End(it);
      case 4: return Drop(it);
      case 5: return Below(50) == 0 ? GiveOutAll() : Open();
      default: return Advance(SomeWhile(), Budget(Below(20)));
    }
  }

  // Up to the first deadline at times, so that others of the same slot are still to come.
  Duration SomeWhile() {
    const EngineTime first = std::get<0>(expected_.begin()->first);
    if (first > now_ && Below(2) == 0) return first - now_;
    return Duration(Below(static_cast<uint64_t>(reach_.count()) / 8 + 2));
  }

  void Open() {
    const uint64_t hash = Below(300) << 40 | Below(100) * 0x0285'8585;  // some collide
    const EngineTime due = SomeTime();
    const bool indexed = owner_.Find(hash) == KeyIndex::kNone;
    const uint32_t number = owner_.New(hash, due, ++order_);
    if (indexed) owner_.table.Index(hash, number);
    owner_.table.Arm(number);
    expected_[{due, false, order_}] = {number, hash, indexed};
  }
  void OpenMany() {
    for (int i = 0; i < 300; ++i) Open();
  }
  void Move(It it, EngineTime due) {
    const auto [before, by_event, order] = it->first;
    const Expected entry = it->second;
    owner_.At(entry.number).due = due;
    ++owner_.writes;
    if (due < before || (kMovesEarlier && Below(4) == 0)) owner_.table.Arm(entry.number);
    expected_.erase(it);
    expected_[{due, false, order}] = entry;
  }
  // Before its deadline; or later than it was to be called.
  void CallSome([[maybe_unused]] It it) {
    if constexpr (Table::kCalls) {
      const auto& [number, hash, indexed] = it->second;
      const EngineTime at = SomeTime();
      if (!indexed || at >= std::get<0>(it->first)) return;
      EngineTime& call = owner_.At(number).call;
      const bool is_called = owner_.table.cold(number).called;
      if (is_called && at < call) return;
      if (is_called) calls_.erase({call, false, std::get<2>(it->first)});
      call = at;
      ++owner_.writes;
      if (!is_called) owner_.table.Call(number);
      calls_[{call, false, std::get<2>(it->first)}] = number;
    }
  }
  void Overtake(It it) {
    if (!it->second.indexed) return;
    Unindex(it->second.number);
    it->second.indexed = false;
  }
  void Unindex(uint32_t number) {
    calls_.erase({owner_.At(number).call, false, owner_.At(number).order});
    owner_.table.Unindex(number);
  }
  // An event ends it, now.
  void End(It it) {
    const Expected entry = it->second;
    Overtake(it);
    owner_.table.Disarm(entry.number);
    expected_.erase(it);
    owner_.table.File(
        {.ripe = now_, .order = ++order_, .number = entry.number, .by_event = true, .tag = 1});
    expected_[{now_, true, order_}] = {entry.number, entry.hash, false};
  }
  void Drop(It it) {
    const uint32_t number = it->second.number;
    Overtake(it);
    owner_.table.Free(number);
    expected_.erase(it);
  }
  // Then time goes on from where it was.
  void GiveOutAll() {
    const EngineTime now = std::exchange(now_, kNever);
    Advance(Duration(0), Budget());
    now_ = now;
    owner_.table.BeginDeadlinesAnew();
  }

  void Advance(Duration by, Budget budget) {
    now_ += by;
    for (Due due;;) {
      const auto found = owner_.table.Next(now_, budget, due);
      if (found == Deadlines::Found::kOutOfBudget) return;
      const auto first = expected_.begin();
      if (found == Deadlines::Found::kNothing) {
        ASSERT_TRUE(expected_.empty() || std::get<0>(first->first) > now_);
        ASSERT_TRUE(calls_.empty() || std::get<0>(calls_.begin()->first) > now_);
        ASSERT_GT(owner_.table.NextDue(), now_ == kNever ? now_ - Duration(1) : now_);
        return;
      }
      ASSERT_FALSE(expected_.empty());
      const Place place(due.ripe, due.by_event, due.order);
      if (due.is_call()) {
        ASSERT_LT(place, first->first);
        ASSERT_FALSE(calls_.empty());
        ASSERT_EQ(calls_.begin()->first, place);
        ASSERT_EQ(calls_.begin()->second, due.number);
        calls_.erase(calls_.begin());
        continue;
      }
      ASSERT_EQ(place, first->first);
      ASSERT_TRUE(calls_.empty() || place < calls_.begin()->first);
      GivenOut(due.number);
      if (expected_.empty()) continue;
      ASSERT_LE(owner_.table.NextDue(), std::get<0>(expected_.begin()->first));
    }
  }
  // The first of those expected: goes, or is armed once more.
  void GivenOut(uint32_t number) {
    const auto first = expected_.begin();
    ASSERT_EQ(number, first->second.number);
    const Expected entry = first->second;
    const bool goes_on = !std::get<1>(first->first) && now_ != kNever && Below(4) == 0;
    expected_.erase(first);
    if (goes_on) {
      owner_.At(number).due = now_ + Duration(1 + Below(1000));
      ++owner_.writes;
      owner_.table.Arm(number);
      expected_[{owner_.At(number).due, false, owner_.At(number).order}] = entry;
      return;
    }
    if (entry.indexed) Unindex(number);
    owner_.table.Free(number);
  }

  std::mt19937_64 random_;
  const Duration reach_;
  EngineTime now_ = kStart;
  uint64_t order_ = 0;
  Owner<Cold> owner_;
  std::map<Place, Expected> expected_;
  std::map<Place, uint32_t> calls_;
};

TYPED_TEST(ExpiringTableFixture, AgreesWithAMapOfTheSameEntries) {
  const uint64_t steps = ShareOf({.whole = 10'000, .usual = 10'000, .sanitized = 1'500});
  for (const Duration usual_life :
       std::vector<Duration>{1us, 100us, 4096us, 65'537us, 1s, 5min, kForever}) {
    for (uint64_t seed = 1; seed <= 5; ++seed) {
      SCOPED_TRACE(testing::Message() << "usual life " << usual_life.count() << ", seed " << seed);
      const size_t run_most = seed <= 2 ? Deadlines::kRunMost : 28 + 10 * (seed - 3);
      Episode<TypeParam>(seed, usual_life, run_most).Run(steps);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace pleat
