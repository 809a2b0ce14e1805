// What `pleat fold` writes beside standard output, and what becomes of it when things go wrong.
#include <pty.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <gmock/gmock.h>

#include "tests/cli/run_pleat.h"
#include "tests/support/traced_process.h"

namespace pleat::cli {
namespace {

using Names = std::vector<std::string>;

// Whether files need no name there.
bool HasNamelessFiles(const TemporaryDirectory& dir) {
  const int fd = open(dir.path().c_str(), O_TMPFILE | O_RDWR, 0600);
  if (fd >= 0) close(fd);
  return fd >= 0;
}

TEST(OutputOption, HoldsWhatWouldHaveGoneToStandardOutput) {
  TemporaryDirectory dir;
  const FoldResult r = FoldByKey("--output " + (dir / "out"));
  EXPECT_EQ(r.code, 0);
  EXPECT_EQ(r.out, "");
  EXPECT_EQ(Content(dir / "out"), "{\"k\":1}\n");
  EXPECT_EQ(dir.Names(), Names{"out"});
}

TEST(OutputOption, DashIsStandardOutput) { EXPECT_EQ(FoldByKey("--output -").out, "{\"k\":1}\n"); }

TEST(OutputOption, LeavesTheFileAloneAfterAnInvalidLineThatStops) {
  TemporaryDirectory dir;
  dir.Write("out", "before");
  const FoldResult r = FoldByKey("--output " + (dir / "out") + " --on-invalid fail", "nonsense\n");
  EXPECT_EQ(r.code, 1);
  EXPECT_EQ(Content(dir / "out"), "before");
  EXPECT_EQ(dir.Names(), Names{"out"});
}

TEST(OutputOption, UnwritableDirectoryIsFoundBeforeInputIsRead) {
  Subprocess process(Pleat("fold --key k --quiet 1m --output /no/such/out"));
  EXPECT_EQ(process.WaitWithInputOpen(), 1);
  EXPECT_EQ(process.err(), "pleat fold: /no/such/out: No such file or directory\n");
}

TEST(OutputOption, IsCompleteWhenTheRunIsAskedToEnd) {
  for (int number : {SIGTERM, SIGHUP, SIGINT}) {
    TemporaryDirectory dir;
    Subprocess process(Pleat("fold --key k --quiet 1m --no-meta --output " + (dir / "out")));
    process.Write("{\"k\":1}\nnonsense\n");
    ASSERT_TRUE(process.AwaitErr("<stdin>:2: "));
    EXPECT_EQ(dir.Names().size(), HasNamelessFiles(dir) ? 0u : 1u);
    process.Signal(number);
    EXPECT_EQ(process.WaitWithInputOpen(), 128 + number);
    EXPECT_EQ(Content(dir / "out"), "{\"k\":1}\n");
    EXPECT_EQ(dir.Names(), Names{"out"});
  }
}

TEST(OutputOption, LeavesNothingBehindWhateverEndsTheRun) {
  // Nobody wants the memory of the process in a file.
  rlimit core{};
  getrlimit(RLIMIT_CORE, &core);
  core.rlim_cur = 0;
  setrlimit(RLIMIT_CORE, &core);
  for (int number : {SIGQUIT, SIGABRT, SIGXCPU, SIGKILL}) {
    TemporaryDirectory dir;
    if (number == SIGKILL && !HasNamelessFiles(dir)) continue;
    dir.Write("out", "before");
    Subprocess process(Pleat("fold --key k --quiet 1m --output " + (dir / "out")));
    process.Write("nonsense\n");
    ASSERT_TRUE(process.AwaitErr("<stdin>:1: "));
    EXPECT_EQ(dir.Names().size(), HasNamelessFiles(dir) ? 1u : 2u);
    process.Signal(number);
    EXPECT_EQ(process.WaitWithInputOpen(), -number);
    EXPECT_EQ(Content(dir / "out"), "before");
    EXPECT_EQ(dir.Names(), Names{"out"});
  }
}

// Only between getting a temporary name and the final one a kill leaves a file, which is whole.
TEST(OutputOption, KilledAtAnyCallItLeavesWholeFilesOnly) {
  TemporaryDirectory logs;
  if (!HasNamelessFiles(logs)) GTEST_SKIP() << "files have names here";
  const std::string log = logs.Write("log", "{\"k\":1}\n{\"k\":2}\n");
  const std::string whole =
      RunToEnd(Pleat("fold --key k --quiet inf --no-meta --quiet-summary " + log)).out;
  ASSERT_FALSE(whole.empty());
  size_t with_temporary = 0;
  bool killed = true;
  for (uint64_t call = 1; killed; ++call) {
    TemporaryDirectory dir;
    dir.Write("out", "before");
    killed = RunUpToCall(Pleat("fold --key k --quiet inf --no-meta --quiet-summary --output " +
                               (dir / "out") + " " + log),
                         call, logs / "err")
                 .killed;
    for (const std::string& name : dir.Names()) {
      const std::string content = Content(dir / name);
      EXPECT_TRUE(content == whole || (name == "out" && content == "before"))
          << call << " " << name;
    }
    with_temporary += dir.Names().size() > 1;
    EXPECT_EQ(killed || Content(dir / "out") == whole, true) << Content(logs / "err");
  }
  EXPECT_LE(with_temporary, 2u);
}

TEST(OutputOption, LeavesNothingBehindPastTheLimitOfAFile) {
  TemporaryDirectory dir;
  dir.Write("out", "before");
  const Finished r =
      RunToEnd({"/bin/sh", "-c",
                "ulimit -f 1 && " + PleatProgram() +
                    " fold --key k --quiet 1m --raw 1 --quiet-summary --output " + (dir / "out")},
               "{\"k\":1,\"pad\":\"" + std::string(5000, 'x') + "\"}\n");
  EXPECT_EQ(r.code, 1);
  EXPECT_EQ(r.err, "pleat fold: " + (dir / "out") + ": File too large\n");
  EXPECT_EQ(Content(dir / "out"), "before");
  EXPECT_EQ(dir.Names(), Names{"out"});
}

TEST(StatsOption, FileHoldsTheLedgerInItsOrder) {
  TemporaryDirectory dir;
  const Finished r =
      RunToEnd(Pleat("fold --key k --quiet 1m --stats " + (dir / "stats")), "{\"k\":1}\n");
  EXPECT_EQ(r.code, 0);
  std::vector<std::string> names;
  ParseStats(Content(dir / "stats"), &names);
  EXPECT_EQ(names,
            (Names{"lines",         "events",      "invalid",   "late",        "over_limit",
                   "opened",        "folded",      "emissions", "open",        "mismatched",
                   "folding_ratio", "duplicate",   "conflict",  "corrected",   "control",
                   "cancelled",     "silent",      "partial",   "late_folded", "out_of_order",
                   "most_behind_s", "first_stamp", "last_stamp"}));
  ExpectBalanced(Content(dir / "stats"));
  EXPECT_EQ(Content(dir / "stats").back(), '\n');
}

TEST(StatsOption, HasTheFirstAndTheLastStampThatEventsState) {
  const std::string lines = At(70) + At(10) + At(40) + "nonsense\n";
  for (const std::string command : {"fold --quiet 1m", "live --member m=k --ttl 1m",
                                    "rollup --window 1m --allowed-lateness 0"}) {
    const auto stats = [&](const std::string& more, std::string_view input) {
      return StatsLine(RunToEnd(Pleat(command + " --key k --stats - " + more), input).err);
    };
    const auto ends = [](const std::string& first, const std::string& last) {
      return testing::EndsWith(",\"first_stamp\":" + first + ",\"last_stamp\":" + last + "}");
    };
    EXPECT_THAT(stats("--time t", lines), ends(Printed(10), Printed(70)));
    EXPECT_THAT(stats("--time t", "nonsense\n"), ends("null", "null"));
    EXPECT_THAT(stats("", lines), ends("null", "null"));  // the clock's are nobody's statement
  }
}

TEST(StatsOption, StandardOutputByNameDoesNotOverwriteEmissions) {
  TemporaryDirectory dir;
  const std::string command = "echo '{\"k\":1}' | " + PleatProgram() +
                              " fold --key k --quiet 1m --no-meta --stats /dev/stdout > " +
                              (dir / "both");
  EXPECT_EQ(RunToEnd({"/bin/sh", "-c", command}).code, 0);
  EXPECT_EQ(Content(dir / "both").rfind("{\"k\":1}\n{\"lines\":1,", 0), 0u)
      << Content(dir / "both");
}

const Words kOutputs = {"--output", "--open", "--stats", "--late", "--invalid"};

// Expects that a run ends with this sentence, and that it has touched nothing.
void ExpectRefused(const TemporaryDirectory& dir, const std::string& more, std::string_view why) {
  const Names before = dir.Names();
  const Finished r = RunToEnd(Pleat("fold --key k --quiet 1m --id k --allowed-lateness 0 " + more));
  EXPECT_EQ(r.code, 2) << more;
  EXPECT_EQ(r.err, "pleat fold: " + std::string(why) + "\n");
  EXPECT_EQ(dir.Names(), before);
  for (const std::string& name : before) EXPECT_EQ(Content(dir / name), "{\"k\":1}\n") << name;
}

TEST(Files, InputsAreNotOverwrittenUnderAnyName) {
  TemporaryDirectory dir;
  const std::string path = dir.Write("events", "{\"k\":1}\n");
  ASSERT_EQ(symlink("events", (dir / "symbolic").c_str()), 0);
  ASSERT_EQ(link(path.c_str(), (dir / "hard").c_str()), 0);
  for (const std::string& option : kOutputs) {
    for (const char* name : {"events", "./events", "symbolic", "hard"}) {
      ExpectRefused(dir, option + " " + (dir / name) + " " + path,
                    option + ": the same file as the input " + path);
    }
  }
}

TEST(Files, SpecIsNotOverwritten) {
  TemporaryDirectory dir;
  const std::string spec =
      dir.Write("spec", "{\"key\":\"k\",\"quiet\":\"1m\",\"id\":\"k\",\"allowed-lateness\":\"0\"}");
  for (const std::string& option : kOutputs) {
    const Finished r =
        RunToEnd(Pleat("fold --spec " + spec + " " + option + " " + (dir / "./spec")));
    EXPECT_EQ(r.code, 2);
    EXPECT_EQ(r.err, "pleat fold: " + option + ": the same file as --spec\n");
  }
  EXPECT_EQ(Content(spec),
            "{\"key\":\"k\",\"quiet\":\"1m\",\"id\":\"k\",\"allowed-lateness\":\"0\"}");
}

TEST(Files, OneFileIsNotTwoOutputsUnderAnyName) {
  TemporaryDirectory dir;
  dir.Write("there", "{\"k\":1}\n");
  ASSERT_EQ(symlink("there", (dir / "link").c_str()), 0);
  for (size_t i = 0; i < kOutputs.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      ExpectRefused(dir,
                    kOutputs[i] + " " + (dir / "there") + " " + kOutputs[j] + " " + (dir / "link"),
                    kOutputs[i] + ": the same file as " + kOutputs[j]);
    }
  }
}

TEST(Files, OneFileYetToBeMadeIsNotTwoOutputsUnderAnyName) {
  TemporaryDirectory dir;
  TemporaryDirectory elsewhere;
  ASSERT_EQ(symlink((dir / "new").c_str(), (elsewhere / "link").c_str()), 0);
  ASSERT_EQ(symlink(dir.path().c_str(), (elsewhere / "directory").c_str()), 0);
  for (size_t i = 0; i < kOutputs.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      for (const std::string& name :
           {dir / "new", dir / "./new", elsewhere / "link", elsewhere / "directory/new"}) {
        ExpectRefused(dir, kOutputs[i] + " " + (dir / "new") + " " + kOutputs[j] + " " + name,
                      kOutputs[i] + ": the same file as " + kOutputs[j]);
      }
    }
  }
}

