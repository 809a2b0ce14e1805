// `pleat rollup` around its lines: usage errors, spec documents, files, limits, and pipes that stay
// open. What it writes for which lines is told in tests/stories.
#include <algorithm>
#include <string>
#include <utility>

#include "tests/cli/run_pleat.h"

namespace pleat::cli {
namespace {

const std::string kNeeded = "--key k --window 1m --allowed-lateness 10s ";
const std::string kOnTime = kNeeded + "--time t --time-unit s ";

void ExpectRollupUsageError(const std::string& words, const std::string& what) {
  SCOPED_TRACE(words);
  const Finished r = RunToEnd(Pleat("rollup " + words), "{\"k\":1,\"t\":1}\n");
  EXPECT_EQ(r.code, 2);
  EXPECT_EQ(r.out, "");
  EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
  EXPECT_NE(r.err.find(what), std::string::npos) << r.err;
}

RunResult Rollup(const std::string& more, std::string_view input) {
  return RunCommand("rollup", kOnTime + more, input);
}

// What stands between the key and the reason.
std::string Minute(int number, int count) {
  const std::string hour = "\"1970-01-01T00:";
  const auto at = [&](int minute) {
    return hour + (minute < 10 ? "0" : "") + std::to_string(minute) + ":00.000000Z\"";
  };
  return ",\"start\":" + at(number) + ",\"end\":" + at(number + 1) +
         ",\"count\":" + std::to_string(count);
}

TEST(RollupUsage, HelpBeginsWithExamples) {
  const Finished r = RunToEnd(Pleat("rollup --help"));
  EXPECT_EQ(r.code, 0);
  EXPECT_LT(r.out.find("Examples:"), r.out.find("--window DURATION"));
  EXPECT_EQ(RunToEnd(Pleat("help rollup")).out, r.out);
}

TEST(RollupUsage, KeyWindowAndAllowedLatenessAreRequired) {
  ExpectRollupUsageError("--window 1m --allowed-lateness 1s", "--key: required");
  ExpectRollupUsageError("--key k --allowed-lateness 1s", "--window: required");
  ExpectRollupUsageError("--key k --window 1m",
                         "--allowed-lateness: required: without it no window would ever be final");
  ExpectRollupUsageError("--key k --window 1m --allowed-lateness inf",
                         "--allowed-lateness: required: without it no window would ever be final");
}

TEST(RollupUsage, EveryInvalidValueNamesItsOption) {
  const std::pair<const char*, const char*> wrong[] = {{"--key", "a..b"},
                                                       {"--key", "x="},
                                                       {"--value", "a..b"},
                                                       {"--id", "a..b"},
                                                       {"--window", "5x"},
                                                       {"--window", "1m,"},
                                                       {"--allowed-lateness", "soon"},
                                                       {"--margin", "=-5s"},
                                                       {"--margin", "inf"},
                                                       {"--margin", "far"},
                                                       {"--on-late", "fold"},
                                                       {"--at-end", "keep"},
                                                       {"--max-keys", "0"},
                                                       {"--max-keys", "many"},
                                                       {"--max-memory", "much"},
                                                       {"--reorder", "soon"},
                                                       {"--late", "-"},
                                                       {"--open", "-"},
                                                       {"--time-unit", "weeks"},
                                                       {"--idle", "0"},
                                                       {"--future-limit", "far"},
                                                       {"--threads", "0"},
                                                       {"--on-invalid", "ignore"},
                                                       {"--allowed-lateness", "=-1s"}};
  for (const auto& [option, value] : wrong) {
    const std::string text = value[0] == '=' ? value : std::string(" ") + value;
    ExpectRollupUsageError(kOnTime + option + text, option);
  }
}

TEST(RollupUsage, WindowsAreMultiplesOfTheFirst) {
  const auto refused = [](const std::string& windows, const std::string& what) {
    ExpectRollupUsageError("--key k --allowed-lateness 1s --window " + windows,
                           "--window: " + what);
  };
  refused("0", "must be above zero");
  refused("inf", "must not be inf");
  refused("1m,inf", "must not be inf");
  refused("1m,90s", "90s is not a multiple of 1m, the first one");
  refused("1h,1m", "1m is not longer than 1h, which is before it");
  refused("1m,60s", "1m is not longer than 1m, which is before it");
  refused("1s,2s,3s,4s,5s,6s,7s,8s,9s", "at most 8 lengths");
  EXPECT_EQ(
      RunCommand("rollup", "--key k --allowed-lateness 0 --window 1s --window 2s,3s", "").code, 0);
}

TEST(RollupUsage, NamesThatCollideSayHowToRename) {
  const std::string rest = " --window 1m --allowed-lateness 1s";
  ExpectRollupUsageError("--key page.id" + rest,
                         "--key: the output name \"id\" is taken; rename it, such as "
                         "--key key_id=page.id");
  ExpectRollupUsageError("--key a,b=a,x.a" + rest,
                         "two outputs are named \"a\"; rename it, such as --key key_a=x.a");
  for (const std::string taken :
       {"start", "end", "count", "sum", "reason", "corrects", "saturated", "id"}) {
    ExpectRollupUsageError("--key " + taken + "=k" + rest, "--key key_" + taken + "=k");
  }
  EXPECT_EQ(RunCommand("rollup", "--key who=id" + rest, "{\"id\":1}\n").code, 0);
}

TEST(RollupUsage, OptionsThatWouldDoNothingAreRefused) {
  ExpectRollupUsageError(kNeeded + "--time-unit s", "--time-unit: needs --time");
  ExpectRollupUsageError(kNeeded + "--idle 1s", "--idle: needs --time");
  ExpectRollupUsageError(kNeeded + "--reorder 1s", "--reorder: needs --time");
  ExpectRollupUsageError(kNeeded + "--late f", "--late: needs --time");
  ExpectRollupUsageError(kNeeded + "--on-late clamp", "--on-late: needs --time");
}

TEST(RollupSpec, DocumentSaysTheSameAsItsFlags) {
  const TemporaryDirectory directory;
  const std::string flags =
      "--key 'page=p.id,/a~1b' --window 1m,1h --window 6h --allowed-lateness 90s --margin 5s "
      "--value v.w --id i --on-late correct --time t --time-unit ms --reorder 5s "
      "--future-limit 1d --late late --idle 1s --on-invalid fail --invalid invalid --strict "
      "--max-keys 5 "
      "--max-memory 1M --output out --open open --stats - --quiet-summary --threads 2 "
      "--at-end drop --emission-id ";
  const Finished printed = RunToEnd(Pleat("rollup " + flags + "--print-spec"));
  EXPECT_EQ(printed.code, 0) << printed.err;
  const std::string file = directory.Write("spec", printed.out);
  EXPECT_EQ(RunToEnd(Pleat("rollup --spec " + file + " --print-spec")).out, printed.out);
  for (const std::string& option : WordsOf(
           "key allowed-lateness margin value id on-late time time-unit reorder future-limit late "
           "idle on-invalid invalid strict max-keys max-memory output open stats quiet-summary "
           "threads "
           "at-end emission-id")) {
    EXPECT_NE(printed.out.find("\"" + option + "\": "), std::string::npos) << option;
  }
  EXPECT_NE(printed.out.find("\"window\": [\"1m\", \"1h\", \"6h\"]"), std::string::npos)
      << printed.out;
}

TEST(RollupSpec, FlagsOverrideADocumentAndListsAreReplaced) {
  const TemporaryDirectory directory;
  const std::string file = directory.Write(
      "spec", R"({"key":["a","b"],"window":"1m,1h","allowed_lateness":"1m","max_keys":7})");
  EXPECT_EQ(RunToEnd(Pleat("rollup --spec " + file + " --print-spec")).out, R"({
  "key": ["a", "b"],
  "window": ["1m", "1h"],
  "allowed-lateness": "1m",
  "max-keys": 7
}
)");
  const Finished r = RunToEnd(Pleat("rollup --spec " + file + " --key k --window 2m --print-spec"));
  EXPECT_EQ(r.out, R"({
  "key": ["k"],
  "window": ["2m"],
  "allowed-lateness": "1m",
  "max-keys": 7
}
)");
  const std::string unknown = directory.Write("unknown", R"({"quiet":"1m"})");
  ExpectRollupUsageError("--spec " + unknown, "unknown option \"quiet\"");
}

