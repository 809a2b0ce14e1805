#include <chrono>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pleat/json.h>

#include "engine/lines/scan/reasons.h"
#include "tests/lines/json_harness.h"

namespace pleat {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using Kind = LineResult::Kind;

EngineTime At(Duration since_epoch) { return FromUnix(since_epoch); }

TEST(JsonFolder, TellsKeysApartByTypeAndValue) {
  JsonHarness harness("--key k --merge 'n=count()' --no-meta");
  for (const char* key :
       {"1", "1.0", R"("1")", "null", R"("null")", "true", R"("")", R"("\u0000")", R"("a")",
        R"("\u0061")", "18446744073709551616", "1e309", "-0", "0", "9007199254740993",
        "9007199254740992", "\"\xc3\xa9\"", "\"e\xcc\x81\""}) {
    EXPECT_EQ(harness.Fold(std::string("{\"k\":") + key + "}").kind, Kind::kEvent) << key;
  }
  EXPECT_EQ(harness.CloseAndPop(),
            "{\"k\":1,\"n\":2}\n{\"k\":\"1\",\"n\":1}\n"
            "{\"k\":null,\"n\":1}\n{\"k\":\"null\",\"n\":1}\n{\"k\":true,\"n\":1}\n"
            "{\"k\":\"\",\"n\":1}\n{\"k\":\"\\u0000\",\"n\":1}\n{\"k\":\"a\",\"n\":2}\n"
            "{\"k\":18446744073709551616,\"n\":1}\n{\"k\":1e309,\"n\":1}\n{\"k\":-0,\"n\":2}\n"
            "{\"k\":9007199254740993,\"n\":1}\n"
            "{\"k\":9007199254740992,\"n\":1}\n{\"k\":\"\xc3\xa9\",\"n\":1}\n"
            "{\"k\":\"e\xcc\x81\",\"n\":1}\n");
}

TEST(JsonFolder, SplitsKeysWhateverTheirStringsHold) {
  JsonHarness harness("--key a,b,c --no-meta");
  const std::vector<std::string> fields = {
      R"({"a":",","b":"\",\"","c":"\\"})", R"({"a":"\",","b":",","c":"\\\""})",
      R"({"a":",\",","b":"","c":null})", R"({"a":1,"b":-2.5e3,"c":false})"};
  std::string expected;
  for (const std::string& line : fields) {
    EXPECT_EQ(harness.Fold(line).fold, FoldOutcome::kOpened) << line;
    expected += line + "\n";
  }
  EXPECT_EQ(harness.CloseAndPop(), expected);
}

