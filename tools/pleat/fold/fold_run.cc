#include "tools/pleat/fold/fold_run.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "tools/pleat/errno_status.h"
#include "tools/pleat/exit_codes.h"
#include "tools/pleat/fold/advice.h"
#include "tools/pleat/fold/summary.h"
#include "tools/pleat/interrupt.h"
#include "tools/pleat/quantity_text.h"

namespace pleat::cli {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// Of input between two settles, which bounds what has closed and waits.
constexpr size_t kBytesPerSettle = 256 * 1024;
constexpr size_t kPopAtOnce = 1024;
constexpr size_t kOpenAtOnce = 4;  // they are held as text
constexpr uint64_t kBadLinesShown = 10;
constexpr uint64_t kConflictsShown = 10;

}  // namespace

FoldRun::FoldRun(const FoldOptions& options)
    : options_(options), progress_(InputSizes(options.inputs)) {}

int FoldRun::Run() {
  if (absl::Status opened = Open(); !opened.ok()) {
    Say("pleat fold: " + std::string(opened.message()));
    return absl::IsInvalidArgument(opened) ? kExitUsage : kExitFailed;
  }
  FoldInputs();
  Finish();
  return Report();
}

absl::Status FoldRun::Open() {
  for (const std::string& input : options_.inputs) {
    if (absl::Status readable = CheckReadable(input); !readable.ok()) return readable;
  }
  absl::StatusOr<std::unique_ptr<Engine>> engine = Engine::Open(EngineOptionsFor(options_.spec));
  if (!engine.ok()) return engine.status();
  engine_ = *std::move(engine);
  FoldSpec spec = options_.spec;
  spec.count_ready = false;
  absl::StatusOr<std::unique_ptr<JsonFolder>> folder = JsonFolder::Open(*engine_, "fold", spec);
  if (!folder.ok()) return folder.status();
  folder_ = *std::move(folder);
  if (absl::Status opened = outputs_.Open(options_); !opened.ok()) return opened;
  if (!options_.quiet_summary) progress_.ShowBeside(outputs_.emissions().fd());
  return absl::OkStatus();
}

// ---

void FoldRun::FoldInputs() {
  const auto new_reader = [this] {
    std::vector<std::unique_ptr<JsonLines>> readers;
    readers.push_back(std::make_unique<JsonLines>(*folder_));
    return readers;
  };
  BlockQueue blocks(new_reader, options_.threads - 1);
  for (const std::string& input : options_.inputs) {
    FoldInput(input, blocks);
    if (stopped()) return;
  }
}

void FoldRun::FoldInput(const std::string& path, BlockQueue& blocks) {
  input_name_ = Printable(InputName(path));
  line_number_ = 0;
  folder_->StartInput();
  absl::StatusOr<OpenedInput> opened = OpenInput(path, *this, read_);
  if (!opened.ok()) return StopFor(opened.status());
  blocks.Open(std::move(opened->source), opened->live);
  while (!stopped()) {
    BlockQueue::Block& block = blocks.Next();
    if (!block.status.ok()) return StopFor(block.status);
    if (block.kind == LineBlock::Kind::kEnd) return;
    if (!on_event_time()) {
      now_ = WallNow();
      engine_->Advance(now_);
    }
    if (block.kind == LineBlock::Kind::kLines) {
      FoldLines(*block.lines.front());
    } else {
      FoldLongLine(block.kind, block.text);
    }
    bytes_since_settle_ += block.text.size();
    if (bytes_since_settle_ >= kBytesPerSettle) Settle(on_event_time() ? engine_->now() : now_);
    if (!stopped() && Interrupted()) stop_ = Stop::kInterrupted;
    ShowProgress();
  }
}

void FoldRun::FoldLines(JsonLines& lines) {
  const uint64_t lines_before = line_number_;
  const uint64_t lines_in_all = lines_before + lines.left();
  folder_->Fold(lines, SIZE_MAX, now_, [&](const UnusualLine& line) {
    line_number_ = lines_before + line.index + 1;
    OnUnusualLine(line.result);
    if (line.result.fold == FoldOutcome::kLate) StopFor(outputs_.AppendLate(line.text));
    if (line.result.kind == LineResult::Kind::kBad) {
      unusable_.Add(input_name_, line.text);
      StopFor(outputs_.AppendBad(line.text));
    }
    return !stopped();
  });
  line_number_ = lines_in_all;
}

// A piece of a line over the limit.
void FoldRun::FoldLongLine(LineBlock::Kind kind, std::string_view text) {
  if (kind == LineBlock::Kind::kLongBegin) {
    ++line_number_;
    unusable_.Add(input_name_, text);
    OnUnusualLine(folder_->FoldLine(text.substr(0, kLineBytesShown), now_));
  }
  StopFor(outputs_.AppendBadPiece(text));
  const bool ends = kind == LineBlock::Kind::kLongEnd || stopped();
  if (ends && (text.empty() || text.back() != '\n')) StopFor(outputs_.AppendBadPiece("\n"));
}

