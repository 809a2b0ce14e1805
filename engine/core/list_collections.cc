// Listing the collections of an engine. Each says its own options and statistics, so that nothing
// here names a kind, and a program links those alone that it opens.
#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include <pleat/metrics.h>

#include "engine/base/inside.h"
#include "engine/core/collection.h"
#include "engine/core/engine_core.h"
#include "engine/core/option_table.h"

namespace pleat::inline v0_1 {

std::vector<ListedCollection> ListCollections(Engine& engine) {
  std::vector<ListedCollection> list;
  const Call call;
  if (call.nested()) return list;
  EngineAccess::CoreOf(engine)->WithCollections([&](const EngineCore::Collections& collections) {
    for (const auto& [name, collection] : collections) {
      Description about = collection->Describe();
      for (auto& [option, value] : about.options) value = ValueInWords(about.kind, option, value);
      list.push_back({.name = collection->name(),
                      .kind = std::move(about.kind),
                      .options = std::move(about.options),
                      .statistics = collection->Statistics()});
    }
  });
  std::ranges::sort(list, {},
                    [](const ListedCollection& each) { return std::tie(each.kind, each.name); });
  return list;
}

}  // namespace pleat::inline v0_1
