// A run of a command that reads lines of events. The job opens inputs and outputs, reads the inputs
// in order, says which lines are invalid, draws the progress, waits for live inputs, obeys signals and
// finds the exit code. A command derives from LineJob and does its work on the events:
//
//   class CountRun final : public LineJob { ... };
//   return CountRun(options).Run();
//
// An input in another format than lines of JSON is converted as it is read, a line for each of its
// records. A command sees the lines of JSON; messages name the lines of the input.
//
// The job calls, in this order:
//   Open, CheckInputs, Outputs,            once, before a line is read
//   KeptBytes, OutputsOpened
//   BeginInput                             before each input,
//   CheckOpened, StartInput or ReadPast    and at its beginning
//   StartBlock, TakeLines or TakeLongLine  for each block of lines, in the order of input
//   Took, BetweenLines                     behind each block, and where a line has ended
//   EndInput                               at the end of each input
//   HandOut                                after every 256 KiB of input
//                                          (neither it nor StartBlock while the run holds back)
//   OnSilence, OnInputAgain                while a live input is silent, and when it goes on
//   StatsSoFar                             between two blocks, if SIGUSR1 asks for them
//   Finish                                 when reading has ended, unless the run changes nothing
//   Conclude                               once, then, for whatever reason it has ended
//
// A live input is a pipe, a terminal, a socket: its writer may be silent for hours. The job then
// asks OnSilence() for how long it may sleep, so that a command can hand out results as they fall
// due.
//
// Thread safety: all calls come from the thread that called Run(), but for NewReaders(), which any
// thread of the BlockQueue calls.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <absl/status/status.h>
#include <pleat/json.h>
#include <pleat/time.h>

#include "tools/pleat/block_queue.h"
#include "tools/pleat/clock.h"
#include "tools/pleat/input.h"
#include "tools/pleat/job_options.h"
#include "tools/pleat/output_file.h"
#include "tools/pleat/progress.h"
#include "tools/pleat/records/line_map.h"
#include "tools/pleat/unusable_input.h"

namespace pleat::cli {

// Where a run begins to read an input.
struct InputStart {
  bool skipped = false;  // nothing is read
  uint64_t bytes = 0;    // that were read by an earlier run,
  uint64_t lines = 0;    // and their lines
};

class LineJob : private InputWaiter {
 public:
  LineJob(const LineJob&) = delete;
  LineJob& operator=(const LineJob&) = delete;
  ~LineJob() override;

  // Returns the exit code. Everything there is to say has then been said on standard error.
  int Run();

 protected:
  using Readers = std::vector<std::unique_ptr<JsonLines>>;

  // When --output is written: as results come, or at the end.
  enum class Result { kStreams, kAtEnd };

  // The figures of a run so far.
  struct Tally {
    LineCounts lines;
    bool lost_events = false;     // refused or left out for lack of room: exit code 1
    uint64_t found = 0;           // for the progress line, such as 1234
    const char* found_what = "";  // and "folded"
  };

  // Messages of one kind: the first ten are shown, the others counted.
  class Few {
   public:
    bool Shows() { return ++count_ <= kShown; }
    uint64_t hidden() const { return count_ <= kShown ? 0 : count_ - kShown; }

   private:
    static constexpr uint64_t kShown = 10;
    uint64_t count_ = 0;
  };

  // `command` is the command's name, such as "fold". Borrows `options`. Tests choose the time at
  // which `clock` begins.
  LineJob(std::string_view command, const JobOptions& options, Result result,
          const MonotoneClock& clock = MonotoneClock());

  // The work of a command. An error of Open() ends the run before any file is touched:
  // kInvalidArgument with kExitUsage, any other with kExitFailed.
  virtual absl::Status Open() = 0;
  // All of them can be opened. Errors: as Open(); kCancelled at a signal.
  virtual absl::Status CheckInputs() { return absl::OkStatus(); }
  virtual std::vector<WantedOutput> Outputs() { return {}; }  // beside --output and --invalid
  virtual OutputFile::Mode OutputMode() const { return OutputFile::Mode::kWhole; }  // of --output
  // How much of a kStream file an earlier run has written; the file is cut back to that. Errors: it
  // must not be.
  virtual absl::StatusOr<uint64_t> KeptBytes(const std::string&) const { return 0; }
  // They are open, and nothing has been written. Errors: as Open(), but that they may be there.
  virtual absl::Status OutputsOpened() { return absl::OkStatus(); }
  virtual Tally tally() const = 0;
  virtual std::string StatsSoFar() const { return {}; }  // as --stats would write them

