// Every sequence of a few operations, none left out, on engine and model: what random episodes meet by luck, this
// meets for certain, as long as it is short. All answers, all emissions and the whole ledger must agree at every
// step, and so must what is left in the end.
//
//   PLEAT_EXHAUSTIVE_LENGTH=7   sequences of this length; 5 by default, 6 with PLEAT_WHOLE, and
//                               each step more takes nine times as long
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <pleat/batch.h>
#include <pleat/folder.h>
#include <pleat/snapshot.h>

#include "tests/model/fold_model.h"
#include "tests/support/bytes.h"
#include "tests/support/share.h"

namespace pleat::inline v0_1 {
namespace {

constexpr Duration kTick{10};       // also the quiet period, and what emissions are lent for
constexpr Duration kUnseenTick{6};  // moves time, and nobody looks at what is due
constexpr Duration kExtension{15};  // outlives one tick
constexpr uint64_t kEpoch = 17;

enum class Step {
  kFoldA,
  kFoldC,
  kTime,
  kUnseenTime,
  kPop,
  kLease,
  kAck,
  kNack,
  kExtend,
  kCancelA,
  kRetry,
  kDrop,
  kSwitch,  // whether later emissions wait behind a dead letter
  kSnapshot,
  kCrash  // back to the last snapshot, or the beginning; the source is read again from its beginning
};
constexpr std::array<std::string_view, 15> kStepNames = {
    "fold a", "fold c",   "tick",  "unseen tick", "pop",    "lease",    "ack",  "nack",
    "extend", "cancel a", "retry", "drop",        "switch", "snapshot", "crash"};
using Steps = std::vector<Step>;

FolderOptions SmallFolder() {
  FolderOptions options;
  options.quiet_period = kTick;
  options.max_wait = kForever;
  options.leases.max_deliveries = 2;
  options.leases.max_leased = 16;
  return options;
}

// Where sequences begin, and what they are made of.
struct Choice {
  Axis axis = Axis::kArrival;
  int partitions = 1;
  FolderOptions folder = SmallFolder();
  Steps before = {};
  Steps steps = {Step::kFoldA, Step::kFoldC, Step::kTime,   Step::kPop,    Step::kLease,
                 Step::kAck,   Step::kNack,  Step::kExtend, Step::kCancelA};
};

// Remembers its events.
struct Digits {
  std::string digits;
  void Fold(const int& digit) noexcept { digits += static_cast<char>('0' + digit); }
  template <class F>
  void Stored(F& f) {
    f(digits);
  }
};

// Both sides write what they answer in the same way.
std::string Line(std::string_view key, std::string_view digits, EmissionId id, EngineTime closed) {
  std::string line(key);
  line += digits;
  line += '#';
  line += std::to_string(id.generation);
  line += '@';
  line += std::to_string((closed - EngineTime{}).count());
  line += ' ';
  return line;
}

std::string Line(const Emission<Digits>& e) { return Line(e.key, e.state.digits, e.id, e.closed); }
std::string Line(const ModelGroup& e) {
  std::string digits;
  for (const uint64_t digit : e.events) digits += static_cast<char>('0' + digit);
  return Line(e.key, digits, e.id, e.closed);
}

template <class Outcome>
std::string Number(Outcome outcome) {
  return std::to_string(static_cast<int>(outcome));
}

std::string Line(const Extension& extension) {
  return Number(extension.outcome) + '@' +
         std::to_string((EngineTime(extension.until) - EngineTime{}).count());
}

EngineOptions SmallEngine(const Choice& choice) {
  EngineOptions options;
  options.partitions = choice.partitions;
  options.axis = choice.axis;
  options.huge_pages = HugePages::kOff;
  options.internals.hash_key = {{1, 2}};
  options.internals.epoch = kEpoch;
  return options;
}

// The calls that a side makes, in the same words for engine and model.
class EngineCalls {
 public:
  using Token = LeaseToken;
  static constexpr Token kNoToken{.epoch = kEpoch, .lease = 1'000'000};

