// The directory of --state and the outputs of a run: what a run that comes to nothing leaves
// alone, which files are the directory's own, and what errors say to do.
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "tests/cli/run_pleat.h"

namespace pleat::cli {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// Each file of a directory with its bytes, but for what each process writes there anew.
using Files = std::vector<std::pair<std::string, std::string>>;

Files FilesIn(const std::string& directory) {
  Files files;
  for (const std::string& name : TemporaryDirectory::Names(directory)) {
    if (name == "LOCK" || name == "MANIFEST") continue;
    files.emplace_back(name, Content(directory + "/" + name));
  }
  return files;
}

// Events of two keys on event time, and two lines of no use.
const std::string kEvents = At(0) + At(5, "b") + At(300) + At(310, "b");
constexpr std::string_view kNonsense = "{\"t\":1}\nnonsense\n";

class RunDirectoryTest : public testing::Test {
 protected:
  RunResult Run(const std::string& words) { return RunIn("j", words); }
  RunResult RunIn(const std::string& directory, const std::string& words) {
    return Fold("--time t --quiet 1m --state " + (dir_ / directory) + " " + words);
  }
  std::string Outputs() const {
    return "--output " + (dir_ / "out") + " --open " + (dir_ / "open");
  }

  TemporaryDirectory dir_;
};

// --- Runs that come to nothing

// A command and the option that is mistyped.
struct Mistyped {
  std::string command;
  std::string wrong;
  std::string right;
};

class MistypedTest : public testing::TestWithParam<Mistyped> {};

INSTANTIATE_TEST_SUITE_P(
    Commands, MistypedTest,
    testing::Values(Mistyped{"fold", "--key K --quiet 1m --allowed-lateness 1m",
                             "--key k --quiet 1m --allowed-lateness 1m"},
                    Mistyped{"live", "--key K --member m=k --ttl 1m",
                             "--key k --member m=k --ttl 1m"},
                    Mistyped{"rollup", "--key K --window 1m --allowed-lateness 1m",
                             "--key k --window 1m --allowed-lateness 1m"}),
    [](const auto& mistyped) { return mistyped.param.command; });

TEST_P(MistypedTest, LeavesOutputsAndTheDirectoryAsTheyWere) {
  const TemporaryDirectory dir;
  const std::string file = dir.Write("file", kEvents);
  const std::string words = " --time t --state " + (dir / "j") + " --output " +
                            dir.Write("out", "precious\n") + " --open " +
                            dir.Write("open", "precious\n") + " --late " +
                            dir.Write("late", "precious\n") + " " + file;
  const std::string& command = GetParam().command;
  const RunResult wrong = RunCommand(command, GetParam().wrong + words, "");
  EXPECT_EQ(wrong.code, 1) << wrong.err;
  EXPECT_THAT(wrong.err, HasSubstr("no line was usable")) << wrong.err;
  for (const std::string output : {"out", "open", "late"}) {
    EXPECT_EQ(Content(dir / output), "precious\n") << output;
  }
  EXPECT_THAT(FilesIn(dir / "j"), IsEmpty());
  const RunResult right = RunCommand(command, GetParam().right + words, "");
  EXPECT_EQ(right.code, 0) << right.err;
  EXPECT_EQ(Stat(right, "lines"), 4) << "the file was not read before";
  EXPECT_THAT(Content(dir / "out"), Not(HasSubstr("precious")));
  EXPECT_EQ(Content(dir / "late"), "");
}

TEST_F(RunDirectoryTest, LinesOfNoUseChangeNothingThatEarlierRunsKept) {
  const std::string events = dir_.Write("events", kEvents);
  const std::string nonsense = dir_.Write("nonsense", kNonsense);
  const std::string words = "--key k " + Outputs() + " --at-end keep ";
  ASSERT_EQ(Run(words + events).code, 0);
  std::ofstream(dir_ / "out", std::ios::app) << "written after the snapshot\n";
  const Files kept = FilesIn(dir_ / "j");
  const Files before = {{"", Content(dir_ / "out") + Content(dir_ / "open")}};
  const RunResult refused = Run(words + nonsense);
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, HasSubstr("no line was usable"));
  EXPECT_EQ(FilesIn(dir_ / "j"), kept);
  EXPECT_EQ(Files({{"", Content(dir_ / "out") + Content(dir_ / "open")}}), before);
  dir_.Write("nonsense", At(600, "c"));
  const RunResult right = Run(words + nonsense);
  EXPECT_EQ(right.code, 0) << "it was not read, so it has not changed: " << right.err;
  EXPECT_EQ(Stat(right, "lines"), 5);
  EXPECT_THAT(Content(dir_ / "out"), Not(HasSubstr("written after")));
}

