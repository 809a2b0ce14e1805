// Pipes that stay open, readers that go away, and signals. Each test waits for a descriptor to become
// ready, never for time to pass; durations are only those that the program itself is asked to keep.
#include <sys/stat.h>

#include "tests/cli/fixtures.h"
#include "tests/cli/run_pleat.h"

namespace pleat::cli {
namespace {

Words Live(const std::string& more = "") {
  return Pleat("fold --key k --quiet 50ms --no-meta --quiet-summary " + more);
}

// An hour of quiet: nothing falls due while a test runs.
const std::string kPatient = "fold --key k --quiet 1h --no-meta --stats - ";

TEST(LiveInput, EmissionsAppearWhileThePipeIsOpenAndSilent) {
  const std::string first = "{\"k\":1}\n";
  const std::string second = "{\"k\":2}\n";
  // The second time, half a line is no reason to hold back what is due; the third time, the pipe is compressed.
  for (const auto& [one, other] : {std::pair(first, second),
                                   {first + second.substr(0, 5), second.substr(5)},
                                   {Gzip(first), Gzip(second)}}) {
    Subprocess process(Live());
    process.Write(one);
    EXPECT_TRUE(process.AwaitOut(first));
    process.Write(other);
    EXPECT_TRUE(process.AwaitOut(second));
    EXPECT_EQ(process.Wait(), 0);
    EXPECT_EQ(process.out(), first + second);
  }
}

TEST(LiveInput, FullGroupsAppearAtOnce) {
  Subprocess process(Pleat("fold --key k --quiet 1h --max-events 2 --no-meta --quiet-summary"));
  process.Write("{\"k\":1}\n{\"k\":1}\n");
  EXPECT_TRUE(process.AwaitOut("{\"k\":1}\n"));
  EXPECT_EQ(process.Wait(), 0);
}

TEST(LiveInput, EventsOnTheirOwnTimeCloseWhatIsDueWhileThePipeIsOpen) {
  Subprocess process(Live("--time t"));
  process.Write(At(0, "a") + At(100, "b"));
  EXPECT_TRUE(process.AwaitOut("{\"k\":\"a\"}\n"));
  EXPECT_EQ(process.Wait(), 0);
}

TEST(LiveInput, IdleLetsTheWatermarkFollowTheWallClock) {
  Subprocess process(Live("--time t --idle 20ms"));
  process.Write(At(0));  // years behind the wall clock, so due as soon as it is followed
  EXPECT_TRUE(process.AwaitOut("{\"k\":\"a\"}\n"));
  process.Write(At(1));
  EXPECT_EQ(process.Wait(), 0);
}

TEST(LiveInput, LateAndInvalidLinesAppearWhileThePipeIsOpen) {
  Subprocess process(Live("--time t --allowed-lateness 10s --late /dev/stderr"));
  process.Write(At(100) + At(1));
  EXPECT_TRUE(process.AwaitErr(At(1)));
  EXPECT_EQ(process.Wait(), 0);
}

TEST(Interrupt, StopsReadingFlushesAndReports) {
  // Two at once are one: timeout(1) signals the process, and its group. A process that is paused gets
  // both when it goes on, one right behind the other.
  for (const bool two : {false, true}) {
    Subprocess process(Pleat(kPatient));
    process.Write("{\"k\":1}\nnonsense\n{\"k\":");
    ASSERT_TRUE(process.AwaitErr("<stdin>:2: "));
    process.Pause();
    process.Signal(SIGINT);
    if (two) process.Signal(SIGTERM);
    process.Signal(SIGCONT);
    const int code = process.WaitWithInputOpen();
    EXPECT_TRUE(code == 128 + SIGINT || (two && code == 128 + SIGTERM)) << code;
    EXPECT_EQ(process.out(), "{\"k\":1}\n");
    EXPECT_EQ(process.err().find("<stdin>:3: "), std::string::npos) << process.err();
    EXPECT_TRUE(HasLine(process.err(), "lines ")) << process.err();
    ExpectBalanced(StatsLine(process.err()));
  }
}

TEST(Interrupt, WaitForANamedPipeCanBeInterrupted) {
  TemporaryDirectory dir;
  ASSERT_EQ(mkfifo((dir / "fifo").c_str(), 0600), 0);
  const std::string first = dir.Write("first", "nonsense\n");
  Subprocess process(Pleat(kPatient + first + " " + dir / "fifo"));
  ASSERT_TRUE(process.AwaitErr(first + ":1: "));
  process.Signal(SIGINT);
  EXPECT_EQ(process.WaitWithInputOpen(), 130);
}

TEST(Interrupt, SecondOneEndsTheRunAtOnceAndLeavesNoTemporaryFile) {
  TemporaryDirectory dir;
  // Its late lines go to a pipe that nobody reads, so the orderly end cannot come about.
  ASSERT_EQ(mkfifo((dir / "late").c_str(), 0600), 0);
  const int reader = open((dir / "late").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(reader, 0);
  std::string input = At(100);
  for (int i = 0; i < 20'000; ++i) input += At(1);
  Subprocess process(Pleat("fold --key k --quiet 1h --time t --allowed-lateness 0 --late " +
                           (dir / "late") + " --output " + (dir / "out") + " " +
                           dir.Write("in", input)));
  ASSERT_TRUE(process.AwaitReadable(reader));  // it is writing more than the pipe holds
  process.SignalUntilEnd(SIGINT);
  EXPECT_EQ(process.WaitWithInputOpen(), 130);
  EXPECT_EQ(dir.Names(), (std::vector<std::string>{"in", "late"}));
  close(reader);
}

TEST(Report, SaysHowFarTheRunHasComeAndEndsNothing) {
  Subprocess process(Pleat("fold --key k --time t --quiet 1h --no-summary"));
  process.Write(At(0) + At(1) + "nonsense\n");
  ASSERT_TRUE(process.AwaitErr("<stdin>:3: "));
  process.Signal(SIGUSR1);
  ASSERT_TRUE(process.AwaitErr("\"last_stamp\""));
  ASSERT_TRUE(process.AwaitErr("}\n"));  // the whole line
  const std::string& said = process.err();
  EXPECT_TRUE(HasLine(said, "pleat fold: ")) << said;
  EXPECT_NE(said.find("  3 lines  "), std::string::npos) << said;
  EXPECT_NE(said.find("  1 folded\n"), std::string::npos) << said;
  const std::string first = StatsLine(said);
  ExpectBalanced(first);
  EXPECT_EQ(ParseStats(first)["open"], 1);
  process.Write(At(2));
  EXPECT_EQ(process.Wait(), 0);
  EXPECT_EQ(process.out().find("{\"k\":\"a\",\"_fold\":{\"count\":3,"), 0u) << process.out();
  EXPECT_EQ(StatsLine(process.err()), first);  // once
}

TEST(Report, OfEveryCommandThatReadsLines) {
  for (const std::string command :
       {"live --member m=k --ttl 1m", "rollup --window 1m --allowed-lateness 0", "analyze"}) {
    Subprocess process(Pleat(command + " --key k --time t --no-summary"));
    process.Write(At(0) + "nonsense\n");
    ASSERT_TRUE(process.AwaitErr("<stdin>:2: "));
    process.Signal(SIGUSR1);
    EXPECT_TRUE(process.AwaitErr("  2 lines  ")) << process.err();
    EXPECT_TRUE(command == "analyze" || process.AwaitErr("\"lines\":2,"));
    EXPECT_EQ(process.Wait(), 0);
  }
}

TEST(ClosedReader, EndsTheRunQuietlyOnTheNextEmission) {
  Subprocess process(Live());
  process.CloseOutput();
  process.Write("{\"k\":1}\n");
  EXPECT_EQ(process.WaitWithInputOpen(), 0);
  EXPECT_EQ(process.err(), "");
}

TEST(ClosedReader, IsNoticedWhileTheInputIsSilent) {
  Subprocess process(Pleat("fold --key k --quiet 1h"));
  process.CloseOutput();
  EXPECT_EQ(process.WaitWithInputOpen(), 0);
  EXPECT_EQ(process.err(), "");
}

TEST(ClosedReader, EndsTheRunQuietlyAlsoIfStandardOutputHasAName) {
  for (const std::string name : {"/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"}) {
    Subprocess writes(Live("--output " + name));
    writes.CloseOutput();
    writes.Write("{\"k\":1}\n");
    EXPECT_EQ(writes.WaitWithInputOpen(), 0) << name;
    EXPECT_EQ(writes.err(), "");
    Subprocess waits(Pleat("fold --key k --quiet 1h --output " + name));
    waits.CloseOutput();
    EXPECT_EQ(waits.WaitWithInputOpen(), 0) << name;
    EXPECT_EQ(waits.err(), "");
  }
}

TEST(ClosedReader, IsAnErrorIfTheEmissionsGoElsewhere) {
  TemporaryDirectory dir;
  Subprocess process(Pleat("fold --key k --quiet 1h --quiet-summary --output " + (dir / "out") +
                           " --invalid /dev/stdout"));
  process.CloseOutput();
  process.Write("{\"k\":1}\nnonsense\n");
  EXPECT_EQ(process.Wait(), 1);
  EXPECT_TRUE(HasLine(process.err(), "pleat fold: <stdout>: Broken pipe")) << process.err();
}

TEST(ClosedReader, LedgerIsStillWritten) {
  TemporaryDirectory dir;
  Subprocess process(Live("--stats " + (dir / "stats")));
  process.CloseOutput();
  process.Write("{\"k\":1}\n");
  EXPECT_EQ(process.WaitWithInputOpen(), 0);
  ExpectBalanced(Content(dir / "stats"));
}

// What the terminal got while a run of some 600 ms went on, whose first emission `await` has waited for.
std::string TerminalAfter(Subprocess& process, const std::function<bool()>& await) {
  process.Write("{\"k\":1}\n");
  EXPECT_TRUE(await());
  process.Write("{\"k\":2}\n");
  EXPECT_EQ(process.Wait(), 0);
  return process.err();
}

std::string TerminalAfter(const Subprocess::Setup& setup) {
  Subprocess process(Pleat("fold --key k --quiet 600ms"), setup);
  return TerminalAfter(process, [&] { return process.AwaitOut("\"reason\":\"quiet\""); });
}

TEST(ProgressLine, IsDrawnOnATerminalAndWipedOut) {
  const std::string text = TerminalAfter(
      {.terminal_for_errors = true, .environment = {{"TERM", "xterm"}, {"NO_COLOR", ""}}});
  EXPECT_NE(text.find(" lines/s"), std::string::npos) << text;
  const size_t drawn = text.find("2 lines  ");
  ASSERT_NE(drawn, std::string::npos) << text;
  EXPECT_NE(text.find("\r\x1b[K", drawn), std::string::npos);
}

TEST(ProgressLine, IsDrawnWithoutColoursToo) {
  const std::string text = TerminalAfter(
      {.terminal_for_errors = true, .environment = {{"TERM", "xterm"}, {"NO_COLOR", "1"}}});
  EXPECT_NE(text.find(" lines/s"), std::string::npos) << text;
}

TEST(ProgressLine, IsDrawnOnTheTerminalThatOutputDoesNotGoTo) {
  TemporaryDirectory dir;
  const std::string fifo = dir / "out";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  const int output = open(fifo.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  Subprocess process(Pleat("fold --key k --quiet 600ms --output " + fifo),
                     {.terminal_for_errors = true,
                      .terminal_for_output = true,
                      .environment = {{"TERM", "xterm"}}});
  const auto await = [&] { return process.AwaitReadable(output); };
  EXPECT_NE(TerminalAfter(process, await).find(" lines/s"), std::string::npos);
  close(output);
}

TEST(ProgressLine, FitsTheTerminal) {
  const std::string text = TerminalAfter(
      {.terminal_for_errors = true, .columns = 25, .environment = {{"TERM", "xterm"}}});
  constexpr std::string_view kErase = "\r\x1b[K";
  const size_t drawn = text.find(kErase);
  ASSERT_NE(drawn, std::string::npos);
  const size_t begin = drawn + kErase.size();
  EXPECT_LT(text.find(kErase, begin) - begin, 25u) << text;
}

TEST(ProgressLine, IsNotDrawnWhereItIsNotWanted) {
  for (const bool dumb : {true, false}) {  // or output runs over the same screen
    const std::string text = TerminalAfter({.terminal_for_errors = true,
                                            .terminal_for_output = !dumb,
                                            .environment = {{"TERM", dumb ? "dumb" : "xterm"}}});
    EXPECT_EQ(text.find('\x1b'), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace pleat::cli
