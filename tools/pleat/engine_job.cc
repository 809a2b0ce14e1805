#include "tools/pleat/engine_job.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include <pleat/json_lines.h>

#include "tools/pleat/errno_status.h"
#include "tools/pleat/input.h"

namespace pleat::cli {

namespace {

// "10s", or a number of lines.
FlagValue Every(std::optional<SnapshotEvery>& every) {
  const auto set = [&every](std::string_view name, std::string_view text) -> absl::Status {
    uint64_t lines = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, lines);
    if (error == std::errc() && stop == end) {
      if (lines == 0) return WrongFlag(name, "must be above 0");
      every = SnapshotEvery{.time = kForever, .lines = lines};
      return absl::OkStatus();
    }
    const absl::StatusOr<Duration> time = ParseDuration(text);
    if (!time.ok()) {
      return WrongFlag(name, "must be a duration such as 10s, or a number of lines");
    }
    if (*time <= Duration{0}) return WrongFlag(name, "must be above 0");
    every = SnapshotEvery{.time = *time, .lines = 0};
    return absl::OkStatus();
  };
  const auto text = [&every] {
    if (!every) return std::string();
    return every->lines > 0 ? std::to_string(every->lines) : FormatDuration(every->time);
  };
  return {set, text};
}

absl::Status CheckStateDirectory(const EngineJobOptions& options) {
  if (options.state_directory.empty()) {
    if (options.snapshot_every) return WrongFlag("snapshot-every", "needs --state");
    if (options.max_forward_jump != kMaxForwardJump) {
      return WrongFlag("max-forward-jump", "needs --state, whose clock it is about");
    }
    if (options.at_end == AtEnd::kKeep) {
      return WrongFlag("at-end", "keep needs --state, where it is kept");
    }
    return absl::OkStatus();
  }
  if (options.at_end == AtEnd::kDrop) {
    return WrongFlag("at-end", "drop does not go with --state; keep leaves it for the next run");
  }
  std::vector<std::string> inputs = options.inputs;
  std::ranges::sort(inputs);
  const auto twice = std::ranges::adjacent_find(inputs);
  if (twice == inputs.end()) return absl::OkStatus();
  return WrongFlag("state", "reads each file once, and " + Printable(*twice) + " is given twice");
}

}  // namespace

Flag CommonFlag(EngineJobOptions& o, std::string_view name, std::string_view help) {
  const std::vector<Flag> flags = {
      {"late", "FILE", "write rejected late lines there, as they came",
       FileName(o.late_file, Dash::kRefused)},
      {"open", "FILE", "", FileName(o.open_file, Dash::kRefused)},
      {"idle", "DURATION", "", AboveZero(o.idle)},
      {"state", "DIR",
       "keep what is open in this directory, so that the same command goes on there after\n"
       "a crash or a kill, and the next run with further FILEs after --at-end keep: each\n"
       "FILE is read once. --output, --late and --invalid are then written in place. A signal\n"
       "acts as --at-end keep. See pleat state --help",
       FileName(o.state_directory, Dash::kRefused)},
      {"snapshot-every", "DURATION|LINES",
       "how often a snapshot is taken (default 10s), besides at the end; LINES are counted\n"
       "block by block, as the input is read",
       Every(o.snapshot_every)},
      {"max-forward-jump", "DURATION",
       "by how much the clock may be ahead of that of the directory (default 7d); more is\n"
       "rather a wrong clock, and ends the run before anything is changed. inf, or 40d,\n"
       "is for a job that runs once a month",
       AboveZero(o.max_forward_jump)},
      {"at-end", "flush|drop|keep", "", OneOf(o.at_end, {"flush", "drop", "keep"})},
      {"stats", "FILE|-", "the ledger of the run as one JSON object (- is stderr)",
       FileName(o.stats_file, Dash::kStandardStream)},
      {"print-spec", "", "print what the options amount to, as such a document",
       Switch(o.print_spec)},
  };
  const Flag* const found = FindFlag(flags, name);
  return found == nullptr ? CommonFlag(static_cast<JobOptions&>(o), name, help)
                          : WithHelp(*found, help);
}

