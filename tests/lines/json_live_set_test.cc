// JsonLiveSet beside its lines, which tests/stories tells: specs, the hook that looks at instants
// before a line passes them, and what it says of unusual lines.
#include <pleat/json_live_set.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pleat/json.h>

#include "tests/lines/lines.h"
#include "tests/support/words.h"

namespace pleat {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using std::chrono_literals::operator""s;

EngineTime Second(int64_t n) { return FromUnix(std::chrono::seconds(n)); }

// The spec of options such as "--key k --ttl 5s".
LiveSetSpec LiveSetSpecOf(const std::string& text) {
  LiveSetSpec spec;
  const Words words = WordsOf(text);
  for (size_t i = 0; i + 1 < words.size(); i += 2) {
    const absl::Status status = SetOption(spec, words[i].substr(2), words[i + 1]);
    EXPECT_TRUE(status.ok()) << status.message();
  }
  return spec;
}

const std::string kUsual = "--key s --member m --ttl 10s --time t --time-unit s ";

struct Harness {
  explicit Harness(const std::string& more = "")
      : engine(*Engine::Open(EngineOptionsFor(LiveSetSpecOf(kUsual + more).event))),
        live_set(*JsonLiveSet::Open(*engine, "lines", LiveSetSpecOf(kUsual + more))) {}

  LineResult Add(std::string_view text) {
    const PaddedLine line(text);
    return live_set->AddLine(line.view(), kBeginningOfTime);
  }

