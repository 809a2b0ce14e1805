// `pleat live` around its lines: usage errors, spec documents, files, and pipes that stay open.
// What it writes for which lines is told in tests/stories.
#include <algorithm>
#include <string>
#include <utility>

#include "tests/cli/run_pleat.h"
#include "tests/support/sanitized.h"

namespace pleat::cli {
namespace {

const std::string kUsual = "live --key s --member m --ttl 1m --time t --time-unit s ";

void ExpectUsageError(const std::string& words, const std::string& what) {
  SCOPED_TRACE(words);
  const Finished r = RunToEnd(Pleat(words), "{\"s\":1,\"m\":1,\"t\":1}\n");
  EXPECT_EQ(r.code, 2);
  EXPECT_EQ(r.out, "");
  EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
  EXPECT_NE(r.err.find(what), std::string::npos) << r.err;
}

RunResult RunLive(const std::string& more, std::string_view input) {
  return RunCommand("live", "--key s --member m --ttl 1m --time t --time-unit s " + more, input);
}

TEST(LiveSetUsage, HelpBeginsWithExamples) {
  const Finished r = RunToEnd(Pleat("live --help"));
  EXPECT_EQ(r.code, 0);
  EXPECT_LT(r.out.find("Examples:"), r.out.find("--ttl DURATION"));
  EXPECT_EQ(RunToEnd(Pleat("help live")).out, r.out);
}

TEST(LiveSetUsage, KeyAndTtlAreRequired) {
  ExpectUsageError("live --member m --ttl 1m", "--key: required");
  ExpectUsageError("live --key s --member m", "--ttl: required, and above zero");
  ExpectUsageError("live --key s --member m --ttl 0", "--ttl: required, and above zero");
}

TEST(LiveSetUsage, WhatIsSaidOfAMemberNeedsOne) {
  const std::string none = "live --key s --ttl 1m ";
  ExpectUsageError(none + "--ttl-path x", "--ttl-path: needs --member");
  ExpectUsageError(none + "--version x", "--version: needs --member");
  ExpectUsageError(none + "--remove-when x=1", "--remove-when: needs --member");
  ExpectUsageError(none + "--refresh first", "--refresh: needs --member");
}

TEST(LiveSetUsage, DurationWithoutEndIsCalledInf) {
  ExpectUsageError("live --key s --member m --ttl forever", "or inf)");
}

TEST(LiveSetUsage, EveryInvalidValueNamesItsOption) {
  const std::pair<const char*, const char*> wrong[] = {
      {"--key", "a..b"},         {"--member", "x="},        {"--ttl", "5x"},
      {"--ttl", "=-5s"},         {"--ttl-path", "a..b"},    {"--refresh", "never"},
      {"--payload", "a..b"},     {"--version", "a..b"},     {"--remove-when", "a"},
      {"--remove-when", "a==1"}, {"--max-series", "0"},     {"--max-members", "many"},
      {"--on-limit", "emit"},    {"--every", "0"},          {"--every", "inf"},
      {"--every", "often"},      {"--idle", "0"},           {"--top", "0"},
      {"--top", "ten"},          {"--max-memory", "much"},  {"--reorder", "soon"},
      {"--late", "-"},           {"--open", "-"},           {"--threads", "0"},
      {"--time-unit", "weeks"},  {"--future-limit", "far"}, {"--within", "5x"}};
  for (const auto& [option, value] : wrong) {
    const std::string text = value[0] == '=' ? value : std::string(" ") + value;
    ExpectUsageError(kUsual + option + text, option);
  }
}

TEST(LiveSetUsage, NamesThatCollideSayHowToRename) {
  ExpectUsageError("live --key at --member m --ttl 1m",
                   "--key: the output name \"at\" is taken; rename it, such as --key key_at=at");
  ExpectUsageError("live --key s --member a.count --ttl 1m", "--member member_count=a.count");
  ExpectUsageError("live --key cause=s --member m --ttl 1m", "--key key_cause=s");
  ExpectUsageError("live --key page.id --member user.id --ttl 1m",
                   "two outputs are named \"id\"; rename it, such as --member member_id=user.id");
  ExpectUsageError("live --key a,b=a --member b --ttl 1m", "--member member_b=b");
  for (const std::string taken : {"at", "cause", "count", "stamp", "until", "payload", "within"}) {
    ExpectUsageError("live --key s --member " + taken + "=m --ttl 1m",
                     "--member member_" + taken + "=m");
  }
  EXPECT_EQ(RunCommand("live", "--key at_=at --member m --ttl 1m", "{\"at\":1,\"m\":2}\n").code, 0);
}

TEST(LiveSetUsage, OptionsThatWouldDoNothingOrContradictAreRefused) {
  const std::string arrival = "live --key s --member m --ttl 1m ";
  ExpectUsageError(arrival + "--time-unit s", "--time-unit: needs --time");
  ExpectUsageError(arrival + "--idle 1s", "--idle: needs --time");
  ExpectUsageError(arrival + "--reorder 1s", "--reorder: needs --time");
  ExpectUsageError(arrival + "--late f", "--late: needs --time");
  ExpectUsageError(kUsual + "--within 5s", "--within: needs --every");
  ExpectUsageError(kUsual + "--top 3", "--top: needs --every");
  ExpectUsageError(kUsual + "--every 5s --changes", "--changes: not with --every");
  ExpectUsageError(kUsual + "--every 5s --refreshes", "--refreshes: not with --every");
  ExpectUsageError(kUsual + "--every 5s --within 5s,2m", "--within: 2m is longer than --ttl 1m");
  ExpectUsageError(kUsual + "--every 5s --within 60s,1m", "--within: 60s and 1m are the same");
  EXPECT_EQ(RunLive("--every 5s --within 1m,1us", "{\"s\":1,\"m\":1,\"t\":1}\n").code, 0);
}

TEST(LiveSetSpec, DocumentSaysTheSameAsItsFlags) {
  const TemporaryDirectory directory;
  const std::string flags =
      "--key 'page=p.id,/a~1b' --member who=u --ttl 1h30m --ttl 90m --ttl-path life "
      "--refresh replace --payload p --version v --remove-when 'a=1' --time t --time-unit ms "
      "--reorder 5s --future-limit 1d --late late --idle 1s --on-invalid fail --invalid invalid "
      "--strict "
      "--max-series 5 --max-members 7 --max-memory 1M --on-limit drop --output out --open open "
      "--stats - --quiet-summary --threads 2 ";
  for (const std::string mode : {"--refreshes", "--every 5m --within 60s,1h --top 3"}) {
    const std::string wrong = "--ttl 1h30m ";
    const Finished printed =
        RunToEnd(Pleat("live " + std::string(flags).erase(flags.find(wrong), wrong.size()) + mode +
                       " --print-spec"));
    EXPECT_EQ(printed.code, 0) << printed.err;
    const std::string file = directory.Write("spec", printed.out);
    EXPECT_EQ(RunToEnd(Pleat("live --spec " + file + " --print-spec")).out, printed.out);
    for (const char* option : {"key", "member", "ttl", "remove-when", "idle", "max-memory"}) {
      EXPECT_NE(printed.out.find("\"" + std::string(option) + "\": "), std::string::npos);
    }
  }
}

TEST(LiveSetSpec, FlagsOverrideADocumentAndListsAreReplaced) {
  const TemporaryDirectory directory;
  const std::string file = directory.Write(
      "spec", R"({"key":"a","member":["b","c"],"ttl":"1m","remove_when":{"any":["x=1"]}})");
  const Finished r =
      RunToEnd(Pleat("live --spec " + file + " --key k --member m --ttl 2m --print-spec"));
  EXPECT_EQ(r.out, R"({
  "key": ["k"],
  "member": ["m"],
  "ttl": "2m",
  "remove-when": {"any":["x=1"]}
}
)");
  const std::string unknown = directory.Write("unknown", R"({"quiet":"1m"})");
  ExpectUsageError("live --spec " + unknown, "unknown option \"quiet\"");
}

// --- Events without members

// The counts of each series, "key count", of a run with --every.
std::string Counts(const std::string& options, const std::string& input) {
  const Finished r = RunToEnd(Pleat("live --time t --time-unit s --no-summary " + options), input);
  EXPECT_EQ(r.code, 0) << r.err;
  std::string out;
  for (size_t at = 0; (at = r.out.find("\"count\":", at)) != std::string::npos; ++at) {
    out += r.out.substr(at + 8, r.out.find_first_of(",}", at) - at - 8) + " ";
  }
  return out;
}

TEST(LiveSetEvents, WithoutAMemberEveryEventCountsForTheTtl) {
  // Three at one instant, which one id by the stamp would make one of.
  const std::string requests = R"({"c":"k","t":1}
{"c":"k","t":1}
{"c":"k","t":1}
{"c":"k","t":2}
{"c":"k","t":70}
)";
  EXPECT_EQ(Counts("--key c --ttl 1m --every 30s", requests), "4 4 ");
  EXPECT_EQ(Counts("--key c --ttl 10s --every 5s", requests), "4 4 ");
  EXPECT_EQ(Counts("--key c --ttl 1m --every 30s --within 59s", requests), "4 4 ");
  EXPECT_EQ(Counts("--key '' --ttl 1m --every 30s", requests), "4 4 ");
  EXPECT_EQ(Counts("--key c --ttl 1m --every 30s --threads 3", requests), "4 4 ");
  EXPECT_EQ(Counts("--key c --ttl 1m --every 30s --reorder 5s", requests), "4 4 ");
}

