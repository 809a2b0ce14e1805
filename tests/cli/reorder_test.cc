// --reorder: lines whose disorder is within the bound come to what they come to sorted by time, in
// all that a run leaves; and what becomes of those that are further behind.
#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <regex>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/run_pleat.h"
#include "tests/support/sanitized.h"
#include "tests/support/source_dir.h"

namespace pleat::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kInSeconds = " --time t --time-unit s ";

std::string InSeconds(const std::string& words) { return words + std::string(kInSeconds); }

// The standard output of a run without errors.
std::string OutputOf(const std::string& command, const std::string& words, std::string_view input) {
  const RunResult r = RunCommand(command, InSeconds(words), input);
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.err, "");
  return r.out;
}

// --- What people expect of events that come out of order

TEST(Reorder, PartsSessionsByTheTimesOfEvents) {
  EXPECT_EQ(OutputOf("fold",
                     "--key k --quiet 10s --reorder 30s --merge 'n=count()' --merge 'from=min(t)' "
                     "--merge 'to=max(t)' --no-meta",
                     "{\"k\":\"kb\",\"t\":40}\n"
                     "{\"k\":\"kb\",\"t\":25}\n"
                     "{\"k\":\"kb\",\"t\":33}\n"
                     "{\"k\":\"kb\",\"t\":60}\n"),
            "{\"k\":\"kb\",\"n\":3,\"from\":25,\"to\":40}\n"
            "{\"k\":\"kb\",\"n\":1,\"from\":60,\"to\":60}\n");
}

TEST(Reorder, EndsATraceBehindAllItsOlderSpans) {
  EXPECT_EQ(OutputOf("fold",
                     "--key trace --quiet 60s --reorder 10s --end-when end=true "
                     "--merge 'n=count()' --merge 'spans=set(span)' --no-meta",
                     "{\"trace\":\"t1\",\"span\":\"http\",\"end\":false,\"t\":0}\n"
                     "{\"trace\":\"t1\",\"span\":\"root\",\"end\":true,\"t\":20}\n"
                     "{\"trace\":\"t1\",\"span\":\"db\",\"end\":false,\"t\":15}\n"
                     "{\"trace\":\"t2\",\"span\":\"x\",\"end\":false,\"t\":100}\n"),
            "{\"trace\":\"t1\",\"n\":3,\"spans\":[\"http\",\"db\",\"root\"]}\n"
            "{\"trace\":\"t2\",\"n\":1,\"spans\":[\"x\"]}\n");
}

TEST(Reorder, ListsValuesInTheOrderOfTime) {
  EXPECT_EQ(OutputOf("fold",
                     "--key k --quiet 30s --reorder 10s --merge 'path=array(p)' "
                     "--merge 'text=concat(p,\">\")' --no-meta",
                     "{\"k\":\"u\",\"p\":\"/1\",\"t\":0}\n"
                     "{\"k\":\"u\",\"p\":\"/3\",\"t\":20}\n"
                     "{\"k\":\"u\",\"p\":\"/2\",\"t\":15}\n"
                     "{\"k\":\"z\",\"p\":\"/x\",\"t\":100}\n"),
            "{\"k\":\"u\",\"path\":[\"/1\",\"/2\",\"/3\"],\"text\":\"/1>/2>/3\"}\n"
            "{\"k\":\"z\",\"path\":[\"/x\"],\"text\":\"/x\"}\n");
}

TEST(Reorder, CountsNoMemberBeforeItsTime) {
  const auto count = [](const std::string& minute) {
    return "{\"p\":\"x\",\"at\":\"1970-01-01T00:" + minute + ":00.000000Z\",\"count\":1}\n";
  };
  EXPECT_EQ(OutputOf("live", "--key p --member u --ttl 1m --every 1m --reorder 1m",
                     "{\"p\":\"x\",\"u\":\"a\",\"t\":50}\n"
                     "{\"p\":\"x\",\"u\":\"b\",\"t\":110}\n"
                     "{\"p\":\"x\",\"u\":\"c\",\"t\":170}\n"
                     "{\"p\":\"x\",\"u\":\"d\",\"t\":300}\n"),
            count("01") + count("02") + count("03"));
}

