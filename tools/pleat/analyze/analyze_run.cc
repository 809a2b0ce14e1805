#include "tools/pleat/analyze/analyze_run.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>

#include "tools/pleat/analyze/analysis_chart.h"
#include "tools/pleat/analyze/analysis_page.h"
#include "tools/pleat/analyze/analyze_output.h"
#include "tools/pleat/errno_status.h"
#include "tools/pleat/exit_codes.h"
#include "tools/pleat/interrupt.h"
#include "tools/pleat/named_files.h"
#include "tools/pleat/quantity_text.h"
#include "tools/pleat/unit_advice.h"

namespace pleat::cli {
namespace {

constexpr uint64_t kBadLinesShown = 10;

}  // namespace

AnalyzeRun::AnalyzeRun(const AnalyzeOptions& options)
    : options_(options), progress_(InputSizes(options.inputs)) {
  if (!options.quiet_summary) progress_.ShowBeside(/*output=*/-1);
}

int AnalyzeRun::Run() {
  absl::Status status = Open();
  if (absl::IsInvalidArgument(status)) {
    Say("pleat analyze: " + std::string(status.message()));
    return kExitUsage;
  }
  if (status.ok()) status = ReadInputs();
  progress_.Clear();
  if (no_unit_) return kExitUsage;
  if (bad_said_ > kBadLinesShown)
    Say("pleat analyze: " + Grouped(bad_said_ - kBadLinesShown) + " more bad lines, not shown");
  const bool usable = !NoLineUsable();
  if (status.ok() && !usable) Say("pleat analyze: " + unusable_.Sentence("analyze", needed_));
  if (status.ok() && usable) {
    if (Interrupted()) Say("pleat analyze: interrupted: what follows is of what was read so far");
    const std::vector<KeyAnalysis> keys = Finish();
    SayLeftOut(keys);
    status = Write(keys);
    if (!options_.quiet_summary && status.ok()) {
      Say(Summary(keys));
      const Analysis& any = *keys.front().analysis;
      const std::string advice = AdviceOnUnit(options_.spec.time_unit, any.first, any.last);
      if (any.events > 0 && !advice.empty()) Say("pleat analyze: " + advice);
    }
  }
  if (absl::IsAborted(status)) return kExitDone;  // the reader of the output has gone
  if (!status.ok()) Say("pleat analyze: " + std::string(status.message()));
  if (!status.ok()) return kExitFailed;
  if (Interrupted()) return kExitSignal + StopSignal();
  return !usable || HasLeftOut() || (options_.strict && HasBadLines()) ? kExitFailed : kExitDone;
}

absl::Status AnalyzeRun::Open() {
  for (const std::string& key : options_.keys) {
    FoldSpec spec = options_.spec;
    if (absl::Status set = SetOption(spec, "key", key); !set.ok()) return set;
    absl::StatusOr<std::unique_ptr<JsonAnalyzer>> analyzer =
        JsonAnalyzer::Open(spec, options_.analyzer);
    if (!analyzer.ok()) return analyzer.status();
    analyzers_.push_back(*std::move(analyzer));
    compound_.push_back(spec.key.size() > 1);
    for (NeededMember& member : NeededBy(spec)) needed_.push_back(std::move(member));
  }
  for (const std::string& input : options_.inputs) {
    if (absl::Status readable = CheckReadable(input); !readable.ok()) return readable;
  }
  return OpenOutputs();
}

absl::Status AnalyzeRun::OpenOutputs() {
  std::vector<NamedFile> inputs;
  inputs.reserve(options_.inputs.size());
  for (const std::string& input : options_.inputs) inputs.push_back(NamedInput(input));
  const NamedFile outputs[] = {NamedOutput("--output", options_.output_file),
                               NamedOutput("--svg", options_.svg_file),
                               NamedOutput("--html", options_.html_file)};
  if (absl::Status differ = CheckNoneOverwritten(inputs, outputs); !differ.ok()) return differ;
  std::unique_ptr<OutputFile>* const files[] = {&output_, &svg_, &html_};
  for (size_t i = 0; i < std::size(outputs); ++i) {
    if (outputs[i].path.empty()) continue;
    absl::StatusOr<std::unique_ptr<OutputFile>> created =
        OutputFile::Create(outputs[i], OutputFile::Mode::kWhole);
    if (!created.ok()) return created.status();
    *files[i] = *std::move(created);
  }
  return absl::OkStatus();
}

absl::Status AnalyzeRun::ReadInputs() {
  const auto new_readers = [this] {
    std::vector<std::unique_ptr<JsonLines>> readers;
    readers.reserve(analyzers_.size());
    for (const auto& analyzer : analyzers_)
      readers.push_back(std::make_unique<JsonLines>(*analyzer));
    return readers;
  };
  BlockQueue blocks(new_readers, options_.threads - 1);
  absl::Status status;
  for (const std::string& input : options_.inputs) {
    if (status.ok() && !no_unit_ && !Interrupted()) status = ReadInput(input, blocks);
  }
  return status;
}

absl::Status AnalyzeRun::ReadInput(const std::string& path, BlockQueue& blocks) {
  input_name_ = Printable(InputName(path));
  line_number_ = 0;
  absl::StatusOr<OpenedInput> opened = OpenInput(path, *this, read_);
  if (!opened.ok()) return absl::IsCancelled(opened.status()) ? absl::OkStatus() : opened.status();
  blocks.Open(std::move(opened->source), opened->live);
  while (!no_unit_ && !Interrupted()) {
    BlockQueue::Block& block = blocks.Next();
    if (absl::IsCancelled(block.status)) return absl::OkStatus();
    if (!block.status.ok()) return block.status;
    if (block.kind == LineBlock::Kind::kEnd) break;
    if (block.kind == LineBlock::Kind::kLines) {
      AddLines(block);
    } else {
      AddLongLine(block.kind, block.text);
    }
    ShowProgress();
  }
  return absl::OkStatus();
}

void AnalyzeRun::AddLines(BlockQueue::Block& block) {
  const uint64_t before = line_number_;
  for (size_t i = 0; i < analyzers_.size(); ++i) {
    line_number_ = before + block.lines[i]->left();
    analyzers_[i]->Add(*block.lines[i], [&](const UnusualLine& line) {
      if (i == 0) unusable_.Add(input_name_, line.text);
      NoteUnusualLine(before + line.index + 1, line.result);
      return !no_unit_;
    });
    if (no_unit_) break;
  }
  SayBadLines();
}

// A piece of a line over the limit.
void AnalyzeRun::AddLongLine(LineBlock::Kind kind, std::string_view text) {
  if (kind != LineBlock::Kind::kLongBegin) return;
  ++line_number_;
  unusable_.Add(input_name_, text);
  for (const auto& analyzer : analyzers_)
    NoteUnusualLine(line_number_, analyzer->AddLine(text.substr(0, kLineBytesShown)));
  SayBadLines();
}

void AnalyzeRun::NoteUnusualLine(uint64_t line, const LineResult& result) {
  no_unit_ |= result.kind == LineResult::Kind::kNoUnit;
  if (no_unit_ || result.kind == LineResult::Kind::kBad) bad_.emplace_back(line, result.reason);
}

// In the order of lines; what is wrong for several keys once.
void AnalyzeRun::SayBadLines() {
  std::ranges::sort(bad_);
  const auto same = std::ranges::unique(bad_);
  bad_.erase(same.begin(), same.end());
  for (const auto& [line, reason] : bad_) {
    if (no_unit_ || bad_said_ < kBadLinesShown)
      Say(input_name_ + ":" + std::to_string(line) + ": " + reason);
    ++bad_said_;
  }
  bad_.clear();
}

// Called when the input is a pipe and the like: sleeps until it has something, or somebody wants the end.
bool AnalyzeRun::AwaitInput(int fd) {
  pollfd watched[] = {{fd, POLLIN, 0}, {InterruptFd(), POLLIN, 0}};
  for (;;) {
    const int ready = poll(watched, std::size(watched), -1);
    if (Interrupted()) return false;
    if (ready > 0 && watched[0].revents != 0) return true;
  }
}

// ---

std::vector<KeyAnalysis> AnalyzeRun::Finish() {
  std::vector<KeyAnalysis> keys;
  for (size_t i = 0; i < analyzers_.size(); ++i) {
    std::unique_ptr<const Analysis> analysis = std::move(*analyzers_[i]).Finish();
    Recommendation recommended = Recommend(*analysis, options_.goal);
    keys.push_back({options_.keys[i], std::move(analysis), std::move(recommended), compound_[i]});
  }
  return keys;
}

absl::Status AnalyzeRun::Write(const std::vector<KeyAnalysis>& keys) {
  std::string text;
  for (const KeyAnalysis& key : keys) {
    if (!options_.json && !text.empty()) text += '\n';
    text += options_.json ? AnalysisJson(key) : AnalysisTable(key);
  }
  const std::pair<OutputFile*, std::string> files[] = {
      {output_.get(), std::move(text)},
      {html_.get(), html_ == nullptr ? "" : AnalysisPage(keys, SourceName())},
      {svg_.get(), svg_ == nullptr ? "" : AnalysisSvg(keys)}};
  for (const auto& [file, content] : files) {
    if (file == nullptr) continue;
    if (absl::Status appended = file->Append(content); !appended.ok()) return appended;
    if (absl::Status written = file->Commit(); !written.ok()) return written;
  }
  return absl::OkStatus();
}

void AnalyzeRun::SayLeftOut(const std::vector<KeyAnalysis>& keys) {
  for (const KeyAnalysis& key : keys) {
    if (key.analysis->left_out == 0) continue;
    Say("pleat analyze: " + Printable(key.key) + ": " + Counted(key.analysis->left_out, "event") +
        " left out: --max-memory reached; what follows is of the others");
  }
}

std::string AnalyzeRun::Summary(const std::vector<KeyAnalysis>& keys) const {
  const double seconds = std::max(1e-6, std::chrono::duration<double>(clock_.Elapsed()).count());
  const LineCounts counts = analyzers_.front()->counts();
  std::string out;
  for (size_t i = 0; i < keys.size(); ++i) {
    const Analysis& analysis = *keys[i].analysis;
    out += Printable(keys[i].key) + ": " + Counted(analysis.keys, "key") + " took " +
           ByteText(static_cast<double>(analysis.bytes)) + " of the " +
           ByteText(static_cast<double>(options_.analyzer.max_bytes)) + " allowed";
    if (const uint64_t bad = analyzers_[i]->counts().bad; bad > 0)
      out += "; " + Counted(bad, "bad line");
    out += '\n';
  }
  const auto per_second = [seconds](uint64_t n) { return static_cast<double>(n) / seconds; };
  char took[32];
  std::snprintf(took, sizeof(took), "took %.2f s, ", seconds);
  return out + took + Grouped(static_cast<uint64_t>(per_second(counts.lines))) + " lines/s, " +
         ByteText(per_second(read_.bytes)) + "/s read\n";
}

std::string AnalyzeRun::SourceName() const {
  std::string names;
  for (const std::string& input : options_.inputs) {
    const std::string name = InputName(input);
    names += (names.empty() ? "" : ", ") + Printable(name.substr(name.rfind('/') + 1));
  }
  return names;
}

bool AnalyzeRun::NoLineUsable() const {
  const bool no_line = analyzers_.empty() || analyzers_.front()->counts().lines == 0;
  return !no_line && std::ranges::all_of(
                         analyzers_, [](const auto& each) { return each->counts().events == 0; });
}

bool AnalyzeRun::HasBadLines() const {
  return std::ranges::any_of(analyzers_, [](const auto& each) { return each->counts().bad > 0; });
}

bool AnalyzeRun::HasLeftOut() const {
  return std::ranges::any_of(analyzers_,
                             [](const auto& each) { return each->analyzer().left_out() > 0; });
}

void AnalyzeRun::Say(std::string line) {
  progress_.Clear();
  if (line.empty() || line.back() != '\n') line += '\n';
  [[maybe_unused]] const ssize_t ignored = write(STDERR_FILENO, line.data(), line.size());
}

void AnalyzeRun::ShowProgress() {
  const Duration elapsed = clock_.Elapsed();
  if (!progress_.Due(elapsed)) return;
  const JsonAnalyzer& first = *analyzers_.front();
  progress_.Draw({read_.bytes, first.counts().lines, first.analyzer().keys(), "keys"}, elapsed);
}

}  // namespace pleat::cli
