// Runs with --state, and copies of the FILEs that they have read, as copytruncate makes them.
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include "tests/cli/fixtures.h"
#include "tests/cli/run_state_fixture.h"
#include "tests/support/share.h"

namespace pleat::cli {
namespace {

class RunCopies : public RunStateTest {};

// Between the copy and the emptying of the original, and for as long as somebody keeps both.
TEST_F(RunCopies, ACopyBesideItsOriginalIsLeftOut) {
  const std::string log = dir_.Write("app.log", Edits(0, 110));
  EXPECT_EQ(Stat(Run("--at-end keep " + log), "lines"), 110);
  for (const size_t bytes : {Edits(0, 110).size(), Edits(0, 60).size() + 5, Edits(0, 60).size()}) {
    const std::string copy = dir_.Write("app.log.1", Edits(0, 110).substr(0, bytes));
    const RunResult both = Run("--at-end keep " + copy + " " + log);
    EXPECT_EQ(both.code, 0);
    EXPECT_EQ(Stat(both, "lines"), 110);
    EXPECT_EQ(both.err, "pleat fold: left out of this run, as copies of other FILEs: " + copy +
                            " (of " + log + ")\n");
  }
  // The original grows and is copied, the copy is compressed, and only then is the original emptied.
  std::ofstream(log, std::ios::app) << Edits(110, 120);
  const std::string copy = dir_.Write("app.log.1", Edits(0, 120));
  EXPECT_EQ(Stat(Run("--at-end keep " + copy + " " + log), "lines"), 120);
  const std::string compressed = dir_.Write("app.log.1.gz", Gzip(Edits(0, 120)));
  EXPECT_EQ(Stat(Run("--at-end keep " + compressed + " " + copy + " " + log), "lines"), 120);
  dir_.Write("app.log", Edits(121, 122));
  std::ofstream(copy, std::ios::app) << Edits(120, 121);
  EXPECT_EQ(Stat(Run("--at-end keep " + compressed + " " + copy + " " + log), "lines"), 122);
  const RunResult rest = Run(copy + " " + log);
  EXPECT_EQ(rest.err, "");
  EXPECT_EQ(rest.stats, Whole(dir_.Write("whole.log", Edits(0, 122))).stats);
  EXPECT_EQ(Content(dir_ / "out"), Content(dir_ / "whole"));
}

// The next run finds both, and the original has had more lines since.
TEST_F(RunCopies, ACopyThatIsGivenAloneDoesNotTakeThePlaceOfItsOriginal) {
  for (const int copied : {110, 112}) {
    const std::string log = dir_.Write("app.log", Edits(0, 110));
    EXPECT_EQ(Stat(Run("--at-end keep " + log), "lines"), 110);
    const std::string copy = dir_.Write("app.log.1", Edits(0, copied));
    std::ofstream(log, std::ios::app) << Edits(110, 130);
    EXPECT_EQ(Stat(Run("--at-end keep " + copy), "lines"), copied);
    const RunResult both = Run("--at-end keep " + copy + " " + log);
    EXPECT_EQ(Stat(both, "lines"), 130);
    EXPECT_EQ(both.err, "pleat fold: left out of this run, as copies of other FILEs: " + copy +
                            " (of " + log + ")\n");
    std::ofstream(log, std::ios::app) << Edits(130, 140);
    EXPECT_EQ(Run(log).stats, Whole(dir_.Write("whole.log", Edits(0, 140))).stats);
    EXPECT_EQ(Content(dir_ / "out"), Content(dir_ / "whole"));
    std::filesystem::remove_all(dir_ / "j");
  }
}

TEST_F(RunCopies, ACopyOnStandardInputIsLeftOut) {
  for (const int lines : {6, 150}) {
    const std::string log = dir_.Write("app.log", Edits(0, lines));
    EXPECT_EQ(Stat(Run("--at-end keep " + log), "lines"), lines);
    const std::string copy = dir_.Write("copy", Edits(0, lines));
    const std::string command = PleatProgram() +
                                " fold --no-summary --key k --time t --quiet 1m --merge 'n=count()'"
                                " --at-end keep --stats " +
                                (dir_ / "stats") + " --output " + (dir_ / "out") + " --state " +
                                (dir_ / "j") + " " + log + " - < " + copy;
    const Finished run = RunToEnd({"/bin/sh", "-c", command});
    EXPECT_EQ(run.code, 0);
    EXPECT_EQ(run.err, "pleat fold: left out of this run, as copies of other FILEs: <stdin> (of " +
                           log + ")\n");
    EXPECT_EQ(ParseStats(Content(dir_ / "stats"))["lines"], lines);
    std::filesystem::remove_all(dir_ / "j");
  }
}

// What is written between the copy and the emptying is in the original alone, and a run may read it.
TEST_F(RunCopies, ACopyOfWhichMoreWasReadThanItHasIsNotReadAgain) {
  const std::string log = dir_.Write("app.log", Edits(0, 150));
  EXPECT_EQ(Stat(Run("--at-end keep " + log), "lines"), 150);
  const std::string copy = dir_.Write("app.log.1", Edits(0, 150));
  std::ofstream(log, std::ios::app) << Edits(150, 160);
  EXPECT_EQ(Stat(Run("--at-end keep " + copy + " " + log), "lines"), 160);
  EXPECT_EQ(Stat(Run("--at-end keep " + copy + " " + log), "lines"), 160);
  dir_.Write("app.log", "");
  EXPECT_EQ(Stat(Run("--at-end keep " + copy + " " + log), "lines"), 160);
  const std::string compressed = dir_.Write("app.log.1.gz", Gzip(Edits(0, 150)));
  std::filesystem::remove(copy);
  dir_.Write("app.log", Edits(160, 165));
  EXPECT_EQ(Stat(Run("--at-end keep " + compressed + " " + log), "lines"), 165);
  EXPECT_EQ(Run(compressed + " " + log).stats, Whole(dir_.Write("whole.log", Edits(0, 165))).stats);
  EXPECT_EQ(Content(dir_ / "out"), Content(dir_ / "whole"));
}

// A record that is cut becomes another line than the whole one, or none.
TEST_F(RunCopies, ACopyThatWasCutWithinARecordIsNotReadAgain) {
  const std::string words = "--input csv --time-unit s --at-end keep ";
  const size_t step = ShareOf({.whole = 1, .usual = 3, .sanitized = 7});
  for (const int records : {6, 400}) {
    std::string text = "k,t,note\n";
    for (int i = 0; i < records; ++i) {
      text += std::string(1, "abc"[i % 3]) + "," + std::to_string(20 * i) + ",\"a\nb\"\"c\"\n";
    }
    for (size_t cut = 2; cut < 40; cut += step) {
      SCOPED_TRACE("cut by " + std::to_string(cut));
      const std::string log = dir_.Write("app.log", text);
      EXPECT_EQ(Stat(Run(words + log), "lines"), records);
      const std::string copy = dir_.Write("app.log.1", text.substr(0, text.size() - cut));
      const RunResult both = Run(words + copy + " " + log);
      EXPECT_EQ(Stat(both, "lines"), records);
      EXPECT_EQ(both.err, "pleat fold: left out of this run, as copies of other FILEs: " + copy +
                              " (of " + log + ")\n");
      dir_.Write("app.log", "");
      EXPECT_EQ(Stat(Run(words + copy + " " + log), "lines"), records);
      std::filesystem::remove_all(dir_ / "j");
    }
  }
}

// Nor if no run has seen it beside its original, which was emptied or removed since.
TEST_F(RunCopies, ACopyThatNoRunSawBesideItsOriginalIsNotReadAgain) {
  for (const auto& [copied, all] : {std::pair{150, 160}, {3, 160}, {1, 2}, {20, 170}}) {
    const std::string text = Edits(0, copied);
    const std::string half_a_line = text + Edits(copied, copied + 1).substr(0, 7);
    for (const std::string& content : {text, half_a_line}) {
      const std::string log = dir_.Write("app.log", Edits(0, copied));
      EXPECT_EQ(Stat(Run("--at-end keep " + log), "lines"), copied);
      std::ofstream(log, std::ios::app) << Edits(copied, all);
      EXPECT_EQ(Stat(Run("--at-end keep " + log), "lines"), all);
      const std::string copy = dir_.Write("app.log.1", content);
      dir_.Write("app.log", "");
      const RunResult alone = Run("--at-end keep " + copy + " " + log);
      EXPECT_EQ(alone.code, 0);
      EXPECT_EQ(Stat(alone, "lines"), all) << copied;
      EXPECT_EQ(alone.err, "pleat fold: left out of this run, as copies of other FILEs: " + copy +
                               " (of " + log + ", of which more was read)\n");
      const std::string compressed = dir_.Write("app.log.1.gz", Gzip(content));
      std::filesystem::remove(copy);
      std::filesystem::remove(log);
      EXPECT_EQ(Stat(Run("--at-end keep " + compressed), "lines"), all);
      // Another file that begins alike is read from its start as soon as it is known by its lines.
      std::string other = text;
      for (int i = 0; i < 10; ++i) other += At(3590 + i, "d");
      const RunResult both = Run("--at-end keep " + dir_.Write("app.log.1", other));
      EXPECT_EQ(both.err, "");
      EXPECT_EQ(Stat(both, "lines"), all + copied + 10);
      std::filesystem::remove_all(dir_ / "j");
    }
  }
}

}  // namespace
}  // namespace pleat::cli
