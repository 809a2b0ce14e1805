// Every sequence of a few operations of a live window: see every_sequence.h. All answers, members,
// counts and the whole ledger must agree at every step.
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <pleat/snapshot.h>
#include <pleat/window.h>

#include "tests/model/every_sequence.h"
#include "tests/model/window_model.h"
#include "tests/model/window_words.h"
#include "tests/support/bytes.h"
#include "tests/support/start.h"

namespace pleat::inline v0_1 {
namespace {

constexpr Duration kStep{10};
constexpr Duration kUsual{20};  // the TTL of the window
constexpr Duration kLonger{60};
constexpr Duration kShorter{5};

// Members are a and b of one series. Late: stamped a step before the engine's time.
enum class WindowStep {
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
constexpr std::array<std::string_view, 15> kWindowStepNames = {
    "add a",  "add late a", "add a with a TTL", "add b",    "touch a",
    "import", "tick",       "unseen tick",      "remove a", "remove an older a",
    "remove", "longer TTL", "shorter TTL",      "clear",    "restart"};
using WindowSteps = std::vector<WindowStep>;

struct WindowChoice {
  Axis axis = Axis::kArrival;
  WindowOptions window = {.ttl = kUsual, .retention = kLonger};
  WindowSteps steps = {};
};

// What an operation does, on either side; `digit` is a payload that no other operation has.
template <class Window>
std::string DoStep(Window& window, WindowStep step, EngineTime now, uint64_t digit) {
  using Event = WindowEvent<uint64_t>;
  using enum WindowStep;
  switch (step) {
    case kAddA: return Said(window.Add("s", Event{.id = "a", .payload = digit}, now));
    case kAddLateA: return Said(window.Add("s", Event{.id = "a", .payload = digit}, now - kStep));
    case kAddOwnTtlA: return Said(window.Add("s", Event{.id = "a", .ttl = kLonger}, now));
    case kAddB: return Said(window.Add("s", Event{.id = "b", .payload = digit}, now));
    case kTouchA: return Said(window.Touch("s", "a", now + Duration{1}));
    case kImport: {
      const std::vector<KeyedEvent<Event>> rows = {{"", now, {.id = "b", .payload = digit}},
                                                   {"", now + Duration{1}, {.id = "a"}}};
      return Said(window.Import("s", rows));
    }
    case kTime:
    case kUnseenTime:
    case kRestart: return "";
    case kRemoveA: return Said(window.Remove("s", "a", RemoveOptions{.at = now}));
    case kRemoveOlderA:
      return Said(window.Remove("s", "a", {.at = now - kStep, .only_if_not_newer = true}));
    case kRemoveRange: return Said(window.Remove("s", now - kStep, now));
    case kLongerTtl: return Said(window.SetTtl("s", kLonger));
    case kShorterTtl: return Said(window.SetTtl("s", kShorter));
    case kClear: return Said(window.Clear("s"));
  }
  return "";
}

std::string SaidPlainly(const LiveMember<uint64_t>& m) {
  return m.id + Said(m.payload) + "@" + Said(static_cast<size_t>((m.stamp - kT0).count())) + " ";
}

template <class Window>
std::string MembersOf(const Window& window) {
  std::string out = Said(window.Count("s")) + ": ";
  for (const LiveMember<uint64_t>& member : window.List("s")) out += SaidPlainly(member);
  return out;
}

// What waits until time visits it is left out, if nobody has looked.
template <class Window>
WindowLedger LedgerOf(const Window& window, bool settled) {
  WindowLedger ledger = window.ledger();
  if (!settled) {
    ledger.expired = ledger.live = ledger.changes = 0;
    ledger.causes = {};
  }
  return ledger;
}

struct WindowShown {
  std::string members;
  WindowLedger ledger;

  friend bool operator==(const WindowShown&, const WindowShown&) = default;
  friend std::string Said(const WindowShown& shown) {
    return shown.members + Said(shown.ledger, true);
  }
};

template <class Window>
WindowShown ShowWindow(const Window& window, bool settled) {
  return {MembersOf(window), LedgerOf(window, settled)};
}

struct WindowEngineSide {
  explicit WindowEngineSide(const WindowChoice& made_of)
      : choice(made_of),
        engine(Engine::Open(OneSmallEngine(choice.axis)).value()),
        window(*engine, "window", choice.window) {
    engine->Advance(kT0);
  }

  std::string Do(WindowStep step, uint64_t digit) {
    if (step == WindowStep::kTime) engine->Advance(now += kStep);
    if (step == WindowStep::kUnseenTime) (void)engine->Advance(now += kStep, 0);
    if (step == WindowStep::kRestart) Restart();
    return DoStep(window, step, now, digit);
  }
  WindowShown Show(bool settled) const { return ShowWindow(window, settled); }
  void End() {
    engine->Advance(kEndOfTime);
    window.any().CheckWhole();
  }