  using Saved = std::string;

  explicit EngineCalls(const Choice& choice) : choice_(choice) { Begin(); }

  FoldOutcome Fold(std::string_view key, int digit, EngineTime at, uint64_t offset) {
    const KeyedEvent<int> event{key, at, digit};
    FoldOutcome outcome{};
    folder_->FoldBatch({&event, 1}, {&outcome, 1}, {},
                       SourcePosition{.source = 7, .offset = offset});
    return outcome;
  }
  Saved Save() const {
    StringSink sink;
    EXPECT_TRUE(TakeSnapshot(*engine_, sink, {.compress = false}).ok());
    return sink.bytes;
  }
  // The source repeats itself, so that numbers come to mean the same again.
  void GoBack(const Saved* saved) {
    Begin();
    if (saved == nullptr) return;
    StringSource source(*saved);
    const absl::Status restored = RestoreSnapshot(*engine_, source, {.skip_numbers = 0});
    EXPECT_TRUE(restored.ok()) << restored;
  }
  bool MoveTime(EngineTime now) {
    engine_->Advance(now);
    return engine_->AdvanceLeases(LeaseTime(now));
  }
  void MoveTimeUnseen(EngineTime now) {
    (void)engine_->Advance(now, 0);
    (void)engine_->AdvanceLeases(LeaseTime(now), 0);
  }
  auto Lease(LeaseTime now) { return folder_->Lease(1, kTick, now); }
  static Token TokenOf(const Leased<Digits>& lease) { return lease.delivery.token; }
  static std::string LineOf(const Leased<Digits>& lease) {
    return Line(lease) + 'x' + std::to_string(lease.delivery.deliveries);
  }
  Extension Extend(Token token, LeaseTime now) { return folder_->Extend(token, kExtension, now); }
  void Switch() {
    FolderOptions options = folder_->options();
    options.leases.wait_behind_dead = !options.leases.wait_behind_dead;
    EXPECT_TRUE(folder_->SetOptions(options).ok());
  }
  uint64_t BehindDead() const { return folder_->sizes().behind_dead; }
  Folder<int, Digits>& side() { return *folder_; }
  const Folder<int, Digits>& side() const { return *folder_; }

 private:
  void Begin() {
    folder_.reset();
    engine_ = Engine::Open(SmallEngine(choice_)).value();
    folder_.emplace(*engine_, "small", choice_.folder);
  }

  const Choice choice_;
  std::unique_ptr<Engine> engine_;
  std::optional<Folder<int, Digits>> folder_;
};

class ModelCalls {
 public:
  using Token = uint64_t;
  static constexpr Token kNoToken = 0;

  // The model, and how many events it had then.
  using Saved = std::pair<FoldModel, uint64_t>;

  explicit ModelCalls(const Choice& choice) : choice_(choice) { GoBack(nullptr); }

  FoldOutcome Fold(std::string_view key, int digit, EngineTime at, uint64_t offset) {
    if (offset < taken_) return FoldOutcome::kReplayed;
    taken_ = offset + 1;
    return model_->Fold(key, static_cast<uint64_t>(digit), at);
  }
  Saved Save() const { return {*model_, taken_}; }
  void GoBack(const Saved* saved) {
    taken_ = saved != nullptr ? saved->second : 0;
    if (saved != nullptr) {
      model_.emplace(saved->first);
    } else {
      model_.emplace(SmallEngine(choice_), choice_.folder, RulesOf(choice_.partitions));
    }
  }
  bool MoveTime(EngineTime now) {
    MoveTimeUnseen(now);
    return true;
  }
  void MoveTimeUnseen(EngineTime now) {
    model_->Advance(now);
    model_->AdvanceLeases(LeaseTime(now));
  }
  auto Lease(LeaseTime now) { return model_->Lease(1, kTick, {}, now); }
  static Token TokenOf(const ModelLease& lease) { return lease.delivery; }
  static std::string LineOf(const ModelLease& lease) {
    return Line(lease.emission) + 'x' + std::to_string(lease.deliveries);
  }
  Extension Extend(Token token, LeaseTime now) { return model_->Extend(token, kExtension, now); }
  void Switch() {
    choice_.folder.leases.wait_behind_dead = !choice_.folder.leases.wait_behind_dead;
    model_->SetOptions(choice_.folder);
  }
  uint64_t BehindDead() const { return model_->behind_dead(); }
  FoldModel& side() { return *model_; }
  const FoldModel& side() const { return *model_; }

