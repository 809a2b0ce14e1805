// Every sequence of a few operations of a live window, none left out, on engine and model: what
// random episodes meet by luck, this meets for certain, as long as it is short. All answers,
// members, counts, changes and the whole ledger must agree at every step.
//
//   PLEAT_EXHAUSTIVE_LENGTH=7   sequences of this length; 6 by default, and each step more takes
//                               nine times as long
#include <array>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <pleat/window.h>

#include "tests/model/window_model.h"
#include "tests/model/window_words.h"
#include "tests/support/sanitized.h"
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
  kClear
};
constexpr std::array<std::string_view, 14> kWindowStepNames = {
    "add a",  "add late a", "add a with a TTL", "add b",    "touch a",
    "import", "tick",       "unseen tick",      "remove a", "remove an older a",
    "remove", "longer TTL", "shorter TTL",      "clear"};
using WindowSteps = std::vector<WindowStep>;

struct WindowChoice {
  Axis axis = Axis::kArrival;
  WindowOptions window = {.ttl = kUsual, .retention = kLonger};
  WindowSteps steps = {};
};

EngineOptions OneSmallEngine(const WindowChoice& choice) {
  EngineOptions options;
  options.partitions = 1;
  options.axis = choice.axis;
  options.huge_pages = HugePages::kOff;
  options.internals.hash_key = {{1, 2}};
  return options;
}

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
    case kUnseenTime: return "";
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

struct WindowEngineSide {
  explicit WindowEngineSide(const WindowChoice& choice)
      : engine(Engine::Open(OneSmallEngine(choice)).value()),
        window(*engine, "window", choice.window) {
    engine->Advance(kT0);
  }

  std::string Do(WindowStep step, uint64_t digit) {
    if (step == WindowStep::kTime) engine->Advance(now += kStep);
    if (step == WindowStep::kUnseenTime) (void)engine->Advance(now += kStep, 0);
    return DoStep(window, step, now, digit);
  }

  std::unique_ptr<Engine> engine;
  LiveWindow<uint64_t> window;
  EngineTime now = kT0;
};

// Plain data: a copy goes on by itself.
struct WindowModelSide {
  explicit WindowModelSide(const WindowChoice& choice)
      : model(OneSmallEngine(choice), choice.window) {
    model.Advance(kT0);
  }

  std::string Do(WindowStep step, uint64_t digit) {
    const bool ticks = step == WindowStep::kTime || step == WindowStep::kUnseenTime;
    if (ticks) model.Advance(now += kStep);
    return DoStep(model, step, now, digit);
  }

  WindowModel model;
  EngineTime now = kT0;
};

// The model goes through the tree of all sequences, each node once; the engine, which cannot be
// copied, through each sequence from its beginning.
class AllWindowSequences {
 public:
  AllWindowSequences(const WindowChoice& choice, size_t length)
      : choice_(choice), length_(length) {}

  // Returns how many there were, the first that failed being the last.
  uint64_t Run() {
    current = this;
    std::signal(SIGABRT,
                [](int) { std::cerr << current->Story(current->steps_.size() - 1) << "\n"; });
    Visit(WindowModelSide(choice_));
    return sequences_;
  }

 private:
  // A check of the engine that fails ends the program: then, too, the sequence has to be known.
  static inline const AllWindowSequences* current = nullptr;

  struct Expected {
    std::string said;
    std::string members;
    WindowLedger ledger;
    bool settled;
  };

  void Visit(const WindowModelSide& model) {
    if (steps_.size() == length_) return RunEngine(model);
    for (const WindowStep step : choice_.steps) Go(model, step);
  }

  void Go(WindowModelSide model, WindowStep step) {
    if (testing::Test::HasFailure()) return;
    const bool settled = step != WindowStep::kUnseenTime;
    steps_.push_back(step);
    std::string said = model.Do(step, steps_.size());
    expected_.push_back({.said = std::move(said),
                         .members = MembersOf(model.model),
                         .ledger = LedgerOf(model.model, settled),
                         .settled = settled});
    Visit(model);
    steps_.pop_back();
    expected_.pop_back();
  }

