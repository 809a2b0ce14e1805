// The end of the input of a large collection: all that is open closes, and goes out as it closes.
//
//   pleat::CloseAndPop(folder.any(), [](std::span<const pleat::ClosedGroup> groups) { ... });
//
// does what CloseAll() does, and Pop() until nothing is left: the same emissions in the same order,
// where the backlog has room for all of them. Those that wait between the two take memory, and at
// limits.max_backlog CloseAll() drops the oldest (OnBacklog::kDropOldest), and cuts no partials.
// Here only a few wait at a time, and have a taker: nothing is dropped, and no partial is left out
// for the backlog. Closing takes no memory beside that of what is open, and gives that back as it
// goes. While a snapshot is being taken, what it still needs of a group is kept when the group
// goes.
#pragma once

#include <cstddef>

#include <pleat/any_collection.h>
#include <pleat/export.h>

namespace pleat::inline v0_1 {

// One operation: it holds the locks of all partitions until all is done, and `take`, which is as
// that of AnyCollection::Pop(), runs under them. Returns how many emissions there were.
PLEAT_EXPORT size_t CloseAndPop(const AnyCollection& collection, AnyCollection::Take take) noexcept;

}  // namespace pleat::inline v0_1