TEST(Reorder, ALeaveEndsNoNewerJoin) {
  const TemporaryDirectory dir;
  OutputOf(
      "live",
      "--key p --member u --ttl 1m --reorder 5s --remove-when e=leave --open " + (dir / "open"),
      "{\"p\":\"x\",\"u\":\"a\",\"e\":\"join\",\"t\":0}\n"
      "{\"p\":\"x\",\"u\":\"a\",\"e\":\"join\",\"t\":12}\n"
      "{\"p\":\"x\",\"u\":\"a\",\"e\":\"leave\",\"t\":10}\n"
      "{\"p\":\"x\",\"u\":\"b\",\"e\":\"join\",\"t\":30}\n");
  EXPECT_THAT(WholeLines(Content(dir / "open")),
              ElementsAre(HasSubstr("\"u\":\"a\",\"stamp\":\"1970-01-01T00:00:12."),
                          HasSubstr("\"u\":\"b\",\"stamp\":\"1970-01-01T00:00:30.")));
}

// --- Lines that do not wait

TEST(Reorder, InvalidLinesKeepTheOrderOfArrival) {
  const TemporaryDirectory dir;
  const RunResult r =
      Fold(InSeconds("--key k --quiet 1s --reorder 1h --invalid " + (dir / "invalid")),
           "{\"k\":1,\"t\":50}\n"
           "third\n"
           "{\"k\":1,\"t\":20}\n"
           "{\"t\":10}\n"
           "\n"
           "first\n"
           "{\"k\":1,\"t\":40}\n");
  EXPECT_EQ(Content(dir / "invalid"), "third\n{\"t\":10}\nfirst\n");
  EXPECT_THAT(WholeLines(r.err), ElementsAre(HasSubstr("<stdin>:2: "), HasSubstr("<stdin>:4: "),
                                             HasSubstr("<stdin>:6: ")));
  EXPECT_EQ(Stat(r, "events"), 3);
}

TEST(Reorder, LinesFurtherBehindAreLateByTheRuleOfTheCommand) {
  const std::string input =
      "{\"k\":1,\"t\":100}\n"
      "{\"k\":1,\"t\":89}\n"
      "{\"k\":1,\"t\":90}\n"
      "{\"k\":1,\"t\":120}\n"
      "{\"k\":2,\"t\":109}\n"
      "{\"k\":1,\"t\":50}\n";
  const std::string behind =
      "{\"k\":1,\"t\":89}\n"
      "{\"k\":2,\"t\":109}\n"
      "{\"k\":1,\"t\":50}\n";
  const std::pair<std::string, std::string> commands[] = {
      {"fold", "--quiet 1s --allowed-lateness 0"}, {"rollup", "--window 1s --allowed-lateness 0"}};
  for (const auto& [command, words] : commands) {
    const TemporaryDirectory dir;
    const RunResult r = RunCommand(
        command, InSeconds(words + " --key k --reorder 10s --late " + (dir / "late")), input);
    EXPECT_EQ(r.code, 0) << r.err;
    EXPECT_EQ(Content(dir / "late"), behind) << command;
    EXPECT_EQ(Stat(r, "late"), 3);
    EXPECT_EQ(Stat(r, "events"), 6);
    EXPECT_EQ(Stat(r, "released_early"), 0);
  }
}