TEST(LiveSetEvents, ChangesNameNoMember) {
  const std::string input = "{\"c\":\"k\",\"t\":1,\"p\":7}\n{\"c\":\"k\",\"t\":62}\n";
  const RunResult r =
      RunCommand("live", "--key c --ttl 1m --time t --time-unit s --payload p --no-summary", input);
  EXPECT_EQ(
      r.out,
      R"({"c":"k","at":"1970-01-01T00:00:01.000000Z","cause":"added","count":1,)"
      R"("stamp":"1970-01-01T00:00:01.000000Z","until":"1970-01-01T00:01:01.000000Z",)"
      R"("payload":7})"
      "\n"
      R"({"c":"k","at":"1970-01-01T00:01:01.000000Z","cause":"expired","count":0,"payload":7})"
      "\n"
      R"({"c":"k","at":"1970-01-01T00:01:02.000000Z","cause":"added","count":1,)"
      R"("stamp":"1970-01-01T00:01:02.000000Z","until":"1970-01-01T00:02:02.000000Z",)"
      R"("payload":null})"
      "\n");
  const RunResult all =
      RunCommand("live", "--key '' --ttl 1m --time t --time-unit s --no-summary", "{\"t\":1}\n");
  EXPECT_EQ(all.out,
            R"({"at":"1970-01-01T00:00:01.000000Z","cause":"added","count":1,)"
            R"("stamp":"1970-01-01T00:00:01.000000Z","until":"1970-01-01T00:01:01.000000Z"})"
            "\n");
}