absl::Status CheckEffects(const EngineJobOptions& options, TimeUse use) {
  if (absl::Status wrong = CheckStateDirectory(options); !wrong.ok()) return wrong;
  if (options.has_time()) {
    if (options.idle == kForever && options.max_forward_jump != kMaxForwardJump) {
      return WrongFlag("max-forward-jump", "needs --idle; by --time alone no clock counts");
    }
    return absl::OkStatus();
  }
  if (options.event.time_unit != TimeUnit::kNotStated && !use.states_times) {
    return WrongFlag("time-unit", "needs --time, whose unit it is");
  }
  if (!options.event.time_zone.empty() && !use.states_times && !use.asks_clock) {
    return WrongFlag("time-zone", "needs --time, whose zone it is");
  }
  if (!options.event.time_format.empty() && !use.states_times) {
    return WrongFlag("time-format", "needs --time, whose form it is");
  }
  if (options.idle != kForever) {
    return WrongFlag("idle", "needs --time; without it the wall clock counts in any case");
  }
  return absl::OkStatus();
}

absl::Status EngineJob::OpenEngine() {
  absl::StatusOr<std::unique_ptr<Engine>> engine = Engine::Open(EngineOptionsFor(options_.event));
  if (!engine.ok()) return engine.status();
  engine_ = *std::move(engine);
  return absl::OkStatus();
}

// --- The state directory

// A source that is live does not repeat itself: numbers of emissions then go on further ahead.
absl::Status EngineJob::Recover() {
  if (options_.state_directory.empty()) return absl::OkStatus();
  if (absl::Status apart = CheckOutputsApart(); !apart.ok()) return apart;
  const bool repeats = std::ranges::none_of(options_.inputs, IsLive);
  RunState::Options options = options_.spec_texts;
  if (options_.input != InputFormat::kNdjson) {
    options.emplace_back("input", kInputFormats[static_cast<size_t>(options_.input)]);
    for (const auto& [name, text] : TableTexts(options_)) options.emplace_back(name, text);
  }
  absl::StatusOr<std::unique_ptr<RunState>> run_state =
      RunState::Open(options_.state_directory, command_, std::move(options), repeats);
  if (!run_state.ok()) return run_state.status();
  run_state_ = *std::move(run_state);
  if (absl::Status wrong = GoOnWithClock(); !wrong.ok()) return wrong;
  if (absl::Status status = run_state_->Recover(*engine_, options_.threads); !status.ok()) {
    return status;
  }
  results_ = run_state_->note().results;
  lines_before_ = tally().lines.lines;
  return absl::OkStatus();
}

// Whether time moves by the clock in this run.
bool EngineJob::follows_clock() const {
  if (!on_event_time()) return true;
  return options_.idle != kForever && std::ranges::any_of(options_.inputs, IsLive);
}

// Before anything is changed.
absl::Status EngineJob::GoOnWithClock() {
  if (!follows_clock()) return absl::OkStatus();
  const EngineTime kept = run_state_->clock();
  const EngineTime now = Now();
  const std::string both = "the clock says " + FormatTimestamp(now) + ", and --state " +
                           Printable(options_.state_directory) + " is at " + FormatTimestamp(kept);
  if (kept != kBeginningOfTime && now > SaturatingAdd(kept, options_.max_forward_jump)) {
    return absl::FailedPreconditionError(
        both + ": ahead by more than --max-forward-jump " +
        FormatDuration(options_.max_forward_jump) +
        ". If the clock is wrong, set it; if it is right, run once with --max-forward-jump inf. "
        "Nothing was changed");
  }
  clock_behind_ = GoOnFrom(kept);
  if (*clock_behind_ > Duration{0}) Say(both + ": time goes on from there");
  return absl::OkStatus();
}