// On arrival time the groups of an earlier run are due as soon as anybody looks: here of one that was
// killed right behind its snapshot.
TEST_F(RunDirectoryTest, OnlyARunWithoutLinesClosesWhatIsDueByTheClock) {
  const std::string words = "fold --no-summary --key k --quiet 1us --at-end keep --state " +
                            (dir_ / "j") + " --output " + (dir_ / "out") + " ";
  Subprocess killed(Pleat(words + "--snapshot-every 2"));
  killed.Write(At(0) + "nonsense\n");
  ASSERT_TRUE(killed.AwaitErr("<stdin>:2: "));
  killed.Write("nonsense\n");
  ASSERT_TRUE(killed.AwaitErr("<stdin>:3: ")) << "a snapshot of the first two lines is taken";
  killed.Signal(SIGKILL);
  EXPECT_EQ(killed.WaitWithInputOpen(), -SIGKILL);
  dir_.Write("out", "");  // as the snapshot has it
  const Files kept = FilesIn(dir_ / "j");
  EXPECT_EQ(RunToEnd(Pleat(words + dir_.Write("nonsense", "nonsense\n"))).code, 1);
  EXPECT_EQ(Content(dir_ / "out"), "");
  EXPECT_EQ(FilesIn(dir_ / "j"), kept);
  EXPECT_EQ(RunToEnd(Pleat(words + dir_.Write("empty", ""))).code, 0);
  EXPECT_THAT(Content(dir_ / "out"), HasSubstr("\"reason\":\"quiet\""));
  EXPECT_NE(FilesIn(dir_ / "j"), kept);
}

TEST_F(RunDirectoryTest, ARunThatFailsBeforeALineIsUsableChangesNothing) {
  std::string events = kEvents;
  while (events.size() < 5000) events += At(310);
  const std::string file = dir_.Write("file", events);
  const std::string words = "--key k " + Outputs() + " --late " + (dir_ / "late") +
                            " --allowed-lateness 1m --at-end keep " + file;
  ASSERT_EQ(Run(words).code, 0);
  for (const std::string name : {"out", "late"}) {
    std::ofstream(dir_ / name, std::ios::app) << "written after the snapshot\n";
  }
  const std::string out = Content(dir_ / "out");
  events[events.size() - 3] = ' ';  // behind the bytes that tell one file from another
  dir_.Write("file", events);
  EXPECT_EQ(Run(words).code, 1);
  EXPECT_EQ(Content(dir_ / "out"), out);
  EXPECT_EQ(Content(dir_ / "late"), "written after the snapshot\n");
}

TEST_F(RunDirectoryTest, InvalidLinesAreKeptApartAlsoOfARunThatComesToNothing) {
  const std::string words =
      "--key k " + Outputs() + " --invalid " + dir_.Write("invalid", "older\n") + " ";
  EXPECT_EQ(Run(words + dir_.Write("nonsense", kNonsense)).code, 1);
  EXPECT_EQ(Content(dir_ / "invalid"), kNonsense);
  EXPECT_EQ(Run(words + dir_.Write("events", kEvents)).code, 0);
  EXPECT_EQ(Content(dir_ / "invalid"), "") << "nothing of it is kept";
}