TEST(Reorder, OfALiveSetThoseAreLateThatHaveEndedByTheTimeTheyAreTaken) {
  const TemporaryDirectory dir;
  const RunResult r = RunCommand(
      "live", InSeconds("--key k --member m --ttl 15s --reorder 10s --late " + (dir / "late")),
      "{\"k\":1,\"m\":1,\"t\":100}\n"
      "{\"k\":1,\"m\":2,\"t\":76}\n"
      "{\"k\":1,\"m\":3,\"t\":75}\n"
      "{\"k\":1,\"m\":4,\"t\":90}\n");
  EXPECT_EQ(Content(dir / "late"), "{\"k\":1,\"m\":3,\"t\":75}\n");
  EXPECT_EQ(Stat(r, "added"), 3);
}

TEST(Reorder, ABrokenStampIsInvalidAndReleasesNothing) {
  const std::string words =
      "--key k --quiet 1s --reorder 1m --future-limit 100s --merge 'n=count()'";
  const std::string before =
      "{\"k\":1,\"t\":1000}\n"
      "{\"k\":1,\"t\":1100}\n";
  const std::string broken =
      "{\"k\":1,\"t\":1201}\n"
      "{\"k\":1,\"t\":99999999}\n";
  const std::string after =
      "{\"k\":1,\"t\":1040}\n"
      "{\"k\":1,\"t\":1200}\n"
      "{\"k\":1,\"t\":1140}\n";
  const RunResult r = Fold(InSeconds(words), before + broken + after);
  EXPECT_THAT(WholeLines(r.err), ElementsAre(HasSubstr("<stdin>:3: "), HasSubstr("<stdin>:4: ")));
  EXPECT_EQ(Stat(r, "invalid"), 2);
  EXPECT_EQ(r.out, OutputOf("fold", words, before + after));
  EXPECT_EQ(Stat(r, "opened"), 5);
}

// --- What is counted

TEST(Reorder, StatsNameWaitingEventsOnlyIfThereAreSome) {
  const TemporaryDirectory dir;
  const std::string input = "{\"k\":1,\"t\":5}\n{\"k\":1,\"t\":4}\n{\"k\":1,\"t\":9}\n";
  const std::string words = InSeconds("--key k --quiet 1s");
  const RunResult plain = Fold(words, input);
  EXPECT_THAT(plain.stats, Not(HasSubstr("released_early")));
  const RunResult bounded = Fold(words + " --reorder 2s", input);
  EXPECT_THAT(bounded.stats, HasSubstr("\"released_early\":0"));
  EXPECT_THAT(bounded.stats, Not(HasSubstr("\"waiting\"")));
  const RunResult kept = Fold(words + " --reorder 2s --at-end keep --output " + (dir / "out") +
                                  " --state " + (dir / "state"),
                              input);
  EXPECT_EQ(Stat(kept, "waiting"), 1) << kept.stats;
  EXPECT_EQ(Stat(kept, "events"), 2) << kept.stats;
}

// Half of the memory is for lines that wait.
TEST(Reorder, AtTheEndOfTheMemoryTheOldestAreTakenEarlyAndNothingIsDropped) {
  std::string input;
  for (int i = 0; i < 400; ++i) {
    input += "{\"k\":" + std::to_string(i % 3) + ",\"t\":" + std::to_string(1000 + i) +
             ",\"x\":\"" + std::string(100, 'x') + "\"}\n";
  }
  const std::string words = "--key k --quiet 5s --reorder 1h --merge 'n=count()'";
  const RunResult roomy = Fold(InSeconds(words + " --max-memory 1M"), input);
  EXPECT_EQ(Stat(roomy, "released_early"), 0);
  const RunResult tight = Fold(InSeconds(words + " --max-memory 40000"), input);
  EXPECT_EQ(tight.code, 0) << tight.err;
  EXPECT_GT(Stat(tight, "released_early"), 200);
  EXPECT_LT(Stat(tight, "released_early"), 399);
  EXPECT_EQ(Stat(tight, "events"), 400);
  EXPECT_EQ(tight.out, roomy.out) << "the input is in order";
}

// --- Runs that go on in a state directory