absl::Status EngineJob::CheckOutputsApart() {
  std::vector<NamedFile> outputs = {NamedOutput("--output", options_.output_file),
                                    NamedOutput("--invalid", options_.invalid_file)};
  for (const WantedOutput& output : Outputs()) outputs.push_back(output.named);
  return CheckNoneInside({.role = "--state", .path = options_.state_directory}, outputs);
}

OutputFile::Mode EngineJob::OutputMode() const {
  return run_state_ == nullptr ? OutputFile::Mode::kWhole : OutputFile::Mode::kStream;
}

absl::StatusOr<uint64_t> EngineJob::KeptBytes(const std::string& path) const {
  if (run_state_ == nullptr || path.empty()) return 0;
  return run_state_->BytesOf(path);
}

absl::Status EngineJob::OutputsOpened() {
  return run_state_ == nullptr ? absl::OkStatus() : run_state_->NoteNames(*engine_, KeptOutputs());
}

absl::Status EngineJob::CheckInputs() {
  if (run_state_ == nullptr) return absl::OkStatus();
  absl::Status checked = run_state_->inputs().Check(
      options_.inputs,
      [this](const std::string& path, UnfinishedEnd end) { return OpenToLook(path, end); });
  if (const std::string copies = run_state_->inputs().CopiesText(); !copies.empty()) {
    Say("left out of this run, as copies of other FILEs: " + copies);
  }
  return checked;
}

absl::StatusOr<InputStart> EngineJob::BeginInput(const std::string& path) {
  if (run_state_ == nullptr) return InputStart{};
  return run_state_->inputs().Begin(path);
}

absl::Status EngineJob::CheckOpened(const struct stat& info) {
  return run_state_ == nullptr ? absl::OkStatus() : run_state_->inputs().CheckOpened(info);
}

void EngineJob::Took(const LineBlock& block, uint64_t lines) {
  if (run_state_ != nullptr) run_state_->Took(block, lines);
}

void EngineJob::BetweenLines() {
  if (run_state_ == nullptr || holds_back()) return;
  if (run_state_->Due(every(), elapsed())) TakeSnapshot(/*flushed=*/false);
}

void EngineJob::EndInput(bool unfinished) {
  if (run_state_ != nullptr) run_state_->inputs().End(unfinished);
}

std::array<std::pair<std::string, OutputFile*>, 3> EngineJob::KeptOutputs() {
  return {{{options_.output_file, &output()},
           {options_.late_file, late_file()},
           {options_.invalid_file, invalid_file()}}};
}

// An error is said once. The run goes on, and the next attempt may succeed.
void EngineJob::TakeSnapshot(bool flushed) {
  Flush();
  if (stopped() && !interrupted()) return;
  if (clock_behind_) run_state_->SetClock(Now());
  const absl::Status taken =
      run_state_->TakeSnapshot(*engine_, elapsed(), results_, flushed, KeptOutputs());
  snapshot_failed_ = !taken.ok();
  if (taken.ok() || std::exchange(failure_said_, true)) return;
  Say("no snapshot could be taken: " + std::string(taken.message()) + "; the run goes on");
}

void EngineJob::SayRunState() {
  if (run_state_ == nullptr) return;
  Say(run_state_->Sentence(lines_before_));
}

std::vector<WantedOutput> EngineJob::Outputs() {
  using Mode = OutputFile::Mode;
  return {{NamedOutput("--open", options_.open_file), Mode::kWhole, open_file_},
          {NamedOutput("--stats", options_.stats_file, STDERR_FILENO), Mode::kWhole, stats_file_},
          {NamedOutput("--late", options_.late_file), Mode::kStream, late_file_}};
}

// ---

// Whether the watermark follows the wall clock, as --idle asks for.
bool EngineJob::FollowsWall(Duration silent) const {
  return on_event_time() && options_.idle != kForever && silent >= options_.idle;
}

EngineTime EngineJob::Present(Duration silent) const {
  if (!on_event_time()) return ArrivalNow();
  return FollowsWall(silent) ? SaturatingSub(Now(), options_.event.reorder) : engine_->now();
}

