// States of groups as bytes: one that was loaded goes on as the one that was saved.
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "engine/lines/feed/fold_plan.h"
#include "tests/lines/drawn_events.h"
#include "tests/lines/json_harness.h"
#include "tests/lines/lone_state.h"
#include "tests/support/seeds.h"
#include "tests/support/share.h"

namespace pleat {
namespace {

FoldSpec SpecWith(const std::string& rest) {
  FoldSpec spec =
      SpecOf("--key k --raw 20 --raw-last 4 --max-bytes 1G --rest " + rest + " " + EveryReducer());
  const absl::Status set =
      SetOption(spec, "close-when",
                R"({"any":["first>\"a\\n\"","last<5","concat>\"zz\"","lo<-1e300","distinct=3"]})");
  EXPECT_TRUE(set.ok()) << set.message();
  EXPECT_TRUE(Validate(spec).ok()) << Validate(spec).message();
  return spec;
}

// The plan of another process, to which nothing but bytes came.
std::unique_ptr<FoldPlan> Another(const FoldSpec& spec, const FoldPlan& plan) {
  auto another = std::make_unique<FoldPlan>(spec);
  FieldWriter out;
  plan.SaveCommon(out);
  FieldReader in(out.bytes());
  another->LoadCommon(in);
  EXPECT_TRUE(in.done());
  return another;
}

std::unique_ptr<LoneState> Loaded(FoldPlan& plan, const std::string& bytes) {
  FieldReader in(bytes);
  auto state = std::make_unique<LoneState>(plan, in);
  EXPECT_TRUE(in.done());
  return state;
}

void ExpectSame(const LoneState& loaded, const LoneState& original) {
  EXPECT_EQ(loaded.Printed(), original.Printed());
  EXPECT_TRUE(loaded.Saved() == original.Saved());
  EXPECT_EQ(loaded.heap_bytes(), original.heap_bytes());
  EXPECT_EQ(loaded.weight(), original.weight());
  EXPECT_EQ(loaded.MeetsCloseWhen(), original.MeetsCloseWhen());
}

