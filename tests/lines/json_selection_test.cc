// Which lines are events: `where`, `from` and `to` of an EventSpec, for every collection that takes lines.
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pleat/json.h>
#include <pleat/json_analysis.h>
#include <pleat/json_live_set.h>
#include <pleat/json_rollup.h>

#include "tests/lines/drawn_events.h"
#include "tests/lines/json_harness.h"
#include "tests/support/seeds.h"
#include "tests/support/show.h"

namespace pleat {
namespace {

using testing::HasSubstr;
using Kind = LineResult::Kind;

EngineTime AtSecondOf1970(int64_t n) { return FromUnix(std::chrono::seconds(n)); }

TEST(JsonSelection, AConditionIsTestedBeforeTimeAndKey) {
  JsonHarness harness("--key k --time t --time-unit s --where v=1");
  EXPECT_EQ(harness.Fold(R"({"v":2})").kind, Kind::kExcluded);
  EXPECT_EQ(harness.Fold(R"({"k":[],"t":"x"})").kind, Kind::kExcluded);
  EXPECT_EQ(harness.Fold(R"({"v":1,"t":5})").reason, "key \"k\" is missing");
  EXPECT_EQ(harness.Fold(R"({"v":1,"k":1})").reason, "event time \"t\" is missing");
  EXPECT_EQ(harness.Fold(R"({"v":2,"v":2})").kind, Kind::kInvalid);
  EXPECT_EQ(harness.Fold("{\"v\":2").kind, Kind::kInvalid);
  EXPECT_EQ(harness.Fold(R"({"v":1.0,"k":1,"t":5})").kind, Kind::kEvent);
  EXPECT_EQ(harness.folder().counts(),
            (LineCounts{.lines = 7, .events = 1, .invalid = 4, .excluded = 2}));
  EXPECT_EQ(harness.engine().now(), AtSecondOf1970(5));
}

TEST(JsonSelection, ARangeIsHalfOpen) {
  JsonHarness harness(
      "--key k --time t --time-unit s --from 1970-01-02 --to 1970-01-02T00:00:02.5Z");
  const std::pair<const char*, Kind> times[] = {
      {"86399.999999", Kind::kExcluded}, {"86400", Kind::kEvent},
      {"86402.499999", Kind::kEvent},    {"86402.5", Kind::kExcluded},
      {"1e9", Kind::kExcluded},          {"\"1970-01-02T00:00:01Z\"", Kind::kEvent},
      {"null", Kind::kInvalid},          {"1e99", Kind::kInvalid}};
  for (const auto& [time, kind] : times) {
    EXPECT_EQ(harness.Fold(std::string(R"({"k":1,"t":)") + time + "}").kind, kind) << time;
  }
  EXPECT_EQ(harness.Fold(R"({"t":1e9})").kind, Kind::kExcluded);  // no key
  EXPECT_EQ(harness.Fold(R"({"t":86401})").reason, "key \"k\" is missing");
  EXPECT_EQ(harness.folder().counts().excluded, 4u);
  EXPECT_EQ(harness.folder().stamps().newest, FromUnix(std::chrono::microseconds(86'402'499'999)));
}

TEST(JsonSelection, ARangeMayHaveOneEnd) {
  const auto kind = [](const std::string& range, const char* time) {
    JsonHarness harness("--key k --time t --time-unit s " + range);
    return harness.Fold(std::string(R"({"k":1,"t":)") + time + "}").kind;
  };
  EXPECT_EQ(kind("--from 1970-01-02", "86399"), Kind::kExcluded);
  EXPECT_EQ(kind("--from 1970-01-02", "86400"), Kind::kEvent);
  EXPECT_EQ(kind("--to 1970-01-02", "86399"), Kind::kEvent);
  EXPECT_EQ(kind("--to 1970-01-02", "86400"), Kind::kExcluded);
}

TEST(JsonSelection, OptionsThatMakeNoSenseAreNamed) {
  const auto error = [](const std::string& options) {
    return std::string(Validate(SpecOf(options)).message());
  };
  EXPECT_EQ(error("--key k --from 2015-09-12"), "--from: needs --time");
  EXPECT_EQ(error("--key k --to 2015-09-12"), "--to: needs --time");
  EXPECT_EQ(error("--key k --time t --from 2015-09-12 --to 2015-09-12"),
            "--to: must be after --from: events at --to are excluded");
  EXPECT_EQ(error("--key k --time t --from 2015-09-12 --to 2015-09-13"), "");
}

TEST(JsonSelection, AnInstantIsReadAsTheTimesOfEvents) {
  const auto read = [](const std::string& text, const Options& options) {
    FoldSpec spec;
    for (const auto& [name, value] : options) EXPECT_TRUE(SetOption(spec, name, value).ok());
    const absl::Status status = SetOption(spec, "from", text);
    return status.ok() ? FormatTimestamp(spec.event.from) : std::string(status.message());
  };
  const std::string at = "2015-09-12T06:30:00.000000Z";
  const Options berlin = {{"time-zone", "Europe/Berlin"}};
  for (const char* text :
       {"2015-09-12T06:30:00Z", "2015-09-12 08:30:00", "2015-09-12T08:30:00,0",
        "2015-09-12 07:30:00 +01", "12/Sep/2015:08:30:00", "[12/Sep/2015:06:30:00 +0000]",
        "Sat, 12 Sep 2015 08:30", "12 Sep 2015 06:30:00 GMT (summer)"}) {
    EXPECT_EQ(read(text, berlin), at) << text;
  }
  EXPECT_EQ(read("2015-09-12 06:30:00", {}), at);
  EXPECT_EQ(read("1442039400", {{"time-unit", "s"}}), at);
  EXPECT_EQ(
      read("12.09.2015 8 Uhr 30", {{"time-format", "%d.%m.%Y %H Uhr %M"}, {"time-zone", "+02:00"}}),
      at);
  EXPECT_EQ(read("1442039400", {{"time-format", "%s"}}), at);
  // What was read before there was a format, or a unit, still is.
  const Options others[] = {{{"time-format", "%Y-%d-%m"}}, {{"time-unit", "ns"}}};
  for (const Options& other : others) {
    EXPECT_EQ(read("2015-09-12T08:30:00+02:00", other), at);
    EXPECT_EQ(read("2015-09-12", other), "2015-09-12T00:00:00.000000Z");
    EXPECT_EQ(read("12/Sep/2015:06:30:00", other), at);
  }
  // A date is its beginning in the zone; of a midnight that comes twice, the first.
  for (const char* text : {"2015-09-12", "12/Sep/2015", "12 Sep 2015", "Sat, 12 Sep 2015"}) {
    EXPECT_EQ(read(text, {}), "2015-09-12T00:00:00.000000Z") << text;
    EXPECT_EQ(read(text, berlin), "2015-09-11T22:00:00.000000Z") << text;
  }
  EXPECT_EQ(read("2015-11-01", {{"time-zone", "America/Havana"}}), "2015-11-01T04:00:00.000000Z");
}

TEST(JsonSelection, AnInstantThatIsNoneSaysWhatIsMissing) {
  const auto error = [](const std::string& text, const Options& options = {}) {
    FoldSpec spec;
    for (const auto& [name, value] : options) EXPECT_TRUE(SetOption(spec, name, value).ok());
    const absl::Status status = SetOption(spec, "to", text);
    EXPECT_FALSE(status.ok()) << text;
    EXPECT_EQ(spec.event.to, kNever);
    return std::string(status.message());
  };
  const std::string no_time =
      " is not a time such as 2015-09-12T08:30:00Z or 2015-09-12 08:30:00, "
      "nor a date such as 2015-09-12";
  EXPECT_EQ(error("now"), "--to: \"now\"" + no_time);
  EXPECT_EQ(error(""), "--to: \"\"" + no_time);
  EXPECT_EQ(error("12.9.2015", {{"time-format", "%F"}}),
            "--to: \"12.9.2015\"" + no_time + ", nor written as --time-format states");
  EXPECT_EQ(error("2015"), "--to: \"2015\" lacks the month and the day, as in 2015-01-01");
  EXPECT_EQ(error("2015-09"), "--to: \"2015-09\" lacks the day, as in 2015-09-01");
  EXPECT_EQ(error("2015-09-12T"),
            "--to: \"2015-09-12T\" lacks the time of day, as in 2015-09-12T00:00:00");
  EXPECT_EQ(error("2015-09-12 08"),
            "--to: \"2015-09-12 08\" lacks the minute and the second, as in 2015-09-12 08:00:00");
  EXPECT_EQ(error("2015-09-12T08:30+02:00"),
            "--to: \"2015-09-12T08:30+02:00\" lacks the second, as in 2015-09-12T08:30:00+02:00");
  EXPECT_EQ(error("12/Sep/2015:08"),
            "--to: \"12/Sep/2015:08\" lacks the minute and the second, as in 12/Sep/2015:08:00:00");
  EXPECT_EQ(error("12/Sep/2015:08:30"),
            "--to: \"12/Sep/2015:08:30\" lacks the second, as in 12/Sep/2015:08:30:00");
  EXPECT_EQ(error("1442039400"),
            "--to: \"1442039400\" is a number: state its unit with --time-unit, such as "
            "--time-unit s");
  EXPECT_THAT(error("1e30", {{"time-unit", "s"}}), HasSubstr(" is outside the years 0001 to 9999"));
  for (const char* none : {"2015-09-31", "31/Sep/2015", "2015-09-12T24:00:00Z"}) {
    EXPECT_THAT(error(none), HasSubstr("\" is a date or a time that does not exist")) << none;
  }
  EXPECT_THAT(error("Sun, 12 Sep 2015"), HasSubstr("\" is on another day of the week"));
  EXPECT_THAT(error("2015-09-12T08:30:60Z"), HasSubstr(" is a leap second"));
  EXPECT_THAT(error("0000-12-31"), HasSubstr(" is outside the years 0001 to 9999"));
  // A spec that was not checked yet.
  FoldSpec spec;
  spec.event.time_zone = "Mars";
  EXPECT_THAT(std::string(SetOption(spec, "to", "2015-09-12").message()),
              HasSubstr("\"Mars\" is not a time zone"));
}

TEST(EventSpec, TakesTheOptionsThatEverySpecHas) {
  FoldSpec fold;
  for (const auto& [name, text] :
       OptionsIn("--key a --key n=b.c --time t --time-unit ms --time-zone +01:00 --reorder 30s"
                 " --time-format %d.%m.%Y --future-limit 1d --where a=1 --from 2015-09-12"
                 " --to 2015-09-13")) {
    EXPECT_TRUE(SetOption(fold.event, name, text).ok()) << name;
  }
  EXPECT_EQ(OptionsOf(fold),
            OptionsIn("--key a --key n=b.c --time t --time-unit ms --time-zone +01:00"
                      " --time-format %d.%m.%Y --reorder 30s --future-limit 1d --where a=1"
                      " --from 2015-09-11T23:00:00.000000Z --to 2015-09-12T23:00:00.000000Z"));
  EXPECT_EQ(SetOption(fold.event, "reorder", "x").message(),
            SetOption(fold, "reorder", "x").message());
  EXPECT_TRUE(absl::IsNotFound(SetOption(fold.event, "quiet", "1m")));
}

TEST(JsonSelection, ADocumentMayStateTheZoneBehindTheRange) {
  const absl::StatusOr<FoldSpec> spec =
      ParseFoldSpec(R"({"to":"2015-09-13","from":"2015-09-12","time_zone":"+01:00"})");
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(FormatTimestamp(spec->event.from), "2015-09-11T23:00:00.000000Z");
  EXPECT_EQ(FormatTimestamp(spec->event.to), "2015-09-12T23:00:00.000000Z");
}

TEST(JsonSelection, CountsNoFurtherThanReadingHasCome) {
  JsonHarness harness("--key k --where v=1");
  std::string text = "{}\n{\"k\":1,\"v\":1}\n{}\nbad\n{}\n{}\n";
  const size_t size = text.size();
  text.resize(size + kLinePaddingBytes);
  harness.folder().FoldLines(std::string_view(text).substr(0, size), kBeginningOfTime,
                             [](const UnusualLine& line) {
                               EXPECT_EQ(line.index, 3u);
                               return false;
                             });
  EXPECT_EQ(harness.folder().counts(),
            (LineCounts{.lines = 4, .events = 1, .invalid = 1, .excluded = 2}));
}

// --- As if they were not there

struct DrawnLine {
  std::string text;
  bool wanted;
};

// The lines that are not wanted have another "w", or a stamp out of the range, and now and then nothing
// else that an event needs.
std::vector<DrawnLine> DrawnLines(DrawnEvents& events, bool by_time) {
  std::vector<DrawnLine> lines;
  int64_t time = 1'000'000'000;
  for (size_t left = 200; left > 0; --left) {
    time += static_cast<int64_t>(events.Draw(4'000));
    const bool wanted = events.Draw(3) != 0;
    const int64_t stamp = wanted || !by_time    ? time
                          : events.Draw(2) == 0 ? 999'999'999
                                                : 2'000'000'000;
    std::string text = "{\"w\":" + std::string(wanted || by_time ? "1" : "2");
    if (wanted || events.Draw(4) != 0) text += ",\"k\":" + std::to_string(events.Draw(9));
    if (wanted || by_time || events.Draw(4) != 0) text += ",\"t\":" + std::to_string(stamp);
    lines.push_back(
        {text + ",\"m\":" + std::to_string(events.Draw(5)) + events.Members() + "}", wanted});
  }
  return lines;
}

std::string TextOf(const std::vector<DrawnLine>& lines, bool all) {
  std::string text;
  for (const DrawnLine& line : lines) {
    if (all || line.wanted) text += line.text + "\n";
  }
  return text;
}

constexpr const char* kSelections[] = {" --where w=1",
                                       " --from 1970-01-01T00:16:40Z --to 1970-01-01T00:33:20Z"};
constexpr const char* kOnEventTime = " --time t --time-unit us --reorder 5ms";

template <class Spec>
Spec SpecFrom(const std::string& options) {
  Spec spec;
  for (const auto& [name, text] : OptionsIn(options)) {
    EXPECT_TRUE(SetOption(spec, name, text).ok()) << name;
  }
  return spec;
}

// Each takes a text and says all that there is to say of the result.

std::string Folded(const std::string& options, std::string_view text, LineCounts& counts) {
  JsonHarness harness(SpecFrom<FoldSpec>(options));
  JsonLines lines(harness.folder().plan());
  lines.Read(text);
  while (harness.folder().Fold(lines, 7, {}, [](const UnusualLine&) { return true; }) > 0) {
  }
  counts = harness.folder().counts();
  return harness.CloseAndPop() + ShowColumns(harness.folder().ledger()) +
         FormatTimestamp(harness.engine().now()) +
         std::to_string(harness.folder().stamps().out_of_order);
}

std::string InALiveSet(const std::string& options, std::string_view text, LineCounts& counts) {
  const auto spec = SpecFrom<LiveSetSpec>(options);
  const auto engine = *Engine::Open(EngineOptionsFor(spec.event));
  const auto live_set = *JsonLiveSet::Open(*engine, "lines", spec);
  live_set->WatchChanges();
  JsonLines lines(live_set->plan());
  lines.Read(text);
  while (live_set->Add(lines, 7, {}, [](const UnusualLine&) { return true; }) > 0) {
  }
  counts = live_set->counts();
  std::string out = FormatTimestamp(engine->now());
  const auto append = [&](std::string_view written) { out += written; };
  EXPECT_TRUE(live_set->TakeChanges(true, append).ok());
  live_set->WriteLive(append);
  return out;
}

std::string RolledUp(const std::string& options, std::string_view text, LineCounts& counts) {
  const auto spec = SpecFrom<RollupSpec>(options);
  const auto engine = *Engine::Open(EngineOptionsFor(spec.event));
  const auto rollup = *JsonRollup::Open(*engine, "lines", spec);
  JsonLines lines(rollup->plan());
  lines.Read(text);
  while (rollup->Add(lines, 7, {}, [](const UnusualLine&) { return true; }) > 0) {
  }
  counts = rollup->counts();
  std::string out = FormatTimestamp(engine->now());
  const auto append = [&](std::string_view written) { out += written; };
  rollup->Pop(SIZE_MAX, append);
  rollup->Scan(append);
  return out;
}

std::string Analyzed(const std::string& options, std::string_view text, LineCounts& counts) {
  const auto spec = SpecFrom<FoldSpec>(options + " --quiet 1s");
  const auto analyzer = *JsonAnalyzer::Open(spec.event, {});
  JsonLines lines(analyzer->plan());
  lines.Read(text);
  analyzer->Add(lines, [](const UnusualLine&) { return true; });
  counts = analyzer->counts();
  const auto analysis = std::move(*analyzer).Finish();
  std::string out = std::to_string(analysis->events) + " " + std::to_string(analysis->keys);
  for (const AnalysisRow& row : analysis->rows) out += " " + std::to_string(row.folding_ratio);
  return out;
}

using Run = std::string(const std::string& options, std::string_view text, LineCounts& counts);

void ExpectNoTrace(const std::string& options, Run& run) {
  ForEachSeed(1, 20, [&](uint64_t seed) {
    DrawnEvents events(seed);
    const bool by_time = seed % 2 == 1;
    const std::string all = options + (by_time ? kSelections[1] : kSelections[0]);
    const std::vector<DrawnLine> lines = DrawnLines(events, by_time);
    LineCounts with{};
    LineCounts without{};
    const PaddedLine both(TextOf(lines, true));
    const PaddedLine wanted(TextOf(lines, false));
    const std::string result = run(all, both.view(), with);
    EXPECT_EQ(result, run(options, wanted.view(), without));
    EXPECT_FALSE(result.empty());
    EXPECT_GT(with.excluded, 0u);
    EXPECT_EQ(with.events, without.events);
    EXPECT_EQ(with.lines, without.lines + with.excluded);
    EXPECT_EQ(with.mismatched, without.mismatched);
  });
}

TEST(JsonSelection, ExcludedLinesAreAsIfTheyWereNotThere) {
  ExpectNoTrace(
      std::string("--key k --quiet 20ms --merge 'n=count()' --merge 's=sum(n)' --raw-last 3 "
                  "--rest last --emission-id") +
          kOnEventTime,
      Folded);
  ExpectNoTrace(std::string("--key k --member m --ttl 30ms --payload v") + kOnEventTime,
                InALiveSet);
  ExpectNoTrace(
      std::string("--key k --window 10ms --allowed-lateness 20ms --value n") + kOnEventTime,
      RolledUp);
  ExpectNoTrace(std::string("--key k") + kOnEventTime, Analyzed);
}

// A line by itself is counted as one of many.
TEST(JsonSelection, OneLineByItself) {
  const PaddedLine line(R"({"w":2})");
  const auto live_set_spec = SpecFrom<LiveSetSpec>("--key k --member m --ttl 1s --where w=1");
  const auto rollup_spec =
      SpecFrom<RollupSpec>("--key k --window 1s --allowed-lateness 1s --where w=1");
  const auto spec = SpecFrom<FoldSpec>("--key k --time t --where w=1");
  const auto engine = *Engine::Open(EngineOptionsFor(live_set_spec.event));
  const auto live_set = *JsonLiveSet::Open(*engine, "live_set", live_set_spec);
  const auto rollup = *JsonRollup::Open(*engine, "rollup", rollup_spec);
  const auto analyzer = *JsonAnalyzer::Open(spec.event, {});
  EXPECT_EQ(live_set->AddLine(line.view(), {}).kind, Kind::kExcluded);
  EXPECT_EQ(rollup->AddLine(line.view(), {}).kind, Kind::kExcluded);
  EXPECT_EQ(analyzer->AddLine(line.view()).kind, Kind::kExcluded);
  const LineCounts one{.lines = 1, .excluded = 1};
  EXPECT_EQ(live_set->counts(), one);
  EXPECT_EQ(rollup->counts(), one);
  EXPECT_EQ(analyzer->counts(), one);
}

}  // namespace
}  // namespace pleat
