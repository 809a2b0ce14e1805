// The fixture of the tests of features: three folders and the reference model, which all have to
// agree.
//
// Every operation of a test goes to four sides: a folder that takes events singly, one that takes
// them in batches, one that takes them in batches and has seven partitions, and the model of
// tests/model, which shares no code with the engine. Where there are limits, the third is left out,
// as limits are divided among partitions; where there is a limit on bytes or a key is too long, the
// model is, which knows neither. After every operation the answers are compared and the ledgers have
// to add up; after every test nothing may be left, neither a group nor a byte.
//
// An emission is shown in one line: key, values, reason, and in seconds since kT0 first, last and
// closed; then, if it is not the only one of its group, its revision, with + if the group went on;
// then which emission it corrects, counted from 0 in the order of popping: "a [1 2] quiet 0 9 19 r2".
#pragma once

#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <pleat/folder.h>

#include "tests/model/fold_model.h"
#include "tests/support/show.h"
#include "tests/support/start.h"

namespace pleat {

inline constexpr Axis kBothAxes[] = {Axis::kArrival, Axis::kEvent};

// What an event may say beside its value. Whether anybody listens depends on the rules.
struct Marks {
  bool starts = false;
  bool ends = false;
  Duration quiet{0};
  std::string_view id = {};
  EngineTime close_at = kNever;
};
struct Tick {
  int value;
  Marks marks = {};
};

// The values in the order of folding. It owns memory, so limits on bytes see it grow.
struct Values {
  std::vector<int> all;
  void Fold(const Tick& tick) noexcept { all.push_back(tick.value); }
  size_t HeapBytes() const noexcept { return all.size() * sizeof(int); }
};

// Listens to nothing; combine them by hand.
using TickRules = FoldRules<Tick, Values>;
TickRules StartAndEndMarks();
TickRules OwnQuietPeriods();
TickRules Ids();  // the content is the value

class Features : public testing::Test {
 protected:
  struct Given {
    std::string_view key;
    int value;
    Duration at;
    Marks marks = {};
  };

  void Open(const FolderOptions& options, EngineOptions engine = {}, const TickRules& rules = {});
  void TearDown() override { Finish(); }

  // Returns what became of each, in one word, separated by blanks.
  std::string Fold(std::initializer_list<Given> events) { return Fold(std::span(events)); }
  std::string Fold(std::span<const Given> events);
  void Advance(Duration after);
  // Moves time, but visits nothing.
  void AdvanceOnly(Duration after);
  bool Flush(std::string_view key);
  bool Cancel(std::string_view key);
  // Of a folder whose deadlines are settable.
  ControlOutcome SetDeadline(std::string_view key, Duration after);
  void CloseAll();
  void Stop();
  std::vector<std::string> Pop(size_t max = 100'000);
  // The values of the open group of `key`; nothing if there is none.
  std::optional<std::vector<int>> Peek(std::string_view key);

  // The columns that are not 0, as "events 3 opened 2 folded 1".
  std::string Columns() { return ShowColumns(ledger()); }
  Ledger ledger() { return sides_[0].folder->ledger(); }
  Sizes sizes() { return sides_[0].folder->sizes(); }
  Engine& engine() { return *sides_[0].engine; }
  Folder<Tick, Values>& folder() { return *sides_[0].folder; }

  // What a side has popped: numbers for ids, and the next generation of each partition.
  struct Popped {
    std::map<std::pair<uint32_t, uint64_t>, size_t> numbers = {};
    std::map<uint32_t, uint64_t> generations = {};
  };
  struct Side {
    bool batches;
    std::unique_ptr<Engine> engine;
    std::optional<Folder<Tick, Values>> folder;
    Popped popped = {};
    std::vector<LeaseToken> tokens = {};  // of deliveries 1, 2, ...
  };

  // The one answer of all sides: `ask` is called with each folder's side, `ask_model` with the model.
  template <class Ask, class AskModel>
  auto Agreed(Ask ask, AskModel ask_model) {
    const auto answer = ask(sides_[0]);
    for (size_t i = 1; i < sides_.size(); ++i) {
      EXPECT_EQ(ask(sides_[i]), answer) << sides_[i].engine->partitions() << " partitions, batches";
    }
    if (model_) {
      EXPECT_EQ(ask_model(*model_), answer) << "the model";
    }
    Compare();
    return answer;
  }

  // Whatever a test leaves behind goes when time does.
  virtual void Finish();

  std::vector<Side> sides_;
  std::optional<FoldModel> model_;
  bool ids_have_gaps_ = false;  // because not all that is emitted is popped, or not in order

 private:
  void Compare();
  template <class Emission, class Events>
  std::string Show(const Emission& emission, const Events& events, Popped& popped) const;
  static std::string FoldInto(Side& side, const std::vector<KeyedEvent<Tick>>& events);

  // The model's side of it.
  void OpenModel(const FolderOptions& options, const EngineOptions& engine, const TickRules& rules);
  EventMarks MarksOf(std::string_view key, const Tick& tick) const;
  std::string FoldInto(FoldModel& model, const std::vector<KeyedEvent<Tick>>& events) const;

  TickRules rules_;
  Popped popped_of_model_;
  size_t compared_ = 0;  // sides with many groups
};

// kT0 is 0; whole seconds as such, others as "9999999us"; the time of an engine whose time has not
// moved is "unmoved".
std::string ShowTime(EngineTime t);

}  // namespace pleat