TEST(JsonFolder, NamesKeyFieldsByTheLastStep) {
  JsonHarness harness(R"(--key 'a.b,/id.orig_h,x=/a~1b,"q\""=a.c' --no-meta)");
  harness.Fold(R"({"a":{"b":1,"c":4},"id.orig_h":2,"a/b":3})");
  EXPECT_EQ(harness.CloseAndPop(), "{\"b\":1,\"id.orig_h\":2,\"x\":3,\"q\\\"\":4}\n");
}

TEST(JsonFolder, AnEngineHasOneCollectionWhoseLinesWait) {
  const FoldSpec spec =
      ParseFoldSpec(R"({"key":"k","time":"t","quiet":"1s","reorder":"1s"})").value();
  const auto engine = Engine::Open(EngineOptionsFor(spec.event)).value();
  auto first = JsonFolder::Open(*engine, "first", spec).value();
  const absl::Status second = JsonFolder::Open(*engine, "second", spec).status();
  EXPECT_EQ(second.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(std::string(second.message()),
            "reorder: the engine has a collection whose lines wait, or an intake; give lines to "
            "several by a JsonIntake, or open another engine");
  first.reset();
  EXPECT_TRUE(JsonFolder::Open(*engine, "second", spec).ok());
}

TEST(JsonFolder, SkipsBlankLines) {
  JsonHarness harness("--key k");
  for (const std::string& blank :
       {std::string(), std::string(" \t\r"), std::string(kLineBytesMax, ' ')}) {
    EXPECT_EQ(harness.Fold(blank).kind, Kind::kBlank);
  }
  EXPECT_EQ(harness.Fold("\f").kind, Kind::kInvalid);
  EXPECT_EQ(harness.Fold("\v").kind, Kind::kInvalid);
  EXPECT_EQ(harness.Fold(std::string("\0", 1)).kind, Kind::kInvalid);
  EXPECT_EQ(harness.Fold(std::string(kLineBytesMax + 1, ' ')).kind, Kind::kInvalid);
  EXPECT_EQ(harness.folder().counts().lines, 4u);
}

TEST(JsonFolder, SaysWhichPathAnInvalidLineIsAbout) {
  JsonHarness harness("--key k --key v.w --time t --allowed-lateness 1h --id i");
  const auto about = [&](std::string_view line) {
    const PaddedLine padded(line);
    const OptionPath* one = harness.folder().FoldLine(padded.view(), FromUnix(Duration(0))).about;
    const OptionPath* many = nullptr;
    harness.folder().FoldLines(padded.view(), FromUnix(Duration(0)),
                               [&](const UnusualLine& unusual) {
                                 many = unusual.result.about;
                                 return true;
                               });
    EXPECT_EQ(one, many) << line;
    return one == nullptr ? "" : one->option + " " + one->path;
  };
  EXPECT_EQ(about(R"({"v":{"w":1}})"), "key k");
  EXPECT_EQ(about(R"({"k":1,"v":1})"), "key v.w");
  EXPECT_EQ(about(R"({"k":1,"v":{"w":[]}})"), "key v.w");
  EXPECT_EQ(about(R"({"k":1,"v":{"w":1}})"), "time t");
  EXPECT_EQ(about(R"({"k":1,"v":{"w":1},"t":"2015-09-12T00:00:00Z"})"), "id i");
  EXPECT_EQ(about(R"({"k":1,"v":{"w":1},"t":"noon"})"), "");
  EXPECT_EQ(about(R"({"k":1,"v":{"w":1},"t":5})"), "");
  EXPECT_EQ(about("nonsense"), "");
}

TEST(JsonFolder, SaysWhatIsWrongWithAKey) {
  JsonHarness harness("--key k");
  EXPECT_EQ(harness.Fold(R"({"K":1})").reason, R"(key "k" is missing)");
  EXPECT_EQ(harness.Fold(R"({"k":[1]})").reason, R"(key "k" is an object or an array)");
  EXPECT_EQ(harness.Fold(R"({"k":{}})").reason, R"(key "k" is an object or an array)");
  EXPECT_EQ(harness.Fold(R"([{"k":1}])").reason, invalid_line::kNotObject);
}

TEST(JsonFolder, StepsIntoArraysByIndexAndIntoObjectsByName) {
  const auto reason = [](const std::string& path, std::string_view line) {
    return std::string(JsonHarness("--key " + path).Fold(line).reason);
  };
  for (const char* line : {R"({"a":[5]})", R"({"a":{"0":5}})", R"({"a":[null,{"b":1}]})",
                           R"({"x":[[]],"a" : [ 5 , [6] ]})"}) {
    EXPECT_EQ(reason("a.0", line), "") << line;
    EXPECT_EQ(reason("/a/0", line), "") << line;
  }
  for (const char* line :
       {R"({"a":[]})", R"({"a":"0"})", R"({"a":5})", R"({"a.0":5})", R"({"b":[5]})",
        R"({"a":{"00":5}})", R"([{"a":[5]}])", R"({"b":{"a":[5]}})", R"({"b":[{"a":[5]}]})"}) {
    EXPECT_NE(reason("a.0", line), "") << line;
  }
  EXPECT_EQ(reason("a.0", R"({"a":[[5]]})"), R"(key "a.0" is an object or an array)");
  const std::string nested = R"({"a":[0,[{"b":1},{"c":[7,{"d":8}]}],2]})";
  EXPECT_EQ(reason("a.1.1.c.1.d", nested), "");
  EXPECT_EQ(reason("a.2", nested), "");
  for (const char* path :
       {"a.3", "a.1.2", "a.1.0.c", "a.01", "a.-1", "a.+1", "a.1.1.c.1.d.0", "a.0.0", "a.9999999",
        "a.4294967295", "a.4294967296", "a.18446744073709551616"}) {
    EXPECT_EQ(reason(path, nested), "key \"" + std::string(path) + "\" is missing") << path;
  }
}

TEST(JsonFolder, EmptyKeyMakesAllEventsOneGroup) {
  JsonHarness harness("--key '' --merge 'v=set(v)' --no-meta --rest last");
  EXPECT_EQ(harness.Fold(R"({"v":1,"":2})").fold, FoldOutcome::kOpened);
  EXPECT_EQ(harness.Fold(R"({"w":3})").fold, FoldOutcome::kFolded);
  EXPECT_EQ(harness.CloseAndPop(), R"({"v":[1],"":2,"w":3})"
                                   "\n");
  JsonHarness bare("--key '' --no-meta");
  EXPECT_EQ(bare.Fold("{}").fold, FoldOutcome::kOpened);
  EXPECT_EQ(bare.Fold(R"({"v":1})").fold, FoldOutcome::kFolded);
  EXPECT_EQ(bare.CloseAndPop(), "{}\n");
}

TEST(JsonFolder, ReadsElementsForEveryUseOfAPath) {
  JsonHarness harness(
      "--key a.0.k --time a.0.t --time-unit s --merge 'all=set(a)' --merge 'n=sum(a.1)'"
      " --merge 'last=last(a.1)' --end-when a.2=end --no-meta --rest last");
  EXPECT_EQ(harness.Fold(R"({"a":[{"k":1,"t":5},7],"b":1})").kind, Kind::kEvent);
  EXPECT_EQ(harness.Fold(R"({"b":[2],"a":[{"t":6,"k":1},8,"\u0065nd"]})").kind, Kind::kEvent);
  EXPECT_EQ(harness.Pop(),
            R"({"k":1,"all":[{"k":1,"t":5},7,{"t":6,"k":1},8,"end"],"n":15,"last":8,"b":[2]})"
            "\n");
}

TEST(JsonFolder, LimitsTheKey) {
  JsonHarness harness("--key k");
  const std::string longest(kKeyBytesMax - 2, 'x');  // the quotes count
  EXPECT_EQ(harness.Fold("{\"k\":\"" + longest + "\"}").fold, FoldOutcome::kOpened);
  EXPECT_EQ(harness.Fold("{\"k\":\"" + longest + "\"}").fold, FoldOutcome::kFolded);
  EXPECT_EQ(harness.Fold("{\"k\":\"x" + longest + "\"}").reason, invalid_line::kKeyTooLong);
}

TEST(JsonFolder, ReadsTimesOfEveryUnit) {
  const std::pair<std::string, std::string> spellings[] = {
      {"s", "1341100972.1234567"},
      {"ms", "1341100972123.4567"},
      {"us", "1341100972123456.7"},
      {"ns", "1341100972123456700"},
      {"s", "1.3411009721234567e9"},
      {"s", "\"2012-07-01T00:02:52.123456Z\""},
      {"ms", "\"2012-07-01T02:02:52.123456+02:00\""},
      {"ns", "\"2012-07-01T00\\u003a02:52.123456Z\""},
      {"s", "\"1341100972.1234567\""},
      {"us", "\"1341100972123456\""},
      {"s", "\"13411009721234567e\\u002d7\""},
      {"s", "\"2012-07-01 00:02:52,123456\""}};
  for (const auto& [unit, text] : spellings) {
    JsonHarness harness("--key k --time t --time-unit " + unit);
    ASSERT_EQ(harness.Fold(R"({"k":0,"t":)" + text + "}").reason, "") << text;
    EXPECT_THAT(harness.CloseAndPop(), HasSubstr(R"("first":"2012-07-01T00:02:52.123456Z")"));
  }
}

TEST(JsonFolder, SaysWhatIsWrongWithATime) {
  JsonHarness harness("--key k --time t --time-unit s");
  EXPECT_EQ(harness.Fold(R"({"k":0})").reason, "event time \"t\" is missing");
  const std::pair<const char*, const char*> times[] = {
      {"null", "null is neither text nor a number"},
      {"true", "true is neither text nor a number"},
      {"[ 1]", "[ 1] is neither text nor a number"},
      {R"("13411009720000")",
       R"("13411009720000" is outside the years 0001 to 9999; it looks like ms)"},
      {R"("\u0061\n")", R"("a\n" is not of a known form: state it with --time-format)"},
      {R"("2015-02-29T00:00:00Z")",
       R"("2015-02-29T00:00:00Z" is a date or a time that does not exist)"},
      {R"("2016-12-31T23:59:60Z")",
       R"("2016-12-31T23:59:60Z" is a leap second; seconds end at 59)"},
      {R"("0000-01-01T00:00:00Z")", R"("0000-01-01T00:00:00Z" is outside the years 0001 to 9999)"},
      {"1e300", "1e300 is outside the years 0001 to 9999"},
      {"-1e300", "-1e300 is outside the years 0001 to 9999"},
      {"253402300800", "253402300800 is outside the years 0001 to 9999; it looks like ms"},
      {"-62135596801", "-62135596801 is outside the years 0001 to 9999"},
      {"1341100972123", "1341100972123 is outside the years 0001 to 9999; it looks like ms"}};
  for (const auto& [time, reason] : times) {
    EXPECT_EQ(harness.Fold(std::string(R"({"k":0,"t":)") + time + "}").reason,
              std::string("event time ") + reason);
  }
  const std::string large = "\"" + std::string(100'000, 'x') + "\"";
  EXPECT_LT(harness.Fold(R"({"k":0,"t":)" + large + "}").reason.size(), 200u);
  for (const char* edge : {"253402300799.9999999", "-62135596800.0000009", "0", "-1.5"}) {
    EXPECT_EQ(harness.Fold(std::string(R"({"k":0,"t":)") + edge + "}").kind, Kind::kEvent) << edge;
  }
}

TEST(JsonFolder, NeverGuessesTheUnit) {
  JsonHarness harness("--key k --time t");
  const JsonHarness::Answer answer = harness.Fold(R"({"k":0,"t":1341100972})");
  EXPECT_EQ(answer.kind, Kind::kNoUnit);
  EXPECT_EQ(answer.reason,
            "event time 1341100972 is a number: state its unit with --time-unit (it looks like s)");
  EXPECT_THAT(harness.Fold(R"({"k":0,"t":1341100972123})").reason, HasSubstr("like ms)"));
  EXPECT_THAT(harness.Fold(R"({"k":0,"t":1341100972123456})").reason, HasSubstr("like us)"));
  EXPECT_THAT(harness.Fold(R"({"k":0,"t":1341100972123456789})").reason, HasSubstr("like ns)"));
  EXPECT_EQ(harness.folder().counts().lines, 0u);
}

TEST(JsonFolder, InvalidLinesChangeNothing) {
  JsonHarness harness("--key k --time t --merge 'n=sum(v)'");
  harness.Fold(R"({"k":0,"v":1,"t":"2015-01-01T00:00:00Z"})");
  const Ledger ledger = harness.folder().ledger();
  const EngineTime now = harness.engine().now();
  for (const char* invalid :
       {R"({"k":0,"v":1,"t":"2016-01-01T00:00:00Z"}})",
        R"({"k":0,"v":1,"t":"2016-01-01T00:00:00Z","x":01})",
        R"({"v":1,"t":"2016-01-01T00:00:00Z"})", R"({"k":0,"t":"2016-01-01T00:00:60Z"})"}) {
    EXPECT_EQ(harness.Fold(invalid).kind, Kind::kInvalid) << invalid;
  }
  EXPECT_EQ(harness.folder().ledger(), ledger);
  EXPECT_EQ(harness.engine().now(), now);
  EXPECT_EQ(harness.folder().counts(), (LineCounts{5, 1, 4, 0}));
  EXPECT_EQ(harness.Pop(), "");
}

TEST(JsonFolder, StampsByArrivalWithoutATimePath) {
  JsonHarness harness("--key k --quiet 1s --merge 'n=count()'");
  harness.Fold(R"({"k":0})", At(10s));
  harness.Fold(R"({"k":0})", At(10s + 500ms));
  harness.engine().Advance(At(11s));
  EXPECT_EQ(harness.Pop(), "");
  harness.engine().Advance(At(12s));
  EXPECT_THAT(harness.Pop(), StartsWith(R"({"k":0,"n":2,"_fold":{"count":2,)"));
}

// The late line and the one behind it are in one batch.
TEST(JsonFolder, CountsEventsThatWentInBehindTheLineAtWhichItWasStopped) {
  JsonHarness harness("--key k --time t --time-unit s --allowed-lateness 1s");
  std::string text = "{\"k\":1,\"t\":9}\n{\"k\":1,\"t\":0}\n{\"k\":2,\"t\":9}\n";
  const size_t size = text.size();
  text.resize(size + kLinePaddingBytes);
  int unusual = 0;
  harness.folder().FoldLines(std::string_view(text).substr(0, size), kBeginningOfTime,
                             [&](const UnusualLine& line) {
                               EXPECT_EQ(line.result.fold, FoldOutcome::kLate);
                               ++unusual;
                               return false;
                             });
  EXPECT_EQ(unusual, 1);
  EXPECT_EQ(harness.folder().sizes().open_groups, 2u);
  EXPECT_EQ(harness.folder().counts().events, 3u);
}

TEST(JsonFolder, PopsAsManyAsAsked) {
  JsonHarness harness("--key k --no-meta --merge 's=set(k)'");
  std::string expected;
  for (int i = 0; i < 1000; ++i) {
    const std::string key = std::to_string(i);
    harness.Fold("{\"k\":" + key + "}");
    expected += "{\"k\":" + key + ",\"s\":[" + key + "]}\n";
  }
  harness.folder().CloseAll();
  std::string out;
  EXPECT_EQ(harness.folder().Pop(0, out), 0u);
  EXPECT_EQ(harness.folder().Pop(1, out), 1u);
  EXPECT_EQ(harness.folder().Pop(300, out), 300u);
  EXPECT_EQ(harness.folder().Pop(5000, out), 699u);
  EXPECT_EQ(out, expected);
}

TEST(JsonFolder, NamesEveryValueThatWasCutOrSaturated) {
  JsonHarness harness(
      "--key k --raw 1 --merge 'a=array(v,1)' --merge 's=sum(v)' --merge 'w=sum(w)'"
      R"( --merge '"m\""=mean(v)' --merge 'b=set(v,9)')"
      R"( --merge '"c,\""=concat(v,-,3)')");
  for (int i = 0; i < 2; ++i) harness.Fold(R"({"k":0,"v":1.7e308,"w":1})");
  EXPECT_THAT(harness.CloseAndPop(),
              HasSubstr(R"("reason":"end","saturated":["s","m\""],"cut":["a","c,\"","_raw"]}})"));
}

TEST(JsonFolder, RestIsWhatNoOptionTakesAtTheTop) {
  JsonHarness harness(
      "--key 'n=k.a,/x~1y' --time t.at --merge 's=sum(v)' --merge 'f=first(deep.er)' --rest last"
      " --no-meta --id id --allowed-lateness 1h");
  int id = 0;
  const auto fold = [&](const std::string& second, const std::string& members) {
    harness.Fold(R"( {"k":{"a":1,"b":2},"x\/y":3,"t":{"at":"2015-01-01T00:00:0)" + second +
                 R"(Z"},"v":1,"deep":{"er":4,"est":5},"id":)" + std::to_string(++id) + members +
                 "}");
  };
  fold("5", R"(,"b" : [ 1 ],"a":"\u0061")");
  fold("6", R"(,"c":null,"\u0062":2,"n":0,"s":0,"f":0,"_fold":0,"_raw":0,"k.a":7)");
  fold("5", R"(,"a":{"x" : "y z"},"b":3)");
  fold("4", R"(,"a":4,"d\"":true)");
  EXPECT_EQ(harness.CloseAndPop(),
            "{\"n\":1,\"x/y\":3,\"s\":4,\"f\":4,\"b\":2,\"a\":{\"x\":\"y z\"},\"k.a\":7,"
            "\"d\\\"\":true}\n");
}

