// The results of one run of pleat_bench, read from the JSON it writes, or from what is kept of that: of
// each processor model the newest run, a file in bench/results with the medians of what was measured.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pleat::bench {

class Results {
 public:
  // Throws std::runtime_error if the file is neither.
  explicit Results(const std::string& path);

  // What is to be kept: the figures that were asked for until now. And the name of the file for it, which
  // is that of every run on this model.
  std::string Kept() const;
  std::string FileName() const;
  // The processor's model in short: "Intel Xeon" for "Intel(R) Xeon(R) Processor".
  std::string Model() const;

  // The median over the repetitions of a figure of the benchmark `name`, which is its name without
  // suffixes such as /real_time. Absent if there is none.
  std::optional<double> Figure(std::string_view name, std::string_view figure) const;
  // The numbers N of the benchmarks PREFIX/N, in order.
  std::vector<uint64_t> Sizes(std::string_view prefix) const;

  // Events (lines, groups) per second.
  std::optional<double> Rate(std::string_view name) const {
    return Figure(name, "items_per_second");
  }

  // Why the benchmark gave no figures; empty if it did, or was not run.
  std::string_view Error(std::string_view name) const;

  // What the program said of the machine and the build; "unknown" if it did not.
  std::string_view Context(std::string_view key) const;

 private:
  struct Benchmark {
    std::map<std::string, std::vector<double>, std::less<>> figures;  // one of each repetition
    std::string error;
  };

  std::map<std::string, Benchmark, std::less<>> benchmarks_;
  std::map<std::string, std::string, std::less<>> context_;
  mutable std::set<std::pair<std::string, std::string>> asked_;  // benchmarks and their figures
};

}  // namespace pleat::bench
