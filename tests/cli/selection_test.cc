// --where, --from and --to of every command: the result is that of a log from which the other lines
// were taken out beforehand, by grep.
#include <string>

#include <gmock/gmock.h>

#include "tests/cli/run_pleat.h"
#include "tests/support/source_dir.h"

namespace pleat::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::string kLog = SourceDir() + "/examples/data/wikiticker-2015-09-12-sample.ndjson.gz";

// The lines of the log that grep finds, in a file of `directory`.
std::string Grepped(const TemporaryDirectory& directory, const std::string& pattern) {
  const std::string path = directory / "grepped.ndjson";
  const Finished r =
      RunToEnd({"/bin/sh", "-c", "gzip -dc \"$0\" | grep -E \"$1\" > \"$2\"", kLog, pattern, path});
  EXPECT_EQ(r.code, 0) << r.err;
  return path;
}

struct Selected {
  std::string options;
  std::string pattern;
};
const Selected kSelected[] = {
    {" --where isRobot=true", "\"isRobot\":true"},
    {" --where 'user!=TuHan-Bot' --from 2015-09-12T05:00:00Z --to 2015-09-12T06:00:00Z",
     "^.\"time\":\"2015-09-12T05.*\"user\":\"([^T]|T[^u]|Tu[^H])"},
};