TEST_F(RunDirectoryTest, WhatIsHeldBackIsWrittenOnceALineIsUsable) {
  Subprocess process(Pleat("fold --key k --time t --quiet 1m --no-summary --state " + (dir_ / "j") +
                           " --at-end keep"));
  process.Write("nonsense\n" + At(0));
  ASSERT_TRUE(process.AwaitErr("<stdin>:1: "));
  process.Write(At(100));
  EXPECT_TRUE(process.AwaitOut("{\"k\":\"a\"")) << process.err();
  EXPECT_EQ(process.Wait(), 0);
}

// --- Outputs that the directory knows, and others

// A state directory, the file that was read into it, and what came out; both can move.
class OutputNamesTest : public testing::Test {
 protected:
  OutputNamesTest() {
    mkdir((dir_ / "d").c_str(), 0700);
    dir_.Write("d/file", kEvents);
    EXPECT_EQ(Run("d").code, 0);
    out_ = Content(dir_ / "d/out");
    EXPECT_NE(out_, "");
  }
  // `outputs`: options with names in the directory d.
  RunResult Run(const std::string& d, std::vector<std::string> outputs = {"--output out"}) {
    std::string words = "--key k --time t --quiet 1m --allowed-lateness 1m --at-end keep --state " +
                        (dir_ / d) + "/j " + (dir_ / d) + "/file";
    for (const std::string& output : outputs) {
      const size_t space = output.find(' ');
      words += " " + output.substr(0, space + 1) + (dir_ / d) + "/" + output.substr(space + 1);
    }
    return Fold(words);
  }
  void Grow(const std::string& d) {
    std::ofstream(dir_ / (d + "/file"), std::ios::app) << At(600) << At(605, "b");
  }
  // What the run over the whole file writes.
  std::string Whole(const std::string& d) {
    EXPECT_EQ(Fold("--key k --time t --quiet 1m --at-end drop --output " + (dir_ / "whole") + " " +
                   (dir_ / d) + "/file")
                  .code,
              0);
    return Content(dir_ / "whole");
  }
  void ExpectRefused(const RunResult& run, const std::string& output) {
    EXPECT_EQ(run.code, 1) << run.err;
    EXPECT_TRUE(HasLine(run.err, "pleat fold: " + (dir_ / output) + ": has bytes that --state "))
        << run.err;
    EXPECT_EQ(run.stats, "") << "nothing was read";
  }

  TemporaryDirectory dir_;
  std::string out_;
};

TEST_F(OutputNamesTest, ADirectoryThatMovesTakesItsOutputsWithIt) {
  std::filesystem::rename(dir_ / "d", dir_ / "d2");
  Grow("d2");
  EXPECT_EQ(Run("d2").code, 0);
  EXPECT_EQ(Content(dir_ / "d2/out"), Whole("d2"));
  // And back: the name of before says nothing more.
  std::filesystem::rename(dir_ / "d2", dir_ / "d");
  EXPECT_EQ(Run("d").code, 0);
  EXPECT_EQ(Content(dir_ / "d/out"), Whole("d"));
}

TEST_F(OutputNamesTest, ACopyOfADirectoryGoesOnWithTheCopiesOfItsOutputs) {
  const auto copy = [&](const std::string& from, const std::string& to) {
    std::filesystem::copy(dir_ / from, dir_ / to, std::filesystem::copy_options::recursive);
  };
  copy("d", "d2");
  Grow("d2");
  EXPECT_EQ(Run("d2").code, 0);
  EXPECT_EQ(Content(dir_ / "d2/out"), Whole("d2"));
  EXPECT_EQ(Content(dir_ / "d/out"), out_);
  std::filesystem::remove_all(dir_ / "d");
  copy("d2", "d");
  EXPECT_EQ(Run("d").code, 0);
  EXPECT_EQ(Content(dir_ / "d/out"), Whole("d"));
}

