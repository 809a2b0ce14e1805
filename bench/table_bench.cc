// A table of ten columns folded as `pleat fold` does with one thread, from the bytes of the input to the text of
// the emissions, beside the same rows as lines of JSON.
//
//   tables/ndjson        the lines that the rows become
//   tables/csv           the table
//   tables/csv_quoted    the table with all fields in quotes
#include <algorithm>
#include <memory>
#include <string>
#include <string_view>

#include <benchmark/benchmark.h>
#include <pleat/json.h>

#include "bench/table_text.h"
#include "tools/pleat/line_reader.h"

namespace pleat::bench {
namespace {

using namespace std::chrono_literals;

constexpr size_t kRows = 200'000;
constexpr size_t kLineBytes = 512;  // of a row as JSON, at most

enum class Form { kLines, kTable, kQuotedTable };

FoldSpec Spec() {
  FoldSpec spec;
  spec.event.key = {{.name = "user", .path = "user"}};
  spec.event.time = "time";
  spec.event.time_unit = TimeUnit::kMilliseconds;
  spec.folder.quiet_period = 1min;
  spec.merges = {{.name = "bytes", .reducer = Reducer::kSum, .path = "bytes"},
                 {.name = "slowest", .reducer = Reducer::kMax, .path = "latency_ms"}};
  return spec;
}

// Pieces of the size that `pleat fold` hands on.
template <class F>
void ForEachPiece(std::string_view lines, F&& take) {
  constexpr size_t kPieceBytes = 16 * 1024;
  while (!lines.empty()) {
    const size_t cut =
        lines.size() <= kPieceBytes ? lines.size() : lines.rfind('\n', kPieceBytes) + 1;
    take(lines.substr(0, cut));
    lines.remove_prefix(cut);
  }
}

// Returns the text of the emissions.
std::string Fold(std::unique_ptr<cli::ByteSource> source) {
  const FoldSpec spec = Spec();
  const auto engine = *Engine::Open(EngineOptionsFor(spec.event));
  const auto folder = *JsonFolder::Open(*engine, "table", spec);
  cli::LineReader reader(std::move(source));
  std::string out;
  for (;;) {
    const cli::LineBlock block = *reader.Next();
    if (block.kind != cli::LineBlock::Kind::kLines) break;
    ForEachPiece(block.text, [&](std::string_view piece) {
      folder->FoldLines(piece, kBeginningOfTime, [](const UnusualLine&) { return false; });
      folder->Pop(SIZE_MAX, out);
    });
  }
  folder->CloseAll();
  folder->Pop(SIZE_MAX, out);
  return folder->counts().events == kRows ? out : std::string();
}

const std::string& TextOf(Form form) {
  static const std::string table = TableText(kRows, "");
  static const std::string quoted = TableText(kRows, "\"");
  static const std::string lines = [] {
    std::string all(kRows * kLineBytes, '\0');
    ReadAll(*LinesOfTable(table), all);
    return all;
  }();
  return form == Form::kLines ? lines : form == Form::kTable ? table : quoted;
}

void Run(benchmark::State& state, Form form) {
  const std::string& text = TextOf(form);
  static const std::string emissions = Fold(SourceOf(TextOf(Form::kLines)));
  for (auto _ : state) {
    const std::string out = Fold(form == Form::kLines ? SourceOf(text) : LinesOfTable(text));
    if (out.empty() || out != emissions) {
      state.SkipWithError("other emissions than those of the lines");
      return;
    }
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations() * kRows));
}

const bool kRegistered = [] {
  const auto add = [](const char* name, Form form) {
    benchmark::RegisterBenchmark((std::string("tables/") + name).c_str(), Run, form)->UseRealTime();
  };
  add("ndjson", Form::kLines);
  add("csv", Form::kTable);
  add("csv_quoted", Form::kQuotedTable);
  return true;
}();

}  // namespace
}  // namespace pleat::bench
