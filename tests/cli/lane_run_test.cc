// `pleat run`: the lines are those that `pleat fold` and `pleat rollup` make of each partition, and a
// file has each once, wherever the command is killed.
//
//   PLEAT_SEED=17         this draw of kills
#include "tests/cli/lane_run.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pleat/event_store_reader.h>

#include "tests/cli/run_pleat.h"
#include "tests/support/share.h"
#include "tests/support/start.h"
#include "tests/support/traced_process.h"

namespace pleat::cli {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

TEST_F(LaneRunTest, MakesTheLinesThatFoldMakesOfEachPartition) {
  Append(LinesFrom(0, 3'000));
  const Finished run = Run("");
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.err, testing::ContainsRegex("records +3,000 +30 invalid"));
  EXPECT_EQ(ByLane(run.out), OfPlainCommand(store_, kFold, "fold"));
}

#ifndef PLEAT_CLI_KAFKA
TEST_F(LaneRunTest, SaysHowToBuildAProgramThatKnowsBrokers) {
  for (const char* option : {"--brokers kafka-1:9092", "--topic t", "-X sasl.password=hush"}) {
    const Finished run = RunToEnd(Pleat(std::string("run ") + option + " " + kFold));
    EXPECT_EQ(run.code, 2);
    EXPECT_THAT(run.err, HasSubstr("this program knows no brokers: build pleat where "
                                   "librdkafka 2.0.2 or newer is"));
    EXPECT_THAT(run.err, Not(HasSubstr("hush")));
  }
}
#endif

TEST_F(LaneRunTest, GoesOnWhereTheRunBeforeEnded) {
  Append(LinesFrom(0, 1'000));
  EXPECT_EQ(Run("--output " + out_).code, 0);
  Append(LinesFrom(1'000, 3'000));
  const Finished run = Run("--output " + out_);
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.err, testing::ContainsRegex("records +2,000 "));
  EXPECT_EQ(ByLane(Content(out_)), OfPlainCommand(store_, kFold, "fold"));
}

TEST_F(LaneRunTest, SeveralCollectionsReadTheSameRecords) {
  Append(LinesFrom(0, 3'000));
  const std::string bursts =
      scratch_.Write("bursts.json", RunToEnd(Pleat(std::string(kFold) + " --print-spec")).out);
  const std::string sums =
      scratch_.Write("sums.json", RunToEnd(Pleat(std::string(kRollup) + " --print-spec")).out);
  const Finished run = Run("--fold " + bursts, "--rollup " + sums);
  EXPECT_EQ(run.code, 0) << run.err;
  LinesByLane expected = OfPlainCommand(store_, kFold, "bursts");
  expected.merge(OfPlainCommand(store_, kRollup, "sums"));
  EXPECT_EQ(ByLane(run.out), expected);
}

TEST_F(LaneRunTest, LinesThatAreLeftOutGoToFilesWithTheReason) {
  Append(LinesFrom(0, 1'000));
  const std::string invalid = scratch_ / "invalid";
  const std::string late = scratch_ / "late";
  const Finished run = Run("--invalid " + invalid + " --late " + late, kRollup);
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(LinesOf(Content(invalid)), SizeIs(10));
  EXPECT_THAT(
      LinesOf(Content(invalid)).front(),
      HasSubstr("\"reason\":\"event time \\\"t\\\" is missing\",\"collection\":\"rollup\""));
  EXPECT_THAT(LinesOf(Content(late)), SizeIs(20));
  EXPECT_THAT(LinesOf(Content(late)).front(), HasSubstr("\"payload\":\"{\\\"user\\\":"));
  EXPECT_THAT(Run("--invalid " + invalid + " --late " + late, kRollup).err,
              testing::ContainsRegex("messages +0 "));
}

TEST_F(LaneRunTest, LinesGoIntoAnotherStoreWithTheIdAndTheKeyOfTheirMessage) {
  Append(LinesFrom(0, 500));
  const std::string results = scratch_ / "results";
  EXPECT_EQ(Run("--output-store " + results).code, 0);
  const Finished read = RunToEnd(Pleat("store read " + results));
  const std::vector<std::string> lines = LinesOf(read.out);
  EXPECT_THAT(lines, SizeIs(LinesOf(Run("", kFold).out).size() + lines.size()));
  EXPECT_THAT(lines.front(), testing::ContainsRegex("\"key\":\"u[0-9]+\",\"id\":\"test/[0-3]/"));
}

TEST_F(LaneRunTest, OtherOptionsTakeOverWhereTheRunBeforeEndedInOrder) {
  Append(LinesFrom(0, 500));
  EXPECT_EQ(Run("", kFold).code, 0);
  EXPECT_EQ(Run("", std::string(kFold) + " --no-meta").code, 0);
  EXPECT_EQ(Run("", std::string(kFold) + " --max-wait 2h").code, 0);
  const Finished other = Run("", std::string(kFold) + " --max-wait 2h --partial-every 1h");
  EXPECT_EQ(other.code, 1);
  const std::string why =
      "fold: --partial-every is 3600s, and was forever when the run before ended";
  EXPECT_THAT(other.err, HasSubstr("pleat run: parked: all 4 partitions: " + why));
  EXPECT_THAT(other.err, HasSubstr("nothing is done, and nothing is lost\n"));

  // Others can tell, until somebody has gone on.
  const auto lanes = [&] {
    return RunToEnd(Pleat("lanes --store " + store_ + " --consumer test"));
  };
  EXPECT_EQ(lanes().code, 1);
  EXPECT_THAT(lanes().out, HasSubstr("consumer     test: 4 lanes parked, no process\n"));
  EXPECT_THAT(lanes().out, HasSubstr("Parked by the last run:\npartition 0: " + why));
  EXPECT_THAT(RunToEnd(Pleat("lanes --store " + store_)).out, HasSubstr("4 lanes parked"));
  const Finished moved =
      RunToEnd(Pleat("store consumers " + store_ + " --move test --partition 0 --from 0"));
  EXPECT_EQ(moved.code, 0) << moved.err;
  EXPECT_THAT(lanes().out, HasSubstr("3 lanes parked"));
  EXPECT_EQ(Run("", kFold).code, 0);
  EXPECT_THAT(lanes().out, Not(HasSubstr("parked")));
}

TEST_F(LaneRunTest, OtherOptionsBehindAKillParkThePartition) {
  Append(LinesFrom(0, 3'000));
  std::string said;
  // Where the first commit is, the system and the compiler decide.
  for (uint64_t call = 200; said.empty(); call += call / 5) {
    const std::string as = " --consumer c" + std::to_string(call) + " ";
    const ::pleat::Words words = Pleat(Words("--commit-every 1ms --output " + out_ + as));
    ASSERT_TRUE(RunUpToCall(words, call, scratch_ / "err").killed);
    const Finished run = Run(as, std::string(kFold) + " --no-meta");
    if (run.code == 1) said = run.err;
    std::filesystem::remove(out_);
  }
  EXPECT_THAT(said, HasSubstr("pleat run: parked: "));
  EXPECT_THAT(said, HasSubstr(": the run before had other options, and was killed: start it once "
                              "more with its options, and end it"));
}

TEST_F(LaneRunTest, FollowsUntilItIsAskedToEnd) {
  Append(LinesFrom(0, 200));
  Subprocess run(Pleat("run --store " + store_ + " --consumer test --idle inf " + kFold));
  ASSERT_TRUE(run.AwaitOut("\"user\""));
  run.Signal(SIGTERM);
  EXPECT_EQ(run.Wait(), 143) << run.err();
  Append(LinesFrom(200, 400));
  const Finished rest = Run("");
  EXPECT_EQ(ByLane(run.out() + rest.out), OfPlainCommand(store_, kFold, "fold"));
}

TEST_F(LaneRunTest, SaysWhatIsWrongAndWhatIsRight) {
  Append(LinesFrom(0, 10));
  const auto said = [](const std::string& words) {
    const Finished run = RunToEnd(Pleat("run " + words));
    EXPECT_EQ(run.code, 2) << run.err;
    EXPECT_EQ(run.out, "");
    return run.err;
  };
  const std::string here = "--store " + store_ + " --consumer test ";
  EXPECT_THAT(said("--consumer a fold --key k --quiet 1m"), HasSubstr("--store: is required"));
  EXPECT_THAT(said("--store a fold --key k --quiet 1m"), HasSubstr("--consumer: is required"));
  EXPECT_THAT(said(here), HasSubstr("say what to make of the records"));
  EXPECT_THAT(said(here + "presence --key k"), HasSubstr("cannot run \"presence\""));
  EXPECT_THAT(said(here + "fold --quiet 1m"), HasSubstr("--key"));
  EXPECT_THAT(said(here + "fold --key k --quiet 1m --output x"), HasSubstr("--output: "));
  EXPECT_THAT(said(here + "fold --key k --quiet 1m x.ndjson"), HasSubstr("takes no FILE"));
  EXPECT_THAT(said(here + "--late x fold --key k --quiet 1m --state d"), HasSubstr("--state: "));
  EXPECT_THAT(said(here + "fold --key k --quiet 1m --at-end flush"),
              HasSubstr("--at-end: stands before fold"));
  EXPECT_THAT(said(here + "fold --key k --quiet 1m -j 2"), HasSubstr("--threads: "));
  EXPECT_THAT(said(here + "--output-store " + store_ + " fold --key k --quiet 1m"),
              HasSubstr("is the store that is read"));
  const std::string other = scratch_.Write("other", "{\"a\":1}\n");
  EXPECT_THAT(said(here + "--output " + other + " fold --key k --quiet 1m"),
              HasSubstr("holds lines that no run has written"));
  EXPECT_EQ(Content(other), "{\"a\":1}\n");
  const std::string note = scratch_.Write("note", "buy milk");
  EXPECT_THAT(said(here + "--output " + note + " fold --key k --quiet 1m"),
              HasSubstr("holds lines that no run has written"));
  EXPECT_EQ(Content(note), "buy milk");
}

TEST_F(LaneRunTest, AFileIsOfOneRunAtATime) {
  Append(LinesFrom(0, 100));
  const int other = open(out_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_GE(other, 0);
  ASSERT_EQ(flock(other, LOCK_EX | LOCK_NB), 0);
  const Finished refused = Run("--output " + out_);
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, HasSubstr("--output: " + out_ + " is written by another run"));
  close(other);
  EXPECT_EQ(Run("--output " + out_).code, 0);
  EXPECT_EQ(ByLane(Content(out_)), OfPlainCommand(store_, kFold, "fold"));
}

TEST_F(LaneRunTest, ARunOfWhoseRecordsNoneIsUsableSaysSoAndFails) {
  Append(LinesFrom(0, 100));
  const Finished run = Run("", "fold --key nobody --quiet 1m --time t --time-unit s");
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.err, HasSubstr("pleat run: a record is invalid, and left out: "));
  EXPECT_THAT(run.err, HasSubstr("pleat run: no record was usable"));
}

TEST_F(LaneRunTest, CheckSaysWhatWouldBeGuaranteedAndRunsNothing) {
  Append(LinesFrom(0, 10));
  const Finished run = Run("--check --output " + out_);
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("lines       each once, also after a kill"));
  EXPECT_THAT(run.out, HasSubstr("begins      at the first record of each partition"));
  EXPECT_THAT(run.out, HasSubstr("output      " + out_ + ", which is made\n"));
  EXPECT_FALSE(std::filesystem::exists(out_));
  EXPECT_THAT(RunToEnd(Pleat("store consumers " + store_)).out, Not(HasSubstr("test")));
}

TEST_F(LaneRunTest, CheckSaysWhatTheRunWouldMeet) {
  Append(LinesFrom(0, 1'000));
  EXPECT_EQ(Run("--output " + out_).code, 0);
  Append(LinesFrom(1'000, 1'100));
  const auto files = [&] {
    std::map<std::string, std::string> all;
    for (const auto& each : std::filesystem::recursive_directory_iterator(store_)) {
      const bool is_lock = each.path().filename() == "LOCK";  // has the number of a process
      if (each.is_regular_file() && !is_lock) all[each.path()] = Content(each.path());
    }
    all[out_] = Content(out_);
    return all;
  };
  const std::map<std::string, std::string> before = files();
  const Finished same = Run("--check --output " + out_);
  EXPECT_EQ(same.code, 0) << same.err;
  EXPECT_THAT(same.out, HasSubstr("begins      where the run before has ended\n"));
  EXPECT_THAT(same.out, HasSubstr("output      " + out_ + ", behind the "));

  const Finished other =
      Run("--check --output " + out_, std::string(kFold) + " --partial-every 2h");
  EXPECT_EQ(other.code, 1);
  EXPECT_THAT(other.out,
              HasSubstr("would be    parked: all 4 partitions: fold: --partial-every is"));

  const std::string note = scratch_.Write("note", "buy milk");
  const Finished refused = Run("--check --output " + note);
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("holds lines that no run has written"));
  EXPECT_EQ(Content(note), "buy milk");
  EXPECT_EQ(Run("--check --output " + scratch_ / "none/out").code, 1);

  const Finished one = Run("--check", "fold --key '' --quiet 60s --time t --time-unit s");
  EXPECT_THAT(one.out, HasSubstr("--key '' makes one group of each of the 4 partitions"));
  EXPECT_TRUE(files() == before);
}

TEST_F(LaneRunTest, AnOptionAtAWrongPlaceIsToldItsPlace) {
  const auto said = [](const std::string& words) {
    const Finished run = RunToEnd(Pleat("run " + words));
    EXPECT_EQ(run.code, 2) << run.err;
    return run.err;
  };
  EXPECT_THAT(said("--store s --consumer c --key user fold --quiet 1m"),
              HasSubstr("--key: stands behind fold, as its option"));
  EXPECT_THAT(said("--store s --consumer c --window 1h rollup"),
              HasSubstr("--window: stands behind rollup, as its option"));
  EXPECT_THAT(said("--store s fold --key user --quiet 1m --consumer c"),
              HasSubstr("--consumer: stands before fold, as an option of pleat run"));
}

TEST_F(LaneRunTest, AUnitThatIsLikelyWrongIsSaidAtTheFirstEvents) {
  Append(LinesFrom(0, 100));
  const Finished run = Run("", "fold --key user --quiet 60s --time t --time-unit ms");
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("pleat run: so far all events are of 1970-01-20T"));
  EXPECT_THAT(run.err, HasSubstr("is --time-unit right?\n"));
  EXPECT_THAT(Run("--consumer right").err, Not(HasSubstr("--time-unit")));
}

TEST_F(LaneRunTest, MetricsSayHowTheRunAndItsLanesStand) {
  Append(LinesFrom(0, 1'000));
  const std::string metrics = scratch_ / "run.prom";
  EXPECT_EQ(Run("--threads 2 --metrics " + metrics).code, 0);
  const std::string text = Content(metrics);
  EXPECT_THAT(text, HasSubstr("pleat_run_records_total{collection=\"test\"} 1000\n"));
  EXPECT_THAT(text, HasSubstr("pleat_run_invalid_total{collection=\"test\"} 10\n"));
  for (const std::string partition : {"0", "1", "2", "3"}) {
    EXPECT_THAT(text, HasSubstr("pleat_lane_unread{processor=\"test\",partition=\"" + partition +
                                "\"} 0\n"));
  }
  const std::string other = scratch_.Write("other", "buy milk");
  EXPECT_NE(Run("--metrics " + other).code, 0);
  EXPECT_EQ(Content(other), "buy milk");
}

TEST_F(LaneRunTest, TheSummaryAndASignalSayHowMuchWasRead) {
  Append(LinesFrom(0, 200));
  EXPECT_THAT(Run("--consumer all").err, Not(HasSubstr(" 0 B/s")));
  Subprocess run(Pleat("run --store " + store_ + " --consumer test --idle inf " + kFold));
  ASSERT_TRUE(run.AwaitOut("\"user\""));
  run.Signal(SIGUSR1);
  EXPECT_TRUE(run.AwaitErr("200 records"));
  run.Signal(SIGTERM);
  EXPECT_EQ(run.Wait(), 143) << run.err();
}

TEST_F(LaneRunTest, AFlushAtTheEndClosesWhatIsOpen) {
  Append(LinesFrom(0, 3'000));
  const std::string flush = " --at-end flush --quiet-summary --output ";
  EXPECT_EQ(Run(flush + out_).code, 0);
  EXPECT_EQ(ByLane(Content(out_)), OfPlainCommand(store_, kFold, "fold", "flush"));
  const std::string hours = scratch_ / "hours";
  EXPECT_EQ(Run("--consumer hours" + flush + hours, kRollup).code, 0);
  EXPECT_EQ(ByLane(Content(hours)), OfPlainCommand(store_, kRollup, "rollup", "flush"));

  const std::string before = Content(out_);
  EXPECT_EQ(Run(flush + out_).code, 0);
  EXPECT_EQ(Content(out_), before) << "nothing is open any more";
  Append(LinesFrom(3'000, 3'100));
  EXPECT_EQ(Run(flush + out_).code, 0);
  EXPECT_THAT(Content(out_), StartsWith(before));
  EXPECT_GT(Content(out_).size(), before.size());
}

TEST_F(LaneRunTest, MakesTheChangesThatLiveMakesOfEachPartition) {
  Append(VisitsFrom(0, 2'000));
  const std::string command = std::string(kLive) + " --reorder 20s";
  const std::string late = scratch_ / "late";
  const Finished run = Run("--at-end flush --late " + late + " --output " + out_, command);
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.err, testing::ContainsRegex("records +2,000 +20 invalid, [1-9][0-9]* late"));
  EXPECT_EQ(ByLane(Content(out_)), OfPlainCommand(store_, command, "live", "flush"));
  EXPECT_THAT(Content(out_),
              AllOf(HasSubstr("\"cause\":\"expired\""), HasSubstr("\"cause\":\"refreshed\""),
                    HasSubstr("\"cause\":\"unpublished\"")));
  EXPECT_THAT(LinesOf(Content(late)).front(), HasSubstr("\"reason\":\"late\""));
}

TEST_F(LaneRunTest, MembersThatEndAtOnceAreAllTold) {
  constexpr int kMembers = 4'000;  // more than a live set of a run keeps changes
  std::string text;
  for (int n = 0; n <= kMembers; ++n) {
    text += "{\"user\":\"u1\",\"n\":" + std::to_string(n) +
            ",\"t\":" + (n < kMembers ? "1700000000}\n" : "1700003600}\n");
  }
  Append(text);
  const std::string command = "live --key user --member n --ttl 60s --time t --time-unit s";
  EXPECT_EQ(Run("--output " + out_, command).code, 0);
  EXPECT_EQ(ByLane(Content(out_)), OfPlainCommand(store_, command, "live", "flush"));
}

TEST_F(LaneRunTest, MembersThatHaveWaitedForTheirTurnAreAllTold) {
  constexpr int kMembers = 4'000;
  std::string text;
  for (int n = 0; n <= kMembers; ++n) {
    const int at = 1'700'000'000 + (n < kMembers ? n / 20 : 3'000);
    text += "{\"user\":\"u1\",\"n\":" + std::to_string(n) + ",\"t\":" + std::to_string(at) + "}\n";
  }
  Append(text);
  const std::string command =
      "live --key user --member n --ttl 2h --time t --time-unit s --reorder 10m";
  const Finished run = Run("--at-end flush --output " + out_, command);
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(ByLane(Content(out_)), OfPlainCommand(store_, command, "live", "flush"));
}

// As the version before has moved it: without metadata, which at offset 0 looks like a commit that is gone.
TEST_F(LaneRunTest, AConsumerThatIsMovedToTheBeginningBeginsANewLife) {
  Append(LinesFrom(0, 3'000));
  const std::string more = "--replay-limit 100 --output ";
  ASSERT_EQ(Run(more + out_).code, 0);
  const std::string first = Content(out_);
  {
    const auto consumer = StoreConsumer::Open(store_, "test");
    ASSERT_TRUE(consumer.ok()) << consumer.status();
    std::vector<StoreCheckpoint> checkpoints(4);
    for (int p = 0; p < 4; ++p) checkpoints[static_cast<size_t>(p)].partition = p;
    ASSERT_TRUE((*consumer)->Commit(checkpoints).ok());
  }
  EXPECT_EQ(Run(more + (scratch_ / "parked")).code, 1);
  ASSERT_EQ(RunToEnd(Pleat("store consumers " + store_ + " --move test")).code, 0);
  const Finished again = Run(more + (scratch_ / "again"));
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(ByLane(Content(scratch_ / "again")), ByLane(first));
}

TEST_F(LaneRunTest, GroupsInPiecesAreSaid) {
  std::string text;
  for (int n = 0; n < 100; ++n)
    text += "{\"user\":\"u" + std::to_string(n) + "\",\"page\":\"p\",\"t\":1700000000}\n";
  Append(text);
  const auto run = [&](const std::string& key) {
    return RunToEnd(Pleat("run --store " + store_ + " --consumer " + key +
                          " --threads 3 --at-end flush --idle inf fold --quiet 60s --time t "
                          "--time-unit s --key " +
                          key));
  };
  EXPECT_THAT(run("user").err, Not(HasSubstr("in pieces")));
  EXPECT_THAT(run("page").err,
              HasSubstr("pleat run: fold: the key \"p\" comes out of partitions "));
}

// The commits of a stop come at once.
TEST_F(LaneRunTest, AStopDoesNotWaitForCommits) {
  Append(LinesFrom(0, 3'000));
  const Finished run = Run("--commit-every 24h --output " + out_);
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(ByLane(Content(out_)), OfPlainCommand(store_, kFold, "fold"));
}

TEST_F(LaneRunTest, AFileThatIsNewToAConsumerThatGoesOnIsSaid) {
  Append(LinesFrom(0, 1'000));
  EXPECT_THAT(Run("--output " + out_).err, Not(HasSubstr("is new")));
  EXPECT_THAT(Run("--output " + out_).err, Not(HasSubstr("is new")));
  EXPECT_THAT(
      Run("--output " + (scratch_ / "other")).err,
      HasSubstr("other is new: the lines that this consumer has given before are not in it"));
}

TEST_F(LaneRunTest, AFileHasEachChangeOnceWhereverTheRunIsKilled) {
  Append(VisitsFrom(0, 5'000));
  KillAndGoOn(kLive, OfPlainCommand(store_, kLive, "live", "flush"),
              ShareOf({.whole = 200, .usual = 20, .sanitized = 3}), "--threads 2");
}

TEST_F(LaneRunTest, ALiveSetIsAloneInItsRunAndPrintsNoCounts) {
  Append(VisitsFrom(0, 10));
  const std::string live =
      scratch_.Write("live.json", RunToEnd(Pleat(std::string(kLive) + " --print-spec")).out);
  EXPECT_EQ(Run("--live " + live, "").code, 0);
  const Finished two = Run("--live " + live, kFold);
  EXPECT_EQ(two.code, 2);
  EXPECT_THAT(two.err, HasSubstr("a live set is alone in its run: give live another run"));
  const Finished counts = Run("", "live --key page --member user --ttl 60s --every 1m");
  EXPECT_EQ(counts.code, 2);
  EXPECT_THAT(counts.err, HasSubstr("--every: prints counts, and a run prints changes"));
  const Finished folded = Run("--consumer other", kFold);
  EXPECT_EQ(folded.code, 0) << folded.err;
}

TEST_F(LaneRunTest, ThreadsMakeTheLinesThatOneThreadMakesOfEachPartition) {
  Append(LinesFrom(0, 3'000));
  const Finished run = Run("--threads 3 --output " + out_);
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.err, testing::ContainsRegex("records +3,000 +30 invalid"));
  EXPECT_EQ(ByLane(Content(out_)), OfPlainCommand(store_, kFold, "fold"));

  // What three have begun, more threads than there are partitions and one alone go on with.
  Append(LinesFrom(3'000, 5'000));
  EXPECT_EQ(Run("-j 9 --output " + out_).code, 0);
  Append(LinesFrom(5'000, 6'000));
  EXPECT_EQ(Run("--output " + out_).code, 0);
  EXPECT_EQ(ByLane(Content(out_)), OfPlainCommand(store_, kFold, "fold"));
}

TEST_F(LaneRunTest, ThreadsEndInOrderAtASignal) {
  Append(LinesFrom(0, 500));
  const std::string words =
      "run --store " + store_ + " --idle inf --threads 4 --quiet-summary --consumer ";
  Subprocess run(Pleat(words + "test " + kFold));
  ASSERT_TRUE(run.AwaitOut("\"user\""));
  run.Signal(SIGTERM);
  EXPECT_EQ(run.Wait(), 143) << run.err();
  const Finished rest = Run("");
  EXPECT_EQ(ByLane(run.out() + rest.out), OfPlainCommand(store_, kFold, "fold"));
}
}  // namespace
}  // namespace pleat::cli
