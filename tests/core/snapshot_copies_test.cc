// What a snapshot keeps of entries that change before their turn: how it is counted and bounded, and how
// a snapshot is given up. The sink does what other threads would do while a disk stalls.
#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <random>
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
#include <pleat/snapshot.h>

#include "tests/support/bytes.h"
#include "tests/support/check_whole.h"
#include "tests/support/seeds.h"
#include "tests/support/share.h"
#include "tests/support/start.h"

namespace pleat::inline v0_1 {
namespace {

using std::chrono_literals::operator""min;
using std::chrono_literals::operator""s;
using testing::HasSubstr;

struct Step {
  int64_t value;
};

struct Steps {
  std::vector<int64_t> values;

  void Fold(const Step& step) noexcept { values.push_back(step.value); }
  template <class F>
  void Stored(F& f) {
    f(values);
  }
};

std::string NameOf(uint64_t number) { return "key " + std::to_string(number); }

// An engine with a collection of each kind. The same calls make the same bytes.
struct FourKinds {
  FourKinds()
      : engine(Engine::Open({.partitions = 3,
                             .huge_pages = HugePages::kOff,
                             .internals = {.hash_key = {{1, 2}}, .epoch = 3}})
                   .value()),
        folder(std::in_place, *engine, "folder",
               FolderOptions{.quiet_period = 60s, .max_wait = 60min}),
        pages(std::in_place, *engine, "pages", LiveSetOptions{.ttl = 60s, .retention = 20s}),
        readers(std::in_place, *engine, "readers", PresenceOptions{.ttl = 75s}),
        plays(std::in_place, *engine, "plays", PlaysOptions()) {}

  static RollupOptions PlaysOptions() {
    RollupOptions options;
    options.windows = {10s};
    options.allowed_lateness = 20s;
    return options;
  }

