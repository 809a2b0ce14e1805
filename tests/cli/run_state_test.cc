// Runs with --state: what they keep, where they go on, and what they refuse.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/cli/fixtures.h"
#include "tests/cli/run_pleat.h"
#include "tests/cli/run_state_fixture.h"

namespace pleat::cli {
namespace {

using Names = std::vector<std::string>;

TEST_F(RunStateTest, TwoRunsOverTwoHalvesAreOneRunOverTheWhole) {
  const std::string first = dir_.Write("first", Edits(0, 50));
  const std::string second = dir_.Write("second", Edits(50, 100));
  const RunResult kept = Run("--at-end keep " + first);
  EXPECT_EQ(kept.code, 0) << kept.err;
  EXPECT_GT(Stat(kept, "open"), 0);
  const RunResult rest = Run(second);
  const RunResult whole = Whole(first + " " + second);
  EXPECT_EQ(rest.stats, whole.stats);
  EXPECT_EQ(Content(dir_ / "out"), Content(dir_ / "whole"));
}

TEST_F(RunStateTest, AFileIsReadOnce) {
  const std::string file = dir_.Write("file", Edits(0, 50));
  const RunResult once = Run(file);
  const std::string out = Content(dir_ / "out");
  for (int i = 0; i < 3; ++i) {
    const RunResult again = Run(file);
    EXPECT_EQ(again.code, 0) << again.err;
    EXPECT_EQ(again.stats, once.stats);
    EXPECT_EQ(Content(dir_ / "out"), out);
  }
}

TEST_F(RunStateTest, AFileThatHasGrownIsReadOn) {
  const std::string file = dir_.Write("file", Edits(0, 50));
  Run("--at-end keep " + file);
  std::ofstream(file, std::ios::app) << Edits(50, 80);
  const RunResult rest = Run(file);
  EXPECT_EQ(rest.stats, Whole(file).stats);
  EXPECT_EQ(Content(dir_ / "out"), Content(dir_ / "whole"));
}

// That it is no other file is told by its first 4 KiB.
TEST_F(RunStateTest, AFileThatHasChangedIsAnErrorBeforeAnythingIsRead) {
  const std::string first = dir_.Write("first", Edits(0, 5));
  const std::string file = dir_.Write("file", Edits(0, 170));
  Run("--at-end keep " + file);
  const std::string out = Content(dir_ / "out");
  const auto refused = [&](const std::string& content) {
    dir_.Write("file", content);
    const RunResult r = Run(first + " " + file);
    EXPECT_EQ(r.code, 1);
    EXPECT_EQ(r.stats, "") << "the file before it was not read";
    EXPECT_EQ(Content(dir_ / "out"), out);
    return r.err;
  };
  const std::string said = "pleat fold: " + file + ": has ";
  EXPECT_TRUE(HasLine(refused(Edits(0, 169) + At(3000) + Edits(170, 180)), said + "changed since"));
  EXPECT_TRUE(HasLine(refused(Edits(0, 150)), said + "become shorter since"));
  dir_.Write("file", Edits(0, 170));
  EXPECT_EQ(Stat(Run(file), "lines"), 170) << "nothing was lost by that";
}

TEST_F(RunStateTest, ALastLineThatWasTakenWithoutItsEndMayNotGoOn) {
  for (const int before : {9, 0}) {
    std::string text = Edits(0, before) + At(200);
    text.pop_back();
    TemporaryDirectory dir;
    const std::string file = dir.Write("file", text);
    const std::string words =
        "--key k --time t --quiet 1m --output " + (dir / "out") + " --state " + (dir / "j ");
    EXPECT_EQ(Fold(words + file).code, 0);
    EXPECT_EQ(Stat(Fold(words + file), "lines"), before + 1);
    std::ofstream(file, std::ios::app) << "\n";
    EXPECT_EQ(Stat(Fold(words + file), "lines"), before + 1) << "its end is no line";
    std::ofstream(file, std::ios::app) << At(300);
    const RunResult refused = Fold(words + file);
    EXPECT_EQ(refused.code, 1);
    EXPECT_TRUE(HasLine(refused.err, "pleat fold: " + file + ": the last line, which had no end"))
        << refused.err;
    EXPECT_NE(refused.err.find("--at-end keep"), std::string::npos) << refused.err;
  }
}

// --- Ends that are being written

TEST_F(RunStateTest, KeepLeavesALastLineThatHasNoEndYet) {
  const std::string line = At(1000, "d");
  const std::string file = dir_.Write("file", Edits(0, 50) + line.substr(0, 9));
  const Words words =
      Pleat("fold --key k --time t --quiet 1m --at-end keep --output " + (dir_ / "out") +
            " --state " + (dir_ / "j") + " --invalid " + (dir_ / "invalid") + " " + file);
  for (int i = 0; i < 2; ++i) {
    const Finished r = RunToEnd(words);
    EXPECT_EQ(r.code, 0);
    EXPECT_TRUE(HasLine(r.err, "lines         50  0 invalid")) << r.err;
    EXPECT_NE(r.err.find(" unfinished at its end, which waits for the next run: " + file + "; "),
              std::string::npos)
        << r.err;
  }
  std::ofstream(file, std::ios::app) << line.substr(9);
  EXPECT_TRUE(HasLine(RunToEnd(words).err, "lines         51  0 invalid"));
}

TEST_F(RunStateTest, FlushTakesTheEndThatKeepHasLeft) {
  std::string text = Edits(0, 50);
  text.pop_back();
  const std::string file = dir_.Write("file", text);
  EXPECT_EQ(Stat(Run("--at-end keep " + file), "events"), 49);
  EXPECT_EQ(Stat(Run(file), "events"), 50);
}

TEST_F(RunStateTest, KeepLeavesRecordsAndArraysThatHaveNoEndYet) {
  struct Growth {
    std::string input, begin, rest;
  };
  const Growth kGrowths[] = {
      {"csv", "k,t\na,1\nb,2", "9\n"},
      {"csv", "k,t\na,1\n\"b\n", "c\",29\n"},
      {"csv", "k,t\na,1\n\"b\"", "\"c\",29\n"},
      {"tsv", "k\tt\na\t1\nb\t2", "9\n"},
      {"logfmt", "k=a t=1\nk=b t=2", "9\n"},
      {"json", "[{\"k\":\"a\",\"t\":1},", "{\"k\":\"b\",\"t\":29}]"},
      {"json", "{\"k\":\"a\",\"t\":1}{\"k\":\"b\",\"t\":2", "9}"},
  };
  for (const Growth& each : kGrowths) {
    TemporaryDirectory dir;
    const std::string file = dir.Write("file", each.begin);
    const std::string words = "--key k --time t --time-unit s --quiet 1s --at-end keep --input " +
                              each.input + " --output " + (dir / "out") + " --state " +
                              (dir / "j ") + file;
    const RunResult first = Fold(words);
    EXPECT_EQ(Stat(first, "lines"), 1) << each.begin;
    EXPECT_EQ(first.err, "");
    std::ofstream(file, std::ios::app) << each.rest;
    const RunResult second = Fold(words);
    EXPECT_EQ(second.code, 0) << second.err;
    EXPECT_EQ(Stat(second, "events"), 2) << each.begin;
    EXPECT_EQ(second.stats.find("00:00:02"), std::string::npos) << "half of the value was read";
  }
}

TEST_F(RunStateTest, ALineOverTheLimitIsInvalidOnceHoweverOftenItGrows) {
  for (const std::string at_end : {"keep", "flush"}) {
    const std::string file = dir_.Write("file", At(0) + std::string(1'100'000, 'x'));
    const std::string words = "--invalid " + (dir_ / "invalid") + " " + file + " --at-end ";
    const int invalid = at_end == "flush" ? 1 : 0;  // keep leaves it until it has an end
    for (int i = 0; i < 3; ++i) {
      const RunResult grown = Run(words + at_end);
      EXPECT_EQ(grown.code, 0) << grown.err;
      EXPECT_EQ(Stat(grown, "invalid"), invalid);
      EXPECT_EQ(Stat(grown, "lines"), 1 + invalid);
      std::ofstream(file, std::ios::app) << "xx";
    }
    std::ofstream(file, std::ios::app) << "\n" << At(100);
    const RunResult rest = Run(words + "flush");
    EXPECT_EQ(Stat(rest, "invalid"), 1);
    EXPECT_EQ(Stat(rest, "events"), 2);
    std::filesystem::remove_all(dir_ / "j");
    for (const std::string name : {"out", "invalid"}) std::filesystem::remove(dir_ / name);
  }
}

TEST_F(RunStateTest, TheEndOfAPipeIsAnEnd) {
  std::string text = Edits(0, 50);
  text.pop_back();
  const RunResult r = Fold("--key k --time t --quiet 1m --at-end keep --output " + (dir_ / "out") +
                               " --state " + (dir_ / "j"),
                           text);
  EXPECT_EQ(Stat(r, "events"), 50);
}

// --- Rotation

TEST_F(RunStateTest, AFileIsKnownByItsContentUnderAnyName) {
  const std::string file = dir_.Write("app.log", Edits(0, 50));
  Run("--at-end keep " + file);
  const std::string renamed = dir_ / "app.log.1";
  std::filesystem::rename(file, renamed);
  dir_.Write("app.log", Edits(50, 60));
  std::ofstream(renamed, std::ios::app) << Edits(48, 50);
  const Finished r = RunToEnd(
      Pleat("fold --key k --time t --quiet 1m --merge 'n=count()' --at-end keep --output " +
            (dir_ / "out") + " --state " + (dir_ / "j") + " " + renamed + " " + file));
  EXPECT_EQ(r.code, 0);
  EXPECT_TRUE(HasLine(r.err, "lines         62  0 invalid")) << r.err;
  EXPECT_TRUE(HasLine(
      r.err, "pleat fold: state directory: went on behind 50 lines; known by another name: " +
                 renamed + "; new content under a known name, read from its start: " + file))
      << r.err;
  // Copied and emptied, and the older one compressed.
  const std::string compressed = dir_.Write("app.log.2.gz", Gzip(Content(renamed)));
  std::filesystem::copy_file(file, renamed, std::filesystem::copy_options::overwrite_existing);
  std::filesystem::resize_file(file, 0);
  EXPECT_EQ(Stat(Run("--at-end keep " + compressed + " " + renamed + " " + file), "lines"), 62);
  std::ofstream(file, std::ios::app) << Edits(60, 70);
  EXPECT_EQ(Stat(Run(compressed + " " + renamed + " " + file), "lines"), 72);
}

TEST_F(RunStateTest, AnEmptyFileIsReadFromItsStartOnceItHasLines) {
  const std::string file = dir_.Write("file", "");
  const std::string other = dir_.Write("other", "");
  EXPECT_EQ(Stat(Run("--at-end keep " + file + " " + other), "lines"), 0);
  std::ofstream(file, std::ios::app) << Edits(0, 5);
  EXPECT_EQ(Stat(Run("--at-end keep " + file + " " + other), "lines"), 5);
  std::ofstream(other, std::ios::app) << Edits(5, 7);
  EXPECT_EQ(Stat(Run(file + " " + other), "lines"), 7);
}

TEST_F(RunStateTest, AFileThatIsGivenTwiceUnderTwoNamesIsRefused) {
  const std::string file = dir_.Write("file", Edits(0, 5));
  std::filesystem::create_hard_link(file, dir_ / "hard");
  std::filesystem::create_symlink(file, dir_ / "soft");
  for (const std::string& other : {dir_ / "hard", dir_ / "soft", dir_ / "./file"}) {
    const RunResult refused = Run(file + " " + other);
    EXPECT_EQ(refused.code, 2);
    EXPECT_TRUE(HasLine(refused.err, "pleat fold: --state: reads each file once, and " + other))
        << refused.err;
    EXPECT_FALSE(std::filesystem::exists(dir_ / "out"));
  }
}

TEST_F(RunStateTest, TwoFilesOfOneContentAreTwo) {
  const std::string files =
      dir_.Write("file", Edits(0, 5)) + " " + dir_.Write("other", Edits(0, 5));
  EXPECT_EQ(Stat(Run("--at-end keep " + files), "lines"), 10);
  EXPECT_EQ(Stat(Run("--at-end keep " + files), "lines"), 10);
  std::ofstream(dir_ / "other", std::ios::app) << Edits(5, 6);
  EXPECT_EQ(Stat(Run(files), "lines"), 11);
}

TEST_F(RunStateTest, AllFilesAreCheckedBeforeAnythingIsWritten) {
  const std::string file = dir_.Write("file", Edits(0, 170));
  const std::string words = "--snapshot-every 1 --at-end keep ";
  Run(words + file);
  std::ofstream(dir_ / "out", std::ios::app) << "behind the snapshot\n";
  const std::string out = Content(dir_ / "out");
  dir_.Write("file", Edits(0, 169) + At(3000));
  EXPECT_EQ(Run(words + dir_.Write("first", Edits(0, 5)) + " " + file).code, 1);
  EXPECT_EQ(Content(dir_ / "out"), out);
}

// A signal while a run that has nothing new to read waits for a pipe.
TEST_F(RunStateTest, AnInterruptedRunWithNothingNewLeavesTheFileOfOpenGroups) {
  const std::string file = dir_.Write("file", Edits(0, 50));
  const std::string words = "fold --key k --time t --quiet 1m --quiet-summary --state " +
                            (dir_ / "j") + " --output " + (dir_ / "out") + " --open " +
                            (dir_ / "open") + " " + file;
  EXPECT_EQ(RunToEnd(Pleat(words)).code, 0);
  const std::string open_groups = Content(dir_ / "open");
  EXPECT_NE(open_groups, "");
  ASSERT_EQ(mkfifo((dir_ / "fifo").c_str(), 0600), 0);
  Subprocess process(Pleat(words + " " + (dir_ / "fifo")));
  const int writer = open((dir_ / "fifo").c_str(), O_WRONLY | O_CLOEXEC);  // waits for its reader
  process.Signal(SIGTERM);
  EXPECT_EQ(process.WaitWithInputOpen(), 128 + SIGTERM);
  close(writer);
  EXPECT_EQ(RunToEnd(Pleat(words)).code, 0);
  EXPECT_EQ(Content(dir_ / "open"), open_groups);
}

TEST_F(RunStateTest, SIGUSR1CountsTheLinesOfThisRun) {
  const std::string file = dir_.Write("file", Edits(0, 50));
  const std::string words = "fold --key k --time t --quiet 1m --state " + (dir_ / "j") +
                            " --output " + (dir_ / "out") + " " + file + " -";
  EXPECT_EQ(RunToEnd(Pleat(words)).code, 0);
  Subprocess process(Pleat(words));
  process.Write("nonsense\nnonsense\n");
  ASSERT_TRUE(process.AwaitErr("<stdin>:2: "));
  process.Signal(SIGUSR1);
  ASSERT_TRUE(process.AwaitErr(" lines  "));
  EXPECT_NE(process.err().find("  2 lines  "), std::string::npos) << process.err();
  EXPECT_EQ(process.Wait(), 1) << "no line was usable";
}

// ---

TEST_F(RunStateTest, AFileOnStandardInputIsReadOnceToo) {
  const std::string file = dir_.Write("file", Edits(0, 50));
  const std::string command = PleatProgram() + " fold --key k --time t --quiet 1m --output " +
                              (dir_ / "out") + " --state " + (dir_ / "j") + " --stats " +
                              (dir_ / "stats") + " < " + file;
  const auto lines = [&] {
    EXPECT_EQ(RunToEnd({"/bin/sh", "-c", command}).code, 0);
    return ParseStats(Content(dir_ / "stats"))["lines"];
  };
  EXPECT_EQ(lines(), 50);
  EXPECT_EQ(lines(), 50);
  std::ofstream(file, std::ios::app) << Edits(50, 52);
  EXPECT_EQ(lines(), 52);
}

TEST_F(RunStateTest, AFileOnStandardInputIsRefusedBehindItsBeginning) {
  const std::string file = dir_.Write("file", Edits(0, 50));
  const std::string command = "{ read -r x; " + PleatProgram() +
                              " fold --key k --time t --quiet 1m --output " + (dir_ / "out") +
                              " --state " + (dir_ / "j") + "; } < " + file;
  const Finished refused = RunToEnd({"/bin/sh", "-c", command});
  EXPECT_EQ(refused.code, 2);
  EXPECT_TRUE(HasLine(refused.err, "pleat fold: --state: keeps how far a file was read"))
      << refused.err;
  EXPECT_EQ(Stat(Run(file), "lines"), 50);
}

TEST_F(RunStateTest, ALineWithoutAnEndIsNotReadAgainFromACopy) {
  std::string text = Edits(0, 1);
  text.pop_back();
  const std::string file = dir_.Write("file", text);
  EXPECT_EQ(Stat(Run(file), "lines"), 1);
  std::filesystem::remove(file);
  const std::string copy = dir_.Write("copy", text + "\n" + Edits(1, 2));
  const RunResult refused = Run(copy);
  EXPECT_EQ(refused.code, 1);
  EXPECT_TRUE(HasLine(refused.err, "pleat fold: " + copy + ": the last line, which had no end"))
      << refused.err;
  EXPECT_EQ(Stat(Run(dir_.Write("file.gz", Gzip(text + "\n"))), "lines"), 1);
}

// --- Lines over the limit, which --invalid gets as they came

TEST_F(RunStateTest, ALongLineWithoutAnEndWaitsForTheNextRun) {
  const std::string piece((size_t{1} << 20) + 300'000, 'x');
  const std::string before = "nonsense\n" + piece + "\n" + Edits(0, 5);
  const std::string file = dir_.Write("file", before + piece);
  const std::string words = "--at-end keep --invalid " + (dir_ / "invalid") + " " + file + " " +
                            dir_.Write("other", "invalid\n" + piece + "\n");
  const RunResult first = Run(words);
  EXPECT_EQ(first.code, 0) << first.err;
  EXPECT_EQ(Stat(first, "lines"), 9);
  const std::string invalid = "nonsense\n" + piece + "\ninvalid\n" + piece + "\n";
  EXPECT_TRUE(Content(dir_ / "invalid") == invalid);
  std::ofstream(file, std::ios::app) << piece;
  EXPECT_EQ(Stat(Run(words), "lines"), 9);
  std::ofstream(file, std::ios::app) << "\n" << Edits(5, 6) << piece;
  std::ofstream(dir_ / "other", std::ios::app) << "more\n";
  EXPECT_EQ(Stat(Run(words), "lines"), 12);
  EXPECT_TRUE(Content(dir_ / "invalid") == invalid + piece + piece + "\nmore\n");
}

TEST_F(RunStateTest, ALongLineWithoutAnEndWaitsInCompressedFilesAndOnStandardInputToo) {
  const std::string piece((size_t{1} << 20) + 300'000, 'x');
  const std::string text = "\xef\xbb\xbf" + Edits(0, 5) + piece;
  for (const bool standard : {true, false}) {
    const std::string file = dir_ / "file";
    const std::string command =
        PleatProgram() + " fold --key k --time t --quiet 1m --no-summary --at-end keep --output " +
        (dir_ / "out") + " --invalid " + (dir_ / "invalid") + " --state " + (dir_ / "j") +
        " --stats " + (dir_ / "stats") + (standard ? " < " : " ") + file;
    const auto lines_of = [&](const std::string& content) {
      dir_.Write("file", standard ? content : Gzip(content));
      const Finished run = RunToEnd({"/bin/sh", "-c", command});
      EXPECT_EQ(run.code, 0) << run.err;
      return ParseStats(Content(dir_ / "stats"))["lines"];
    };
    EXPECT_EQ(lines_of(text), 5);
    EXPECT_EQ(Content(dir_ / "invalid"), "");
    EXPECT_EQ(lines_of(text + "yy\n" + Edits(5, 6)), 7);
    EXPECT_TRUE(Content(dir_ / "invalid") == piece + "yy\n");
    std::filesystem::remove_all(dir_ / "j");
    for (const std::string name : {"out", "invalid"}) std::filesystem::remove(dir_ / name);
  }
}

TEST_F(RunStateTest, AByteOrderMarkAndCompressionAreNoPartOfThePlace) {
  const std::string file = dir_.Write("file", "\xef\xbb\xbf" + Edits(0, 50));
  Run("--at-end keep " + file);
  std::ofstream(file, std::ios::app) << Edits(50, 60);
  EXPECT_EQ(Stat(Run(file), "events"), 60);
}

TEST_F(RunStateTest, ASignalKeepsWhatIsOpen) {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    TemporaryDirectory dir;
    const Words words = Pleat("fold --key k --time t --quiet 1m --state " + (dir / "j") +
                              " --output " + (dir / "out"));
    Subprocess process(words);
    process.Write(Edits(0, 2) + "nonsense\n");
    ASSERT_TRUE(process.AwaitErr("<stdin>:3: "));
    process.Signal(number);
    EXPECT_EQ(process.WaitWithInputOpen(), 128 + number);
    EXPECT_EQ(Content(dir / "out"), "") << "neither has been quiet for a minute";
    const Finished rest = RunToEnd(words, At(600));
    EXPECT_EQ(rest.code, 0) << rest.err;
    const std::string out = Content(dir / "out");
    EXPECT_EQ(std::count(out.begin(), out.end(), '\n'), 3);
  }
}

TEST_F(RunStateTest, OutputsAreCutBackToTheSnapshot) {
  const std::string file = dir_.Write("file", Edits(0, 50));
  Run("--at-end keep " + file);
  const std::string out = Content(dir_ / "out");
  std::ofstream(dir_ / "out", std::ios::app) << "written after the snapshot\n";
  Run("--at-end keep " + file);
  EXPECT_EQ(Content(dir_ / "out"), out);
}

TEST_F(RunStateTest, AnOutputThatHasLostBytesIsAnError) {
  const std::string file = dir_.Write("file", Edits(0, 50));
  Run("--at-end keep " + file);
  dir_.Write("out", "short\n");
  const RunResult refused = Run(file);
  EXPECT_EQ(refused.code, 1);
  EXPECT_TRUE(HasLine(refused.err, "pleat fold: " + (dir_ / "out") + ": has 6 bytes"))
      << refused.err;
  EXPECT_EQ(Content(dir_ / "out"), "short\n");
}

TEST_F(RunStateTest, OtherOptionsAreRefusedByName) {
  const std::string file = dir_.Write("file", Edits(0, 50));
  Run("--at-end keep " + file);
  const std::string snapshot = Content(dir_ / "j/snapshot-1");
  for (const std::string& option :
       {std::string("--partial-every 2m"), std::string("--key t"),
        std::string("--merge 'm=max(t)'"), std::string("--time k"), std::string("--reorder 1s")}) {
    const RunResult refused = Run(option + " " + file);
    EXPECT_EQ(refused.code, 2) << option;
    const std::string name = option.substr(0, option.find(' '));
    EXPECT_TRUE(HasLine(refused.err, "pleat fold: " + name + ": is ")) << refused.err;
  }
  const RunResult other = RunCommand(
      "rollup", "--key k --time t --window 1m --allowed-lateness 1m --state " + (dir_ / "j"), "");
  EXPECT_EQ(other.code, 2);
  EXPECT_TRUE(HasLine(other.err, "pleat rollup: --state: ")) << other.err;
  EXPECT_EQ(Content(dir_ / "j/snapshot-1"), snapshot) << "nothing was touched";
  EXPECT_EQ(Run("--threads 2 --max-groups 100 --no-meta --late " + (dir_ / "late") +
                " --allowed-lateness inf " + file)
                .code,
            2)
      << "--late still needs an allowed lateness";
  EXPECT_EQ(Run("--threads 2 --max-groups 100 --emission-id --on-invalid fail " + file).code, 0);
}

TEST_F(RunStateTest, OtherPeriodsHoldFromTheNewestSnapshotOn) {
  const std::string file = dir_.Write("file", Edits(0, 50));
  const auto run = [&](const std::string& periods) {
    const Finished r =
        RunToEnd(Pleat("fold --key k --time t --at-end keep --output " + (dir_ / "out") +
                       " --state " + (dir_ / "j ") + periods + " " + file));
    EXPECT_EQ(r.code, 0) << r.err;
    return r.err;
  };
  run("--quiet 1m");
  const std::string other = run("--quiet 2m --max-wait 1h");
  const std::string says = "; --quiet is 120s, and was 60s; --max-wait is 3600s, and was forever; ";
  EXPECT_NE(other.find(says), std::string::npos) << other;
  EXPECT_EQ(run("--quiet 2m --max-wait 1h").find("--quiet is"), std::string::npos);
}

// Of a group that was open before the cap there is no weight; it weighs what comes from then on.
TEST_F(RunStateTest, ACapOfBytesMayComeGoAndChange) {
  const std::string fold = "fold --key k --time t --quiet 1m --no-meta --merge 'n=count()' ";
  const std::string first = dir_.Write("first", Edits(0, 5));
  const std::string more = dir_.Write("more", Edits(5, 10));
  const std::string all = RunToEnd(Pleat(fold + first + " " + more)).out;
  using Words = std::pair<std::string, std::string>;
  for (const auto& [before, now] : {Words("", "--max-bytes 1M "), Words("--max-bytes 1M ", ""),
                                    Words("--max-bytes 1M ", "--max-bytes 2M ")}) {
    const TemporaryDirectory dir;
    const std::string kept = fold + "--state " + (dir / "j ");
    const Finished one = RunToEnd(Pleat(kept + "--at-end keep " + before + first));
    const Finished two = RunToEnd(Pleat(kept + "--at-end flush " + now + more));
    EXPECT_EQ(one.code + two.code, 0) << one.err << two.err;
    EXPECT_EQ(one.out + two.out, all);
  }
}

TEST_F(RunStateTest, WhatHappensAtALimitAndToLateEventsMayChange) {
  const auto run = [&](const std::string& command, const std::string& words) {
    const std::string file = dir_.Write(command, Edits(0, 5));
    const Finished r = RunToEnd(Pleat(command + " --key k --time t --at-end keep --output " +
                                      (dir_ / (command + "-out")) + " --state " +
                                      (dir_ / (command + "-state")) + " " + words + " " + file));
    EXPECT_EQ(r.code, 0) << r.err;
  };
  run("fold", "--quiet 1m --max-groups 9");
  run("fold", "--quiet 1m --max-groups 9 --on-limit emit");
  run("live", "--member m=t --ttl 1m --max-members 9");
  run("live", "--member m=t --ttl 1m --max-members 9 --on-limit drop");
  run("rollup", "--window 1m --allowed-lateness 1m");
  run("rollup", "--window 1m --allowed-lateness 1m --on-late clamp");
}

TEST_F(RunStateTest, AnEmptyKeepOfOptionsIsRefused) {
  const std::string file = dir_.Write("file", Edits(0, 5));
  const auto refused = [&](const std::string& words) {
    const RunResult r = Fold("--key k --time t --quiet 1m " + words + " " + file);
    EXPECT_EQ(r.code, 2) << words;
    return r.err;
  };
  EXPECT_TRUE(HasLine(refused("--at-end keep"), "pleat fold: --at-end: keep needs --state"));
  EXPECT_TRUE(HasLine(refused("--snapshot-every 5s"), "pleat fold: --snapshot-every: needs"));
  const std::string directory = "--state " + (dir_ / "j");
  EXPECT_TRUE(HasLine(refused(directory + " --at-end drop"), "pleat fold: --at-end: drop"));
  EXPECT_TRUE(HasLine(refused(directory + " --snapshot-every 0"), "pleat fold: --snapshot-every:"));
  EXPECT_TRUE(HasLine(refused(directory + " " + file), "pleat fold: --state: reads each file"));
  EXPECT_FALSE(std::filesystem::exists(dir_ / "j"));
}

TEST_F(RunStateTest, OnlyOneRunHasTheDirectory) {
  const std::string words =
      "fold --key k --time t --quiet 1m --state " + (dir_ / "j") + " --output " + (dir_ / "out");
  Subprocess first(Pleat(words));
  first.Write(At(0) + "nonsense\n");
  ASSERT_TRUE(first.AwaitErr("<stdin>:2: "));
  const Finished second = RunToEnd(Pleat(words));
  EXPECT_EQ(second.code, 1);
  EXPECT_NE(second.err.find("is locked by process "), std::string::npos) << second.err;
  EXPECT_EQ(first.Wait(), 0);
}

TEST_F(RunStateTest, ADirectoryThatIsALinkIsRefused) {
  dir_.Write("file", Edits(0, 5));
  mkdir((dir_ / "real").c_str(), 0700);
  ASSERT_EQ(symlink((dir_ / "real").c_str(), (dir_ / "j").c_str()), 0);
  EXPECT_EQ(Run(dir_ / "file").code, 1);
  EXPECT_EQ(TemporaryDirectory::Names(dir_ / "real"), Names{});
}

TEST_F(RunStateTest, ASnapshotThatFailsIsSaidOnceAndTheRunGoesOn) {
  Subprocess process(
      Pleat("fold --key k --time t --quiet 1m --quiet-summary --snapshot-every 1 "
            "--state " +
            (dir_ / "j") + " --output " + (dir_ / "out")));
  process.Write(At(0) + "nonsense\n");
  ASSERT_TRUE(process.AwaitErr("<stdin>:2: "));
  // A snapshot may be under way, and leave a file behind.
  std::error_code not_empty;
  while (std::filesystem::remove_all(dir_ / "j", not_empty) == static_cast<uintmax_t>(-1)) {
  }
  process.Write(At(100) + "nonsense\n");
  ASSERT_TRUE(process.AwaitErr("<stdin>:4: "));
  process.Write(At(200));
  EXPECT_EQ(process.Wait(), 1) << "the last snapshot could not be taken";
  const std::string said = "no snapshot could be taken: ";
  EXPECT_NE(process.err().find(said), std::string::npos) << process.err();
  EXPECT_EQ(process.err().find(said), process.err().rfind(said)) << process.err();
  const std::string out = Content(dir_ / "out");
  EXPECT_EQ(std::count(out.begin(), out.end(), '\n'), 3);
}

TEST_F(RunStateTest, TheSummarySaysHowTheDirectoryStands) {
  const std::string file = dir_.Write("file", Edits(0, 50));
  const Words words = Pleat("fold --key k --time t --quiet 1m --at-end keep --output " +
                            (dir_ / "out") + " --state " + (dir_ / "j") + " " + file);
  EXPECT_TRUE(HasLine(RunToEnd(words).err,
                      "pleat fold: state directory: 1 snapshot taken; the newest has "));
  EXPECT_TRUE(
      HasLine(RunToEnd(words).err, "pleat fold: state directory: went on behind 50 lines; "));
}

TEST_F(RunStateTest, PleatStateShowsTheInputs) {
  const std::string file = dir_.Write("file", Edits(0, 50));
  Run("--at-end keep " + file);
  const std::string text = RunToEnd(Pleat("state show " + (dir_ / "j"))).out;
  EXPECT_TRUE(HasLine(text, "source       " + file + ": 50 lines, read to its end")) << text;
  EXPECT_TRUE(HasLine(text, "collection   fold: a folder with 3 open groups")) << text;
  const std::string json = RunToEnd(Pleat("state show --json " + (dir_ / "j"))).out;
  EXPECT_NE(json.find("\"sources\":[{\"file\":\"" + file + "\",\"lines\":50,\"bytes\":"),
            std::string::npos)
      << json;
  EXPECT_NE(json.find(",\"whole\":true}]"), std::string::npos) << json;
}

TEST_F(RunStateTest, SnapshotsAreTakenAfterSoManyLines) {
  const std::string file = dir_.Write("file", Edits(0, 3000));
  const Finished r =
      RunToEnd(Pleat("fold --key k --time t --quiet 1m --snapshot-every 100 --output " +
                     (dir_ / "out") + " --state " + (dir_ / "j") + " " + file));
  EXPECT_EQ(r.code, 0);
  EXPECT_FALSE(HasLine(r.err, "pleat fold: state directory: 1 snapshot taken")) << r.err;
  EXPECT_EQ(TemporaryDirectory::Names(dir_ / "j").size(), 3u) << "the newest, LOCK and MANIFEST";
}

}  // namespace
}  // namespace pleat::cli