// Events of three users, some of them up to 20 s behind, and lines of other kinds.
std::string DisorderedEvents(uint64_t seed, int lines, int first = 1000) {
  std::mt19937_64 random(seed);
  std::multimap<int, std::string> events;
  for (int i = 0; i < lines; ++i) {
    const int at = first + 3 * i;
    const int delay = random() % 2 == 0 ? static_cast<int>(random() % 21) : 0;
    const std::string k(1, "abc"[random() % 3]);
    std::string line = "{\"k\":\"" + k + "\",\"t\":" + std::to_string(at) +
                       ",\"i\":" + std::to_string(i) + ",\"e\":" + std::to_string(random() % 12) +
                       "}\n";
    events.emplace(at + delay, random() % 30 == 0 ? "invalid\n" : std::move(line));
  }
  std::string text;
  for (const auto& [at, line] : events) text += line;
  return text;
}

size_t LineBegin(const std::string& text, size_t line) {
  size_t at = 0;
  for (; line > 0; --line) at = text.find('\n', at) + 1;
  return at;
}

using Command = std::pair<std::string, std::string>;

const Command kFold = {
    "fold",
    "--quiet 7s --merge 'all=array(i)' --end-when e=3 --cancel-when e=4 --emission-id "
    "--partial-every 5s"};
const Command kRollup = {"rollup", "--window 10s,1m --value i --allowed-lateness 0 --emission-id"};
const Command kLiveChanges = {"live", "--member e --ttl 30s --payload i --remove-when e=5"};
const Command kLiveCounts = {"live", "--member e --ttl 30s --every 10s"};

std::string NameOf(const testing::TestParamInfo<Command>& command) {
  const bool counts = command.param.second.find("--every") != std::string::npos;
  return command.param.first + (counts ? "Counts" : "");
}

// All that runs have left.
struct Kept {
  std::string out;
  std::string open;
  std::string stats;
};

void ExpectSame(const Kept& got, const Kept& want) {
  EXPECT_EQ(got.out, want.out);
  EXPECT_EQ(got.open, want.open);
  EXPECT_EQ(got.stats, want.stats);
}

// A live input does not repeat itself: the ids of emissions go on further ahead.
void ExpectSameButForIds(Kept got, Kept want) {
  for (Kept* each : {&got, &want}) {
    each->out = std::regex_replace(each->out, std::regex("\"id\":\"[^\"]*\""), "\"id\":0");
  }
  ExpectSame(got, want);
}

class ReorderedRuns : public testing::TestWithParam<Command> {
 protected:
  std::string Words(const TemporaryDirectory& dir) const {
    return InSeconds(GetParam().second + " --key k --reorder 20s --output " + (dir / "out") +
                     " --open " + (dir / "open"));
  }
  RunResult Run(const TemporaryDirectory& dir, const std::string& more,
                std::string_view input = "") const {
    RunResult r = RunCommand(GetParam().first, Words(dir) + more, input);
    EXPECT_EQ(r.code, 0) << r.err;
    return r;
  }
  static Kept KeptIn(const TemporaryDirectory& dir, const RunResult& last) {
    return {Content(dir / "out"), Content(dir / "open"), last.stats};
  }
};

TEST_P(ReorderedRuns, OverTwoPartsOfALogAreOneRunOverTheWhole) {
  const std::string log = DisorderedEvents(1, 60);
  const TemporaryDirectory whole;
  const Kept want = KeptIn(whole, Run(whole, whole.Write("log", log)));
  double waiting = 0;
  for (const size_t cut : {0, 1, 2, 7, 20, 31, 32, 33, 59, 60}) {
    SCOPED_TRACE("cut behind line " + std::to_string(cut));
    const TemporaryDirectory dir;
    const size_t place = LineBegin(log, cut);
    const std::string state = " --state " + (dir / "state") + " ";
    const std::string first = dir.Write("first", log.substr(0, place));
    const std::string second = dir.Write("second", log.substr(place));
    const RunResult kept = Run(dir, state + "--at-end keep " + first);
    waiting += Stat(kept, "waiting");
    const RunResult again = Run(dir, state + "--at-end keep " + first);
    EXPECT_EQ(again.stats, kept.stats) << "there was nothing new";
    ExpectSame(KeptIn(dir, Run(dir, state + first + " " + second)), want);
  }
  EXPECT_GT(waiting, 0);
}

