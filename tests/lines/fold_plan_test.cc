// The functions that the engine handles states with, called as it would call them.
#include "engine/lines/feed/fold_plan.h"

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "tests/lines/json_harness.h"
#include "tests/lines/lone_state.h"

namespace pleat {
namespace {

FoldSpec EveryMerge() {
  Options options = OptionsIn("--key k --rest last --raw 50 --raw-last 3 --merge 'e=last(.)'");
  for (const ReducerName& known : kReducerNames) {
    const std::string name(known.name);
    options.emplace_back("merge", name + "=" + name +
                                      (name == "duration" ? "()"
                                       : name == "keys"   ? "(o)"
                                                          : "(v)"));
  }
  return SpecOf(options);
}

std::string Event(int i) {
  const std::string number = std::to_string(i);
  const std::string value = i % 2 == 0 ? "1" + number + std::string(30, '0') : "\"" + number + "\"";
  const std::string name = "\"a name of its own " + number + "\"";
  return "{\"k\":0,\"v\":" + value + ",\"o\":{" + name + ":1}," + name + ":" + value + "}";
}

TEST(FoldPlan, CopyOfAStateIsIndependentOfIt) {
  FoldPlan plan(EveryMerge());
  for (const int events : {1, 5, 11, 12, 100}) {
    auto original = std::make_unique<LoneState>(plan);
    for (int i = 0; i < events; ++i) original->Fold(Event(i));
    const std::string before = original->Printed();

    auto copy = std::make_unique<LoneState>(*original);
    EXPECT_EQ(copy->Printed(), before);
    for (int i = 0; i < events; ++i) original->Fold(Event(1000 + i));
    const std::string after = original->Printed();
    EXPECT_NE(after, before);
    EXPECT_EQ(copy->Printed(), before);

    for (int i = 0; i < events; ++i) copy->Fold(Event(1000 + i));
    EXPECT_EQ(copy->Printed(), after);
    const LoneState second(*copy);
    original.reset();
    EXPECT_EQ(copy->Printed(), after);
    copy.reset();
    EXPECT_EQ(second.Printed(), after);
  }
}

TEST(FoldPlan, CopyKnowsWhatItOwns) {
  FoldPlan texts(SpecOf("--key k --merge 'f=first(v)' --merge 'l=last(v)'"));
  LoneState original(texts);
  original.Fold("{\"k\":0,\"v\":\"" + std::string(998, 'x') + "\"}");
  original.Fold("{\"k\":0,\"v\":\"" + std::string(98, 'x') + "\"}", FromUnix(Duration(1)));
  EXPECT_EQ(original.heap_bytes(), 2000u);  // the last text grew to 1000 before
  EXPECT_EQ(LoneState(original).heap_bytes(), 1100u);

  FoldPlan all(EveryMerge());
  LoneState full(all);
  for (int i = 0; i < 100; ++i) full.Fold(Event(i));
  const LoneState copy(full);
  EXPECT_GT(copy.heap_bytes(), copy.Printed().size());
  EXPECT_LE(copy.heap_bytes(), full.heap_bytes());
  EXPECT_EQ(LoneState(copy).heap_bytes(), copy.heap_bytes());
}

TEST(FoldPlan, CopyOfAnEmptyStateOwnsNothing) {
  FoldPlan plan(EveryMerge());
  const LoneState original(plan);
  EXPECT_EQ(LoneState(original).heap_bytes(), 0u);
  EXPECT_EQ(LoneState(original).Printed(), original.Printed());
}

}  // namespace
}  // namespace pleat
