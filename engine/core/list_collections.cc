// Listing the collections of an engine: each adds itself to those of its kind.
#include <pleat/collections.h>

#include "engine/base/inside.h"
#include "engine/core/engine_core.h"
#include "engine/core/folder_core.h"
#include "engine/core/presence_core.h"
#include "engine/core/rollup_core.h"
#include "engine/core/window_core.h"

namespace pleat::inline v0_1 {

void FolderCore::ListIn(CollectionList& list) {
  list.folders.push_back(
      {.name = name(), .options = options(), .ledger = ledger(), .sizes = sizes()});
}

void WindowCore::ListIn(CollectionList& list) {
  list.windows.push_back(
      {.name = name(), .options = options_, .ledger = ledger(), .sizes = sizes()});
}

void PresenceCore::ListIn(CollectionList& list) {
  list.presences.push_back(
      {.name = name(), .options = options_, .ledger = ledger(), .sizes = sizes()});
}

void RollupCore::ListIn(CollectionList& list) {
  list.counters.push_back(
      {.name = name(), .options = options_, .ledger = rollup_ledger(), .sizes = rollup_sizes()});
}

CollectionList ListCollections(Engine& engine) {
  CollectionList list;
  const Call call;
  if (call.nested()) return list;
  EngineAccess::CoreOf(engine)->WithCollections([&](const EngineCore::Collections& collections) {
    for (const auto& [name, collection] : collections) collection->ListIn(list);
  });
  return list;
}

}  // namespace pleat::inline v0_1
