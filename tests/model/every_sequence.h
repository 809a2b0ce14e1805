// Every sequence of a few steps, none left out, on engine and model: what random episodes meet by
// luck, this meets for certain, as long as it is short. After every step all that both sides show
// must agree, and once more at the end of time.
//
//   PLEAT_EXHAUSTIVE_LENGTH=7   sequences of this length; 5 by default, 6 with PLEAT_WHOLE, and
//                               each step more takes as many times longer as there are steps
//
// A kind of sequences says what its steps and its two sides are:
//
//   struct Kind {
//     struct Choice { std::vector<Step> steps; ... };  // what the sides are made of
//     struct EngineSide { explicit EngineSide(const Choice&); ... };
//     struct ModelSide { ... };                        // plain data: a copy goes on by itself
//     static std::string_view NameOf(Step);
//     static bool Settles(Step);  // whether all that is due has been visited behind the step
//   };
//
// and each side has
//
//   std::string Do(Step, uint64_t digit);  // the answer; no other step of the sequence has the digit
//   Shown Show(bool settled);              // everything else, to be compared; Said(Shown) is text
//   void End();                            // the end of time
#pragma once

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <pleat/engine.h>

#include "tests/support/share.h"

namespace pleat::inline v0_1 {

// The model goes through the tree of all sequences, each node once; the engine, which cannot be
// copied, through each sequence from its beginning.
template <class Kind>
class EverySequence {
  using Choice = typename Kind::Choice;
  using EngineSide = typename Kind::EngineSide;
  using ModelSide = typename Kind::ModelSide;
  using Steps = decltype(Choice::steps);
  using Step = typename Steps::value_type;
  using Shown = decltype(std::declval<ModelSide&>().Show(true));

 public:
  EverySequence(const Choice& choice, size_t length) : choice_(choice), length_(length) {}

  // Returns how many there were, the first that failed being the last.
  uint64_t Run() {
    current = this;
    std::signal(SIGABRT,
                [](int) { std::cerr << current->Story(current->steps_.size() - 1) << "\n"; });
    Visit(ModelSide(choice_));
    return sequences_;
  }

 private:
  // A check of the engine that fails ends the program: then, too, the sequence has to be known.
  static inline const EverySequence* current = nullptr;

  struct Expected {
    std::string said;
    Shown shown;
  };

  void Visit(const ModelSide& model) {
    if (steps_.size() == length_) return RunEngine(model);
    for (const Step step : choice_.steps) Go(model, step);
  }

  void Go(ModelSide model, Step step) {
    if (testing::Test::HasFailure()) return;
    steps_.push_back(step);
    std::string said = model.Do(step, steps_.size());
    expected_.push_back({.said = std::move(said), .shown = model.Show(Kind::Settles(step))});
    Visit(model);
    steps_.pop_back();
    expected_.pop_back();
  }

  void RunEngine(ModelSide model) {
    ++sequences_;
    EngineSide engine(choice_);
    for (size_t i = 0; i < steps_.size(); ++i) {
      const Expected& expected = expected_[i];
      const std::string said = engine.Do(steps_[i], i + 1);
      const Shown shown = engine.Show(Kind::Settles(steps_[i]));
      ASSERT_TRUE(said == expected.said && shown == expected.shown)
          << Story(i) << "\nsaid " << said << ", should be " << expected.said << "\n"
          << Said(shown) << "\nshould be\n"
          << Said(expected.shown);
    }
    engine.End();
    model.End();
    const Shown shown = engine.Show(true);
    ASSERT_TRUE(shown == model.Show(true))
        << Story(steps_.size() - 1) << "at the end " << Said(shown) << "\nshould be\n"
        << Said(model.Show(true));
  }

  std::string Story(size_t last) const {
    std::string story;
    for (size_t i = 0; i <= last; ++i) story += std::string(Kind::NameOf(steps_[i])) + "; ";
    return story;
  }

  const Choice choice_;
  const size_t length_;
  Steps steps_;
  std::vector<Expected> expected_;
  uint64_t sequences_ = 0;
};

// The engine of both sides.
inline EngineOptions OneSmallEngine(Axis axis) {
  EngineOptions options;
  options.partitions = 1;
  options.axis = axis;
  options.huge_pages = HugePages::kOff;
  options.internals.hash_key = {{1, 2}};
  return options;
}

inline size_t SequenceLength() {
  const char* const text = std::getenv("PLEAT_EXHAUSTIVE_LENGTH");
  return text != nullptr ? std::strtoull(text, nullptr, 10)
                         : ShareOf({.whole = 6, .usual = 5, .sanitized = 4});
}

template <class Kind>
void RunEverySequence(const typename Kind::Choice& choice, size_t length) {
  uint64_t all = 1;
  for (size_t i = 0; i < length; ++i) all *= choice.steps.size();
  const uint64_t sequences = EverySequence<Kind>(choice, length).Run();
  std::cout << sequences << " sequences of " << length << " operations\n";
  if (!testing::Test::HasFailure()) {
    EXPECT_EQ(sequences, all);
  }
}

}  // namespace pleat::inline v0_1