TEST(JsonStored, AStateGoesOnAsIfItHadNotBeenStored) {
  constexpr Shares kSeeds = {.whole = 3'000, .usual = 300, .sanitized = 60};
  bool saturated = false;
  bool rest_cut = false;
  const bool all = ForEachSeed(1, ShareOf(kSeeds), [&](uint64_t seed) {
    DrawnEvents events(seed);
    const FoldSpec spec = SpecWith(seed % 2 == 0 ? "last" : "first");
    FoldPlan plan(spec);
    LoneState original(plan);
    std::vector<std::unique_ptr<FoldPlan>> plans;
    plans.push_back(Another(spec, plan));
    auto stored = std::make_unique<LoneState>(*plans.back());
    for (size_t left = events.Draw(120); left > 0; --left) {
      const std::string line = "{\"k\":0" + events.Members() + "}";
      const EngineTime at = FromUnix(Duration(events.Draw(50)));
      original.Fold(line, at);
      stored->Fold(line, at);
      if (events.Draw(8) != 0) continue;
      const std::string bytes = stored->Saved();
      plans.push_back(Another(spec, *plans.back()));
      stored = Loaded(*plans.back(), bytes);
      ExpectSame(*stored, original);
    }
    ExpectSame(*stored, original);
    stored.reset();
    saturated |= original.Printed().find("saturated \"") != std::string::npos;
    rest_cut |= original.Printed().find("\"_rest\"") != std::string::npos;
  });
  if (!all) return;
  EXPECT_TRUE(saturated);
  EXPECT_TRUE(rest_cut);
}

// A copy is what an emission takes along; it keeps less memory in reserve.
TEST(JsonStored, SoDoesACopy) {
  ForEachSeed(1, 50, [&](uint64_t seed) {
    DrawnEvents events(seed);
    FoldPlan plan(SpecWith("last"));
    LoneState origin(plan);
    const auto next = [&] { return "{\"k\":0" + events.Members() + "}"; };
    for (size_t left = events.Draw(60); left > 0; --left) origin.Fold(next());
    LoneState copy(origin);
    const auto stored = Loaded(plan, copy.Saved());
    ExpectSame(*stored, copy);
    for (size_t left = 20; left > 0; --left) {
      const std::string line = next();
      copy.Fold(line);
      stored->Fold(line);
      ExpectSame(*stored, copy);
    }
  });
}

TEST(JsonStored, AnEmptyStateIsAByteForEachMerge) {
  FoldPlan plan(SpecWith("last"));
  const LoneState empty(plan);
  // mean, and concat twice, have a count besides, and two percentiles have one state; the raw lines,
  // first and last, the rest, the weight.
  EXPECT_EQ(empty.Saved(), std::string(25 + 3 + 4, '\0'));
  ExpectSame(*Loaded(plan, empty.Saved()), empty);
}

// What a text has in reserve is made again, but not without limit: a few bytes would stand for much
// memory.
TEST(JsonStored, ATextHasAtMost64KiBInReserve) {
  FoldPlan plan(SpecOf("--key k --max-bytes 1G --merge 'v=last(v)'"));
  LoneState original(plan);
  const auto fold = [&](size_t bytes) {
    original.Fold("{\"k\":0,\"v\":\"" + std::string(bytes - 2, 'x') + "\"}");
  };
  fold(1'000'000);
  EXPECT_EQ(Loaded(plan, original.Saved())->heap_bytes(), 1'000'000u);
  fold(940'000);
  EXPECT_EQ(Loaded(plan, original.Saved())->heap_bytes(), 1'000'000u);
  fold(100);
  EXPECT_EQ(original.heap_bytes(), 1'000'000u);
  const auto loaded = Loaded(plan, original.Saved());
  EXPECT_EQ(loaded->heap_bytes(), 100u + 65'536u);
  EXPECT_EQ(loaded->Printed(), original.Printed());
}

// --- Bytes that nobody has saved

// Whether they are taken for a state, which then has to bear all that can come.
bool TakesForAState(FoldPlan& plan, std::string_view bytes, DrawnEvents& events) {
  FieldReader in(bytes);
  LoneState state(plan, in);
  const bool taken = in.done();
  EXPECT_FALSE(state.Printed().empty());
  if (!taken) return false;
  EXPECT_TRUE(Loaded(plan, state.Saved())->Saved() == state.Saved());
  state.MeetsCloseWhen();
  for (int i = 0; i < 2; ++i) state.Fold("{\"k\":0" + events.Members() + "}");
  state.MeetsCloseWhen();
  EXPECT_FALSE(LoneState(state).Printed().empty());
  return true;
}

std::string DrawnState(FoldPlan& plan, DrawnEvents& events) {
  LoneState state(plan);
  for (size_t left = 1 + events.Draw(4); left > 0; --left) {
    state.Fold("{\"k\":0" + events.Members() + "}");
  }
  return state.Saved();
}

TEST(JsonStored, AStateThatWasCutOffIsNone) {
  ForEachSeed(1, 6, [&](uint64_t seed) {
    DrawnEvents events(seed);
    FoldPlan plan(SpecWith("last"));
    const std::string bytes = DrawnState(plan, events);
    for (size_t size = 0; size < bytes.size(); ++size) {
      // Bytes of its own, so that a sanitizer sees their end.
      const std::vector<char> cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
      ASSERT_FALSE(TakesForAState(plan, {cut.data(), cut.size()}, events)) << size;
    }
  });
}

// Every byte of small states, and some two thousand of large ones.
TEST(JsonStored, AnyDamagedByteIsSafe) {
  constexpr Shares kSeeds = {.whole = 50, .usual = 5, .sanitized = 1};
  size_t refused = 0;
  const bool all = ForEachSeed(1, ShareOf(kSeeds), [&](uint64_t seed) {
    DrawnEvents events(seed);
    FoldPlan plan(SpecWith("last"));
    const std::string bytes = DrawnState(plan, events);
    for (size_t place = 0; place < bytes.size(); place += 1 + bytes.size() / 2'000) {
      const char other[] = {static_cast<char>(bytes[place] ^ (1 << events.Draw(8))),
                            static_cast<char>(bytes[place] + 1),
                            static_cast<char>(events.Draw(256))};
      for (const char byte : other) {
        std::vector<char> damaged(bytes.begin(), bytes.end());
        damaged[place] = byte;
        refused += !TakesForAState(plan, {damaged.data(), damaged.size()}, events);
      }
    }
  });
  if (!all) return;
  EXPECT_GT(refused, 100 * ShareOf(kSeeds));
}

TEST(JsonStored, AnyBytesAreSafe) {
  ForEachSeed(1, 5'000, [&](uint64_t seed) {
    DrawnEvents events(seed);
    FoldPlan plan(
        SpecOf("--key k --max-bytes 1G --rest last --merge 'c=concat(s)' --merge 'l=last(v)' "
               "--merge 'd=distinct(v)' --merge 'n=min(n)' --merge 'm=mean(n)'"));
    std::vector<char> bytes(events.Draw(60));
    for (char& byte : bytes) byte = static_cast<char>(events.Draw(events.Draw(2) == 0 ? 8 : 256));
    TakesForAState(plan, {bytes.data(), bytes.size()}, events);
  });
}

// --- What a state belongs to

std::string ShapeOf(const FoldSpec& spec) {
  FoldPlan plan(spec);
  const StateOps ops = plan.ops();
  return ops.shape(ops.context, ops.stored_version);
}

TEST(JsonStored, TheShapeIsTheOptionsThatStatesDependOn) {
  EXPECT_EQ(ShapeOf(SpecOf(Options{{"key", "a,b=c.d"},
                                   {"time", "t"},
                                   {"time-unit", "ms"},
                                   {"reorder", "5s"},
                                   {"id", "i"},
                                   {"allowed-lateness", "1m"},
                                   {"end-when", "type=end"},
                                   {"merge", "m=array(v,5)"},
                                   {"merge", "s=concat(v,\"\\n\\\\\")"},
                                   {"rest", "first"},
                                   {"raw", "7"},
                                   {"raw-last", "8"},
                                   {"where", "a=1"},
                                   {"from", "2015-09-12"},
                                   {"to", "2015-09-13T00:00:00.5Z"},
                                   {"no-meta", "true"},
                                   {"max-groups", "9"}})),
            "key: a\n"
            "key: b=c.d\n"
            "end-when: type=end\n"
            "time: t\n"
            "time-unit: ms\n"
            "where: a=1\n"
            "from: 2015-09-12T00:00:00.000000Z\n"
            "to: 2015-09-13T00:00:00.500000Z\n"
            "id: i\n"
            "merge: m=array(v,5)\n"
            "merge: s=concat(v,\"\\\\n\\\\\\\\\")\n"
            "rest: first\n"
            "raw: 7\n"
            "raw-last: 8\n");
}

}  // namespace
}  // namespace pleat
