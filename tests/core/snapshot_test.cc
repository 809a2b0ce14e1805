// Snapshots of folders, one story a rule. That everything is restored is what the random episodes of
// tests/model show, which restart engines in their midst.
#include <pleat/snapshot.h>

#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pleat/folder.h>

#include "tests/support/bytes.h"
#include "tests/support/check_whole.h"
#include "tests/support/start.h"

namespace pleat::inline v0_1 {
namespace {

using std::chrono_literals::operator""min;
using std::chrono_literals::operator""s;
using testing::ElementsAre;
using testing::HasSubstr;

struct Amount {
  int64_t value;
};

struct Total {
  int64_t sum = 0;
  std::vector<std::string> pages;

  void Fold(const Amount& amount) noexcept { sum += amount.value; }
  template <class F>
  void Stored(F& f) {
    f(sum, pages);
  }
};

struct Unstored {
  int64_t sum = 0;
  void Fold(const Amount& amount) noexcept { sum += amount.value; }
};

constexpr FolderOptions kOptions{.quiet_period = 60s, .max_wait = 60min};

// An engine with one folder.
template <class State = Total>
struct Service {
  explicit Service(const EngineOptions& engine_options = {.partitions = 4},
                   const FolderOptions& options = kOptions)
      : engine(Engine::Open(engine_options).value()), totals(*engine, "totals", options) {}

  std::string Snapshot() const {
    StringSink sink;
    EXPECT_TRUE(TakeSnapshot(*engine, sink).ok());
    return sink.bytes;
  }
  absl::Status Restore(std::string_view bytes, const RestoreOptions& options = {}) const {
    StringSource source(bytes);
    return RestoreSnapshot(*engine, source, options);
  }

