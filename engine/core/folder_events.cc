// The events of folders, apart from the handle: in a large file the compiler inlines less on the way of
// an event, which costs up to one instruction in ten.
#include <pleat/untyped/any_folder.h>

#include "engine/core/keyed_collection.h"
#include "engine/fold/fold_book.h"

namespace pleat::inline v0_1 {

using Events = KeyedCollection<FoldBook>;

FoldOutcome AnyFolder::Fold(std::string_view key, const void* event, EngineTime at) noexcept {
  return static_cast<Events&>(collection()).Fold(key, event, at);
}
FoldCounts AnyFolder::FoldBatch(const AnyBatch& batch, std::span<FoldOutcome> outcomes,
                                PartitionRange only,
                                std::optional<SourcePosition> position) noexcept {
  return static_cast<Events&>(collection()).FoldBatch("FoldBatch", batch, outcomes, only, position);
}

}  // namespace pleat::inline v0_1
