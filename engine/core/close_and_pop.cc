#include <pleat/drain.h>

#include "engine/base/inside.h"
#include "engine/core/outbox_collection.h"

namespace pleat::inline v0_1 {
namespace {

// Opens a handle to its collection.
struct Opened : AnyCollection {
  explicit Opened(const AnyCollection& handle) : AnyCollection(handle) {}
  using AnyCollection::collection;
};

}  // namespace

size_t CloseAndPop(const AnyCollection& collection, AnyCollection::Take take) noexcept {
  const Call call;
  return call.nested() ? 0 : Opened(collection).collection().CloseAndPop(take);
}

}  // namespace pleat::inline v0_1
