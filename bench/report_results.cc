#include "bench/report_results.h"

#include <simdjson.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace pleat::bench {
namespace {

// "job/uniform_1M/pleat_batch/iterations:1/manual_time" without its last two steps.
std::string WithoutSuffixes(std::string_view name) {
  for (size_t slash; (slash = name.rfind('/')) != name.npos; name = name.substr(0, slash)) {
    const std::string_view step = name.substr(slash + 1);
    if (step != "real_time" && step != "manual_time" && step.find(':') == step.npos) break;
  }
  return std::string(name);
}

// Google Benchmark writes the spread of a counter that is always 0 as NaN, which JSON does not have.
simdjson::padded_string ReadJson(const std::string& path) {
  std::ifstream file(path);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  constexpr std::string_view kNan = ": NaN";
  for (size_t at = 0; (at = text.find(kNan, at)) != text.npos;)
    text.replace(at, kNan.size(), ": 0");
  return simdjson::padded_string(text);
}

// Of what the program says of the machine and the build, what a report says.
constexpr const char* kContextKept[] = {"build_type", "command", "commit", "compiler", "cpu",
                                        "date",       "kernel",  "memory", "num_cpus"};

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
}

// Of text without control characters.
std::string Quoted(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out + "\"";
}

}  // namespace

Results::Results(const std::string& path) {
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  const simdjson::padded_string text = ReadJson(path);
  if (parser.parse(text).get(root) != simdjson::SUCCESS) {
    throw std::runtime_error(path + " is not a JSON file");
  }
  for (const auto& [key, value] : simdjson::dom::object(root["context"])) {
    if (value.is_string()) context_.emplace(key, std::string_view(value));
    if (value.is_int64()) context_.emplace(key, std::to_string(int64_t(value)));
  }
  for (const simdjson::dom::element run : simdjson::dom::array(root["benchmarks"])) {
    std::string_view type;
    if (run["run_type"].get(type) == simdjson::SUCCESS && type != "iteration") continue;
    Benchmark& benchmark = benchmarks_[WithoutSuffixes(run["name"])];
    std::string_view error;
    if (run["error_message"].get(error) == simdjson::SUCCESS) benchmark.error = error;
    for (const auto& [key, value] : simdjson::dom::object(run)) {
      double figure = 0;
      if (value.get(figure) == simdjson::SUCCESS) {
        benchmark.figures[std::string(key)].push_back(figure);
      }
    }
  }
}

std::optional<double> Results::Figure(std::string_view name, std::string_view figure) const {
  const auto benchmark = benchmarks_.find(name);
  if (benchmark == benchmarks_.end() || !benchmark->second.error.empty()) return std::nullopt;
  const auto found = benchmark->second.figures.find(figure);
  if (found == benchmark->second.figures.end()) return std::nullopt;
  asked_.emplace(name, figure);
  return Median(found->second);
}

std::string Results::Kept() const {
  std::string out = "{\"context\": {";
  const char* separator = "\n";
  for (const char* key : kContextKept) {
    out.append(separator).append(Quoted(key)).append(": ").append(Quoted(Context(key)));
    separator = ",\n";
  }
  out += "},\n\"benchmarks\": [";
  separator = "\n";
  for (const auto& [name, benchmark] : benchmarks_) {
    std::string figures;
    if (!benchmark.error.empty()) figures = ", \"error_message\": " + Quoted(benchmark.error);
    for (const auto& [key, values] : benchmark.figures) {
      if (!asked_.contains({name, key})) continue;
      char figure[32];
      std::snprintf(figure, sizeof(figure), "%.7g", Median(values));
      figures.append(", ").append(Quoted(key)).append(": ").append(figure);
    }
    if (figures.empty()) continue;
    out.append(separator).append("{\"name\": ").append(Quoted(name)).append(figures).append("}");
    separator = ",\n";
  }
  return out + "]}\n";
}

std::string Results::FileName() const {
  std::string name;
  for (unsigned char c : Model()) {
    if (std::isalnum(c)) {
      name += static_cast<char>(std::tolower(c));
    } else if (!name.empty() && name.back() != '-') {
      name += '-';
    }
  }
  return name + ".json";
}

std::string Results::Model() const {
  std::string model(Context("cpu"));
  model.resize(std::min(model.find(" @"), model.size()));  // its speed
  for (const std::string_view word : {"(R)", "(TM)", "(tm)", " CPU", " Processor"}) {
    for (size_t at; (at = model.find(word)) != model.npos;) model.erase(at, word.size());
  }
  return model;
}

std::vector<uint64_t> Results::Sizes(std::string_view prefix) const {
  std::vector<uint64_t> sizes;
  for (const auto& [name, benchmark] : benchmarks_) {
    if (!name.starts_with(prefix) || name.size() <= prefix.size() + 1) continue;
    const std::string rest = name.substr(prefix.size());
    if (rest[0] != '/' || rest.find_first_not_of("0123456789", 1) != rest.npos) continue;
    sizes.push_back(std::stoull(rest.substr(1)));
  }
  std::sort(sizes.begin(), sizes.end());
  return sizes;
}

std::string_view Results::Error(std::string_view name) const {
  const auto benchmark = benchmarks_.find(name);
  return benchmark == benchmarks_.end() ? std::string_view() : benchmark->second.error;
}

std::string_view Results::Context(std::string_view key) const {
  const auto found = context_.find(key);
  return found == context_.end() ? std::string_view("unknown") : found->second;
}

}  // namespace pleat::bench
