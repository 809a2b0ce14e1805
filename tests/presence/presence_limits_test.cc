// What a presence does at its limits, with names that are too long, and when it is called from the
// wrong place: one story a rule.
#include <chrono>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/presence/fixture.h"

namespace pleat::inline v0_1 {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using enum PresenceOutcome;

std::string RefusedPresence(const PresenceOptions& options) {
  const auto engine = Engine::Open({.partitions = 4}).value();
  const auto presence = Presence<>::Open(*engine, "presence", options);
  if (presence.ok()) return "";
  EXPECT_EQ(presence.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(presence.status().message());
}

TEST(PresenceOptions, OneOutOfRangeIsRefusedByName) {
  EXPECT_EQ(RefusedPresence({}), "");
  EXPECT_EQ(RefusedPresence({.ttl = 1us, .grace = 0us}), "");
  EXPECT_THAT(RefusedPresence({.ttl = 0s}), HasSubstr("ttl"));
  EXPECT_THAT(RefusedPresence({.grace = -1us}), HasSubstr("grace"));
  EXPECT_THAT(RefusedPresence({.max_changes = 3}), HasSubstr("max_changes"));
  const auto with = [](const PresenceLimits& limits) {
    return RefusedPresence({.limits = limits});
  };
  EXPECT_THAT(with({.max_per_user = 0}), HasSubstr("limits.max_per_user"));
  EXPECT_THAT(with({.max_per_series = 0}), HasSubstr("limits.max_per_series"));
  EXPECT_THAT(with({.max_series = 3}), HasSubstr("limits.max_series"));
  EXPECT_THAT(with({.max_users = 3}), HasSubstr("limits.max_users"));
  EXPECT_THAT(with({.max_connections = 3}), HasSubstr("limits.max_connections"));
  EXPECT_THAT(with({.max_bytes = 3}), HasSubstr("limits.max_bytes"));
}

TEST(PresenceOptions, ANameIsTakenOnceByCollectionsOfAnyKind) {
  const auto engine = Engine::Open({}).value();
  Presence<> presence(*engine, "name", {});
  EXPECT_EQ(Presence<>::Open(*engine, "name", {}).status().code(),
            absl::StatusCode::kAlreadyExists);
  presence.Close();
  EXPECT_TRUE(Presence<>::Open(*engine, "name", {}).ok());
}

TEST_F(PresenceTest, AUserHasSoManyConnections) {
  Open({.limits = {.max_per_user = 2}});
  Enter("ann", "1", 0s, "busy");
  Enter("ann", "2", 10s, "busy");
  EXPECT_EQ(Enter("ann", "3", 10s, "other"), kFull);
  EXPECT_EQ(Find("ann")->metadata, "busy");  // a refused call leaves no trace
  EXPECT_EQ(Enter("ann", "2", 10s, "busy"), kReconnected);
  Advance(104s);
  EXPECT_EQ(Enter("ann", "3", 104s), kFull);  // overdue ones count
  Advance(105s);
  EXPECT_EQ(Enter("ann", "3", 105s), kReturned);
  EXPECT_EQ(ledger().over_limit, 2u);
}

TEST_F(PresenceTest, ASeriesHasSoManyUsers) {
  Open({.limits = {.max_per_series = 2}});
  Enter("ann", "tab", 0s);
  Enter("ben", "tab", 0s);
  EXPECT_EQ(Enter("cid", "tab", 0s), kFull);
  EXPECT_EQ(Enter("ann", "desk", 0s), kConnected);
  EXPECT_EQ(room().Enter("other", "cid", "tab", "", At(0s)).outcome, kJoined);
  Advance(80s);
  EXPECT_EQ(Enter("cid", "tab", 80s), kFull);  // who is away may come back
  Leave("ben", "tab", 80s);
  EXPECT_EQ(Enter("cid", "tab", 80s), kJoined);
  ledger();
}

TEST_F(PresenceTest, SharedLimitsHoldForAllSeries) {
  Open({.limits = {.max_series = 2}});
  room().Enter("1", "ann", "tab", "", At(0s));
  room().Enter("2", "ann", "tab", "", At(0s));
  EXPECT_EQ(room().Enter("3", "ann", "tab", "", At(0s)), (Entered{kOverLimit, 0}));
  EXPECT_EQ(room().Enter("2", "ben", "tab", "", At(0s)).outcome, kJoined);

  Open({.limits = {.max_users = 2}});
  room().Enter("1", "ann", "tab", "", At(0s));
  room().Enter("2", "ann", "tab", "", At(0s));
  EXPECT_EQ(room().Enter("2", "ben", "tab", "", At(0s)).outcome, kOverLimit);
  EXPECT_EQ(room().Enter("2", "ann", "desk", "", At(0s)).outcome, kConnected);

  Open({.limits = {.max_connections = 2}});
  room().Enter("1", "ann", "tab", "", At(0s));
  room().Enter("2", "ann", "tab", "", At(0s));
  EXPECT_EQ(room().Enter("2", "ann", "desk", "", At(0s)).outcome, kOverLimit);
  EXPECT_EQ(room().Enter("2", "ann", "tab", "", At(0s)).outcome, kReconnected);
  Advance(105s);
  EXPECT_EQ(room().Enter("3", "ann", "desk", "", At(105s)).outcome, kJoined);
  ledger();
}

TEST_F(PresenceTest, BytesAreLimited) {
  Open({.limits = {.max_bytes = 4000}});
  int joined = 0;
  while (Enter(std::to_string(joined), "tab", 0s) == kJoined) ++joined;
  EXPECT_GT(joined, 5);
  EXPECT_LT(joined, 40);
  EXPECT_LE(room().sizes().bytes, 4000u);
  EXPECT_EQ(Beat("0", "tab", 1s), kRefreshed);
  Leave("0", "tab", 0s);
  EXPECT_EQ(Enter("new", "tab", 0s), kJoined);
  ledger();
}

TEST_F(PresenceTest, NamesThatAreTooLongAreRefusedBeforeTimeMoves) {
  Open({}, OnEventTime());
  const std::string longest(64 * 1024, 'x');
  const std::string longer = longest + 'x';
  EXPECT_EQ(room().Enter(longest, longest, longest, "", At(0s)).outcome, kJoined);
  EXPECT_EQ(room().Enter(longer, "ann", "tab", "", At(1s)), (Entered{kOverLimit, 0}));
  EXPECT_EQ(Enter(longer, "tab", 1s), kOverLimit);
  EXPECT_EQ(Enter("ann", longer, 1s), kOverLimit);
  EXPECT_EQ(Beat("ann", longer, 1s), kOverLimit);
  EXPECT_EQ(Leave(longer, "tab", 1s), kOverLimit);
  EXPECT_EQ(engine().now(), At(0s));
  EXPECT_FALSE(Find(longer).has_value());
  EXPECT_EQ(room().Count(longer).here, 0u);
  EXPECT_EQ(room().Count(longest).here, 1u);
  EXPECT_EQ(ledger().over_limit, 5u);
}

// A function of the caller's runs under a lock, and is told so.
TEST_F(PresenceTest, ACallFromInsideOfAnotherGoesNoFurther) {
  Enter("ann", "tab", 0s);
  AnyPresence any = room().any();
  const std::string busy = "busy";
  int seen = 0;
  any.Find("r", "ann", At(0s), [&](const AnyUser&) {
    ++seen;
    EXPECT_EQ(any.Enter("r", "ben", "tab", &busy, At(0s)), (Entered{kWouldDeadlock, 0}));
    EXPECT_EQ(any.Update("r", "ann", "tab", 1, &busy, At(0s)), kWouldDeadlock);
    EXPECT_EQ(any.Beat("r", "ann", "tab", 1, At(0s)), kWouldDeadlock);
    EXPECT_EQ(any.Leave("r", "ann", "tab", 1, At(0s)), kWouldDeadlock);
    EXPECT_EQ(any.Count("r", At(0s)), PresenceCounts{});
    ListCursor cursor;
    EXPECT_FALSE(any.List("r", {}, cursor, [&](const AnyUser&) { ++seen; }));
    EXPECT_FALSE(any.Find("r", "ann", At(0s), [&](const AnyUser&) { ++seen; }));
    EXPECT_EQ(any.Watch("r", [&](const AnyUser&) { ++seen; }), ChangeCursor());
    EXPECT_EQ(any.ledger(), PresenceLedger{});
    EXPECT_EQ(any.sizes(), PresenceSizes{});
    any.Close();
  });
  EXPECT_EQ(seen, 1);
  EXPECT_THAT(Counts(), ElementsAre(1, 0, 1));
  EXPECT_EQ(ledger().events, 1u);
}

}  // namespace
}  // namespace pleat::inline v0_1
