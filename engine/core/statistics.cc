#include "engine/core/statistics.h"

#include <cstddef>

#include <pleat/change.h>

#include "engine/core/outbox_collection.h"

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

// --- By kind

std::vector<Statistic> OutboxCollection::Statistics() { return StatisticsOf(ledger(), sizes()); }

std::vector<uint64_t> OutboxCollection::CountEntries() const {
  return CountInBooks<OutboxBook>([](const OutboxBook& book) { return book.ledger().open; });
}

std::vector<Statistic> StatisticsOf(const Ledger& ledger, const Sizes& sizes) {
  StatisticList out;
  out.Events({{"opened", ledger.opened},
              {"folded", ledger.folded},
              {"late", ledger.late},
              {"future", ledger.future},
              {"over_limit", ledger.over_limit},
              {"overloaded", ledger.overloaded},
              {"duplicate", ledger.duplicate},
              {"conflict", ledger.conflict},
              {"corrected", ledger.corrected}});
  out.HeldBytes(sizes.bytes);
  for (size_t i = 0; i < kReasons; ++i) {
    out.Emissions({{ReasonName(static_cast<Reason>(i + 1)), ledger.emissions[i]}});
  }
  out.Ready(sizes.ready_emissions);
  out.OverByteLimit(ledger.over_byte_limit);
  out.Counter("pleat_emissions_gone", "Emissions that are over: given away, acked, or dropped.",
              "as",
              {{"popped", ledger.popped}, {"acked", ledger.acked}, {"dropped", ledger.dropped}});
  out.Counter("pleat_groups_closed", "Groups that closed.", ledger.closed);
  out.Counter("pleat_groups_cancelled", "Groups that were cancelled.", ledger.cancelled);
  out.Counter("pleat_groups_silent",
              "Groups that closed without an emission: their leading one said it.", ledger.silent);
  out.Counter("pleat_events_late_folded", "Late events that were folded all the same.",
              ledger.late_folded);
  out.Counter("pleat_deliveries", "Leases given.", ledger.deliveries);
  out.Counter("pleat_deliveries_nacked", "Leases given back.", ledger.nacked);
  out.Counter("pleat_deliveries_ran_out", "Leases neither acked nor given back in time.",
              ledger.ran_out);
  out.Gauge("pleat_folding_ratio", "Of the events, those that folded.", ledger.FoldingRatio(),
            "ratio");
  out.Gauge("pleat_open_groups", "Groups open now.", sizes.open_groups);
  out.Gauge("pleat_unacked_emissions", "Emissions that are lent, or wait to be lent again.",
            sizes.unacked_emissions);
  out.Gauge("pleat_dead_letters", "Emissions delivered too often without an ack.",
            sizes.dead_letters);
  return std::move(out).Take();
}

std::vector<Statistic> StatisticsOf(const LiveSetLedger& ledger, const LiveSetSizes& sizes) {
  StatisticList out;
  out.Events({{"added", ledger.added},
              {"refreshed", ledger.refreshed},
              {"updated", ledger.updated},
              {"unchanged", ledger.unchanged},
              {"duplicate", ledger.duplicate},
              {"conflict", ledger.conflict},
              {"late", ledger.late},
              {"future", ledger.future},
              {"tombstoned", ledger.tombstoned},
              {"over_limit", ledger.over_limit}});
  out.HeldBytes(sizes.bytes);
  out.Series(sizes.series);
  out.Changes(ledger.causes);
  out.Gauge("pleat_members", "Members that are live.", ledger.live);
  out.Gauge("pleat_members_held", "Members that are live, or may come back with a longer TTL.",
            sizes.members);
  out.Gauge("pleat_tombstones", "Removed members whose late events are refused.", sizes.tombstones);
  out.Counter("pleat_tombstones_refused",
              "Removals that left no tombstone: the limit on bytes was met.",
              ledger.tombstones_refused);
  return std::move(out).Take();
}

std::vector<Statistic> StatisticsOf(const PresenceLedger& ledger, const PresenceSizes& sizes) {
  StatisticList out;
  out.Events({{"joined", ledger.joined},
              {"returned", ledger.returned},
              {"connected", ledger.connected},
              {"reconnected", ledger.reconnected},
              {"refreshed", ledger.refreshed},
              {"updated", ledger.updated},
              {"unchanged", ledger.unchanged},
              {"disconnected", ledger.disconnected},
              {"left", ledger.left},
              {"unknown", ledger.unknown},
              {"superseded", ledger.superseded},
              {"late", ledger.late},
              {"future", ledger.future},
              {"over_limit", ledger.over_limit}});
  out.HeldBytes(sizes.bytes);
  out.Series(sizes.series);
  out.Changes(ledger.causes);
  out.Gauge("pleat_users", "Users who are here or away.", ledger.users);
  out.Gauge("pleat_users_away", "Users who are away.", ledger.away);
  out.Gauge("pleat_connections", "Connections that are live or overdue.", ledger.connections);
  return std::move(out).Take();
}

std::vector<Statistic> StatisticsOf(const RollupLedger& ledger, const RollupSizes& sizes,
                                    std::optional<Duration> final_lag) {
  StatisticList out;
  out.Events({{"added", ledger.added},
              {"duplicate", ledger.duplicate},
              {"conflict", ledger.conflict},
              {"late", ledger.late},
              {"clamped", ledger.clamped},
              {"corrected", ledger.corrected},
              {"future", ledger.future},
              {"over_limit", ledger.over_limit}});
  out.HeldBytes(sizes.bytes);
  out.Emissions(
      {{"final", ledger.made_final}, {"end", ledger.ended}, {"correction", ledger.corrected}});
  out.Ready(sizes.ready);
  out.OverByteLimit(ledger.over_byte_limit);
  out.Counter("pleat_counters_opened", "Counters that began.", ledger.keys_opened);
  out.Counter("pleat_counters_forgotten", "Counters that were forgotten.", ledger.forgotten);
  out.Counter("pleat_clears", "Events that set a counter to zero.", ledger.clears);
  out.Counter("pleat_events_late_unknown", "Late events beyond the deduplication window.",
              ledger.late_unknown);
  out.Counter("pleat_windows_opened", "Windows that an event opened.", ledger.windows);
  out.Gauge("pleat_open_windows", "Windows open now.", ledger.open);
  out.Counter("pleat_events_checkpointed", "Counted events in final windows.", ledger.checkpointed);
  out.Gauge("pleat_events_pending", "Counted events in windows that are not final.",
            ledger.pending);
  out.Counter("pleat_checkpoints_published", "Checkpoints that the store kept.", ledger.published);
  out.Counter("pleat_store_failures", "Answers of the store that kept a counter where it was.",
              "answer",
              {{"error", ledger.store_errors},
               {"behind", ledger.store_behind},
               {"conflict", ledger.store_conflicts}});
  out.Gauge("pleat_counters", "Counters held.", sizes.keys);
  out.Gauge("pleat_final_windows_kept", "Final windows that can still be read.", sizes.retained);
  out.Gauge("pleat_ids", "Ids of events that are remembered.", sizes.ids);
  out.Gauge("pleat_counters_unpublished", "Counters that the store has to hear of.",
            sizes.unpublished);
  if (final_lag) {
    out.Gauge("pleat_final_lag_seconds", "How far the final part trails the engine's time.",
              std::chrono::duration<double>(*final_lag).count(), "seconds");
  }
  return std::move(out).Take();
}

}  // namespace pleat::inline v0_1