  std::unique_ptr<Engine> engine;
  std::unique_ptr<JsonLiveSet> live_set;
};

// A series, its members and a payload; each is printed as it came first.
TEST(LiveSetNumbers, EqualNumbersAreOneMember) {
  Harness h("--payload p");
  EXPECT_EQ(h.Add(R"({"s":1.0,"m":2,"t":1,"p":1.0})").live_set, LiveSetOutcome::kAdded);
  EXPECT_EQ(h.Add(R"({"s":1,"m":2.0,"t":1,"p":1})").live_set, LiveSetOutcome::kDuplicate);
  EXPECT_EQ(h.Add(R"({"s":1,"m":20e-1,"t":2,"p":10e-1})").live_set, LiveSetOutcome::kRefreshed);
  EXPECT_EQ(h.Add(R"({"s":10e-1,"m":3.50,"t":3})").live_set, LiveSetOutcome::kAdded);
  EXPECT_EQ(h.Add(R"({"s":1,"m":3.5,"t":4})").live_set, LiveSetOutcome::kRefreshed);
  EXPECT_EQ(h.Add(R"({"s":1,"m":"2","t":4})").live_set, LiveSetOutcome::kAdded);
  std::string live;
  h.live_set->WriteLive([&](std::string_view lines) { live += lines; });
  EXPECT_EQ(std::count(live.begin(), live.end(), '\n'), 3);
  EXPECT_THAT(live, HasSubstr(R"({"s":1.0,"m":2,)"));
  EXPECT_THAT(live, HasSubstr(R"({"s":1.0,"m":3.50,)"));
  EXPECT_THAT(live, HasSubstr(R"({"s":1.0,"m":"2",)"));
}

TEST(LiveSetSpec, OptionsMakeTheSameSpecAgain) {
  const LiveSetSpec spec = LiveSetSpecOf(
      kUsual +
      "--ttl-path l --refresh first --payload p.q --version v --remove-when g=1 --reorder 1s "
      "--future-limit 1h --max-series 3 --max-members 4 --max-memory 5000 --on-limit drop");
  LiveSetSpec again;
  for (const auto& [name, text] : OptionsOf(spec)) EXPECT_TRUE(SetOption(again, name, text).ok());
  EXPECT_EQ(OptionsOf(again), OptionsOf(spec));
  EXPECT_EQ(OptionsOf(spec).size(), 16u);
  EXPECT_TRUE(absl::IsNotFound(SetOption(again, "quiet", "1m")));
}

TEST(LiveSetSpec, ValidateNamesTheOption) {
  const auto message = [](const LiveSetSpec& spec) {
    return std::string(Validate(spec).message());
  };
  LiveSetSpec spec = LiveSetSpecOf(kUsual);
  EXPECT_EQ(message(spec), "");
  spec.live_set.ttl = -1s;
  EXPECT_THAT(message(spec), HasSubstr("--ttl: "));
  spec = LiveSetSpecOf(kUsual);
  spec.member.id[0].path = "a..b";
  EXPECT_THAT(message(spec), HasSubstr("--member: "));
  spec = LiveSetSpecOf(kUsual);
  spec.member.remove_when = {.kind = Condition::Kind::kNot};
  EXPECT_THAT(message(spec), HasSubstr("--remove-when: "));
  spec = LiveSetSpecOf(kUsual);
  spec.live_set.limits.max_members = 0;
  EXPECT_THAT(message(spec), HasSubstr("--max-members: "));
  spec = LiveSetSpecOf(kUsual);
  spec.member.id[0].name = "\xff";
  EXPECT_THAT(message(spec), HasSubstr("is not UTF-8"));
}

TEST(JsonLiveSet, LooksAtAnInstantBeforeALinePassesIt) {
  Harness h("--remove-when g=1");
  std::vector<int64_t> seen;
  h.live_set->SetOnTime([&](EngineTime now, size_t) {
    seen.push_back(std::chrono::floor<std::chrono::seconds>(now.time_since_epoch()).count());
    EXPECT_LT(h.engine->now(), now);
    return Second(seen.back() / 10 * 10 + 10);
  });
  h.Add(R"({"s":1,"m":1,"t":1})");  // the first line sets time; there was nothing to look at
  h.Add(R"({"s":1,"m":1,"t":2})");
  h.Add(R"({"s":1,"m":1,"t":9})");
  h.Add(R"({"s":1,"m":1,"t":10,"g":1})");
  h.Add(R"({"s":1,"m":1,"t":5})");
  h.Add(R"({"s":1,"m":1})");
  h.Add(R"({"s":1,"m":1,"t":35})");
  EXPECT_THAT(seen, ElementsAre(2, 10, 35));
}

TEST(JsonLiveSet, SaysWhichLineMovesTime) {
  Harness h("--remove-when g=1");
  std::vector<size_t> seen;
  h.live_set->SetOnTime([&](EngineTime now, size_t line) {
    seen.push_back(line);
    return now;
  });
  JsonLines lines(h.live_set->plan());
  const PaddedLine text(
      "{\"s\":1,\"m\":1,\"t\":1}\nbad\n{\"s\":1,\"m\":1,\"t\":2}\n\n"
      "{\"s\":1,\"m\":1,\"t\":9,\"g\":1}\n{\"s\":1,\"m\":1,\"t\":12}\n");
  lines.Read(text.view());
  h.live_set->Add(lines, SIZE_MAX, kBeginningOfTime, [](const UnusualLine&) { return true; });
  EXPECT_THAT(seen, ElementsAre(2, 4, 5));
}

TEST(JsonLiveSet, ReadLinesStopWhereTheCallerSaysSo) {
  Harness h("--version v --payload p");
  JsonLines lines(h.live_set->plan());
  const PaddedLine text(
      "{\"s\":1,\"m\":1,\"t\":1,\"v\":1}\nbad\n"
      "{\"s\":1,\"m\":1,\"t\":1,\"v\":1,\"p\":2}\n{\"s\":1,\"m\":2,\"t\":1}\n");
  lines.Read(text.view());
  std::vector<std::string> reasons;
  const auto on_unusual = [&](const UnusualLine& line) {
    reasons.push_back(std::to_string(line.index) + ' ' + std::string(line.result.reason));
    return false;
  };
  while (lines.left() > 0) h.live_set->Add(lines, SIZE_MAX, kBeginningOfTime, on_unusual);
  EXPECT_THAT(reasons, ElementsAre("1 not a JSON object",
                                   "2 member 1 of key 1 has another payload with the same stamp "
                                   "and version"));
  EXPECT_EQ(h.live_set->counts(), (LineCounts{.lines = 4, .events = 3, .invalid = 1}));
  EXPECT_EQ(h.live_set->ledger().added, 2u);
}

TEST(JsonLiveSet, SaysWhatBecameOfALine) {
  Harness h("--remove-when g=1 --ttl-path l");
  EXPECT_EQ(h.Add(R"({"s":1,"m":1,"t":100})").live_set, LiveSetOutcome::kAdded);
  EXPECT_EQ(h.Add(R"({"s":1,"m":1,"t":101})").live_set, LiveSetOutcome::kRefreshed);
  EXPECT_EQ(h.Add(R"({"s":1,"m":2,"t":80})").live_set, LiveSetOutcome::kLate);
  EXPECT_EQ(h.Add(R"({"s":1,"m":1,"t":101,"g":1})").kind, LineResult::Kind::kControl);
  EXPECT_EQ(h.Add(R"({"s":1,"m":1,"t":100})").live_set, LiveSetOutcome::kTombstoned);
  EXPECT_EQ(h.Add("  ").kind, LineResult::Kind::kBlank);
  EXPECT_EQ(h.Add("{}").reason, "key \"s\" is missing");
  EXPECT_THAT(h.live_set->absent_paths(), ElementsAre(OptionPath{"ttl-path", "l"}));
  EXPECT_EQ(h.live_set->stamps().out_of_order, 2u);
}

TEST(JsonLiveSet, WhoTakesNoChangesForLongIsTold) {
  LiveSetSpec spec = LiveSetSpecOf(kUsual);
  spec.live_set.max_changes = 2;
  const auto engine = *Engine::Open(EngineOptionsFor(spec.event));
  const auto live_set = *JsonLiveSet::Open(*engine, "lines", spec);
  live_set->WatchChanges();
  for (int i = 0; i < 3; ++i) {
    const PaddedLine line(R"({"s":1,"t":1,"m":)" + std::to_string(i) + "}");
    live_set->AddLine(line.view(), kBeginningOfTime);
  }
  const auto ignore = [](std::string_view) {};
  EXPECT_TRUE(absl::IsResourceExhausted(live_set->TakeChanges(false, ignore)));
}

}  // namespace
}  // namespace pleat
