// What is found of a store's life after a crash: a beginning of it, that goes on.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "tests/store/store_life.h"

namespace pleat::inline v0_1 {

// What a life knew when an operation had ended.
struct Moment {
  size_t calls;
  StoreModel model;
  StoreModel::Cut kept;     // a kill loses nothing of it
  StoreModel::Cut certain;  // nor does a power loss of this
  size_t left_behind;       // of the life's, so many were there

  static Moment Of(const FaultyStorage& storage, const StoreLife& life) {
    return {storage.calls(), life.model, life.kept(), life.certain(), life.left_behind.size()};
  }
};

struct ToldLife {
  FaultyStorage storage;
  std::vector<Moment> moments;

  // The last operation that had ended before a call began, and the one under way then.
  const Moment& Before(size_t call) const { return *std::prev(FirstBehind(call)); }
  const Moment& During(size_t call) const {
    const auto behind = FirstBehind(call);
    return behind == moments.end() ? moments.back() : *behind;
  }

 private:
  std::vector<Moment>::const_iterator FirstBehind(size_t call) const {
    return std::ranges::upper_bound(moments, call, {}, &Moment::calls);
  }
};

inline void Tell(std::string_view word, StoreDurability durability, ToldLife& told) {
  told.storage.Record();
  StoreLife life(told.storage, durability);
  told.moments.push_back(Moment::Of(told.storage, life));
  for (const char operation : word) {
    life.Do(operation);
    ASSERT_TRUE(life.ok()) << life.last << ", " << life.closed;
    told.moments.push_back(Moment::Of(told.storage, life));
  }
}

// Opens what is left, and returns where it ends. It has to be a beginning of one of the models.
inline StoreModel::Cut CheckBeginning(FaultyStorage& storage, StoreDurability durability,
                                      std::span<const StoreModel* const> models,
                                      const StoreModel::Cut& least) {
  const StoreLife options(storage, durability);
  absl::StatusOr<std::unique_ptr<EventStore>> store =
      EventStore::Open(kStorePath, options.options());
  EXPECT_TRUE(store.ok()) << store.status();
  if (!store.ok()) return least;
  const StoreModel::Cut end = DurableOf(**store);
  for (int p = 0; p < kStorePartitions; ++p) {
    EXPECT_EQ((*store)->Next(p), end[static_cast<size_t>(p)]) << "durable once it is open";
  }
  EXPECT_TRUE(StoreModel::IsNotBefore(end, least))
      << testing::PrintToString(end) << " and not " << testing::PrintToString(least);
  const auto all = ReadAll(**store);
  EXPECT_TRUE(all.ok()) << all.status();
  if (!all.ok()) return end;
  EXPECT_TRUE(std::ranges::any_of(models, [&](const StoreModel* model) {
    return std::ranges::find(model->firsts, FirstOf(**store)) != model->firsts.end();
  })) << testing::PrintToString(FirstOf(**store));
  const auto model = std::ranges::find_if(
      models, [&](const StoreModel* each) { return each->HasBeginning(end, *all); });
  EXPECT_NE(model, models.end()) << testing::PrintToString(end)
                                 << " is no place where a block ended, or has other records";
  if (model != models.end()) {
    EXPECT_EQ(NotesOf(**store), (*model)->NotesAt(end));
  }
  return end;
}

inline StoreModel::Cut CheckBeginning(FaultyStorage& storage, StoreDurability durability,
                                      const StoreModel& model, const StoreModel::Cut& least) {
  const StoreModel* const one[] = {&model};
  return CheckBeginning(storage, durability, one, least);
}

// Appends to what is left: it goes on, and is all there after another power loss.
inline void CheckGoesOn(FaultyStorage& storage, StoreDurability durability, StoreModel::Cut end) {
  const StoreLife options(storage, durability);
  {
    absl::StatusOr<std::unique_ptr<EventStore>> store =
        EventStore::Open(kStorePath, options.options());
    ASSERT_TRUE(store.ok()) << store.status();
    const AppendAnswer placed =
        (*store)->Append({.key = "key 1", .payload = "more"}, kEndOfTime, {.confirm_time = true});
    ASSERT_EQ(placed.outcome, AppendOutcome::kAppended);
    EXPECT_EQ(placed.offset, end[static_cast<size_t>(placed.partition)]++);
    ASSERT_TRUE((*store)->Sync().ok());
  }
  FaultyStorage after = storage.Reboot([](uint32_t) { return 0; });
  const StoreLife again(after, durability);
  absl::StatusOr<std::unique_ptr<EventStore>> store = EventStore::Open(kStorePath, again.options());
  ASSERT_TRUE(store.ok()) << store.status();
  EXPECT_EQ(DurableOf(**store), end);
}

}  // namespace pleat::inline v0_1
