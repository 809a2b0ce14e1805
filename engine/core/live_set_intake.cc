// Live sets behind an intake, apart from the handle: a program without one links none of this.
#include <memory>
#include <utility>

#include <pleat/untyped/any_live_set.h>

#include "engine/core/feed_collection.h"
#include "engine/core/intake.h"
#include "engine/core/keyed_collection.h"
#include "engine/core/timed_piece.h"
#include "engine/live/live_set_book.h"

namespace pleat::inline v0_1 {

void AnyLiveSet::Join(AnyIntake& intake, std::unique_ptr<IntakeTarget> target) const noexcept {
  intake.core().Feed(shared_engine(), shared_feed(),
                     &TakePiece<KeyedCollection<LiveSetBook, FeedCollection>>, std::move(target));
}

}  // namespace pleat::inline v0_1
