// The events of live sets, apart from the handle: in a large file the compiler inlines less on the way of
// an event, which costs up to one instruction in ten.
#include "engine/core/feed_collection.h"
#include "engine/core/keyed_collection.h"
#include "engine/live/live_set_book.h"

namespace pleat::inline v0_1 {

template class KeyedCollection<LiveSetBook, FeedCollection>;

}  // namespace pleat::inline v0_1