TEST_F(OutputNamesTest, AnOutputThatWasRenamedGoesOn) {
  std::filesystem::rename(dir_ / "d/out", dir_ / "d/out2");
  Grow("d");
  EXPECT_EQ(Run("d", {"--output out2"}).code, 0);
  EXPECT_EQ(Content(dir_ / "d/out2"), Whole("d"));
}

TEST_F(OutputNamesTest, NothingIsCutUnderAnotherName) {
  std::filesystem::rename(dir_ / "d/out", dir_ / "d/out2");
  std::ofstream(dir_ / "d/out2", std::ios::app) << "written behind the snapshot\n";
  const Files kept = FilesIn(dir_ / "d/j");
  Grow("d");
  ExpectRefused(Run("d", {"--output out2"}), "d/out2");
  EXPECT_EQ(Content(dir_ / "d/out2"), out_ + "written behind the snapshot\n");
  EXPECT_EQ(FilesIn(dir_ / "d/j"), kept);
  // Put back, as the message says, it is cut.
  std::filesystem::rename(dir_ / "d/out2", dir_ / "d/out");
  EXPECT_EQ(Run("d").code, 0);
  EXPECT_EQ(Content(dir_ / "d/out"), Whole("d"));
}

TEST_F(OutputNamesTest, AFileOfSomebodyElseIsRefusedAndStays) {
  Grow("d");
  for (const std::string option : {"--output", "--late", "--invalid"}) {
    dir_.Write("d/other", "precious\n");
    std::vector<std::string> outputs = {option + " other"};
    if (option != "--output") outputs.push_back("--output out");
    const RunResult refused = Run("d", outputs);
    ExpectRefused(refused, "d/other");
    EXPECT_THAT(refused.err, HasSubstr("The outputs that it knows: " + (dir_ / "d/out")));
    EXPECT_EQ(Content(dir_ / "d/other"), "precious\n");
    EXPECT_EQ(Content(dir_ / "d/out"), out_);
  }
  // At the place of an output, too, if that has moved: it is known which file it is.
  std::filesystem::rename(dir_ / "d/out", dir_ / "d/out2");
  EXPECT_EQ(Run("d", {"--output out2", "--late late"}).code, 0);
  std::filesystem::rename(dir_ / "d/out2", dir_ / "d/late");
  std::ofstream(dir_ / "d/late", std::ios::app) << "more\n";
  const std::string moved = Content(dir_ / "d/late");
  ExpectRefused(Run("d", {"--output out", "--late late"}), "d/late");
  EXPECT_EQ(Content(dir_ / "d/late"), moved);
}

// Lines of no use are written to --invalid although the run comes to nothing. So do lines of a run that
// is killed before its first snapshot.
TEST_F(OutputNamesTest, ANewOutputIsKnownBeforeAnythingIsWrittenToIt) {
  dir_.Write("d/nonsense", kNonsense);
  const std::string words =
      "--key k --time t --quiet 1m --allowed-lateness 1m --at-end keep --state " + (dir_ / "d/j") +
      " --output " + (dir_ / "d/out") + " --invalid " + (dir_ / "d/invalid") + " ";
  EXPECT_EQ(Fold(words + (dir_ / "d/nonsense")).code, 1);
  EXPECT_EQ(Content(dir_ / "d/invalid"), kNonsense);
  EXPECT_EQ(Content(dir_ / "d/out"), out_);
  Grow("d");
  const RunResult next = Fold(words + (dir_ / "d/file"));
  EXPECT_EQ(next.code, 0) << next.err;
  EXPECT_EQ(Content(dir_ / "d/invalid"), "");
  EXPECT_EQ(Content(dir_ / "d/out"), Whole("d"));
}

