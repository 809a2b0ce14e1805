// The fixture of the tests of rollup counters, feature by feature: three counters, which have to
// agree. One takes events singly, one takes them in batches, and one takes them in batches and has
// seven partitions. Where there are limits the third is left out, as limits are divided among
// partitions. After every operation the ledgers have to add up.
//
// An emission is shown in one line: key, start and end of its window in seconds since 12:00, count
// and sum, reason, and when it closed: "a [0 60) 2: 5 final 70".
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <pleat/rollup.h>

namespace pleat {

inline const EngineTime kNoon = FromUnix(std::chrono::seconds(1'700'049'600));

inline std::string_view NameOf(AddOutcome outcome) {
  constexpr std::array<std::string_view, kAddOutcomes> kNames = {
      "added",  "clamped",    "corrected", "late_unknown",   "duplicate", "conflict", "late",
      "future", "over_limit", "stopped",   "would_deadlock", "elsewhere", "replayed"};
  return kNames.at(static_cast<size_t>(outcome));
}

// Whole seconds since 12:00.
inline std::string SecondsOf(EngineTime t) {
  return std::to_string((t - kNoon) / std::chrono::seconds(1));
}

class CounterFeatures : public testing::Test {
 protected:
  struct Given {
    std::string_view key;
    Delta delta;
    Duration at;
    std::string_view id = {};
  };
  struct Side {
    bool batches;
    std::unique_ptr<Engine> engine;
    std::optional<RollupCounter> counter;
    std::vector<EmissionId> popped = {};
  };

  void Open(const RollupOptions& options, Axis axis = Axis::kArrival) {
    sides_.clear();
    const RollupLimits unlimited;
    const bool limited = options.limits.max_keys != unlimited.max_keys ||
                         options.limits.max_bytes != unlimited.max_bytes ||
                         options.limits.max_backlog != unlimited.max_backlog;
    for (const auto& [batches, partitions] : {std::pair(false, 1), {true, 1}, {true, 7}}) {
      if (limited && partitions > 1) continue;
      AddSide(options, axis, batches, partitions);
    }
  }
  void AddSide(const RollupOptions& options, Axis axis, bool batches, int partitions) {
    const EngineOptions engine{
        .partitions = partitions, .axis = axis, .huge_pages = HugePages::kOff};
    Side& side = sides_.emplace_back(Side{batches, *Engine::Open(engine), std::nullopt});
    side.counter = *RollupCounter::Open(*side.engine, "plays", options);
    if (axis == Axis::kArrival) side.engine->Advance(kNoon);
  }

  // The one answer of all sides.
  template <class Ask>
  auto Agreed(const Ask& ask) {
    const auto answer = ask(sides_[0]);
    for (size_t i = 1; i < sides_.size(); ++i) {
      EXPECT_EQ(ask(sides_[i]), answer) << sides_[i].engine->partitions() << " partitions, batches";
    }
    for (Side& side : sides_) EXPECT_TRUE(side.counter->ledger().Balances());
    return answer;
  }

  // What became of each, in one word, separated by blanks.
  std::string Add(std::initializer_list<Given> events) {
    return Agreed([&](Side& side) { return AddTo(side, std::span(events)); });
  }
  static std::string AddTo(Side& side, std::span<const Given> events) {
    std::vector<AddOutcome> outcomes;
    if (side.batches) {
      std::vector<KeyedEvent<CounterEvent>> batch;
      for (const Given& given : events)
        batch.push_back({given.key, kNoon + given.at, {given.delta, given.id}});
      outcomes.resize(batch.size());
      const RollupCounts said = side.counter->AddBatch(batch, outcomes);
      RollupCounts counted;
      for (const AddOutcome outcome : outcomes) counted.Add(outcome);
      EXPECT_EQ(said, counted);
    } else {
      for (const Given& given : events)
        outcomes.push_back(side.counter->Add(given.key, given.delta, kNoon + given.at, given.id));
    }
    std::string words;
    for (const AddOutcome outcome : outcomes)
      words.append(words.empty() ? "" : " ").append(NameOf(outcome));
    return words;
  }
  std::string_view Clear(std::string_view key, Duration at, std::string_view id = {}) {
    return Agreed([&](Side& side) { return NameOf(side.counter->Clear(key, kNoon + at, id)); });
  }
  void Advance(Duration to) {
    for (Side& side : sides_) side.engine->Advance(kNoon + to);
  }
  // Moves time, but visits nothing.
  void AdvanceOnly(Duration to) {
    for (Side& side : sides_) (void)side.engine->Advance(kNoon + to, 0);
  }
  void CloseAll() {
    for (Side& side : sides_) side.counter->CloseAll();
  }

  std::vector<std::string> Pop() {
    return Agreed([](Side& side) {
      std::vector<std::string> lines;
      for (const Emission<CountedWindow>& e : side.counter->Pop(1'000)) {
        EXPECT_EQ(e.count, e.state.amount.count);
        EXPECT_EQ(e.first, e.state.start);
        EXPECT_EQ(e.last, e.state.end);
        std::string line = e.key + " [" + SecondsOf(e.state.start) + " " + SecondsOf(e.state.end) +
                           ") " + std::to_string(e.count) + ": " +
                           std::to_string(e.state.amount.sum) + " " +
                           std::string(ReasonName(e.reason)) + " " + SecondsOf(e.closed);
        if (e.corrects) {
          const auto corrected = std::ranges::find(side.popped, *e.corrects);
          line += " corrects " + std::to_string(corrected - side.popped.begin());
        }
        side.popped.push_back(e.id);
        lines.push_back(std::move(line));
      }
      return lines;
    });
  }
  // The sum of all that was counted.
  int64_t Sum(std::string_view key) {
    return Agreed([&](Side& side) { return side.counter->Accurate(key).amount.sum; });
  }
  // "5 until 60, 25 s ago".
  std::string Eventual(std::string_view key) {
    return Agreed([&](Side& side) -> std::string {
      const auto count = side.counter->Eventual(key);
      if (!count) return "nothing";
      EXPECT_EQ(count->lag, side.engine->now() - count->as_of);
      return std::to_string(count->amount.sum) + " until " + SecondsOf(count->as_of) + ", " +
             std::to_string(count->lag / std::chrono::seconds(1)) + " s ago";
    });
  }
  std::vector<std::string> History(std::string_view key, Duration from, Duration to,
                                   Duration window = {}) {
    return Agreed([&](Side& side) {
      std::vector<std::string> lines;
      for (const CountedWindow& w : side.counter->History(key, kNoon + from, kNoon + to, window))
        lines.push_back("[" + SecondsOf(w.start) + " " + SecondsOf(w.end) + ") " +
                        std::to_string(w.amount.sum));
      return lines;
    });
  }
  std::vector<std::string> Top(size_t n, Duration at, Duration window = {}) {
    return Agreed([&](Side& side) {
      std::vector<std::string> lines;
      for (const TopCount& top : side.counter->Top(n, kNoon + at, window))
        lines.push_back(top.key + " " + std::to_string(top.amount.sum));
      return lines;
    });
  }
  RollupLedger ledger() { return sides_[0].counter->ledger(); }
  RollupCounter& counter() { return *sides_[0].counter; }
  Engine& engine() { return *sides_[0].engine; }

  std::vector<Side> sides_;
};

}  // namespace pleat
