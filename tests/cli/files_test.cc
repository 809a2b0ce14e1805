// What `pleat fold` writes beside standard output, and what becomes of it when things go wrong.
#include <sys/stat.h>

#include "tests/cli/run_pleat.h"

namespace pleat {
namespace {

using Names = std::vector<std::string>;

FoldResult FoldByKey(const Arguments& more, std::string_view input = "{\"k\":1}\n") {
  Arguments arguments = {"--key", "k", "--quiet", "1m", "--no-meta"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return Fold(arguments, input);
}

TEST(OutputOption, HoldsWhatWouldHaveGoneToStandardOutput) {
  TemporaryDirectory dir;
  const FoldResult r = FoldByKey({"--output", dir / "out"});
  EXPECT_EQ(r.code, 0);
  EXPECT_EQ(r.out, "");
  EXPECT_EQ(Content(dir / "out"), "{\"k\":1}\n");
  EXPECT_EQ(dir.Names(), Names{"out"});
}

TEST(OutputOption, DashIsStandardOutput) {
  EXPECT_EQ(FoldByKey({"--output", "-"}).out, "{\"k\":1}\n");
}

TEST(OutputOption, LeavesTheFileAloneAfterABadLineThatStops) {
  TemporaryDirectory dir;
  dir.Write("out", "before");
  const FoldResult r = FoldByKey({"--output", dir / "out", "--on-bad", "fail"}, "nonsense\n");
  EXPECT_EQ(r.code, 1);
  EXPECT_EQ(Content(dir / "out"), "before");
  EXPECT_EQ(dir.Names(), Names{"out"});
}

TEST(OutputOption, MayReplaceAnInput) {
  TemporaryDirectory dir;
  const std::string path = dir.Write("events", "{\"k\":1,\"v\":2}\n{\"k\":1}\n");
  EXPECT_EQ(FoldByKey({"--output", path, path}).code, 0);
  EXPECT_EQ(Content(path), "{\"k\":1}\n");
}

TEST(OutputOption, UnwritableDirectoryIsFoundBeforeInputIsRead) {
  Subprocess process(Pleat({"fold", "--key", "k", "--quiet", "1m", "--output", "/no/such/out"}));
  EXPECT_EQ(process.WaitWithInputOpen(), 1);
  EXPECT_EQ(process.err(), "pleat fold: /no/such/out: No such file or directory\n");
}

TEST(OutputOption, IsCompleteWhenTheRunIsAskedToEnd) {
  for (int number : {SIGTERM, SIGHUP}) {
    TemporaryDirectory dir;
    Subprocess process(Pleat({"fold", "--key", "k", "--quiet", "1m", "--output", dir / "out"}));
    process.Write("{\"k\":1}\nnonsense\n");
    ASSERT_TRUE(process.AwaitErr("<stdin>:2: "));
    EXPECT_EQ(dir.Names().size(), 1u);
    process.Signal(number);
    EXPECT_EQ(process.WaitWithInputOpen(), 128 + number);
    EXPECT_EQ(Content(dir / "out").substr(0, 6), "{\"k\":1");
    EXPECT_EQ(dir.Names(), Names{"out"});
  }
}

TEST(StatsOption, FileHoldsTheLedgerInItsOrder) {
  TemporaryDirectory dir;
  const Finished r = RunToEnd(
      Pleat({"fold", "--key", "k", "--quiet", "1m", "--stats", dir / "stats"}), "{\"k\":1}\n");
  EXPECT_EQ(r.code, 0);
  std::vector<std::string> names;
  ParseStats(Content(dir / "stats"), &names);
  EXPECT_EQ(names, (Names{"lines", "events", "bad", "late", "refused", "opened", "folded",
                          "emissions", "open", "mismatched", "folding_ratio", "duplicate",
                          "conflict", "corrected", "control", "cancelled", "silent", "partial",
                          "reopened", "late_folded", "corrected_folding_ratio"}));
  ExpectBalanced(Content(dir / "stats"));
  EXPECT_EQ(Content(dir / "stats").back(), '\n');
}

TEST(StatsOption, StandardOutputByNameDoesNotOverwriteEmissions) {
  TemporaryDirectory dir;
  const std::string command = "echo '{\"k\":1}' | " + std::string(PLEAT_BINARY) +
                              " fold --key k --quiet 1m --no-meta --stats /dev/stdout > " +
                              (dir / "both");
  EXPECT_EQ(RunToEnd({"/bin/sh", "-c", command}).code, 0);
  EXPECT_EQ(Content(dir / "both").rfind("{\"k\":1}\n{\"lines\":1,", 0), 0u)
      << Content(dir / "both");
}

TEST(Files, InputsAreNotOverwritten) {
  TemporaryDirectory dir;
  const std::string path = dir.Write("events", "{\"k\":1}\n");
  for (const char* option : {"--bad", "--late"}) {
    const FoldResult r = FoldByKey({option, path, path});
    EXPECT_EQ(r.code, 2);
    EXPECT_NE(r.err.find("is an input as well"), std::string::npos) << r.err;
    EXPECT_EQ(Content(path), "{\"k\":1}\n");
  }
}

TEST(Files, OneNameIsNotTwoOutputs) {
  const FoldResult r = FoldByKey({"--bad", "x", "--late", "x"});
  EXPECT_EQ(r.code, 2);
  EXPECT_TRUE(HasLine(r.err, "pleat fold: --bad: the same file as --late")) << r.err;
}

TEST(Files, FullDiskIsOneClearLine) {
  const Arguments by_key = {"fold", "--key", "k", "--quiet", "1m", "--quiet-summary"};
  for (const char* option : {"--output", "--bad", "--stats"}) {
    Arguments arguments = by_key;
    arguments.insert(arguments.end(), {option, "/dev/full"});
    const Finished r = RunToEnd(Pleat(arguments), "{\"k\":1}\nnonsense\n");
    EXPECT_EQ(r.code, 1) << option;
    const size_t at = r.err.find("pleat fold: /dev/full: No space left on device\n");
    EXPECT_NE(at, std::string::npos) << r.err;
    EXPECT_EQ(r.err.find("/dev/full", at + 20), std::string::npos) << r.err;
  }
}

TEST(Files, FullDiskUnderStandardOutputIsOneClearLine) {
  const Finished r =
      RunToEnd({"/bin/sh", "-c",
                std::string(PLEAT_BINARY) +
                    " fold --key k --quiet 1m --quiet-summary --stats - > /dev/full"},
               "{\"k\":1}\n");
  EXPECT_EQ(r.code, 1);
  EXPECT_TRUE(HasLine(r.err, "pleat fold: <stdout>: No space left on device")) << r.err;
  ExpectBalanced(StatsLine(r.err));
}

TEST(Files, ClosedStandardOutputIsAnError) {
  const Finished r = RunToEnd(
      {"/bin/sh", "-c", std::string(PLEAT_BINARY) + " fold --key k --quiet 1m >&-"}, "{\"k\":1}\n");
  EXPECT_EQ(r.code, 1);
  EXPECT_TRUE(HasLine(r.err, "pleat fold: <stdout>: ")) << r.err;
}

}  // namespace
}  // namespace pleat