  // An input of which a part was read by an earlier run is begun by ReadPast(), which reads past
  // that part, and not by StartInput().
  virtual absl::StatusOr<InputStart> BeginInput(const std::string&) { return InputStart{}; }
  // The file that was opened is the one that is to be read. Errors: as those of an input.
  virtual absl::Status CheckOpened(const struct stat&) { return absl::OkStatus(); }
  // Whether what was read is kept, for a later run, if an input cannot be begun.
  virtual bool KeepsWhatWasRead() const { return false; }
  virtual absl::Status ReadPast(LineReader&) { return absl::OkStatus(); }
  virtual void Took(const LineBlock&, uint64_t) {}  // and how many lines
  virtual void BetweenLines() {}
  // `unfinished`: its last line or record was left, because it has no end yet.
  virtual void EndInput(bool /*unfinished*/) {}
  // What becomes of such an end of a regular file, if a signal has come, or if none has.
  virtual UnfinishedEnd EndOfFile(bool /*interrupted*/) const { return UnfinishedEnd::kTaken; }
  virtual void StartInput() {}
  virtual void StartBlock() {}
  virtual Readers NewReaders() = 0;
  virtual void TakeLines(Readers& readers) = 0;
  virtual LineResult TakeLongLine(
      std::string_view beginning) = 0;  // over the limit, so an invalid line

  // The lines of a regular file, and its end too, to look at them before they are read.
  absl::StatusOr<LineReader> OpenToLook(const std::string& path, UnfinishedEnd end);

  // Writes the results that are final by now.
  virtual void HandOut() {}
  // `silent`: for how long the input has been silent; 0 at the first call of a silence. Returns for
  // how long to sleep before the next call; kForever: until there is input.
  virtual Duration OnSilence(Duration silent);
  virtual void OnInputAgain(Duration silent);

  // Finish() completes the outputs, which the job then flushes. Conclude() prints the summary, behind
  // the job's last words on invalid lines.
  virtual void Finish() {}
  virtual void Conclude() = 0;

  // Says that the line, of the block under way, is invalid, and keeps it for --invalid; or that the unit of
  // its time is missing, which ends the run. A line that is invalid for several reasons is kept once.
  void NoteUnusual(const UnusualLine& line);

  // On standard error: `text`; "pleat COMMAND: text"; "FILE:LINE: text" of a line of this block, or of
  // one before it (UnusualLine::index).
  void SayPlain(std::string_view text);
  void Say(std::string_view text);
  void SayOf(int64_t line_index, std::string_view text);
  void SayHidden(const Few& few, std::string_view what);  // "3 more WHATs, not shown", if any

  // The first line that is not blank, for hints; empty if there was none so far, or a long one.
  std::string_view first_line() const { return first_line_; }

  // Ends reading for `status` and says why; nothing if it is OK. A reader of standard output that
  // has gone ends the run quietly, if --output goes there.
  void StopFor(const absl::Status& status);
  bool stopped() const { return stop_ != Stop::kEndOfInput; }
  // Whether all was read that should be: up to the end, or as far as is kept for a later run.
  bool complete() const { return stop_ == Stop::kEndOfInput || interrupted(); }
  // By a signal, or by an input that cannot be begun.
  bool interrupted() const { return stop_ == Stop::kInterrupted || stop_ == Stop::kLeftOff; }
  bool reader_gone() const { return stop_ == Stop::kReaderGone; }
  // The run goes on, and ends with exit code 1.
  void FailAtEnd() { failure_.at_end = true; }
  // Behind the summary: what the user may have meant otherwise. `asked`: all paths; `absent`: those
  // that no line has.
  void SayAdvice(std::span<const OptionPath> asked, std::span<const OptionPath> absent,
                 const StampCounts& stamps);
  // Whether this run had lines, and none was an event or excluded.
  bool no_line_usable() const;
  // The same, unless the run has failed before it could tell.
  bool unusable() const;
  // Whether this run had more invalid lines than others, and --on-invalid says that it fails then.
  bool most_invalid() const;

  // Until a line is usable, a run writes nothing but --invalid: what is due already waits in the engine.
  // Then it goes on, or once something is to be written for another reason. A run that ends before
  // changes nothing, unless it had no line at all.
  bool holds_back() const { return holds_back_; }
  void GoOn() { holds_back_ = false; }
  bool changes_nothing() const;

