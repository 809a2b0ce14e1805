// The events of rollup counters, apart from the handle: in a large file the compiler inlines less on the way of
// an event, which costs up to one instruction in ten.
#include "engine/core/keyed_collection.h"
#include "engine/rollup/rollup_book.h"

namespace pleat::inline v0_1 {

template class KeyedCollection<RollupBook>;

}  // namespace pleat::inline v0_1