void EngineJob::WriteInSilence(Duration silent) {
  const EngineTime now = Present(silent);
  if (FollowsWall(silent)) TakeUntil(now);
  WriteUntil(now);
}

absl::Status EngineJob::AppendResults(std::string_view lines) {
  GoOn();
  return output().Append(lines);
}

// What falls due while nobody says anything is no matter of the lines: it is written in any case.
Duration EngineJob::OnSilence(Duration silent) {
  const uint64_t before = results();
  WriteInSilence(silent);
  Flush();
  // A deadline may be announced a little early: then do not ask again at once.
  const bool woke_for_nothing = silent > Duration{0} && results() == before;
  const Duration least = std::chrono::milliseconds(woke_for_nothing ? 1 : 0);
  const Duration due = std::max(UntilDue(silent), least);
  if (run_state_ == nullptr || (holds_back() && !moves_clock_alone())) return due;
  if (run_state_->Due(every(), elapsed())) TakeSnapshot(/*flushed=*/false);
  return std::min(due, run_state_->UntilDue(every(), elapsed()));
}

// Whether nothing has changed in the directory but its clock, for want of lines.
bool EngineJob::moves_clock_alone() const {
  return clock_behind_ && run_state_->clock() != kBeginningOfTime &&
         tally().lines.lines == lines_before_;
}

// The watermark is moved as if it had followed the clock until now.
void EngineJob::OnInputAgain(Duration silent) {
  if (FollowsWall(silent)) WriteInSilence(silent);
}

// For how long nothing falls due, by the clock.
Duration EngineJob::UntilDue(Duration silent) const {
  if (on_event_time() && !FollowsWall(silent)) {
    return options_.idle == kForever ? kForever : options_.idle - silent;
  }
  std::optional<EngineTime> due = NextDue();
  if (const std::optional<EngineTime> waiting = NextWaiting(); waiting) {
    due = std::min(due.value_or(kNever), *waiting);
  }
  if (!due) return kForever;
  const Duration behind = on_event_time() ? options_.event.reorder : Duration{0};
  return SaturatingAdd(*due, behind) - Now();
}

// ---

// The numbers add up but for what was lost.
std::string EngineJob::StatsSoFar() const {
  std::string stats = LedgerSoFar();
  const uint64_t lost = run_state_ == nullptr ? 0 : run_state_->note().lost;
  if (lost > 0) {
    stats.insert(stats.rfind('}'), ",\"lost_partitions\":" + std::to_string(lost));
  }
  return stats;
}

void EngineJob::WriteStats(std::string_view stats) {
  if (stats_file_ == nullptr) return;
  absl::Status written = stats_file_->Append(stats);
  written.Update(stats_file_->Commit());
  StopFor(written);
}

void EngineJob::CommitFiles(bool flushed) {
  const absl::Status written = output().Commit();
  all_written_ = written.ok();
  StopFor(written);
  if (open_file() != nullptr) StopFor(open_file()->Commit());
  if (run_state_ == nullptr || !complete()) return;
  TakeSnapshot(flushed);
  if (snapshot_failed_) FailAtEnd();
}

void EngineJob::SayRefused(int64_t line_index, std::string_view limit) {
  if (std::exchange(refusal_said_, true)) return;
  SayOf(line_index, "event refused: " + std::string(limit) +
                        " reached; further refusals are counted, not shown");
}

void EngineJob::SayConflict(const UnusualLine& line) {
  if (conflicts_.Shows()) SayOf(line.index, line.result.reason);
}

void EngineJob::Conclude() {
  SayHidden(conflicts_, "conflict");
  WriteStats(StatsSoFar());
  if (options_.quiet_summary || reader_gone()) return;
  std::string_view fate = "made, but the output is not complete";
  if (all_written_) fate = "written";
  if (unusable()) fate = "no line was usable";
  SayPlain(Summary(fate));
  SayRunState();
  Advise();
}

}  // namespace pleat::cli
