#include "engine/metrics/statistic_list.h"
#include "engine/outbox/outbox_book.h"

namespace pleat::inline v0_1 {

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
  out.Gauge("pleat_emissions_behind_dead", "Emissions that wait behind a dead letter of their key.",
            sizes.behind_dead);
  return std::move(out).Take();
}

}  // namespace pleat::inline v0_1
