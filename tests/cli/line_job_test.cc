// What every command gets from a LineJob, seen by the smallest command there is: it counts lines.
#include "tools/pleat/line_job.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temporary_directory.h"
#include "tools/pleat/console.h"
#include "tools/pleat/interrupt.h"

namespace pleat::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// The options of a run that reads `inputs` and says little.
JobOptions OptionsFor(std::vector<std::string> inputs) {
  JobOptions options;
  options.event.key = {{.name = "k", .path = "k"}};
  options.inputs = std::move(inputs);
  options.output_file = "/dev/null";
  options.quiet_summary = true;
  return options;
}

class CountRun : public LineJob {
 public:
  explicit CountRun(const JobOptions& options) : LineJob("count", options, Result::kStreams) {
    spec_.event = options.event;
    spec_.folder.quiet_period = std::chrono::minutes(1);
  }

  std::vector<std::string> calls;
  uint64_t events() const { return folder_->counts().events; }

 protected:
  absl::Status Open() override {
    engine_ = *Engine::Open(EngineOptionsFor(spec_.event));
    folder_ = *JsonFolder::Open(*engine_, "count", spec_);
    calls.emplace_back("open");
    return absl::OkStatus();
  }
  Tally tally() const override { return {folder_->counts(), lost_events, events(), "events"}; }
  Readers NewReaders() override {
    Readers readers;
    readers.push_back(std::make_unique<JsonLines>(folder_->plan()));
    return readers;
  }
  void StartInput() override { calls.emplace_back("input"); }
  void TakeLines(Readers& readers) override {
    folder_->Fold(*readers.front(), SIZE_MAX, arrival(), [this](const UnusualLine& line) {
      NoteUnusual(line);
      NoteUnusual(line);  // as a command with two readers would
      return !stopped();
    });
  }
  LineResult TakeLongLine(std::string_view beginning) override {
    return folder_->FoldLine(beginning, arrival());
  }
  void HandOut() override { calls.emplace_back("hand out"); }
  void Finish() override { calls.emplace_back("finish"); }
  void Conclude() override { calls.emplace_back("conclude"); }

  bool lost_events = false;

 private:
  FoldSpec spec_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<JsonFolder> folder_;
};

// Runs a job and returns what it said on standard error.
std::string ErrOf(LineJob& job, int expected_code) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(job.Run(), expected_code);
  return testing::internal::GetCapturedStderr();
}

TEST(LineJob, ReadsInputsInOrderAndThenConcludes) {
  TemporaryDirectory dir;
  const JobOptions options =
      OptionsFor({dir.Write("a", "{\"k\":1}\n{\"k\":2}\n"), dir.Write("b", "{\"k\":3}")});
  CountRun run(options);
  EXPECT_EQ(ErrOf(run, kExitDone), "");
  EXPECT_THAT(run.calls, ElementsAre("open", "input", "input", "finish", "conclude"));
  EXPECT_EQ(run.events(), 3u);
}

