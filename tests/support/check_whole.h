// Has all books of a collection check their invariants; a broken one ends the program and says where.
#pragma once

#include <pleat/untyped/any_collection.h>

#include "engine/core/outbox_collection.h"

namespace pleat {

inline void CheckWhole(const AnyCollection& any) {
  struct Opened : AnyCollection {
    using AnyCollection::collection;
  };
  (any.*(&Opened::collection))().CheckWhole();
}

}  // namespace pleat
