// Runs with --state, and a clock that is not where that of the directory is. Most run in this
// process, with a clock that begins when the test says.
#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pleat/stored.h>

#include "tests/cli/run_pleat.h"
#include "tests/support/start.h"
#include "tools/pleat/fold/fold_command.h"
#include "tools/pleat/fold/fold_run.h"
#include "tools/pleat/live/live_set_command.h"
#include "tools/pleat/live/live_set_run.h"
#include "tools/pleat/rollup/rollup_command.h"
#include "tools/pleat/rollup/rollup_run.h"
#include "tools/pleat/run_note.h"
#include "tools/pleat/run_state.h"

namespace pleat::cli {
namespace {

using std::chrono::days;
using std::chrono::hours;
using std::chrono::minutes;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// A command, and options by which what a line does comes out soon after it.
struct Command {
  std::string name;
  std::string options;
};

const Command kFold = {"fold", "--key k --quiet 20ms"};
const Command kLive = {"live", "--key k --member m=k --ttl 20ms --payload k"};
const Command kRollup = {"rollup", "--key k --window 20ms --allowed-lateness 20ms"};
const Command kCommands[] = {kFold, kLive, kRollup};

std::vector<const char*> ArgumentsOf(const Words& words) {
  std::vector<const char*> arguments;
  for (const std::string& word : words) arguments.push_back(word.c_str());
  return arguments;
}

template <class Run>
int RunOf(const auto& command, const Words& words, EngineTime at) {
  const auto options = command.Parse(static_cast<int>(words.size()), ArgumentsOf(words).data());
  EXPECT_TRUE(options.ok()) << options.status().message();
  return options.ok() ? Run(*options, MonotoneClock(at)).Run() : -1;
}

class RunClock : public testing::Test {
 protected:
  std::string StateOption() const { return " --state " + (dir_ / "j"); }

  // Runs the command in this process, with a clock that says `at` when it begins.
  RunResult RunAt(EngineTime at, const Command& command, const std::string& more) {
    const Words words =
        WordsOf(command.name + " " + command.options + " --no-summary --stats " + (dir_ / "stats") +
                " --output " + (dir_ / "out") + StateOption() + " " + more);
    testing::internal::CaptureStderr();
    RunResult result;
    if (command.name == "fold") result.code = RunOf<FoldRun>(kFoldCommand, words, at);
    if (command.name == "live") result.code = RunOf<LiveSetRun>(kLiveSetCommand, words, at);
    if (command.name == "rollup") result.code = RunOf<RollupRun>(kRollupCommand, words, at);
    result.err = testing::internal::GetCapturedStderr();
    result.out = Content(dir_ / "out");
    result.stats = Content(dir_ / "stats");
    return result;
  }

  // A file that was not read yet, of one line.
  // Each has other bytes, by which a run tells a FILE from another.
  std::string File() { return File("{\"k\":1,\"n\":" + std::to_string(files_) + "}\n"); }
  std::string File(const std::string& line) {
    return dir_.Write("file" + std::to_string(++files_), line);
  }
  // A pipe with these lines, and an end.
  std::string Pipe(const std::string& lines) {
    int ends[2];
    EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
    EXPECT_EQ(write(ends[1], lines.data(), lines.size()), std::ssize(lines));
    close(ends[1]);
    pipes_.push_back(ends[0]);
    return "/dev/fd/" + std::to_string(ends[0]);
  }

  // All files that there are, and what is in them.
  std::map<std::string, std::string> AllFiles() const {
    std::map<std::string, std::string> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(dir_.path())) {
      if (entry.is_regular_file()) files[entry.path()] = Content(entry.path());
    }
    return files;
  }

  void Clear() {
    std::filesystem::remove_all(dir_ / "j");
    std::filesystem::remove(dir_ / "out");
  }
  ~RunClock() override {
    for (const int each : pipes_) close(each);
  }