TEST_P(ReorderedRuns, OverAFileThatGrowsAreOneRunOverTheWhole) {
  const std::string log = DisorderedEvents(2, 60);
  const TemporaryDirectory whole;
  const Kept want = KeptIn(whole, Run(whole, whole.Write("log", log)));
  const TemporaryDirectory dir;
  const std::string words = " --state " + (dir / "state") + " --at-end keep ";
  for (size_t lines = 0; lines < 60; lines += 4) {
    Run(dir, words + dir.Write("log", log.substr(0, LineBegin(log, lines))));
  }
  ExpectSame(KeptIn(dir, Run(dir, " --state " + (dir / "state") + " " + dir.Write("log", log))),
             want);
}

TEST_P(ReorderedRuns, OverTwoPipesAreOneRunOverTheWhole) {
  const std::string log = DisorderedEvents(3, 60);
  const TemporaryDirectory whole;
  const Kept want = KeptIn(whole, Run(whole, "", log));
  for (const size_t cut : {1, 20, 33, 59}) {
    SCOPED_TRACE("cut behind line " + std::to_string(cut));
    const TemporaryDirectory dir;
    const size_t place = LineBegin(log, cut);
    const std::string state = " --state " + (dir / "state");
    Run(dir, state + " --at-end keep", log.substr(0, place));
    ExpectSameButForIds(KeptIn(dir, Run(dir, state, log.substr(place))), want);
  }
}

TEST_P(ReorderedRuns, ASignalLeavesWhatWaitsForTheNextRun) {
  const std::string log = DisorderedEvents(4, 40) + "the end\n";
  const TemporaryDirectory whole;
  const Kept want =
      KeptIn(whole, Run(whole, whole.Write("log", log) + " " +
                                   whole.Write("more", DisorderedEvents(5, 30, 1120))));
  const TemporaryDirectory dir;
  const std::string words = Words(dir) + " --state " + (dir / "state") + " ";
  const std::string file = dir.Write("log", log);
  Subprocess process(Pleat(GetParam().first + " --stats - " + words + file + " -"));
  ASSERT_TRUE(process.AwaitErr("log:41: "));
  process.Signal(SIGTERM);
  EXPECT_EQ(process.WaitWithInputOpen(), 128 + SIGTERM);
  const std::string stats = StatsLine(process.err());
  EXPECT_GT(ParseStats(stats)["waiting"], 0) << stats;
  const RunResult rest = RunCommand(
      GetParam().first, words + file + " " + dir.Write("more", DisorderedEvents(5, 30, 1120)), "");
  ExpectSameButForIds(KeptIn(dir, rest), want);
}

INSTANTIATE_TEST_SUITE_P(Commands, ReorderedRuns,
                         testing::Values(kFold, kRollup, kLiveChanges, kLiveCounts), NameOf);

TEST(Reorder, ASignalWithoutADirectoryTakesWhatWaits) {
  Subprocess process(
      Pleat(InSeconds("fold --key k --quiet 1m --reorder 1h --no-meta "
                      "--merge 'all=array(i)' --stats - --quiet-summary")));
  process.Write(
      "{\"k\":1,\"t\":5,\"i\":2}\n"
      "{\"k\":1,\"t\":3,\"i\":1}\n"
      "nonsense\n");
  ASSERT_TRUE(process.AwaitErr("<stdin>:3: "));
  process.Signal(SIGTERM);
  EXPECT_EQ(process.WaitWithInputOpen(), 128 + SIGTERM);
  EXPECT_EQ(process.out(), "{\"k\":1,\"all\":[1,2]}\n");
  ExpectBalanced(StatsLine(process.err()));
}