TEST(Files, StandardInputAndOutputCountIfTheyAreRegularFiles) {
  TemporaryDirectory dir;
  const std::string log = dir.Write("log", "{\"k\":1}\n");
  const std::pair<std::string, std::string> cases[] = {
      {"--output log < log", "--output: the same file as standard input"},
      {"--invalid log < log", "--invalid: the same file as standard input"},
      {"< log >> log", "standard output: the same file as standard input"},
      {"log >> log", "standard output: the same file as the input log"},
      {"--late log >> log", "--late: the same file as standard output"},
  };
  for (const auto& [more, why] : cases) {
    const Finished r =
        RunToEnd({"/bin/sh", "-c",
                  "cd " + dir.path() + " && " + PleatProgram() +
                      " fold --key k --quiet 1m --id k --allowed-lateness 0 " + more});
    EXPECT_EQ(r.code, 2) << more;
    EXPECT_EQ(r.err, "pleat fold: " + why + "\n");
    EXPECT_EQ(Content(log), "{\"k\":1}\n");
  }
}

TEST(Files, WhatIsNoRegularFileMayBeNamedTwice) {
  EXPECT_EQ(
      FoldByKey(
          "--id k --allowed-lateness 0 --output /dev/null --invalid /dev/null --late /dev/null")
          .code,
      0);
  EXPECT_EQ(FoldByKey({"-", "-"}).out, "{\"k\":1}\n");
}