TEST(Selection, EveryCommandWritesWhatItWritesOfTheSelectedLinesAlone) {
  const std::pair<const char*, const char*> runs[] = {
      {"fold", "--key user --quiet 5m --merge 'n=count()' --merge 'last=last(.)' --emission-id"},
      {"live", "--key channel --member user --ttl 5m"},
      {"rollup", "--key channel --value delta --window 10m --allowed-lateness 1m --emission-id"}};
  for (const auto& [command, options] : runs) {
    for (const Selected& selected : kSelected) {
      const TemporaryDirectory directory;
      const std::string grepped = Grepped(directory, selected.pattern);
      for (const char* threads : {" --threads 1 ", " --threads 2 "}) {
        SCOPED_TRACE(command + selected.options + threads);
        const std::string all = options + std::string(" --time time") + threads;
        const RunResult of_all = RunCommand(command, all + selected.options + " " + kLog, "");
        const RunResult of_some = RunCommand(command, all + grepped, "");
        EXPECT_EQ(of_all.code, 0) << of_all.err;
        EXPECT_EQ(of_all.err, of_some.err);
        EXPECT_GT(of_all.out.size(), 10'000u);
        EXPECT_TRUE(of_all.out == of_some.out);
        EXPECT_GT(Stat(of_all, "excluded"), 1'000);
        EXPECT_EQ(Stat(of_all, "lines"), Stat(of_some, "lines") + Stat(of_all, "excluded"));
        EXPECT_THAT(of_some.stats, Not(HasSubstr("excluded")));
        auto stats = ParseStats(of_all.stats);
        stats.erase("excluded");
        stats["lines"] = Stat(of_some, "lines");
        EXPECT_EQ(stats, ParseStats(of_some.stats));
      }
    }
  }
}

TEST(Selection, AnAnalysisIsThatOfTheSelectedLinesAlone) {
  const TemporaryDirectory directory;
  const std::string analyze = "analyze --key user --time time --json ";
  const Finished of_all = RunToEnd(Pleat(analyze + kSelected[0].options + " " + kLog));
  const Finished of_some = RunToEnd(Pleat(analyze + Grepped(directory, kSelected[0].pattern)));
  EXPECT_EQ(of_all.code, 0) << of_all.err;
  EXPECT_EQ(of_all.out, of_some.out);
  EXPECT_THAT(of_all.err, HasSubstr(" lines excluded\n"));
  EXPECT_THAT(of_some.err, Not(HasSubstr("excluded")));
}

TEST(Selection, SummarySaysHowManyLinesAreExcluded) {
  const Finished r = RunToEnd(Pleat("fold --key k --quiet 1m --time t --where k=a"),
                              At(0, "a") + At(1, "b") + At(2, "c"));
  EXPECT_THAT(r.err, HasSubstr("lines          3  0 invalid, 0 late, 0 over limit, 2 excluded\n"));
  EXPECT_EQ(r.code, 0);
}

TEST(Selection, APathThatNoLineHasIsNamed) {
  const Finished r =
      RunToEnd(Pleat("fold --key k --quiet 1m --time t --where kind=paid"), At(0, "a"));
  EXPECT_EQ(r.code, 0);
  EXPECT_EQ(r.out, "");
  EXPECT_THAT(r.err,
              HasSubstr("no line has \"kind\" (--where); the first line has \"k\", \"t\"\n"));
}

TEST(Selection, ARangeNeedsATimeAndABeginningBeforeItsEnd) {
  const auto error = [](const std::string& options) {
    const Finished r = RunToEnd(Pleat("fold --key k --quiet 1m " + options), At(0));
    EXPECT_EQ(r.code, 2);
    return r.err;
  };
  EXPECT_THAT(error("--to 2015-09-12"), HasSubstr("--to: needs --time"));
  EXPECT_THAT(error("--time t --to 2015-09-12 --from 2015-09-13"),
              HasSubstr("--to: must be after --from"));
  EXPECT_THAT(error("--time t --from yesterday"),
              HasSubstr("--from: \"yesterday\" is not a time such as 2015-09-12T08:30:00Z"));
}

TEST(Selection, ARangeIsReadAsTheTimesOfTheInput) {
  std::string log;
  for (const char* hour : {"07", "08", "09"}) {
    log += "h - - [12/Sep/2015:" + std::string(hour) + ":30:00 +0200] \"GET / HTTP/1.1\" 200 1\n";
  }
  const auto output = [&](const std::string& command, const Words& more) {
    Words words = Pleat(command);
    words.insert(words.end(), more.begin(), more.end());
    const Finished r = RunToEnd(words, log);
    EXPECT_EQ(r.code, 0) << r.err;
    return r.out;
  };
  const Words ranges[] = {
      {"--from", "12/Sep/2015:08:00:00 +0200", "--to", "12/Sep/2015:09:00:00 +0200"},
      {"--from", "2015-09-12 06:00:00", "--to", "2015-09-12 07:00:00"},
      // The zone is given behind the range.
      {"--from", "2015-09-12 08:00:00", "--to", "2015-09-12 09:00:00",
       "--time-zone=Europe/Berlin"}};
  for (const std::string command :
       {"fold --key host --quiet 1m", "live --key host --member m=host --ttl 1m",
        "rollup --key host --window 1h --allowed-lateness 1m", "analyze --key host --json"}) {
    const std::string read = command + " --input access --time time";
    const std::string wanted = output(read, ranges[0]);
    EXPECT_NE(wanted, output(read, {}));
    EXPECT_EQ(output(read, ranges[1]), wanted);
    EXPECT_EQ(output(read, ranges[2]), wanted);
    EXPECT_NE(wanted, "");
  }
}

TEST(Selection, AZoneOfTheCommandLineHoldsForTheRangeOfADocument) {
  const TemporaryDirectory directory;
  const std::string document =
      directory.Write("spec", R"({"from":"2015-09-12","time":"t","key":"k","quiet":"1m"})");
  const Finished r = RunToEnd(Pleat("fold --print-spec --time-zone +01:00 --spec " + document), "");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr(R"("from": "2015-09-11T23:00:00.000000Z")"));
}

TEST(Selection, AStateDirectoryGoesOnWithTheSameSelectionOnly) {
  const TemporaryDirectory directory;
  const std::string in = directory.Write("in", At(0, "a") + At(1, "b") + At(2, "a"));
  const std::string fold =
      "--key k --quiet 1m --time t --merge 'n=count()' --at-end keep --state " +
      (directory / "state") + " " + in;
  EXPECT_EQ(Stat(Fold("--where k=a " + fold), "excluded"), 1);
  EXPECT_EQ(Stat(Fold("--where k=a " + fold), "excluded"), 1);
  for (const char* other : {"", "--where k=b ", "--where k=a --from 2015-09-12 "}) {
    EXPECT_EQ(Fold(other + fold).code, 2) << other;
  }
}

}  // namespace
}  // namespace pleat::cli
