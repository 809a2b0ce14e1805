// The results of one run of pleat_bench, read from the JSON it writes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pleat::bench {

class Results {
 public:
  // Throws std::runtime_error if the file is not what pleat_bench writes.
  explicit Results(const std::string& path);

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
};

}  // namespace pleat::bench
