#include <chrono>

#include "engine/metrics/statistic_list.h"
#include "engine/rollup/rollup_book.h"

namespace pleat::inline v0_1 {

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
