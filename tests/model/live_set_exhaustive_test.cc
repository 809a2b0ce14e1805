// Every sequence of a few operations of a live set: see every_sequence.h. All answers, members,
// counts and the whole ledger must agree at every step.
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <pleat/live_set.h>
#include <pleat/snapshot.h>

#include "tests/model/every_sequence.h"
#include "tests/model/live_set_model.h"
#include "tests/model/live_set_words.h"
#include "tests/support/bytes.h"
#include "tests/support/start.h"

namespace pleat::inline v0_1 {
namespace {

constexpr Duration kStep{10};
constexpr Duration kUsual{20};  // the TTL of the live set
constexpr Duration kLonger{60};
constexpr Duration kShorter{5};

// Members are a and b of one series. Late: stamped a step before the engine's time.
enum class LiveSetStep {
  kAddA,
  kAddLateA,
  kAddOwnTtlA,
  kAddB,
  kTouchA,
  kImport,
  kTime,
  kUnseenTime,
  kRemoveA,
  kRemoveOlderA,
  kRemoveRange,
  kLongerTtl,
  kShorterTtl,
  kClear,
  kRestart
};
constexpr std::array<std::string_view, 15> kLiveSetStepNames = {
    "add a",  "add late a", "add a with a TTL", "add b",    "touch a",
    "import", "tick",       "unseen tick",      "remove a", "remove an older a",
    "remove", "longer TTL", "shorter TTL",      "clear",    "restart"};
using LiveSetSteps = std::vector<LiveSetStep>;

struct LiveSetChoice {
  Axis axis = Axis::kArrival;
  LiveSetOptions live_set = {.ttl = kUsual, .retention = kLonger};
  LiveSetSteps steps = {};
};

// What an operation does, on either side; `digit` is a payload that no other operation has.
template <class Live>
std::string DoStep(Live& live_set, LiveSetStep step, EngineTime now, uint64_t digit) {
  using Event = LiveSetEvent<uint64_t>;
  using enum LiveSetStep;
  switch (step) {
    case kAddA: return Said(live_set.Add("s", Event{.id = "a", .payload = digit}, now));
    case kAddLateA: return Said(live_set.Add("s", Event{.id = "a", .payload = digit}, now - kStep));
    case kAddOwnTtlA: return Said(live_set.Add("s", Event{.id = "a", .ttl = kLonger}, now));
    case kAddB: return Said(live_set.Add("s", Event{.id = "b", .payload = digit}, now));
    case kTouchA: return Said(live_set.Touch("s", "a", now + Duration{1}));
    case kImport: {
      const std::vector<KeyedEvent<Event>> rows = {{"", now, {.id = "b", .payload = digit}},
                                                   {"", now + Duration{1}, {.id = "a"}}};
      return Said(live_set.Import("s", rows));
    }
    case kTime:
    case kUnseenTime:
    case kRestart: return "";
    case kRemoveA: return Said(live_set.Remove("s", "a", RemoveOptions{.at = now}));
    case kRemoveOlderA:
      return Said(live_set.Remove("s", "a", {.at = now - kStep, .only_if_not_newer = true}));
    case kRemoveRange: return Said(live_set.Remove("s", now - kStep, now));
    case kLongerTtl: return Said(live_set.SetTtl("s", kLonger));
    case kShorterTtl: return Said(live_set.SetTtl("s", kShorter));
    case kClear: return Said(live_set.Clear("s"));
  }
  return "";
}

std::string SaidPlainly(const LiveMember<uint64_t>& m) {
  return m.id + Said(m.payload) + "@" + Said(static_cast<size_t>((m.stamp - kT0).count())) + " ";
}

template <class Live>
std::string MembersOf(const Live& live_set) {
  std::string out = Said(live_set.Count("s")) + ": ";
  for (const LiveMember<uint64_t>& member : live_set.List("s")) out += SaidPlainly(member);
  return out;
}

// What waits until time visits it is left out, if nobody has looked.
template <class Live>
LiveSetLedger LedgerOf(const Live& live_set, bool settled) {
  LiveSetLedger ledger = live_set.ledger();
  if (!settled) {
    ledger.expired = ledger.live = ledger.changes = 0;
    ledger.causes = {};
  }
  return ledger;
}

struct LiveSetShown {
  std::string members;
  LiveSetLedger ledger;

  friend bool operator==(const LiveSetShown&, const LiveSetShown&) = default;
  friend std::string Said(const LiveSetShown& shown) {
    return shown.members + Said(shown.ledger, true);
  }
};

template <class Live>
LiveSetShown ShowLiveSet(const Live& live_set, bool settled) {
  return {MembersOf(live_set), LedgerOf(live_set, settled)};
}

struct LiveSetEngineSide {
  explicit LiveSetEngineSide(const LiveSetChoice& made_of)
      : choice(made_of),
        engine(Engine::Open(OneSmallEngine(choice.axis)).value()),
        live_set(*engine, "live_set", choice.live_set) {
    engine->Advance(kT0);
  }

