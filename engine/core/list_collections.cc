// Listing the collections of an engine. Each adds itself to those of its kind, so that nothing here
// names a kind, and a program links those alone that it opens.
#include <pleat/collections.h>

#include "engine/base/inside.h"
#include "engine/core/collection.h"
#include "engine/core/engine_core.h"

namespace pleat::inline v0_1 {

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
