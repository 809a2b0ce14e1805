// JsonRollup beside its lines, which tests/stories tells: specs, what it says of unusual lines, and
// how it hands out what it has.
#include <pleat/json_rollup.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pleat/json.h>

#include "engine/lines/feed/held_windows.h"
#include "tests/lines/lines.h"
#include "tests/support/words.h"

namespace pleat {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using std::chrono_literals::operator""s;

// The spec of options such as "--key k --window 5s".
RollupSpec RollupSpecOf(const std::string& text) {
  RollupSpec spec;
  const Words words = WordsOf(text);
  for (size_t i = 0; i + 1 < words.size(); i += 2) {
    const absl::Status status = SetOption(spec, words[i].substr(2), words[i + 1]);
    EXPECT_TRUE(status.ok()) << status.message();
  }
  return spec;
}

const std::string kUsualRollup =
    "--key k --window 10s --allowed-lateness 5s --time t --time-unit s --value v --id i ";

struct RollupHarness {
  explicit RollupHarness(const std::string& more = "")
      : engine(*Engine::Open(EngineOptionsFor(RollupSpecOf(kUsualRollup + more).event))),
        rollup(*JsonRollup::Open(*engine, "lines", RollupSpecOf(kUsualRollup + more))) {}

  LineResult Add(std::string_view text) {
    const PaddedLine line(text);
    return rollup->AddLine(line.view(), kBeginningOfTime);
  }
  std::string Pop(size_t max = SIZE_MAX) {
    std::string out;
    rollup->Pop(max, [&](std::string_view lines) { out += lines; });
    return out;
  }
  std::string Scan() const {
    std::string out;
    rollup->Scan([&](std::string_view lines) { out += lines; });
    return out;
  }