// Numbers of events begin again with each run, and events of an earlier run still count.
TEST(LiveSetEvents, ThoseOfAnEarlierRunStillCount) {
  TemporaryDirectory dir;
  const std::string options = "live --key c --ttl 1m --time t --time-unit s --no-summary --open " +
                              (dir / "open") + " --state " + (dir / "state");
  for (const size_t lines : {2, 4}) {
    const Finished r = RunToEnd(Pleat(options), "{\"c\":1,\"t\":5}\n{\"c\":1,\"t\":5}\n");
    EXPECT_EQ(r.code, 0) << r.err;
    const std::string open = Content(dir / "open");
    EXPECT_EQ(static_cast<size_t>(std::count(open.begin(), open.end(), '\n')), lines);
    EXPECT_TRUE(open.starts_with(R"({"c":1,"stamp":)")) << open;
  }
}

// --- Leaves

// Who is live at the end, "member second".
std::string LiveAtEnd(const std::string& input) {
  TemporaryDirectory dir;
  const Finished r =
      RunToEnd(Pleat("live --key p --member u --ttl 1m -t t --time-unit s --remove-when e=leave "
                     "--no-summary --open " +
                     (dir / "open")),
               input);
  EXPECT_EQ(r.code, 0) << r.err;
  std::string out;
  const std::string open = Content(dir / "open");
  for (size_t at = 0; (at = open.find("\"u\":\"", at)) != std::string::npos; ++at) {
    out += open.substr(at + 5, 1) + " " + open.substr(open.find("\"stamp\":\"", at) + 26, 2) + "; ";
  }
  return out;
}