TEST(Files, RunThatCannotStartLeavesWhatWasThere) {
  TemporaryDirectory dir;
  dir.Write("late", "before");
  EXPECT_EQ(FoldByKey("--id k --allowed-lateness 0 --late " + (dir / "late") + " --invalid " +
                      (dir / "no/invalid"))
                .code,
            1);
  EXPECT_EQ(Content(dir / "late"), "before");
}

TEST(Files, FullDiskIsOneClearLine) {
  for (const std::string option : {"--output", "--invalid", "--stats"}) {
    const Finished r =
        RunToEnd(Pleat("fold --key k --quiet 1m --quiet-summary " + option + " /dev/full"),
                 "{\"k\":1}\nnonsense\n");
    EXPECT_EQ(r.code, 1) << option;
    const size_t at = r.err.find("pleat fold: /dev/full: No space left on device\n");
    EXPECT_NE(at, std::string::npos) << r.err;
    EXPECT_EQ(r.err.find("/dev/full", at + 20), std::string::npos) << r.err;
  }
}

TEST(Files, OutputIsCompleteWhateverElseCannotBeWritten) {
  for (const std::string option : {"--stats", "--open", "--invalid"}) {
    TemporaryDirectory dir;
    const Finished r = RunToEnd(Pleat("fold --key k --quiet 1m --no-meta --output " +
                                      (dir / "out") + " " + option + " /dev/full"),
                                "{\"k\":1}\nnonsense\n");
    EXPECT_EQ(r.code, 1) << option;
    EXPECT_TRUE(HasLine(r.err, "pleat fold: /dev/full: No space left on device")) << r.err;
    EXPECT_TRUE(HasLine(r.err, "emissions      1  written\n")) << r.err;
    EXPECT_EQ(Content(dir / "out"), "{\"k\":1}\n");
  }
}