TEST(JsonFolder, RawEventsComeLastAsTheyCame) {
  JsonHarness harness("--key k --raw 2 --rest last --merge 'n=count()' --no-meta");
  harness.Fold("\t{ \"k\" : 0 , \"a\" : [ 1.0, \" \\u0061\" ] }\r");
  harness.Fold(R"({"k":0,"a":null})");
  harness.Fold(R"({"k":0,"a":3})");
  EXPECT_EQ(harness.CloseAndPop(),
            "{\"k\":0,\"n\":3,\"a\":3,\"_raw\":[{\"k\":0,\"a\":[1.0,\" a\"]},"
            "{\"k\":0,\"a\":null}]}\n");
}

TEST(JsonFolder, LeavesNothingBehindInTheEngine) {
  const FoldSpec spec =
      SpecOf("--key k --merge 's=set(v)' --merge 'c=concat(v)' --max-events 2 --rest last --raw 5");
  auto engine = *Engine::Open(EngineOptionsFor(spec.event));
  {
    auto folder = *JsonFolder::Open(*engine, "short", spec);
    for (int i = 0; i < 3; ++i) {
      const PaddedLine line(R"({"k":0,"v":"a longer text than fits in place","w":1})");
      folder->FoldLine(line.view(), At(0s));
    }
  }
  engine->Advance(At(1h));
}

TEST(JsonFolder, SaysThatTheEngineStopped) {
  JsonHarness harness("--key k");
  harness.engine().Stop();
  EXPECT_EQ(harness.Fold(R"({"k":0})").fold, FoldOutcome::kStopped);
  EXPECT_EQ(harness.folder().counts().lines, 0u);
}

TEST(JsonFolder, RefusesASpecThatIsNotValid) {
  auto engine = *Engine::Open({});
  EXPECT_TRUE(absl::IsInvalidArgument(JsonFolder::Open(*engine, "x", FoldSpec{}).status()));
}

}  // namespace
}  // namespace pleat