std::string Line(char user, const std::string& what, int second) {
  return std::string("{\"p\":\"x\",\"u\":\"") + user + "\",\"e\":\"" + what +
         "\",\"t\":" + std::to_string(second) + "}\n";
}

TEST(LiveSetLeaves, ALeaveEndsNothingNewer) {
  EXPECT_EQ(LiveAtEnd(Line('a', "join", 0) + Line('a', "join", 12) + Line('a', "leave", 10) +
                      Line('b', "join", 30)),
            "a 12; b 30; ");
  EXPECT_EQ(LiveAtEnd(Line('a', "join", 12) + Line('a', "leave", 13)), "");
  // A copy of what the leave ended does not come back.
  EXPECT_EQ(LiveAtEnd(Line('a', "join", 5) + Line('a', "leave", 10) + Line('a', "join", 9)), "");
  EXPECT_EQ(LiveAtEnd(Line('a', "leave", 10) + Line('a', "join", 9)), "");
  // The leave that was too old for the member is not forgotten: it stops what is older still.
  EXPECT_EQ(LiveAtEnd(Line('a', "join", 12) + Line('a', "leave", 10) + Line('a', "leave", 12) +
                      Line('a', "join", 10)),
            "");
}

TEST(LiveSetLeaves, OfEqualStampsTheLaterLineCounts) {
  EXPECT_EQ(LiveAtEnd(Line('a', "join", 5) + Line('a', "leave", 5)), "");
  EXPECT_EQ(LiveAtEnd(Line('a', "leave", 5) + Line('a', "join", 5)), "a 05; ");
  EXPECT_EQ(LiveAtEnd(Line('a', "join", 5) + Line('a', "leave", 5) + Line('a', "join", 5)),
            "a 05; ");
  EXPECT_EQ(LiveAtEnd(Line('a', "join", 5) + Line('a', "leave", 5) + Line('a', "join", 5) +
                      Line('a', "leave", 5)),
            "");
}

TEST(LiveSetFiles, OpenHoldsTheLiveMembersBySeriesAndStamp) {
  const TemporaryDirectory directory;
  const RunResult r = RunLive("--payload p --open " + (directory / "open"),
                              "{\"s\":1,\"m\":\"a\",\"t\":5}\n"
                              "{\"s\":2,\"m\":\"a\",\"t\":50,\"p\":[1]}\n"
                              "{\"s\":1,\"m\":\"b\",\"t\":40}\n"
                              "{\"s\":1,\"m\":\"c\",\"t\":70}\n");
  EXPECT_EQ(r.code, 0);
  const auto line = [](const std::string& head, const std::string& stamp, const std::string& until,
                       const std::string& payload) {
    const std::string day = "\"1970-01-01T00:";
    return head + ",\"stamp\":" + day + stamp + ".000000Z\",\"until\":" + day + until +
           ".000000Z\",\"payload\":" + payload + "}\n";
  };
  EXPECT_EQ(Content(directory / "open"), line(R"({"s":1,"m":"b")", "00:40", "01:40", "null") +
                                             line(R"({"s":1,"m":"c")", "01:10", "02:10", "null") +
                                             line(R"({"s":2,"m":"a")", "00:50", "01:50", "[1]"));
}

TEST(LiveSetFiles, LateAndInvalidLinesAreKeptAsTheyCame) {
  const TemporaryDirectory directory;
  const std::string late = "{\"s\":1, \"m\":1, \"t\":1}\n";
  const RunResult r = RunLive(
      "--late " + (directory / "late") + " --invalid " + (directory / "invalid") + " --strict",
      "{\"s\":1,\"m\":1,\"t\":100}\n" + late + "{\"m\":1}\n");
  EXPECT_EQ(r.code, 1);
  EXPECT_EQ(Content(directory / "late"), late);
  EXPECT_EQ(Content(directory / "invalid"), "{\"m\":1}\n");
}

TEST(LiveSetFiles, KeyOrMemberOfMoreThan64KiBIsInvalid) {
  const std::string longest(64 * 1024 - 2, 'x');  // and two quotes
  const auto line = [](const std::string& s, const std::string& m) {
    return "{\"s\":\"" + s + "\",\"m\":\"" + m + "\",\"t\":1}\n";
  };
  const RunResult r =
      RunLive("--on-invalid skip",
              line(longest, longest) + line(longest + 'x', "m") + line("s", longest + 'x'));
  EXPECT_EQ(Stat(r, "added"), 1);
  EXPECT_EQ(r.err, "<stdin>:2: key longer than 64 KiB\n<stdin>:3: member longer than 64 KiB\n");
}