void FoldRun::OnUnusualLine(const LineResult& result) {
  switch (result.kind) {
    case LineResult::Kind::kControl:
    case LineResult::Kind::kBlank: break;
    case LineResult::Kind::kEvent:
      if (result.fold == FoldOutcome::kOverLimit) OnRefused();
      if (result.fold == FoldOutcome::kConflict) OnConflict(result.reason);
      break;
    case LineResult::Kind::kBad: OnBadLine(result.reason); break;
    case LineResult::Kind::kNoUnit:
      Say(Here() + std::string(result.reason));
      stop_ = Stop::kNoUnit;
      break;
  }
}

void FoldRun::OnBadLine(std::string_view reason) {
  if (++bad_lines_ <= kBadLinesShown) Say(Here() + std::string(reason));
  if (options_.on_bad == FoldOptions::OnBad::kFail && !stopped()) stop_ = Stop::kBadLine;
}

void FoldRun::OnConflict(std::string_view reason) {
  if (++conflicts_ <= kConflictsShown) Say(Here() + std::string(reason));
}

void FoldRun::OnRefused() {
  if (std::exchange(refusal_said_, true)) return;
  const std::string limit = folder_->ledger().refused_for_bytes > 0
                                ? "--max-memory " + std::to_string(options_.spec.max_bytes)
                                : "--max-groups " + std::to_string(options_.spec.max_groups);
  Say(Here() + "event refused: " + limit + " reached; further refusals are counted, not shown");
}

// ---

EngineTime FoldRun::WallNow() {
  // A later look is a later instant, so that what an event closed at the last one is out by now.
  return std::max(clock_.Now(), SaturatingAdd(now_, microseconds(1)));
}

bool FoldRun::FollowsWall(EngineTime now, EngineTime silent_since) const {
  return options_.idle != kForever && now >= SaturatingAdd(silent_since, options_.idle);
}

// Until something falls due; negative: for ever.
Duration FoldRun::TimeToSleep(EngineTime now, EngineTime silent_since,
                              bool woke_for_nothing) const {
  constexpr Duration kForGood{-1};
  EngineTime wake = kEndOfTime;
  if (on_event_time() && !FollowsWall(now, silent_since)) {
    if (options_.idle == kForever) return kForGood;
    wake = SaturatingAdd(silent_since, options_.idle);
  } else {
    const std::optional<EngineTime> deadline = engine_->NextDeadline();
    if (!deadline) return kForGood;
    wake = on_event_time() ? SaturatingAdd(*deadline, options_.spec.lateness) : *deadline;
  }
  // A deadline may be announced a little early: then do not ask again at once.
  const Duration least = woke_for_nothing ? milliseconds(1) : milliseconds(0);
  return std::max<Duration>(wake - now, least);
}

// Called when the input is a pipe and the like. If it has nothing to read, hands out what is
// finished, and sleeps until it has, moving time on meanwhile.
bool FoldRun::AwaitInput(int fd) {
  enum { kInput, kSignal, kReader, kWatched };
  pollfd watched[kWatched] = {{fd, POLLIN, 0}, {InterruptFd(), POLLIN, 0}, {-1, 0, 0}};
  // With no events asked for, poll still tells when the reader of a pipe has gone.
  if (emits_to_stdout() && isatty(STDOUT_FILENO) == 0) watched[kReader].fd = STDOUT_FILENO;

  const EngineTime silent_since = clock_.Now();
  timespec sleep{};
  bool silent = false;
  for (const timespec* timeout = &sleep;;) {
    const int ready = ppoll(watched, kWatched, timeout, nullptr);
    if (Interrupted()) stop_ = Stop::kInterrupted;
    if (ready > 0 && watched[kReader].revents != 0) StopFor(absl::AbortedError(""));
    if (stopped()) return false;
    const EngineTime now = clock_.Now();
    const bool follows = on_event_time() && silent && FollowsWall(now, silent_since);
    const EngineTime wall_mark = SaturatingSub(now, options_.spec.lateness);
    if (ready > 0 && watched[kInput].revents != 0) {
      if (follows) engine_->Advance(wall_mark);  // as if it had been moved all along
      return true;
    }
    if (ready < 0 && errno == EINTR) continue;

    const uint64_t popped_before = silent ? folder_->ledger().popped : 0;
    SettleAndFlush(!on_event_time() ? WallNow() : follows ? wall_mark : engine_->now());
    if (stopped()) return false;
    const bool for_nothing = silent && folder_->ledger().popped == popped_before;
    silent = true;
    progress_.Clear();

    const Duration left = TimeToSleep(now, silent_since, for_nothing);
    sleep.tv_sec = left.count() / 1'000'000;
    sleep.tv_nsec = left.count() % 1'000'000 * 1'000;
    timeout = left < Duration{0} ? nullptr : &sleep;
  }
}

// ---

