#include "tools/pleat/line_job.h"

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include "tools/pleat/advice.h"
#include "tools/pleat/console.h"
#include "tools/pleat/errno_status.h"
#include "tools/pleat/interrupt.h"
#include "tools/pleat/quantity_text.h"
#include "tools/pleat/records/input_format.h"
#include "tools/pleat/records/refused_record.h"

namespace pleat::cli {
namespace {

// Bytes of input between two hand-outs. They bound the results that wait in memory.
constexpr size_t kBytesPerHandOut = 256 * 1024;

// As ppoll(2), but for kForever.
int Poll(std::span<pollfd> watched, Duration sleep) {
  timespec timeout{};
  timeout.tv_sec = sleep.count() / 1'000'000;
  timeout.tv_nsec = sleep.count() % 1'000'000 * 1'000;
  return ppoll(watched.data(), watched.size(), sleep == kForever ? nullptr : &timeout, nullptr);
}

bool IsNullDevice(int fd) {
  struct stat null{};
  struct stat file{};
  return stat("/dev/null", &null) == 0 && fstat(fd, &file) == 0 && S_ISCHR(file.st_mode) &&
         file.st_rdev == null.st_rdev;
}

// A line that waits is an event later; so the two change together.
bool AnyUsable(const LineCounts& lines) {
  return lines.events + lines.waiting > 0 || lines.excluded > 0;
}

}  // namespace

LineJob::LineJob(std::string_view command, const JobOptions& options, Result result,
                 const MonotoneClock& clock)
    : command_(command),
      options_(options),
      result_(result),
      clock_(clock),
      progress_(InputSizes(options.inputs)) {}

LineJob::~LineJob() = default;

int LineJob::Run() {
  if (absl::Status opened = OpenAll(); !opened.ok()) {
    if (absl::IsCancelled(opened)) return kExitSignal + StopSignal();
    Say(std::string(opened.message()));
    return absl::IsInvalidArgument(opened) ? kExitUsage : kExitFailed;
  }
  ReadInputs();
  progress_.Clear();
  if (!changes_nothing()) {
    GoOn();
    Finish();
  }
  Flush();
  CutStreams();
  SayHidden(invalid_lines_, "invalid line");
  SayWhyUnusable();
  Conclude();
  SayLeftOutLines();
  return ExitCode();
}

absl::Status LineJob::OpenAll() {
  if (absl::Status opened = Open(); !opened.ok()) return opened;
  if (absl::Status meant = CheckNotForgotten(); !meant.ok()) return meant;
  before_ = tally();
  for (const std::string& input : options_.inputs) {
    if (absl::Status readable = CheckReadable(input); !readable.ok()) return readable;
  }
  if (absl::Status stated = CheckYearIsStated(options_); !stated.ok()) return stated;
  if (absl::Status checked = CheckInputs(); !checked.ok()) return checked;
  if (absl::Status opened = OpenOutputs(); !opened.ok()) return opened;
  if (absl::Status noted = OutputsOpened(); !noted.ok()) return noted;
  before_ = tally();
  const bool streams = result_ == Result::kStreams;
  if (!options_.quiet_summary) progress_.ShowBeside(streams ? output_->fd() : -1);
  return absl::OkStatus();
}

// Of `-o LOG`, where LOG was meant to be read: nobody sends lines to a terminal or the null device.
absl::Status LineJob::CheckNotForgotten() const {
  const bool is_terminal = isatty(STDIN_FILENO) != 0;
  if (!options_.no_file_given || (!is_terminal && !IsNullDevice(STDIN_FILENO))) {
    return absl::OkStatus();
  }
  const std::string& path = options_.output_file;
  const absl::StatusOr<uint64_t> kept = KeptBytes(path);
  if (InputSize(path) == 0 || !kept.ok() || *kept > 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "--output: " + Printable(path) + " has bytes, no FILE is given, and standard input is " +
      (is_terminal ? "a terminal: name the FILE to read, or - to type lines"
                   : "/dev/null: name the FILE to read"));
}

absl::Status LineJob::OpenOutputs() {
  std::vector<NamedFile> inputs;
  inputs.reserve(options_.inputs.size() + 1);
  for (const std::string& input : options_.inputs) inputs.push_back(NamedInput(input));
  inputs.push_back({"--spec", options_.spec_file});
  std::vector<WantedOutput> wanted = {
      {NamedOutput("--output", options_.output_file), OutputMode(), output_}};
  for (WantedOutput& output : Outputs()) wanted.push_back(std::move(output));
  wanted.push_back(
      {NamedOutput("--invalid", options_.invalid_file), OutputFile::Mode::kStream, invalid_});
  for (WantedOutput& output : wanted) {
    if (output.mode == OutputFile::Mode::kStream) output.kept = KeptBytes(output.named.path);
  }
  absl::Status opened = OpenWanted(inputs, wanted);
  for (const WantedOutput& output : wanted) {
    const bool streams = output.mode == OutputFile::Mode::kStream && output.file != output_;
    if (streams && output.file != nullptr) streams_.push_back(output.file.get());
  }
  return opened;
}

// Of files in which nothing was written.
void LineJob::CutStreams() {
  if (changes_nothing()) return;
  for (OutputFile* stream : streams_) StopFor(stream->Cut());
}

// ---

void LineJob::ReadInputs() {
  BlockQueue blocks([this] { return NewReaders(); }, options_.threads - 1);
  for (const std::string& input : options_.inputs) {
    ReadInput(input, blocks);
    if (stopped()) return;
  }
}

void LineJob::ReadInput(const std::string& path, BlockQueue& blocks) {
  BeginInputOf(path);
  const absl::StatusOr<InputStart> start = BeginInput(path);
  if (!start.ok()) return StopFor(start.status());
  if (start->skipped) return;
  input_.lines_before = input_.lines_at_start = start->lines;
  input_.bytes = start->bytes;
  // Its first bytes are waited for.
  if (path == "-" && isatty(STDIN_FILENO) != 0 && !options_.quiet_summary) {
    Say("reads lines from the terminal, up to Ctrl-D");
  }
  const absl::StatusOr<bool> live = OpenAt(*start, path, blocks);
  if (!live.ok()) return LeaveOff(live.status());
  ReadBlocks(path, blocks, *live);
}

// Lines of the input before may wait, and be named later.
void LineJob::BeginInputOf(const std::string& path) {
  Input before = std::exchange(input_, {});
  input_.name = Printable(InputName(path));
  input_.past = std::move(before.past);
  input_.doubled = std::move(before.doubled);
  if (before.line_map != nullptr) {
    for (DoubledName& each : before.line_map->doubled())
      input_.doubled.emplace_back(before.name, std::move(each));
  }
  const uint64_t taken = before.lines_before - before.lines_at_start;
  if (options_.event.reorder == Duration{0} || taken == 0) return;
  input_.past.push_back({.name = std::move(before.name),
                         .line_map = std::move(before.line_map),
                         .lines = before.lines_before,
                         .taken = taken});
}

// Between two lines of an input, or before its first.
void LineJob::LeaveOff(const absl::Status& status) {
  const bool may_be_kept = !stopped() && KeepsWhatWasRead();
  StopFor(status);
  if (may_be_kept && stop_ == Stop::kFailed) stop_ = Stop::kLeftOff;
}

void LineJob::ReadBlocks(const std::string& path, BlockQueue& blocks, bool live) {
  while (!stopped()) {
    BlockQueue::Block& block = blocks.Next();
    if (!block.status.ok()) return StopFor(block.status);
    if (block.kind == LineBlock::Kind::kEnd) return EndInput(block.unfinished);
    // An end that was taken is the end: a signal from then on comes too late for this input.
    const bool unfinished = block.unfinished && !live;
    if (unfinished && Interrupted() && EndOfFile(/*interrupted=*/true) == UnfinishedEnd::kLeft) {
      stop_ = Stop::kInterrupted;
      return EndInput(/*unfinished=*/true);
    }
    if (block.kind == LineBlock::Kind::kLongBegin && !live &&
        EndOfFile(Interrupted()) == UnfinishedEnd::kLeft) {
      const absl::StatusOr<bool> ends = LongLineEnds(path);
      if (!ends.ok()) return LeaveOff(ends.status());
      if (!*ends) return LeaveRest(blocks);
    }
    TakeBlock(block);
    // Where a run may end, another one may go on: between two lines, as far as an input ends at all.
    const bool in_line = block.kind == LineBlock::Kind::kLongBegin ||  //
                         block.kind == LineBlock::Kind::kLongMore;
    if (!stopped() && !in_line) BetweenLines();
    const bool may_stop = live || !(in_line || unfinished);
    if (!stopped() && Interrupted() && may_stop) stop_ = Stop::kInterrupted;
    ShowProgress();
    ReportIfAsked();
  }
}

// Whether the line over the limit that comes next has an end by now, as far as a signal lets this look. It
// comes in pieces, and what is written of one to --invalid cannot be taken back: so a second reader looks
// ahead, over each byte once.
absl::StatusOr<bool> LineJob::LongLineEnds(const std::string& path) {
  if (!input_.ahead) {
    // Standard input stays where the first reader is.
    absl::StatusOr<OpenedInput> opened =
        OpenInput(path == "-" ? "/proc/self/fd/0" : path, *this, looked_at_.read);
    // Where standard input cannot be opened again, its long lines are taken as they come.
    if (!opened.ok() && path == "-") return true;
    if (!opened.ok()) return opened.status();
    if (absl::Status same = CheckOpened(opened->info); !same.ok()) return same;
    input_.ahead.emplace(std::move(opened->source));
    input_.ahead_bytes = 0;
  }
  TextDigest nobodys;
  while (input_.ahead_bytes < input_.bytes) {
    if (Interrupted()) return false;
    const absl::StatusOr<uint64_t> past = input_.ahead->Skip(
        std::min(input_.bytes - input_.ahead_bytes, kBytesBetweenLooks), nobodys);
    if (!past.ok()) return past.status();
    if (*past == 0) return false;
    input_.ahead_bytes += *past;
  }
  while (!Interrupted()) {
    bool ends = false;
    const absl::StatusOr<uint64_t> past = input_.ahead->SkipLine(kBytesBetweenLooks, ends);
    if (!past.ok()) return past.status();
    input_.ahead_bytes += *past;
    if (ends || *past < kBytesBetweenLooks) return ends;
  }
  return false;
}

// The next run finds it whole.
void LineJob::LeaveRest(BlockQueue& blocks) {
  for (;;) {
    const BlockQueue::Block& block = blocks.Next();
    if (!block.status.ok()) return StopFor(block.status);
    if (Interrupted()) stop_ = Stop::kInterrupted;
    if (stopped() || block.kind == LineBlock::Kind::kEnd) return EndInput(/*unfinished=*/true);
  }
}

// Returns whether the input is live.
absl::StatusOr<bool> LineJob::OpenAt(const InputStart& start, const std::string& path,
                                     BlockQueue& blocks) {
  absl::StatusOr<OpenedInput> opened = OpenInput(path, *this, read_);
  if (!opened.ok()) return opened.status();
  if (absl::Status same = CheckOpened(opened->info); !same.ok()) return same;
  input_.line_map = options_.input == InputFormat::kNdjson ? nullptr : std::make_unique<LineMap>();
  if (input_.line_map != nullptr) input_.line_map->ForgetBefore(start.lines + 1);
  const bool live = opened->live;
  const UnfinishedEnd end = live ? UnfinishedEnd::kTaken : EndOfFile(/*interrupted=*/false);
  LineReader reader = Lines(*std::move(opened), path, input_.line_map.get(), end);
  if (start.bytes == 0) {
    StartInput();
  } else if (absl::Status past = ReadPast(reader); !past.ok()) {
    if (Interrupted()) stop_ = Stop::kInterrupted;
    return past;
  }
  blocks.Open(std::move(reader), live);
  return live;
}

// `map` is for lines that are not JSON as they come.
LineReader LineJob::Lines(OpenedInput opened, const std::string& path, LineMap* map,
                          UnfinishedEnd end) const {
  std::unique_ptr<ByteSource> source = std::move(opened.source);
  if (options_.input != InputFormat::kNdjson) {
    source = ConvertedInput(options_.input, std::move(source), InputName(path), *map, end,
                            options_.table);
  }
  return LineReader(std::move(source), end);
}

absl::StatusOr<LineReader> LineJob::OpenToLook(const std::string& path, UnfinishedEnd end) {
  absl::StatusOr<OpenedInput> opened = OpenInput(path, *this, looked_at_.read);
  if (!opened.ok()) return opened.status();
  looked_at_.lines.ForgetBefore(UINT64_MAX);
  return Lines(*std::move(opened), path, &looked_at_.lines, end);
}

void LineJob::TakeBlock(BlockQueue::Block& block) {
  arrival_ = ArrivalNow();
  // By the clock something may be due before the first usable line. It closes first: a line that is of
  // use as far as reading tells is so to an engine without event times.
  const bool has_lines = block.kind == LineBlock::Kind::kLines;
  const bool by_clock = options_.event.time.empty();
  if (by_clock && has_lines && block.lines.front()->any_usable()) GoOn();
  if (!holds_back_) StartBlock();
  if (has_lines) {
    const uint64_t lines = block.lines.front()->left();
    if (first_line_.empty()) KeepFirstLine(block.text);
    TakeLines(block.lines);
    input_.lines_before += lines;
    Took({block.kind, block.text, block.unfinished}, lines);
  } else {
    TakeLongPiece(block.kind, block.text);
    Took({block.kind, block.text}, block.kind == LineBlock::Kind::kLongBegin ? 1 : 0);
  }
  const bool may_wait = options_.event.reorder > Duration{0};
  if (input_.line_map != nullptr && !may_wait) {
    input_.line_map->ForgetBefore(input_.lines_before + 1);
  }
  if (holds_back_ && AnyUsable(NewLines())) GoOn();
  input_.bytes += block.text.size();
  bytes_since_hand_out_ += block.text.size();
  if (bytes_since_hand_out_ < kBytesPerHandOut) return;
  bytes_since_hand_out_ = 0;
  if (!holds_back_) HandOut();
}

// For hints at the end of the run on paths that no line has.
void LineJob::KeepFirstLine(std::string_view lines) {
  constexpr size_t kBytesKept = 64 * 1024;
  const size_t begin = std::min(lines.find_first_not_of(" \t\r\n"), lines.size());
  const std::string_view line = lines.substr(begin, lines.find('\n', begin) - begin);
  if (line.size() <= kBytesKept) first_line_ = line;
}

// A piece of a line over the limit. It goes to --invalid as it comes, since the line may be of any
// length.
void LineJob::TakeLongPiece(LineBlock::Kind kind, std::string_view text) {
  if (kind == LineBlock::Kind::kLongBegin) {
    unusable_.Add(input_.name, text);
    const std::string_view reason = TakeLongLine(text.substr(0, kLineBytesShown)).reason;
    SayInvalid(0, std::string(reason) + HintAtOnce(text));
    ++input_.lines_before;
  }
  if (invalid_ == nullptr) return;
  StopFor(invalid_->Append(text));
  const bool ends = kind == LineBlock::Kind::kLongEnd || stopped();
  if (ends && !text.ends_with('\n')) StopFor(invalid_->Append("\n"));
}

void LineJob::NoteUnusual(const UnusualLine& line) {
  if (line.result.kind == LineResult::Kind::kNoUnit) {
    SayOf(line.index, line.result.reason);
    stop_ = Stop::kNoUnit;
  }
  if (line.result.kind != LineResult::Kind::kInvalid) return;
  std::optional<RefusedRecord> refused;
  if (input_.line_map != nullptr) refused = ReadRefused(line.text);
  std::string reason(refused ? std::string_view(refused->reason) : line.result.reason);
  if (const OptionPath* const about = line.result.about; about != nullptr && !refused) {
    const std::string help = unusable_.AddMissing(*about, reason, line.text);
    if (!help.empty()) reason += "; " + help;
  }
  if (line.result.about == nullptr) reason += HintAtOnce(refused ? refused->record : line.text);
  SayInvalid(line.index, reason);
  // Invalid lines are told of as they come.
  const uint64_t number = input_.lines_before + static_cast<uint64_t>(line.index) + 1;
  if (std::exchange(input_.last_invalid, number) == number) return;
  if (refused) return AppendLine(invalid_.get(), refused->record);
  unusable_.Add(input_.name, line.text);
  AppendLine(invalid_.get(), line.text);
}

std::string LineJob::HintAtOnce(std::string_view line) {
  return unusable_.HintAtOnce(command_, kInputFormats[static_cast<size_t>(options_.input)], line);
}

void LineJob::SayInvalid(int64_t line_index, std::string_view reason) {
  if (invalid_lines_.Shows()) SayOf(line_index, reason);
  if (options_.on_invalid == JobOptions::OnInvalid::kFail && !stopped()) stop_ = Stop::kInvalidLine;
}

EngineTime LineJob::ArrivalNow() const {
  return std::max(clock_.Now(), SaturatingAdd(arrival_, Duration{1}));
}

Duration LineJob::OnSilence(Duration) { return kForever; }

void LineJob::OnInputAgain(Duration) {}

// Called before a read of a live input, which might block. The first poll does not wait: it tells
// whether the input is silent at all.
bool LineJob::AwaitInput(int fd) {
  enum { kInput, kSignal, kReport, kReader, kWatched };
  pollfd watched[kWatched] = {
      {fd, POLLIN, 0}, {InterruptFd(), POLLIN, 0}, {ReportFd(), POLLIN, 0}, {-1, 0, 0}};
  // With no events asked for, poll still tells when the reader of a pipe has gone.
  const bool has_reader = result_ == Result::kStreams && writes_to_stdout();
  if (has_reader && isatty(STDOUT_FILENO) == 0) watched[kReader].fd = STDOUT_FILENO;

  const EngineTime began = clock_.Now();
  bool asked = false;
  for (Duration sleep{0};;) {
    ReportIfAsked();
    const int ready = Poll(watched, sleep);
    const bool interrupted_poll = ready < 0 && errno == EINTR;
    if (Interrupted()) stop_ = Stop::kInterrupted;
    if (ready > 0 && watched[kReader].revents != 0) StopFor(absl::AbortedError(""));
    if (stopped()) return false;
    if (interrupted_poll) continue;
    const Duration silent = asked ? clock_.Now() - began : Duration{0};
    if (ready > 0 && watched[kInput].revents != 0) {
      if (asked) OnInputAgain(silent);
      return true;
    }
    asked = true;
    bytes_since_hand_out_ = 0;
    sleep = OnSilence(silent);
    if (stopped()) return false;
    progress_.Clear();
  }
}

// ---

LineCounts LineJob::NewLines() const {
  LineCounts lines = tally().lines;
  lines.lines -= before_.lines.lines;
  lines.events -= before_.lines.events;
  lines.invalid -= before_.lines.invalid;
  lines.excluded -= before_.lines.excluded;
  lines.waiting -= before_.lines.waiting;
  return lines;
}

bool LineJob::no_line_usable() const {
  const LineCounts lines = NewLines();
  return lines.lines > 0 && !AnyUsable(lines);
}

bool LineJob::changes_nothing() const {
  return holds_back_ && (no_line_usable() || !complete() || stop_ == Stop::kLeftOff);
}

bool LineJob::unusable() const {
  return no_line_usable() && failure_.said.empty() && stop_ != Stop::kNoUnit;
}

// Of several keys a line may be an event for one, and invalid for another.
uint64_t LineJob::UnusableLines() const {
  const LineCounts lines = NewLines();
  return lines.lines - lines.events - lines.excluded - lines.waiting;
}

bool LineJob::most_invalid() const {
  if (options_.on_invalid != JobOptions::OnInvalid::kMost || !complete() || unusable())
    return false;
  const LineCounts lines = NewLines();
  return UnusableLines() > lines.events + lines.waiting;
}

// The last word, since the output was written all the same.
void LineJob::SayLeftOutLines() {
  const LineCounts lines = NewLines();
  if (unusable() || !complete() || (options_.quiet_summary && !most_invalid())) return;
  const std::string left_out = unusable_.LeftOutSentence(lines.lines);
  if (!left_out.empty()) Say(left_out);
  if (!most_invalid()) return;
  const std::string such = lines.excluded > 0 ? " that were not excluded" : "";
  Say("exit code 1, as " + Grouped(UnusableLines()) + " of " +
      Counted(lines.lines - lines.excluded, "line") + such +
      " were invalid; --on-invalid skip takes that as it is");
}

void LineJob::SayWhyUnusable() {
  const std::string sentence = unusable() ? unusable_.Sentence(command_, NewLines().lines)
                                          : unusable_.ArraySentence(command_);
  if (!sentence.empty()) Say(sentence);
}

// If no line is usable, the sentence that says why has said what to change first.
void LineJob::SayAdvice(std::span<const OptionPath> asked, std::span<const OptionPath> absent,
                        const StampCounts& stamps) {
  if (!complete() || unusable()) return;
  if (const std::string doubled = AboutDoubled(asked); !doubled.empty()) Say(doubled);
  for (const std::string& line : AdviceOn(options_, absent, first_line_, tally().lines, stamps))
    Say(line);
}

// Of the first column that an option asks for whose name others have as well.
std::string LineJob::AboutDoubled(std::span<const OptionPath> asked) const {
  std::vector<std::pair<std::string, DoubledName>> all = input_.doubled;
  if (input_.line_map != nullptr) {
    for (DoubledName& each : input_.line_map->doubled()) all.emplace_back(input_.name, each);
  }
  for (const auto& [input, doubled] : all) {
    for (const OptionPath& each : asked) {
      if (LeadsTo(each.path, doubled.name)) return DoubledSentence(input, doubled, each);
    }
  }
  return {};
}

int LineJob::ExitCode() const {
  if (!failure_.said.empty() || stop_ == Stop::kInvalidLine) return kExitFailed;
  if (stop_ == Stop::kNoUnit) return kExitUsage;
  if (stop_ == Stop::kReaderGone) return kExitDone;
  if (stop_ == Stop::kInterrupted) return kExitSignal + StopSignal();
  if (failure_.at_end) return kExitFailed;
  const Tally total = tally();
  const bool invalid = options_.strict && total.lines.invalid > 0;
  return unusable() || most_invalid() || total.lost_events || invalid ? kExitFailed : kExitDone;
}

void LineJob::StopFor(const absl::Status& status) {
  if (status.ok() || absl::IsCancelled(status)) return;  // AwaitInput() cancels once it has stopped
  if (absl::IsAborted(status) && writes_to_stdout()) {
    if (complete()) stop_ = Stop::kReaderGone;
    return;
  }
  // A full disk is met again by everything that is still written to it: say it once.
  const std::string message(status.message());
  if (std::exchange(failure_.said, message) != message) Say(message);
  if (complete()) stop_ = Stop::kFailed;
}

void LineJob::SayPlain(std::string_view text) {
  progress_.Clear();
  WriteLine(text);
}

void LineJob::Say(std::string_view text) {
  SayPlain("pleat " + command_ + ": " + std::string(text));
}

void LineJob::SayOf(int64_t line_index, std::string_view text) {
  const std::string place = PlaceOf(line_index);
  place.empty() ? Say("a line of an earlier run: " + std::string(text))
                : SayPlain(place + ": " + std::string(text));
}

// "FILE:LINE". Empty for a line that an earlier run has read, and that has waited since.
std::string LineJob::PlaceOf(int64_t line_index) const {
  const auto place = [](const std::string& name, LineMap* map, uint64_t lines, int64_t behind) {
    const uint64_t line = lines + static_cast<uint64_t>(behind) + 1;
    return name + ":" + std::to_string(map == nullptr ? line : map->InputLineOf(line));
  };
  // Counted from the first line that this run has read of the input.
  auto line = line_index + static_cast<int64_t>(input_.lines_before - input_.lines_at_start);
  if (line >= 0) {
    return place(input_.name, input_.line_map.get(), input_.lines_before, line_index);
  }
  for (auto past = input_.past.rbegin(); past != input_.past.rend(); ++past) {
    const auto taken = static_cast<int64_t>(past->taken);
    if (line + taken >= 0) return place(past->name, past->line_map.get(), past->lines, line);
    line += taken;
  }
  return {};
}

void LineJob::SayHidden(const Few& few, std::string_view what) {
  if (few.hidden() == 0) return;
  Say(Counted(few.hidden(), "more " + std::string(what)) + ", not shown");
}

void LineJob::AppendLine(OutputFile* file, std::string_view line) {
  if (file == nullptr) return;
  StopFor(file->Append(line));
  StopFor(file->Append("\n"));
}

void LineJob::Flush() {
  absl::Status status = output_->Flush();
  for (OutputFile* stream : streams_) status.Update(stream->Flush());
  StopFor(status);
}

Progress::State LineJob::State() const {
  const Tally total = tally();
  return {read_.bytes, total.lines.lines - before_.lines.lines, total.found - before_.found,
          total.found_what};
}

void LineJob::ShowProgress() {
  const Duration elapsed = clock_.Elapsed();
  if (progress_.Due(elapsed)) progress_.Draw(State(), elapsed);
}

void LineJob::ReportIfAsked() {
  while (TakeReportWish()) {
    Say(progress_.Whole(State(), clock_.Elapsed()));
    if (const std::string stats = StatsSoFar(); !stats.empty()) SayPlain(stats);
  }
}

}  // namespace pleat::cli
