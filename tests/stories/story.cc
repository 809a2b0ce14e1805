#include "tests/stories/story.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <regex>
#include <sstream>
#include <utility>

#include <gtest/gtest.h>

#include "tests/cli/run_pleat.h"
#include "tests/model/plain_live_set_options.h"
#include "tests/model/plain_options.h"
#include "tests/model/plain_rollup_options.h"

namespace pleat::cli {
namespace {

// "@70" becomes the text of the instant at 70 s.
std::string WithInstants(const std::string& line) {
  static const std::regex kInstant("\":@([0-9]+)");
  std::string out;
  std::string rest = line;
  for (std::smatch match; std::regex_search(rest, match, kInstant); rest = match.suffix()) {
    const int seconds = std::stoi(match[1]);
    char text[64];
    std::snprintf(text, sizeof(text), "\":\"1970-01-01T00:%02d:%02d.000000Z\"", seconds / 60,
                  seconds % 60);
    out += match.prefix().str() + text;
  }
  return out + rest;
}

class Reader {
 public:
  explicit Reader(std::string path) : path_(std::move(path)) {}

  std::vector<Story> Read() {
    std::ifstream in(path_);
    for (std::string line; std::getline(in, line);) {
      ++number_;
      if (!line.empty() && !line.starts_with('#') && !Understand(line)) {
        std::fprintf(stderr, "%s:%d: %s?\n", path_.c_str(), number_, line.c_str());
        std::abort();
      }
    }
    return std::move(stories_);
  }

 private:
  bool Understand(const std::string& line) {
    const auto rest = [&line](std::string_view mark) { return line.substr(mark.size()); };
    if (line.starts_with("... ")) return common_ = rest("... "), true;
    if (line.starts_with("=== ")) return Begin(rest("=== "));
    if (stories_.empty()) return false;
    for (const std::string command : {"fold", "live", "rollup"}) {
      const std::string mark = "$ pleat " + command + ' ';
      if (line.starts_with(mark)) return AddRun(command, rest(mark));
    }
    if (stories_.back().runs.empty()) return false;
    StoryRun& run = stories_.back().runs.back();
    if (line.starts_with("> ")) return AddInput(run, rest("> "));
    if (line.starts_with('{')) return AddOutput(run, WithInstants(line) + '\n');
    if (line.starts_with("! ")) return run.err += rest("! ") + '\n', true;
    if (line.starts_with("= ")) return AddStats(run, rest("= "));
    if (line.starts_with("exit ")) return run.code = std::stoi(rest("exit ")), true;
    return false;
  }

  bool Begin(const std::string& name) {
    const size_t dot = name.find('.');
    if (dot == std::string::npos) return false;
    stories_.push_back({name.substr(0, dot), name.substr(dot + 1), path_, number_});
    return true;
  }

  bool AddRun(const std::string& command, std::string options) {
    if (options.starts_with("...")) options.replace(0, 3, common_);
    StoryRun run{
        .command = command, .options = std::move(options), .lines = lines_, .in_step = false};
    for (StoryLine& line : run.lines) line.out.clear();
    stories_.back().runs.push_back(std::move(run));
    return true;
  }

  bool AddInput(StoryRun& run, const std::string& line) {
    if (!std::exchange(run.in_step, true)) run.lines.clear();
    run.lines.push_back({line + '\n'});
    lines_ = run.lines;
    return true;
  }

  static bool AddOutput(StoryRun& run, const std::string& line) {
    run.out += line;
    if (run.in_step) run.lines.back().out += line;
    return true;
  }

  static bool AddStats(StoryRun& run, const std::string& text) {
    std::istringstream in(text);
    std::string name;
    for (double value; in >> name >> value; in.ignore(1)) run.stats[name] = value;
    return in.eof();
  }

  const std::string path_;
  int number_ = 0;
  std::string common_;            // what "..." stands for
  std::vector<StoryLine> lines_;  // the latest ones, for a command that has none of its own
  std::vector<Story> stories_;
};

void ExpectStats(const std::string& stats, const StoryRun& run) {
  std::map<std::string, double> seen = ParseStats(stats);
  for (const auto& [name, value] : run.stats) EXPECT_EQ(seen.at(name), value) << name << stats;
}

// What it counts.
std::string TellPleat(const StoryRun& run, const std::string& input) {
  SCOPED_TRACE("pleat, standard input");
  const RunResult result = RunCommand(run.command, run.options, input);
  EXPECT_EQ(result.out, run.out);
  EXPECT_EQ(result.err, run.err);
  EXPECT_EQ(result.code, run.code);
  ExpectStats(result.stats, run);
  return result.stats;
}

void TellPleatWithThreads(const StoryRun& run, const std::string& input, const std::string& stats) {
  SCOPED_TRACE("pleat --threads 3 FILE");
  TemporaryDirectory directory;
  const RunResult result =
      RunCommand(run.command, run.options + " --threads 3 " + directory.Write("in", input), "");
  EXPECT_EQ(result.out, run.out);
  EXPECT_EQ(result.stats, stats);
}

// `end` is what the model does at the end of its input.
template <class Model, class End>
void TellLines(Model& model, const End& end, const StoryRun& run, const std::string& stats) {
  std::string all;
  for (const StoryLine& line : run.lines) {
    std::string out;
    const std::string_view text(line.in.data(), line.in.size() - 1);
    EXPECT_TRUE(model.AddLine(text, out)) << line.in;
    if (&line == &run.lines.back()) end(out);
    if (run.in_step) {
      EXPECT_EQ(out, line.out) << "after " << line.in;
    }
    all += out;
  }
  EXPECT_EQ(all, run.out);
  EXPECT_EQ(ParseStats(model.Stats()), ParseStats(stats)) << model.Stats() << stats;
}

void TellFoldModel(const StoryRun& run, const std::string& stats) {
  const PlainCall call = ReadPlainOptions(WordsOf(run.options));
  ASSERT_EQ(call.unknown, "");
  NdjsonModel model(call.options);
  TellLines(model, [&](std::string& out) { model.End(out); }, run, stats);
  EXPECT_TRUE(model.ledger().Balances());
}

void TellLiveSetModel(const StoryRun& run, const std::string& stats) {
  const PlainLiveSetCall call = ReadPlainLiveSetOptions(WordsOf(run.options));
  ASSERT_EQ(call.unknown, "");
  LiveSetLinesModel model(call.options);
  TellLines(model, [&](std::string& out) { model.End(out); }, run, stats);
}

void TellRollupModel(const StoryRun& run, const std::string& stats) {
  const PlainRollupCall call = ReadPlainRollupOptions(WordsOf(run.options));
  ASSERT_EQ(call.unknown, "");
  RollupLinesModel model(call.options);
  TellLines(model, [&](std::string& out) { model.End(out); }, run, stats);
}

void TellModel(const StoryRun& run, const std::string& stats) {
  SCOPED_TRACE("the model");
  if (run.command == "fold") return TellFoldModel(run, stats);
  if (run.command == "live") return TellLiveSetModel(run, stats);
  TellRollupModel(run, stats);
}

}  // namespace

std::vector<Story> ReadStories(const std::string& path) { return Reader(path).Read(); }

void Tell(const StoryRun& run) {
  std::string input;
  for (const StoryLine& line : run.lines) input += line.in;
  SCOPED_TRACE(run.options);
  const std::string stats = TellPleat(run, input);
  TellPleatWithThreads(run, input, stats);
  TellModel(run, stats);
}

}  // namespace pleat::cli
