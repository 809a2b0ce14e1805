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
  const RunResult r =
      Rollup("--on-invalid skip --id i",
             line(longest, longest) + line(longest + 'x', "i") + line("k", longest + 'x'));
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
      RunCommand("rollup", "--key k --time t --window 5d --allowed-lateness 0",
                 line("0001-01-01T00:00:00Z") + line("1969-12-31T23:59:59.999999Z") +
                     line("1970-01-01T00:00:00Z") + line("9999-12-31T23:59:59.999999Z"));
  EXPECT_EQ(r.out, times("null", "0001-01-03T00:00:00.000000Z") + "\"final\"}\n" +
                       times("1969-12-27T00:00:00.000000Z", "1970-01-01T00:00:00.000000Z") +
                       "\"final\"}\n" +
                       times("1970-01-01T00:00:00.000000Z", "1970-01-06T00:00:00.000000Z") +
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
                              "{\"k\":1,\"t\":1500000100,\"v\":\"one\"}\n"
                              "{\"k\":1,\"t\":1500000001,\"v\":1}\n");
  EXPECT_NE(r.err.find("lines          3  0 invalid, 0 late, 0 over limit, 1 clamped\n"
                       "windows        2  1 final, 1 ended with the input, 0 left open\n"
                       "output         2  written; 1 value of \"v\" is no number\n"
                       "took "),
            std::string::npos)
      << r.err;
}

TEST(RollupSummary, ShowsATextThatIsNoNumber) {
  const auto err_of = [](const std::string& value) {
    return RunToEnd(Pleat("rollup " + kOnTime + "--value v"),
                    "{\"k\":1,\"t\":1500000000,\"v\":" + value + "}\n")
        .err;
  };
  EXPECT_NE(err_of("\"2.495,75 \u20ac\"")
                .find("1 value of \"v\" is no number, such as \"2.495,75 \u20ac\"; a number is "
                      "written as 2495.75, without a currency\n"),
            std::string::npos);
  EXPECT_NE(err_of("\"none\"").find("1 value of \"v\" is no number\n"), std::string::npos);
  EXPECT_NE(err_of("[1]").find("1 value of \"v\" is no number\n"), std::string::npos);
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

// --- Windows by the calendar

// "start count" of each window, the start as far as the minutes.
std::string Windows(const std::string& options, const std::string& input) {
  const Finished r = RunToEnd(
      Pleat("rollup -k k --value v -t t --allowed-lateness 1m --no-summary " + options), input);
  EXPECT_EQ(r.code, 0) << r.err;
  std::string out;
  for (size_t at = 0; (at = r.out.find("\"start\":\"", at)) != std::string::npos; ++at) {
    const size_t count = r.out.find("\"count\":", at) + 8;
    out +=
        r.out.substr(at + 9, 16) + " " + r.out.substr(count, r.out.find(',', count) - count) + "; ";
  }
  return out;
}

std::string EventsAt(const std::vector<std::string>& times) {
  std::string out;
  for (const std::string& time : times) out += R"({"k":"m","t":")" + time + "\",\"v\":1}\n";
  return out;
}

TEST(RollupCalendar, DaysAreThoseOfTheZone) {
  const std::string day = EventsAt({"2022-02-15T23:15:00Z", "2022-02-16T00:15:00Z",
                                    "2022-02-16T22:45:00Z", "2022-02-16T23:15:00Z"});
  EXPECT_EQ(Windows("--window 1d --time-zone Europe/Amsterdam", day),
            "2022-02-15T23:00 3; 2022-02-16T23:00 1; ");
  EXPECT_EQ(Windows("--window 24h --time-zone +01:00", day),
            "2022-02-15T23:00 3; 2022-02-16T23:00 1; ");
  EXPECT_EQ(Windows("--window 1d", day), "2022-02-15T00:00 1; 2022-02-16T00:00 3; ");
  EXPECT_EQ(Windows("--window 1d --time-zone Europe/Amsterdam --window-offset 15m", day),
            "2022-02-15T23:15 3; 2022-02-16T23:15 1; ");
}

TEST(RollupCalendar, AZoneCountsAlsoForTimesThatAreNumbers) {
  EXPECT_EQ(Windows("--window 1d --time-zone Asia/Tokyo --time-unit s",
                    "{\"k\":1,\"t\":1700000000}\n{\"k\":1,\"t\":1700060400}\n"),
            "2023-11-14T15:00 1; 2023-11-15T15:00 1; ");
  EXPECT_EQ(RunToEnd(Pleat("rollup -k k --window 1d --allowed-lateness 0 --time-zone Asia/Tokyo "
                           "--no-summary"),
                     "")
                .code,
            0);
}

TEST(RollupCalendar, DaysAtAChangeOfTheClockCloseWhenTheyEnd) {
  const std::string spring =
      EventsAt({"2026-03-28T23:00:00Z", "2026-03-29T21:59:59Z", "2026-03-29T22:00:00Z"});
  EXPECT_EQ(Windows("--window 1h,1d --time-zone Europe/Berlin", spring),
            "2026-03-28T23:00 1; 2026-03-29T21:00 1; 2026-03-28T23:00 2; 2026-03-29T22:00 1; "
            "2026-03-29T22:00 1; ");
}