TEST(RollupFiles, OpenHoldsTheOpenWindowsInTheOrderInWhichTheyWouldEnd) {
  const std::string input =
      "{\"k\":\"z\",\"t\":65}\n{\"k\":\"b\",\"t\":59}\n{\"k\":\"a\",\"t\":50}\n"
      "{\"k\":\"a\",\"t\":61}\n{\"k\":\"b\",\"t\":58}\n";
  const std::string open = "{\"k\":\"b\"" + Minute(0, 2) + ",\"reason\":\"open\"}\n" +
                           "{\"k\":\"z\"" + Minute(1, 1) + ",\"reason\":\"open\"}\n" +
                           "{\"k\":\"a\"" + Minute(1, 1) + ",\"reason\":\"open\"}\n";
  for (const std::string at_end : {"flush", "drop"}) {
    const TemporaryDirectory directory;
    const RunResult r = Rollup("--at-end " + at_end + " --open " + (directory / "open"), input);
    EXPECT_EQ(r.code, 0) << r.err;
    EXPECT_EQ(Content(directory / "open"), open);
    EXPECT_EQ(Stat(r, "late"), 1);
    EXPECT_EQ(Stat(r, "open"), at_end == "drop" ? 3 : 0);
    EXPECT_EQ(std::count(r.out.begin(), r.out.end(), '\n'), at_end == "drop" ? 0 : 3);
  }
}

