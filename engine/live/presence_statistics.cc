#include "engine/live/presence_book.h"
#include "engine/metrics/statistic_list.h"

namespace pleat::inline v0_1 {

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

}  // namespace pleat::inline v0_1