TEST(Files, OutputThatIsNotCompleteIsSaidToBe) {
  for (const std::string more : {"--on-invalid fail", "--output /dev/full"}) {
    const Finished r = RunToEnd(Pleat("fold --key k --quiet 1m " + more), "{\"k\":1}\nnonsense\n");
    EXPECT_EQ(r.code, 1);
    EXPECT_NE(r.err.find("  made, but the output is not complete\n"), std::string::npos) << r.err;
  }
}

TEST(Files, FullDiskUnderStandardOutputIsOneClearLine) {
  const Finished r =
      RunToEnd({"/bin/sh", "-c",
                PleatProgram() + " fold --key k --quiet 1m --quiet-summary --stats - > /dev/full"},
               "{\"k\":1}\n");
  EXPECT_EQ(r.code, 1);
  EXPECT_TRUE(HasLine(r.err, "pleat fold: <stdout>: No space left on device")) << r.err;
  ExpectBalanced(StatsLine(r.err));
}

TEST(Files, ClosedStandardOutputIsAnError) {
  const Finished r =
      RunToEnd({"/bin/sh", "-c", PleatProgram() + " fold --key k --quiet 1m >&-"}, "{\"k\":1}\n");
  EXPECT_EQ(r.code, 1);
  EXPECT_TRUE(HasLine(r.err, "pleat fold: <stdout>: ")) << r.err;
}