  std::unique_ptr<Engine> engine;
  Folder<Amount, State> totals;
};

std::vector<KeyedEvent<Amount>> BatchOf(const std::vector<std::string_view>& keys) {
  std::vector<KeyedEvent<Amount>> batch;
  for (std::string_view key : keys) batch.push_back({key, kT0, {1}});
  return batch;
}

std::vector<std::string> KeysOf(const std::vector<Emission<Total>>& emissions) {
  std::vector<std::string> keys;
  for (const Emission<Total>& emission : emissions) keys.push_back(emission.key);
  return keys;
}

TEST(Snapshot, OverdueGroupsCloseInDueOrderWithoutANewEvent) {
  Service before;
  before.totals.Fold("late", {1}, kT0 + 20s);
  before.totals.Fold("early", {2}, kT0);
  before.totals.Fold("middle", {3}, kT0 + 10s);
  Service after;
  ASSERT_TRUE(after.Restore(before.Snapshot()).ok());
  after.engine->Advance(kT0 + 60min);
  EXPECT_THAT(KeysOf(after.totals.Pop(10)), ElementsAre("early", "middle", "late"));
}

TEST(Snapshot, TokensOfBeforeAreGood) {
  Service before;
  before.totals.Fold("ann", {1}, kT0);
  before.totals.Fold("ben", {2}, kT0);
  before.engine->Advance(kT0 + 60s);
  std::vector<Leased<Total>> lent = before.totals.Lease(10, 30s, kLease0);
  ASSERT_EQ(lent.size(), 2u);
  EXPECT_EQ(before.totals.Ack(lent[0].delivery.token), LeaseOutcome::kDone);
  Service after;
  ASSERT_TRUE(after.Restore(before.Snapshot()).ok());
  EXPECT_EQ(after.totals.Ack(lent[0].delivery.token), LeaseOutcome::kDone) << "repeated: L3";
  EXPECT_EQ(after.totals.Ack(lent[1].delivery.token), LeaseOutcome::kDone);
  EXPECT_EQ(after.totals.ledger().acked, 2u);
  CheckWhole(after.totals.any());
}

TEST(Snapshot, AnEmissionThatWasLentComesBackAfterItsLease) {
  Service before;
  before.totals.Fold("ann", {1}, kT0);
  before.engine->Advance(kT0 + 60s);
  ASSERT_EQ(before.totals.Lease(10, 30s, kLease0).size(), 1u);
  Service after;
  ASSERT_TRUE(after.Restore(before.Snapshot()).ok());
  EXPECT_TRUE(after.totals.Lease(10, 30s, LeaseTime(kT0 + 29s)).empty());
  EXPECT_EQ(after.totals.Lease(10, 30s, LeaseTime(kT0 + 30s)).size(), 1u) << "L1";
}

TEST(Snapshot, LeasesOfADeadProcessCanBeTakenBackAtOnce) {
  Service before;
  before.totals.Fold("ann", {1}, kT0);
  before.totals.Fold("ben", {1}, kT0);
  before.engine->Advance(kT0 + 60s);
  std::vector<Leased<Total>> lent = before.totals.Lease(10, 60min, kLease0);
  Service after;
  ASSERT_TRUE(after.Restore(before.Snapshot()).ok());
  EXPECT_EQ(after.totals.EndLeases(), 2u);
  EXPECT_EQ(after.totals.EndLeases(), 0u);
  EXPECT_EQ(after.totals.Ack(lent[0].delivery.token), LeaseOutcome::kStale) << "L2";
  EXPECT_EQ(after.totals.Lease(10, 30s, kLease0).size(), 2u);
  CheckWhole(after.totals.any());
}

TEST(Snapshot, NoNumberThatWasSeenComesToMeanAnotherThing) {
  Service before;
  before.totals.Fold("ann", {1}, kT0);
  const std::string snapshot = before.Snapshot();
  before.engine->Advance(kT0 + 60s);
  const EmissionId seen = before.totals.Lease(1, 30s, kLease0)[0].id;
  Service after;  // has forgotten that emission, and does not get the event again
  ASSERT_TRUE(after.Restore(snapshot).ok());
  after.engine->Advance(kT0 + 60s);
  const std::vector<Emission<Total>> popped = after.totals.Pop(1);
  ASSERT_EQ(popped.size(), 1u);
  EXPECT_EQ(popped[0].id.partition, seen.partition);
  EXPECT_GT(popped[0].id.generation, seen.generation);
  // Nor in a partition that had no event before.
  Service new_partition;
  const Service empty;
  ASSERT_TRUE(new_partition.Restore(empty.Snapshot()).ok());
  new_partition.totals.Fold("ann", {1}, kT0);
  new_partition.engine->Advance(kT0 + 60s);
  EXPECT_GE(new_partition.totals.Pop(1)[0].id.generation, uint64_t{1} << 32);
}

TEST(Snapshot, NoTokenThatWasSeenComesToMeanAnotherDelivery) {
  Service before;
  before.totals.Fold("ann", {1}, kT0);
  before.engine->Advance(kT0 + 60s);
  const std::string snapshot = before.Snapshot();  // of an emission that was never lent
  const Leased<Total> seen = before.totals.Lease(1, 30s, kLease0)[0];
  Service after;
  ASSERT_TRUE(after.Restore(snapshot).ok());
  const Leased<Total> again = after.totals.Lease(1, 30s, kLease0)[0];
  EXPECT_EQ(again.id, seen.id) << "the same emission";
  EXPECT_GT(again.delivery.token.lease, seen.delivery.token.lease);
  EXPECT_EQ(after.totals.Ack(seen.delivery.token), LeaseOutcome::kStale) << "L2";
  EXPECT_EQ(after.totals.Ack(again.delivery.token), LeaseOutcome::kDone);
  // The same if nothing is lent until the next restart.
  Service idle;
  ASSERT_TRUE(idle.Restore(snapshot).ok());
  Service last;
  ASSERT_TRUE(last.Restore(idle.Snapshot()).ok());
  EXPECT_GT(last.totals.Lease(1, 30s, kLease0)[0].delivery.token.lease, uint64_t{2} << 32);
}

TEST(Snapshot, ASourceThatIsReadAgainIsFoldedOnce) {
  const std::vector<KeyedEvent<Amount>> batch =
      BatchOf({"ann", "ben", "cid", "dan", "eve", "fay", "gus", "hal"});
  Service before;
  before.totals.FoldBatch(batch, {}, {}, SourcePosition{.source = 7, .offset = 100});
  EXPECT_EQ(before.engine->SourcePositionOf(7, 0), 108u);
  EXPECT_EQ(before.engine->SourcePositionOf(8, 0), 0u);
  const std::string snapshot = before.Snapshot();
  before.totals.FoldBatch(batch, {}, {}, SourcePosition{.source = 7, .offset = 108});
  Service after;
  ASSERT_TRUE(after.Restore(snapshot).ok());
  EXPECT_EQ(after.engine->SourcePositionOf(7, 3), 108u);
  // From before the position: the first half was taken.
  std::vector<KeyedEvent<Amount>> again = BatchOf({"ann", "ben", "cid", "dan"});
  std::vector<FoldOutcome> outcomes(4);
  const SourcePosition position{.source = 7, .offset = 106};
  const FoldCounts counts = after.totals.FoldBatch(again, outcomes, {}, position);
  EXPECT_EQ(counts[FoldOutcome::kReplayed], 2u);
  EXPECT_EQ(counts[FoldOutcome::kFolded], 2u);
  EXPECT_THAT(outcomes, ElementsAre(FoldOutcome::kReplayed, FoldOutcome::kReplayed,
                                    FoldOutcome::kFolded, FoldOutcome::kFolded));
  EXPECT_EQ(after.totals.ledger().events, 10u) << "replayed events are counted nowhere else";
}

TEST(Snapshot, EachRangeOfPartitionsHasItsOwnMarks) {
  const std::vector<KeyedEvent<Amount>> batch =
      BatchOf({"ann", "ben", "cid", "dan", "eve", "fay", "gus", "hal"});
  const SourcePosition position{.source = 1, .offset = 0};
  Service service;
  const FoldCounts first = service.totals.FoldBatch(batch, {}, {0, 2}, position);
  EXPECT_EQ(service.engine->SourcePositionOf(1, 1), 8u);
  EXPECT_EQ(service.engine->SourcePositionOf(1, 2), 0u);
  Service after;
  ASSERT_TRUE(after.Restore(service.Snapshot()).ok());
  const FoldCounts all = after.totals.FoldBatch(batch, {}, {}, position);
  EXPECT_EQ(all[FoldOutcome::kReplayed], first[FoldOutcome::kOpened]);
  EXPECT_EQ(all[FoldOutcome::kOpened] + all[FoldOutcome::kReplayed], 8u);
  EXPECT_EQ(after.engine->SourcePositionOf(1, 2), 8u);
}

TEST(Snapshot, WhatTheStoppedEngineRefusedIsNotMarked) {
  const std::vector<KeyedEvent<Amount>> batch = BatchOf({"ann", "ben"});
  Service service;
  service.engine->Stop();
  EXPECT_EQ(service.totals.FoldBatch(batch, {}, {}, SourcePosition{1, 0})[FoldOutcome::kStopped],
            2u);
  EXPECT_EQ(service.engine->SourcePositionOf(1, 0), 0u);
}

// --- What does not fit

struct Misfit {
  EngineOptions engine = {.partitions = 4};
  FolderOptions folder = kOptions;
  std::string says;
};

TEST(Snapshot, IsRestoredOnlyIntoAnEngineLikeTheOneThatItCameFrom) {
  Service before;
  before.totals.Fold("ann", {1}, kT0);
  const std::string snapshot = before.Snapshot();
  std::vector<Misfit> misfits(5);
  misfits[0] = {.engine = {.partitions = 5}, .says = "partitions is 5, and 4 in the snapshot"};
  misfits[1] = {.engine = {.partitions = 4, .axis = Axis::kEvent},
                .says = "axis is event, and arrival in the snapshot"};
  misfits[2].says = "\"totals\": edge is kBoth, and kTrailing in the snapshot";
  misfits[2].folder.edge = Edge::kBoth;
  misfits[3].says = "\"totals\": partial_every is 5s, and forever in the snapshot";
  misfits[3].folder.partial_every = 5s;
  misfits[4].says = "\"totals\": closing.every is 86400s, and forever in the snapshot";
  misfits[4].folder.closing = {.every = 24h, .phase = 9h};
  for (const Misfit& misfit : misfits) {
    Service after(misfit.engine, misfit.folder);
    const absl::Status restored = after.Restore(snapshot);
    EXPECT_EQ(restored.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(restored.message()), HasSubstr(misfit.says));
    // The engine is as it was.
    EXPECT_EQ(after.totals.Fold("ann", {1}, kT0), FoldOutcome::kOpened);
  }
  Service other_limits({.partitions = 4}, {.quiet_period = 60s,
                                           .max_wait = 60min,
                                           .limits = {.max_groups = 8},
                                           .leases = {.max_deliveries = 2}});
  EXPECT_TRUE(other_limits.Restore(snapshot).ok()) << "limits may differ";
}

TEST(Snapshot, ACollectionThatTheEngineLacksIsNamed) {
  Service before;
  const Folder<Amount, Total> others(*before.engine, "others", kOptions);
  Service after;
  EXPECT_THAT(std::string(after.Restore(before.Snapshot()).message()),
              HasSubstr("has a folder \"others\", and the engine has none"));
  // One more in the engine is fine, and does not take another's tokens.
  const Folder<Amount, Total> more(*after.engine, "more", kOptions);
  EXPECT_TRUE(after.Restore(Service().Snapshot()).ok());
}

TEST(Snapshot, AnEngineThatHasTakenEventsTakesNoSnapshot) {
  Service after;
  after.totals.Fold("ann", {1}, kT0);
  EXPECT_THAT(std::string(after.Restore(Service().Snapshot()).message()),
              HasSubstr("has been used already"));
  // Reserve() takes no event, and makes books all the same.
  Service reserved;
  ASSERT_TRUE(reserved.totals.Reserve(10).ok());
  EXPECT_THAT(std::string(reserved.Restore(Service().Snapshot()).message()),
              HasSubstr("Reserve() and Watch() come after a restore"));
}

TEST(Snapshot, AStateWithoutStoredIsNamed) {
  const Service<Unstored> service;
  StringSink sink;
  const absl::Status taken = TakeSnapshot(*service.engine, sink);
  EXPECT_EQ(taken.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(taken.message()), HasSubstr("\"totals\""));
}

// --- Fields that change

struct TotalOfText {
  std::string sum;
  std::vector<std::string> pages;
  void Fold(const Amount&) noexcept {}
  template <class F>
  void Stored(F& f) {
    f(sum, pages);
  }
};

struct TotalWithCount {
  int64_t sum = 0;
  std::vector<std::string> pages;
  uint32_t count = 5;
  static constexpr uint32_t kStoredVersion = 2;
  void Fold(const Amount& amount) noexcept { sum += amount.value; }
  template <class F>
  void Stored(F& f) {
    f(sum, pages);
    if (f.version() >= 2) f(count);
  }
};

TEST(Snapshot, FieldsThatChangedUnderAnOldVersionAreRefused) {
  Service before;
  before.totals.Fold("ann", {1}, kT0);
  Service<TotalOfText> after;
  EXPECT_THAT(std::string(after.Restore(before.Snapshot()).message()),
              HasSubstr("\"totals\": the fields of version 1 are (text text[]), and (int64 text[]) "
                        "in the snapshot"));
}

TEST(Snapshot, ANewVersionReadsTheFieldsOfAnOldOne) {
  Service before;
  before.totals.Fold("ann", {12}, kT0);
  Service<TotalWithCount> after;
  ASSERT_TRUE(after.Restore(before.Snapshot()).ok());
  EXPECT_EQ(after.totals.Peek("ann")->state.sum, 12);
  EXPECT_EQ(after.totals.Peek("ann")->state.count, 5u);
  // Its own fields are read as those of its version.
  Service<TotalWithCount> same;
  ASSERT_TRUE(same.Restore(after.Snapshot()).ok());
  EXPECT_EQ(same.totals.Peek("ann")->state.count, 5u);
  // And not the other way round.
  Service back;
  EXPECT_EQ(back.Restore(after.Snapshot()).code(), absl::StatusCode::kUnimplemented);
}

// --- Damage

TEST(Snapshot, AnyDamageIsFoundAndLeavesTheEngineAsItWas) {
  Service before;
  before.totals.Fold("ann", {1}, kT0);
  before.totals.Fold("ben", {2}, kT0);
  const std::string snapshot = before.Snapshot();
  Service after;
  for (size_t i = 0; i < snapshot.size(); ++i) {
    std::string damaged = snapshot;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    EXPECT_EQ(after.Restore(damaged).code(), absl::StatusCode::kDataLoss) << "byte " << i;
    StringSource source(damaged);
    EXPECT_EQ(CheckSnapshot(source).status().code(), absl::StatusCode::kDataLoss) << "byte " << i;
    EXPECT_EQ(after.Restore(snapshot.substr(0, i)).code(), absl::StatusCode::kDataLoss);
  }
  EXPECT_EQ(after.Restore(snapshot + "x").code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(after.totals.ledger(), Ledger());
  EXPECT_TRUE(after.Restore(snapshot).ok());
}

// Tokens name their collection by its number. fuzz/snapshot_fuzz.cc claims it of any bytes. Issue
// 17.
TEST(Snapshot, ARefusedOneLeavesCollectionsTheirNumbers) {
  Service before;
  const Folder<Amount, Total> others(*before.engine, "others", kOptions);
  const std::string damaged = before.Snapshot() + "x";
  // Opened the other way round, and with one more.
  const auto engine =
      Engine::Open({.partitions = 4, .internals = {.hash_key = {{1, 2}}, .epoch = 3}}).value();
  const Folder<Amount, Total> more(*engine, "more", kOptions);
  const Folder<Amount, Total> second(*engine, "others", kOptions);
  const Folder<Amount, Total> first(*engine, "totals", kOptions);
  const auto snapshot = [&] {
    StringSink sink;
    EXPECT_TRUE(TakeSnapshot(*engine, sink).ok());
    return sink.bytes;
  };
  const std::string as_it_was = snapshot();
  StringSource source(damaged);
  EXPECT_EQ(RestoreSnapshot(*engine, source).code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(snapshot(), as_it_was);
}

TEST(Snapshot, OneThatWasCheckedAndGivenUpLeavesNothing) {
  Service before;
  before.totals.FoldBatch(BatchOf({"ann", "ben"}), {}, {},
                          SourcePosition{.source = 7, .offset = 100});
  const std::string snapshot = before.Snapshot();
  Service after;
  {
    StringSource source(snapshot);
    auto restore = Restore::Begin(*after.engine, source).value();
    ASSERT_TRUE(restore->Check().ok());
  }
  EXPECT_EQ(after.engine->SourcePositionOf(7, 0), 0u);
  EXPECT_EQ(after.totals.ledger(), Ledger());
  EXPECT_TRUE(after.Restore(snapshot).ok());
}

TEST(Snapshot, ItsBytesAreTheSameForTheSameCalls) {
  const auto bytes = [] {
    Service service({.partitions = 4, .internals = {.hash_key = {{1, 2}}, .epoch = 3}});
    for (int i = 0; i < 1000; ++i) service.totals.Fold("key " + std::to_string(i % 99), {i}, kT0);
    return service.Snapshot();
  };
  EXPECT_EQ(bytes(), bytes());
}

// A sink that calls the engine: what happens while a snapshot is taken.
class BusySink final : public ByteSink {
 public:
  explicit BusySink(absl::FunctionRef<void()> busy) : busy_(busy) {}
  absl::Status Append(std::string_view more) override {
    bytes += more;
    busy_();
    return fails ? absl::ResourceExhaustedError("no space") : absl::OkStatus();
  }

  std::string bytes;
  bool fails = false;

 private:
  absl::FunctionRef<void()> busy_;
};

TEST(Snapshot, WhatHappensWhileItIsTakenIsNotInIt) {
  Service before;
  for (int i = 0; i < 100; ++i) before.totals.Fold("key " + std::to_string(i), {1}, kT0);
  const std::string expected = before.Snapshot();
  const auto busy = [&] {
    before.totals.Fold("key 1", {1}, kT0);
    before.totals.Cancel("key 2");
    EXPECT_TRUE(before.totals.Reserve(5'000).ok());
    before.totals.Fold("new", {1}, kT0);
    before.engine->Advance(before.engine->now() == kBeginningOfTime ? kT0 + 2min : kT0 + 3min);
    (void)before.totals.Pop(3);
  };
  BusySink sink(busy);
  ASSERT_TRUE(TakeSnapshot(*before.engine, sink).ok());
  EXPECT_EQ(sink.bytes, expected);
}

TEST(Snapshot, AnErrorOfTheSinkIsPassedOnAndChangesNothing) {
  Service before;
  before.totals.Fold("ann", {1}, kT0);
  const auto idle = [] {};
  BusySink sink(idle);
  sink.fails = true;
  EXPECT_EQ(TakeSnapshot(*before.engine, sink).code(), absl::StatusCode::kResourceExhausted);
  before.totals.Fold("ann", {1}, kT0);
  EXPECT_EQ(before.totals.Peek("ann")->count, 2u);
  sink.fails = false;
  EXPECT_TRUE(TakeSnapshot(*before.engine, sink).ok());
}

TEST(Snapshot, OnlyOneIsTakenAtATime) {
  Service service;
  absl::Status inner;
  const auto busy = [&] {
    StringSink other;
    inner = TakeSnapshot(*service.engine, other);
  };
  BusySink sink(busy);
  EXPECT_TRUE(TakeSnapshot(*service.engine, sink).ok());
  EXPECT_EQ(inner.code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace pleat::inline v0_1
