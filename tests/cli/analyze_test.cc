// pleat analyze: every row of its table is what pleat fold comes to.
#include <cmath>
#include <random>

#include <gmock/gmock.h>

#include "tests/cli/run_pleat.h"
#include "tests/support/plain_json.h"
#include "tests/support/sanitized.h"
#include "tests/support/source_dir.h"

namespace pleat::cli {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

Finished Analyze(const std::string& words, std::string_view input = "") {
  return RunToEnd(Pleat("analyze " + words), input);
}

// The objects of --json, one a line.
std::vector<PlainJson> Objects(const std::string& out) {
  std::vector<PlainJson> objects;
  std::istringstream lines(out);
  for (std::string line; std::getline(lines, line);) {
    const auto object = ParsePlainJson(line);
    EXPECT_TRUE(object) << line;
    if (object) objects.push_back(*object);
  }
  return objects;
}

// The analysis of one key.
PlainJson AnalysisOf(const std::string& words, std::string_view input = "") {
  const Finished r = Analyze("--json " + words, input);
  EXPECT_EQ(r.code, 0) << r.err;
  const std::vector<PlainJson> objects = Objects(r.out);
  EXPECT_THAT(objects, SizeIs(1));
  return objects.at(0);
}

std::string Text(const PlainJson& object, std::string_view name) {
  const PlainJson* const member = object.Member(name);
  return member == nullptr ? "no " + std::string(name) : member->text;
}

// Each row of the object against a run of pleat fold, but for every `step`-th only.
void ExpectFoldAgrees(const PlainJson& object, const std::string& words, std::string_view input,
                      size_t step = 1) {
  const auto& rows = object.Member("grid")->elements;
  ASSERT_FALSE(rows.empty());
  for (size_t i = 0; i < rows.size(); i += step) {
    const FoldResult folded =
        Fold("--quiet " + Text(rows[i], "quiet_s") + "s --no-meta " + words, input);
    SCOPED_TRACE(Text(rows[i], "quiet_s"));
    EXPECT_EQ(folded.code, 0) << folded.err;
    EXPECT_EQ(Text(object, "events"), std::to_string(int64_t(Stat(folded, "events"))));
    EXPECT_EQ(Text(rows[i], "emissions"), std::to_string(int64_t(Stat(folded, "emissions"))));
    // The very digits.
    EXPECT_THAT(folded.stats,
                HasSubstr("\"folding_ratio\":" + Text(rows[i], "folding_ratio") + ","));
  }
}

// Bursts; one stamp in seven lies up to 40 s behind; one line in a hundred is invalid.
std::string Log(uint64_t seed) {
  std::mt19937_64 random(seed);
  std::string log;
  int64_t now_ms = 1'000'000;
  for (int i = 0; i < 3'000; ++i) {
    now_ms += random() % 3 == 0 ? static_cast<int64_t>(random() % (1 << random() % 18)) : 0;
    const int64_t at = now_ms - (random() % 7 == 0 ? static_cast<int64_t>(random() % 40'000) : 0);
    log += random() % 100 == 0
               ? "{\"k\":\n"
               : "{\"k\":" + std::to_string(random() % 40) + ",\"t\":" + std::to_string(at) + "}\n";
  }
  return log;
}

const std::string kLog = "--key k --time t --time-unit ms ";

const std::string kWiki = SourceDir() + "/examples/data/wikiticker-2015-09-12-sample.ndjson.gz";

TEST(Analyze, EveryRowIsWhatFoldComesTo) {
  const std::string log = Log(1);
  const PlainJson analysis = AnalysisOf(kLog, log);
  EXPECT_THAT(analysis.Member("grid")->elements, SizeIs(24));
  EXPECT_NE(Text(analysis, "out_of_order"), "0");
  ExpectFoldAgrees(analysis, kLog, log);
}

// Grid points that are no round numbers are whole microseconds, and read back exactly.
TEST(Analyze, SoIsEveryRowOfAGridThatIsGiven) {
  const std::string log = Log(2);
  const PlainJson analysis = AnalysisOf(kLog + "--quiet-grid 10ms..70s/30", log);
  const auto& rows = analysis.Member("grid")->elements;
  ASSERT_THAT(rows, SizeIs(30));
  EXPECT_EQ(Text(rows.front(), "quiet_s"), "0.01");
  EXPECT_EQ(Text(rows[1], "quiet_s"), "0.01357");
  EXPECT_EQ(Text(rows.back(), "quiet_s"), "70");
  ExpectFoldAgrees(analysis, kLog, log);
}

// The quiet periods of the table, as they are printed.
std::vector<std::string> PrintedQuietPeriods(const std::string& table) {
  std::vector<std::string> quiet;
  std::istringstream lines(table);
  size_t width = 0;
  for (std::string line; std::getline(lines, line);) {
    if (width > 0 && line.size() < width) break;
    if (width > 0) {
      const size_t begin = line.find_first_not_of("> ");
      quiet.push_back(line.substr(begin, line.find("  ", begin) - begin));
    }
    if (line.starts_with("  quiet")) width = line.find("folded");
  }
  return quiet;
}

TEST(Analyze, FoldTakesTheQuietPeriodsAsTheTableShowsThem) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  const std::string log = Log(seed);
  for (const std::string grid : {"", "--quiet-grid 1us..300d/40", "--quiet-grid 0.9s..8d/30"}) {
    const PlainJson analysis = AnalysisOf(kLog + grid, log);
    const auto& rows = analysis.Member("grid")->elements;
    const std::vector<std::string> printed = PrintedQuietPeriods(Analyze(kLog + grid, log).out);
    ASSERT_EQ(printed.size(), rows.size());
    for (size_t i = 0; i < rows.size(); i += kSanitized ? 5 : 1) {
      const std::string fold = "fold --key k --print-spec --quiet ";
      Words words = Pleat(fold);
      words.push_back(printed[i]);
      const Finished as_printed = RunToEnd(words, "");
      const Finished exact = RunToEnd(Pleat(fold + Text(rows[i], "quiet_s") + "s"), "");
      EXPECT_EQ(as_printed.code, 0) << as_printed.err;
      EXPECT_EQ(as_printed.out, exact.out) << printed[i];
    }
  }
}

TEST(Analyze, AlsoWithReorderAndMaxWait) {
  const std::string log = Log(3);
  const std::string more = "--reorder 15s --max-wait 90s ";
  const PlainJson analysis = AnalysisOf(kLog + more, log);
  ExpectFoldAgrees(analysis, kLog + more, log);
}

TEST(Analyze, ALogOfEditsForSeveralKeysInOneRun) {
  const Finished r =
      Analyze("--key user --key channel --key channel,user --time time --json " + kWiki);
  EXPECT_EQ(r.code, 0) << r.err;
  const auto objects = Objects(r.out);
  ASSERT_THAT(objects, SizeIs(3));
  const std::string keys[] = {"user", "channel", "channel,user"};
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(Text(objects[i], "key"), keys[i]);
    ExpectFoldAgrees(objects[i], "--key " + keys[i] + " --time time " + kWiki, "", 7);
  }
}

struct RealLog {
  std::string name;
  std::string file;
  std::string key_and_time;
};

class AnalyzeRealLog : public testing::TestWithParam<RealLog> {};

TEST_P(AnalyzeRealLog, AgreesWithFoldAtThreeGridPoints) {
  const std::string path = SharedData() + "/" + GetParam().file;
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "there is no " << path;
  const std::string words = GetParam().key_and_time + " " + path;
  const PlainJson analysis = AnalysisOf(words);
  ExpectFoldAgrees(analysis, words, "", 8);
}

INSTANTIATE_TEST_SUITE_P(
    All, AnalyzeRealLog,
    testing::Values(
        RealLog{"wikiticker", "wikiticker-2015-09-12.ndjson.gz", "--key user --time time"},
        RealLog{"gharchive", "gharchive2015-apr.ndjson.gz", "--key actor --time dt"},
        RealLog{"higgs", "higgs-activity.ndjson.gz", "--key userB --time timestamp --time-unit s"},
        RealLog{"zeek", "zeek-wrccdc.ndjson.gz", "--key /id.orig_h --time ts"}),
    [](const auto& test) { return test.param.name; });

TEST(Analyze, ThreadsDoNotShow) {
  TemporaryDirectory dir;
  std::string outs[2];
  for (int i = 0; i < 2; ++i) {
    const Finished r = Analyze("--key user --key page --time time --json --html " + (dir / "page") +
                               (i == 0 ? " --threads 1 " : " --threads 3 ") + kWiki);
    EXPECT_EQ(r.code, 0) << r.err;
    outs[i] = r.out + Content(dir / "page");
  }
  EXPECT_EQ(outs[0], outs[1]);
}

std::string Event(std::string_view key, int seconds) {
  return "{\"k\":\"" + std::string(key) + "\",\"t\":" + std::to_string(seconds) + "}\n";
}
const std::string kSeconds = "--key k --time t --time-unit s ";

// Bursts of ten events a second apart, each followed by an hour of quiet.
std::string Bursts() {
  std::string log;
  for (int burst = 0; burst < 50; ++burst) {
    for (int i = 0; i < 10; ++i) log += Event("ann", burst * 3'600 + i);
  }
  return log;
}

TEST(Analyze, RecommendsTheKneeAndSaysWhatItCosts) {
  const PlainJson analysis = AnalysisOf(kSeconds, Bursts());
  const PlainJson& recommended = *analysis.Member("recommended");
  EXPECT_EQ(Text(recommended, "quiet_s"), "1.5");  // the first one that folds a burst
  EXPECT_THAT(Text(recommended, "why"),
              StartsWith("1.5 s folds 90.0 % of the events, into 50 emissions; 99 % come out "
                         "within "));
}

// Gaps of all lengths from a second to a day alike: every doubling folds as much as the one before.
TEST(Analyze, SaysWhenThereIsNoKnee) {
  std::string log;
  double at = 0;
  for (int i = 0; i < 1'000; ++i) {
    at += std::exp2(i * 37 % 1'000 * 16.4 / 1'000);
    log += Event("ann", static_cast<int>(at));
  }
  const Finished r = Analyze(kSeconds + "--quiet-grid 1s..6h", log);
  EXPECT_THAT(r.out, HasSubstr(" There is no clear knee; doubling the wait still folds another "));
}

TEST(Analyze, RecommendsTheCheapestThatMeetsATarget) {
  const std::string log = Log(4);
  const PlainJson analysis = AnalysisOf(kLog + "--target-ratio 0.7", log);
  const auto& rows = analysis.Member("grid")->elements;
  const std::string quiet = Text(*analysis.Member("recommended"), "quiet_s");
  for (const PlainJson& row : rows) {
    const bool meets = std::stod(Text(row, "folding_ratio")) >= 0.7;
    if (!meets) continue;
    EXPECT_EQ(quiet, Text(row, "quiet_s"));
    break;
  }
}

TEST(Analyze, RecommendsTheLongestWithinADelay) {
  const std::string log = Log(4);
  const PlainJson analysis = AnalysisOf(kLog + "--max-delay 20s", log);
  std::string longest;
  for (const PlainJson& row : analysis.Member("grid")->elements) {
    if (std::stod(Text(row, "delay_p99_s")) <= 20) longest = Text(row, "quiet_s");
  }
  EXPECT_NE(longest, "");
  EXPECT_EQ(Text(*analysis.Member("recommended"), "quiet_s"), longest);
}

TEST(Analyze, SaysWhenAGoalIsOutOfReach) {
  const Finished r = Analyze(kSeconds + "--target-ratio 0.999 --json", Bursts());
  EXPECT_EQ(r.code, 0);
  EXPECT_THAT(r.out, HasSubstr("No quiet period tried folds 99.9 %. The nearest, "));
  EXPECT_THAT(r.out, HasSubstr("\"kind\":\"out_of_reach\""));
}

// With a max wait no delay exceeds it, however long the quiet period.
TEST(Analyze, WaitsNoLongerThanItFoldsMore) {
  const PlainJson analysis = AnalysisOf(kSeconds + "--max-wait 1m --max-delay 1m", Bursts());
  EXPECT_EQ(Text(*analysis.Member("recommended"), "quiet_s"), "1.5");
}

// Whole seconds, and nothing ever comes again but at the same one.
TEST(Analyze, OfRepeatsAtOnceTheShortestQuietPeriodIsEnough) {
  std::string log;
  for (int i = 0; i < 100; ++i) log += Event(std::to_string(i), i) + Event(std::to_string(i), i);
  const PlainJson analysis = AnalysisOf(kSeconds, log);
  const PlainJson& recommended = *analysis.Member("recommended");
  EXPECT_EQ(Text(recommended, "quiet_s"), "0.000001");
  EXPECT_THAT(Text(recommended, "why"), HasSubstr("Doubling the wait folds no more."));
}

TEST(Analyze, OneStampFarAheadIsNoticedAndCanBeKeptOut) {
  const std::string log = Event("ann", 0) + Event("ann", 2'000'000'000) + Bursts();
  EXPECT_THAT(Analyze(kSeconds, log).out, HasSubstr(", 500 out of order\n"));
  EXPECT_THAT(Analyze(kSeconds, log).out, HasSubstr("see --future-limit."));
  const Finished kept_out = Analyze(kSeconds + "--json --future-limit 1d", log);
  EXPECT_TRUE(HasLine(kept_out.err, "<stdin>:2: event time is ahead of the future limit"));
  ExpectFoldAgrees(Objects(kept_out.out).at(0), kSeconds + "--future-limit 1d", log, 6);
}

TEST(Analyze, OverwritesNoInputAndNoOutput) {
  TemporaryDirectory dir;
  const std::string log = dir.Write("log", Bursts());
  ASSERT_EQ(symlink("log", (dir / "link").c_str()), 0);
  for (const std::string option : {"--output", "--html", "--svg"}) {
    for (const std::string& name : {log, dir / "./log", dir / "link"}) {
      const Finished r = Analyze(kSeconds + option + " " + name + " " + log);
      EXPECT_EQ(r.code, 2) << option << name;
      EXPECT_EQ(r.err, "pleat analyze: " + std::string(option) + ": the same file as the input " +
                           log + "\n");
    }
  }
  const Finished r =
      Analyze(kSeconds + "--html " + (dir / "page") + " --output " + (dir / "./page") + " " + log);
  EXPECT_EQ(r.code, 2);
  EXPECT_EQ(r.err, "pleat analyze: --html: the same file as --output\n");
  EXPECT_EQ(Content(log), Bursts());
  EXPECT_THAT(dir.Names(), ElementsAre("link", "log"));
}

// As when the page has no name, and the log takes its place.
TEST(Analyze, APageReplacesNothingButAPage) {
  TemporaryDirectory dir;
  for (const std::string kind : {"html", "svg"}) {
    const std::string log = dir.Write("log", Bursts());
    const Finished r = Analyze(kSeconds + "--" + kind + " " + log, Bursts());
    EXPECT_EQ(r.code, 2);
    EXPECT_EQ(r.out, "");
    EXPECT_EQ(r.err, "pleat analyze: --" + kind + ": " + log +
                         " is another kind of file, and stays; remove it first, or name another "
                         "FILE\n");
    EXPECT_EQ(Content(log), Bursts());
    dir.Write("log", "");
    EXPECT_EQ(Analyze(kSeconds + "--" + kind + " " + log, Bursts()).code, 0);
    const std::string page = Content(log);
    EXPECT_GT(page.size(), 1000u);
    EXPECT_EQ(Analyze(kSeconds + "--" + kind + " " + log, Bursts()).code, 0);
    EXPECT_EQ(Content(log), page);
    EXPECT_THAT(dir.Names(), ElementsAre("log"));
  }
}

TEST(Analyze, InvalidLinesAreKeptOrEndTheRunAsWithFold) {
  TemporaryDirectory dir;
  const std::string input = Bursts() + "nonsense\n{\"k\":1}\n";
  const Finished kept = Analyze(kSeconds + "--key j --invalid " + (dir / "invalid"), input);
  EXPECT_EQ(kept.code, 0);
  EXPECT_THAT(Content(dir / "invalid"), EndsWith("nonsense\n{\"k\":1}\n"));
  const Finished failed = Analyze(kSeconds + "--on-invalid fail", input);
  EXPECT_EQ(failed.code, 1);
  EXPECT_EQ(failed.out, "");
}

TEST(Analyze, FailsIfNoLineWasUsableAndLeavesWhatWasThere) {
  TemporaryDirectory dir;
  dir.Write("txt", "before");
  dir.Write("html", "<!DOCTYPE html>before");
  dir.Write("svg", "<svg before");
  const std::string files =
      "--output " + (dir / "txt") + " --html " + (dir / "html") + " --svg " + (dir / "svg");
  const Finished r = Analyze(kSeconds + files, "k,t\nann,1\n");
  EXPECT_EQ(r.code, 1);
  EXPECT_EQ(r.err.substr(r.err.find("pleat analyze: ")),
            "pleat analyze: no line was usable; <stdin> looks like CSV: "
            "pleat analyze --input csv ...\n");
  for (const char* name : {"txt", "html", "svg"}) {
    EXPECT_THAT(Content(dir / name), EndsWith("before")) << name;
  }
  EXPECT_THAT(dir.Names(), ElementsAre("html", "svg", "txt"));
  EXPECT_EQ(Analyze(kSeconds, "").code, 0);
  // One key that no line has does not spoil the others.
  EXPECT_EQ(Analyze(kSeconds + "--key K", Bursts()).code, 0);
}

TEST(Analyze, KeysCannotRewriteTheTerminal) {
  std::string log;
  for (int i = 0; i < 5; ++i) log += Event("\xc2\x9bm\xe2\x80\xae red", i);
  EXPECT_THAT(Analyze(kSeconds + "--quiet-grid 2s", log).out, HasSubstr("\"?m? red\""));
}

TEST(Analyze, SaysWhenALogDoesNotFold) {
  std::string log;
  for (int i = 0; i < 1'000; ++i) log += Event(std::to_string(i), i);
  const PlainJson analysis = AnalysisOf(kSeconds, log);
  const PlainJson& recommended = *analysis.Member("recommended");
  EXPECT_EQ(Text(recommended, "quiet_s"), "");
  EXPECT_EQ(recommended.Member("quiet_s")->kind, PlainJson::Kind::kNull);
  EXPECT_THAT(Text(recommended, "why"), StartsWith("This log does not fold by this key: "));
}

TEST(Analyze, NamesTheKeysThatDoNotGoQuiet) {
  std::string log;
  for (int i = 0; i < 3'000; ++i) {
    log += Event("sensor", i * 60);
    if (i % 60 < 10) log += Event("ann", i * 60) + Event("bob", i * 60);
  }
  const PlainJson analysis = AnalysisOf(kSeconds + "--target-ratio 0.5", log);
  const PlainJson& never_quiet = *analysis.Member("recommended")->Member("restless");
  ASSERT_THAT(never_quiet.elements, SizeIs(1));
  EXPECT_EQ(never_quiet.elements[0].text, "sensor");
  const Finished held = Analyze(kSeconds + "--json --target-ratio 0.5 --max-wait 1h", log);
  EXPECT_THAT(held.out, HasSubstr("\"restless\":[]"));
  const Finished compound =
      Analyze("--key k,k2=k --time t --time-unit s --json --target-ratio 0.5", log);
  EXPECT_THAT(compound.out, HasSubstr("\"restless\":[[\"sensor\",\"sensor\"]]"));
}

TEST(Analyze, OfNothingSaysSo) {
  const Finished r = Analyze(kSeconds + "--json", "");
  EXPECT_EQ(r.code, 0);
  EXPECT_THAT(r.out, StartsWith("{\"key\":\"k\",\"events\":0,\"keys\":0,\"span_s\":0,\"grid\":["));
  EXPECT_THAT(r.out, HasSubstr("\"quiet_s\":null,\"why\":\"There is nothing to fold"));
}

TEST(Analyze, PrintsATableForPeople) {
  const Finished r = Analyze(kSeconds + "--quiet-grid 1s,90s,2h", Bursts());
  EXPECT_EQ(r.code, 0);
  EXPECT_THAT(r.out,
              StartsWith("k: 500 events of 1 key in 2.04 d\n"
                         "\n"
                         "  quiet       folded  emissions      per s  delay p50  delay p99  open\n"
                         "  1 s            0 %        500     0.0028        1 s        1 s     1\n"
                         "> 1 min 30 s  90.0 %         50    0.00028   1.65 min   1.65 min     1\n"
                         "  2 h         99.8 %          1  0.0000057     2.17 d     2.17 d     1\n"
                         "\n"
                         "1 min 30 s folds 90.0 % of the events, into 50 emissions; "));
  EXPECT_THAT(r.out, EndsWith("Biggest bursts at 1 min 30 s:\n"
                              "  \"ann\"  10 events  in 9 s\n"));
}

TEST(Analyze, SaysHowMuchMemoryItTookAndAtMostTakes) {
  const Finished r = Analyze(kSeconds + "--max-memory 1Gi", Bursts());
  EXPECT_THAT(r.err, HasSubstr("k: 1 key took "));
  EXPECT_THAT(r.err, HasSubstr(" of the 1.1 GB allowed\n"));
}

TEST(Analyze, PastItsMemoryLeavesKeysOutAndFails) {
  std::string log;
  for (int i = 0; i < 20'000; ++i) log += Event(std::to_string(i), i);
  const Finished r = Analyze(kSeconds + "--max-memory 4M --quiet-grid 1s,2s --quiet-summary", log);
  EXPECT_EQ(r.code, 1);
  EXPECT_THAT(r.err, HasSubstr(" left out: --max-memory reached; what follows is of the others\n"));
}

TEST(Analyze, SkipsInvalidLinesAndSaysWhichOnceForAllKeys) {
  const std::string log = Event("a", 1) + "{\"k\":\n" + Event("b", 2) + "{\"t\":3}\n";
  const Finished r = Analyze(kSeconds + "--key j --quiet-summary", log);
  EXPECT_EQ(r.code, 0);
  EXPECT_TRUE(HasLine(r.err, "<stdin>:2: ")) << r.err;
  EXPECT_TRUE(HasLine(r.err, "<stdin>:4: key \"k\" is missing")) << r.err;
  EXPECT_TRUE(HasLine(r.err, "<stdin>:4: key \"j\" is missing")) << r.err;
  EXPECT_EQ(r.err.find("<stdin>:2: "), r.err.rfind("<stdin>:2: ")) << r.err;
  EXPECT_EQ(Analyze(kSeconds + "--strict", log).code, 1);
}

TEST(Analyze, EmptyKeyIsOneOfAllEvents) {
  const std::string log = Event("a", 1) + Event("b", 2) + "{\"t\":3}\n";
  const std::string options = "--key '' --time t --time-unit s --quiet-grid 2s,4s --quiet-summary ";
  const Finished table = RunToEnd(Pleat("analyze " + options), log);
  EXPECT_THAT(table.out, testing::StartsWith("all events: 3 events of 1 key in 2 s\n"))
      << table.err;
  const Finished json = RunToEnd(Pleat("analyze --json " + options), log);
  EXPECT_THAT(json.out, testing::StartsWith("{\"key\":\"\",\"events\":3,\"keys\":1,"));
}

TEST(Analyze, ANumberWithoutAUnitStopsTheRun) {
  const Finished r = Analyze("--key k --time t", Event("a", 1'400'000'000));
  EXPECT_EQ(r.code, 2);
  EXPECT_THAT(r.out, IsEmpty());
  EXPECT_THAT(r.err, StartsWith("<stdin>:1: "));
  EXPECT_THAT(r.err, HasSubstr("--time-unit"));
}

TEST(Analyze, ReadsALineThatIsTooLongAsAnInvalidOne) {
  const std::string log = Event("a", 1) + std::string(3'000'000, 'x') + "\n" + Event("a", 2);
  const Finished r = Analyze(kSeconds + "--json", log);
  EXPECT_TRUE(HasLine(r.err, "<stdin>:2: ")) << r.err;
  EXPECT_THAT(r.out, HasSubstr("\"events\":2,"));
}

TEST(Analyze, TellsWrongUsageInOneLine) {
  const std::pair<std::string, std::string> cases[] = {
      {"--time t", "--key: is required"},
      {"--key k", "--time: is required"},
      {"--key k --time t --quiet-grid 1d..1s",
       "--quiet-grid: must go from the shorter to the longer"},
      {"--key k --time t --quiet-grid 0..1s", "--quiet-grid: must be above 0"},
      {"--key k --time t --quiet-grid 1s..2s/500",
       "--quiet-grid: the number of points must be from 2 to 128"},
      {"--key k --time t --quiet-grid 1s,inf", "--quiet-grid: must be above 0 and not infinite"},
      {"--key k --time t --target-ratio 95",
       "--target-ratio: must be a number between 0 and 1, such as 0.95"},
      {"--key k --time t --html -", "--html: needs a file of its own, not -"},
      {"--key k --time t --html x --svg x", "--html: the same file as --svg"},
      {"--key k --time t --quiet-gird 1s",
       "unknown option --quiet-gird; did you mean --quiet-grid?"},
      {"--key k..j --time t", "--key: "},
      {"--key k --time t --stats -", "unknown option --stats; the figures are the output, and"},
      {"--key k --time t --spec=x", "unknown option --spec; a spec is for fold, rollup and live"},
      {"--key k --time t --print-spec", "unknown option --print-spec; a spec is for fold"},
      {"--key k --time t --quiet 1m", "unknown option --quiet; --quiet-grid says which"},
      {"--key k --time t --merge 'n=count()'", "unknown option --merge; an analysis merges no"},
  };
  for (const auto& [arguments, message] : cases) {
    const Finished r = Analyze(arguments, "");
    EXPECT_EQ(r.code, 2) << message;
    EXPECT_THAT(r.err, StartsWith("pleat analyze: " + message)) << message;
    EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
    EXPECT_THAT(r.out, IsEmpty());
  }
}

TEST(Analyze, WritesFilesWholeOrNotAtAll) {
  TemporaryDirectory dir;
  const Finished r = Analyze(kSeconds + "--svg " + (dir / "a.svg") + " --html " + (dir / "a.html") +
                                 " --output " + (dir / "a.txt") + " /no/such/file",
                             "");
  EXPECT_EQ(r.code, 1);
  EXPECT_THAT(dir.Names(), IsEmpty());
  EXPECT_EQ(Analyze(kSeconds + "--svg " + (dir / "a.svg") + " --html " + (dir / "a.html") +
                        " --output " + (dir / "a.txt"),
                    Bursts())
                .code,
            0);
  EXPECT_THAT(dir.Names(), ElementsAre("a.html", "a.svg", "a.txt"));
}

TEST(Analyze, HelpBeginsWithExamples) {
  const Finished r = Analyze("--help");
  EXPECT_EQ(r.code, 0);
  EXPECT_LT(r.out.find("Examples:"), r.out.find("--key [NAME=]PATH"));
  EXPECT_THAT(RunToEnd(Pleat("--help"), "").out, HasSubstr("  analyze   "));
}

}  // namespace
}  // namespace pleat::cli