  TemporaryDirectory dir_;
  int files_ = 0;
  std::vector<int> pipes_;
};

// --- Behind

TEST_F(RunClock, TimeGoesOnFromADirectoryThatIsAheadWithoutAPause) {
  const EngineTime ahead =
      kEndOfTime - hours(400 * 24 + 12);  // so the clock of no machine is there yet
  for (const Command& command : kCommands) {
    SCOPED_TRACE(command.name);
    const bool is_live = command.name == "live";
    RunAt(ahead, command, (is_live ? "" : "--at-end keep ") + File());
    Subprocess process(
        Pleat(command.name + " " + command.options + " --no-summary --stats -" + StateOption()));
    for (const std::string key : {"2", "3", "4"}) {
      process.Write("{\"k\":" + key + "}\n");
      const std::string end = is_live ? "\"count\":0,\"payload\":" : "{\"k\":";
      ASSERT_TRUE(process.AwaitOut(end + key)) << process.err();
    }
    EXPECT_EQ(process.Wait(), 0);
    EXPECT_THAT(process.out(), Not(HasSubstr("\"20"))) << "each time is one of the directory's";
    EXPECT_THAT(process.out(), HasSubstr("\"9998-11-26T"));
    EXPECT_TRUE(HasLine(process.err(), "pleat " + command.name + ": the clock says 2"))
        << process.err();
    EXPECT_THAT(process.err(), HasSubstr(", and --state " + (dir_ / "j") + " is at 9998-11-26T"));
    EXPECT_GT(ParseStats(StatsLine(process.err()))["clock_behind_s"], 0);
    Clear();
  }
}

TEST_F(RunClock, ByHowMuchTheClockIsBehindIsInTheStatistics) {
  for (const Command& command : kCommands) {
    SCOPED_TRACE(command.name);
    const RunResult first = RunAt(kT0, command, File());
    EXPECT_EQ(first.code, 0);
    EXPECT_EQ(first.err, "");
    EXPECT_EQ(Stat(first, "clock_behind_s"), 0) << first.stats;
    const RunResult behind = RunAt(kT0 - days(10), command, File());
    EXPECT_EQ(behind.code, 0);
    EXPECT_NEAR(Stat(behind, "clock_behind_s"), 864'000, 3'600) << "as long as the runs took";
    EXPECT_THAT(behind.err,
                StartsWith("pleat " + command.name + ": the clock says 2023-11-04T22:"));
    EXPECT_THAT(behind.err, HasSubstr("Z, and --state " + (dir_ / "j") + " is at 2023-11-14T22:"));
    EXPECT_THAT(behind.err, testing::EndsWith("Z: time goes on from there\n"));
    ExpectBalancedFor(command.name, behind.stats);
    const RunResult again = RunAt(kT0 + hours(1), command, File());
    EXPECT_EQ(Stat(again, "clock_behind_s"), 0);
    EXPECT_EQ(again.err, "");
    Clear();
  }
}

// --- Ahead

TEST_F(RunClock, AClockThatIsTooFarAheadChangesNothing) {
  for (const Command& command : kCommands) {
    SCOPED_TRACE(command.name);
    RunAt(kT0, command, File());
    const std::string file = File();
    const auto before = AllFiles();
    const RunResult refused = RunAt(kT0 + days(8), command, file);
    EXPECT_EQ(refused.code, 1);
    EXPECT_EQ(AllFiles(), before);
    EXPECT_THAT(refused.err,
                StartsWith("pleat " + command.name + ": the clock says 2023-11-22T22:13:20"));
    EXPECT_THAT(refused.err, HasSubstr(" is at 2023-11-14T22:"));
    EXPECT_THAT(refused.err, HasSubstr("ahead by more than --max-forward-jump 7d"));
    EXPECT_THAT(refused.err, HasSubstr("run once with --max-forward-jump inf"));
    EXPECT_EQ(RunAt(kT0 + days(8), command, "--max-forward-jump 9d " + file).code, 0);
    EXPECT_EQ(RunAt(kT0 + days(8 + 6), command, file).code, 0) << "within seven days";
    EXPECT_EQ(RunAt(kT0 + days(8 + 5'000), command, "--max-forward-jump inf " + file).code, 0);
    Clear();
  }
}

TEST_F(RunClock, ADirectoryGoesOnWhenTheClockIsRightAgain) {
  RunAt(kT0, kFold, File());
  for (int i = 0; i < 3; ++i) EXPECT_EQ(RunAt(kT0 + days(4'000), kFold, File()).code, 1);
  const RunResult right = RunAt(kT0 + minutes(1), kFold, File());
  EXPECT_EQ(right.code, 0);
  EXPECT_EQ(right.err, "");
  EXPECT_EQ(Stat(right, "clock_behind_s"), 0);
  EXPECT_EQ(Stat(right, "emissions"), 2);
}

TEST_F(RunClock, CountsOfAJumpOfTheClockAreLeftOut) {
  const Command command = {"live", "--key k --member m=k --ttl inf --every 1s"};
  RunAt(kT0, command, File());
  const RunResult jumped = RunAt(kT0 + days(13), command, "--max-forward-jump 14d " + File());
  EXPECT_EQ(jumped.code, 1) << "something was left out";
  EXPECT_THAT(jumped.err, StartsWith("pleat live: time moves at once from 2023-11-14T22:"));
  EXPECT_THAT(jumped.err, HasSubstr(": the counts at 1,123,"));
  EXPECT_THAT(jumped.err, testing::EndsWith(" multiples of --every 1s are left out\n"));
  EXPECT_EQ(Stat(jumped, "events"), 2);
  EXPECT_LT(jumped.out.size(), 100'000u);
}

TEST_F(RunClock, WhileNoLineComesASnapshotIsDueOnceADay) {
  auto run_state = *RunState::Open(dir_ / "j", "fold", {}, /*repeats=*/false);
  const SnapshotEvery often;
  const SnapshotEvery seldom = {.time = hours(48)};
  const SnapshotEvery lines = {.time = kForever, .lines = 5};
  EXPECT_FALSE(run_state->Due(often, hours(23)));
  EXPECT_EQ(run_state->UntilDue(often, hours(23)), hours(1));
  EXPECT_TRUE(run_state->Due(often, hours(24)));
  EXPECT_EQ(run_state->UntilDue(often, hours(25)), hours(0));
  EXPECT_EQ(run_state->UntilDue(seldom, hours(25)), hours(23));
  EXPECT_EQ(run_state->UntilDue(lines, hours(25)), kForever);
  run_state->Took({.kind = LineBlock::Kind::kLines, .text = "line\n"}, 1);
  EXPECT_EQ(run_state->UntilDue(often, minutes(0)), often.time);
  EXPECT_TRUE(run_state->Due(often, hours(1)));
  EXPECT_FALSE(run_state->Due(lines, hours(25)));
}

// A run that does something the first time that its input is silent.
class SilentRun : public FoldRun {
 public:
  SilentRun(const FoldOptions& options, const MonotoneClock& clock, std::function<void()> then)
      : FoldRun(options, clock), then_(std::move(then)) {}

 private:
  Duration OnSilence(Duration silent) override {
    const Duration sleep = FoldRun::OnSilence(silent);
    if (then_ != nullptr) std::exchange(then_, nullptr)();
    return sleep;
  }

  std::function<void()> then_;
};

// What comes then is of no use, and so the run keeps nothing else: as if it were killed.
TEST_F(RunClock, ARunThatHasHadNoLineYetMovesTheClockOfTheDirectory) {
  const Command command = {"fold", "--key k --quiet 30d"};
  RunAt(kT0, command, "--at-end keep " + File());
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const auto close_with = [&](std::string_view lines) {
    EXPECT_EQ(write(ends[1], lines.data(), lines.size()), std::ssize(lines));
    close(ends[1]);
  };
  const Words words =
      WordsOf("fold " + command.options + " --no-summary --output " + (dir_ / "out") +
              StateOption() + " /dev/fd/" + std::to_string(ends[0]));
  const auto options =
      kFoldCommand.Parse(static_cast<int>(words.size()), ArgumentsOf(words).data());
  ASSERT_TRUE(options.ok()) << options.status();
  testing::internal::CaptureStderr();
  const auto then = [&] { close_with("nonsense\n"); };
  EXPECT_EQ(SilentRun(*options, MonotoneClock(kT0, days(6)), then).Run(), 1);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("no line was usable"));
  close(ends[0]);
  const RunResult next = RunAt(kT0 + days(12), command, "--at-end keep " + File());
  EXPECT_EQ(next.code, 0) << next.err;
  EXPECT_EQ(Stat(next, "lines"), 2);
}

// --- What is due, and lines of no use

// What falls due before a run by an hour of the clock: more than any buffer holds.
struct MuchDue {
  Command command;
  std::string keep;    // in the first run
  std::string events;  // that it reads
};

std::vector<MuchDue> AllMuchDue() {
  const auto keyed = [](int keys, size_t key_bytes, size_t payload_bytes) {
    std::string lines;
    for (int i = 0; i < keys; ++i) {
      lines += "{\"k\":\"" + std::to_string(i) + std::string(key_bytes, 'k') + "\",\"p\":\"" +
               std::string(payload_bytes, 'x') + "\"}\n";
    }
    return lines;
  };
  return {{{"fold", "--key k --quiet 1m --raw 1"}, "--at-end keep ", keyed(40, 0, 500'000)},
          {{"live", "--key k --member m=k --ttl 1m --payload p"}, "", keyed(40, 0, 500'000)},
          {{"live", "--key k --member m=k --ttl inf --every 1s"}, "", keyed(5, 2'000, 0)},
          {{"rollup", "--key k --window 1m --allowed-lateness 1m"},
           "--at-end keep ",
           keyed(4'000, 5'000, 0)}};
}

TEST_F(RunClock, LinesOfNoUseWriteNothingOfWhatIsDueHoweverMuchThatIs) {
  for (const MuchDue& due : AllMuchDue()) {
    SCOPED_TRACE(due.command.options);
    ASSERT_EQ(RunAt(kT0, due.command, due.keep + File(due.events)).code, 0);
    const std::string kept = Content(dir_ / "out") + Content(dir_ / "j/snapshot-1");
    std::string nonsense;
    while (nonsense.size() < 600'000) nonsense += std::string(200, 'x') + "\n";
    const RunResult refused = RunAt(kT0 + hours(1), due.command, due.keep + File(nonsense));
    EXPECT_EQ(refused.code, 1);
    EXPECT_THAT(refused.err, HasSubstr("no line was usable"));
    ExpectBalancedFor(due.command.name, refused.stats);
    EXPECT_TRUE(Content(dir_ / "out") + Content(dir_ / "j/snapshot-1") == kept);
    // A usable line behind others writes all of it, once.
    const RunResult right =
        RunAt(kT0 + hours(1), due.command,
              due.keep + "--on-invalid skip " + File(nonsense + "{\"k\":-1,\"p\":\"\"}\n"));
    EXPECT_EQ(right.code, 0) << right.err;
    ExpectBalancedFor(due.command.name, right.stats);
    const std::string out = Content(dir_ / "out");
    EXPECT_GT(out.size(), size_t{16} << 20);
    std::istringstream lines(out);
    std::set<std::string> all;
    size_t count = 0;
    for (std::string line; std::getline(lines, line); ++count) all.insert(line);
    EXPECT_EQ(all.size(), count) << "nothing is there twice";
    Clear();
  }
}

TEST_F(RunClock, WhatIsDueClosesBeforeTheFirstLineOfUse) {
  const Command command = {"fold", "--key k --quiet 1m --flush-when gone=yes --where k=1"};
  RunAt(kT0, command, "--at-end keep " + File());
  const RunResult flushed =
      RunAt(kT0 + hours(1), command, File("nonsense\n{\"k\":1,\"gone\":\"yes\"}\n"));
  EXPECT_THAT(flushed.out, HasSubstr("\"reason\":\"quiet\""));
  EXPECT_EQ(Stat(flushed, "emissions"), 1) << flushed.out;
}

// --- With event times

TEST_F(RunClock, ByTheTimesOfEventsAloneNoClockCounts) {
  const Command command = {"fold", "--key k --quiet 1m --time t --at-end keep"};
  for (const EngineTime at : {kT0, kT0 + days(4'000), kT0 - days(4'000)}) {
    const RunResult run = RunAt(at, command, Pipe(At(files_++)));
    EXPECT_EQ(run.code, 0);
    EXPECT_EQ(run.err, "");
    EXPECT_THAT(run.stats, Not(HasSubstr("clock_behind_s")));
  }
}

// The stamps are years before the clock of the first run, and that is nobody's mistake.
TEST_F(RunClock, WithIdleTheClockIsComparedWithThatOfTheDirectory) {
  const Command command = {"fold", "--key k --quiet 1m --time t --idle 1h --at-end keep"};
  const RunResult first = RunAt(kT0, command, Pipe(At(0)));
  EXPECT_EQ(first.code, 0);
  EXPECT_EQ(first.err, "");
  EXPECT_EQ(RunAt(kT0 + days(6), command, Pipe(At(1))).code, 0);
  const auto before = AllFiles();
  EXPECT_EQ(RunAt(kT0 + days(14), command, Pipe(At(2))).code, 1);
  EXPECT_EQ(AllFiles(), before);
  EXPECT_EQ(RunAt(kT0 + days(14), command, File(At(2))).code, 0) << "a FILE is never silent";
  const RunResult behind = RunAt(kT0, command, Pipe(At(3)));
  EXPECT_EQ(behind.code, 0);
  EXPECT_NEAR(Stat(behind, "clock_behind_s"), 6 * 86'400, 3'600);
  EXPECT_EQ(Stat(behind, "opened"), 1) << "no group has closed";
}

// ---

TEST_F(RunClock, AnOptionWithoutEffectIsRefused) {
  const auto refused = [](const std::string& words) {
    const Finished run = RunToEnd(Pleat("fold --key k --quiet 1m --max-forward-jump " + words));
    EXPECT_EQ(run.code, 2) << words;
    return run.err;
  };
  EXPECT_THAT(refused("1d"), HasSubstr("--max-forward-jump: needs --state"));
  EXPECT_THAT(refused("0" + StateOption()), HasSubstr("--max-forward-jump: must be above 0"));
  EXPECT_THAT(refused("soon" + StateOption()), HasSubstr("--max-forward-jump: "));
  EXPECT_THAT(refused("1d --time t" + StateOption()),
              HasSubstr("--max-forward-jump: needs --idle"));
  EXPECT_FALSE(std::filesystem::exists(dir_ / "j"));
}

TEST(RunNotes, OfTheFirstFormatAreRefusedAndSayWhatToDo) {
  RunNote note;
  note.command = "fold";
  note.clock = kT0;
  FieldWriter first;
  first(uint32_t{1}, note);
  const absl::StatusOr<RunNote> read = RunNote::Parse(first.bytes());
  EXPECT_TRUE(absl::IsUnimplemented(read.status()));
  EXPECT_NE(read.status().message().find("older version"), std::string_view::npos);
  EXPECT_EQ(RunNote::Parse(note.Text())->clock, kT0);
}

}  // namespace
}  // namespace pleat::cli
