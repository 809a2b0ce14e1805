// Every sequence of a few operations of a rollup counter: see every_sequence.h. All answers,
// values, windows and emissions, and the whole ledger must agree at every step.
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <pleat/rollup.h>

#include "tests/model/every_sequence.h"
#include "tests/model/rollup_model.h"
#include "tests/model/rollup_words.h"
#include "tests/support/check_whole.h"

namespace pleat::inline v0_1 {
namespace {

constexpr Duration kWindow{10};  // also what a tick moves time by
constexpr Duration kUnseen{6};
constexpr Duration kBefore{15};  // so much before the engine's time is in another window
constexpr EngineTime kStart{Duration{-20}};  // so that windows before 1970 are among them

// Counters are a and b. `x` names the same event each time, unless it is said to be another one.
enum class RollupStep {
  kAddA,
  kAddBefore,
  kAddB,
  kAddX,
  kAddXBefore,
  kAddOtherX,
  kAddAndGet,
  kClear,
  kTime,
  kUnseenTime,
  kPop,
  kCloseAll,
  kRef,
  kDropRef
};
constexpr std::array<std::string_view, 14> kRollupStepNames = {
    "add",          "add before",        "add b",       "add x",
    "add x before", "add another x",     "add and get", "clear",
    "tick",         "unseen tick",       "pop",         "close all",
    "refer",        "drop the reference"};
using RollupSteps = std::vector<RollupStep>;

struct RollupChoice {
  Axis axis = Axis::kArrival;
  RollupOptions rollup = {};
  RollupSteps steps = {};
  bool looks = true;  // at all that can be read, after each step
};

// What an operation does, on either side. The delta is a digit of the sum.
template <class Side>
std::string DoRollupStep(Side& side, RollupStep step, EngineTime now, uint64_t place) {
  const Delta delta(int64_t{1} << (4 * place));
  using enum RollupStep;
  switch (step) {
    case kAddA: return Said(side.Add("a", delta, now));
    case kAddBefore: return Said(side.Add("a", delta, now - kBefore));
    case kAddB: return Said(side.Add("b", delta, now));
    case kAddX: return Said(side.Add("a", 1, now, "x"));
    case kAddXBefore: return Said(side.Add("a", 1, now - kBefore, "x"));
    case kAddOtherX: return Said(side.Add("a", 2, now - Duration{1}, "x"));
    case kAddAndGet: return Said(side.AddAndGet("a", delta, now - Duration{3}));
    case kClear: return Said(side.Clear("a", now - Duration{2}));
    case kTime:
    case kUnseenTime: return "";
    case kPop: return side.PopOne();
    case kCloseAll: side.CloseAll(); return "";
    case kRef: return side.RefA();
    case kDropRef: side.DropRefA(); return "";
  }
  return "";
}

struct RollupShown {
  std::string read;
  std::string ledger;

  friend bool operator==(const RollupShown&, const RollupShown&) = default;
  friend std::string Said(const RollupShown& shown) { return shown.read + "\n" + shown.ledger; }
};

template <class Side>
RollupShown ShowRollup(const Side& side, const RollupChoice& choice, EngineTime now, bool settled) {
  const Settled how = settled ? Settled::kYes : Settled::kNo;
  RollupShown out{.read = "", .ledger = Said(side.ledger(), how)};
  if (settled) out.ledger += Said(side.sizes(), how);
  if (!choice.looks && !settled) return out;
  for (const std::string_view key : {"a", "b"}) out.read += SaidOfValues(side, key) + "; ";
  for (const Duration window : choice.rollup.windows) {
    out.read += Said(side.History("a", now - Duration{100}, now, window));
    out.read += Said(side.Top(2, now - kBefore, window));
  }
  return out;
}

// The names that both sides have for what differs.
struct CounterOfSequence : RollupCounter {
  using RollupCounter::RollupCounter;

  std::string PopOne() {
    std::string out;
    for (const Emission<CountedWindow>& emission : Pop(1)) out += Said(emission);
    return out;
  }
  std::string RefA() {
    if (ref.empty()) ref = Ref("a");
    return ref.empty() ? "none" : "one";
  }
  void DropRefA() { ref = {}; }

  CounterRef ref;
};

struct ModelOfSequence : RollupModel {
  using RollupModel::RollupModel;

  std::string PopOne() {
    std::string out;
    for (const ModelGroup& emission : Pop(1)) out += Said(emission, StateOf(emission.id));
    return out;
  }
  std::string RefA() { return Ref("a") ? "one" : "none"; }
  void DropRefA() { DropRef("a"); }
};

struct RollupEngineSide {
  explicit RollupEngineSide(const RollupChoice& of)
      : choice(of),
        engine(Engine::Open(OneSmallEngine(of.axis)).value()),
        counter(*engine, "rollup", of.rollup) {
    engine->Advance(kStart);
  }

  std::string Do(RollupStep step, uint64_t place) {
    if (step == RollupStep::kTime) engine->Advance(now += kWindow);
    if (step == RollupStep::kUnseenTime) (void)engine->Advance(now += kUnseen, 0);
    return DoRollupStep(counter, step, now, place);
  }
  RollupShown Show(bool settled) const { return ShowRollup(counter, choice, now, settled); }
  void End() {
    counter.CloseAll();
    engine->Advance(kEndOfTime);
    CheckWhole(counter.any());
  }

  const RollupChoice& choice;
  std::unique_ptr<Engine> engine;
  CounterOfSequence counter;
  EngineTime now = kStart;
};

// A copy goes on by itself.
struct RollupModelSide {
  explicit RollupModelSide(const RollupChoice& of)
      : choice(of), model(OneSmallEngine(of.axis), of.rollup) {
    model.Advance(kStart);
  }