 private:
  static ModelRules RulesOf(int partitions) {
    ModelRules rules;
    rules.partition = [partitions](std::string_view key) { return PartitionOf(key, partitions); };
    return rules;
  }

  Choice choice_;
  std::optional<FoldModel> model_;
  uint64_t taken_ = 0;
};

// Engine or model, with the time and the deliveries. "The oldest" is the first that nobody has acked
// or nacked yet; when there is none, the last, once more. Letters have an oldest of their own. The
// model's side is plain data: a copy goes on by itself.
template <class Calls>
class Side {
 public:
  explicit Side(const Choice& choice) : calls_(choice) {}

  std::string Do(Step step, int digit) {
    switch (step) {
      case Step::kFoldA: return Fold("a", digit);
      case Step::kFoldC: return Fold("c", digit);
      case Step::kTime: return Number(calls_.MoveTime(now_ += kTick));
      case Step::kUnseenTime: calls_.MoveTimeUnseen(now_ += kUnseenTick); return "";
      case Step::kPop: return Pop(1);
      case Step::kLease: return Lease();
      case Step::kAck: return Number(calls_.side().Ack(Oldest(/*is_over=*/true)));
      case Step::kNack: return Number(calls_.side().Nack(Oldest(/*is_over=*/true)));
      case Step::kExtend: return Line(calls_.Extend(Oldest(/*is_over=*/false), LeaseTime(now_)));
      case Step::kCancelA: return Number(calls_.side().Cancel("a"));
      case Step::kRetry: return Number(calls_.side().RetryDeadLetter(OldestLetter()));
      case Step::kDrop: return Number(calls_.side().DropDeadLetter(OldestLetter()));
      case Step::kSwitch: calls_.Switch(); return "";
      case Step::kSnapshot: saved_.emplace(Saved{calls_.Save(), consumer_}); return "";
      case Step::kCrash: return Crash();
    }
    return "";
  }

  std::string Pop(size_t max) {
    std::string said;
    for (const auto& emission : calls_.side().Pop(max)) said += Line(emission);
    return said;
  }

  Ledger ledger() const { return calls_.side().ledger(); }
  uint64_t BehindDead() const { return calls_.BehindDead(); }

 private:
  using Token = typename Calls::Token;

  struct Event {
    std::string_view key;
    int digit;
    EngineTime at;
  };
  // Who holds tokens. It ends with the process, and has kept what it had at the snapshot.
  struct Consumer {
    std::vector<Token> tokens;
    size_t over = 0;     // of them
    size_t letters = 0;  // of them: retried or dropped
  };
  struct Saved {
    typename Calls::Saved calls;
    Consumer consumer;
  };

  std::string Fold(std::string_view key, int digit) {
    source_.push_back({key, digit, now_});
    return Number(calls_.Fold(key, digit, now_, source_.size() - 1));
  }

  std::string Crash() {
    calls_.GoBack(saved_ ? &saved_->calls : nullptr);
    consumer_ = saved_ ? saved_->consumer : Consumer();
    std::string said;
    for (size_t i = 0; i < source_.size(); ++i) {
      const Event& event = source_[i];
      said += Number(calls_.Fold(event.key, event.digit, event.at, i)) + ' ';
    }
    return said;
  }