TEST(Reorder, WhatIsDroppedAtTheEndWasTakenBefore) {
  const RunResult r = Fold(InSeconds("--key k --quiet 1s --reorder 1h --at-end drop --no-meta"),
                           "{\"k\":1,\"t\":5}\n{\"k\":2,\"t\":3}\n{\"k\":1,\"t\":4}\n");
  EXPECT_EQ(r.out, "{\"k\":2}\n{\"k\":1}\n");
  EXPECT_EQ(Stat(r, "open"), 1);
  EXPECT_EQ(Stat(r, "events"), 3);
}

TEST(Reorder, AtTheEndOfItsInputALiveSetTakesWhatWaitsAndItsMembersLiveOn) {
  const TemporaryDirectory dir;
  const std::string words = InSeconds("--key k --member m --ttl 1m --reorder 20s --output " +
                                      (dir / "out") + " --state " + (dir / "state") + " ");
  const RunResult first = RunCommand(
      "live", words + dir.Write("first", "{\"k\":1,\"m\":2,\"t\":12}\n{\"k\":1,\"m\":1,\"t\":7}\n"),
      "");
  EXPECT_EQ(Stat(first, "live"), 2) << first.stats;
  const RunResult second =
      RunCommand("live", words + dir.Write("second", "{\"k\":1,\"m\":3,\"t\":70}\n"), "");
  EXPECT_EQ(Stat(second, "live"), 2) << second.stats;
  EXPECT_EQ(Stat(second, "expired"), 1) << second.stats;
}

// --- A real log

// The stamp of a line of the slice of wikiticker, in milliseconds of its day.
int64_t StampOf(std::string_view line) {
  constexpr std::string_view kBegin = "{\"time\":\"2015-09-12T";  // 00:47:35.776Z
  EXPECT_TRUE(line.starts_with(kBegin)) << line;
  const auto number = [&](size_t from, size_t size) {
    return std::stoll(std::string(line.substr(kBegin.size() + from, size)));
  };
  return ((number(0, 2) * 60 + number(3, 2)) * 60 + number(6, 2)) * 1000 + number(9, 3);
}

// By some time of each; of equal times in their order.
using Timed = std::multimap<int64_t, std::string>;

std::string TextOf(const Timed& lines) {
  std::string text;
  for (const auto& [at, line] : lines) text += line + "\n";
  return text;
}

class ReorderedLog : public testing::TestWithParam<const char*> {
 protected:
  static constexpr int64_t kBoundMs = 60'000;

  // The log with no line further behind than the bound, and that sorted.
  static void SetUpTestSuite() {
    const std::string head = kSanitized ? " | head -n 4000" : "";
    const Finished log =
        RunToEnd({"/bin/sh", "-c", "gzip -dc \"$0\"" + head,
                  SourceDir() + "/examples/data/wikiticker-2015-09-12-sample.ndjson.gz"});
    std::mt19937_64 random(38);
    Timed arrival;
    for (std::string& line : WholeLines(log.out)) {
      const int64_t at = StampOf(line) + static_cast<int64_t>(random() % (kBoundMs + 1));
      arrival.emplace(at, std::move(line));
    }
    ASSERT_GE(arrival.size(), 4000u);
    directory_ = new TemporaryDirectory;
    disordered_ = new std::string(TextOf(arrival));
    directory_->Write("disordered", *disordered_);
    Timed sorted;
    for (auto& [at, line] : arrival) {
      const int64_t stamp = StampOf(line);
      sorted.emplace(stamp, std::move(line));
    }
    directory_->Write("sorted", TextOf(sorted));
  }
  static void TearDownTestSuite() {
    delete directory_;
    delete disordered_;
  }

  static std::string File(const std::string& name) { return *directory_ / name; }

  static TemporaryDirectory* directory_;
  static std::string* disordered_;
};

TemporaryDirectory* ReorderedLog::directory_ = nullptr;
std::string* ReorderedLog::disordered_ = nullptr;

