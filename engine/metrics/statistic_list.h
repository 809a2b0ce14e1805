// A StatisticList is where a collection writes its statistics down. Those that several kinds have
// in common get their names and help here, so that they are one family each.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <pleat/metrics.h>

namespace pleat::inline v0_1 {

class StatisticList {
 public:
  // A count for each value of a label.
  using Counts = std::initializer_list<std::pair<std::string_view, uint64_t>>;

  void Counter(std::string_view name, std::string_view help, uint64_t count) {
    Add(name, Statistic::Type::kCounter, help, static_cast<double>(count));
  }
  void Counter(std::string_view name, std::string_view help, std::string_view label, Counts counts);
  void Gauge(std::string_view name, std::string_view help, uint64_t value) {
    Add(name, Statistic::Type::kGauge, help, static_cast<double>(value));
  }
  void Gauge(std::string_view name, std::string_view help, double value, std::string_view unit) {
    Add(name, Statistic::Type::kGauge, help, value, unit);
  }

  // --- Of several kinds

  void Events(Counts by_outcome);
  void HeldBytes(uint64_t bytes);
  void Emissions(Counts by_reason);
  void Ready(uint64_t emissions);
  void OverByteLimit(uint64_t events);
  void Series(uint64_t series);
  void Changes(std::span<const uint64_t> by_cause);  // by IndexOf(cause)

  std::vector<Statistic> Take() && { return std::move(all_); }

 private:
  void Add(std::string_view name, Statistic::Type type, std::string_view help, double value,
           std::string_view unit = {}, const MetricLabel& label = {});

  std::vector<Statistic> all_;
};

}  // namespace pleat::inline v0_1