// Moves time to `now` and pops what that makes final.
void FoldRun::Settle(EngineTime now) {
  bytes_since_settle_ = 0;
  engine_->Advance(now);
  Emit();
}

void FoldRun::SettleAndFlush(EngineTime now) {
  Settle(now);
  StopFor(outputs_.Flush());
}

void FoldRun::Emit() {
  absl::Status appended;
  const auto append = [&](std::string_view lines) {
    appended.Update(outputs_.emissions().Append(lines));
  };
  while (appended.ok() && folder_->Pop(kPopAtOnce, append) > 0) {
  }
  StopFor(appended);
}

void FoldRun::WriteOpenGroups() {
  OutputFile* const file = outputs_.open_groups();
  if (file == nullptr) return;
  ScanCursor cursor;
  absl::Status written;
  for (bool more = true; more && written.ok();) {
    std::string lines;
    more = folder_->Scan(cursor, kOpenAtOnce, lines);
    written = file->Append(lines);
  }
  StopFor(written);
}

void FoldRun::Finish() {
  progress_.Clear();
  const bool complete = stop_ == Stop::kEndOfInput || stop_ == Stop::kInterrupted;
  if (stop_ != Stop::kReaderGone) {
    // What is final is handed out in any case, so that it does not matter when it was popped.
    Settle(!on_event_time() ? WallNow() : engine_->now());
    if (complete) WriteOpenGroups();
    if (complete && options_.at_end == FoldOptions::AtEnd::kFlush) folder_->CloseAll();
    if (complete) Emit();
  }
  StopFor(outputs_.Flush());
  if (!complete || no_line_usable()) return;
  const absl::Status written = outputs_.CommitEmissions();
  all_written_ = written.ok();
  StopFor(written);
  StopFor(outputs_.CommitOpenGroups());
}

int FoldRun::Report() {
  const RunTotals totals(folder_->counts(), folder_->stamps(), folder_->ledger());
  if (bad_lines_ > kBadLinesShown) {
    Say("pleat fold: " + Grouped(bad_lines_ - kBadLinesShown) + " more bad lines, not shown");
  }
  if (conflicts_ > kConflictsShown) {
    Say("pleat fold: " + Grouped(conflicts_ - kConflictsShown) + " more conflicts, not shown");
  }
  const bool unusable = no_line_usable() && stop_ != Stop::kFailed && stop_ != Stop::kNoUnit;
  const std::string sentence = unusable ? unusable_.Sentence("fold", NeededBy(options_.spec))
                                        : unusable_.ArraySentence("fold");
  if (!sentence.empty()) Say("pleat fold: " + sentence);
  StopFor(outputs_.WriteStats(StatsJson(totals)));
  if (!options_.quiet_summary && stop_ != Stop::kReaderGone) {
    std::string_view fate = "made, but the output is not complete";
    if (all_written_) fate = "written";
    if (unusable) fate = "no line was usable";
    Say(HumanSummary(totals, read_.bytes, clock_.Elapsed(), fate));
    const bool read_all = stop_ == Stop::kEndOfInput || stop_ == Stop::kInterrupted;
    if (read_all) {
      for (const std::string& line : AdviceOn(options_, *folder_)) Say("pleat fold: " + line);
    }
  }
  if (!failure_.empty() || stop_ == Stop::kBadLine) return kExitFailed;
  if (stop_ == Stop::kNoUnit) return kExitUsage;
  if (stop_ == Stop::kReaderGone) return kExitDone;
  if (stop_ == Stop::kInterrupted) return kExitSignal + StopSignal();
  if (unusable || totals.refused > 0 || (options_.strict && totals.bad > 0)) return kExitFailed;
  return kExitDone;
}

// ---

void FoldRun::StopFor(const absl::Status& status) {
  if (status.ok() || absl::IsCancelled(status)) return;  // the latter by AwaitInput: stop_ is set
  const bool may_change = stop_ == Stop::kEndOfInput || stop_ == Stop::kInterrupted;
  if (absl::IsAborted(status) && emits_to_stdout()) {
    if (may_change) stop_ = Stop::kReaderGone;
  } else {
    // A full disk is met again by everything that is still written to it: say it once.
    const std::string message(status.message());
    if (std::exchange(failure_, message) != message) Say("pleat fold: " + message);
    if (may_change) stop_ = Stop::kFailed;
  }
}

std::string FoldRun::Here() const {
  return input_name_ + ":" + std::to_string(line_number_) + ": ";
}

void FoldRun::Say(const std::string& line) {
  progress_.Clear();
  std::string text = line;
  if (text.empty() || text.back() != '\n') text += '\n';
  [[maybe_unused]] const ssize_t ignored = write(STDERR_FILENO, text.data(), text.size());
}

void FoldRun::ShowProgress() {
  const Duration elapsed = clock_.Elapsed();
  if (!progress_.Due(elapsed)) return;
  progress_.Draw({read_.bytes, folder_->counts().lines, folder_->ledger().folded, "folded"},
                 elapsed);
}

}  // namespace pleat::cli