// In a copy of a directory outputs are known by their lengths, and then by their new names.
TEST_F(OutputNamesTest, OutputsOfOneLengthAreBothKnownInACopy) {
  std::filesystem::create_directory(dir_ / "e");
  const std::string invalid = std::string(out_.size() - 1, 'x') + "\n";
  dir_.Write("e/file", invalid + Content(dir_ / "d/file"));
  const std::vector<std::string> outputs = {"--output out", "--invalid invalid"};
  EXPECT_EQ(Run("e", outputs).code, 0);
  EXPECT_EQ(Content(dir_ / "e/out"), out_);
  EXPECT_EQ(Content(dir_ / "e/invalid"), invalid);
  std::filesystem::copy(dir_ / "e", dir_ / "c", std::filesystem::copy_options::recursive);
  dir_.Write("c/file", kNonsense);
  EXPECT_EQ(Run("c", outputs).code, 1) << "a run that comes to nothing, but notes the names";
  for (const std::string name : {"out", "invalid"}) {
    std::ofstream(dir_ / ("c/" + name), std::ios::app) << "of a run that was killed\n";
  }
  dir_.Write("c/file", Content(dir_ / "e/file"));
  Grow("c");
  const RunResult next = Run("c", outputs);
  EXPECT_EQ(next.code, 0) << next.err;
  EXPECT_EQ(Content(dir_ / "c/out"), Whole("c"));
  EXPECT_EQ(Content(dir_ / "c/invalid"), invalid);
}

TEST_F(OutputNamesTest, OutputsThatHaveEachOthersNamesAreKnown) {
  const std::vector<std::string> outputs = {"--output out", "--invalid invalid"};
  dir_.Write("d/file", Content(dir_ / "d/file") + "nonsense\n" + At(400));
  EXPECT_EQ(Run("d", outputs).code, 0);
  std::filesystem::rename(dir_ / "d/out", dir_ / "d/other");
  std::filesystem::rename(dir_ / "d/invalid", dir_ / "d/out");
  std::filesystem::rename(dir_ / "d/other", dir_ / "d/invalid");
  Grow("d");
  const RunResult next = Run("d", {"--output invalid", "--invalid out"});
  EXPECT_EQ(next.code, 0) << next.err;
  EXPECT_EQ(Content(dir_ / "d/invalid"), Whole("d"));
  EXPECT_EQ(Content(dir_ / "d/out"), "nonsense\n");
}

// --- Outputs are apart from the directory

class OutputInsideTest : public RunDirectoryTest {
 protected:
  OutputInsideTest() : file_(dir_.Write("file", kEvents)) {
    EXPECT_EQ(Run("--key k --at-end keep --output " + (dir_ / "out") + " " + file_).code, 0);
    kept_ = WithLock();
  }
  Files WithLock() const {
    Files files;
    for (const std::string& name : TemporaryDirectory::Names(dir_ / "j")) {
      files.emplace_back(name, Content(dir_ / ("j/" + name)));
    }
    return files;
  }
  void ExpectRefused(const std::string& option, const std::string& path) {
    const Finished run =
        RunToEnd(Pleat("fold --key k --time t --quiet 1m --allowed-lateness 1m --state " +
                       (dir_ / "j") + " " + option + " " + path + " " + file_));
    EXPECT_EQ(run.code, 2) << option << " " << path;
    EXPECT_THAT(run.err, HasSubstr(option + ": a file in the directory of --state"));
    EXPECT_EQ(WithLock(), kept_) << option << " " << path;
  }

  const std::string file_;
  Files kept_;
};

TEST_F(OutputInsideTest, ByEachOptionIsRefusedBeforeAnythingIsTouched) {
  for (const std::string option : {"--output", "--open", "--stats", "--invalid", "--late"}) {
    for (const std::string name : {"MANIFEST", "LOCK", "snapshot-1", "snapshot-2", "new"}) {
      ExpectRefused(option, dir_ / ("j/" + name));
    }
  }
  ExpectRefused("--output", dir_ / "j");
}