  std::string Lease() {
    std::string said;
    for (const auto& lease : calls_.Lease(LeaseTime(now_))) {
      consumer_.tokens.push_back(Calls::TokenOf(lease));
      said += Calls::LineOf(lease);
    }
    return said;
  }

  Token Oldest(bool is_over) {
    if (consumer_.tokens.empty()) return Calls::kNoToken;
    if (consumer_.over == consumer_.tokens.size()) return consumer_.tokens.back();
    const Token oldest = consumer_.tokens[consumer_.over];
    if (is_over) ++consumer_.over;
    return oldest;
  }

  Token OldestLetter() {
    const bool any = consumer_.letters < consumer_.tokens.size();
    return any ? consumer_.tokens[consumer_.letters++] : Calls::kNoToken;
  }

  Calls calls_;
  EngineTime now_;
  std::vector<Event> source_;
  Consumer consumer_;
  std::optional<Saved> saved_;
};
using EngineSide = Side<EngineCalls>;
using ModelSide = Side<ModelCalls>;

// The model goes through the tree of all sequences, each node once; the engine, which cannot be copied, through each
// sequence from its beginning.
class AllSequences {
 public:
  AllSequences(const Choice& choice, size_t length)
      : choice_(choice), length_(choice.before.size() + length) {}

  // Returns how many there were, the first that failed being the last.
  uint64_t Run() {
    Visit(ModelSide(choice_));
    return sequences_;
  }

 private:
  struct Expected {
    std::string said;
    Ledger ledger;
  };

  void Visit(const ModelSide& model) {
    if (steps_.size() == length_) return RunEngine(model);
    if (steps_.size() < choice_.before.size()) return Go(model, choice_.before[steps_.size()]);
    for (const Step step : choice_.steps) Go(model, step);
  }

  void Go(ModelSide model, Step step) {
    if (testing::Test::HasFailure()) return;
    steps_.push_back(step);
    const std::string said = model.Do(step, static_cast<int>(steps_.size()));
    expected_.push_back({said, model.ledger()});
    Visit(model);
    steps_.pop_back();
    expected_.pop_back();
  }

  void RunEngine(ModelSide model) {
    ++sequences_;
    EngineSide engine(choice_);
    bool unseen = false;  // whether something may be due that is not in the ledger yet
    for (size_t i = 0; i < steps_.size(); ++i) {
      const std::string said = engine.Do(steps_[i], static_cast<int>(i + 1));
      // On event time, a source that is read again moves time, too.
      const bool rereads = steps_[i] == Step::kCrash && choice_.axis == Axis::kEvent;
      if (steps_[i] == Step::kUnseenTime || rereads) unseen = true;
      if (steps_[i] == Step::kTime) unseen = false;
      const bool counts_agree = unseen || engine.ledger() == expected_[i].ledger;
      ASSERT_TRUE(said == expected_[i].said && counts_agree)
          << Story(i) << "said " << said << ", should be " << expected_[i].said;
    }
    // Two ticks on, no lease is live, and all can be popped that is no dead letter and waits for none.
    for (int tick = 0; tick < 2; ++tick) {
      engine.Do(Step::kTime, 0);
      model.Do(Step::kTime, 0);
    }
    ASSERT_EQ(engine.Pop(SIZE_MAX), model.Pop(SIZE_MAX)) << Story(steps_.size() - 1);
    ASSERT_EQ(engine.ledger(), model.ledger()) << Story(steps_.size() - 1);
    ASSERT_EQ(engine.BehindDead(), model.BehindDead()) << Story(steps_.size() - 1);
    ASSERT_TRUE(engine.ledger().Balances());
  }

  std::string Story(size_t last) const {
    std::string story;
    for (size_t i = 0; i <= last; ++i) {
      story += std::string(kStepNames.at(static_cast<size_t>(steps_[i]))) + "; ";
    }
    return story;
  }