  // One call of one of the kinds. `drawn`: which, and with what.
  void Do(uint64_t drawn) {
    const std::string key = NameOf(drawn / 16 % 300);
    const std::string id = NameOf(drawn % 7);
    const EngineTime now = std::max(engine->now(), kT0);
    switch (drawn % 16) {
      case 0:
      case 1:
      case 2: folder->Fold(key, {static_cast<int64_t>(drawn % 1000)}, now); break;
      case 3: (void)folder->Pop(drawn / 16 % 4); break;
      case 4: folder->Cancel(key); break;
      case 5:
      case 6: pages->Add(key, {.id = id, .payload = "page"}, now); break;
      case 7: pages->Remove(key, NameOf(drawn % 7), {.at = now}); break;
      case 8:
      case 9: readers->Enter(key, NameOf(drawn % 5), NameOf(drawn % 3), "here", now); break;
      case 10:
      case 11:
      case 12: plays->Add(key, Delta(static_cast<int64_t>(drawn % 9)), now); break;
      case 13: (void)plays->Pop(drawn / 16 % 4); break;
      case 14: (void)folder->Lease(drawn / 16 % 3, 30s, LeaseTime(now)); break;
      default: engine->Advance(now + Duration{static_cast<int64_t>(drawn / 16 % 4'000'000)}); break;
    }
  }
  void CheckAll() const {
    CheckWhole(folder->any());
    CheckWhole(plays->any());
    pages->any().CheckWhole();
    readers->any().CheckWhole();
  }
  std::string Snapshot() const {
    StringSink sink;
    EXPECT_TRUE(TakeSnapshot(*engine, sink, {.compress = false}).ok());
    return sink.bytes;
  }
  // What can be seen of it. Not bytes: an event takes a position of its own while a snapshot is taken,
  // and without one only if it needs any.
  std::string Show() const {
    std::string shown;
    const auto show = [&](auto... each) { ((shown += std::to_string(each) + ' '), ...); };
    for (uint64_t i = 0; i < 1000; ++i) {
      const std::string key = NameOf(i);
      shown += '\n' + key + ": ";
      if (const auto group = folder->Peek(key)) {
        for (const int64_t value : group->state.values) show(value);
      }
      for (const auto& member : pages->List(key)) shown += member.id + '=' + member.payload + ' ';
      for (const auto& user : readers->List(key)) {
        shown += user.id + ": ";
        for (const Connection& each : user.connections) shown += each.id + ' ';
      }
      show(plays->Accurate(key).amount.count, plays->Accurate(key).amount.sum);
    }
    const Ledger groups = folder->ledger();
    show(groups.events, groups.opened, groups.open, groups.ready, groups.unacked, groups.popped);
    show(pages->sizes().members, readers->sizes().users);
    return shown;
  }
  // All that waits, in its order. Leases end.
  std::string Drain() {
    std::string drained;
    folder->EndLeases();
    for (const auto& each : folder->Pop(100'000)) {
      drained += each.key + ' ' + std::to_string(each.state.values.size()) + '\n';
    }
    for (const auto& each : plays->Pop(100'000)) drained += each.key + '\n';
    return drained;
  }
  SnapshotCopies Copies() const { return SnapshotCopiesOf(*engine); }

  std::unique_ptr<Engine> engine;
  std::optional<Folder<Step, Steps>> folder;
  std::optional<LiveSet<std::string>> pages;
  std::optional<Presence<std::string>> readers;
  std::optional<RollupCounter> plays;
};

// A sink that calls `meanwhile` before it takes anything.
class StalledSink final : public ByteSink {
 public:
  explicit StalledSink(std::function<void()> meanwhile) : meanwhile_(std::move(meanwhile)) {}
  absl::Status Append(std::string_view more) override {
    meanwhile_();
    bytes += more;
    return absl::OkStatus();
  }

  std::string bytes;

 private:
  const std::function<void()> meanwhile_;
};

// Calls `act` the first time.
std::function<void()> Once(std::function<void()> act) {
  return [act = std::move(act), done = false]() mutable {
    if (!std::exchange(done, true)) act();
  };
}

struct Kind {
  std::string name;
  std::function<void(FourKinds& all, uint64_t number)> make;
  std::function<void(FourKinds& all, uint64_t number)> change;
};

std::vector<Kind> Kinds() {
  const auto fold = [](FourKinds& all, uint64_t n) { all.folder->Fold(NameOf(n), {1}, kT0); };
  const auto fold_and_close = [=](FourKinds& all, uint64_t n) {
    fold(all, n);
    if (n == 999) all.engine->Advance(kT0 + 60s);
  };
  const auto lend = [=](FourKinds& all, uint64_t n) {
    fold_and_close(all, n);
    if (n == 999) (void)all.folder->Lease(500, 30s, kLease0);
  };
  const auto add = [](FourKinds& all, uint64_t n) {
    all.pages->Add(NameOf(n), {.id = "page", .payload = "as it was"}, kT0);
  };
  const auto add_again = [](FourKinds& all, uint64_t n) {
    all.pages->Add(NameOf(n), {.id = "page", .payload = "as it is"}, kT0 + 1s);
  };
  const auto enter = [](FourKinds& all, uint64_t n) {
    all.readers->Enter(NameOf(n), "ann", "tab", "here", kT0);
  };
  const auto count = [](FourKinds& all, uint64_t n) { all.plays->Add(NameOf(n), 1, kT0); };
  return {
      {"Groups", fold, fold},
      {"EmissionsThatLeave", fold_and_close,
       [](FourKinds& all, uint64_t) { EXPECT_EQ(all.folder->Pop(1).size(), 1u); }},
      {"Leases", lend, [](FourKinds& all, uint64_t) { (void)all.folder->Lease(1, 30s, kLease0); }},
      {"Members", add, add_again},
      {"Users", enter, enter},
      {"Counters", count, count}};
}

class CopiesOf : public testing::TestWithParam<Kind> {
 protected:
  static constexpr uint64_t kEntries = 1000;

  static void Make(FourKinds& all) {
    for (uint64_t i = 0; i < kEntries; ++i) GetParam().make(all, i);
  }
  static void ChangeSome(FourKinds& all) {
    for (uint64_t i = 0; i < kEntries / 2; ++i) GetParam().change(all, i);
  }
};

TEST_P(CopiesOf, AreCountedExactlyAgainstTheBound) {
  FourKinds first;
  Make(first);
  const std::string at_cut = first.Snapshot();
  SnapshotCopies copies;
  StalledSink sink(Once([&] {
    ChangeSome(first);
    copies = first.Copies();
  }));
  ASSERT_TRUE(TakeSnapshot(*first.engine, sink, {.compress = false}).ok());
  EXPECT_TRUE(sink.bytes == at_cut);
  EXPECT_GT(copies.bytes, kEntries / 2);
  EXPECT_EQ(copies.most_bytes, copies.bytes);
  EXPECT_EQ(first.Copies().bytes, 0u);
  EXPECT_EQ(first.Copies().most_bytes, copies.most_bytes);

  FourKinds second;
  Make(second);
  StalledSink enough(Once([&] { ChangeSome(second); }));
  EXPECT_TRUE(
      TakeSnapshot(*second.engine, enough, {.compress = false, .max_copy_bytes = copies.most_bytes})
          .ok());
  EXPECT_TRUE(enough.bytes == at_cut);

  FourKinds third;
  Make(third);
  StalledSink too_little(Once([&] {
    ChangeSome(third);
    EXPECT_EQ(third.Copies().bytes, 0u) << "freed while the sink has the thread";
  }));
  const absl::Status taken =
      TakeSnapshot(*third.engine, too_little, {.max_copy_bytes = copies.most_bytes - 1});
  EXPECT_EQ(taken.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(
      std::string(taken.message()),
      HasSubstr("max_copy_bytes: copies of what changed before its turn would take more "
                "than " +
                std::to_string(copies.most_bytes - 1) + " bytes; 0 of 3 partitions were written"));
  EXPECT_LT(third.Copies().most_bytes, copies.most_bytes);
  third.CheckAll();
  EXPECT_EQ(third.Show(), first.Show()) << "it has changed nothing";
}

TEST_P(CopiesOf, AreGoneWhenTheSnapshotIsGivenUp) {
  FourKinds all;
  Make(all);
  StalledSink sink(Once([&] {
    ChangeSome(all);
    EXPECT_GT(all.Copies().bytes, 0u);
    EXPECT_TRUE(GiveUpSnapshot(*all.engine));
    EXPECT_EQ(all.Copies().bytes, 0u);
    ChangeSome(all);
    EXPECT_EQ(all.Copies().bytes, 0u) << "nothing is kept any more";
    EXPECT_TRUE(GiveUpSnapshot(*all.engine)) << "it has not returned yet";
  }));
  const absl::Status taken = TakeSnapshot(*all.engine, sink);
  EXPECT_EQ(taken.code(), absl::StatusCode::kCancelled);
  EXPECT_FALSE(GiveUpSnapshot(*all.engine));
  all.CheckAll();
  FourKinds after;
  StringSource source(sink.bytes);
  EXPECT_EQ(RestoreSnapshot(*after.engine, source).code(), absl::StatusCode::kDataLoss);
}

INSTANTIATE_TEST_SUITE_P(Kinds, CopiesOf, testing::ValuesIn(Kinds()),
                         [](const auto& each) { return each.param.name; });

TEST(SnapshotCopies, ABoundOfNothingIsRefusedByName) {
  FourKinds all;
  StringSink sink;
  const absl::Status taken = TakeSnapshot(*all.engine, sink, {.max_copy_bytes = 0});
  EXPECT_EQ(taken.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(taken.message()), HasSubstr("max_copy_bytes"));
}

struct Caller {
  Engine* engine;
};
struct CallersAnswer {
  bool given_up = true;

  void Fold(const Caller& caller) noexcept { given_up = GiveUpSnapshot(*caller.engine); }
  template <class F>
  void Stored(F& f) {
    f(given_up);
  }
};

TEST(SnapshotCopies, NothingIsGivenUpWithoutASnapshotOrFromAFoldFunction) {
  FourKinds all;
  EXPECT_FALSE(GiveUpSnapshot(*all.engine));
  Folder<Caller, CallersAnswer> nested(*all.engine, "nested",
                                       {.quiet_period = kForever, .max_wait = kForever});
  StalledSink sink(Once([&] { nested.Fold("key", {all.engine.get()}, kT0); }));
  EXPECT_TRUE(TakeSnapshot(*all.engine, sink).ok());
  EXPECT_FALSE(nested.Peek("key")->state.given_up);
}

TEST(SnapshotCopies, UntilASnapshotThatWasGivenUpReturnsNoOtherOneBegins) {
  FourKinds all;
  absl::Status other;
  StalledSink sink(Once([&] {
    GiveUpSnapshot(*all.engine);
    StringSink second;
    other = TakeSnapshot(*all.engine, second);
  }));
  EXPECT_EQ(TakeSnapshot(*all.engine, sink).code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(other.code(), absl::StatusCode::kUnavailable);
}

TEST(SnapshotCopies, ItCanBeGivenUpUntilItsSinkHasTakenTheLastBytes) {
  FourKinds all;
  std::vector<absl::StatusCode> ends;
  for (int last = 0;; ++last) {
    int appended = 0;
    StalledSink sink([&] {
      if (appended++ == last) GiveUpSnapshot(*all.engine);
    });
    ends.push_back(TakeSnapshot(*all.engine, sink).code());
    if (appended <= last) break;
  }
  ASSERT_GE(ends.size(), 5u);
  EXPECT_EQ(ends.back(), absl::StatusCode::kOk) << "was never given up";
  ends.pop_back();
  EXPECT_THAT(ends, testing::Each(absl::StatusCode::kCancelled));
}

// What the collections held is kept as they go.
TEST(SnapshotCopies, TheEngineMayEndMeanwhile) {
  FourKinds all;
  for (uint64_t i = 0; i < 5000; ++i) all.Do(i * 7919);
  const std::string at_cut = all.Snapshot();
  const auto end = [](FourKinds& ends) {
    ends.folder.reset();
    ends.engine.reset();
  };
  FourKinds ended;
  for (uint64_t i = 0; i < 5000; ++i) ended.Do(i * 7919);
  StalledSink sink(Once([&] { end(ended); }));
  ASSERT_TRUE(TakeSnapshot(*ended.engine, sink, {.compress = false}).ok());
  EXPECT_TRUE(sink.bytes == at_cut);

  StalledSink full(Once([&] { end(all); }));
  EXPECT_EQ(TakeSnapshot(*all.engine, full, {.max_copy_bytes = 20'000}).code(),
            absl::StatusCode::kResourceExhausted);
}

// The twin has the same calls, and no snapshots: what snapshots, given up or not, must not touch.
TEST(SnapshotCopies, WhicheverAreGivenUpTheNextOneHasWhatTheCallsHaveMade) {
  ForEachSeed(1, ShareOf({.whole = 120, .usual = 12, .sanitized = 3}), [](uint64_t seed) {
    std::mt19937_64 random(seed);
    FourKinds all;
    FourKinds twin;
    const auto call_both = [&](uint64_t calls) {
      for (; calls > 0; --calls) {
        const uint64_t drawn = random();
        all.Do(drawn);
        twin.Do(drawn);
      }
    };
    std::vector<int> ends(3);  // whole, full, given up
    for (int round = 0; round < 12; ++round) {
      call_both(random() % 2000);
      const std::string at_cut = twin.Show();
      const uint64_t gives_up_at = random() % 3 == 0 ? random() % 12 : UINT64_MAX;
      const uint64_t max = random() % 2 == 0 ? UINT64_MAX : 1 + random() % 60'000;
      uint64_t appended = 0;
      StalledSink sink([&] {
        call_both(random() % 300);
        EXPECT_LE(all.Copies().bytes, max);
        if (appended++ == gives_up_at) GiveUpSnapshot(*all.engine);
        call_both(random() % 100);
      });
      const absl::Status taken =
          TakeSnapshot(*all.engine, sink, {.compress = false, .max_copy_bytes = max});
      if (taken.ok()) {
        ++ends[0];
        FourKinds restored;
        StringSource source(sink.bytes);
        ASSERT_TRUE(RestoreSnapshot(*restored.engine, source, {.skip_numbers = 0}).ok());
        ASSERT_EQ(restored.Show(), at_cut) << "round " << round;
      } else if (taken.code() == absl::StatusCode::kResourceExhausted) {
        ++ends[1];
        ASSERT_NE(max, UINT64_MAX);
      } else {
        ++ends[2];
        ASSERT_EQ(taken.code(), absl::StatusCode::kCancelled) << taken;
        ASSERT_NE(gives_up_at, UINT64_MAX);
      }
      ASSERT_EQ(all.Copies().bytes, 0u);
      all.CheckAll();
      ASSERT_EQ(all.Show(), twin.Show()) << "round " << round;
    }
    EXPECT_GT(ends[0], 0) << "seed " << seed;
    EXPECT_EQ(all.Drain(), twin.Drain());
  });
}

}  // namespace
}  // namespace pleat::inline v0_1