TEST(RollupCalendar, WeeksAndMonths) {
  const std::string days = EventsAt({"2024-01-07T23:00:00Z", "2024-01-08T00:00:00Z",
                                     "2024-01-31T23:00:00Z", "2024-02-01T00:00:00Z"});
  EXPECT_EQ(Windows("--window 1w", days),
            "2024-01-01T00:00 1; 2024-01-08T00:00 1; 2024-01-29T00:00 2; ");
  EXPECT_EQ(Windows("--window 7d", days), Windows("--window 1w", days));
  EXPECT_EQ(Windows("--window 1mo", days), "2024-01-01T00:00 3; 2024-02-01T00:00 1; ");
  EXPECT_EQ(Windows("--window 1mo --window-offset 14d", days),
            "2023-12-15T00:00 2; 2024-01-15T00:00 2; ");
  EXPECT_EQ(Windows("--window 1w --window-offset 6d", days),
            "2024-01-07T00:00 2; 2024-01-28T00:00 2; ");
}

// Weeks of --close-every begin on Monday, in UTC as in a zone.
TEST(RollupCalendar, WeeksOfClosingTimesBeginOnMondayToo) {
  const std::string days = EventsAt({"2024-01-07T12:00:00Z", "2024-01-08T12:00:00Z"});
  for (const char* zone : {"", " --time-zone UTC", " --time-zone +00:30"}) {
    const Finished r =
        RunToEnd(Pleat("fold -k k -t t --merge 'n=count()' --close-every 1w --no-summary" +
                       std::string(zone)),
                 days);
    EXPECT_EQ(std::count(r.out.begin(), r.out.end(), '\n'), 2) << zone << r.out << r.err;
  }
  const Finished nine =
      RunToEnd(Pleat("fold -k k -t t --merge 'n=count()' --close-every 1w@9h --no-summary"),
               EventsAt({"2024-01-08T08:59:59Z", "2024-01-08T09:00:00Z"}));
  EXPECT_EQ(std::count(nine.out.begin(), nine.out.end(), '\n'), 2) << nine.out << nine.err;
}

TEST(RollupCalendar, AStateOfAnotherZoneIsRefusedByName) {
  TemporaryDirectory dir;
  const std::string options =
      "rollup -k k -t t --window 1d --allowed-lateness 1m --no-summary "
      "--at-end keep --state " +
      (dir / "state") + " --time-zone ";
  const std::string input = EventsAt({"2024-01-08T12:00:00Z"});
  EXPECT_EQ(RunToEnd(Pleat(options + "Europe/Berlin"), input).code, 0);
  const Finished other = RunToEnd(Pleat(options + "Asia/Tokyo"), input);
  EXPECT_NE(other.code, 0);
  EXPECT_NE(other.err.find("Europe/Berlin"), std::string::npos) << other.err;
  EXPECT_NE(other.err.find("Asia/Tokyo"), std::string::npos) << other.err;
  const Finished same = RunToEnd(Pleat(options + "Europe/Berlin --at-end flush"), input);
  EXPECT_NE(same.out.find("\"count\":2"), std::string::npos) << same.out << same.err;
}

TEST(RollupCalendar, WhatIsNoWindowSaysWhy) {
  const std::string rest = " --key k --allowed-lateness 10s";
  ExpectRollupUsageError("--window 3mo" + rest, "months come one by one, as 1mo");
  ExpectRollupUsageError("--window 1w,1mo" + rest, "1mo is not a multiple of 7d");
  ExpectRollupUsageError("--window 36h --time-zone Asia/Tokyo" + rest, "nor whole days");
  ExpectRollupUsageError("--window 1d --window-offset 1d" + rest, "--window-offset: must be below");
  ExpectRollupUsageError("--window 1d --window-offset far" + rest, "--window-offset: \"far\"");
}

// --- The deduplication window

// The sum of each window, of retries at these times.
std::string Sums(const std::string& options, const std::vector<std::string>& times) {
  std::string input;
  for (const std::string& time : times) {
    input += R"({"t":")" + time + R"(","k":"acme","id":"e1","q":5})" + "\n";
  }
  const Finished r = RunToEnd(Pleat("rollup -k k --id id --value q --window 1d "
                                    "--allowed-lateness 1m -t t --no-summary " +
                                    options),
                              input);
  EXPECT_EQ(r.code, 0) << r.err;
  std::string out;
  for (size_t at = 0; (at = r.out.find("\"sum\":", at)) != std::string::npos; ++at) {
    out += r.out.substr(at + 6, r.out.find(',', at) - at - 6) + " ";
  }
  return out;
}

TEST(RollupDeduplication, ARetryThatIsStampedAnewCountsOnce) {
  const std::vector<std::string> times = {"2024-05-01T23:59:59Z", "2024-05-02T00:00:01Z",
                                          "2024-05-02T00:20:00Z"};
  EXPECT_EQ(Sums("", times), "5 5 ");  // ten times the allowed lateness are ten minutes
  EXPECT_EQ(Sums("--deduplication-window 1h", times), "5 ");
  EXPECT_EQ(Sums("--deduplication-window 1m", times), "5 5 ");
  // From the stamp of the first try on, whatever came between.
  EXPECT_EQ(Sums("--deduplication-window 20m", times), "5 5 ");
  EXPECT_EQ(Sums("--deduplication-window 20m1s", times), "5 ");
}

TEST(RollupDeduplication, TheWindowIsNoShorterThanTheAllowedLateness) {
  ExpectRollupUsageError(kNeeded + "--id i --deduplication-window 9s",
                         "--deduplication-window: must be --allowed-lateness, 10s, or more");
  ExpectRollupUsageError(kNeeded + "--id i --deduplication-window inf",
                         "--deduplication-window: must not be inf");
  ExpectRollupUsageError(kNeeded + "--deduplication-window 1h",
                         "--deduplication-window: needs --id");
  ExpectRollupUsageError(kNeeded + "--id i --deduplication-window long",
                         "--deduplication-window: \"long\"");
}

}  // namespace
}  // namespace pleat::cli
