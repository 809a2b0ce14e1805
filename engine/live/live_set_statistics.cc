#include "engine/live/live_set_book.h"
#include "engine/metrics/statistic_list.h"

namespace pleat::inline v0_1 {

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

}  // namespace pleat::inline v0_1