TEST(RollupFiles, LateAndInvalidLinesAreKeptAsTheyCame) {
  const TemporaryDirectory directory;
  const std::string late = "{\"k\":1, \"t\":1}\n";
  const std::string unknown = "{\"k\":1, \"t\":-999}\n";
  const RunResult r = Rollup(
      "--late " + (directory / "late") + " --invalid " + (directory / "invalid") + " --strict",
      "{\"k\":1,\"t\":100}\n" + late + "{\"t\":1}\n" + unknown);
  EXPECT_EQ(r.code, 1);
  EXPECT_EQ(Content(directory / "late"), late + unknown);
  EXPECT_EQ(Content(directory / "invalid"), "{\"t\":1}\n");
  EXPECT_EQ(Stat(r, "late"), 2);
}

TEST(RollupFiles, KeyOrIdOfMoreThan64KiBIsInvalid) {
  const std::string longest(64 * 1024 - 2, 'x');  // and two quotes
  const auto line = [](const std::string& k, const std::string& i) {
    return "{\"k\":\"" + k + "\",\"i\":\"" + i + "\",\"t\":1}\n";
  };
  const RunResult r = Rollup(
      "--id i", line(longest, longest) + line(longest + 'x', "i") + line("k", longest + 'x'));
  EXPECT_EQ(Stat(r, "added"), 1);
  EXPECT_EQ(r.err, "<stdin>:2: key longer than 64 KiB\n<stdin>:3: id longer than 64 KiB\n");
}

TEST(RollupFiles, WithoutAUsableLineThereIsNoOutput) {
  const TemporaryDirectory directory;
  const RunResult r =
      Rollup("--id i --output " + (directory / "out") + " --open " + (directory / "open"),
             "{\"k\":1,\"I\":1,\"t\":1}\n");
  EXPECT_EQ(r.code, 1);
  EXPECT_EQ(directory.Names(), std::vector<std::string>{});
  EXPECT_NE(r.err.find("id \"i\" is missing in the one line; did you mean \"I\"?"),
            std::string::npos)
      << r.err;
}

TEST(RollupFiles, OnInvalidFailStopsThereAndWhatIsFinalIsWritten) {
  const RunResult r =
      Rollup("--on-invalid fail", "{\"k\":1,\"t\":1}\n{\"k\":1,\"t\":70}\n{}\n{\"k\":2,\"t\":1}\n");
  EXPECT_EQ(r.code, 1);
  EXPECT_EQ(Stat(r, "lines"), 3);
  EXPECT_EQ(r.out, "{\"k\":1" + Minute(0, 1) + ",\"reason\":\"final\"}\n");
}

TEST(RollupFiles, NumberWithoutAUnitStopsTheRun) {
  const RunResult r = RunCommand("rollup", kNeeded + "--time t", "{\"k\":1,\"t\":1}\n");
  EXPECT_EQ(r.code, 2);
  EXPECT_NE(r.err.find("--time-unit"), std::string::npos) << r.err;
}

TEST(RollupTimes, EveryStampHasItsWindow) {
  const auto line = [](const std::string& t) { return "{\"k\":1,\"t\":\"" + t + "\"}\n"; };
  const auto times = [](const std::string& start, const std::string& end) {
    const auto quoted = [](const std::string& t) { return t == "null" ? t : '"' + t + '"'; };
    return "{\"k\":1,\"start\":" + quoted(start) + ",\"end\":" + quoted(end) +
           ",\"count\":1,\"reason\":";
  };
  const RunResult r =
      RunCommand("rollup", "--key k --time t --window 7d --allowed-lateness 0",
                 line("0001-01-01T00:00:00Z") + line("1969-12-31T23:59:59.999999Z") +
                     line("1970-01-01T00:00:00Z") + line("9999-12-31T23:59:59.999999Z"));
  EXPECT_EQ(r.out, times("null", "0001-01-04T00:00:00.000000Z") + "\"final\"}\n" +
                       times("1969-12-25T00:00:00.000000Z", "1970-01-01T00:00:00.000000Z") +
                       "\"final\"}\n" +
                       times("1970-01-01T00:00:00.000000Z", "1970-01-08T00:00:00.000000Z") +
                       "\"final\"}\n" + times("9999-12-30T00:00:00.000000Z", "null") +
                       "\"end\"}\n");
}

