// Every sequence of a few operations, none left out, on engine and model: what random episodes meet by luck, this
// meets for certain, as long as it is short. All answers, all emissions and the whole ledger must agree at every
// step, and so must what is left in the end.
//
//   PLEAT_EXHAUSTIVE_LENGTH=7   sequences of this length; 6 by default, and each step more takes nine times as long
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <pleat/folder.h>
#include <pleat/partition.h>

#include "tests/model/fold_model.h"
#include "tests/support/sanitized.h"

namespace pleat::inline v0_1 {
namespace {

constexpr Duration kTick{10};       // also the quiet period, and what emissions are lent for
constexpr Duration kUnseenTick{6};  // moves time, and nobody looks at what is due
constexpr Duration kExtension{15};  // outlives one tick
constexpr uint64_t kEpoch = 17;
constexpr LeaseToken kNoToken{.epoch = kEpoch, .lease = 1'000'000};

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
  kDrop
};
constexpr std::array<std::string_view, 12> kStepNames = {
    "fold a", "fold c", "tick",   "unseen tick", "pop",   "lease",
    "ack",    "nack",   "extend", "cancel a",    "retry", "drop"};
using Steps = std::vector<Step>;

FolderOptions SmallFolder() {
  FolderOptions options;
  options.quiet_period = kTick;
  options.max_hold = kForever;
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

// A side: the engine or the model, with the time and the deliveries. "The oldest" is the first that nobody has acked
// or nacked yet; when there is none, the last, once more. Letters have an oldest of their own.
class EngineSide {
 public:
  explicit EngineSide(const Choice& choice)
      : engine_(Engine::Open(SmallEngine(choice)).value()),
        folder_(*engine_, "small", choice.folder) {}

  std::string Do(Step step, int digit) {
    switch (step) {
      case Step::kFoldA: return Number(folder_.Fold("a", digit, now_));
      case Step::kFoldC: return Number(folder_.Fold("c", digit, now_));
      case Step::kTime:
        now_ += kTick;
        engine_->Advance(now_);
        return Number(engine_->AdvanceLeases(LeaseTime(now_)));
      case Step::kUnseenTime:
        now_ += kUnseenTick;
        (void)engine_->Advance(now_, 0);
        (void)engine_->AdvanceLeases(LeaseTime(now_), 0);
        return "";
      case Step::kPop: return Pop(1);
      case Step::kLease: return Lease();
      case Step::kAck: return Number(folder_.Ack(Oldest(/*is_over=*/true)));
      case Step::kNack: return Number(folder_.Nack(Oldest(/*is_over=*/true)));
      case Step::kExtend:
        return Line(folder_.Extend(Oldest(/*is_over=*/false), kExtension, LeaseTime(now_)));
      case Step::kCancelA: return Number(folder_.Cancel("a"));
      case Step::kRetry: return Number(folder_.RetryDeadLetter(OldestLetter()));
      case Step::kDrop: return Number(folder_.DropDeadLetter(OldestLetter()));
    }
    return "";
  }

  std::string Pop(size_t max) {
    std::string said;
    for (const Emission<Digits>& emission : folder_.Pop(max)) said += Line(emission);
    return said;
  }

  Ledger ledger() const { return folder_.ledger(); }

 private:
  std::string Lease() {
    std::string said;
    for (const Leased<Digits>& lease : folder_.Lease(1, kTick, LeaseTime(now_))) {
      tokens_.push_back(lease.delivery.token);
      said += Line(lease) + 'x' + std::to_string(lease.delivery.deliveries);
    }
    return said;
  }

  LeaseToken Oldest(bool is_over) {
    if (tokens_.empty()) return kNoToken;
    if (over_ == tokens_.size()) return tokens_.back();
    const LeaseToken oldest = tokens_[over_];
    if (is_over) ++over_;
    return oldest;
  }

  LeaseToken OldestLetter() { return letters_ < tokens_.size() ? tokens_[letters_++] : kNoToken; }

  std::unique_ptr<Engine> engine_;
  Folder<int, Digits> folder_;
  EngineTime now_;
  std::vector<LeaseToken> tokens_;
  size_t over_ = 0;     // of them
  size_t letters_ = 0;  // of them: retried or dropped
};

// Plain data: a copy goes on by itself.
class ModelSide {
 public:
  explicit ModelSide(const Choice& choice)
      : model_(SmallEngine(choice), choice.folder, RulesOf(choice.partitions)) {}

  std::string Do(Step step, int digit) {
    const auto event = static_cast<uint64_t>(digit);
    switch (step) {
      case Step::kFoldA: return Number(model_.Fold("a", event, now_));
      case Step::kFoldC: return Number(model_.Fold("c", event, now_));
      case Step::kTime:
        now_ += kTick;
        model_.Advance(now_);
        model_.AdvanceLeases(LeaseTime(now_));
        return Number(true);
      case Step::kUnseenTime:
        now_ += kUnseenTick;
        model_.Advance(now_);
        model_.AdvanceLeases(LeaseTime(now_));
        return "";
      case Step::kPop: return Pop(1);
      case Step::kLease: return Lease();
      case Step::kAck: return Number(model_.Ack(Oldest(/*is_over=*/true)));
      case Step::kNack: return Number(model_.Nack(Oldest(/*is_over=*/true)));
      case Step::kExtend:
        return Line(model_.Extend(Oldest(/*is_over=*/false), kExtension, LeaseTime(now_)));
      case Step::kCancelA: return Number(model_.Cancel("a"));
      case Step::kRetry: return Number(model_.RetryDeadLetter(OldestLetter()));
      case Step::kDrop: return Number(model_.DropDeadLetter(OldestLetter()));
    }
    return "";
  }

  std::string Pop(size_t max) {
    std::string said;
    for (const ModelGroup& emission : model_.Pop(max)) said += Line(emission);
    return said;
  }

  Ledger ledger() const { return model_.ledger(); }

 private:
  static ModelRules RulesOf(int partitions) {
    ModelRules rules;
    rules.partition = [partitions](std::string_view key) { return PartitionOf(key, partitions); };
    return rules;
  }

  std::string Lease() {
    std::string said;
    for (const ModelLease& lease : model_.Lease(1, kTick, {}, LeaseTime(now_))) {
      deliveries_.push_back(lease.delivery);
      said += Line(lease.emission) + 'x' + std::to_string(lease.deliveries);
    }
    return said;
  }

  uint64_t Oldest(bool is_over) {
    if (deliveries_.empty()) return 0;
    if (over_ == deliveries_.size()) return deliveries_.back();
    const uint64_t oldest = deliveries_[over_];
    if (is_over) ++over_;
    return oldest;
  }

  uint64_t OldestLetter() { return letters_ < deliveries_.size() ? deliveries_[letters_++] : 0; }

  FoldModel model_;
  EngineTime now_;
  std::vector<uint64_t> deliveries_;
  size_t over_ = 0;     // of them
  size_t letters_ = 0;  // of them: retried or dropped
};

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
      if (steps_[i] == Step::kUnseenTime) unseen = true;
      if (steps_[i] == Step::kTime) unseen = false;
      const bool counts_agree = unseen || engine.ledger() == expected_[i].ledger;
      ASSERT_TRUE(said == expected_[i].said && counts_agree)
          << Story(i) << "said " << said << ", should be " << expected_[i].said;
    }
    // Two ticks on, no lease is live, and all that is no dead letter can be popped.
    for (int tick = 0; tick < 2; ++tick) {
      engine.Do(Step::kTime, 0);
      model.Do(Step::kTime, 0);
    }
    ASSERT_EQ(engine.Pop(SIZE_MAX), model.Pop(SIZE_MAX)) << Story(steps_.size() - 1);
    ASSERT_EQ(engine.ledger(), model.ledger()) << Story(steps_.size() - 1);
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
  return text != nullptr ? std::strtoull(text, nullptr, 10) : kSanitized ? 5 : 6;
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

}  // namespace
}  // namespace pleat::inline v0_1
