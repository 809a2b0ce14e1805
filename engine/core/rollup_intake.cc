// Rollup counters behind an intake, apart from the handle: a program without one links none of this.
#include <memory>
#include <utility>

#include <pleat/rollup.h>

#include "engine/core/intake.h"
#include "engine/core/keyed_collection.h"
#include "engine/core/timed_piece.h"
#include "engine/rollup/rollup_book.h"

namespace pleat::inline v0_1 {

void RollupCounter::Join(AnyIntake& intake, std::unique_ptr<IntakeTarget> target) const noexcept {
  intake.core().Feed(any_.shared_engine(), any_.shared_collection(),
                     &TakePiece<KeyedCollection<RollupBook>>, std::move(target));
}

}  // namespace pleat::inline v0_1
