// Calls on one engine from several threads look as if they had come one after the other.
//
//   PLEAT_SEED=17             only the history of that seed: the same calls, though not the same interleaving
//   PLEAT_HISTORIES=1000000   so many, from seed 1 (or PLEAT_SEED) on
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/sanitized.h"
#include "tests/threads/environment.h"
#include "tests/threads/history.h"

namespace pleat::inline v0_1 {
namespace {

using Kind = HistoryCall::Kind;

constexpr uint64_t kHistories = kSanitized ? 1'500 : 3'000;

TEST(Linearizability, CallsFromSeveralThreadsLookAsIfTheyHadComeOneAfterTheOther) {
  const bool one = std::getenv("PLEAT_SEED") != nullptr;
  const HistoryFound found =
      SearchHistories({.first_seed = FromEnvironment("PLEAT_SEED", 1),
                       .histories = FromEnvironment("PLEAT_HISTORIES", one ? 1 : kHistories)});
  EXPECT_FALSE(found.failure.has_value()) << *found.failure;
  std::cout << found.histories << " histories of " << found.calls << " calls, of which "
            << found.overlaps << " overlap with others; " << found.undecided << " undecided\n";
  if (one) return;
  EXPECT_GT(found.overlaps, found.histories);
  EXPECT_LT(found.undecided, found.histories / 20);
}

// --- The checker, on histories that can be judged at a glance

bool IsLinearizable(const HistoryRules& rules, const std::vector<HistoryCall>& calls) {
  return Judge(rules, calls) == Verdict::kExplained;
}

HistoryCall At(uint64_t begin, uint64_t end, HistoryCall call) {
  call.begin = begin;
  call.end = end;
  return call;
}
HistoryCall Fold(uint16_t event, bool opens) {
  return {.kind = Kind::kFold, .event = event, .yes = opens};
}
HistoryCall Pop(size_t max, std::vector<SeenEmission> emissions) {
  return {.kind = Kind::kPop, .max = max, .emissions = std::move(emissions)};
}
HistoryCall Lease(SeenEmission emission) {
  return {.kind = Kind::kLease, .max = 1, .emissions = {std::move(emission)}};
}
HistoryCall Ack(uint64_t lease, LeaseOutcome outcome) {
  return {.kind = Kind::kAck, .lease = lease, .outcome = outcome};
}
HistoryCall Advance(int64_t now) { return {.kind = Kind::kAdvance, .now = now}; }

const SeenEmission kFirst{.generation = 0, .events = {1}};
const SeenEmission kSecond{.generation = 1, .events = {2}};
const HistoryRules kOneEventEach{.max_events = 1};

TEST(Checker, TakesOneAfterTheOther) {
  EXPECT_TRUE(IsLinearizable(kOneEventEach, {At(0, 1, Fold(1, true)), At(2, 3, Fold(2, true)),
                                             At(4, 5, Pop(2, {kFirst, kSecond}))}));
}

TEST(Checker, TakesAnyOrderOfCallsThatOverlap) {
  EXPECT_TRUE(
      IsLinearizable(kOneEventEach, {At(0, 9, Pop(2, {kFirst})), At(1, 2, Fold(1, true)),
                                     At(3, 4, Fold(2, true)), At(5, 6, Pop(1, {kSecond}))}));
}

TEST(Checker, RefusesWhatIsPoppedTwice) {
  EXPECT_FALSE(IsLinearizable(kOneEventEach, {At(0, 1, Fold(1, true)), At(2, 5, Pop(1, {kFirst})),
                                              At(3, 4, Pop(1, {kFirst}))}));
}

TEST(Checker, RefusesAPopThatMissesWhatWasThere) {
  EXPECT_FALSE(IsLinearizable(kOneEventEach, {At(0, 1, Fold(1, true)), At(2, 3, Pop(1, {}))}));
}

TEST(Checker, RefusesAnAckAtTheEndOfItsLease) {
  SeenEmission lent = kFirst;
  lent.lease = 1;
  lent.deliveries = 1;
  const auto history = [&](LeaseOutcome outcome) {
    return std::vector{At(0, 1, Fold(1, true)), At(2, 3, Lease(lent)), At(4, 5, Advance(3)),
                       At(6, 7, Ack(1, outcome))};
  };
  EXPECT_TRUE(IsLinearizable(kOneEventEach, history(LeaseOutcome::kStale)));
  EXPECT_FALSE(IsLinearizable(kOneEventEach, history(LeaseOutcome::kDone)));
}

TEST(Checker, KeepsABatchInItsOrder) {
  const HistoryRules rules{.max_events = 2};
  HistoryCall second = At(0, 5, Fold(2, false));
  second.follows = true;
  const auto history = [&](std::vector<uint16_t> events) {
    return std::vector{At(0, 5, Fold(1, true)), second,
                       At(6, 7, Pop(1, {{.generation = 0, .events = std::move(events)}}))};
  };
  EXPECT_TRUE(IsLinearizable(rules, history({1, 2})));
  EXPECT_FALSE(IsLinearizable(rules, history({2, 1})));
}

}  // namespace
}  // namespace pleat::inline v0_1
