// Every sequence of a few calls of a presence: see every_sequence.h. All answers, users with their
// connections, counts, changes and the whole ledger must agree at every step.
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <pleat/presence.h>
#include <pleat/snapshot.h>

#include "tests/model/every_sequence.h"
#include "tests/model/presence_model.h"
#include "tests/model/presence_words.h"
#include "tests/support/bytes.h"
#include "tests/support/start.h"

namespace pleat::inline v0_1 {
namespace {

constexpr Duration kPresenceTick{10};
constexpr Duration kPresenceTtl{20};
constexpr Duration kPresenceGrace{10};

// Of one series, the user is ann: connection 1 or 2. Ben has one. Early: stamped a step before now,
// so that one tick makes such a connection overdue. Stale: by the generation before.
enum class PresenceStep {
  kEnterOne,
  kEnterEarlyTwo,
  kEnterBen,
  kBeatOne,
  kBeatTwo,
  kUpdateTwo,
  kLeaveOne,
  kLeaveTwo,
  kLeaveStaleOne,
  kLeaveBen,
  kTime,
  kUnseenTime,
  kLeap,
  kRestart
};
constexpr std::array<std::string_view, 14> kPresenceStepNames = {
    "enter 1", "enter 2 early", "enter ben", "beat 1", "beat 2",      "update 2", "leave 1",
    "leave 2", "leave 1 stale", "leave ben", "tick",   "unseen tick", "leap",     "restart"};
using PresenceSteps = std::vector<PresenceStep>;

struct PresenceChoice {
  Axis axis = Axis::kArrival;
  PresenceOptions presence = {.ttl = kPresenceTtl, .grace = kPresenceGrace};
  PresenceSteps steps = {};
};

struct PresenceShown {
  std::string users;
  std::string changes;
  PresenceLedger ledger;

  friend bool operator==(const PresenceShown&, const PresenceShown&) = default;
  friend std::string Said(const PresenceShown& shown) {
    return shown.users + "\n" + shown.changes + "\n" + Said(shown.ledger, true);
  }
};

// The generations that one side gave, by user and connection; their names are 1, 2, 3 and so on.
class GivenGenerations {
 public:
  void Give(const std::string& link, uint64_t generation) {
    of_link_[link].push_back(generation);
    names_.emplace(generation, names_.size() + 1);
  }
  uint64_t Back(const std::string& link, size_t back) const {
    const auto found = of_link_.find(link);
    const bool has = found != of_link_.end() && found->second.size() >= back;
    return has ? found->second[found->second.size() - back] : 0;
  }
  size_t NameOf(uint64_t generation) const { return names_.at(generation); }

 private:
  std::map<std::string, std::vector<uint64_t>> of_link_;
  std::map<uint64_t, size_t> names_;
};

// What both sides do alike. `Calls` is a Presence or its model.
struct PresenceSteppers {
  EngineTime now = kT0;
  GivenGenerations given = {};

  static bool IsTime(PresenceStep step) {
    return step == PresenceStep::kTime || step == PresenceStep::kUnseenTime ||
           step == PresenceStep::kLeap;
  }
  EngineTime Later(PresenceStep step) {
    return now += step == PresenceStep::kLeap ? kPresenceTtl + kPresenceGrace : kPresenceTick;
  }

  template <class Calls>
  std::string Do(Calls& calls, PresenceStep step, uint64_t digit) {
    using enum PresenceStep;
    switch (step) {
      case kEnterOne: return Enter(calls, "ann", "1", digit % 2, now);
      case kEnterEarlyTwo: return Enter(calls, "ann", "2", 0, now - kPresenceTick);
      case kEnterBen: return Enter(calls, "ben", "1", digit % 2, now);
      case kBeatOne: return Said(calls.Beat("s", "ann", "1", given.Back("ann1", 1), now));
      case kBeatTwo: return Said(calls.Beat("s", "ann", "2", given.Back("ann2", 1), now));
      case kUpdateTwo:
        return Said(
            calls.Update("s", "ann", "2", given.Back("ann2", 1), digit, now - kPresenceTick));
      case kLeaveOne: return Leave(calls, "ann", "1", 1);
      case kLeaveTwo: return Leave(calls, "ann", "2", 1);
      case kLeaveStaleOne: return Leave(calls, "ann", "1", 2);
      case kLeaveBen: return Leave(calls, "ben", "1", 1);
      case kTime:
      case kUnseenTime:
      case kLeap:
      case kRestart: return "";
    }
    return "";
  }

