#include "engine/metrics/statistic_list.h"

#include <cstddef>

#include <pleat/change.h>

namespace pleat::inline v0_1 {

void StatisticList::Add(std::string_view name, Statistic::Type type, std::string_view help,
                        double value, std::string_view unit, const MetricLabel& label) {
  all_.push_back({name, type, help, value, unit, label});
}

void StatisticList::Counter(std::string_view name, std::string_view help, std::string_view label,
                            Counts counts) {
  for (const auto& [of, count] : counts) {
    Add(name, Statistic::Type::kCounter, help, static_cast<double>(count), {}, {label, of});
  }
}

void StatisticList::Events(Counts by_outcome) {
  Counter("pleat_events", "Events offered, by what became of them.", "outcome", by_outcome);
}

void StatisticList::HeldBytes(uint64_t bytes) {
  Gauge("pleat_held_bytes", "What counts against the limit on bytes.", static_cast<double>(bytes),
        "bytes");
}

void StatisticList::Emissions(Counts by_reason) {
  Counter("pleat_emissions", "Emissions, by the reason they came for.", "reason", by_reason);
}

void StatisticList::Ready(uint64_t emissions) {
  Gauge("pleat_ready_emissions", "Emissions that wait to be handed out for the first time.",
        emissions);
}

void StatisticList::OverByteLimit(uint64_t events) {
  Counter("pleat_events_over_byte_limit", "Refused events that met the limit on bytes.", events);
}

void StatisticList::Series(uint64_t series) {
  Gauge("pleat_series", "Series with members or users, or with a TTL of their own.", series);
}

void StatisticList::Changes(std::span<const uint64_t> by_cause) {
  for (size_t i = 0; i < by_cause.size(); ++i) {
    Counter("pleat_changes", "Changes of members or users, by cause.", "cause",
            {{CauseName(static_cast<Cause>(i + 1)), by_cause[i]}});
  }
}

}  // namespace pleat::inline v0_1