TEST_F(OutputInsideTest, ByAnotherNameIsRefusedAsWell) {
  std::filesystem::create_symlink(dir_ / "j", dir_ / "way");
  std::filesystem::create_symlink(dir_ / "j/snapshot-2", dir_ / "link");
  std::filesystem::create_hard_link(dir_ / "j/MANIFEST", dir_ / "hard");
  ExpectRefused("--stats", dir_ / "way/MANIFEST");
  ExpectRefused("--stats", dir_ / "j/../j/./new");
  ExpectRefused("--stats", dir_ / "link");
  ExpectRefused("--stats", dir_ / "hard");
  const Finished redirected =
      RunToEnd({"/bin/sh", "-c",
                PleatProgram() + " fold --key k --time t --quiet 1m --state " + (dir_ / "j") + " " +
                    file_ + " >> " + (dir_ / "j/snapshot-1")});
  EXPECT_EQ(redirected.code, 2);
  EXPECT_EQ(WithLock(), kept_);
}

TEST_F(OutputInsideTest, OfADirectoryThatIsNotThereYetIsRefused) {
  const Finished run = RunToEnd(Pleat("fold --key k --time t --quiet 1m --state " + (dir_ / "n/") +
                                      " --output " + (dir_ / "n/out") + " " + file_));
  EXPECT_EQ(run.code, 2) << run.err;
  EXPECT_FALSE(std::filesystem::exists(dir_ / "n"));
}

TEST_F(OutputInsideTest, ANameThatOnlyBeginsAlikeIsAnother) {
  EXPECT_EQ(
      Run("--key k --output " + (dir_ / "out") + " --open " + (dir_ / "j2") + " " + file_).code, 0);
}

TEST_F(RunDirectoryTest, ADirectoryOfSomebodyElseIsRefusedAndStaysAsItIs) {
  const std::string file = dir_.Write("file", kEvents);
  std::filesystem::create_directory(dir_ / "j");
  dir_.Write("j/LOCK", "[[package]]\n");
  EXPECT_EQ(Run("--key k " + file).code, 1);
  EXPECT_EQ(Content(dir_ / "j/LOCK"), "[[package]]\n");
  std::filesystem::remove(dir_ / "j/LOCK");
  dir_.Write("j/notes.txt", "theirs");
  const RunResult refused = Run("--key k " + file);
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err,
              HasSubstr("is no state directory, and has other files, such as notes.txt"));
  EXPECT_THAT(TemporaryDirectory::Names(dir_ / "j"), ElementsAre("notes.txt"));
}

// --- What errors say to do

class WayOutTest : public RunDirectoryTest {
 protected:
  WayOutTest() : words_("--key k --output " + (dir_ / "out") + " ") {
    const std::string file = dir_.Write("first", kEvents);
    EXPECT_EQ(Run(words_ + "--at-end keep " + file).code, 0);
  }
  std::string Refused(const std::string& file) {
    const RunResult refused = Run(words_ + dir_ / file);
    EXPECT_EQ(refused.code, 1);
    return refused.err;
  }

  const std::string words_;
};

TEST_F(WayOutTest, OfASnapshotThatIsGoneIsNoBeginning) {
  const std::string out = Content(dir_ / "out");
  std::filesystem::remove(dir_ / "j/snapshot-1");
  dir_.Write("second", At(600));
  EXPECT_THAT(Refused("second"),
              AllOf(HasSubstr("says that a snapshot was here"), HasSubstr("put snapshot-N back"),
                    HasSubstr("another directory")));
  EXPECT_EQ(Content(dir_ / "out"), out);
  for (const std::string action : {"check", "show"}) {
    const Finished told = RunToEnd(Pleat("state " + action + " " + (dir_ / "j")));
    EXPECT_EQ(told.code, 1) << action;
    EXPECT_THAT(told.out, HasSubstr("MANIFEST: at byte 0: says that a snapshot was here"))
        << action;
  }
}

TEST_F(WayOutTest, OfDamageNamesCheckAndSalvage) {
  std::string bytes = Content(dir_ / "j/snapshot-1");
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  dir_.Write("j/snapshot-1", bytes);
  EXPECT_THAT(Refused("first"),
              AllOf(HasSubstr("the checksum is wrong"),
                    HasSubstr("pleat state check " + (dir_ / "j") + " says"),
                    HasSubstr("pleat state salvage " + (dir_ / "j") + " --out NEW-DIR")));
}