  template <class Calls>
  std::string Enter(Calls& calls, const std::string& user, const std::string& connection,
                    uint64_t metadata, EngineTime at) {
    const Entered entered = calls.Enter("s", user, connection, metadata, at);
    if (entered.generation > 0) given.Give(user + connection, entered.generation);
    return Said(entered.outcome);
  }
  template <class Calls>
  std::string Leave(Calls& calls, const std::string& user, const std::string& connection,
                    size_t back) {
    const uint64_t generation = given.Back(user + connection, back);
    return Said(calls.Leave("s", user, connection, generation, now));
  }

  // Short, because it is built very often.
  template <class Calls>
  std::string Users(const Calls& calls) const {
    const PresenceCounts counts = calls.Count("s");
    std::string out = Said(counts.here * 100 + counts.away * 10 + counts.connections);
    for (const PresentUser<uint64_t>& user : calls.List("s")) {
      out += SaidOfUser(user, Said(user.metadata),
                        [&](uint64_t generation) { return given.NameOf(generation); });
    }
    return out;
  }

  // What waits until time visits it is left out, if nobody has looked.
  static PresenceLedger Settled(PresenceLedger ledger, bool settled) {
    if (settled) return ledger;
    ledger.timed_out = ledger.went_away = ledger.expired = 0;
    ledger.users = ledger.away = ledger.connections = ledger.changes = 0;
    ledger.causes = {};
    return ledger;
  }
};

struct PresenceEngineSide : PresenceSteppers {
  explicit PresenceEngineSide(const PresenceChoice& made_of)
      : choice(made_of),
        engine(Engine::Open(OneSmallEngine(choice.axis)).value()),
        presence(*engine, "presence", choice.presence) {
    std::vector<SeriesCount> none;
    cursor = presence.Watch({.is_prefix = true}, none);
    engine->Advance(kT0);
  }

  std::string Do(PresenceStep step, uint64_t digit) {
    if (step == PresenceStep::kRestart) Restart();
    if (!IsTime(step)) return PresenceSteppers::Do(presence, step, digit);
    (void)engine->Advance(Later(step), step == PresenceStep::kUnseenTime ? 0 : SIZE_MAX);
    return "";
  }

  PresenceShown Show(bool settled) {
    PresenceShown shown{.users = Users(presence), .ledger = Settled(presence.ledger(), settled)};
    if (settled) shown.changes = Changes();
    return shown;
  }

  // Those that are new.
  std::string Changes() {
    std::vector<Change<uint64_t>> changes;
    EXPECT_EQ(presence.Read({.is_prefix = true}, cursor, SIZE_MAX, changes), ReadChanges::kAll);
    std::string out;
    for (const auto& c : changes) out += SaidOfChange(c, c.series, c.id, Said(c.payload)) + "\n";
    return out;
  }

  void End() {
    EXPECT_TRUE(presence.ledger().Balances());
    engine->Advance(kEndOfTime);
    presence.any().CheckWhole();
  }

  // The reader has read all changes that have a number, and numbers go on: so the reader does, too.
  void Restart() {
    StringSink snapshot;
    ASSERT_TRUE(TakeSnapshot(*engine, snapshot).ok());
    engine = Engine::Open(OneSmallEngine(choice.axis)).value();
    presence = Presence<uint64_t>(*engine, "presence", choice.presence);
    StringSource source(snapshot.bytes);
    ASSERT_TRUE(RestoreSnapshot(*engine, source, {.skip_numbers = 0}).ok());
    std::vector<Change<uint64_t>> none;
    EXPECT_NE(presence.Read({.is_prefix = true}, cursor, 0, none), ReadChanges::kResync);
  }