  void Restart() {
    StringSink snapshot;
    ASSERT_TRUE(TakeSnapshot(*engine, snapshot).ok());
    engine = Engine::Open(OneSmallEngine(choice.axis)).value();
    window = LiveWindow<uint64_t>(*engine, "window", choice.window);
    StringSource source(snapshot.bytes);
    ASSERT_TRUE(RestoreSnapshot(*engine, source).ok());
  }

  const WindowChoice& choice;
  std::unique_ptr<Engine> engine;
  LiveWindow<uint64_t> window;
  EngineTime now = kT0;
};

// Plain data: a copy goes on by itself.
struct WindowModelSide {
  explicit WindowModelSide(const WindowChoice& choice)
      : model(OneSmallEngine(choice.axis), choice.window) {
    model.Advance(kT0);
  }

  std::string Do(WindowStep step, uint64_t digit) {
    const bool ticks = step == WindowStep::kTime || step == WindowStep::kUnseenTime;
    if (ticks) model.Advance(now += kStep);
    return DoStep(model, step, now, digit);
  }
  WindowShown Show(bool settled) const { return ShowWindow(model, settled); }
  void End() { model.Advance(kEndOfTime); }

  WindowModel model;
  EngineTime now = kT0;
};

struct WindowSequences {
  using Choice = WindowChoice;
  using EngineSide = WindowEngineSide;
  using ModelSide = WindowModelSide;
  static std::string_view NameOf(WindowStep step) {
    return kWindowStepNames.at(static_cast<size_t>(step));
  }
  static bool Settles(WindowStep step) {
    return step != WindowStep::kUnseenTime && step != WindowStep::kRestart;
  }
};

void RunAllWindows(const WindowChoice& choice, size_t length) {
  RunEverySequence<WindowSequences>(choice, length);
}

using enum WindowStep;
const WindowSteps kComeAndGo = {kAddA,        kAddLateA,  kAddB,       kTime, kRemoveA,
                                kRemoveRange, kLongerTtl, kShorterTtl, kClear};

TEST(WindowExhaustive, EngineAgreesOnArrivalTime) {
  RunAllWindows({.steps = kComeAndGo}, SequenceLength());
}

// The others with one step less, so that each takes a ninth.

TEST(WindowExhaustive, EngineAgreesOnEventTime) {
  RunAllWindows({.axis = Axis::kEvent, .steps = kComeAndGo}, SequenceLength() - 1);
}

// Members with a TTL of their own, touches and imports; and time that moves while nobody looks at
// what is due.
const WindowSteps kAllSorts = {kAddA, kAddOwnTtlA, kAddB,         kTouchA,   kImport,
                               kTime, kUnseenTime, kRemoveOlderA, kLongerTtl};

TEST(WindowExhaustive, EngineAgreesOnTouchesImportsAndOwnTtls) {
  RunAllWindows({.steps = kAllSorts}, SequenceLength() - 1);
}

TEST(WindowExhaustive, EngineAgreesWithoutRetention) {
  RunAllWindows({.window = {.ttl = kUsual}, .steps = kAllSorts}, SequenceLength() - 1);
}

TEST(WindowExhaustive, EngineAgreesWhenMembersAreReplaced) {
  RunAllWindows({.window = {.ttl = kUsual, .refresh = Refresh::kReplace}, .steps = kAllSorts},
                SequenceLength() - 1);
}

// Restarts at any place, also while deadlines wait that time has not visited.
const WindowSteps kWithRestarts = {kAddA,       kAddOwnTtlA,  kAddB,       kTime,
                                   kUnseenTime, kRemoveRange, kShorterTtl, kRestart};

TEST(WindowExhaustive, EngineAgreesAcrossRestarts) {
  for (const Axis axis : {Axis::kArrival, Axis::kEvent}) {
    RunAllWindows({.axis = axis, .steps = kWithRestarts}, SequenceLength() - 1);
  }
}

TEST(WindowExhaustive, EngineAgreesAtALimitOfOneMember) {
  WindowOptions one{.ttl = kUsual, .limits = {.max_per_series = 1}};
  RunAllWindows({.window = one, .steps = kComeAndGo}, SequenceLength() - 1);
  one.limits.on_limit = OnWindowLimit::kDropOldest;
  RunAllWindows({.window = one, .steps = kComeAndGo}, SequenceLength() - 1);
}

}  // namespace
}  // namespace pleat::inline v0_1