TEST_F(WayOutTest, OfAnOutputThatWasMovedAwaySaysSoAndMakesNone) {
  std::filesystem::rename(dir_ / "out", dir_ / "elsewhere");
  EXPECT_THAT(Refused("first"),
              AllOf(HasSubstr((dir_ / "out") + ": is not there, and had at least "),
                    HasSubstr("put it back where it was"), HasSubstr("another --state")));
  EXPECT_FALSE(std::filesystem::exists(dir_ / "out"));
}

TEST_F(WayOutTest, OfAFileThatHasChangedAsksForAnotherName) {
  std::string events;
  while (events.size() < 5000) events += At(310);
  EXPECT_EQ(Run(words_ + "--at-end keep " + dir_.Write("long", events)).code, 0);
  events[events.size() - 3] = ' ';
  dir_.Write("long", events);
  EXPECT_THAT(Refused("long"), AllOf(HasSubstr("has changed since it was read"),
                                     HasSubstr("give a copy of it that has another name")));
}

// --- Copies of what was left

TEST_F(WayOutTest, StatisticsOfASalvagedCopySayWhatIsMissing) {
  std::string events;
  for (int i = 0; i < 60; ++i) events += At(i, std::to_string(i));
  dir_.Write("many", events);
  ASSERT_EQ(RunIn("many.j",
                  "--key k --at-end keep --output " + (dir_ / "many.out") + " " + (dir_ / "many"))
                .code,
            0);
  const std::string snapshot = dir_ / "many.j/snapshot-1";
  std::string bytes = Content(snapshot);
  bytes[bytes.size() - 40] = static_cast<char>(bytes[bytes.size() - 40] ^ 1);
  std::ofstream(snapshot, std::ios::binary) << bytes;
  const Finished saved = RunToEnd(
      Pleat("state salvage " + (dir_ / "many.j") + " --out " + (dir_ / "copy") + " --json"));
  EXPECT_EQ(saved.code, 1);
  ASSERT_THAT(saved.out, Not(HasSubstr("\"lost\":[]"))) << saved.out;
  const std::string shown = RunToEnd(Pleat("state show --json " + (dir_ / "copy"))).out;
  const std::string groups = "],\"groups\":";
  const int left = std::stoi(shown.substr(shown.find(groups) + groups.size()));
  EXPECT_LT(left, 60);
  EXPECT_THAT(shown, HasSubstr(",\"lost\":["));
  EXPECT_THAT(RunToEnd(Pleat("state show " + (dir_ / "copy"))).out,
              HasSubstr("lost         partitions "));
  for (int run = 0; run < 2; ++run) {
    const Finished went = RunToEnd(
        Pleat("fold --stats - --key k --time t --quiet 1m --at-end keep --output " +
              (dir_ / "many.out") + " --state " + (dir_ / "copy") + " " + (dir_ / "many")));
    EXPECT_EQ(went.code, 0) << went.err;
    auto stats = ParseStats(StatsLine(went.err));
    EXPECT_EQ(stats["open"], left);
    EXPECT_GE(stats["lost_partitions"], 1) << "also of later runs";
    EXPECT_THAT(went.err, HasSubstr("so the figures do not add up"));
  }
}

TEST_F(RunDirectoryTest, NamesThatAreNotUtf8AreShownAsValidJson) {
  const std::string file = dir_.Write("caf\xe9 \xed\xa0\x80 \xf0\x9f\x98\x80", kEvents);
  ASSERT_EQ(RunToEnd({PleatProgram(), "fold", "--key", "k", "--time", "t", "--quiet", "1m",
                      "--output", dir_ / "out", "--state", dir_ / "j", file})
                .code,
            0);
  EXPECT_THAT(RunToEnd(Pleat("state show --json " + (dir_ / "j"))).out,
              HasSubstr("/caf\uFFFD \uFFFD\uFFFD\uFFFD \xf0\x9f\x98\x80\","));
}

}  // namespace
}  // namespace pleat::cli