// --- A terminal in the place of a FILE

// The program with a terminal as its standard input, at which nobody types a line.
class AtTerminal : public testing::Test {
 protected:
  AtTerminal() { EXPECT_EQ(openpty(&master_, &slave_, nullptr, nullptr, nullptr), 0); }
  ~AtTerminal() override {
    close(master_);
    close(slave_);
  }
  Words Shell(const std::string& words) const {
    return {"/bin/sh", "-c", PleatProgram() + " " + words + " < " + ttyname(slave_)};
  }
  void TypeEnd() const { EXPECT_EQ(write(master_, "\x04", 1), 1); }

  TemporaryDirectory dir_;
  int master_ = -1;
  int slave_ = -1;
};

TEST_F(AtTerminal, AFileThatIsMeantToBeReadIsNotReplaced) {
  const std::string log = dir_.Write("log", "precious\n");
  for (const std::string words :
       {"fold --key k --quiet 1m", "analyze --key k --time t",
        "rollup --key k --window 1m --allowed-lateness 1m", "live --key k --member m --ttl 1m",
        "fold --key k --quiet 1m --state DIR"}) {
    TypeEnd();
    const std::string directory = words.ends_with("DIR") ? dir_ / "j" : "";
    const Finished run =
        RunToEnd(Shell(words.substr(0, words.find("DIR")) + directory + " -o " + log));
    EXPECT_EQ(run.code, 2) << run.err;
    EXPECT_NE(run.err.find(": --output: " + log +
                           " has bytes, no FILE is given, and standard input is a terminal: name "
                           "the FILE to read, or - to type lines"),
              std::string::npos)
        << run.err;
    EXPECT_EQ(Content(log), "precious\n");
  }
}

// As a job of a scheduler is started.
TEST_F(AtTerminal, NorIsItWhereTheNullDeviceIsStandardInput) {
  const std::string log = dir_.Write("log", "precious\n");
  const Finished run = RunToEnd(
      {"/bin/sh", "-c", PleatProgram() + " fold --key k --quiet 1m -o " + log + " < /dev/null"});
  EXPECT_EQ(run.code, 2);
  EXPECT_NE(run.err.find(" has bytes, no FILE is given, and standard input is /dev/null: name the "
                         "FILE to read\n"),
            std::string::npos)
      << run.err;
  EXPECT_EQ(Content(log), "precious\n");
  EXPECT_EQ(RunToEnd({"/bin/sh", "-c",
                      PleatProgram() + " fold --key k --quiet 1m -o " + log + " - < /dev/null"})
                .code,
            0);
  EXPECT_EQ(Content(log), "");
}

TEST_F(AtTerminal, AnOutputThatIsNewOrEmptyOrMeantIsWritten) {
  const std::string words = "fold --key k --quiet 1m -o " + (dir_ / "out");
  for (const std::string file : {"", " -"}) {
    Subprocess process(Shell(words + file));
    ASSERT_TRUE(process.AwaitErr("pleat fold: reads lines from the terminal, up to Ctrl-D\n"));
    TypeEnd();
    EXPECT_EQ(process.Wait(), 0) << process.err();
    EXPECT_EQ(Content(dir_ / "out"), "");
    dir_.Write("out", "before\n");
  }
  TypeEnd();
  EXPECT_EQ(RunToEnd(Shell("fold --key k --quiet 1m --no-summary")).err, "");
}

}  // namespace
}  // namespace pleat::cli