  // The wall clock. ArrivalNow() is at least a microsecond later than arrival(), the time at which
  // the block under way was read: so an event that closed a group then is out by now.
  EngineTime Now() const { return clock_.Now(); }
  EngineTime ArrivalNow() const;
  EngineTime arrival() const { return arrival_; }
  // The time goes on from `at` if the clock is behind it. Returns by how much; 0: it is not.
  Duration GoOnFrom(EngineTime at) {
    arrival_ = std::max(arrival_, at);
    return clock_.GoOnFrom(at);
  }
  Duration elapsed() const { return clock_.Elapsed(); }
  uint64_t bytes_read() const { return read_.bytes; }

  OutputFile& output() { return *output_; }
  OutputFile* invalid_file() const { return invalid_.get(); }
  // Appends a line, given without its newline. Nothing if the file was not asked for.
  void AppendLine(OutputFile* file, std::string_view line);
  // Writes the buffers of --output and of the outputs that stream.
  void Flush();

 private:
  // Why reading ended.
  enum class Stop {
    kEndOfInput,
    kInterrupted,
    kLeftOff,
    kInvalidLine,
    kNoUnit,
    kFailed,
    kReaderGone
  };

  // An input that was read before. Lines of it may still wait for their turn.
  struct PastInput {
    std::string name;
    std::unique_ptr<LineMap> line_map;
    uint64_t lines = 0;  // up to its end
    uint64_t taken = 0;  // of them, by this run
  };
  // The input that is being read.
  struct Input {
    std::string name;
    std::unique_ptr<LineMap> line_map;  // null if the lines are JSON as they come
    uint64_t bytes = 0;                 // of the lines that were taken
    uint64_t lines_before = 0;          // the block under way,
    uint64_t lines_at_start = 0;        // and of those that an earlier run has read
    uint64_t last_invalid = 0;          // its number
    std::optional<LineReader> ahead;    // finds the ends of long lines,
    uint64_t ahead_bytes = 0;           // and has read past so many bytes
    std::vector<PastInput> past;        // those before it, if their lines may wait
    std::vector<std::pair<std::string, DoubledName>> doubled;  // of those before it
  };
  struct Failure {
    std::string said;     // to read or to write
    bool at_end = false;  // the run goes on to its end, with exit code 1
  };
  // What was read to look at inputs. Nobody asks for it.
  struct LookedAt {
    ReadCount read;
    LineMap lines;
  };

  absl::Status OpenAll();
  absl::Status CheckNotForgotten() const;
  absl::Status OpenOutputs();
  LineCounts NewLines() const;
  uint64_t UnusableLines() const;
  void CutStreams();
  void ReadInputs();
  void ReadInput(const std::string& path, BlockQueue& blocks);
  void BeginInputOf(const std::string& path);
  void LeaveOff(const absl::Status& status);
  void ReadBlocks(const std::string& path, BlockQueue& blocks, bool live);
  absl::StatusOr<bool> LongLineEnds(const std::string& path);
  void LeaveRest(BlockQueue& blocks);
  absl::StatusOr<bool> OpenAt(const InputStart& start, const std::string& path, BlockQueue& blocks);
  LineReader Lines(OpenedInput opened, const std::string& path, LineMap* map,
                   UnfinishedEnd end) const;
  void TakeBlock(BlockQueue::Block& block);
  void KeepFirstLine(std::string_view lines);
  void TakeLongPiece(LineBlock::Kind kind, std::string_view text);
  std::string HintAtOnce(std::string_view line);
  void SayInvalid(int64_t line_index, std::string_view reason);
  std::string PlaceOf(int64_t line_index) const;
  bool AwaitInput(int fd) override;
  bool writes_to_stdout() const { return output_->fd() == STDOUT_FILENO; }
  Progress::State State() const;
  void ShowProgress();
  void ReportIfAsked();
  void SayWhyUnusable();
  void SayLeftOutLines();
  std::string AboutDoubled(std::span<const OptionPath> asked) const;
  int ExitCode() const;

  const std::string command_;
  const JobOptions& options_;
  const Result result_;
  MonotoneClock clock_;
  ReadCount read_;
  Tally before_;  // of the runs that this one goes on with
  Progress progress_;
  std::unique_ptr<OutputFile> output_;
  std::unique_ptr<OutputFile> invalid_;
  std::vector<OutputFile*> streams_;
  bool holds_back_ = true;

  Stop stop_ = Stop::kEndOfInput;
  Failure failure_;
  Input input_;
  LookedAt looked_at_;
  EngineTime arrival_ = kBeginningOfTime;
  size_t bytes_since_hand_out_ = 0;
  Few invalid_lines_;
  UnusableInput unusable_;
  std::string first_line_;  // that is not blank
};

}  // namespace pleat::cli