  std::string Do(RollupStep step, uint64_t place) {
    if (step == RollupStep::kTime) model.Advance(now += kWindow);
    if (step == RollupStep::kUnseenTime) model.Advance(now += kUnseen);
    return DoRollupStep(model, step, now, place);
  }
  RollupShown Show(bool settled) const { return ShowRollup(model, choice, now, settled); }
  void End() {
    model.CloseAll();
    model.Advance(kEndOfTime);
  }

  const RollupChoice& choice;
  ModelOfSequence model;
  EngineTime now = kStart;
};

struct RollupSequences {
  using Choice = RollupChoice;
  using EngineSide = RollupEngineSide;
  using ModelSide = RollupModelSide;
  static std::string_view NameOf(RollupStep step) {
    return kRollupStepNames.at(static_cast<size_t>(step));
  }
  static bool Settles(RollupStep step) { return step == RollupStep::kTime; }
};

void RunAllRollups(const RollupChoice& choice, size_t length) {
  RunEverySequence<RollupSequences>(choice, length);
}

using enum RollupStep;
const RollupSteps kUsualSteps = {kAddA,       kAddBefore, kAddB, kAddX,    kAddXBefore,
                                 kUnseenTime, kTime,      kPop,  kCloseAll};
const RollupOptions kUsualRollup{.windows = {kWindow}, .allowed_lateness = kWindow};

TEST(RollupExhaustive, EngineAgreesOnArrivalTime) {
  RunAllRollups({.rollup = kUsualRollup, .steps = kUsualSteps}, SequenceLength());
}

// The others with one step less, so that each takes a ninth.

TEST(RollupExhaustive, EngineAgreesOnEventTime) {
  RunAllRollups({.axis = Axis::kEvent, .rollup = kUsualRollup, .steps = kUsualSteps},
                SequenceLength() - 1);
}

TEST(RollupExhaustive, EngineAgreesWhenNobodyLooks) {
  for (const Axis axis : {Axis::kArrival, Axis::kEvent}) {
    RunAllRollups({.axis = axis, .rollup = kUsualRollup, .steps = kUsualSteps, .looks = false},
                  SequenceLength() - 1);
  }
}

// An event 15 before the engine's time is late beyond the horizon, unless there is no horizon told.
TEST(RollupExhaustive, EngineAgreesOnIds) {
  RollupOptions rollup{.windows = {kWindow}, .allowed_lateness = Duration{4}};
  const RollupSteps steps = {kAddA,      kAddBefore, kAddX,       kAddXBefore, kAddOtherX,
                             kAddAndGet, kTime,      kUnseenTime, kCloseAll};
  RunAllRollups({.rollup = rollup, .steps = steps}, SequenceLength() - 1);
  rollup.deduplication_window = Duration{14};
  RunAllRollups({.rollup = rollup, .steps = steps}, SequenceLength() - 1);
}

TEST(RollupExhaustive, EngineAgreesOnLateEventsThatAreKept) {
  for (const OnLateAdd on_late : {OnLateAdd::kClamp, OnLateAdd::kCorrect}) {
    const RollupOptions rollup{.windows = {kWindow},
                               .allowed_lateness = Duration{4},
                               .margin = Duration{3},
                               .on_late = on_late};
    RunAllRollups({.rollup = rollup, .steps = kUsualSteps}, SequenceLength() - 1);
  }
}

TEST(RollupExhaustive, EngineAgreesOnClearsAndResolutions) {
  const RollupOptions rollup{.windows = {kWindow, 2 * kWindow},
                             .allowed_lateness = kWindow,
                             .margin = Duration{5},
                             .retention = 2 * kWindow,
                             .clears = true};
  const RollupSteps steps = {kAddA, kAddBefore,  kAddAndGet, kAddB,    kClear,
                             kTime, kUnseenTime, kPop,       kCloseAll};
  RunAllRollups({.rollup = rollup, .steps = steps}, SequenceLength() - 1);
  RunAllRollups({.axis = Axis::kEvent, .rollup = rollup, .steps = steps}, SequenceLength() - 1);
}

TEST(RollupExhaustive, EngineAgreesOnWhatIsForgotten) {
  const RollupOptions rollup{.windows = {Duration{5}},
                             .allowed_lateness = Duration{3},
                             .retention = Duration{4},
                             .forget_after = Duration{7}};
  const RollupSteps steps = {kAddA, kAddX,    kAddB, kTime,    kUnseenTime,
                             kRef,  kDropRef, kPop,  kCloseAll};
  RunAllRollups({.rollup = rollup, .steps = steps}, SequenceLength() - 1);
  RunAllRollups({.rollup = rollup, .steps = steps, .looks = false}, SequenceLength() - 1);
}

// What is due has been closed at each tick: the limit on the backlog counts it.
TEST(RollupExhaustive, EngineAgreesAtLimits) {
  RollupOptions rollup{.windows = {kWindow},
                       .allowed_lateness = Duration{4},
                       .forget_after = kWindow,
                       .limits = {.max_keys = 1}};
  const RollupSteps steps = {kAddA, kAddBefore, kAddX, kAddB, kTime, kPop, kCloseAll};
  RunAllRollups({.rollup = rollup, .steps = steps}, SequenceLength() - 1);
  rollup.limits = {.max_backlog = 1};
  RunAllRollups({.rollup = rollup, .steps = steps}, SequenceLength() - 1);
}

}  // namespace
}  // namespace pleat::inline v0_1