  std::unique_ptr<Engine> engine;
  std::unique_ptr<JsonRollup> rollup;
};

TEST(RollupSpec, OptionsMakeTheSameSpecAgain) {
  const RollupSpec spec = RollupSpecOf(
      kUsualRollup +
      "--window 20s,30s --margin 1s --on-late clamp --reorder 1s --future-limit 1h --max-keys 3 "
      "--max-memory 5000 --emission-id true");
  EXPECT_THAT(spec.rollup.windows, ElementsAre(10s, 20s, 30s));
  RollupSpec again;
  for (const auto& [name, text] : OptionsOf(spec)) EXPECT_TRUE(SetOption(again, name, text).ok());
  EXPECT_EQ(OptionsOf(again), OptionsOf(spec));
  EXPECT_EQ(OptionsOf(spec).size(), 16u);
  EXPECT_TRUE(absl::IsNotFound(SetOption(again, "quiet", "1m")));
  EXPECT_TRUE(absl::IsInvalidArgument(SetOption(again, "window", "1m,soon")));
  EXPECT_EQ(OptionsOf(again), OptionsOf(spec)) << "nothing of a list that is wrong";
}

TEST(RollupSpec, ValidateNamesTheOption) {
  const auto message = [](const RollupSpec& spec) { return std::string(Validate(spec).message()); };
  RollupSpec spec = RollupSpecOf(kUsualRollup);
  EXPECT_EQ(message(spec), "");
  spec.rollup.windows = {-1s};
  EXPECT_THAT(message(spec), HasSubstr("--window: "));
  spec = RollupSpecOf(kUsualRollup);
  spec.rollup.allowed_lateness = -1s;
  EXPECT_THAT(message(spec), HasSubstr("--allowed-lateness: "));
  spec = RollupSpecOf(kUsualRollup);
  spec.rollup.margin = -1s;
  EXPECT_THAT(message(spec), HasSubstr("--margin: "));
  spec = RollupSpecOf(kUsualRollup);
  spec.value = "a..b";
  EXPECT_THAT(message(spec), HasSubstr("--value: "));
  spec = RollupSpecOf(kUsualRollup);
  spec.id = "a..b";
  EXPECT_THAT(message(spec), HasSubstr("--id: "));
  spec = RollupSpecOf(kUsualRollup);
  spec.rollup.limits.max_keys = 0;
  EXPECT_THAT(message(spec), HasSubstr("--max-keys: "));
  spec = RollupSpecOf(kUsualRollup);
  spec.event.key[0].name = "\xff";
  EXPECT_THAT(message(spec), HasSubstr("is not UTF-8"));
}

TEST(RollupSpec, WhatIsValidOpens) {
  for (const std::string more :
       {"--allowed-lateness 0", "--allowed-lateness 100000000d --margin 100000000d",
        "--window 20s,30s,40s,50s,60s,70s,80s", "--window 100000000d", "--on-late correct",
        "--max-keys 1 --max-memory 1"}) {
    SCOPED_TRACE(more);
    const RollupSpec spec = RollupSpecOf(kUsualRollup + more);
    const auto engine = *Engine::Open(EngineOptionsFor(spec.event));
    const auto rollup = JsonRollup::Open(*engine, "lines", spec);
    EXPECT_TRUE(rollup.ok()) << rollup.status();
    EXPECT_TRUE(absl::IsAlreadyExists(JsonRollup::Open(*engine, "lines", spec).status()));
  }
}

TEST(JsonRollup, SaysWhatBecameOfALine) {
  RollupHarness h("--on-late correct");
  EXPECT_EQ(h.Add(R"({"k":1,"t":100,"i":1,"v":1})").add, AddOutcome::kAdded);
  EXPECT_EQ(h.Add(R"({"k":1,"t":100,"i":1,"v":1})").add, AddOutcome::kDuplicate);
  const LineResult conflict = h.Add(R"({"k":1,"t":100,"i":1,"v":2})");
  EXPECT_EQ(conflict.add, AddOutcome::kConflict);
  EXPECT_EQ(conflict.reason, "id 1 of key 1 was seen before with another value");
  EXPECT_EQ(h.Add(R"({"k":1,"t":90,"i":2,"v":1})").add, AddOutcome::kCorrected);
  EXPECT_EQ(h.Add(R"({"k":1,"t":1,"i":3,"v":1})").add, AddOutcome::kLateUnknown);
  EXPECT_EQ(h.Add("  ").kind, LineResult::Kind::kBlank);
  EXPECT_EQ(h.Add("{}").reason, "key \"k\" is missing");
  EXPECT_EQ(h.Add(R"({"k":1,"t":100})").reason, "id \"i\" is missing");
  EXPECT_EQ(h.rollup->counts(), (LineCounts{.lines = 7, .events = 5, .invalid = 2}));
  EXPECT_EQ(h.rollup->stamps().out_of_order, 2u);
  EXPECT_THAT(h.rollup->absent_paths(), ElementsAre());
}

TEST(JsonRollup, ReadLinesStopWhereTheCallerSaysSo) {
  RollupHarness h;
  JsonLines lines(h.rollup->plan());
  const PaddedLine text(
      "{\"k\":1,\"t\":1,\"i\":1}\nbad\n{\"k\":1,\"t\":1,\"i\":1,\"v\":2}\n"
      "{\"k\":1,\"t\":1,\"i\":2,\"v\":\"two\"}\n");
  lines.Read(text.view());
  std::vector<std::string> reasons;
  const auto on_unusual = [&](const UnusualLine& line) {
    reasons.push_back(std::to_string(line.index) + ' ' + std::string(line.result.reason));
    return false;
  };
  while (lines.left() > 0) h.rollup->Add(lines, SIZE_MAX, kBeginningOfTime, on_unusual);
  EXPECT_THAT(reasons, ElementsAre("1 not a JSON object",
                                   "2 id 1 of key 1 was seen before with another value"));
  EXPECT_EQ(h.rollup->counts(),
            (LineCounts{.lines = 4, .events = 3, .invalid = 1, .mismatched = 1}));
  EXPECT_EQ(h.rollup->ledger().added, 2u);
}

// The windows end at 10 s, 20 s and so on; the sum of each longer one is behind those that it has.
TEST(JsonRollup, NumbersInQuotesAddAndAWindowWithoutANumberHasNoSum) {
  RollupHarness h("--window 20s");
  h.Add(R"({"k":1,"t":1,"i":1,"v":"1200"})");
  h.Add(R"({"k":1,"t":6,"i":2,"v":"300"})");
  h.Add(R"({"k":1,"t":11,"i":3,"v":"n/a"})");
  h.Add(R"({"k":1,"t":21,"i":4})");
  h.Add(R"({"k":1,"t":22,"i":5,"v":null})");
  h.Add(R"({"k":1,"t":31,"i":6,"v":[1]})");
  h.Add(R"({"k":1,"t":41,"i":7,"v":"-0.5"})");
  h.Add(R"({"k":1,"t":42,"i":8,"v":true})");
  EXPECT_THAT(h.Scan(), HasSubstr(R"("count":2,"sum":-0.5,"reason":"open")"));
  h.rollup->CloseAll();
  std::string sums;
  for (std::string line = h.Pop(1); !line.empty(); line = h.Pop(1)) {
    const size_t at = line.find("\"count\"");
    sums += line.substr(at, line.find(",\"reason") - at) + "\n";
  }
  EXPECT_EQ(sums,
            "\"count\":2,\"sum\":1500\n"
            "\"count\":1,\"sum\":null\n"
            "\"count\":3,\"sum\":1500\n"
            "\"count\":2,\"sum\":null\n"
            "\"count\":1,\"sum\":null\n"
            "\"count\":3,\"sum\":null\n"
            "\"count\":2,\"sum\":-0.5\n"
            "\"count\":2,\"sum\":-0.5\n");
  EXPECT_EQ(h.rollup->counts().mismatched, 3u);
}

// Windows that were set aside to make room keep that they have no sum.
TEST(JsonRollup, AWindowWithoutANumberIsStoredAndSetAside) {
  HeldWindows held;
  CountedWindow window{kBeginningOfTime, kBeginningOfTime + 10s, {.count = 2, .none = true}};
  ClosedGroup emission;
  emission.key = "1";
  emission.first = emission.last = emission.closed = kBeginningOfTime;
  emission.state = &window;
  held.Add(emission);
  window.amount = {.count = 1, .sum = INT64_MAX, .real = 1e19, .saturated = true};
  held.Add(emission);
  FieldWriter out;
  held.Save(out);
  HeldWindows again;
  FieldReader in(out.bytes());
  again.Load(in);
  ASSERT_TRUE(in.done());
  std::vector<Amount> amounts;
  again.Take(SIZE_MAX, [&](std::span<const ClosedGroup> groups) {
    for (const ClosedGroup& group : groups)
      amounts.push_back(static_cast<const CountedWindow*>(group.state)->amount);
  });
  EXPECT_THAT(amounts, ElementsAre(Amount{.count = 2, .none = true}, window.amount));
}

TEST(JsonRollup, PopsAFewLinesAtATimeInOrder) {
  RollupHarness few;
  RollupHarness all;
  for (int i = 0; i < 1000; ++i) {
    const std::string line = "{\"k\":\"" + std::to_string(i % 7) +
                             "\",\"t\":" + std::to_string(i / 3) + ",\"i\":" + std::to_string(i) +
                             ",\"v\":1}";
    few.Add(line);
    all.Add(line);
  }
  all.rollup->CloseAll();
  few.rollup->CloseAll();
  std::string out;
  for (std::string part = few.Pop(3); !part.empty(); part = few.Pop(3)) out += part;
  EXPECT_EQ(out, all.Pop());
  EXPECT_EQ(all.Pop(), "");
  EXPECT_TRUE(all.rollup->ledger().Balances());
}

// Windows that nobody has popped are not in the way of an event.
TEST(JsonRollup, MemoryRefusesTheSameEventsWheneverWindowsArePopped) {
  RollupHarness popped("--max-memory 12Ki");
  RollupHarness left("--max-memory 12Ki");
  std::string out;
  for (int i = 0; i < 2000; ++i) {
    const std::string line = "{\"k\":\"" + std::string(60, 'x') + std::to_string(i % 300) +
                             "\",\"t\":" + std::to_string(i / 4) + ",\"i\":" + std::to_string(i) +
                             ",\"v\":1}";
    ASSERT_EQ(left.Add(line).add, popped.Add(line).add) << line;
    out += popped.Pop();
  }
  EXPECT_GT(popped.rollup->ledger().over_byte_limit, 0u);
  EXPECT_GT(popped.rollup->ledger().added, 1000u);
  popped.rollup->CloseAll();
  left.rollup->CloseAll();
  EXPECT_EQ(left.Pop(), out + popped.Pop());
}

TEST(JsonRollup, ScanShowsWhatCloseAllWouldCloseAndChangesNothing) {
  RollupHarness h("--window 20s");
  for (const int t : {11, 8, 12, 9, 7}) {
    h.Add("{\"k\":" + std::to_string(t % 3) + ",\"t\":" + std::to_string(t) +
          ",\"i\":" + std::to_string(t) + ",\"v\":0.5}");
  }
  std::string open = h.Scan();
  EXPECT_EQ(h.Scan(), open);
  EXPECT_THAT(open, HasSubstr("\"sum\":0.5,\"reason\":\"open\"}\n"));
  h.rollup->CloseAll();
  for (size_t at = open.find("\"open\""); at != std::string::npos; at = open.find("\"open\"")) {
    open.replace(at, 6, "\"end\"");
  }
  EXPECT_EQ(h.Pop(), open);
  EXPECT_EQ(h.Scan(), "");
}

TEST(JsonRollup, OnArrivalTimeTheCallerStampsAndMovesTime) {
  RollupSpec spec = RollupSpecOf("--key k --window 10s --allowed-lateness 5s");
  const auto engine = *Engine::Open(EngineOptionsFor(spec.event));
  const auto rollup = *JsonRollup::Open(*engine, "lines", spec);
  const EngineTime start = FromUnix(1'500'000'000s);
  engine->Advance(start);
  const PaddedLine line(R"({"k":1})");
  EXPECT_EQ(rollup->AddLine(line.view(), start).add, AddOutcome::kAdded);
  std::string out;
  const auto append = [&](std::string_view lines) { out += lines; };
  engine->Advance(start + 14s);
  EXPECT_EQ(rollup->Pop(SIZE_MAX, append), 0u);
  engine->Advance(start + 15s);
  EXPECT_EQ(rollup->Pop(SIZE_MAX, append), 1u);
  EXPECT_EQ(out,
            "{\"k\":1,\"start\":\"2017-07-14T02:40:00.000000Z\","
            "\"end\":\"2017-07-14T02:40:10.000000Z\",\"count\":1,\"reason\":\"final\"}\n");
}

}  // namespace
}  // namespace pleat