  std::string Do(LiveSetStep step, uint64_t digit) {
    if (step == LiveSetStep::kTime) engine->Advance(now += kStep);
    if (step == LiveSetStep::kUnseenTime) (void)engine->Advance(now += kStep, 0);
    if (step == LiveSetStep::kRestart) Restart();
    return DoStep(live_set, step, now, digit);
  }
  LiveSetShown Show(bool settled) const { return ShowLiveSet(live_set, settled); }
  void End() {
    engine->Advance(kEndOfTime);
    live_set.any().CheckWhole();
  }

  void Restart() {
    StringSink snapshot;
    ASSERT_TRUE(TakeSnapshot(*engine, snapshot).ok());
    engine = Engine::Open(OneSmallEngine(choice.axis)).value();
    live_set = LiveSet<uint64_t>(*engine, "live_set", choice.live_set);
    StringSource source(snapshot.bytes);
    ASSERT_TRUE(RestoreSnapshot(*engine, source).ok());
  }

  const LiveSetChoice& choice;
  std::unique_ptr<Engine> engine;
  LiveSet<uint64_t> live_set;
  EngineTime now = kT0;
};

// Plain data: a copy goes on by itself.
struct LiveSetModelSide {
  explicit LiveSetModelSide(const LiveSetChoice& choice)
      : model(OneSmallEngine(choice.axis), choice.live_set) {
    model.Advance(kT0);
  }

  std::string Do(LiveSetStep step, uint64_t digit) {
    const bool ticks = step == LiveSetStep::kTime || step == LiveSetStep::kUnseenTime;
    if (ticks) model.Advance(now += kStep);
    return DoStep(model, step, now, digit);
  }
  LiveSetShown Show(bool settled) const { return ShowLiveSet(model, settled); }
  void End() { model.Advance(kEndOfTime); }

  LiveSetModel model;
  EngineTime now = kT0;
};

struct LiveSetSequences {
  using Choice = LiveSetChoice;
  using EngineSide = LiveSetEngineSide;
  using ModelSide = LiveSetModelSide;
  static std::string_view NameOf(LiveSetStep step) {
    return kLiveSetStepNames.at(static_cast<size_t>(step));
  }
  static bool Settles(LiveSetStep step) {
    return step != LiveSetStep::kUnseenTime && step != LiveSetStep::kRestart;
  }
};

void RunAllLiveSets(const LiveSetChoice& choice, size_t length) {
  RunEverySequence<LiveSetSequences>(choice, length);
}

using enum LiveSetStep;
const LiveSetSteps kComeAndGo = {kAddA,        kAddLateA,  kAddB,       kTime, kRemoveA,
                                 kRemoveRange, kLongerTtl, kShorterTtl, kClear};

TEST(LiveSetExhaustive, EngineAgreesOnArrivalTime) {
  RunAllLiveSets({.steps = kComeAndGo}, SequenceLength());
}

// The others with one step less, so that each takes a ninth.

TEST(LiveSetExhaustive, EngineAgreesOnEventTime) {
  RunAllLiveSets({.axis = Axis::kEvent, .steps = kComeAndGo}, SequenceLength() - 1);
}

// Members with a TTL of their own, touches and imports; and time that moves while nobody looks at
// what is due.
const LiveSetSteps kAllSorts = {kAddA, kAddOwnTtlA, kAddB,         kTouchA,   kImport,
                                kTime, kUnseenTime, kRemoveOlderA, kLongerTtl};

TEST(LiveSetExhaustive, EngineAgreesOnTouchesImportsAndOwnTtls) {
  RunAllLiveSets({.steps = kAllSorts}, SequenceLength() - 1);
}

TEST(LiveSetExhaustive, EngineAgreesWithoutRetention) {
  RunAllLiveSets({.live_set = {.ttl = kUsual}, .steps = kAllSorts}, SequenceLength() - 1);
}

TEST(LiveSetExhaustive, EngineAgreesWhenMembersAreReplaced) {
  RunAllLiveSets({.live_set = {.ttl = kUsual, .refresh = Refresh::kReplace}, .steps = kAllSorts},
                 SequenceLength() - 1);
}

// Restarts at any place, also while deadlines wait that time has not visited.
const LiveSetSteps kWithRestarts = {kAddA,       kAddOwnTtlA,  kAddB,       kTime,
                                    kUnseenTime, kRemoveRange, kShorterTtl, kRestart};

TEST(LiveSetExhaustive, EngineAgreesAcrossRestarts) {
  for (const Axis axis : {Axis::kArrival, Axis::kEvent}) {
    RunAllLiveSets({.axis = axis, .steps = kWithRestarts}, SequenceLength() - 1);
  }
}

TEST(LiveSetExhaustive, EngineAgreesAtALimitOfOneMember) {
  LiveSetOptions one{.ttl = kUsual, .limits = {.max_per_series = 1}};
  RunAllLiveSets({.live_set = one, .steps = kComeAndGo}, SequenceLength() - 1);
  one.limits.on_limit = OnLiveSetLimit::kDropOldest;
  RunAllLiveSets({.live_set = one, .steps = kComeAndGo}, SequenceLength() - 1);
}

}  // namespace
}  // namespace pleat::inline v0_1