TEST(LineJob, HandsOutAfterEveryQuarterOfAMebibyte) {
  TemporaryDirectory dir;
  std::string text;
  while (text.size() < 600'000) text += "{\"k\":1}\n";
  const JobOptions options = OptionsFor({dir.Write("a", text)});
  CountRun run(options);
  EXPECT_EQ(ErrOf(run, kExitDone), "");
  EXPECT_EQ(std::ranges::count(run.calls, "hand out"), 2);
}

TEST(LineJob, InvalidLineThatTwoReadersNoteIsKeptOnce) {
  TemporaryDirectory dir;
  const std::string in = dir.Write("in", "{\"k\":1}\nnonsense\n");
  JobOptions options = OptionsFor({in});
  options.invalid_file = dir / "invalid";
  options.strict = true;
  CountRun run(options);
  EXPECT_THAT(ErrOf(run, kExitFailed), HasSubstr(in + ":2: "));
  EXPECT_EQ(Content(dir / "invalid"), "nonsense\n");
}

TEST(LineJob, OutputThatIsAnInputIsRefusedBeforeAnythingIsRead) {
  TemporaryDirectory dir;
  JobOptions options = OptionsFor({dir.Write("in", "{\"k\":1}\n")});
  options.output_file = dir / "in";
  CountRun run(options);
  EXPECT_THAT(ErrOf(run, kExitUsage), HasSubstr("pleat count: --output: the same file as"));
  EXPECT_THAT(run.calls, ElementsAre("open"));
  EXPECT_EQ(Content(dir / "in"), "{\"k\":1}\n");
}

TEST(LineJob, LostEventsFailTheRun) {
  class Loses final : public CountRun {
   public:
    using CountRun::CountRun;
    void Finish() override { lost_events = true; }
  };
  TemporaryDirectory dir;
  const JobOptions options = OptionsFor({dir.Write("in", "{\"k\":1}\n")});
  Loses run(options);
  EXPECT_EQ(ErrOf(run, kExitFailed), "");
}

// Keeps what is open at a signal, which comes before or behind the look at its last line.
class SignalledRun final : public CountRun {
 public:
  SignalledRun(const JobOptions& options, bool before) : CountRun(options), before_(before) {}

  // In a process of its own.
  [[noreturn]] void RunAndExit() {
    InstallSignalHandlers();
    const int code = Run();
    Say(std::to_string(events()) + " events" + (left_ ? ", unfinished" : ""));
    std::exit(code);
  }

 private:
  UnfinishedEnd EndOfFile(bool interrupted) const override {
    return interrupted ? UnfinishedEnd::kLeft : UnfinishedEnd::kTaken;
  }
  void EndInput(bool unfinished) override { left_ = unfinished; }
  Readers NewReaders() override {
    if (before_) raise(SIGTERM);
    return CountRun::NewReaders();
  }
  void TakeLines(Readers& readers) override {
    if (!before_) raise(SIGTERM);
    CountRun::TakeLines(readers);
  }

  const bool before_;
  bool left_ = false;
};

TEST(LineJob, ASignalBeforeAnUnfinishedEndLeavesIt) {
  TemporaryDirectory dir;
  const JobOptions options = OptionsFor({dir.Write("in", "{\"k\":1}")});
  SignalledRun run(options, /*before=*/true);
  EXPECT_EXIT(run.RunAndExit(), testing::ExitedWithCode(128 + SIGTERM), "0 events, unfinished");
}

TEST(LineJob, ASignalBehindAnUnfinishedEndComesTooLate) {
  TemporaryDirectory dir;
  const JobOptions options = OptionsFor({dir.Write("in", "{\"k\":1}")});
  SignalledRun run(options, /*before=*/false);
  EXPECT_EXIT(run.RunAndExit(), testing::ExitedWithCode(kExitDone), "1 events");
}

// Keeps what is open, and gets a signal when it comes to a line over the limit.
class SignalledInLongLine final : public CountRun {
 public:
  using CountRun::CountRun;

  // In a process of its own.
  [[noreturn]] void RunAndExit() {
    InstallSignalHandlers();
    const int code = Run();
    Say(std::to_string(tally().lines.lines) + " lines" + (left_ ? ", unfinished, " : ", ") +
        std::to_string(bytes_read() >> 20) + " MiB");
    std::exit(code);
  }

 private:
  void BetweenLines() override { is_behind_a_line_ = true; }
  UnfinishedEnd EndOfFile(bool) const override {
    if (is_behind_a_line_) raise(SIGTERM);
    return UnfinishedEnd::kLeft;
  }
  void EndInput(bool unfinished) override { left_ = unfinished; }

  bool is_behind_a_line_ = false;
  bool left_ = false;
};

TEST(LineJob, ASignalIsObeyedBeforeALongLineEnds) {
  for (const std::string end : {"\n", ""}) {
    TemporaryDirectory dir;
    const JobOptions options =
        OptionsFor({dir.Write("in", "{\"k\":1}\n" + std::string(size_t{20} << 20, 'x') + end)});
    SignalledInLongLine run(options);
    EXPECT_EXIT(run.RunAndExit(), testing::ExitedWithCode(128 + SIGTERM),
                "1 lines, unfinished, 1 MiB");
  }
}

// Sleeps for a microsecond at the first silence, and then ends its own input.
class SilentRun final : public CountRun {
 public:
  SilentRun(const JobOptions& options, int writer) : CountRun(options), writer_(writer) {}

  std::vector<bool> first;  // of the calls of OnSilence: whether it is the first of a silence

 private:
  Duration OnSilence(Duration silent) override {
    first.push_back(silent == Duration{0});
    if (first.size() == 1) return Duration{1};
    close(writer_);
    return kForever;
  }

  const int writer_;
};

TEST(LineJob, AsksAgainBehindTheSleepOfASilentInput) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const JobOptions options = OptionsFor({"/dev/fd/" + std::to_string(ends[0])});
  SilentRun run(options, ends[1]);
  EXPECT_EQ(ErrOf(run, kExitDone), "");
  EXPECT_THAT(run.first, ElementsAre(true, false));
  close(ends[0]);
}

}  // namespace
}  // namespace pleat::cli