// Without members that tell of the order of the input.
std::string WithoutOrder(std::string object) {
  for (const std::string name : {"out_of_order", "most_behind_s", "released_early"}) {
    const size_t at = object.find(",\"" + name + "\":");
    if (at != std::string::npos) object.erase(at, object.find_first_of(",}", at + 1) - at);
  }
  return object;
}

struct LogLeft {
  std::string out;
  std::string open;
  std::string late;
  std::string stats;
};

// `words` begin with the command.
LogLeft LeftByLog(const std::string& words, const std::string& more, std::string_view input) {
  const TemporaryDirectory dir;
  const bool is_analysis = words.starts_with("analyze");
  const bool rejects = words.find("--allowed-lateness") != std::string::npos;
  const Finished r =
      RunToEnd(Pleat(words + " --time time --quiet-summary " + more +
                     (is_analysis ? ""
                                  : " --stats " + (dir / "stats") + " --open " + (dir / "open") +
                                        (rejects ? " --late " + (dir / "late") : ""))),
               input);
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.err, "");
  if (is_analysis) {
    std::string out;
    for (const std::string& line : WholeLines(r.out)) out += WithoutOrder(line) + "\n";
    return {out, "", "", ""};
  }
  return {r.out, Content(dir / "open"), rejects ? Content(dir / "late") : "",
          WithoutOrder(Content(dir / "stats"))};
}

TEST_P(ReorderedLog, WithinTheBoundComesToWhatItComesToSorted) {
  const std::string words = GetParam();
  const LogLeft want = LeftByLog(words, File("sorted"), "");
  EXPECT_GT(want.out.size(), 1000u);
  EXPECT_TRUE(LeftByLog(words, File("disordered"), "").out != want.out) << "the order matters";
  for (const std::string threads : {"1", "2"}) {
    for (const bool pipe : {false, true}) {
      SCOPED_TRACE(threads + (pipe ? " threads, a pipe" : " threads, a file"));
      const std::string more = "--reorder 1m --threads " + threads;
      const LogLeft got = pipe ? LeftByLog(words, more, *disordered_)
                               : LeftByLog(words, more + " " + File("disordered"), "");
      EXPECT_TRUE(got.out == want.out);
      EXPECT_TRUE(got.open == want.open);
      EXPECT_TRUE(got.late == want.late);
      EXPECT_EQ(got.stats, want.stats);
    }
  }
}

TEST_P(ReorderedLog, InOrderComesToTheSameWithABound) {
  const std::string words = GetParam();
  const LogLeft want = LeftByLog(words, File("sorted"), "");
  const LogLeft got = LeftByLog(words, "--reorder 1m " + File("sorted"), "");
  EXPECT_TRUE(got.out == want.out);
  EXPECT_TRUE(got.open == want.open);
  EXPECT_EQ(got.stats, want.stats);
}

INSTANTIATE_TEST_SUITE_P(
    Commands, ReorderedLog,
    testing::Values(
        "fold --key user --quiet 30s --merge 'pages=array(page)' --merge 'delta=sum(delta)' "
        "--merge 'text=concat(comment)' --rest last --raw-last 2 --emission-id",
        "fold --key channel --quiet adaptive:1s..1m --max-wait 5m --partial-every 20s --edge both "
        "--end-when isNew=true --merge 'top=top(user)' --merge 'p=p90(added)' "
        "--allowed-lateness 10s --on-late correct",
        "live --key channel --member user --ttl 10m --payload page --refreshes",
        "live --key channel --member page --ttl 10m --every 5m --within 1m --top 10",
        "rollup --key channel --value delta --window 1m,1h --allowed-lateness 0 --emission-id",
        "analyze --key user --key page --json --max-wait 1h"),
    [](const auto& log) {
      const std::string words = log.param;
      return words.substr(0, words.find(' ')) + std::to_string(log.index);
    });

}  // namespace
}  // namespace pleat::cli
