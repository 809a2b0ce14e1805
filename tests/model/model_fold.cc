// model_fold: a naive `pleat fold` for files on event time, to hold the real one against. It takes
// the options of `pleat fold` that say what comes out (and ignores --threads and --quiet-summary,
// which do not), reads plain NDJSON files, and believes that its arguments are right.
#include <fstream>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "tests/model/ndjson_model.h"
#include "tests/support/plain_time.h"

namespace pleat::inline v0 {
namespace {

PlainPath ReadPath(const std::string& text) {
  const bool pointer = text.starts_with('/');
  PlainPath steps(1);
  for (size_t i = pointer ? 1 : 0; i < text.size(); ++i) {
    if (text[i] == (pointer ? '/' : '.')) {
      steps.emplace_back();
    } else if (pointer && text[i] == '~') {
      steps.back() += text[++i] == '0' ? '~' : '/';
    } else {
      steps.back() += text[i];
    }
  }
  return steps;
}

// Takes all before the first `separator` off `text`; nothing if there is none.
std::string TakeUntil(char separator, std::string& text) {
  const size_t at = text.find(separator);
  if (at == std::string::npos) return "";
  const std::string before = text.substr(0, at);
  text.erase(0, at + 1);
  return before;
}

void AddKeys(std::string text, NdjsonOptions& options) {
  text += ',';
  while (!text.empty()) {
    std::string field = TakeUntil(',', text);
    std::string name = TakeUntil('=', field);
    PlainPath path = ReadPath(field);
    if (name.empty()) name = path.back();
    options.key.push_back({std::move(name), std::move(path)});
  }
}

void AddMerge(std::string text, NdjsonOptions& options) {
  NdjsonOptions::Merge merge;
  merge.name = TakeUntil('=', text);
  merge.reducer = TakeUntil('(', text);
  text.pop_back();
  if (!text.empty()) merge.path = ReadPath(text);
  options.merges.push_back(std::move(merge));
}

bool SetOption(const std::string& name, const std::string& text, NdjsonOptions& options) {
  if (name == "--key") return AddKeys(text, options), true;
  if (name == "--merge") return AddMerge(text, options), true;
  if (name == "--time") return options.time = ReadPath(text), true;
  if (name == "--time-unit") return options.time_unit = text, true;
  if (name == "--quiet") return options.folder.quiet_period = ReadPlainDuration(text), true;
  if (name == "--max-hold") return options.folder.max_hold = ReadPlainDuration(text), true;
  if (name == "--max-events") return options.folder.max_events = std::stoull(text), true;
  if (name == "--lateness") return options.engine.lateness = ReadPlainDuration(text), true;
  if (name == "--accept-limit") return options.folder.accept_limit = ReadPlainDuration(text), true;
  if (name == "--future-limit") return options.engine.future_limit = ReadPlainDuration(text), true;
  if (name == "--at-end") return options.drop_at_end = text == "drop", true;
  return name == "--threads";
}

int Run(const std::vector<std::string>& arguments) {
  NdjsonOptions options;
  std::vector<std::string> files;
  std::string stats;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument == "--quiet-summary") continue;
    if (argument == "--no-meta") {
      options.meta = false;
    } else if (!argument.starts_with("--")) {
      files.push_back(argument);
    } else if (i + 1 < arguments.size() && argument == "--stats") {
      stats = arguments[++i];
    } else if (i + 1 == arguments.size() || !SetOption(argument, arguments[i + 1], options)) {
      std::cerr << "model_fold: " << argument << "?\n";
      return 2;
    } else {
      ++i;
    }
  }

  NdjsonModel model(options);
  std::string out;
  for (const std::string& file : files) {
    std::ifstream in(file, std::ios::binary);
    for (std::string line; std::getline(in, line);) {
      if (!model.AddLine(line, out)) return 2;
      std::cout << std::exchange(out, "");
    }
    if (!in.eof()) return 1;
  }
  model.End(out);
  std::cout << out << std::flush;
  if (!stats.empty()) std::ofstream(stats, std::ios::binary) << model.Stats();
  return std::cout.good() ? 0 : 1;
}

}  // namespace
}  // namespace pleat::inline v0

int main(int argc, char** argv) { return pleat::Run({argv + 1, argv + argc}); }
