#include "tools/pleat/analyze/analyze_run.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "tools/pleat/advice.h"
#include "tools/pleat/analyze/analysis_chart.h"
#include "tools/pleat/analyze/analysis_page.h"
#include "tools/pleat/analyze/analyze_output.h"
#include "tools/pleat/console.h"
#include "tools/pleat/errno_status.h"
#include "tools/pleat/interrupt.h"
#include "tools/pleat/quantity_text.h"
#include "tools/pleat/unit_advice.h"

namespace pleat::cli {

absl::Status AnalyzeRun::Open() {
  for (const std::string& key : options_.keys) {
    EventSpec spec = options_.event;
    if (absl::Status set = SetOption(spec, "key", key); !set.ok()) return set;
    absl::StatusOr<std::unique_ptr<JsonAnalyzer>> analyzer =
        JsonAnalyzer::Open(spec, options_.analyzer);
    if (!analyzer.ok()) return analyzer.status();
    analyzers_.push_back(*std::move(analyzer));
    compound_.push_back(spec.key.size() > 1 || key.empty());
  }
  return absl::OkStatus();
}

std::vector<WantedOutput> AnalyzeRun::Outputs() {
  using Mode = OutputFile::Mode;
  WantedOutput svg{NamedOutput("--svg", options_.svg_file), Mode::kWhole, svg_};
  svg.replaces = kSvgBeginning;
  WantedOutput html{NamedOutput("--html", options_.html_file), Mode::kWhole, html_};
  html.replaces = kPageBeginning;
  return {std::move(svg), std::move(html)};
}

// A line counts as an event if it is one for any key, and likewise as invalid.
LineJob::Tally AnalyzeRun::tally() const {
  const JsonAnalyzer& first = *analyzers_.front();
  Tally total{first.counts(), false, first.analyzer().keys(),
              first.analyzer().keys() == 1 ? "key" : "keys"};
  for (const auto& analyzer : analyzers_) {
    const LineCounts counts = analyzer->counts();
    total.lines.events = std::max(total.lines.events, counts.events);
    total.lines.invalid = std::max(total.lines.invalid, counts.invalid);
    total.lost_events |= analyzer->analyzer().left_out() > 0;
  }
  return total;
}

// ---

LineJob::Readers AnalyzeRun::NewReaders() {
  Readers readers;
  readers.reserve(analyzers_.size());
  for (const auto& analyzer : analyzers_)
    readers.push_back(std::make_unique<JsonLines>(analyzer->plan()));
  return readers;
}

// Invalid lines are noted in the order of the input, and a reason that several keys have once.
void AnalyzeRun::TakeLines(Readers& readers) {
  using Noted =
      std::tuple<int64_t, std::string, LineResult::Kind, std::string_view, const OptionPath*>;
  std::vector<Noted> unusual;
  for (size_t i = 0; i < analyzers_.size(); ++i) {
    analyzers_[i]->Add(*readers[i], [&](const UnusualLine& line) {
      unusual.emplace_back(line.index, line.result.reason, line.result.kind, line.text,
                           line.result.about);
      return line.result.kind != LineResult::Kind::kNoUnit;
    });
  }
  std::ranges::sort(unusual);
  // Each key has a path of its own to be about.
  const auto same = std::ranges::unique(unusual, {}, [](const Noted& noted) {
    return std::tie(std::get<0>(noted), std::get<1>(noted));
  });
  unusual.erase(same.begin(), same.end());
  for (const auto& [index, reason, kind, text, about] : unusual) {
    if (stopped()) return;
    NoteUnusual({index, text, {.kind = kind, .reason = reason, .about = about}});
  }
}

LineResult AnalyzeRun::TakeLongLine(std::string_view beginning) {
  LineResult result;
  for (const auto& analyzer : analyzers_) result = analyzer->AddLine(beginning);
  return result;
}

// ---

void AnalyzeRun::Conclude() {
  if (!complete() || unusable()) return;
  if (Interrupted()) Say("interrupted: what follows is of what was read so far");
  const std::vector<KeyAnalysis> keys = Analyses();
  SayLeftOut(keys);
  Write(keys);
  if (options_.quiet_summary || !complete()) return;
  SayPlain(Summary(keys));
  const std::string excluded = AboutExcluded(options_, first_line(), analyzers_.front()->counts());
  if (!excluded.empty()) Say(excluded);
  const bool assumed_utc =
      std::ranges::any_of(analyzers_, [](const auto& analyzer) { return analyzer->assumed_utc(); });
  const Analysis& any = *keys.front().analysis;
  const std::string advice = AdviceOnUnit(options_.event.time_unit, any.first, any.last);
  if (any.events > 0 && !advice.empty()) Say(advice);
  if (const std::string days = AboutDays(options_, first_line()); !days.empty()) Say(days);
  if (assumed_utc) Say(std::string(kAssumedUtc));
  const std::string nulls = AboutNotNumbers(analyzers_.front()->counts());
  if (!nulls.empty()) Say(nulls);
}

std::vector<KeyAnalysis> AnalyzeRun::Analyses() {
  std::vector<KeyAnalysis> keys;
  for (size_t i = 0; i < analyzers_.size(); ++i) {
    const uint64_t out_of_order = analyzers_[i]->out_of_order();
    std::unique_ptr<const Analysis> analysis = std::move(*analyzers_[i]).Finish();
    Recommendation recommended = Recommend(*analysis, options_.goal);
    keys.push_back({options_.keys[i], std::move(analysis), std::move(recommended), compound_[i],
                    out_of_order});
  }
  return keys;
}

void AnalyzeRun::Write(const std::vector<KeyAnalysis>& keys) {
  std::string text;
  for (const KeyAnalysis& key : keys) {
    if (!options_.json && !text.empty()) text += '\n';
    text += options_.json ? AnalysisJson(key) : AnalysisTable(key);
  }
  const std::pair<OutputFile*, std::string> files[] = {
      {&output(), std::move(text)},
      {html_.get(), html_ == nullptr ? "" : AnalysisPage(keys, SourceName())},
      {svg_.get(), svg_ == nullptr ? "" : AnalysisSvg(keys)}};
  for (const auto& [file, content] : files) {
    if (file == nullptr || !complete()) continue;
    absl::Status written = file->Append(content);
    written.Update(file->Commit());
    StopFor(written);
  }
}

void AnalyzeRun::SayLeftOut(const std::vector<KeyAnalysis>& keys) {
  for (const KeyAnalysis& key : keys) {
    if (key.analysis->left_out == 0) continue;
    Say(Printable(key.shown()) + ": " + Counted(key.analysis->left_out, "event") +
        " left out: --max-memory reached; what follows is of the others");
  }
}

std::string AnalyzeRun::Summary(const std::vector<KeyAnalysis>& keys) const {
  const double seconds = std::max(1e-6, std::chrono::duration<double>(elapsed()).count());
  const LineCounts counts = analyzers_.front()->counts();
  std::string out;
  for (size_t i = 0; i < keys.size(); ++i) {
    const Analysis& analysis = *keys[i].analysis;
    out += Printable(keys[i].shown()) + ": " + Counted(analysis.keys, "key") + " took " +
           ByteText(static_cast<double>(analysis.bytes)) + " of the " +
           ByteText(static_cast<double>(options_.analyzer.max_bytes)) + " allowed";
    if (const uint64_t invalid = analyzers_[i]->counts().invalid; invalid > 0)
      out += "; " + Counted(invalid, "invalid line");
    if (const uint64_t excluded = analyzers_[i]->counts().excluded; excluded > 0)
      out += "; " + Counted(excluded, "line") + " excluded";
    out += '\n';
  }
  const auto per_second = [seconds](uint64_t n) { return static_cast<double>(n) / seconds; };
  return out + "took " + FixedText(seconds, 2) + " s, " +
         Grouped(static_cast<uint64_t>(per_second(counts.lines))) + " lines/s, " +
         ByteText(per_second(bytes_read())) + "/s read\n";
}

std::string AnalyzeRun::SourceName() const {
  std::string names;
  for (const std::string& input : options_.inputs) {
    const std::string name = InputName(input);
    names += (names.empty() ? "" : ", ") + Printable(name.substr(name.rfind('/') + 1));
  }
  return names;
}

int AnalyzeMain(int argc, const char* const* argv) {
  absl::StatusOr<AnalyzeOptions> options = ParseAnalyzeOptions(argc, argv);
  if (!options.ok()) return Complain("analyze", options.status());
  if (options->help) return Print(AnalyzeHelp());
  return AnalyzeRun(*options).Run();
}

}  // namespace pleat::cli