TEST(LiveSetFiles, WithoutAUsableLineThereIsNoOutput) {
  const TemporaryDirectory directory;
  const RunResult r = RunLive("--output " + (directory / "out") + " --open " + (directory / "open"),
                              "{\"s\":1,\"M\":1,\"t\":1}\n");
  EXPECT_EQ(r.code, 1);
  EXPECT_EQ(directory.Names(), std::vector<std::string>{});
  EXPECT_NE(r.err.find("member \"m\" is missing in the one line; did you mean \"M\"?"),
            std::string::npos)
      << r.err;
}

TEST(LiveSetFiles, OnInvalidFailStopsThere) {
  const RunResult r =
      RunLive("--on-invalid fail", "{\"s\":1,\"m\":1,\"t\":1}\n{}\n{\"s\":2,\"m\":1,\"t\":1}\n");
  EXPECT_EQ(r.code, 1);
  EXPECT_EQ(Stat(r, "lines"), 2);
}

TEST(LiveSetFiles, NumberWithoutAUnitStopsTheRun) {
  const RunResult r =
      RunCommand("live", "--key s --member m --ttl 1m --time t", "{\"s\":1,\"m\":1,\"t\":1}\n");
  EXPECT_EQ(r.code, 2);
  EXPECT_NE(r.err.find("--time-unit"), std::string::npos) << r.err;
}

TEST(LiveSetLimits, MemoryRefusesOrDrops) {
  std::string input;
  for (int i = 0; i < 300; ++i) {
    input += "{\"s\":1,\"m\":" + std::to_string(i) + ",\"t\":1,\"p\":\"" + std::string(200, 'x') +
             "\"}\n";
  }
  const RunResult refused = RunLive("--payload p --max-memory 20Ki", input);
  EXPECT_EQ(refused.code, 1);
  EXPECT_NE(refused.err.find("event refused: --max-memory 20480 reached"), std::string::npos);
  EXPECT_GT(Stat(refused, "over_limit"), 100);
  EXPECT_GT(Stat(refused, "live"), 30);

  const RunResult dropped = RunLive("--payload p --max-memory 20Ki --on-limit drop", input);
  EXPECT_EQ(dropped.code, 0) << dropped.err;
  EXPECT_EQ(Stat(dropped, "added"), 300);
  EXPECT_EQ(Stat(dropped, "live"), Stat(refused, "live"));
}

TEST(LiveSetLimits, NothingIsLostWhenMoreEndAtOnceThanChangesAreKept) {
  std::string input;
  constexpr int kMembers = 70'000;
  for (int i = 0; i < kMembers; ++i) input += "{\"s\":1,\"m\":" + std::to_string(i) + ",\"t\":1}\n";
  input += "{\"s\":1,\"m\":\"last\",\"t\":100}\n";
  const RunResult r = RunLive("", input);
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(std::count(r.out.begin(), r.out.end(), '\n'), 2 * kMembers + 1);
  EXPECT_EQ(Stat(r, "changes"), 2 * kMembers + 1);
}

