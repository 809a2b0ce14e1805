#include "tools/pleat/run_journal.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <system_error>
#include <thread>

#include <pleat/journal_care.h>

#include "tools/pleat/errno_status.h"
#include "tools/pleat/input.h"
#include "tools/pleat/interrupt.h"
#include "tools/pleat/named_files.h"
#include "tools/pleat/quantity_text.h"

namespace pleat::cli {
namespace {

// Between two looks at whether a signal has come.
constexpr uint64_t kReadPastAtOnce = 16 << 20;

// Between snapshots while no line comes: so the next run finds the clock not far ahead.
constexpr Duration kSilentInterval = std::chrono::hours(24);

constexpr int64_t kSecondNs = 1'000'000'000;

int64_t Nanoseconds(const timespec& t) { return int64_t{t.tv_sec} * kSecondNs + t.tv_nsec; }

// A change that is a second old has a time of its own on every file system that is in use.
int64_t ChangeTime(const struct stat& info) {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  const int64_t changed = Nanoseconds(info.st_ctim);
  return Nanoseconds(now) - changed > kSecondNs ? changed : 0;
}

// None if it is no regular file.
absl::StatusOr<std::optional<FileStamp>> StampOf(const std::string& path) {
  struct stat info{};
  const int failed = path == "-" ? fstat(STDIN_FILENO, &info) : stat(path.c_str(), &info);
  if (failed != 0) return ErrnoStatus(errno, InputName(path));
  if (!S_ISREG(info.st_mode)) return std::optional<FileStamp>();
  return std::optional<FileStamp>({.device = info.st_dev,
                                   .inode = info.st_ino,
                                   .size = static_cast<uint64_t>(info.st_size),
                                   .changed_ns = ChangeTime(info)});
}

// All texts of the option, as on a command line.
std::string TextOf(const RunJournal::Options& options, std::string_view name) {
  std::string text;
  for (const auto& [each, value] : options) {
    if (each != name) continue;
    if (!text.empty()) text += " --" + each + " ";
    text += value;
  }
  return text.empty() ? "not given" : text;
}

// Limits, and how lines look, may change from run to run.
bool MayChange(std::string_view option) {
  constexpr std::string_view kFree[] = {"max-groups", "max-memory",  "max-series", "max-members",
                                        "max-keys",   "emission-id", "no-meta"};
  return std::ranges::find(kFree, option) != std::end(kFree);
}

absl::Status CheckOptions(const RunJournal::Options& now, const RunJournal::Options& before,
                          const std::string& directory) {
  RunJournal::Options all = now;
  all.insert(all.end(), before.begin(), before.end());
  for (const auto& [name, text] : all) {
    const std::string is = TextOf(now, name);
    const std::string was = TextOf(before, name);
    if (is == was) continue;
    std::string why = "is ";
    why += is + ", and was ";
    why += was + " when --journal ";
    why += Printable(directory) + " was begun; with another directory, all begins anew";
    return WrongFlag(name, why);
  }
  return absl::OkStatus();
}

// Of a damaged directory, with what helps.
absl::Status WithWayOut(const absl::Status& why, const std::string& directory) {
  if (!absl::IsDataLoss(why)) return why;
  const std::string name = Printable(directory);
  std::string way_out = "; pleat journal check " + name +
                        " says what is damaged, pleat journal salvage " + name +
                        " --out NEW-DIR saves the rest";
  const absl::StatusOr<JournalReport> report = InspectJournal(directory, Depth::kBeginning);
  if (report.ok() && report->snapshots == 0) {
    way_out = "; with none nothing can be saved: begin anew with another directory";
  }
  return absl::DataLossError(std::string(why.message()) + way_out);
}

// Or with as many as the system gives.
void WorkWithThreads(Restore& restore, int threads) {
  std::vector<std::thread> others;
  for (bool more = true; more && std::ssize(others) + 1 < threads;) {
    try {
      others.emplace_back([&] { restore.Work(); });
    } catch (const std::system_error&) {
      more = false;
    }
  }
  restore.Work();
  for (std::thread& other : others) other.join();
}

}  // namespace

absl::StatusOr<std::unique_ptr<RunJournal>> RunJournal::Open(const std::string& directory,
                                                             std::string_view command,
                                                             Options options, bool repeats) {
  absl::StatusOr<std::unique_ptr<Journal>> journal = Journal::Open(directory, {.repeats = repeats});
  if (!journal.ok()) return WithWayOut(journal.status(), directory);
  const absl::StatusOr<std::optional<SnapshotInfo>> newest = (*journal)->Newest();
  if (!newest.ok()) return WithWayOut(newest.status(), directory);
  std::erase_if(options, [](const auto& option) { return MayChange(option.first); });
  RunNote note;
  note.command = command;
  note.options = std::move(options);
  if (newest->has_value()) {
    const absl::StatusOr<RunNote> before = RunNote::Parse((*newest)->note);
    if (!before.ok()) {
      return absl::Status(before.status().code(), "--journal " + Printable(directory) + ": " +
                                                      std::string(before.status().message()));
    }
    if (before->command != command) {
      return WrongFlag("journal", Printable(directory) + " belongs to pleat " + before->command);
    }
    absl::Status same = CheckOptions(note.options, before->options, directory);
    if (!same.ok()) return same;
    note.clock = before->clock;
    if ((*newest)->axis == Axis::kArrival) note.clock = std::max(note.clock, (*newest)->now);
  }
  return std::unique_ptr<RunJournal>(
      new RunJournal(*std::move(journal), directory, std::move(note)));
}

absl::Status RunJournal::Recover(Engine& engine, int threads) {
  const absl::StatusOr<Recovered> recovered =
      journal_->Recover(engine, [&](Restore& restore) { WorkWithThreads(restore, threads); });
  if (!recovered.ok()) return WithWayOut(recovered.status(), directory_);
  if (!recovered->snapshot) return absl::OkStatus();
  absl::StatusOr<RunNote> note = RunNote::Parse(recovered->snapshot->note);
  if (!note.ok()) return note.status();
  note->options = std::move(note_.options);
  note->clock = note_.clock;
  note_ = *std::move(note);
  note_.lost += recovered->snapshot->lost.size();
  return absl::OkStatus();
}

// ---

absl::StatusOr<InputStart> RunJournal::Begin(const std::string& path) {
  input_ = next_ = nullptr;
  const absl::StatusOr<std::optional<FileStamp>> stamp = StampOf(path);
  if (!stamp.ok()) return stamp.status();
  if (!stamp->has_value()) return InputStart{};
  digest_.Clear();
  input_name_ = InputName(path);
  const auto [it, is_new] = note_.inputs.try_emplace(WholeName(path));
  RunNote::Input& input = it->second;
  if (input.read_whole && input.stamp.Proves(**stamp)) {
    ++inputs_skipped_;
    return InputStart{.skipped = true, .bytes = 0, .lines = 0};
  }
  next_ = &input;
  next_stamp_ = **stamp;
  if (input.bytes == 0) Enter();
  return InputStart{.skipped = false, .bytes = input.bytes, .lines = input.lines};
}

// From here on the snapshots say how far the input has been read.
void RunJournal::Enter() {
  input_ = next_;
  input_->stamp = next_stamp_;
}

absl::Status RunJournal::Changed(std::string_view why) const {
  return absl::FailedPreconditionError(
      Printable(input_name_) + ": " + std::string(why) + " since it was read into --journal " +
      Printable(directory_) +
      ": give the file as it was, or leave it out, or begin anew with another directory");
}

absl::Status RunJournal::ReadPast(LineReader& reader) {
  for (uint64_t left = next_->bytes; left > 0;) {
    if (Interrupted()) return absl::CancelledError();
    const absl::StatusOr<uint64_t> read = reader.Skip(std::min(left, kReadPastAtOnce), digest_);
    if (!read.ok()) return read.status();
    if (*read == 0) return Changed("has become shorter");
    left -= *read;
  }
  if (digest_.value() != next_->digest) return Changed("has changed");
  if (!next_->ends_line) {
    const absl::StatusOr<bool> at_end = reader.AtEnd();
    if (!at_end.ok()) return at_end.status();
    if (!*at_end) return Changed("its last line has become longer");
  }
  Enter();
  return absl::OkStatus();
}

void RunJournal::Took(std::string_view text, uint64_t lines) {
  lines_since_ += lines;
  note_.flushed = false;
  if (input_ == nullptr) return;
  digest_.Add(text);
  input_->bytes += text.size();
  input_->lines += lines;
  input_->read_whole = false;
  if (!text.empty()) input_->ends_line = text.ends_with('\n');
}

void RunJournal::End() {
  if (input_ == nullptr) return;
  input_->digest = digest_.value();
  input_->read_whole = true;
  input_ = nullptr;
}

uint64_t RunJournal::BytesOf(const std::string& path) const {
  const auto it = note_.outputs.find(WholeName(path));
  return it == note_.outputs.end() ? 0 : it->second;
}

// ---

bool RunJournal::Due(const SnapshotEvery& every, Duration now) const {
  if (every.lines > 0) return lines_since_ >= every.lines;
  return now - last_taken_ >= Interval(every);
}

Duration RunJournal::UntilDue(const SnapshotEvery& every, Duration now) const {
  if (every.lines > 0) return kForever;
  return std::max(Interval(every) - (now - last_taken_), Duration{0});
}

Duration RunJournal::Interval(const SnapshotEvery& every) const {
  return lines_since_ > 0 ? every.time : std::max(every.time, kSilentInterval);
}

// The outputs are on the disk before the snapshot that vouches for them.
absl::Status RunJournal::TakeSnapshot(
    Engine& engine, Duration now, uint64_t results, bool flushed,
    std::span<const std::pair<std::string, OutputFile*>> outputs) {
  last_taken_ = now;
  lines_since_ = 0;
  for (const auto& [path, file] : outputs) {
    if (file == nullptr || !file->is_cut_back()) continue;
    if (absl::Status synced = file->Sync(); !synced.ok()) return synced;
    note_.outputs[WholeName(path)] = file->bytes_written();
  }
  if (input_ != nullptr) input_->digest = digest_.value();
  note_.results = results;
  note_.flushed = flushed;
  return journal_->TakeSnapshot(engine, note_.Text());
}

std::string RunJournal::Sentence(uint64_t lines_before) const {
  const SnapshotState state = journal_->state();
  std::string text = "journal: ";
  if (lines_before > 0) text += "went on behind " + Counted(lines_before, "line") + "; ";
  if (inputs_skipped_ > 0) text += Counted(inputs_skipped_, "file") + " read before; ";
  text += Counted(state.taken, "snapshot") + " taken";
  if (note_.lost > 0) {
    text += "; " + Counted(note_.lost, "partition") +
            " lost to damage and left out by salvage, so the figures do not add up";
  }
  if (state.failed > 0) text += ", " + Grouped(state.failed) + " failed";
  if (state.bytes > 0) text += "; the newest has " + ByteText(static_cast<double>(state.bytes));
  return text;
}

}  // namespace pleat::cli
