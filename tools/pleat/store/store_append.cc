// A LineJob that appends. The records of a block of lines go in by pieces, and with each piece, in one
// block of the store, goes the note of how far the FILE was taken. So a run that is killed has both or
// neither, and the next one goes on at the first line that is not in the store.
#include "tools/pleat/store/store_append.h"

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <pleat/event_store.h>
#include <pleat/untyped/json_events.h>

#include "tools/pleat/errno_status.h"
#include "tools/pleat/input.h"
#include "tools/pleat/inputs_read.h"
#include "tools/pleat/line_job.h"
#include "tools/pleat/quantity_text.h"
#include "tools/pleat/store/file_notes.h"
#include "tools/pleat/summary_text.h"

namespace pleat::cli {
namespace {

// How long records may wait in memory while lines come: readers of the store see them then.
constexpr Duration kCommitEvery = std::chrono::seconds(1);
// Of the records of a piece together.
constexpr size_t kPieceBytesMax = kAppendBytesMax / 2;

class AppendRun final : public LineJob {
 public:
  AppendRun(const std::string& directory, const StoreOptions& options)
      : LineJob("store append", options.append, Result::kAtEnd),
        directory_(directory),
        options_(options) {}

 private:
  absl::Status Open() override;
  absl::Status CheckInputs() override;
  Tally tally() const override { return {events_->counts(), false, appended_, "appended"}; }

  absl::StatusOr<InputStart> BeginInput(const std::string& path) override;
  absl::Status CheckOpened(const struct stat& info) override { return files_.CheckOpened(info); }
  bool KeepsWhatWasRead() const override { return true; }
  absl::Status ReadPast(LineReader& reader) override { return files_.ReadPast(reader); }
  UnfinishedEnd EndOfFile(bool /*interrupted*/) const override { return UnfinishedEnd::kLeft; }
  void StartInput() override { events_->StartInput(); }
  Readers NewReaders() override;
  void TakeLines(Readers& readers) override;
  LineResult TakeLongLine(std::string_view beginning) override {
    return events_->TakeLongLine(beginning);
  }
  void Took(const LineBlock& block, uint64_t lines) override;
  void BetweenLines() override;
  void EndInput(bool unfinished) override;
  Duration OnSilence(Duration silent) override;
  void Finish() override;
  void Conclude() override;

  std::string_view Keep(const JsonEvent& event);
  size_t PieceSize(size_t first) const;
  void AppendPiece(std::span<const StoreRecord> piece);
  void AppendNotesOf(size_t input);
  void AppendNote(const FileNotes::Text& note);
  bool Check(const AppendAnswer& answer);
  absl::Status Refused(const AppendAnswer& answer) const;
  void Commit();
  std::string Summary() const;