TEST(RollupLimits, MemoryRefusesTheSameEventsHoweverTheInputComes) {
  const auto lines = [](int begin, int end) {
    std::string out;
    for (int i = begin; i < end; ++i) {
      out += "{\"k\":\"" + std::string(60, 'x') + std::to_string(i % 700) +
             "\",\"t\":" + std::to_string(i / 10) + "}\n";
    }
    return out;
  };
  constexpr int kLines = 6000;
  const std::string more = "--max-memory 40Ki ";
  const RunResult refused = Rollup(more, lines(0, kLines));
  EXPECT_EQ(refused.code, 1);
  EXPECT_NE(refused.err.find("event refused: --max-memory 40960 reached"), std::string::npos)
      << refused.err;
  EXPECT_GT(Stat(refused, "over_limit"), 100);
  EXPECT_GT(Stat(refused, "final"), 1000);

  // In pieces, with windows written in between.
  Subprocess process(Pleat("rollup --stats - --quiet-summary " + kOnTime + more));
  int written = 0;
  for (const int minute : {0, 1, 4}) {
    const int behind = (minute * 60 + 75) * 10;
    process.Write(lines(written, behind));
    written = behind;
    EXPECT_TRUE(process.AwaitOut(Minute(minute, 1)));
  }
  process.Write(lines(written, kLines));
  EXPECT_EQ(process.Wait(), 1);
  EXPECT_EQ(process.out(), refused.out);
  EXPECT_EQ(StatsLine(process.err()), refused.stats);
  const TemporaryDirectory directory;
  const RunResult threads =
      Rollup(more + "--threads 4 " + directory.Write("in", lines(0, kLines)), "");
  EXPECT_EQ(threads.out, refused.out);
  EXPECT_EQ(threads.stats, refused.stats);
}

TEST(RollupSummary, StatsHaveTheirMembersInTheOrderOfTheManual) {
  EXPECT_EQ(Rollup("", "").stats,
            "{\"lines\":0,\"events\":0,\"invalid\":0,\"added\":0,\"late\":0,\"duplicate\":0,"
            "\"conflict\":0,\"clamped\":0,\"corrected\":0,\"over_limit\":0,\"mismatched\":0,"
            "\"windows\":0,\"final\":0,\"ended\":0,\"open\":0,"
            "\"first_stamp\":null,\"last_stamp\":null}");
}

TEST(RollupSummary, SaysWhatBecameOfLinesAndWindows) {
  const Finished r = RunToEnd(Pleat("rollup " + kOnTime + "--on-late clamp --value v"),
                              "{\"k\":1,\"t\":1500000000,\"v\":1}\n"
                              "{\"k\":1,\"t\":1500000100,\"v\":\"1\"}\n"
                              "{\"k\":1,\"t\":1500000001,\"v\":1}\n");
  EXPECT_NE(r.err.find("lines          3  0 invalid, 0 late, 0 over limit, 1 clamped\n"
                       "windows        2  1 final, 1 ended with the input, 0 left open\n"
                       "output         2  written; 1 value that is no number\n"
                       "took "),
            std::string::npos)
      << r.err;
}

TEST(RollupLive, WindowIsFinalWhileThePipeIsOpenAndSilent) {
  Subprocess process(
      Pleat("rollup --key k --window 20ms --allowed-lateness 10ms --margin 5ms --quiet-summary"));
  process.Write("{\"k\":1}\n");
  EXPECT_TRUE(process.AwaitOut("\"count\":1,\"reason\":\"final\"}\n"));
  EXPECT_EQ(process.Wait(), 0);
}

TEST(RollupLive, IdleLetsTheWatermarkFollowTheWallClock) {
  Subprocess process(Pleat("rollup " + kOnTime + "--idle 20ms --quiet-summary"));
  process.Write("{\"k\":1,\"t\":1}\n");  // years behind the wall clock
  EXPECT_TRUE(process.AwaitOut("\"reason\":\"final\""));
  EXPECT_EQ(process.Wait(), 0);
}

TEST(RollupLive, SignalEndsTheRunInOrder) {
  Subprocess process(Pleat("rollup --key k --window 1h --allowed-lateness 1h --stats -"));
  process.Write("{\"k\":1}\nnonsense\n");
  ASSERT_TRUE(process.AwaitErr("<stdin>:2: "));
  process.Signal(SIGINT);
  EXPECT_EQ(process.WaitWithInputOpen(), 130);
  EXPECT_NE(process.out().find("\"reason\":\"end\""), std::string::npos);
  ExpectRollupBalanced(StatsLine(process.err()));
}

}  // namespace
}  // namespace pleat::cli
