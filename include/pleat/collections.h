// The collections of an engine: their names, options and counts. For a page that shows what a
// program holds, and for metrics of all collections without a list of one's own.
//
//   const pleat::CollectionList list = pleat::ListCollections(*engine);
//   for (const auto& folder : list.folders) {
//     std::printf("%s: %zu groups are open\n", folder.name.c_str(), folder.sizes.open_groups);
//   }
//
//   std::vector<pleat::CollectionMetrics> metrics;                  // see metrics.h
//   for (const auto& each : list.folders) {
//     metrics.push_back({.collection = each.name, .ledger = each.ledger, .sizes = each.sizes});
//   }
#pragma once

#include <string>
#include <vector>

#include <pleat/detail/export.h>
#include <pleat/engine.h>
#include <pleat/live_set_options.h>
#include <pleat/options.h>
#include <pleat/presence_options.h>
#include <pleat/rollup_options.h>
#include <pleat/stats.h>

namespace pleat::inline v0_1 {

// A collection of any kind. `options` are those in use.
template <class Options, class LedgerOfKind, class SizesOfKind>
struct ListedCollection {
  std::string name;
  Options options;
  LedgerOfKind ledger;
  SizesOfKind sizes;
};

// Those that are open, of each kind by name.
struct CollectionList {
  std::vector<ListedCollection<FolderOptions, Ledger, Sizes>> folders;
  std::vector<ListedCollection<LiveSetOptions, LiveSetLedger, LiveSetSizes>> live_sets;
  std::vector<ListedCollection<PresenceOptions, PresenceLedger, PresenceSizes>> presences;
  std::vector<ListedCollection<RollupOptions, RollupLedger, RollupSizes>> counters;
};

// Each collection's counts are those of ledger() and sizes(). No collection is opened or closed
// meanwhile.
// Thread safety: any thread, any time. From inside a fold function the list is empty.
// Cost: the lock of each partition, one after the other, twice for each collection.
PLEAT_EXPORT CollectionList ListCollections(Engine& engine);

}  // namespace pleat::inline v0_1