  const std::string directory_;
  const StoreOptions& options_;
  std::unique_ptr<JsonEvents> events_;
  std::unique_ptr<EventStore> store_;
  FileNotes notes_;
  InputsRead files_{notes_.inputs(), directory_, "the store"};
  std::vector<StoreRecord> records_;  // of the block under way, not appended yet
  std::vector<int64_t> lines_;        // and their lines
  bool failed_ = false;               // to append
  bool uncommitted_ = false;
  Duration committed_{0};  // when, since the run began
  uint64_t appended_ = 0;
  uint64_t bytes_ = 0;
  std::vector<bool> partitions_;  // that have got records
  uint64_t lines_before_ = 0;     // that earlier runs have read of the FILEs of this one
  Few skipped_;
};

absl::Status AppendRun::Open() {
  absl::StatusOr<std::unique_ptr<JsonEvents>> events =
      JsonEvents::Open(options_.append.event, options_.id);
  if (!events.ok()) return events.status();
  events_ = *std::move(events);
  return absl::OkStatus();
}

// The store is opened when it is known that the FILEs can be read.
absl::Status AppendRun::CheckInputs() {
  const NamedFile invalid = NamedOutput("--invalid", options_.append.invalid_file);
  absl::Status apart = CheckNoneInside({.role = "the store", .path = directory_}, {&invalid, 1});
  if (!apart.ok()) return apart;
  absl::StatusOr<std::unique_ptr<EventStore>> store =
      EventStore::Open(directory_, {.partitions = options_.partitions,
                                    .durability = options_.durability,
                                    .max_forward_jump = options_.max_forward_jump});
  if (!store.ok()) return store.status();
  store_ = *std::move(store);
  partitions_.resize(static_cast<size_t>(store_->partitions()));
  const absl::StatusOr<StoreNotes> notes = store_->Notes();
  if (!notes.ok()) return notes.status();
  if (absl::Status loaded = notes_.Load(*notes); !loaded.ok()) {
    return absl::Status(loaded.code(), directory_ + ": " + std::string(loaded.message()));
  }
  absl::Status checked = files_.Check(
      options_.append.inputs,
      [this](const std::string& path, UnfinishedEnd end) { return OpenToLook(path, end); });
  if (const std::string copies = files_.CopiesText(); !copies.empty()) {
    Say("left out, as copies of other FILEs: " + copies);
  }
  return checked;
}

absl::StatusOr<InputStart> AppendRun::BeginInput(const std::string& path) {
  absl::StatusOr<InputStart> start = files_.Begin(path);
  if (!start.ok()) return start;
  if (start->skipped && skipped_.Shows()) {
    Say(Printable(InputName(path)) + ": all of it is in the store");
  }
  lines_before_ += start->lines;
  return start;
}

LineJob::Readers AppendRun::NewReaders() {
  Readers readers;
  readers.push_back(std::make_unique<JsonLines>(events_->plan()));
  return readers;
}

void AppendRun::TakeLines(Readers& readers) {
  events_->Take(
      *readers.front(), arrival(), [this](const JsonEvent& event) { return Keep(event); },
      [this](const UnusualLine& line) {
        NoteUnusual(line);
        return !stopped();
      });
}

std::string_view AppendRun::Keep(const JsonEvent& event) {
  if (event.key.size() + event.id.size() + event.line.size() > kRecordBytesMax) {
    return "the line has more than 1 MiB together with its key and id";
  }
  records_.push_back({.key = event.key, .stamp = event.at, .id = event.id, .payload = event.line});
  lines_.push_back(event.index);
  return {};
}

size_t AppendRun::PieceSize(size_t first) const {
  size_t bytes = 0;
  size_t size = 0;
  for (; size < kWholeRecordsMax && first + size < records_.size(); ++size) {
    const StoreRecord& record = records_[first + size];
    bytes += record.key.size() + record.id.size() + record.payload.size();
    if (size > 0 && bytes > kPieceBytesMax) break;
  }
  return size;
}

// A piece ends behind the line of its last record; the last piece takes what follows that in the
// block, unless the run stops at a line there.
void AppendRun::Took(const LineBlock& block, uint64_t lines) {
  std::string_view rest = block.text;
  uint64_t taken = 0;
  const auto take = [&](size_t bytes, uint64_t upto) {
    files_.Took({block.kind, rest.substr(0, bytes), block.unfinished}, upto - taken);
    rest.remove_prefix(bytes);
    taken = upto;
  };
  for (size_t first = 0; first < records_.size() && !failed_;) {
    const size_t behind = first + PieceSize(first);
    if (behind < records_.size() || stopped()) {
      const std::string_view payload = records_[behind - 1].payload;
      const auto end = static_cast<size_t>(payload.data() + payload.size() - rest.data());
      const size_t newline = rest.find('\n', end);
      take(newline == rest.npos ? rest.size() : newline + 1,
           static_cast<uint64_t>(lines_[behind - 1]) + 1);
    } else {
      take(rest.size(), lines);
    }
    AppendPiece(std::span(records_).subspan(first, behind - first));
    first = behind;
  }
  if (!rest.empty() && !stopped()) take(rest.size(), lines);
  records_.clear();
  lines_.clear();
}

void AppendRun::AppendPiece(std::span<const StoreRecord> piece) {
  AppendWhere to;
  FileNotes::Text place;
  if (const std::optional<size_t> input = files_.current(); input) {
    files_.Seal();
    // Notes have no gaps: FILEs before this one, of which no line was a record.
    for (size_t i = notes_.noted(); i < *input; ++i) AppendNotesOf(i);
    if (const auto lines = notes_.TakeLines(*input)) AppendNote(*lines);
    place = notes_.TakePlace(*input).value_or(FileNotes::Text());
    if (!place.name.empty()) to.note = place.note();
  }
  if (failed_) return;
  std::array<AppendPlace, kWholeRecordsMax> places;
  if (!Check(store_->AppendBatch(piece, arrival(), to, places))) return;
  for (size_t i = 0; i < piece.size(); ++i) {
    partitions_[static_cast<size_t>(places[i].partition)] = true;
    bytes_ += piece[i].key.size() + piece[i].id.size() + piece[i].payload.size();
  }
  appended_ += piece.size();
}

void AppendRun::AppendNotesOf(size_t input) {
  if (const auto lines = notes_.TakeLines(input)) AppendNote(*lines);
  if (const auto place = notes_.TakePlace(input)) AppendNote(*place);
}

void AppendRun::AppendNote(const FileNotes::Text& note) {
  if (!failed_) Check(store_->AppendBatch({}, Now(), {.note = note.note()}));
}

// Behind an append that was refused nothing more is appended, so that there is no gap.
bool AppendRun::Check(const AppendAnswer& answer) {
  uncommitted_ = true;
  if (answer.outcome == AppendOutcome::kAppended) return true;
  failed_ = true;
  StopFor(Refused(answer));
  return false;
}

absl::Status AppendRun::Refused(const AppendAnswer& answer) const {
  if (answer.outcome == AppendOutcome::kTooFarAhead) {
    return absl::FailedPreconditionError(
        "the clock says " + FormatTimestamp(arrival()) + ", which is ahead of the last record in " +
        "partition " + std::to_string(answer.partition) + " of " + Printable(directory_) +
        " by more than --max-forward-jump " + FormatDuration(options_.max_forward_jump) +
        ". If the clock is wrong, set it; if it is right, run once with --max-forward-jump inf");
  }
  absl::Status why = store_->state().last_error;
  if (!why.ok()) return why;
  return absl::InternalError(Printable(directory_) + ": refused a record, with answer " +
                             std::to_string(static_cast<int>(answer.outcome)));
}

void AppendRun::Commit() {
  committed_ = elapsed();
  if (!std::exchange(uncommitted_, false) || failed_) return;
  const absl::Status committed = store_->Commit();
  failed_ |= !committed.ok();
  StopFor(committed);
}

void AppendRun::BetweenLines() {
  if (elapsed() - committed_ >= kCommitEvery) Commit();
}

// While a pipe is silent.
Duration AppendRun::OnSilence(Duration /*silent*/) {
  Commit();
  return kForever;
}

void AppendRun::EndInput(bool unfinished) {
  const std::optional<size_t> input = files_.current();
  files_.End(unfinished);
  if (!input || holds_back()) return;
  for (size_t i = notes_.noted(); i < *input; ++i) AppendNotesOf(i);
  AppendNotesOf(*input);
}

void AppendRun::Finish() {
  if (!failed_) {
    files_.Seal();
    for (size_t i = 0; i < notes_.inputs().size(); ++i) AppendNotesOf(i);
  }
  StopFor(store_->Close());
}

std::string AppendRun::Summary() const {
  const LineCounts lines = events_->counts();
  const auto partitions = static_cast<uint64_t>(std::ranges::count(partitions_, true));
  return SummaryText(
      {{"lines", Grouped(lines.lines), Grouped(lines.invalid) + " invalid"},
       {"records", Grouped(appended_), "appended, in " + Counted(partitions, "partition")},
       {"bytes", Grouped(bytes_), "of keys, ids and lines"},
       TookRow({lines.lines, bytes_read(), elapsed()})});
}

void AppendRun::Conclude() {
  SayHidden(skipped_, "FILE that is in the store");
  if (options_.append.quiet_summary) return;
  SayPlain(Summary());
  std::string files = files_.FilesText();
  if (lines_before_ > 0) files = "went on behind " + Counted(lines_before_, "line") + "; " + files;
  if (files.ends_with("; ")) files.resize(files.size() - 2);
  if (!files.empty()) Say(files);
  StampCounts stamps = events_->stamps();
  stamps.out_of_order = 0;  // a store keeps the order of the lines
  stamps.most_behind = Duration{0};
  if (events_->counts().lines > 0)
    SayAdvice(events_->asked_paths(), events_->absent_paths(), stamps);
  if (events_->counts().not_numbers > 0) Say("lines with NaN or Infinity are kept as they came");
}

}  // namespace

int AppendToStore(const std::string& directory, const StoreOptions& options) {
  return AppendRun(directory, options).Run();
}

}  // namespace pleat::cli
