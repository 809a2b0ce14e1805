// Sequences beside plain sorted sets of keys that do the same, for tests.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "engine/base/page_pool.h"
#include "engine/base/prefetch.h"
#include "engine/live/sequence.h"
#include "tests/support/seeds.h"

namespace pleat::sequences {

struct Member {
  SequenceKey key;
  uint32_t place = 0;
};

struct Members {
  std::vector<Member> all;
  mutable uint64_t looks = 0;  // how often a key was asked for

  SequenceKey KeyOf(uint32_t number) const {
    ++looks;
    return all[number].key;
  }
  uint32_t& PlaceOf(uint32_t number) { return all[number].place; }
  void Prefetch(uint32_t number) const { pleat::Prefetch(&all[number]); }
};

inline EngineTime At(int64_t us) { return EngineTime{Duration{us}}; }

// One sequence beside its model: the keys with their members' numbers, in a sorted set.
class Pair {
 public:
  using Model = std::set<std::pair<SequenceKey, uint32_t>>;

  Pair(SequencePool<Members>& pool, Members& members) : pool_(pool), members_(members) {}

  size_t size() const { return model_.size(); }
  uint32_t NumberAt(size_t rank) const {
    return std::next(model_.begin(), static_cast<long>(rank))->second;
  }
  EngineTime last() const { return model_.empty() ? At(1'000) : model_.rbegin()->first.time; }
  EngineTime first() const { return model_.empty() ? At(1'000) : model_.begin()->first.time; }

  void Insert(uint32_t number, EngineTime time) {
    members_.all[number].key = {time, next_position_++};
    model_.insert({members_.all[number].key, number});
    pool_.Insert(sequence_, number);
  }
  // With a position before all others of its time.
  void InsertEarly(uint32_t number, EngineTime time) {
    members_.all[number].key = {time, --early_position_};
    model_.insert({members_.all[number].key, number});
    pool_.Insert(sequence_, number);
  }
  void InsertAt(uint32_t number, const SequenceKey& key) {
    if (!model_.empty() && model_.lower_bound({key, 0}) != model_.end() &&
        model_.lower_bound({key, 0})->first == key) {
      return InsertAt(number, {key.time, key.position + 1});
    }
    members_.all[number].key = key;
    model_.insert({key, number});
    pool_.Insert(sequence_, number);
  }
  void Erase(uint32_t number) {
    pool_.Erase(sequence_, number);
    model_.erase({members_.all[number].key, number});
  }
  void MoveToBack(uint32_t number, EngineTime time) {
    model_.erase({members_.all[number].key, number});
    members_.all[number].key = {time, next_position_++};
    model_.insert({members_.all[number].key, number});
    pool_.MoveToBack(sequence_, number);
  }
  // Of many, whose old slots go when the pool is settled.
  void MoveToBackUnsettled(uint32_t number, EngineTime time) {
    model_.erase({members_.all[number].key, number});
    members_.all[number].key = {time, next_position_++};
    model_.insert({members_.all[number].key, number});
    pool_.MoveToBackUnsettled(sequence_, number, members_.PlaceOf(number));
  }
  void Clear() {
    pool_.Clear(sequence_);
    model_.clear();
  }

  // Compares everything with the model.
  void Check() const {
    pool_.CheckWhole(sequence_);
    ASSERT_EQ(sequence_.size(), model_.size());
    ASSERT_EQ(sequence_.empty(), model_.empty());
    if (model_.empty()) return;
    ASSERT_EQ(pool_.Front(sequence_), model_.begin()->second);
    ASSERT_EQ(pool_.Back(sequence_), model_.rbegin()->second);
    std::vector<uint32_t> numbers;
    pool_.ForEachFrom(sequence_, 0, [&](uint32_t n) { return numbers.push_back(n), true; });
    ASSERT_TRUE(std::ranges::equal(numbers, model_, {}, {}, [](auto& m) { return m.second; }));
    std::vector<uint32_t> backward;
    pool_.ForEachBackFrom(sequence_, sequence_.size() - 1,
                          [&](uint32_t n) { return backward.push_back(n), true; });
    ASSERT_TRUE(
        std::ranges::equal(numbers.rbegin(), numbers.rend(), backward.begin(), backward.end()));
  }

  // Compares what can be asked about one rank and the time there.
  void CheckAround(uint32_t rank) const {
    const auto it = std::next(model_.begin(), rank);
    const auto& [key, number] = *it;
    ASSERT_EQ(pool_.At(sequence_, rank), number);
    ASSERT_EQ(pool_.RankOf(sequence_, number), rank);
    for (const EngineTime time : {key.time - Duration{1}, key.time, key.time + Duration{1}}) {
      CheckRank(time);
    }
    CheckWalks(rank);
  }
  void CheckRank(EngineTime time) const {
    const auto bound = model_.lower_bound({{time, 0}, 0});
    ASSERT_EQ(pool_.Rank(sequence_, time), std::distance(model_.begin(), bound));
  }
  // How many members a count since `time` looks at.
  uint64_t LooksOfRank(EngineTime time) const {
    const uint64_t before = members_.looks;
    (void)pool_.Rank(sequence_, time);
    return members_.looks - before;
  }

 private:
  // Five members from `rank` on, and five back from there.
  void CheckWalks(uint32_t rank) const {
    auto it = std::next(model_.begin(), rank);
    int left = 5;
    pool_.ForEachFrom(sequence_, rank, [&](uint32_t n) {
      EXPECT_EQ(n, it->second);
      return ++it != model_.end() && --left > 0;
    });
    it = std::next(model_.begin(), rank);
    left = 5;
    pool_.ForEachBackFrom(sequence_, rank, [&](uint32_t n) {
      EXPECT_EQ(n, it->second);
      return it != model_.begin() && (--it, --left > 0);
    });
  }

  SequencePool<Members>& pool_;
  Members& members_;
  Sequence sequence_;
  Model model_;
  uint64_t next_position_ = uint64_t{1} << 40;
  uint64_t early_position_ = uint64_t{1} << 40;
};

class SequenceTest : public testing::Test {
 protected:
  // A member of no sequence.
  uint32_t NewMember() {
    if (free_.empty()) {
      members_.all.emplace_back();
      return static_cast<uint32_t>(members_.all.size() - 1);
    }
    const uint32_t number = free_.back();
    free_.pop_back();
    return number;
  }
  Pair NewPair() { return Pair(pool_, members_); }
  void Append(Pair& pair, int64_t step = 1) {
    pair.Insert(NewMember(), pair.last() + Duration{step});
  }
  void EraseAt(Pair& pair, size_t rank) {
    const uint32_t number = pair.NumberAt(rank);
    pair.Erase(number);
    free_.push_back(number);
  }
  uint64_t Draw(uint64_t below) {
    return std::uniform_int_distribution<uint64_t>(0, below - 1)(random_);
  }

  // One operation of a kind that suits the wanted size.
  void Step(Pair& pair, size_t wanted) {
    const uint64_t dice = Draw(100);
    if (pair.size() == 0 || (pair.size() < wanted ? dice < 60 : dice < 25)) return Grow(pair);
    const size_t rank = Draw(4) == 0 ? Draw(std::min<size_t>(pair.size(), 5)) : Draw(pair.size());
    if (dice < 80) return pair.MoveToBack(pair.NumberAt(rank), pair.last() + Duration{Draw(3)});
    EraseAt(pair, Draw(4) == 0 ? pair.size() - 1 : rank);
  }
  void Grow(Pair& pair) {
    const EngineTime last = pair.last();
    const EngineTime first = pair.first();
    switch (Draw(6)) {
      case 0: return pair.Insert(NewMember(), first + Duration{Draw(1 + Count(last - first))});
      case 1: return pair.Insert(NewMember(), last - Duration{Draw(20)});
      case 2: return pair.InsertEarly(NewMember(), last - Duration{Draw(5)});
      case 3: return pair.InsertEarly(NewMember(), first - Duration{Draw(2)});
      default: return Append(pair, static_cast<int64_t>(Draw(3)));
    }
  }
  static uint64_t Count(Duration d) { return static_cast<uint64_t>(d.count()); }

  const uint64_t seed_ = AnySeed();
  testing::ScopedTrace trace_{__FILE__, __LINE__, "PLEAT_SEED=" + std::to_string(seed_)};
  std::mt19937_64 random_{seed_};
  PagePool pages_;
  Members members_;
  std::vector<uint32_t> free_;
  SequencePool<Members> pool_{pages_, members_};
};

}  // namespace pleat::sequences