  const Choice choice_;
  const size_t length_;
  Steps steps_;
  std::vector<Expected> expected_;
  uint64_t sequences_ = 0;
};

size_t Length() {
  const char* const text = std::getenv("PLEAT_EXHAUSTIVE_LENGTH");
  return text != nullptr ? std::strtoull(text, nullptr, 10)
                         : ShareOf({.whole = 6, .usual = 5, .sanitized = 4});
}

void RunAll(const Choice& choice, size_t length) {
  uint64_t all = 1;
  for (size_t i = 0; i < length; ++i) all *= choice.steps.size();
  const uint64_t sequences = AllSequences(choice, length).Run();
  std::cout << sequences << " sequences of " << length << " operations\n";
  if (!testing::Test::HasFailure()) {
    EXPECT_EQ(sequences, all);
  }
}

TEST(DeliveryExhaustive, EngineAgreesOnArrivalTime) { RunAll({}, Length()); }

// The others with one step less, so that each takes a ninth.

TEST(DeliveryExhaustive, EngineAgreesOnEventTime) { RunAll({.axis = Axis::kEvent}, Length() - 1); }

TEST(DeliveryExhaustive, EngineAgreesInTwoPartitions) {
  ASSERT_NE(PartitionOf("a", 2), PartitionOf("c", 2));
  RunAll({.partitions = 2}, Length() - 1);
}

// With two emissions of one key and one of another that wait already, and each delivery the last.
TEST(DeliveryExhaustive, EngineAgreesInWhatBecomesOfDeadLetters) {
  Choice choice;
  choice.folder.leases.max_deliveries = 1;
  choice.before = {Step::kFoldA, Step::kTime, Step::kFoldA, Step::kFoldC, Step::kTime};
  choice.steps = {Step::kFoldA, Step::kTime,   Step::kPop,   Step::kLease, Step::kAck,
                  Step::kNack,  Step::kExtend, Step::kRetry, Step::kDrop};
  RunAll(choice, Length() - 1);
}

// The same where later emissions wait behind dead letters; also where that changes, and letters of both
// manners meet.
TEST(DeliveryExhaustive, EngineAgreesInWhatWaitsBehindDeadLetters) {
  Choice choice;
  choice.folder.leases.max_deliveries = 1;
  choice.folder.leases.wait_behind_dead = true;
  choice.before = {Step::kFoldA, Step::kTime, Step::kFoldA, Step::kFoldC, Step::kTime};
  choice.steps = {Step::kFoldA, Step::kTime, Step::kPop,   Step::kLease, Step::kAck,
                  Step::kNack,  Step::kDrop, Step::kRetry, Step::kSwitch};
  RunAll(choice, Length() - 1);
  choice.before = {Step::kFoldA, Step::kTime, Step::kFoldA, Step::kFoldC,  Step::kTime,
                   Step::kLease, Step::kNack, Step::kFoldA, Step::kSwitch, Step::kTime};
  RunAll(choice, Length() - 1);
}

// The oldest letter is dropped for the next one, and what waited for it goes on; with room for four emissions in
// all, of which the newest pushes one out.
TEST(DeliveryExhaustive, EngineAgreesInWhatWaitsBehindDeadLettersAtTheLimits) {
  Choice choice;
  choice.folder.leases.max_deliveries = 1;
  choice.folder.leases.wait_behind_dead = true;
  choice.folder.leases.max_dead_letters = 1;
  choice.folder.leases.on_dead_limit = OnDeadLimit::kDropOldest;
  choice.folder.limits.max_backlog = 4;
  choice.folder.limits.on_backlog = OnBacklog::kDropOldest;
  choice.before = {Step::kFoldA, Step::kTime,  Step::kFoldA, Step::kFoldC,
                   Step::kTime,  Step::kLease, Step::kNack};
  choice.steps = {Step::kFoldA, Step::kFoldC, Step::kTime, Step::kPop,
                  Step::kLease, Step::kNack,  Step::kRetry};
  RunAll(choice, Length() - 1);
}

// With partials. Away from the limit on the backlog, it shows in nothing whether somebody looks at what is
// due.
Choice Unseen(Axis axis) {
  Choice choice{.axis = axis};
  choice.folder.partial_every = kTick / 2;
  choice.folder.leases.max_deliveries = 1;
  choice.steps = {Step::kFoldA, Step::kFoldC, Step::kTime, Step::kUnseenTime,
                  Step::kPop,   Step::kLease, Step::kAck};
  return choice;
}

TEST(DeliveryExhaustive, EngineAgreesWhenNobodyLooksAtWhatIsDue) {
  RunAll(Unseen(Axis::kArrival), Length() - 1);
  RunAll(Unseen(Axis::kEvent), Length() - 1);
}

// With room for two emissions, and partials. The backlog counts what has been closed so far, so all that
// is due is closed at each tick.
Choice Backlog(Axis axis, OnBacklog on_backlog) {
  Choice choice{.axis = axis};
  choice.folder.partial_every = kTick / 2;
  choice.folder.limits.max_backlog = 2;
  choice.folder.limits.on_backlog = on_backlog;
  choice.folder.leases.max_deliveries = 1;
  choice.folder.leases.max_dead_letters = 1;
  choice.folder.leases.on_dead_limit = OnDeadLimit::kDropOldest;
  choice.steps = {Step::kFoldA, Step::kFoldC, Step::kTime, Step::kPop, Step::kLease, Step::kAck};
  return choice;
}

TEST(DeliveryExhaustive, EngineAgreesWhenTheBacklogRefuses) {
  RunAll(Backlog(Axis::kArrival, OnBacklog::kRefuse), Length() - 1);
  RunAll(Backlog(Axis::kEvent, OnBacklog::kRefuse), Length() - 1);
}

TEST(DeliveryExhaustive, EngineAgreesWhenTheBacklogDropsTheOldest) {
  RunAll(Backlog(Axis::kArrival, OnBacklog::kDropOldest), Length() - 1);
  RunAll(Backlog(Axis::kEvent, OnBacklog::kDropOldest), Length() - 1);
}

// A crash, and the source is read again: what the snapshot had is not folded twice. All sequences of 5.
Choice Crashes(Axis axis, int partitions) {
  Choice choice{.axis = axis, .partitions = partitions};
  choice.steps = {Step::kFoldA, Step::kFoldC, Step::kTime,     Step::kPop,  Step::kLease,
                  Step::kAck,   Step::kNack,  Step::kSnapshot, Step::kCrash};
  return choice;
}

TEST(DeliveryExhaustive, EngineAgreesBehindCrashesOnArrivalTime) {
  RunAll(Crashes(Axis::kArrival, 1), Length() - 1);
}

TEST(DeliveryExhaustive, EngineAgreesBehindCrashesOnEventTime) {
  RunAll(Crashes(Axis::kEvent, 2), Length() - 1);
}

// Something waits, is lent and is dead when the snapshot is taken.
TEST(DeliveryExhaustive, EngineAgreesBehindCrashesInWhatBecomesOfDeadLetters) {
  Choice choice = Crashes(Axis::kArrival, 1);
  choice.folder.leases.max_deliveries = 1;
  choice.before = {Step::kFoldA, Step::kTime,  Step::kFoldA, Step::kFoldC,
                   Step::kTime,  Step::kLease, Step::kNack,  Step::kLease};
  choice.steps = {Step::kFoldA, Step::kTime, Step::kLease,    Step::kAck,
                  Step::kRetry, Step::kDrop, Step::kSnapshot, Step::kCrash};
  RunAll(choice, Length() - 1);
  choice.folder.leases.wait_behind_dead = true;
  RunAll(choice, Length() - 1);
}

}  // namespace
}  // namespace pleat::inline v0_1