  void RunEngine(WindowModelSide model) {
    ++sequences_;
    WindowEngineSide engine(choice_);
    for (size_t i = 0; i < steps_.size(); ++i) {
      const std::string said = engine.Do(steps_[i], i + 1);
      const std::string members = MembersOf(engine.window);
      const WindowLedger ledger = LedgerOf(engine.window, expected_[i].settled);
      const bool agrees = said == expected_[i].said && members == expected_[i].members &&
                          ledger == expected_[i].ledger;
      ASSERT_TRUE(agrees) << Story(i) << "\nsaid " << said << ", should be " << expected_[i].said
                          << "\n"
                          << members << Said(ledger, true) << "\nshould be\n"
                          << expected_[i].members << Said(expected_[i].ledger, true);
    }
    engine.engine->Advance(kEndOfTime);
    model.model.Advance(kEndOfTime);
    ASSERT_EQ(MembersOf(engine.window), MembersOf(model.model)) << Story(steps_.size() - 1);
    ASSERT_TRUE(engine.window.ledger() == model.model.ledger()) << Story(steps_.size() - 1);
    engine.window.any().CheckWhole();
  }

  std::string Story(size_t last) const {
    std::string story;
    for (size_t i = 0; i <= last; ++i) {
      story += std::string(kWindowStepNames.at(static_cast<size_t>(steps_[i]))) + "; ";
    }
    return story;
  }

  const WindowChoice choice_;
  const size_t length_;
  WindowSteps steps_;
  std::vector<Expected> expected_;
  uint64_t sequences_ = 0;
};

size_t WindowLength() {
  const char* const text = std::getenv("PLEAT_EXHAUSTIVE_LENGTH");
  return text != nullptr ? std::strtoull(text, nullptr, 10) : kSanitized ? 4 : 6;
}

void RunAllWindows(const WindowChoice& choice, size_t length) {
  uint64_t all = 1;
  for (size_t i = 0; i < length; ++i) all *= choice.steps.size();
  const uint64_t sequences = AllWindowSequences(choice, length).Run();
  std::cout << sequences << " sequences of " << length << " operations\n";
  if (!testing::Test::HasFailure()) {
    EXPECT_EQ(sequences, all);
  }
}

using enum WindowStep;
const WindowSteps kComeAndGo = {kAddA,        kAddLateA,  kAddB,       kTime, kRemoveA,
                                kRemoveRange, kLongerTtl, kShorterTtl, kClear};

TEST(WindowExhaustive, EngineAgreesOnArrivalTime) {
  RunAllWindows({.steps = kComeAndGo}, WindowLength());
}

// The others with one step less, so that each takes a ninth.

TEST(WindowExhaustive, EngineAgreesOnEventTime) {
  RunAllWindows({.axis = Axis::kEvent, .steps = kComeAndGo}, WindowLength() - 1);
}

// Members with a TTL of their own, touches and imports; and time that moves while nobody looks at
// what is due.
const WindowSteps kAllSorts = {kAddA, kAddOwnTtlA, kAddB,         kTouchA,   kImport,
                               kTime, kUnseenTime, kRemoveOlderA, kLongerTtl};

TEST(WindowExhaustive, EngineAgreesOnTouchesImportsAndOwnTtls) {
  RunAllWindows({.steps = kAllSorts}, WindowLength() - 1);
}

TEST(WindowExhaustive, EngineAgreesWithoutRetention) {
  RunAllWindows({.window = {.ttl = kUsual}, .steps = kAllSorts}, WindowLength() - 1);
}

TEST(WindowExhaustive, EngineAgreesWhenMembersAreReplaced) {
  RunAllWindows({.window = {.ttl = kUsual, .refresh = Refresh::kReplace}, .steps = kAllSorts},
                WindowLength() - 1);
}

TEST(WindowExhaustive, EngineAgreesAtALimitOfOneMember) {
  WindowOptions one{.ttl = kUsual, .limits = {.max_per_series = 1}};
  RunAllWindows({.window = one, .steps = kComeAndGo}, WindowLength() - 1);
  one.limits.on_limit = OnWindowLimit::kDropOldest;
  RunAllWindows({.window = one, .steps = kComeAndGo}, WindowLength() - 1);
}

}  // namespace
}  // namespace pleat::inline v0_1
