// Lines that are not usable events, and inputs that cannot be read.
#include <sys/stat.h>

#include "tests/cli/fixtures.h"
#include "tests/cli/run_pleat.h"

namespace pleat::cli {
namespace {

// A valid event of exactly `bytes`.
std::string EventOfSize(size_t bytes) {
  const std::string head = "{\"k\":1,\"pad\":\"";
  return head + std::string(bytes - head.size() - 2, 'x') + "\"}";
}

TEST(InvalidLines, FirstTenAreShownAndTheRestCounted) {
  std::string input;
  for (int i = 0; i < 13; ++i) input += "nonsense\n";
  const FoldResult r = FoldByKey("--on-invalid skip", input + "{\"k\":1}\n");
  EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 11) << r.err;
  EXPECT_TRUE(HasLine(r.err, "<stdin>:10: ")) << r.err;
  EXPECT_TRUE(HasLine(r.err, "pleat fold: 3 more invalid lines")) << r.err;
  EXPECT_EQ(Stat(r, "invalid"), 13);
}

TEST(InvalidLines, AreKeptAsTheyCame) {
  TemporaryDirectory dir;
  FoldByKey("--invalid " + (dir / "invalid"), "{\"k\":1}\nnon sense \r\n{\"x\":1}");
  EXPECT_EQ(Content(dir / "invalid"), "non sense \r\n{\"x\":1}\n");
}

TEST(InvalidLines, OnInvalidFailStopsThereAndLeavesWhatWasFinalBefore) {
  TemporaryDirectory dir;
  const FoldResult r = FoldAtTimes("--no-meta --on-invalid fail --invalid " + (dir / "invalid"),
                                   At(0, "done") + At(300, "open") + "nonsense\n" + At(301));
  EXPECT_EQ(r.code, 1);
  EXPECT_EQ(r.out, "{\"k\":\"done\"}\n");
  EXPECT_EQ(Stat(r, "lines"), 3);
  EXPECT_EQ(Stat(r, "open"), 1);
  EXPECT_EQ(Content(dir / "invalid"), "nonsense\n");
}

TEST(InvalidLines, BlankLinesAreNoLinesButCountForLineNumbers) {
  const FoldResult r = FoldByKey("", "\n  \t\n\r\n{\"k\":1}\n\nnonsense\n");
  EXPECT_EQ(Stat(r, "lines"), 2);
  EXPECT_EQ(r.err, "<stdin>:6: not a JSON object\n");
}

TEST(InvalidLines, TextThatIsNotUtf8IsCalledThatInEveryFormat) {
  const std::string access = " - - [12/Sep/2015:00:00:00 +0000] \"GET /a HTTP/1.1\" 200 1\n";
  struct Case {
    const char* options;
    std::string input;
  };
  for (const Case& c :
       std::vector<Case>{{"--input ndjson --key k", "\n{\"k\":\"\xff\"}\n{\"k\":1}\n"},
                         {"--input csv --key k", "k\n\xff\n1\n"},
                         {"--input tsv --key k", "k\tv\n\xff\t1\n1\t2\n"},
                         {"--input logfmt --key k", "\nk=\xff\nk=1\n"},
                         {"--input json --key k", "\n{\"k\":\n\"\xff\"}\n{\"k\":1}\n"},
                         {"--input access --key host", "\n\xff" + access + "h" + access}}) {
    const Finished r = RunToEnd(
        Pleat("fold --quiet 1m --no-summary --stats - " + std::string(c.options)), c.input);
    EXPECT_TRUE(r.err.starts_with("<stdin>:2: not UTF-8\n{\"lines\":2,")) << c.options << r.err;
  }
}

// As it is in JSON, where a lone surrogate is invalid, and a byte cannot be escaped.
TEST(InvalidLines, EscapesOfLogfmtThatAreNotUtf8AreNoKey) {
  const FoldResult r = FoldByKey("--on-invalid skip --input logfmt", R"(k="\xff")"
                                                                     "\n"
                                                                     R"(k="\ud800")"
                                                                     "\n"
                                                                     R"(k="\xc3\xa9 \ud83d\ude00")"
                                                                     "\n");
  EXPECT_EQ(r.out, "{\"k\":\"\u00e9 \U0001f600\"}\n");
  EXPECT_EQ(r.err, "<stdin>:1: not UTF-8\n<stdin>:2: not UTF-8\n");
}

TEST(InvalidLines, CarriageReturnsAreFine) {
  const FoldResult r = FoldByKey("", "{\"k\":1}\r\n{\"k\":2}\r\n");
  EXPECT_EQ(r.out, "{\"k\":1}\n{\"k\":2}\n");
  EXPECT_EQ(Stat(r, "invalid"), 0);
}

TEST(InvalidLines, LineOfOneMebibyteIsFineAndOneMoreByteIsNot) {
  const size_t limit = size_t{1} << 20;
  const FoldResult fits =
      FoldByKey("", EventOfSize(limit) + "\n" + EventOfSize(limit - 1) + "\r\n");
  EXPECT_EQ(Stat(fits, "events"), 2) << fits.err;
  for (const size_t more : {1, 2, 3, 300'000, 3'000'000}) {
    TemporaryDirectory dir;
    const std::string line = EventOfSize(limit + more);
    const FoldResult r = FoldByKey("--invalid " + (dir / "invalid"),
                                   "{\"k\":1}\n" + line + "\n{\"k\":1}\nnonsense\n");
    EXPECT_EQ(Stat(r, "lines"), 4);
    EXPECT_EQ(Stat(r, "invalid"), 2);
    EXPECT_TRUE(HasLine(r.err, "<stdin>:2: longer than 1 MiB")) << r.err;
    EXPECT_TRUE(HasLine(r.err, "<stdin>:4: ")) << r.err;
    EXPECT_TRUE(Content(dir / "invalid") == line + "\nnonsense\n") << more;
  }
}

TEST(InvalidLines, LongLastLineIsKeptWithANewline) {
  TemporaryDirectory dir;
  const std::string line(size_t{3} << 20, 'x');
  EXPECT_EQ(Stat(FoldByKey("--invalid " + (dir / "invalid"), line), "invalid"), 1);
  EXPECT_TRUE(Content(dir / "invalid") == line + "\n");
}

TEST(NoLineUsable, FailsAndLeavesWhatWasThere) {
  TemporaryDirectory dir;
  const std::string csv = dir.Write("events.csv", "k,v\n1,2\n");
  dir.Write("out", "before");
  dir.Write("open", "before");
  const FoldResult r =
      FoldByKey("--output " + (dir / "out") + " --open " + (dir / "open") + " " + csv);
  EXPECT_EQ(r.code, 1);
  EXPECT_TRUE(HasLine(r.err, "pleat fold: no line was usable; " + csv +
                                 " looks like CSV: pleat fold --input csv ..."))
      << r.err;
  EXPECT_EQ(Stat(r, "invalid"), 2);
  EXPECT_EQ(Content(dir / "out"), "before");
  EXPECT_EQ(Content(dir / "open"), "before");
  EXPECT_EQ(dir.Names(), (std::vector<std::string>{"events.csv", "open", "out"}));
}

TEST(NoLineUsable, IsSaidInTheSummary) {
  const Finished r = RunToEnd(Pleat("fold --key k --quiet 1m"), "nonsense\n");
  EXPECT_EQ(r.code, 1);
  EXPECT_TRUE(HasLine(r.err, "pleat fold: no line was usable; the reasons are above")) << r.err;
  EXPECT_TRUE(HasLine(r.err, "emissions      0  no line was usable")) << r.err;
}

TEST(NoLineUsable, WhatEveryLineLacksIsSaidByEveryCommand) {
  std::string lines;
  for (int i = 0; i < 12; ++i) lines += "{\"User\":1,\"t\":5}\n";
  for (const std::string command : {"fold --quiet 1m", "live --member m --ttl 1m", "analyze",
                                    "rollup --window 1m --allowed-lateness 0"}) {
    const Finished r = RunToEnd(Pleat(command + " --key user --time t --time-unit s"), lines);
    const std::string said = "pleat " + command.substr(0, command.find(' ')) + ": ";
    EXPECT_EQ(r.code, 1);
    EXPECT_TRUE(HasLine(r.err, "<stdin>:1: key \"user\" is missing; did you mean \"User\"?\n"))
        << r.err;
    EXPECT_TRUE(HasLine(r.err, "<stdin>:2: key \"user\" is missing\n")) << r.err;
    EXPECT_TRUE(HasLine(
        r.err, said + "no line was usable; key \"user\" is missing in all 12 lines; did you "
                      "mean \"User\"? The first has \"User\", \"t\"\n"))
        << r.err;
    const size_t advice = r.err.find("no line has");
    EXPECT_EQ(r.err.find("did you mean", std::min(advice, r.err.size())), std::string::npos)
        << r.err;
  }
}

TEST(NoLineUsable, LineOverTheLimitIsLookedAtAsWell) {
  const FoldResult r = FoldByKey("", "[" + EventOfSize(size_t{3} << 20) + "]");
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.err.find("looks like a JSON array: pleat fold --input json ..."), std::string::npos)
      << r.err;
}

TEST(NoLineUsable, OneEventSucceedsWhateverBecameOfIt) {
  EXPECT_EQ(FoldByKey("", "nonsense\n{\"k\":1}\n").code, 0);
  EXPECT_EQ(FoldByKey("--flush-when k=1", "nonsense\n{\"k\":1}\n").code, 0);
  const FoldResult refused = FoldByKey("--max-memory 1", "{\"k\":1}\n");
  EXPECT_EQ(Stat(refused, "over_limit"), 1);
  EXPECT_EQ(refused.err.find("no line was usable"), std::string::npos) << refused.err;
}

TEST(NoLineUsable, NoLineIsNoFailure) {
  TemporaryDirectory dir;
  for (const char* input : {"", "\n \n"}) {
    dir.Write("out", "before");
    EXPECT_EQ(FoldByKey("--output " + (dir / "out"), input).code, 0);
    EXPECT_EQ(Content(dir / "out"), "");
  }
}

TEST(NoLineUsable, LeavesWhatWasThereAlsoWhenAskedToEnd) {
  TemporaryDirectory dir;
  dir.Write("out", "before");
  Subprocess process(Pleat("fold --key k --quiet 1m --output " + (dir / "out")));
  process.Write("nonsense\n");
  ASSERT_TRUE(process.AwaitErr("<stdin>:1: "));
  process.Signal(SIGTERM);
  EXPECT_EQ(process.WaitWithInputOpen(), 128 + SIGTERM);
  EXPECT_EQ(Content(dir / "out"), "before");
}

TEST(Inputs, MayEachBeginWithAByteOrderMark) {
  TemporaryDirectory dir;
  const std::string a = dir.Write("a", "\xef\xbb\xbf{\"k\":1}\n");
  const std::string b = dir.Write("b.gz", Gzip("\xef\xbb\xbf{\"k\":2}\n\xef\xbb\xbf{\"k\":3}\n"));
  const FoldResult r = FoldByKey(a + " " + b);
  EXPECT_EQ(r.code, 0);
  EXPECT_EQ(r.out, "{\"k\":1}\n{\"k\":2}\n");
  EXPECT_TRUE(HasLine(r.err, b + ":2: not valid JSON: starts with a byte order mark")) << r.err;
}

TEST(Inputs, CompressedInputThatIsCutIsAnErrorFromItsFirstByteOn) {
  TemporaryDirectory dir;
  for (size_t size = 1; size < 4; ++size) {
    const FoldResult r = FoldByKey(dir.Write("cut.gz", Gzip("{\"k\":1}\n").substr(0, size)));
    EXPECT_EQ(r.code, 1) << size;
    EXPECT_TRUE(HasLine(r.err, "pleat fold: " + (dir / "cut.gz") + ": truncated gzip data"))
        << r.err;
    EXPECT_EQ(Stat(r, "lines"), 0);
  }
}

TEST(Inputs, AreReadInTheirOrderWithLineNumbersOfTheirOwn) {
  TemporaryDirectory dir;
  const std::string a = dir.Write("a", "{\"k\":1}\nnonsense");
  const std::string b = dir.Write("b", "{\"k\":2}\n\nnonsense\n");
  const FoldResult r = FoldByKey(a + " - " + b, "nonsense\n{\"k\":3}");
  EXPECT_EQ(r.out, "{\"k\":1}\n{\"k\":3}\n{\"k\":2}\n");
  EXPECT_TRUE(HasLine(r.err, a + ":2: ")) << r.err;
  EXPECT_TRUE(HasLine(r.err, "<stdin>:1: ")) << r.err;
  EXPECT_TRUE(HasLine(r.err, b + ":3: ")) << r.err;
}

TEST(Inputs, MayBeCompressedEachInItsWay) {
  TemporaryDirectory dir;
  const FoldResult r = FoldByKey(dir.Write("a", Gzip("{\"k\":1}\n") + Gzip("{\"k\":2}\n")) + " " +
                                 dir.Write("b", Zstd("{\"k\":3}\n") + Zstd("{\"k\":4}\n")) + " " +
                                 dir.Write("c", "{\"k\":5}\n") + " " + dir.Write("d", "") + " " +
                                 dir.Write("e", Gzip("")));
  EXPECT_EQ(r.out, "{\"k\":1}\n{\"k\":2}\n{\"k\":3}\n{\"k\":4}\n{\"k\":5}\n");
  EXPECT_EQ(FoldByKey("", Gzip("{\"k\":1}\n")).out, "{\"k\":1}\n");
}

TEST(Inputs, MissingFileIsFoundBeforeAnythingIsDone) {
  TemporaryDirectory dir;
  const std::string a = dir.Write("a", "{\"k\":1}\n");
  const FoldResult r = FoldByKey("--output " + (dir / "out") + " " + a + " " + (dir / "missing"));
  EXPECT_EQ(r.code, 1);
  EXPECT_EQ(r.out, "");
  EXPECT_EQ(r.err, "pleat fold: " + (dir / "missing") + ": No such file or directory\n");
  EXPECT_EQ(dir.Names(), std::vector<std::string>{"a"});
}

TEST(Inputs, DirectoryIsNoInput) {
  TemporaryDirectory dir;
  const FoldResult r = FoldByKey(dir.path());
  EXPECT_EQ(r.code, 1);
  EXPECT_EQ(r.err, "pleat fold: " + dir.path() + ": Is a directory\n");
}

TEST(Inputs, TruncatedCompressionEndsTheRunUnfinished) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "{\"k\":" + std::to_string(i) + "}\n";
  for (std::string bytes : {Gzip(text), Zstd(text)}) {
    bytes.resize(bytes.size() - 5);
    TemporaryDirectory dir;
    for (const std::string threads : {"1", "2"}) {
      const FoldResult r = FoldByKey("--threads " + threads + " --output " + (dir / "out") + " " +
                                     dir.Write("in", bytes));
      EXPECT_EQ(r.code, 1);
      EXPECT_TRUE(HasLine(r.err, "pleat fold: " + (dir / "in") + ": truncated ")) << r.err;
      EXPECT_FALSE(r.stats.empty());
      EXPECT_EQ(dir.Names(), std::vector<std::string>{"in"});
    }
  }
}

TEST(Inputs, ClosedStandardInputIsAnError) {
  const Finished r = RunToEnd({"/bin/sh", "-c", PleatProgram() + " fold --key k --quiet 1m <&-"});
  EXPECT_EQ(r.code, 1);
  EXPECT_TRUE(HasLine(r.err, "pleat fold: <stdin>: ")) << r.err;
}

}  // namespace
}  // namespace pleat::cli