TEST(LiveSetLimits, AJumpLeavesOutItsCountsAndSaysHowManyAndWhere) {
  const auto at = [](int64_t t) { return "{\"s\":1,\"m\":1,\"t\":" + std::to_string(t) + "}\n"; };
  constexpr int64_t kMost = 1'000'000;
  const RunResult far =
      RunLive("--ttl inf --every 1s", at(0) + at(2) + at(kMost + 3) + at(kMost + 5));
  EXPECT_EQ(far.code, 1) << "something was left out";
  EXPECT_EQ(std::count(far.out.begin(), far.out.end(), '\n'), 2 + 2)
      << "none of those that are too many, and those behind them";
  EXPECT_EQ(far.err,
            "<stdin>:3: time moves at once from 1970-01-01T00:00:02.000000Z to "
            "1970-01-12T13:46:43.000000Z: the counts at 1,000,001 multiples of --every 1s are left "
            "out; if the stamp is wrong, --future-limit makes the line an invalid one\n");
  EXPECT_EQ(Stat(far, "events"), 4);

  // Nor does it matter how far time moves while nobody is there.
  const RunResult empty = RunLive("--ttl 5s --every 1s", at(2) + at(99'999'999'999));
  EXPECT_EQ(empty.code, 0) << empty.err;
  EXPECT_EQ(std::count(empty.out.begin(), empty.out.end(), '\n'), 4);
  const RunResult invalid =
      RunLive("--ttl inf --every 1s --future-limit 1h", at(2) + at(kMost + 3) + at(4));
  EXPECT_EQ(invalid.code, 0);
  EXPECT_EQ(Stat(invalid, "invalid"), 1);
  if (kSanitized) return;  // too slow for a million lines
  const RunResult most = RunLive("--ttl inf --every 1s --output /dev/null", at(2) + at(kMost + 2));
  EXPECT_EQ(most.code, 0) << most.err;
}

TEST(LiveSetSummary, StatsHaveTheirMembersInTheOrderOfTheManual) {
  EXPECT_EQ(
      RunLive("", "").stats,
      "{\"lines\":0,\"events\":0,\"invalid\":0,\"added\":0,\"refreshed\":0,\"updated\":0,"
      "\"unchanged\":0,\"duplicate\":0,\"conflict\":0,\"late\":0,\"tombstoned\":0,"
      "\"over_limit\":0,\"control\":0,\"expired\":0,\"removed\":0,\"replaced\":0,\"dropped\":0,"
      "\"live\":0,\"changes\":0,\"first_stamp\":null,\"last_stamp\":null}");
}

TEST(LiveSetSummary, SaysWhatBecameOfLinesAndMembers) {
  const Finished r = RunToEnd(Pleat(kUsual + "--remove-when g=1"),
                              "{\"s\":1,\"m\":1,\"t\":1500000000}\n"
                              "{\"s\":1,\"m\":2,\"t\":1500000100}\n"
                              "{\"s\":1,\"m\":2,\"t\":1500000101,\"g\":1}\n");
  EXPECT_NE(r.err.find("lines          3  0 invalid, 0 late, 0 over limit, 1 that remove\n"
                       "members        2  added; 1 expired, 1 removed, 0 live\n"
                       "output         4  written\n"
                       "took "),
            std::string::npos)
      << r.err;
}

TEST(LiveSetLive, MemberExpiresWhileThePipeIsOpenAndSilent) {
  Subprocess process(Pleat("live --key s --member m --ttl 50ms --quiet-summary"));
  process.Write("{\"s\":1,\"m\":1}\n");
  EXPECT_TRUE(process.AwaitOut("\"cause\":\"added\",\"count\":1"));
  EXPECT_TRUE(process.AwaitOut("\"cause\":\"expired\",\"count\":0"));
  EXPECT_EQ(process.Wait(), 0);
}

TEST(LiveSetLive, CountsComeWhileThePipeIsOpenAndSilent) {
  Subprocess process(Pleat("live --key s --member m --ttl 1h --every 20ms --quiet-summary"));
  process.Write("{\"s\":1,\"m\":1}\n");
  EXPECT_TRUE(process.AwaitOut(",\"count\":1}\n"));
  EXPECT_EQ(process.Wait(), 0);
}

TEST(LiveSetLive, IdleLetsTheWatermarkFollowTheWallClock) {
  Subprocess process(Pleat(kUsual + "--idle 20ms --quiet-summary"));
  process.Write("{\"s\":1,\"m\":1,\"t\":1}\n");  // years behind the wall clock
  EXPECT_TRUE(process.AwaitOut("\"cause\":\"expired\""));
  EXPECT_EQ(process.Wait(), 0);
}

TEST(LiveSetLive, SignalEndsTheRunInOrder) {
  Subprocess process(Pleat("live --key s --member m --ttl 1h --stats -"));
  process.Write("{\"s\":1,\"m\":1}\nnonsense\n");
  ASSERT_TRUE(process.AwaitErr("<stdin>:2: "));
  process.Signal(SIGINT);
  EXPECT_EQ(process.WaitWithInputOpen(), 130);
  EXPECT_NE(process.out().find("\"cause\":\"added\""), std::string::npos);
  ExpectLiveSetBalanced(StatsLine(process.err()));
}

}  // namespace
}  // namespace pleat::cli