  const PresenceChoice& choice;
  std::unique_ptr<Engine> engine;
  Presence<uint64_t> presence;
  ChangeCursor cursor;
};

// Plain data: a copy goes on by itself.
struct PresenceModelSide : PresenceSteppers {
  explicit PresenceModelSide(const PresenceChoice& choice)
      : model(OneSmallEngine(choice.axis), choice.presence, [](std::string_view) { return 0; }) {
    model.Advance(kT0);
  }

  std::string Do(PresenceStep step, uint64_t digit) {
    if (!IsTime(step)) return PresenceSteppers::Do(model, step, digit);
    model.Advance(Later(step));
    return "";
  }

  PresenceShown Show(bool settled) {
    PresenceShown shown{.users = Users(model), .ledger = Settled(model.ledger(), settled)};
    if (settled) shown.changes = Changes();
    return shown;
  }

  std::string Changes() {
    std::string out;
    for (; told < model.changes().size(); ++told) {
      const ModelPresenceChange& c = model.changes()[told];
      out += SaidOfChange(c, c.series, c.user, Said(c.metadata)) + "\n";
    }
    return out;
  }

  void End() { model.Advance(kEndOfTime); }

  PresenceModel model;
  size_t told = 0;
};

struct PresenceSequences {
  using Choice = PresenceChoice;
  using EngineSide = PresenceEngineSide;
  using ModelSide = PresenceModelSide;
  static std::string_view NameOf(PresenceStep step) {
    return kPresenceStepNames.at(static_cast<size_t>(step));
  }
  static bool Settles(PresenceStep step) {
    return step != PresenceStep::kUnseenTime && step != PresenceStep::kRestart;
  }
};

void RunAllPresence(const PresenceChoice& choice, size_t shorter = 1) {
  RunEverySequence<PresenceSequences>(choice, SequenceLength() - shorter);
}

using enum PresenceStep;
const PresenceSteps kComings = {kEnterOne, kEnterEarlyTwo, kEnterBen,      kUpdateTwo,
                                kTime,     kLeaveOne,      kLeaveStaleOne, kBeatTwo};

TEST(PresenceExhaustive, EngineAgreesOnArrivalTime) { RunAllPresence({.steps = kComings}); }

TEST(PresenceExhaustive, EngineAgreesOnEventTime) {
  RunAllPresence({.axis = Axis::kEvent, .steps = kComings});
}

TEST(PresenceExhaustive, EngineAgreesWithoutGrace) {
  RunAllPresence({.presence = {.ttl = kPresenceTtl, .grace = Duration{0}}, .steps = kComings});
}

// Time that moves while nobody looks at what is due, and by leaps.
const PresenceSteps kGoings = {kEnterOne, kEnterEarlyTwo, kEnterBen, kUnseenTime,
                               kLeap,     kLeaveTwo,      kLeaveBen, kBeatOne};

TEST(PresenceExhaustive, EngineAgreesOnWhatNobodyHasSeen) { RunAllPresence({.steps = kGoings}); }

TEST(PresenceExhaustive, EngineAgreesWhenNobodyIsAwayForEver) {
  RunAllPresence({.presence = {.ttl = kPresenceTtl, .grace = kForever}, .steps = kGoings});
}

// Restarts at any place, also while deadlines wait that time has not visited.
const PresenceSteps kWithRestarts = {kEnterOne,   kEnterEarlyTwo, kUpdateTwo,     kTime,
                                     kUnseenTime, kLeaveTwo,      kLeaveStaleOne, kRestart};

TEST(PresenceExhaustive, EngineAgreesAcrossRestarts) {
  for (const Axis axis : {Axis::kArrival, Axis::kEvent}) {
    RunAllPresence({.axis = axis, .steps = kWithRestarts});
  }
}

TEST(PresenceExhaustive, EngineAgreesAtLimitsOfOne) {
  PresenceOptions one{.ttl = kPresenceTtl, .grace = kPresenceGrace, .limits = {.max_per_user = 1}};
  RunAllPresence({.presence = one, .steps = kComings}, 2);
  one.limits = {.max_per_series = 1, .max_connections = 2};
  RunAllPresence({.presence = one, .steps = kComings}, 2);
  one.limits = {.max_users = 1};
  RunAllPresence({.presence = one, .steps = kGoings}, 2);
}

}  // namespace
}  // namespace pleat::inline v0_1
